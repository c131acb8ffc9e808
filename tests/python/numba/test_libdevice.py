"""Libdevice's functions: each kernel calls one of them for many arguments."""

import math
from fractions import Fraction

import numpy as np
import pytest

from gridstride.numba import cuda
from gridstride.numba.cuda import libdevice, libdevicefuncs


def call(name, *args):
    """What a function gives for each of its arguments, as arrays: one for each of its results."""
    function = getattr(libdevice, name)
    signature = libdevicefuncs.create_signature(*libdevicefuncs.functions[f"__nv_{name}"])
    results = getattr(signature.return_type, "types", (signature.return_type,))
    given = [np.asarray(arg, ty.dtype) for arg, ty in zip(args, signature.args, strict=True)]
    found = [np.zeros(given[0].size, ty.dtype) for ty in results]

    @cuda.jit
    def one(x, out):
        i = cuda.grid(1)
        out[0][i] = function(x[0][i])

    @cuda.jit
    def two(x, out):
        i = cuda.grid(1)
        out[0][i] = function(x[0][i], x[1][i])

    @cuda.jit
    def three(x, out):
        i = cuda.grid(1)
        out[0][i] = function(x[0][i], x[1][i], x[2][i])

    @cuda.jit
    def pair(x, out):
        i = cuda.grid(1)
        out[0][i], out[1][i] = function(x[0][i])

    @cuda.jit
    def pair_of_two(x, out):
        i = cuda.grid(1)
        out[0][i], out[1][i] = function(x[0][i], x[1][i])

    kernel = {(1, 1): one, (2, 1): two, (3, 1): three, (1, 2): pair, (2, 2): pair_of_two}[len(given), len(found)]
    kernel[given[0].size, 1](tuple(given), tuple(found))
    return found[0] if len(found) == 1 else found


FINITE = [0.0, 1.0, 1.5, 3.0, 0.1, 1e-30, 5e-324, 2.3e-308, 1e-200, 1e150, 1e300, 1.7976931348623157e308, 1 + 2**-52]
NARROW = [0.0, 1.0, 1.5, 3.0, 0.1, 1e-30, 1e-45, 1.2e-38, 1e-20, 1e20, 1e38, 3.4028234663852886e38, 1 + 2**-23]


def pairs(values, n, ty, seed):
    """Pairs, or triples, of special numbers and of random ones."""
    rng = np.random.default_rng(seed)
    signed = np.array([*values, *(-x for x in values)], ty)
    special = [rng.choice(signed, 300) for _ in range(n)]
    spread = 300 if ty is np.float64 else 30
    random = [(rng.normal(size=300) * 10.0 ** rng.integers(-spread, spread, 300)).astype(ty) for _ in range(n)]
    near = [rng.normal(size=300).astype(ty) for _ in range(n)]
    return [np.concatenate(parts) for parts in zip(special, random, near, strict=True)]


def rounded(exact, mode, ty):
    """A fraction as the float below it, above it, or nearer to zero."""
    if mode == "rz":
        mode = "rd" if exact > 0 else "ru"
    top = np.finfo(ty).max
    if abs(exact) > Fraction(float(top)):
        is_out = (exact > 0) == (mode == "ru")
        return ty(math.inf if is_out else float(top)) * ty(1 if exact > 0 else -1)
    # A float near it, and its neighbors.
    near = ty(float(exact))
    if np.isinf(near):
        near = top * ty(1 if exact > 0 else -1)
    while Fraction(float(near)) > exact:
        near = np.nextafter(near, ty(-np.inf))
    while near < top and Fraction(float(np.nextafter(near, ty(np.inf)))) <= exact:
        near = np.nextafter(near, ty(np.inf))
    return near if mode == "rd" or Fraction(float(near)) == exact else np.nextafter(near, ty(np.inf))


EXACT = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "fma": lambda x, y, z: x * y + z,
    "rcp": lambda x: 1 / x,
}


@pytest.mark.parametrize("mode", ["rd", "ru", "rz"])
@pytest.mark.parametrize("op", ["dadd", "dmul", "ddiv", "drcp", "fma", "fadd", "fsub", "fmul", "fdiv", "frcp", "fmaf"])
def test_rounding_goes_where_its_name_says(op, mode):
    exact = EXACT["fma" if op.startswith("fma") else op[1:]]
    ty = np.float32 if op == "fmaf" or (op[0] == "f" and op != "fma") else np.float64
    args = pairs(FINITE if ty is np.float64 else NARROW, exact.__code__.co_argcount, ty, 3)
    found = call(f"{op}_{mode}", *args)
    for index, values in enumerate(zip(*args, strict=True)):
        if op[1:] in ("div", "rcp") and values[-1] == 0:
            continue
        wanted = rounded(exact(*(Fraction(float(value)) for value in values)), mode, ty)
        assert found[index] == wanted, (values, found[index], wanted)


