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
