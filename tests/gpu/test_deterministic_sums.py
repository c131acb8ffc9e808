"""What all threads of a launch add up has the same bits in every run on a GPU."""

import numpy as np
import pytest

import gridstride as wp


@wp.kernel
def total(values: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 1, values[wp.tid()])


@wp.kernel
def moments(points: wp.array2d(dtype=wp.vec3), centers: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.float64)):
    i, j = wp.tid()
    p = points[i, j]
    if p[0] > 0.0:
        centers[2] += p
        for _ in range(j % 3):
            wp.atomic_sub(out, 0, wp.float64(p[1]))


@wp.kernel
def scattered(values: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, i % 7, values[i])


@wp.kernel
def doubled(values: wp.array(dtype=float), out: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(out, i % 7, int(2.0 * values[i]))


@wp.kernel
def counted(values: wp.array(dtype=float), out: wp.array(dtype=float), count: wp.array(dtype=int)):
    v = values[wp.tid()]
    if v > 0.0:
        wp.atomic_add(out, 0, v)
        wp.atomic_add(count, 0, 1)


@pytest.fixture(params=[wp.DeterministicMode.SUMS, wp.DeterministicMode.RUN_TO_RUN], ids=lambda mode: mode.name)
def deterministic(request):
    wp.config.deterministic = request.param
    yield
    wp.config.deterministic = wp.DeterministicMode.SUMS


def numbers(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("n", [1, 31, 256, 1000, 100_000, 10_000_019])
def test_a_sum_has_the_same_bits_in_every_run(n, deterministic):
    values = wp.array(numbers(n))
    found = set()
    for _ in range(20):
        out = wp.array([0.5, -0.5], dtype=float)
        wp.launch(total, dim=n, inputs=[values, out])
        found.add(out.numpy().tobytes())
    assert len(found) == 1
    expected = [0.5, values.numpy().sum(dtype=np.float64) - 0.5]
    np.testing.assert_allclose(np.frombuffer(found.pop(), np.float32), expected, rtol=1e-4, atol=1e-2)


def test_sums_of_vectors_and_doubles_in_loops(deterministic):
    host = numbers(3000, 70, 3)
    points = wp.array(host, dtype=wp.vec3)
    found = set()
    for _ in range(10):
        centers, out = wp.zeros(3, dtype=wp.vec3), wp.zeros(1, dtype=wp.float64)
        wp.launch(moments, dim=points.shape, inputs=[points, centers, out])
        found.add(centers.numpy().tobytes() + out.numpy().tobytes())
    assert len(found) == 1
    is_in = host[..., 0] > 0
    np.testing.assert_allclose(centers.numpy()[2], host[is_in].sum(0, dtype=np.float64), rtol=1e-3)
    assert not centers.numpy()[:2].any()
    times = np.broadcast_to(np.arange(70) % 3, (3000, 70))
    np.testing.assert_allclose(out.numpy()[0], -(host[..., 1].astype(np.float64) * times)[is_in].sum(), rtol=1e-6)


def test_recorded_launches_and_graphs():
    n = 50_000
    values = wp.array(numbers(n))
    out = wp.zeros(2, dtype=float)
    wp.launch(total, dim=n, inputs=[values, out])
    expected = out.numpy().tobytes()
    recorded = wp.launch(total, dim=n, inputs=[values, out], record_cmd=True)
    for _ in range(5):
        out.zero_()
        recorded.launch()
        assert out.numpy().tobytes() == expected
    with wp.ScopedCapture() as capture:
        out.zero_()
        wp.launch(total, dim=n, inputs=[values, out])
    for _ in range(5):
        wp.capture_launch(capture.graph)
        assert out.numpy().tobytes() == expected


def test_two_streams_at_once():
    n = 2_000_000
    values = wp.array(numbers(n))
    streams = [wp.Stream(), wp.Stream()]
    wp.synchronize()
    found = set()
    for _ in range(10):
        outs = []
        for stream in streams:
            with wp.ScopedStream(stream):
                outs.append(wp.zeros(2, dtype=float))
                wp.launch(total, dim=n, inputs=[values, outs[-1]], stream=stream)
        wp.synchronize()
        found.update(out.numpy().tobytes() for out in outs)
    assert len(found) == 1


def test_blocks_of_any_size():
    n = 100_000
    values = wp.array(numbers(n))
    expected = values.numpy().sum(dtype=np.float64)
    for block_dim in (32, 100, 1024):
        found = set()
        for _ in range(5):
            out = wp.zeros(2, dtype=float)
            wp.launch(total, dim=n, inputs=[values, out], block_dim=block_dim)
            found.add(float(out.numpy()[1]))
        assert len(found) == 1
        np.testing.assert_allclose(found.pop(), expected, rtol=1e-4, atol=1e-2)


def test_a_sum_beside_a_count():
    values = wp.array(numbers(300_000))
    found = set()
    for _ in range(10):
        out, count = wp.zeros(1, dtype=float), wp.zeros(1, dtype=int)
        wp.launch(counted, dim=values.shape, inputs=[values, out, count])
        found.add(out.numpy().tobytes() + count.numpy().tobytes())
    assert len(found) == 1
    host = values.numpy()
    assert count.numpy()[0] == (host > 0).sum()
    np.testing.assert_allclose(out.numpy()[0], host[host > 0].sum(dtype=np.float64), rtol=1e-4)


def test_counts_alone():
    @wp.kernel
    def positive(values: wp.array(dtype=float), count: wp.array(dtype=int), twice: wp.array(dtype=wp.int64)):
        i = wp.tid()
        if values[i] > 0.0:
            count[0] += 1
            wp.atomic_sub(twice, 1, wp.int64(2))

    for n in (5, 100_000, 3_000_000):
        values = wp.array(numbers(n))
        count, twice = wp.ones(1, dtype=int), wp.zeros(2, dtype=wp.int64)
        wp.launch(positive, dim=n, inputs=[values, count, twice])
        n_positive = int((values.numpy() > 0).sum())
        assert count.numpy()[0] == 1 + n_positive and twice.numpy().tolist() == [0, -2 * n_positive]


def test_gradients_of_one_weight():
    n = 200_000
    x, w = wp.array(numbers(n)), wp.array([0.5], dtype=float, requires_grad=True)

    @wp.kernel
    def loss(x: wp.array(dtype=float), w: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        out[0] += wp.sin(x[i] * w[0])

    found = set()
    for _ in range(10):
        out = wp.zeros(1, dtype=float, requires_grad=True)
        w.grad.zero_()
        with wp.Tape() as tape:
            wp.launch(loss, dim=n, inputs=[x, w, out])
        tape.backward(out)
        found.add(out.numpy().tobytes() + w.grad.numpy().tobytes())
    assert len(found) == 1
    host = x.numpy().astype(np.float64)
    np.testing.assert_allclose(w.grad.numpy()[0], (host * np.cos(host * 0.5)).sum(), rtol=1e-3)


def test_memory_that_arguments_share_is_added_to_as_threads_come():
    out = wp.zeros(8, dtype=float)
    wp.launch(total, dim=7, inputs=[wp.zeros(7, dtype=float), out])
    wp.launch(total, dim=7, inputs=[out, out])
    assert np.isfinite(out.numpy()).all()


def test_streams_that_come_and_go():
    n = 100_000
    values, found = wp.array(numbers(n)), set()
    for _ in range(20):
        with wp.ScopedStream(wp.Stream()):
            out = wp.zeros(2, dtype=float)
            wp.launch(total, dim=n, inputs=[values, out])
        found.add(out.numpy().tobytes())
    assert len(found) == 1


def test_what_depends_on_the_order_is_refused():
    wp.config.deterministic = wp.DeterministicMode.RUN_TO_RUN
    try:
        refuses_what_depends_on_the_order()
    finally:
        wp.config.deterministic = wp.DeterministicMode.SUMS


def refuses_what_depends_on_the_order():
    values, out = wp.ones(100, dtype=float), wp.zeros(7, dtype=float)
    with pytest.raises(NotImplementedError, match="order of its threads"):
        wp.launch(scattered, dim=100, inputs=[values, out])
    with pytest.raises(NotImplementedError, match="order of its threads"):
        wp.launch(total, dim=7, inputs=[out, out])
    counts = wp.zeros(7, dtype=int)
    wp.launch(doubled, dim=100, inputs=[values, counts])
    assert counts.numpy().sum() == 200
