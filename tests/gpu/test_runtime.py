"""Devices, memory, streams, events, graphs and failures on a GPU."""

import gc

import numpy as np
import pytest

import gridstride as wp

N = 1 << 16


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
    i = wp.tid()
    x[i + shift] = 1.0


def test_what_a_device_is():
    gpu = wp.get_device("cuda")
    assert gpu == "cuda:0"
    assert gpu.is_cuda
    assert wp.get_preferred_device() is gpu
    assert wp.is_cuda_available()
    assert wp.get_cuda_device_count() >= 1
    assert gpu.arch >= 75
    assert gpu.sm_count > 0
    assert gpu.total_memory >= gpu.free_memory > 0
    assert gpu.uuid.startswith("GPU-")
    assert wp.get_cuda_driver_version() >= (12, 0)
    assert wp.zeros(3).device is gpu
    with pytest.raises(RuntimeError, match="`cuda:99` is not available: there are cuda:0"):
        wp.get_device("cuda:99")


@pytest.mark.parametrize("dtype", [wp.int8, wp.float16, wp.float32, wp.float64, wp.vec3, wp.mat22, wp.bool])
def test_arrays_of_every_rank_and_stride(dtype):
    rng = np.random.default_rng(1)
    inner = getattr(dtype, "_shape_", ())
    values = rng.integers(0, 2, (4, 3, 5, 2, *inner)).astype(wp.dtype_to_numpy(dtype))
    a = wp.array(values, dtype=dtype)
    np.testing.assert_array_equal(a.numpy(), values)
    for key in (np.s_[1:3], np.s_[:, ::2], np.s_[::-1, 1], np.s_[2, :, 1:4:2, ::-1]):
        np.testing.assert_array_equal(a[key].numpy(), values[key])
    view, expected = a[1:, ::2], values.copy()
    view.fill_(1)
    expected[1:, ::2] = 1
    np.testing.assert_array_equal(a.numpy(), expected)
    view.assign(values[1:, ::2])
    np.testing.assert_array_equal(a.numpy(), values)
    b = wp.zeros(values.shape[:4], dtype=dtype)
    wp.copy(b.transpose(), a.transpose())
    np.testing.assert_array_equal(b.numpy(), values)
    np.testing.assert_array_equal(wp.clone(a[:, 1]).numpy(), values[:, 1])


def test_overlapping_copies():
    a = wp.array(np.arange(1000, dtype=np.float32))
    wp.copy(a[1:], a[:-1])
    assert a.numpy().tolist() == [0, *range(999)]
    wp.copy(a[::2], a[:500])
    assert (a.numpy()[::2] == [0, *range(499)]).all()


def test_indexed_arrays():
    a = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4))
    some = a[wp.array([2, 0], dtype=int)]
    np.testing.assert_array_equal(some.numpy(), a.numpy()[[2, 0]])
    some.fill_(7.0)
    assert (a.numpy()[[0, 2]] == 7).all()
    assert (a.numpy()[1] == [4, 5, 6, 7]).all()


def test_copies_between_host_and_device():
    x = np.arange(N, dtype=np.float32)
    host = wp.array(x, device="cpu")
    gpu = wp.empty(N)
    wp.copy(gpu, host)
    np.testing.assert_array_equal(gpu.numpy(), x)
    assert gpu.to("cpu").device == "cpu"
    np.testing.assert_array_equal(gpu.to("cpu").numpy(), x)
    pinned = wp.empty(N, device="cpu", pinned=True)
    assert pinned.pinned
    wp.copy(pinned, gpu)
    wp.synchronize()
    np.testing.assert_array_equal(pinned.numpy(), x)
    # Kernels reach page-locked memory by its address.
    wp.launch(saxpy, N, [1.0, gpu, pinned])
    wp.synchronize()
    np.testing.assert_array_equal(pinned.numpy(), 2 * x)
    np.testing.assert_array_equal(gpu[::7].to("cpu").numpy(), x[::7])


