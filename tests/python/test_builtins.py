"""Builtin functions against NumPy and Python's `math` in float64, on every device."""

import math

import numpy as np
import pytest

import gridstride as wp

FLOATS = {
    "float16": (wp.float16, np.float16, 2e-3),
    "float32": (wp.float32, np.float32, 3e-7),
    "float64": (wp.float64, np.float64, 1e-15),
}


def launch(device, func, result, *columns):
    """`func` of the items of each column; the columns are arrays, `result` is the dtype of what it gives."""
    n = columns[0].shape[0]
    out = wp.zeros(n, dtype=result, device="cpu")
    types = [column.dtype for column in columns]
    wp.launch(kernel(func, result, *types), dim=n, inputs=[*columns, out], device=device)
    return out.numpy()


def kernel(func, result, *types):
    a, b, c = (*types, *[types[0]] * 3)[:3]
    if len(types) == 1:

        @wp.kernel(module="unique")
        def apply(x: wp.array(dtype=a), out: wp.array(dtype=result)):
            i = wp.tid()
            out[i] = func(x[i])

    elif len(types) == 2:

        @wp.kernel(module="unique")
        def apply(x: wp.array(dtype=a), y: wp.array(dtype=b), out: wp.array(dtype=result)):
            i = wp.tid()
            out[i] = func(x[i], y[i])

    else:

        @wp.kernel(module="unique")
        def apply(x: wp.array(dtype=a), y: wp.array(dtype=b), z: wp.array(dtype=c), out: wp.array(dtype=result)):
            i = wp.tid()
            out[i] = func(x[i], y[i], z[i])

    return apply


def builtin(name):
    """Functions that only `math` has are members of it in kernels too."""
    return getattr(wp, name) if hasattr(wp, name) else getattr(math, name)


def column(values, dtype):
    return wp.array(np.asarray(values), dtype=dtype, device="cpu")


UNARY = {
    "sqrt": (np.sqrt, 0.0, 9.0),
    "cbrt": (np.cbrt, -9.0, 9.0),
    "exp": (np.exp, -5.0, 5.0),
    "exp2": (np.exp2, -5.0, 5.0),
    "expm1": (np.expm1, -2.0, 2.0),
    "log": (np.log, 0.01, 9.0),
    "log2": (np.log2, 0.01, 9.0),
    "log10": (np.log10, 0.01, 9.0),
    "log1p": (np.log1p, -0.9, 9.0),
    "sin": (np.sin, -9.0, 9.0),
    "cos": (np.cos, -9.0, 9.0),
    "tan": (np.tan, -1.5, 1.5),
    "asin": (np.arcsin, -1.0, 1.0),
    "acos": (np.arccos, -1.0, 1.0),
    "atan": (np.arctan, -9.0, 9.0),
    "sinh": (np.sinh, -3.0, 3.0),
    "cosh": (np.cosh, -3.0, 3.0),
    "tanh": (np.tanh, -3.0, 3.0),
    "asinh": (np.arcsinh, -9.0, 9.0),
    "acosh": (np.arccosh, 1.0, 9.0),
    "atanh": (np.arctanh, -0.9, 0.9),
    "erf": (np.vectorize(math.erf), -3.0, 3.0),
    "erfc": (np.vectorize(math.erfc), -3.0, 3.0),
    "floor": (np.floor, -9.0, 9.0),
    "ceil": (np.ceil, -9.0, 9.0),
    "trunc": (np.trunc, -9.0, 9.0),
    "rint": (np.rint, -9.0, 9.0),
    "round": (lambda x: np.trunc(x + np.copysign(0.5, x)), -9.0, 9.0),
    "frac": (lambda x: x - np.trunc(x), -9.0, 9.0),
    "degrees": (np.degrees, -9.0, 9.0),
    "radians": (np.radians, -9.0, 9.0),
    "abs": (np.abs, -9.0, 9.0),
    "sign": (lambda x: np.where(x < 0, -1.0, 1.0), -9.0, 9.0),
    "step": (lambda x: np.where(x < 0, 1.0, 0.0), -9.0, 9.0),
    "nonzero": (lambda x: np.where(x == 0, 0.0, 1.0), -9.0, 9.0),
}


