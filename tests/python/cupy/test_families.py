"""Sorting, statistics, linear algebra, shapes, creation and numbers by chance, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as wp
import gridstride.cupy as cp
from gridstride.cupy import _elementwise, _linalg, _products, _sorting, linalg

RNG = np.random.default_rng(0)
M, N, V = RNG.random((5, 6)), RNG.random((6, 4)), RNG.normal(size=200)
WHOLE = RNG.integers(0, 9, 50)
SQUARE = M[:, :5] + 5 * np.eye(5)
B3, C3 = RNG.random((2, 3, 4)), RNG.random((2, 4, 5))


def ours(value):
    if isinstance(value, list | tuple):
        return type(value)(map(ours, value))
    return cp.asarray(value) if isinstance(value, np.ndarray) else value


def check(found, wanted):
    if isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            check(one, other)
        return
    wanted = np.asarray(wanted)
    assert isinstance(found, cp.ndarray)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.get(), wanted, rtol=1e-10, atol=1e-12)


CALLS = [
    ("sort", M, 0),
    ("sort", V),
    ("argsort", V),
    ("argsort", M, 1),
    ("lexsort", (WHOLE, WHOLE[::-1])),
    ("searchsorted", np.arange(10.0), V),
    ("searchsorted", np.arange(10), WHOLE, "right"),
    ("digitize", V, np.arange(-1.0, 2.0)),
    ("unique", WHOLE),
    ("unique", WHOLE, True, True, True),
    ("isin", WHOLE, np.array([1, 3])),
    ("intersect1d", WHOLE, np.arange(3)),
    ("union1d", WHOLE, np.arange(12)),
    ("setdiff1d", np.arange(12), WHOLE),
    ("bincount", WHOLE),
    ("bincount", WHOLE, WHOLE * 0.5, 20),
    ("histogram", V),
    ("histogram", V, np.array([-1.0, 0.0, 2.0])),
    ("median", V),
    ("median", M, 1),
    ("percentile", M, [10, 50], 0),
    ("quantile", V, 0.3),
    ("average", M, 1, np.arange(6.0)),
    ("cov", M),
    ("corrcoef", M),
    ("interp", V, np.arange(-1.0, 2.0), np.array([3.0, 1.0, 2.0])),
    ("matmul", M, N),
    ("matmul", B3, C3),
    ("matmul", M, N[:, 0]),
    ("dot", M[0], M[1]),
    ("dot", M, N),
    ("dot", B3, M[:4, :5]),
    ("inner", M, M),
    ("outer", V[:3], V[:4]),
    ("vdot", M, M),
    ("tensordot", M, N, 1),
    ("kron", M, N),
    ("cross", M[:, :3], M[:, 3:]),
    ("trace", M),
    ("einsum", "ij,jk->ik", M, N),
    ("einsum", "ij->ji", M),
    ("einsum", "ij->", M),
    ("einsum", "ii->i", SQUARE),
    ("einsum", "i,i->", M[0], M[1]),
    ("einsum", "bij,bjk->bik", B3, C3),
    ("einsum", "ij,kj,k->i", M, M, M[:, 0]),
    ("einsum", "...ij,...j->...i", B3, B3[:, 0]),
    ("einsum", "ij,jk", M, N),
    ("concatenate", [M, M], 1),
    ("stack", [M, M], 2),
    ("hstack", [M, M]),
    ("vstack", [M, M]),
    ("dstack", [M, M]),
    ("column_stack", [V, V]),
    ("split", M, 3, 1),
    ("array_split", V, 7),
    ("tile", M, (2, 1, 3)),
    ("repeat", M, 3, 1),
    ("repeat", V[:3], [1, 0, 2]),
    ("flip", M),
    ("flip", M, 0),
    ("rot90", M),
    ("roll", M, 2),
    ("roll", M, (1, -2), (0, 1)),
    ("pad", M, 2),
    ("pad", M, ((1, 2), (3, 1)), "edge"),
    ("pad", M, 2, "reflect"),
    ("pad", M, 3, "wrap"),
    ("moveaxis", B3, 0, 2),
    ("swapaxes", B3, 0, 2),
    ("expand_dims", M, 1),
    ("broadcast_to", V, (2, 200)),
    ("ravel", M.T),
    ("diagonal", M, 1),
    ("atleast_2d", V),
    ("diff", M, 2, 0),
    ("ediff1d", V),
    ("trapezoid", M),
    ("append", V, V),
    ("delete", V, 3),
    ("where", M > 0.5, M, 0.0),
    ("where", M > 0.5),
    ("clip", M, 0.2, 0.5),
    ("clip", WHOLE, 2, None),
    ("round", M, 2),
    ("round", WHOLE * 7, -1),
    ("angle", M + 1j),
    ("nan_to_num", np.array([np.nan, np.inf, -np.inf, 1.0])),
    ("sinc", V),
    ("isclose", M, M + 1e-9),
    ("tril", M),
    ("triu", M, 1),
    ("eye", 3, 4, 1),
    ("arange", 2, 9, 3),
    ("arange", 0.5, 2.0, 0.25),
    ("arange", 5),
    ("linspace", 0, 1, 7),
    ("linspace", 2, 3, 4, False),
    ("logspace", 0, 2, 5),
    ("full", (2, 3), 7),
    ("diag", V[:4]),
    ("diag", M),
    ("meshgrid", V[:3], V[:4]),
    ("indices", (2, 3)),
    ("zeros", 3),
    ("ones", (2, 2), np.int8),
    ("tri", 3),
    ("unravel_index", WHOLE % 12, (3, 4)),
    ("ravel_multi_index", (WHOLE % 3, WHOLE % 4), (3, 4)),
    ("fft.fft", V),
    ("fft.rfft", V),
    ("linalg.norm", M),
    ("linalg.norm", M, 1),
    ("linalg.norm", M, None, 1),
    ("linalg.norm", V, 3),
    ("linalg.norm", M, np.inf),
    ("linalg.solve", SQUARE, M[:, 0]),
    ("linalg.inv", SQUARE),
    ("linalg.det", SQUARE),
    ("linalg.matrix_power", SQUARE, 3),
    ("linalg.cholesky", SQUARE @ SQUARE.T),
    ("linalg.eigvalsh", SQUARE @ SQUARE.T),
    ("convolve", V, M[0]),
    ("convolve", M[0], V, "same"),
    ("convolve", V, M[0], "valid"),
    ("correlate", V, M[0]),
    ("correlate", M[0], V, "full"),
    ("gradient", V),
    ("gradient", M, 0.5),
    ("unwrap", V * 9),
    ("hanning", 7),
    ("hamming", 8),
    ("blackman", 9),
    ("polyval", M[0], V),
    ("vander", V[:4]),
    ("select", [M > 0.7, M > 0.3], [M, -M], 0.0),
    ("tril_indices", 4),
    ("ix_", WHOLE[:3], WHOLE[:2]),
    ("atleast_3d", V),
    ("median", np.full(4, np.inf)),
    ("median", np.zeros((0, 3)), 0),
    ("cov", np.zeros((2, 0))),
    ("intersect1d", np.array([1, 2, 3], np.uint8), np.array([-1, 2, 3], np.int8)),
    ("angle", np.array([0, 3], np.uint8)),
    ("round", np.array([True, False])),
    ("var", np.zeros((0, 3)), 0),
]


def function(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


# NumPy computes them, in the host's memory.
ON_THE_CPU = ("fft.fft", "fft.rfft", "linalg.cholesky", "linalg.eigvalsh")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_as_numpy(call, interpreted):
    name, *args = call
    if name in ON_THE_CPU and not wp.get_device().is_cpu:
        with pytest.raises(NotImplementedError, match="does not run on a GPU"):
            function(cp, name)(*map(ours, args))
        return
    check(function(cp, name)(*map(ours, args)), function(np, name)(*args))


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.float32, np.complex128, bool], ids=str)
def test_the_sort_of_gpus_is_stable(dtype):
    a = RNG.integers(0, 4, (3, 133)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        a[1, 5] = np.nan
    keys, order = _sorting.merge_sorted(cp.asarray(a))
    np.testing.assert_array_equal(keys.get(), np.sort(a))
    np.testing.assert_array_equal(order.get(), np.argsort(a, kind="stable"))


def test_the_products_and_eliminations_of_gpus():
    out = cp.empty((1, 5, 4))
    args = [cp.asarray(M)[None], cp.asarray(N)[None], out, 6]
    _elementwise.launch(_linalg._product_kernel(np.dtype(float)), (1, 5, 4), args)
    check(out[0], M @ N)
    stacked = np.stack([SQUARE, SQUARE[::-1]])
    x, det = linalg._eliminated(cp.asarray(stacked), cp.asarray(np.stack([np.eye(5)] * 2)))
    check(x, np.linalg.inv(stacked))
    check(det, np.linalg.det(stacked))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.uint64, bool], ids=str)
@pytest.mark.parametrize("shape", [(1, 1, 1), (130, 70, 33), (128, 128, 16), (5, 300, 4)], ids=str)
def test_products_of_large_matrices_on_gpus(dtype, shape):
    rows, columns, depth = shape
    a = RNG.integers(0, 4, (2, rows, depth)).astype(dtype)
    b = RNG.integers(0, 4, (2, columns, depth)).astype(dtype).transpose(0, 2, 1)
    out = cp.empty((2, rows, columns), dtype)
    _linalg._multiply(cp.asarray(a), cp.asarray(b), out)
    check(out, np.matmul(a, b))
    _products.multiply(cp.asarray(a), cp.asarray(b), out)
    check(out, np.matmul(a, b))


def test_singular_and_not_square():
    with pytest.raises(cp.linalg.LinAlgError, match="Singular"):
        cp.linalg.solve(cp.zeros((2, 2)), cp.ones(2))
    with pytest.raises(cp.linalg.LinAlgError, match="must be square"):
        cp.linalg.inv(cp.zeros((2, 3)))
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        cp.ones((2, 3)) @ cp.ones((2, 3))


def test_numbers_by_chance():
    rng = cp.random.default_rng(1)
    u = rng.random(20_000)
    assert float(u.min()) >= 0 and float(u.max()) < 1
    assert abs(float(u.mean()) - 0.5) < 0.01 and abs(float(u.var()) - 1 / 12) < 0.003
    z = rng.standard_normal(20_000, dtype=cp.float32)
    assert z.dtype == np.float32
    assert abs(float(z.mean())) < 0.03 and abs(float(z.std()) - 1) < 0.03
    counts = cp.bincount(rng.integers(3, 9, 20_000)).get()
    assert counts[:3].tolist() == [0, 0, 0] and counts.size == 9
    assert abs(counts[3:] - 20_000 / 6).max() < 300
    assert sorted(rng.permutation(10).tolist()) == list(range(10))
    assert len(set(rng.choice(20, 10, replace=False).tolist())) == 10
    assert rng.random().shape == ()
    assert rng.integers(0, 2, 4, dtype=cp.uint8).dtype == np.uint8
    with pytest.raises(ValueError, match="low >= high"):
        rng.integers(3, 3)
    with pytest.raises(AttributeError, match="it has binomial"):
        cp.random.no_such_distribution  # noqa: B018


def test_a_seed_gives_the_same_numbers_on_every_device(monkeypatch):
    from gridstride.numba.cuda import _devices

    cp.random.seed(3)
    first = cp.random.randn(100).get()
    monkeypatch.setattr(_devices, "_launch_device", "interp")
    cp.random.seed(3)
    np.testing.assert_array_equal(cp.random.randn(100).get(), first)


def test_streams_events_and_devices():
    with cp.cuda.Stream() as stream:
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        x = cp.arange(10).sum()
        end.record()
    end.synchronize()
    stream.synchronize()
    assert int(x) == 45
    assert cp.cuda.get_elapsed_time(start, end) >= 0
    assert cp.cuda.Device() == x.device
    assert cp.get_array_module(x) is cp and cp.get_array_module(np.ones(1)) is np
    assert cp.get_default_memory_pool().used_bytes() >= 0
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="InvalidDevice"):
        cp.cuda.Device(99).use()


def test_names_that_are_not_there_say_what_is():
    with pytest.raises(AttributeError, match="has no attribute 'concatenat'.*concatenate"):
        cp.concatenat  # noqa: B018