def test_memory_is_freed_after_its_last_use():
    for _ in range(200):
        x = wp.full(1 << 20, 1.0)
        y = wp.zeros(1 << 20)
        wp.launch(saxpy, 1 << 20, [2.0, x, y])
        z = wp.clone(y)
        del x, y
    assert (z.numpy() == 2).all()
    gc.collect()
    assert wp.get_mempool_used_mem_high() < 1 << 30


class Counting:
    """Hands out memory of the usual allocator, and notes what is where."""

    def __init__(self):
        self.inner = wp.get_device("cuda").default_allocator
        self.live = {}
        self.n_made = 0

    def allocate(self, size_in_bytes):
        ptr = self.inner.allocate(size_in_bytes)
        self.live[ptr] = size_in_bytes, wp.get_device().alias
        self.n_made += 1
        return ptr

    def deallocate(self, ptr, size_in_bytes):
        assert self.live.pop(ptr) == (size_in_bytes, wp.get_device().alias)
        self.inner.deallocate(ptr, size_in_bytes)


def test_arrays_in_memory_of_an_allocator_of_ones_own():
    counting, usual = Counting(), wp.get_device_allocator("cuda")
    with wp.ScopedAllocator("cuda", counting):
        assert wp.get_device_allocator("cuda") is counting
        x, y = wp.full(N, 2.0), wp.zeros(N)
    assert wp.get_device_allocator("cuda") is usual
    wp.launch(saxpy, N, [1.0, x, y])
    assert (y.numpy() == 2.0).all() and counting.live[x.ptr] == (4 * N, wp.get_device("cuda").alias)
    del x, y
    gc.collect()
    assert counting.n_made == 2 and not counting.live
    with pytest.raises(TypeError, match="`allocate` and `deallocate`"):
        wp.set_device_allocator("cuda", object())


def test_other_memory():
    with wp.ScopedAllocator("cuda", wp.CudaManagedAllocator()):
        managed = wp.zeros(N)
    wp.launch(saxpy, N, [1.0, wp.ones(N), managed])
    assert (managed.numpy() == 1).all()
    with wp.ScopedMempool("cuda", False):
        assert not wp.is_mempool_enabled("cuda")
        plain = wp.ones(N)
    assert plain.numpy().sum() == N
    del plain
    with pytest.raises(RuntimeError, match="out of memory.*GiB were asked for on cuda:0"):
        wp.empty((2**31 - 1, 2**10), dtype=wp.float64)
    assert wp.ones(3).numpy().sum() == 3


def test_streams_are_queues():
    device = wp.get_device("cuda")
    first, second = wp.Stream(), wp.Stream(priority=-1)
    x, y = wp.ones(N), wp.zeros(N)
    with wp.ScopedStream(first):
        assert device.stream is first
        for _ in range(10):
            wp.launch(slow, N, [x, 2000])
        done = first.record_event()
    with wp.ScopedStream(second):
        second.wait_event(done)
        wp.launch(saxpy, N, [1.0, x, y])
    wp.synchronize_stream(second)
    assert done.is_complete
    assert first.is_complete
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    wp.launch(saxpy, N, [1.0, x, y], stream=first)
    first.synchronize()
    np.testing.assert_array_equal(y.numpy(), 2 * x.numpy())


def test_events_measure_time():
    x = wp.ones(N)
    wp.launch(slow, N, [x, 10])
    start, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
    wp.record_event(start)
    wp.launch(slow, N, [x, 200000])
    wp.record_event(end)
    short = wp.get_event_elapsed_time(start, end)
    assert 0.01 < short < 10000
    with pytest.raises(RuntimeError, match="enable_timing"):
        wp.get_event_elapsed_time(wp.Event(), end)