@pytest.mark.parametrize("scalar", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(device, name, scalar):
    oracle, low, high = UNARY[name]
    dtype, np_dtype, tolerance = FLOATS[scalar]
    x = np.concatenate([np.linspace(low, high, 61), [low, high, (low + high) / 2]]).astype(np_dtype)
    wide = x.astype(np.float64)
    if name in ("rint", "round"):
        x = np.concatenate([x, np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np_dtype)])
        wide = x.astype(np.float64)
    got = launch(device, builtin(name), dtype, column(x, dtype))
    np.testing.assert_allclose(got.astype(np.float64), oracle(wide), rtol=tolerance, atol=tolerance)


BINARY = {
    "atan2": np.arctan2,
    "pow": lambda x, y: np.power(np.abs(x) + 0.1, y),
    "copysign": np.copysign,
    "fmod": np.fmod,
    "min": np.fmin,
    "max": np.fmax,
}


@pytest.mark.parametrize("scalar", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_binary_functions(device, name, scalar):
    dtype, np_dtype, tolerance = FLOATS[scalar]
    rng = np.random.default_rng(3)
    x, y = (rng.uniform(-3, 3, 64).astype(np_dtype) for _ in range(2))
    if name == "pow":
        x = (np.abs(x) + np_dtype(0.1)).astype(np_dtype)
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    else:
        expected = BINARY[name](x.astype(np.float64), y.astype(np.float64))
    got = launch(device, builtin(name), dtype, column(x, dtype), column(y, dtype))
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=2 * tolerance, atol=tolerance)


@pytest.mark.parametrize("scalar", ["float32", "float64"])
def test_inverse_error_functions_invert(device, scalar):
    dtype, np_dtype, tolerance = FLOATS[scalar]
    x = np.concatenate([np.linspace(-0.999, 0.999, 101), [0.0, 1e-7, -1e-12, 0.5, -0.5]]).astype(np_dtype)
    z = launch(device, wp.erfinv, dtype, column(x, dtype)).astype(np.float64)
    back = np.vectorize(math.erf)(z)
    # The condition of the inverse: an error of one ulp in z moves erf(z) by z * erf'(z) ulps.
    slack = np.abs(z) * 2 / math.sqrt(math.pi) * np.exp(-z * z)
    assert np.all(np.abs(back - x) <= 2 * tolerance * (slack + np.abs(x)))
    y = np.array([1e-30, 1e-12, 1e-5, 0.01, 0.3, 0.7, 1.0, 1.3, 1.9, 1.9999], np_dtype)
    z = launch(device, wp.erfcinv, dtype, column(y, dtype)).astype(np.float64)
    slack = np.abs(z) * 2 / math.sqrt(math.pi) * np.exp(-z * z)
    back = np.vectorize(math.erfc)(z)
    assert np.all(np.abs(back - y) <= 4 * tolerance * (slack + y))


def test_ends_of_the_inverse_error_functions(device):
    got = launch(device, wp.erfinv, wp.float32, column([-1.0, 1.0, 1.5], wp.float32))
    assert got[0] == -np.inf and got[1] == np.inf and np.isnan(got[2])
    got = launch(device, wp.erfcinv, wp.float32, column([0.0, 2.0, -1.0], wp.float32))
    assert got[0] == np.inf and got[1] == -np.inf and np.isnan(got[2])


def test_asin_and_acos_take_the_nearer_end_outside_their_domain(device):
    x = column([-2.0, 2.0, np.nan], wp.float32)
    asin = launch(device, wp.asin, wp.float32, x)
    acos = launch(device, wp.acos, wp.float32, x)
    np.testing.assert_allclose(asin[:2], [-np.pi / 2, np.pi / 2], rtol=1e-6)
    np.testing.assert_allclose(acos[:2], [np.pi, 0.0], rtol=1e-6)
    assert np.isnan(asin[2]) and np.isnan(acos[2])


