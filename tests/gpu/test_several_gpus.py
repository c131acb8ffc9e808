"""Two GPUs of one machine: copies, peers, streams and graphs of each."""

import gc

import numpy as np
import pytest

import gridstride as wp

pytestmark = pytest.mark.skipif(wp.get_cuda_device_count() < 2, reason="this machine has fewer than two GPUs")

N = 1 << 20
BOTH = ("cuda:0", "cuda:1")


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def slow(x: wp.array(dtype=float), rounds: int):
    i = wp.tid()
    t = x[i]
    for _ in range(rounds):
        t = t * 0.999 + 1.0
    x[i] = t


@wp.kernel
def out_of_bounds(x: wp.array(dtype=float), shift: int):
    x[wp.tid() + shift] = 1.0


def test_each_device_has_what_is_made_on_it():
    first, second = (wp.get_device(name) for name in BOTH)
    assert first.uuid != second.uuid
    assert first.pci_bus_id != second.pci_bus_id
    assert first.context != second.context
    assert wp.get_devices()[1:3] == [first, second]
    for device in (first, second):
        with wp.ScopedDevice(device) as entered:
            assert entered is device
            assert wp.get_device() is device
            assert wp.get_device("cuda") is device
            x, y = wp.full(N, 2.0), wp.ones(N)
            assert x.device is device
            wp.launch(saxpy, N, [3.0, x, y])
            assert (y.numpy() == 7).all()
            assert wp.get_mempool_used_mem_current(device) >= 8 * N
    assert wp.get_device() is first


def test_launches_name_their_device():
    results = []
    for device in BOTH * 3:
        x, y = wp.ones(N, device=device), wp.zeros(N, device=device)
        wp.launch(saxpy, N, [float(len(results)), x, y], device=device)
        results.append(y)
    for n, y in enumerate(results):
        assert y.device == BOTH[n % 2]
        assert (y.numpy() == n).all()
    with pytest.raises(RuntimeError, match=r"it is on device cuda:1, and the launch is on cuda:0; copy it with"):
        wp.launch(saxpy, N, [1.0, results[1], results[0]], device="cuda:0")


@pytest.mark.parametrize("to, source", [BOTH, BOTH[::-1]])
def test_copies_between_devices(to, source):
    values = np.arange(24 * 1000, dtype=np.float32).reshape(1000, 24)
    a = wp.array(values, device=source)
    b = wp.zeros(values.shape, device=to)
    wp.copy(b, a)
    np.testing.assert_array_equal(b.numpy(), values)
    np.testing.assert_array_equal(a.to(to).numpy(), values)
    assert a.to(to).device == to
    # Of other strides on either side.
    wp.copy(b[::2, 3:9], a[1::2, 6:12])
    values_there = values.copy()
    values_there[::2, 3:9] = values[1::2, 6:12]
    np.testing.assert_array_equal(b.numpy(), values_there)
    vectors = wp.array(values.reshape(-1, 3), dtype=wp.vec3, device=source)
    np.testing.assert_array_equal(wp.clone(vectors, device=to).numpy(), values.reshape(-1, 3))


def test_a_copy_is_in_order_with_both_devices():
    x = wp.zeros(N, device="cuda:0")
    expected = np.float32(0)
    for _ in range(20):
        # Nothing waits here but the devices for each other.
        wp.launch(slow, N, [x, 500], device="cuda:0")
        there = x.to("cuda:1")
        wp.launch(slow, N, [there, 500], device="cuda:1")
        wp.copy(x, there)
        del there
    for _ in range(20 * 1000):
        expected = np.float32(np.float32(expected * np.float32(0.999)) + np.float32(1))
    assert (x.numpy() == expected).all()


def test_events_order_streams_of_two_devices():
    x, y = wp.zeros(N, device="cuda:0"), wp.zeros(N, device="cuda:1")
    streams = [wp.Stream(device) for device in BOTH]
    for _ in range(10):
        with wp.ScopedStream(streams[0]):
            wp.launch(slow, N, [x, 2000])
            done = streams[0].record_event()
        with wp.ScopedStream(streams[1], sync_enter=False):
            wp.wait_event(done)
            wp.copy(y, x)
            streams[0].wait_event(streams[1].record_event())
    wp.synchronize()
    assert done.is_complete
    np.testing.assert_array_equal(x.numpy(), y.numpy())
    with pytest.raises(RuntimeError, match="cannot be recorded on device cuda:1"):
        streams[1].record_event(done)
    with pytest.raises(RuntimeError, match="cannot be used on device"):
        wp.get_device("cuda:1").set_stream(streams[0])


