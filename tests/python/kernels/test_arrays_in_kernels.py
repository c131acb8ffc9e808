"""Arrays as kernels see them: strides, views, slices, negative indices, NumPy arguments, atomics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gridstride as wp

few = settings(max_examples=20, deadline=None)


@wp.kernel
def double2(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = a[i, j] * 2.0


@few
@given(data=st.data())
def test_any_strides(device, data):
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6))
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    index = tuple(data.draw(st.slices(n)) for n in shape)
    a, out = wp.array(x)[index], wp.zeros((9, 9))
    if a.size == 0:
        return
    view = out.transpose()[: a.shape[0], : a.shape[1]]
    wp.launch(double2, dim=a.shape, inputs=[a, view], device=device)
    np.testing.assert_array_equal(view.numpy(), x[index] * 2)
    assert out.numpy().sum() == view.numpy().sum()


@wp.kernel
def rows(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    row = a[i]
    s = float(0.0)  # noqa: UP018
    for j in range(row.shape[0]):
        s += row[j]
    out[i] = s + row[-1] + a[-1, 0] + float(len(row)) + float(a.shape[1])


def test_row_views_and_negative_indices(device):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = wp.zeros(3)
    wp.launch(rows, dim=3, inputs=[wp.array(x), out], device=device)
    np.testing.assert_array_equal(out.numpy(), x.sum(1) + x[:, -1] + x[-1, 0] + 8)


@wp.kernel
def slices(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    tail = a[i:]
    odd = a[1::2]
    out[i] = tail[0] * 100.0 + odd[0] + float(tail.shape[0]) * 1000.0


def test_slices(device):
    a, out = wp.array([5.0, 6.0, 7.0, 8.0], dtype=float), wp.zeros(4)
    wp.launch(slices, dim=4, inputs=[a, out], device=device)
    assert out.list() == [4506.0, 3606.0, 2706.0, 1806.0]


@wp.kernel
def four_d(a: wp.array4d(dtype=int)):
    i, j, k, m = wp.tid()
    a[i, j, k, m] = i * 1000 + j * 100 + k * 10 + m


@wp.kernel
def three_d(a: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    a[i, j, k] = i * 100 + j * 10 + k


@wp.kernel
def one_d(a: wp.array(dtype=int)):
    i = wp.tid()
    a[i] = i


@pytest.mark.parametrize(("kernel", "shape"), [(one_d, (7,)), (three_d, (2, 3, 4)), (four_d, (2, 3, 4, 5))])
def test_launches_of_every_rank(device, kernel, shape):
    a = wp.zeros(shape, dtype=int)
    wp.launch(kernel, dim=shape, inputs=[a], device=device)
    expected = sum(index * 10 ** (len(shape) - 1 - d) for d, index in enumerate(np.indices(shape)))
    np.testing.assert_array_equal(a.numpy(), expected)


def test_launch_shapes(device):
    a = wp.zeros(4, dtype=int)
    for dim in (0, (0,), [3, 0][1:]):
        wp.launch(one_d, dim=dim, inputs=[a], device=device)
    assert a.list() == [0] * 4
    wp.launch(one_d, dim=np.int64(4), inputs=[a], device=device)
    assert a.list() == [0, 1, 2, 3]
    for dim in (-1, (2, -1), 2**31 + 1, (1, 1, 1, 1, 1), ()):
        with pytest.raises(ValueError, match="dimension"):
            wp.launch(one_d, dim=dim, inputs=[a], device=device)
    with pytest.raises(TypeError):
        wp.launch(one_d, dim=1.5, inputs=[a], device=device)


def test_empty_arrays(device):
    a = wp.zeros(0, dtype=int)
    wp.launch(one_d, dim=a.size, inputs=[a], device=device)
    wp.launch(one_d, dim=0, inputs=[np.zeros(0, np.int32)], device=device)
    assert a.numpy().shape == (0,)


def test_numpy_arrays_are_shared(device):
    x = np.zeros(5, np.int32)
    wp.launch(one_d, dim=5, inputs=[x], device=device)
    assert x.tolist() == [0, 1, 2, 3, 4]
    y = np.zeros(10, np.int32)
    wp.launch(one_d, dim=5, inputs=[y[::-2]], device=device)
    assert y[::-2].tolist() == [0, 1, 2, 3, 4]


def test_record_cmd(device):
    a, b = wp.zeros(4), wp.zeros(4)
    command = wp.launch(scale, dim=4, inputs=[a, 2.0], device=device, record_cmd=True)
    assert a.list() == [0.0] * 4
    command.launch()
    assert a.list() == [2.0] * 4
    command.set_param_at_index(0, b)
    command.set_param_by_name("s", 3.0)
    command.set_dim(2)
    command.launch()
    assert b.list() == [3.0, 3.0, 0.0, 0.0]
    command.set_params([a, 1.0])
    command.launch()
    assert a.list() == [3.0, 3.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="no parameter `t`"):
        command.set_param_by_name("t", 3.0)
    with pytest.raises(RuntimeError):
        command.set_param_at_index(0, wp.zeros(4, dtype=int))


@wp.kernel
def scale(a: wp.array(dtype=float), s: float):
    i = wp.tid()
    a[i] = a[i] + s


@wp.struct
class Factor:
    by: float


@wp.kernel
def scaled(f: Factor, a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = f.by


def test_a_recorded_launch_reads_structs_as_they_are(device):
    f, a = Factor(by=1.0), wp.zeros(2)
    command = wp.launch(scaled, dim=2, inputs=[f, a], device=device, record_cmd=True)
    command.launch()
    f.by = 2.0
    command.launch()
    assert a.list() == [2.0, 2.0]


def test_a_recorded_launch_keeps_its_arrays_alive(device):
    a = wp.zeros(1000)
    view = a[:]
    command = wp.launch(scale, dim=1000, inputs=[a, 1.0], device=device, record_cmd=True)
    del a
    command.launch()
    assert view.numpy().sum() == 1000


@wp.kernel
def local_arrays(out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.zeros(shape=4, dtype=float)
    for k in range(4):
        t[k] = t[k] + float(k * i)
    out[i] = t[0] + t[1] + t[2] + t[3]


def test_local_arrays(device):
    out = wp.zeros(5)
    wp.launch(local_arrays, dim=5, inputs=[out], device=device)
    assert out.list() == [6.0 * i for i in range(5)]


@wp.kernel
def count(a: wp.array(dtype=int), n: int):
    i = wp.tid()
    a[i % n] += 1
    wp.atomic_add(a, n, 2)
    wp.atomic_sub(a, n + 1, 1)
    wp.atomic_max(a, n + 2, i)
    wp.atomic_min(a, n + 3, -i)
    wp.atomic_or(a, n + 4, 1 << (i % 16))
    wp.atomic_xor(a, n + 5, i)
    wp.atomic_and(a, n + 6, ~(1 << (i % 8)))


def test_atomics_on_ints(device):
    threads, n = 20000 if device == "cpu" else 2000, 5
    a = wp.zeros(n + 7, dtype=int)
    a[n + 6 :].fill_(-1)
    wp.launch(count, dim=threads, inputs=[a, n], device=device)
    xor = 0
    for i in range(threads):
        xor ^= i
    expected = [threads // n] * n + [2 * threads, -threads, threads - 1, 1 - threads, 65535, xor, -256]
    assert a.list() == expected


@wp.kernel
def atomic_results(
    a: wp.array(dtype=float), old: wp.array(dtype=float), slots: wp.array(dtype=int), seen: wp.array(dtype=int)
):
    i = wp.tid()
    slot = wp.atomic_add(slots, 0, 1)
    seen[slot] = 1
    if i == 0:
        old[0] = wp.atomic_exch(a, 0, 5.0)
        old[1] = wp.atomic_cas(a, 0, 5.0, 6.0)
        old[2] = wp.atomic_cas(a, 0, 5.0, 7.0)
        old[3] = wp.atomic_max(a, 0, 9.0)
        old[4] = wp.atomic_min(a, 0, -1.0)


def test_atomics_return_the_old_value(device):
    n = 3000
    a, old = wp.array([4.0], dtype=float), wp.zeros(5)
    slots, seen = wp.zeros(1, dtype=int), wp.zeros(n, dtype=int)
    wp.launch(atomic_results, dim=n, inputs=[a, old, slots, seen], device=device)
    assert old.list() == [4.0, 5.0, 6.0, 6.0, 9.0]
    assert a.list() == [-1.0]
    assert seen.numpy().all()


@wp.kernel
def sum_vectors(v: wp.array(dtype=wp.vec3), total: wp.array(dtype=wp.vec3), n: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_add(total, 0, v[i])
    n[0] += wp.int64(2**33)


def test_atomics_on_vectors_and_wide_ints(device):
    v = np.random.default_rng(0).integers(-9, 9, size=(5000, 3)).astype(np.float32)
    total, n = wp.zeros(1, dtype=wp.vec3), wp.zeros(1, dtype=wp.int64)
    wp.launch(sum_vectors, dim=len(v), inputs=[wp.array(v, dtype=wp.vec3), total, n], device=device)
    np.testing.assert_array_equal(total.numpy()[0], v.sum(0))
    assert n.list() == [5000 * 2**33]


@wp.kernel
def maybe(a: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    if a:
        out[i] = a[i]
    else:
        out[i] = -1


def test_none_is_a_null_array(device):
    out = wp.zeros(2, dtype=int)
    wp.launch(maybe, dim=2, inputs=[None, out], device=device)
    assert out.list() == [-1, -1]
    wp.launch(maybe, dim=2, inputs=[wp.array([3, 4], dtype=int), out], device=device)
    assert out.list() == [3, 4]


@wp.kernel
def talk(a: wp.array(dtype=float), v: wp.vec3):
    print(a[0])
    print(v)
    print("text")
    wp.printf("%d %.2f\n", 7, a[0])


def test_print_goes_to_stdout(device, capfd):
    wp.launch(talk, dim=1, inputs=[wp.array([1.5], dtype=float), wp.vec3(1, 2, 3)], device=device)
    out = capfd.readouterr().out
    assert "1.5" in out
    assert "text\n" in out
    assert "7 1.50\n" in out


def test_map(device):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    a = wp.array(x)
    np.testing.assert_allclose(wp.map(wp.sqrt, a, device=device).numpy(), np.sqrt(x))
    np.testing.assert_array_equal(wp.map(lambda p, q: p * q + 1.0, a, 2.0, device=device).numpy(), x * 2 + 1)
    np.testing.assert_array_equal(wp.map(wp.add, a, a[0], device=device).numpy(), x + x[0])
    gain = 3.0
    np.testing.assert_array_equal(wp.map(lambda p: p * gain, a, device=device).numpy(), x * 3)
    low, high = wp.map(bounds, a, device=device)
    np.testing.assert_array_equal(high.numpy() - low.numpy(), np.full((2, 3), 2))
    out = wp.zeros((2, 3))
    assert wp.map(wp.neg, a, out=out, device=device) is out
    np.testing.assert_array_equal(out.numpy(), -x)
    lengths = wp.map(wp.length, wp.array([[3, 4, 0]], dtype=wp.vec3), device=device)
    assert lengths.list() == [5.0]
    picked = wp.indexedarray(wp.array(x[0]), [wp.array([2, 0], dtype=int)])
    np.testing.assert_array_equal(wp.map(lambda p: p + 1.0, picked, device=device).numpy(), [3, 1])
    picked += 10.0
    np.testing.assert_array_equal(picked.numpy(), [12, 10])
    with pytest.raises(ValueError, match="requires at least one"):
        wp.map(wp.sqrt, 1.0)
    with pytest.raises(TypeError, match=r"shape \(3,\) does not match expected shape \(2, 3\)"):
        wp.map(wp.sqrt, a, out=wp.zeros(3))
    with pytest.raises(TypeError, match=r"\(2\) does not match expected number of function arguments \(1\)"):
        wp.map(bounds, a, a)


@wp.func
def bounds(x: float):
    return x - 1.0, x + 1.0


@wp.kernel
def through_indices(a: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = a[i, j] * 2.0
    a[i, j] = -1.0


def test_indexed_arrays(device):
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    rows, cols = np.array([3, 0]), np.array([4, 1, 2])
    for indices in ([rows, cols], [rows, None], [None, cols]):
        a = wp.array(x)
        picked = wp.indexedarray(a, [None if one is None else wp.array(one, dtype=int) for one in indices])
        out = wp.zeros(picked.shape)
        wp.launch(through_indices, dim=picked.shape, inputs=[picked, out], device=device)
        grid = np.ix_(*[np.arange(n) if one is None else one for one, n in zip(indices, x.shape, strict=True)])
        np.testing.assert_array_equal(out.numpy(), x[grid] * 2)
        expected = x.copy()
        expected[grid] = -1
        np.testing.assert_array_equal(a.numpy(), expected)