@pytest.mark.parametrize("op", ["dsqrt", "fsqrt"])
@pytest.mark.parametrize("mode", ["rd", "ru", "rz"])
def test_roots_are_the_neighbors_of_the_exact_one(op, mode):
    ty = np.float64 if op == "dsqrt" else np.float32
    (x,) = pairs(FINITE if ty is np.float64 else NARROW, 1, ty, 5)
    x = np.abs(x)
    found = call(f"{op}_{mode}", x)
    for value, root in zip(x, found, strict=True):
        square = Fraction(float(root)) ** 2
        other = Fraction(float(np.nextafter(root, ty(0.0 if mode == "ru" else np.inf)))) ** 2
        exact = Fraction(float(value))
        assert (other < exact <= square) if mode == "ru" and value else (square <= exact < other) or not value


def test_sums_that_cancel_are_minus_zero_only_downward():
    for mode, sign in (("rn", False), ("ru", False), ("rz", False), ("rd", True)):
        assert np.signbit(call(f"dadd_{mode}", [1.5], [-1.5])[0]) == sign
        assert np.signbit(call(f"fadd_{mode}", [1.5], [-1.5])[0]) == sign


def test_integers_become_the_floats_below_and_above():
    x = np.array([2**62 + 1, -(2**62) - 1, 2**24 + 1, -(2**24) - 1, 5, 0, 2**63 - 1, -(2**63)], np.int64)
    for mode in ("rd", "ru", "rz"):
        for ty, name in ((np.float32, "float"), (np.float64, "double")):
            wanted = [rounded(Fraction(int(value)), mode, ty) for value in x]
            assert call(f"ll2{name}_{mode}", x).tolist() == [float(value) for value in wanted]
            wanted = [rounded(Fraction(int(value) % 2**64), mode, ty) for value in x]
            assert call(f"ull2{name}_{mode}", x).tolist() == [float(value) for value in wanted]


def test_floats_become_integers_as_the_name_says():
    x = [2.5, -2.5, 3.5, 1e20, -1e20, math.nan]
    low, high = -(2**31), 2**31 - 1
    assert call("double2int_rn", x).tolist() == [2, -2, 4, high, low, 0]
    assert call("double2int_rd", x).tolist() == [2, -3, 3, high, low, 0]
    assert call("float2int_ru", x).tolist() == [3, -2, 4, high, low, 0]
    assert call("double2ll_rz", x).tolist() == [2, -2, 3, 2**63 - 1, -(2**63), -(2**63)]
    assert call("double2uint_rn", x).tolist() == [2, 0, 4, -1, 0, 0]


