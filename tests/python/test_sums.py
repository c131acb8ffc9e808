"""What all threads of a launch add up has the same bits in every run, on any number of cores, on each host device."""

import numpy as np
import pytest

import gridstride as wp

RUNS = 20


@wp.kernel
def total(values: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 1, values[wp.tid()])


@wp.kernel
def total_of_rows(values: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i, j = wp.tid()
    out[0] += values[i, j]


@wp.kernel
def moments(
    points: wp.array(dtype=wp.vec3), last: int, centers: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    p = points[i]
    if p[0] > 0.0:
        centers[last] += p
        for k in range(i % 4):
            wp.atomic_sub(out, k % 2, wp.float64(p[1]))
            wp.atomic_sub(out, 0, wp.float64(p[2]))


@wp.kernel
def sums_and_reads(out: wp.array(dtype=float), other: wp.array(dtype=float), seen: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, 1.0)
    seen[i] = other[0]


@pytest.fixture
def cores():
    """Sets how many cores launches use."""
    before = wp.get_num_threads()
    yield wp.set_num_threads
    wp.set_num_threads(before)


def bits_of(launch, cores, devices=("cpu", "interp")):
    """The different results of some runs on one, two and five cores, and of an interpreted one."""
    found = set()
    for n in (1, 2, 5):
        cores(n)
        for _ in range(RUNS):
            found.add(launch(devices[0]))
    found.update(launch(device) for device in devices[1:])
    return found


def numbers(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


@pytest.mark.cpu
@pytest.mark.parametrize("n", [1, 7, 64, 100, 1000, 20_000])
def test_sums_have_the_same_bits_in_every_run(cores, n):
    values = numbers(n)

    def launch(device):
        out = wp.array([0.5, -0.5], dtype=float, device=device)
        wp.launch(total, dim=n, inputs=[wp.array(values, device=device), out], device=device)
        return out.numpy().tobytes()

    found = bits_of(launch, cores)
    assert len(found) == 1
    np.testing.assert_allclose(np.frombuffer(found.pop(), np.float32), [0.5, values.sum() - 0.5], rtol=1e-4, atol=1e-4)


@pytest.mark.cpu
def test_launches_in_pieces_have_the_same_bits(cores):
    n = 1_200_007
    values = wp.array(numbers(n), device="cpu")

    def launch(device):
        out = wp.zeros(2, dtype=float, device=device)
        wp.launch(total, dim=n, inputs=[values, out], device=device)
        return out.numpy().tobytes()

    assert len(bits_of(launch, cores, ["cpu"])) == 1


@pytest.mark.cpu
@pytest.mark.parametrize("shape", [(5, 1), (1, 37), (30, 17), (64, 128), (3, 1000)])
def test_rows_of_any_length(cores, shape):
    values = numbers(*shape)

    def launch(device):
        out = wp.zeros(1, dtype=float, device=device)
        wp.launch(total_of_rows, dim=shape, inputs=[wp.array(values, device=device), out], device=device)
        return out.numpy().tobytes()

    found = bits_of(launch, cores)
    assert len(found) == 1
    np.testing.assert_allclose(np.frombuffer(found.pop(), np.float32)[0], values.sum(), rtol=1e-4, atol=1e-4)


@pytest.mark.cpu
def test_several_sums_of_vectors_in_loops(cores):
    n = 3000
    points = numbers(n, 3)

    def launch(device):
        centers, out = wp.zeros(5, dtype=wp.vec3, device=device), wp.zeros(2, dtype=wp.float64, device=device)
        inputs = [wp.array(points, dtype=wp.vec3, device=device), 3, centers, out]
        wp.launch(moments, dim=n, inputs=inputs, device=device)
        return centers.numpy().tobytes()

    found = bits_of(launch, cores)
    assert len(found) == 1
    centers = np.frombuffer(found.pop(), np.float32).reshape(5, 3)
    np.testing.assert_allclose(centers[3], points[points[:, 0] > 0].sum(0), rtol=1e-3)
    assert not centers[[0, 1, 2, 4]].any()


@pytest.mark.cpu
def test_gradients_that_all_threads_add_up(cores):
    n = 5000
    values = numbers(n)

    @wp.kernel
    def scaled(values: wp.array(dtype=float), scale: wp.array(dtype=float), loss: wp.array(dtype=float)):
        loss[0] += wp.sin(values[wp.tid()] * scale[0])

    def launch(device):
        scale = wp.array([0.7], dtype=float, device=device, requires_grad=True)
        loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(scaled, dim=n, inputs=[wp.array(values, device=device), scale, loss], device=device)
        tape.backward(loss)
        return loss.numpy().tobytes() + scale.grad.numpy().tobytes()

    found = bits_of(launch, cores, ["cpu"])
    assert len(found) == 1
    gradient = (values * np.cos(values * 0.7)).sum()
    np.testing.assert_allclose(np.frombuffer(found.pop(), np.float32)[1], gradient, rtol=1e-3)


def test_a_thread_sees_what_it_added_through_another_name(device):
    out, seen = wp.zeros(1, dtype=float), wp.zeros(40, dtype=float)
    wp.launch(sums_and_reads, dim=40, inputs=[out, out, seen], device=device)
    assert out.numpy()[0] == 40.0
    assert (seen.numpy() >= 1.0).all()


@pytest.mark.parametrize("n", [10, 100_000])
def test_recorded_launches_sum_as_others_do(n):
    values = wp.array(numbers(n))
    found = []
    for record in (False, True):
        out = wp.zeros(2, dtype=float)
        launch = wp.launch(total, dim=n, inputs=[values, out], record_cmd=record)
        if record:
            launch.launch()
        found.append(out.numpy().tobytes())
    assert found[0] == found[1]


@wp.kernel
def scattered(values: wp.array(dtype=float), at: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, at[i], values[i])


@wp.kernel
def queued(values: wp.array(dtype=float), counter: wp.array(dtype=int), queue: wp.array(dtype=int)):
    i = wp.tid()
    if values[i] > 0.0:
        queue[wp.atomic_add(counter, 0, 1)] = i


@pytest.fixture
def deterministic():
    wp.config.deterministic = wp.DeterministicMode.RUN_TO_RUN
    yield
    wp.config.deterministic = wp.DeterministicMode.SUMS


@pytest.mark.cpu
def test_scattered_sums_in_order(cores, deterministic):
    n, m = 60_000, 500
    values = numbers(n)
    at = np.random.default_rng(1).integers(0, m, n).astype(np.int32)

    def launch(device):
        out = wp.zeros(m, dtype=float, device=device)
        inputs = [wp.array(values, device=device), wp.array(at, device=device), out]
        wp.launch(scattered, dim=n, inputs=inputs, device=device)
        recorded = wp.launch(scattered, dim=n, inputs=inputs, device=device, record_cmd=True)
        recorded.launch()
        return out.numpy().tobytes()

    found = bits_of(launch, cores)
    assert len(found) == 1
    expected = 2 * np.bincount(at, values, m)
    np.testing.assert_allclose(np.frombuffer(found.pop(), np.float32), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.cpu
def test_places_in_a_queue_in_order(cores, deterministic):
    n = 60_000
    values = numbers(n)

    def launch(device):
        queue, counter = wp.zeros(n, dtype=int, device=device), wp.zeros(1, dtype=int, device=device)
        wp.launch(queued, dim=n, inputs=[wp.array(values, device=device), counter, queue], device=device)
        return queue.numpy()[: counter.numpy()[0]].tobytes()

    found = bits_of(launch, cores)
    assert len(found) == 1
    assert np.frombuffer(found.pop(), np.int32).tolist() == np.flatnonzero(values > 0).tolist()


@pytest.mark.cpu
def test_gradients_of_gathers_in_order(cores, deterministic):
    n, m = 60_000, 40
    at = np.random.default_rng(2).integers(0, m, n).astype(np.int32)
    weights = numbers(n)

    @wp.kernel
    def gathered(
        x: wp.array(dtype=float), at: wp.array(dtype=int), w: wp.array(dtype=float), loss: wp.array(dtype=float)
    ):
        i = wp.tid()
        loss[0] += x[at[i]] * w[i]

    def launch(device):
        x = wp.ones(m, dtype=float, device=device, requires_grad=True)
        loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
        with wp.Tape() as tape:
            inputs = [x, wp.array(at, device=device), wp.array(weights, device=device), loss]
            wp.launch(gathered, dim=n, inputs=inputs, device=device)
        tape.backward(loss)
        return x.grad.numpy().tobytes()

    found = bits_of(launch, cores, ["cpu"])
    assert len(found) == 1
    np.testing.assert_allclose(
        np.frombuffer(found.pop(), np.float32), np.bincount(at, weights, m), rtol=1e-3, atol=1e-2
    )