def test_a_graph_runs_again():
    x, y = wp.ones(N), wp.zeros(N)
    with wp.ScopedCapture() as capture:
        wp.launch(saxpy, N, [2.0, x, y])
        temporary = wp.zeros(N)
        wp.copy(temporary, y)
        x.fill_(3.0)
        wp.launch(saxpy, N, [1.0, temporary, y])
        del temporary
    assert (y.numpy() == 0).all()
    assert capture.graph.n_nodes == 5
    wp.capture_launch(capture.graph)
    assert (y.numpy() == 4).all()
    wp.capture_launch(capture.graph)
    assert (y.numpy() == 20).all()
    del x
    gc.collect()
    wp.capture_launch(capture.graph)
    assert (y.numpy() == 52).all()


def test_a_kernel_is_compiled_while_a_graph_is_captured():
    @wp.kernel
    def fresh(a: wp.array(dtype=float), s: float):
        a[wp.tid()] = s * 1.25

    a = wp.zeros(8)
    with wp.ScopedCapture() as capture:
        wp.launch(fresh, 8, [a, 4.0])
    wp.capture_launch(capture.graph)
    assert (a.numpy() == 5).all()


def test_what_a_graph_cannot_hold():
    y = wp.zeros(4)
    for name, act in {
        "read an array on the host": lambda: y.numpy(),
        "copy values from the host": lambda: wp.array([1.0, 2.0], dtype=float),
    }.items():
        with (
            pytest.raises(RuntimeError, match=f"cannot {name} while a graph is captured on cuda:0"),
            wp.ScopedCapture(),
        ):
            act()
    assert (y.numpy() == 0).all()


def test_repeated_launches_see_their_own_arguments():
    x = wp.ones(N)
    results = [wp.zeros(N) for _ in range(20)]
    for n, y in enumerate(results):
        wp.launch(saxpy, N if n % 3 else n + 1, [float(n), x, y])
    for n, y in enumerate(results):
        count = N if n % 3 else n + 1
        assert (y.numpy()[:count] == n).all()
        assert (y.numpy()[count:] == 0).all()


def test_a_check_that_fails_is_raised_at_the_next_wait():
    wp.config.mode = "debug"
    x = wp.zeros(100)
    wp.launch(out_of_bounds, 100, [x, 10])
    wp.launch(saxpy, 100, [1.0, x, x])
    with pytest.raises(wp.KernelFault, match="index .* is out of bounds for array `x` of shape") as caught:
        wp.synchronize()
    assert caught.value.kind == "bounds"
    assert caught.value.shape == (100,)
    assert 90 <= caught.value.thread[0] < 100
    assert "x[i + shift] = 1.0" in str(caught.value)
    # The device goes on.
    wp.synchronize()
    wp.launch(saxpy, 100, [1.0, wp.ones(100), x])
    assert x.numpy().sum() > 0
    with pytest.raises(wp.KernelFault):
        wp.launch(out_of_bounds, 100, [x, 10])
        x.numpy()
    wp.config.verify_cuda = True
    with pytest.raises(wp.KernelFault):
        wp.launch(out_of_bounds, 100, [x, 10])


def test_a_check_in_a_graph():
    wp.config.mode = "debug"
    x = wp.zeros(100)
    with wp.ScopedCapture() as capture:
        wp.launch(out_of_bounds, 100, [x, 1])
    for _ in range(2):
        wp.capture_launch(capture.graph)
        with pytest.raises(wp.KernelFault):
            wp.synchronize()


def test_arguments_of_another_device_are_refused():
    x, y = wp.ones(4), wp.ones(4)
    for wrong in (x.to("cpu"), np.ones(4, np.float32)):
        with pytest.raises(RuntimeError, match=r"it is on device cpu, and the launch is on cuda:0; copy it with"):
            wp.launch(saxpy, 4, [1.0, wrong, y])
    with pytest.raises(RuntimeError, match="it is on device cuda:0, and the launch is on cpu"):
        wp.launch(saxpy, 4, [1.0, x, y], device="cpu")


@wp.struct
class Pair:
    values: wp.array(dtype=float)
    factor: float