def test_integers():
    x = np.array([7, -7, 2**31 - 1, -(2**31), 123456789], np.int32)
    y = np.array([3, 5, 2**31 - 1, -1, -987654321], np.int32)
    wide = [(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    unsigned = [(a % 2**32, b % 2**32) for a, b in wide]
    signed = lambda value: (value + 2**31) % 2**32 - 2**31  # noqa: E731
    assert call("mulhi", x, y).tolist() == [a * b >> 32 for a, b in wide]
    assert call("umulhi", x, y).tolist() == [signed(a * b >> 32) for a, b in unsigned]
    assert call("hadd", x, y).tolist() == [(a + b) >> 1 for a, b in wide]
    assert call("urhadd", x, y).tolist() == [signed((a + b + 1) >> 1) for a, b in unsigned]
    assert call("umax", x, y).tolist() == [signed(max(pair)) for pair in unsigned]
    assert call("byte_perm", [0x33221100], [0x77665544], [0x7531]).tolist() == [0x77553311]
    assert call("mul24", [0xFFFFFF], [5]).tolist() == [-5]
    assert call("sad", [3], [10], [100]).tolist() == [107]
    x = np.array([2**63 - 1, -(2**63), -5, 123456789012345], np.int64)
    y = np.array([2**63 - 1, -1, 2**40, -98765432109876], np.int64)
    wide = [(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    assert call("mul64hi", x, y).tolist() == [a * b >> 64 for a, b in wide]
    signed = lambda value: (value + 2**63) % 2**64 - 2**63  # noqa: E731
    assert call("umul64hi", x, y).tolist() == [signed((a % 2**64) * (b % 2**64) >> 64) for a, b in wide]


def test_bits():
    assert call("hiloint2double", [0x3FF80000], [0]).tolist() == [1.5]
    assert call("double2hiint", [-1.5]).tolist() == [0xBFF80000 - 2**32]
    halves = np.array([1.5, -0.25, 65504.0, 1e-7], np.float16)
    assert call("half2float", halves.view(np.int16)).tolist() == halves.astype(np.float32).tolist()
    assert call("float2half_rn", halves.astype(np.float32)).view(np.float16).tolist() == halves.tolist()


def bessel(n, x):
    """J(n, x) by its integral over a period, for which equal steps are exact but for rounding."""
    turns = np.arange(400) * (2 * math.pi / 400)
    return np.mean(np.cos(n * turns - np.multiply.outer(x, np.sin(turns))), axis=-1)


def test_bessel_functions():
    x = np.concatenate([np.linspace(0.01, 24.9, 60), np.linspace(25.0, 90.0, 60)])
    for n, name in ((0, "j0"), (1, "j1")):
        np.testing.assert_allclose(call(name, x), bessel(n, x), rtol=0, atol=2e-15)
        np.testing.assert_allclose(call(f"{name}f", x), bessel(n, x.astype(np.float32).astype(float)), atol=1e-7)
    for n in (0, 1, 2, 5, 12, 30, 60):
        orders = np.full(x.size, n)
        here, after = call("jn", orders, x), call("jn", orders + 1, x)
        np.testing.assert_allclose(here, bessel(n, x), rtol=0, atol=5e-15)
        # J(n+1) Y(n) - J(n) Y(n+1) = 2 / (pi x)
        y, y_after = call("yn", orders, x), call("yn", orders + 1, x)
        is_finite = np.isfinite(y_after)
        found = (after * y - here * y_after)[is_finite]
        np.testing.assert_allclose(found, 2 / (math.pi * x[is_finite]), rtol=1e-10 if n > 12 else 1e-12, atol=1e-14)
    assert call("y0", [0.0]).tolist() == [-math.inf]
    assert np.isnan(call("y1", [-1.0])[0]) and np.isnan(call("jn", [-1], [1.0])[0])


def test_special_functions():
    x = np.array([-3.0, -0.75, 0.0, 0.3, 1.0, 4.0, 7.5])
    found = call("erfcx", x)
    np.testing.assert_allclose(found, [math.exp(t * t) * math.erfc(t) for t in x], rtol=1e-14)
    # 1 / (sqrt(pi) x) (1 - 1 / 2x² + …)
    assert call("erfcx", [1e4])[0] == pytest.approx(1 / (math.sqrt(math.pi) * 1e4) * (1 - 0.5e-8), rel=1e-15)
    np.testing.assert_allclose(call("normcdf", x), [0.5 * math.erfc(-t / math.sqrt(2)) for t in x], rtol=1e-14)
    p = np.array([1e-300, 1e-10, 0.01, 0.5, 0.9, 1 - 1e-10])
    np.testing.assert_allclose(call("normcdf", call("normcdfinv", p)), p, rtol=1e-12)
    np.testing.assert_allclose(call("erfinv", [math.erf(0.7)]), [0.7], rtol=1e-14)
    np.testing.assert_allclose(call("tgamma", [5.0, 0.5]), [24.0, math.sqrt(math.pi)], rtol=1e-13)
    assert call("sinpi", [1e15 + 0.5, 1.0, -2.0, 0.25]).tolist() == [1.0, 0.0, -0.0, pytest.approx(math.sqrt(0.5))]
    assert call("cospi", [1.0, 2.0, 0.5]).tolist() == [-1.0, 1.0, 0.0]


def test_remquo_gives_the_quotient():
    x, y = np.array([7.0, -7.0, 7.5, 100.0, 1e300]), np.array([2.0, 2.0, 3.0, -7.0, 1e-5])
    rest, quotient = call("remquo", x, y)
    for a, b, r, q in zip(x, y, rest, quotient, strict=True):
        assert r == math.remainder(a, b)
        whole = (Fraction(a) - Fraction(math.remainder(a, b))) / Fraction(b)
        assert abs(int(whole)) & 7 == abs(int(q)) and int(whole) * int(q) >= 0


def test_exponents():
    assert call("ilogb", [8.0, 0.3, 0.0, math.inf, 5e-324]).tolist() == [3, -2, -(2**31), 2**31 - 1, -1074]
    assert call("logb", [8.0, 0.0, math.inf]).tolist() == [3.0, -math.inf, math.inf]
    assert call("round", [0.5, -0.5, 2.5, 0.49999999999999994]).tolist() == [1.0, -1.0, 3.0, 0.0]
    assert call("fdim", [3.0, 1.0], [1.0, 3.0]).tolist() == [2.0, 0.0]


def test_every_function_of_the_guide_is_there():
    assert len(libdevicefuncs.functions) == 317
    with pytest.raises(AttributeError, match="no function `sine`"):
        _ = libdevice.sine