def test_clamp_lerp_and_smoothstep(device):
    x = np.linspace(-1.0, 2.0, 31).astype(np.float32)
    zero, one = np.zeros_like(x), np.ones_like(x)
    columns = [column(c, wp.float32) for c in (x, zero, one)]
    np.testing.assert_array_equal(launch(device, wp.clamp, wp.float32, *columns), np.clip(x, 0, 1))
    columns = [column(c, wp.float32) for c in (zero, one, x)]
    t = np.clip(x.astype(np.float64), 0, 1)
    np.testing.assert_allclose(launch(device, wp.smoothstep, wp.float32, *columns), t * t * (3 - 2 * t), atol=1e-6)
    columns = [column(c, wp.float32) for c in (one, 3 * one, x)]
    np.testing.assert_allclose(launch(device, wp.lerp, wp.float32, *columns), 1 + 2 * x.astype(np.float64), atol=1e-6)


def test_nan_and_infinity_are_told_apart(device):
    x = column([0.0, -1.5, np.nan, np.inf, -np.inf], wp.float32)
    assert launch(device, wp.isnan, wp.bool, x).tolist() == [False, False, True, False, False]
    assert launch(device, wp.isinf, wp.bool, x).tolist() == [False, False, False, True, True]
    assert launch(device, wp.isfinite, wp.bool, x).tolist() == [True, True, False, False, False]
    v = column([[0, 1, 2], [np.nan, 0, np.inf], [0, 0, -np.inf]], wp.vec3)
    assert launch(device, wp.isnan, wp.bool, v).tolist() == [False, True, False]
    assert launch(device, wp.isinf, wp.bool, v).tolist() == [False, True, True]
    assert launch(device, wp.isfinite, wp.bool, v).tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", [wp.int8, wp.uint8, wp.int16, wp.int32, wp.uint32, wp.int64, wp.uint64])
def test_integer_functions(device, dtype):
    np_dtype = np.dtype(dtype.__name__)
    limits = np.iinfo(np_dtype)
    x = np.array([0, 1, 5, 100, limits.max, limits.min, limits.max - 1], np_dtype)
    y = np.array([3, 0, 7, 50, limits.min, limits.max, 1], np_dtype)
    bits = [int(v).bit_count() if v >= 0 else int(int(v) % 2**64).bit_count() - 64 + np_dtype.itemsize * 8 for v in x]
    assert launch(device, wp.bit_count, wp.int32, column(x, dtype)).tolist() == bits
    np.testing.assert_array_equal(launch(device, wp.min, dtype, column(x, dtype), column(y, dtype)), np.minimum(x, y))
    np.testing.assert_array_equal(launch(device, wp.max, dtype, column(x, dtype), column(y, dtype)), np.maximum(x, y))
    np.testing.assert_array_equal(launch(device, wp.abs, dtype, column(x, dtype)), np.abs(x))
    np.testing.assert_array_equal(launch(device, wp.sign, dtype, column(x, dtype)), np.where(x < 0, -1, 1))


VECTORS = {
    "dot": (wp.float64, lambda a, b: (a * b).sum(-1)),
    "cross": (wp.vec3d, np.cross),
    "cw_mul": (wp.vec3d, np.multiply),
    "cw_div": (wp.vec3d, np.divide),
    "outer": (wp.mat33d, lambda a, b: a[:, :, None] * b[:, None, :]),
    "min": (wp.vec3d, np.minimum),
    "max": (wp.vec3d, np.maximum),
}


@pytest.mark.parametrize("name", VECTORS)
def test_functions_of_two_vectors(device, name):
    result, oracle = VECTORS[name]
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-2, 2, (2, 32, 3))
    got = launch(device, getattr(wp, name), result, column(a, wp.vec3d), column(b, wp.vec3d))
    np.testing.assert_allclose(got, oracle(a, b), rtol=1e-14, atol=1e-14)