@wp.kernel
def scaled(pair: Pair, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = pair.values[i] * pair.factor


def test_structs_with_arrays():
    pair, out = Pair(), wp.zeros(4)
    pair.values, pair.factor = wp.full(4, 2.0), 3.0
    wp.launch(scaled, 4, [pair, out])
    assert (out.numpy() == 6).all()
    pair.values = wp.full(4, 2.0, device="cpu")
    with pytest.raises(RuntimeError, match="an array inside of it is on device cpu"):
        wp.launch(scaled, 4, [pair, out])


def test_launches_of_every_size_and_shape():
    @wp.kernel
    def mark(a: wp.array4d(dtype=wp.int32)):
        i, j, k, n = wp.tid()
        a[i, j, k, n] = i * 1000000 + j * 10000 + k * 100 + n

    shape = (3, 5, 7, 33)
    a = wp.zeros(shape, dtype=wp.int32)
    wp.launch(mark, shape, [a])
    i, j, k, n = np.indices(shape)
    np.testing.assert_array_equal(a.numpy(), i * 1000000 + j * 10000 + k * 100 + n)

    @wp.kernel
    def count(a: wp.array(dtype=wp.int32)):
        i, j = wp.tid()
        wp.atomic_add(a, 0, 1)

    total = wp.zeros(1, dtype=wp.int32)
    # More blocks along y than a grid has.
    wp.launch(count, (300000, 3), [total])
    assert total.numpy()[0] == 900000
    for block in (1, 32, 1000, 1024):
        wp.launch(count, (50, 70), [total], block_dim=block)
    assert total.numpy()[0] == 900000 + 4 * 3500
    with pytest.raises(ValueError, match="block_dim is 1 to 1024"):
        wp.launch(count, (2, 2), [total], block_dim=2048)


def test_recorded_launches():
    x, y = wp.ones(N), wp.zeros(N)
    launch = wp.launch(saxpy, N, [1.0, x, y], record_cmd=True)
    for _ in range(10):
        launch.launch()
    launch.set_param_by_name("a", 5.0)
    launch.launch()
    assert (y.numpy() == 15).all()


def test_what_a_kernel_needs():
    found = wp.get_cuda_kernel_properties(saxpy)
    assert 0 < found["num_regs"] < 256
    block, grid = wp.get_suggested_block_size(saxpy)
    assert block >= 32
    assert grid >= wp.get_device().sm_count


def test_graphs_within_conditions():
    if not wp.is_conditional_graph_supported():
        pytest.skip("the driver has no graphs with conditions")
    x, y, condition = wp.ones(N), wp.zeros(N), wp.zeros(1, dtype=int)
    with wp.ScopedCapture() as part:
        wp.launch(saxpy, N, [1.0, x, y])
        wp.launch(saxpy, N, [1.0, x, y])
    with wp.ScopedCapture() as capture:
        wp.launch(saxpy, N, [10.0, x, y])
        wp.capture_if(condition, on_true=part.graph)
        # Memory of the graph's own, and a copy, within a body.
        wp.capture_if(condition, on_false=lambda: wp.copy(y, wp.zeros_like(y)))
        wp.launch(saxpy, N, [0.5, x, y])
    wp.capture_launch(capture.graph)
    assert (y.numpy() == 0.5).all()
    condition.fill_(1)
    wp.capture_launch(capture.graph)
    assert (y.numpy() == 13).all()


def test_a_body_that_cannot_be_captured():
    if not wp.is_conditional_graph_supported():
        pytest.skip("the driver has no graphs with conditions")
    y, condition = wp.zeros(4), wp.ones(1, dtype=int)
    with (
        pytest.raises(RuntimeError, match="cannot read an array on the host while a graph is captured"),
        wp.ScopedCapture(),
    ):
        wp.capture_if(condition, lambda: y.numpy())
    with wp.ScopedCapture() as capture:
        wp.capture_if(condition, lambda: y.fill_(2.0))
    wp.capture_launch(capture.graph)
    assert (y.numpy() == 2).all()