def test_peers_read_and_write_each_other():
    assert not wp.is_peer_access_enabled("cuda:0", "cuda:1")
    x, y = wp.full(N, 2.0, device="cuda:0"), wp.ones(N, device="cuda:1")
    if not wp.is_peer_access_supported("cuda:0", "cuda:1"):
        with pytest.raises(RuntimeError, match="device cuda:1 cannot access the memory of device cuda:0"):
            wp.set_peer_access_enabled("cuda:0", "cuda:1", True)
        return
    with wp.ScopedPeerAccess("cuda:0", "cuda:1", True):
        assert wp.is_peer_access_enabled("cuda:0", "cuda:1")
        assert not wp.is_peer_access_enabled("cuda:1", "cuda:0")
        assert wp.get_device("cuda:1").can_access("cuda:0")
        wp.synchronize()
        wp.launch(saxpy, N, [3.0, x, y], device="cuda:1")
        assert (y.numpy() == 7).all()
        # Memory here is not used again before the other device is done with it.
        for _ in range(50):
            x = wp.full(N, 1.0, device="cuda:0")
            wp.get_device("cuda:1").stream.wait_stream(wp.get_device("cuda:0").stream)
            wp.launch(slow, N, [x, 300], device="cuda:1")
            wp.launch(saxpy, N, [0.0, x, y], device="cuda:1")
            del x
            noise = wp.full(N, float("nan"), device="cuda:0")
            del noise
        assert (y.numpy() == 7).all()
    assert not wp.is_peer_access_enabled("cuda:0", "cuda:1")
    x = wp.ones(N, device="cuda:0")
    with pytest.raises(RuntimeError, match="it is on device cuda:0, and the launch is on cuda:1"):
        wp.launch(saxpy, N, [3.0, x, y], device="cuda:1")


def test_a_graph_of_the_second_device():
    with wp.ScopedDevice("cuda:1"):
        x, y = wp.ones(N), wp.zeros(N)
        with wp.ScopedCapture() as capture:
            for _ in range(5):
                wp.launch(saxpy, N, [1.0, x, y])
        # The other device works meanwhile.
        z = wp.zeros(N, device="cuda:0")
        wp.launch(saxpy, N, [1.0, wp.ones(N, device="cuda:0"), z], device="cuda:0")
        for _ in range(3):
            wp.capture_launch(capture.graph)
        assert (y.numpy() == 15).all()
        assert (z.numpy() == 1).all()


def test_a_check_that_fails_on_the_second_device():
    wp.config.mode = "debug"
    x = wp.zeros(100, device="cuda:1")
    wp.launch(out_of_bounds, 100, [x, 10], device="cuda:1")
    # The first device has nothing to do with it.
    wp.synchronize_device("cuda:0")
    with pytest.raises(wp.KernelFault, match="out of bounds for array `x`"):
        wp.synchronize_device("cuda:1")
    wp.synchronize()


def test_memory_of_both_is_freed():
    for n in range(100):
        device = BOTH[n % 2]
        x = wp.full(N, 1.0, device=device)
        y = x.to(BOTH[1 - n % 2])
        wp.launch(saxpy, N, [1.0, y, y], device=y.device)
        del x
    assert (y.numpy() == 2).all()
    gc.collect()
    for device in BOTH:
        assert wp.get_mempool_used_mem_high(device) < 1 << 30


def test_gradients_on_the_second_device():
    with wp.ScopedDevice("cuda:1"):
        x, y = wp.ones(N, requires_grad=True), wp.zeros(N, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(saxpy, N, [3.0, x, y])
        tape.backward(grads={y: wp.ones(N)})
        assert (x.grad.numpy() == 3).all()


def test_torch_of_the_second_device():
    torch = pytest.importorskip("torch")
    t, out = torch.ones(N, device="cuda:1"), torch.zeros(N, device="cuda:1")
    wp.launch(saxpy, N, [2.0, t, out], device="cuda:1")
    assert bool((out == 2).all())
    assert wp.from_torch(t).device == "cuda:1"