VECTOR = {
    "length": (wp.float64, lambda a: np.linalg.norm(a, axis=-1)),
    "length_sq": (wp.float64, lambda a: (a * a).sum(-1)),
    "normalize": (wp.vec3d, lambda a: a / np.linalg.norm(a, axis=-1, keepdims=True)),
    "min": (wp.float64, lambda a: a.min(-1)),
    "max": (wp.float64, lambda a: a.max(-1)),
    "argmin": (wp.int32, lambda a: a.argmin(-1)),
    "argmax": (wp.int32, lambda a: a.argmax(-1)),
    "abs": (wp.vec3d, np.abs),
    "sign": (wp.vec3d, lambda a: np.where(a < 0, -1.0, 1.0)),
    "norm_l1": (wp.float64, lambda a: np.abs(a).sum(-1)),
    "norm_l2": (wp.float64, lambda a: np.linalg.norm(a, axis=-1)),
    "norm_huber": (wp.float64, lambda a: huber(a, 1.0)),
    "norm_pseudo_huber": (wp.float64, lambda a: np.sqrt(1 + (a * a).sum(-1))),
    "smooth_normalize": (wp.vec3d, lambda a: a / np.sqrt(1 + (a * a).sum(-1, keepdims=True))),
    "diag": (wp.mat33d, lambda a: a[:, :, None] * np.eye(3)),
    "skew": (wp.mat33d, lambda a: np.stack([np.cross(a, e) for e in np.eye(3)], -1)),
}


def huber(a, delta):
    norm = np.linalg.norm(a, axis=-1)
    return np.where(norm <= delta, 0.5 * norm * norm, delta * (norm - 0.5 * delta))


@pytest.mark.parametrize("name", VECTOR)
def test_functions_of_a_vector(device, name):
    result, oracle = VECTOR[name]
    a = np.random.default_rng(6).uniform(-1, 1, (32, 3))
    got = launch(device, getattr(wp, name), result, column(a, wp.vec3d))
    np.testing.assert_allclose(got, oracle(a), rtol=1e-14, atol=1e-14)


def test_a_zero_vector_has_no_direction(device):
    assert launch(device, wp.normalize, wp.vec3, column(np.zeros((1, 3)), wp.vec3)).tolist() == [[0, 0, 0]]
    assert launch(device, wp.normalize, wp.quat, column(np.zeros((1, 4)), wp.quat)).tolist() == [[0, 0, 0, 1]]


def test_lower_bound_finds_the_first_not_less(device):
    @wp.kernel
    def search(a: wp.array(dtype=int), x: wp.array(dtype=int), out: wp.array(dtype=int), part: wp.array(dtype=int)):
        i = wp.tid()
        out[i] = wp.lower_bound(a, x[i])
        part[i] = wp.lower_bound(a, 2, 5, x[i])

    a = np.array([1, 3, 3, 7, 9, 12], np.int32)
    x = np.array([0, 1, 3, 4, 12, 50], np.int32)
    out, part = (wp.zeros(6, dtype=int) for _ in range(2))
    wp.launch(search, dim=6, inputs=[wp.array(a), wp.array(x), out, part], device=device)
    np.testing.assert_array_equal(out.numpy(), np.minimum(np.searchsorted(a, x), 5))
    np.testing.assert_array_equal(part.numpy(), [2, 2, 2, 3, 4, 4])


def test_arguments_by_name():
    state = wp.rand_init(42)
    point = wp.vec3(0.25, 0.5, 0.75)
    assert wp.curlnoise(xyz=point, state=state) == wp.curlnoise(state, point)
    assert wp.max(a=wp.vec3(3.0, 1.0, 2.0)) == 3.0
    with pytest.raises(wp.CompileError, match="'mul' compatible with the arguments 'int8, int'"):
        wp.mul(wp.int8(1), 2)
