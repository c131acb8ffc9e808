"""The generators: uniform bits by Philox, and the distributions that are made of them."""

from __future__ import annotations

import math
import os
import threading
from functools import cache
from typing import Any

import numpy as np

from gridstride.cupy import _array, _creation, _elementwise, _interop, _mathematics, _ufuncs
from gridstride.cupy._elementwise import Body

_U32, _U64, _F32, _F64 = (np.dtype(kind) for kind in (np.uint32, np.uint64, np.float32, np.float64))
_ROUND = """
def _philox(i, seed, call):
    mask = t_uint64(0xFFFFFFFF)
    shift = t_uint64(32)
    first, second = t_uint64(0xD2511F53), t_uint64(0xCD9E8D57)
    c0, c1 = t_uint64(i) & mask, t_uint64(i) >> shift
    c2, c3 = call & mask, call >> shift
    k0, k1 = seed & mask, seed >> shift
    for _ in range(10):
        p0 = first * c0
        p1 = second * c2
        c0, c1, c2, c3 = ((p1 >> shift) ^ c1 ^ k0) & mask, p1 & mask, ((p0 >> shift) ^ c3 ^ k1) & mask, p0 & mask
        k0 = (k0 + t_uint64(0x9E3779B9)) & mask
        k1 = (k1 + t_uint64(0xBB67AE85)) & mask
    return c0 | (c1 << shift), c2 | (c3 << shift)
"""
_UNIFORM64 = "t_float64(BITS >> t_uint64(11)) * (1.0 / 9007199254740992.0)"
_UNIFORM32 = "t_float32(BITS >> t_uint64(40)) * t_float32(1.0 / 16777216.0)"
# Box and Muller, "A note on the generation of random normal deviates" (1958).
_NORMAL = ["u = 1.0 - " + _UNIFORM64.replace("BITS", "a"), "v = " + _UNIFORM64.replace("BITS", "b")]
_NORMAL_TEXT = "math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)"


@cache
def _body(kind: str, dtype: np.dtype[Any]) -> Body:
    """Numbers of a kind: x0 is the seed, x1 the number of the call."""
    lines = ["a, b = _philox(i, x0, x1)"]
    inputs: list[np.dtype[Any]] = [_U64, _U64]
    text = {
        "bits": "a",
        "uniform": _UNIFORM32.replace("BITS", "a") if dtype == _F32 else _UNIFORM64.replace("BITS", "a"),
    }
    if kind == "normal":
        lines += _NORMAL
        text["normal"] = _NORMAL_TEXT
    if kind == "integers":
        # The high half of the product with the number of values (Lemire, 2019), without its rare second try.
        inputs += [_U64, np.dtype(np.int64)]
        lines.append("m, s = t_uint64(0xFFFFFFFF), t_uint64(32)")
        lines.append("low = (a & m) * (x2 & m)")
        lines.append("left, right = (a >> s) * (x2 & m), (a & m) * (x2 >> s)")
        lines.append("carry = ((low >> s) + (left & m) + (right & m)) >> s")
        lines.append("high = (a >> s) * (x2 >> s) + (left >> s) + (right >> s) + carry")
        text["integers"] = "x3 + t_int64(high)"
    names = {"_philox": _elementwise.device_function("_philox", _ROUND, {})}
    return Body(f"random_{kind}", [text[kind]], inputs, (dtype,), lines, names, indexed=True)


def _shape(size: Any, *parameters: Any) -> tuple[int, ...]:
    if size is None:
        from gridstride.cupy import _layout

        return _layout.broadcast([one._shape for one in parameters if isinstance(one, _array.ndarray)])
    return _array._extents(size)


class Philox4x3210:
    """The source of bits: a seed, and how many calls have taken numbers."""

    def __init__(self, seed: Any = None) -> None:
        self.lock = threading.Lock()
        self.reset(seed)

    def reset(self, seed: Any) -> None:
        """Starts again from a seed, or from one by chance."""
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little")
        words = np.random.SeedSequence(seed).generate_state(2, np.uint64)
        self.seed, self.call = int(words[0]), int(words[1])

    def fill(self, kind: str, out: Any, *more: int) -> Any:
        """Fills an array with numbers of a kind."""
        with self.lock:
            self.call = (self.call + 1) % 2**64
            call = self.call
        if out.size:
            _elementwise.run(_body(kind, out._dtype), (self.seed, call, *more), (out,))
        return out


class Generator:
    """Numbers by chance, in CuPy's words. `size` is the shape of what a call gives; None is a number's, ()."""

    def __init__(self, bit_generator: Any = None) -> None:
        self.bit_generator = bit_generator if isinstance(bit_generator, Philox4x3210) else Philox4x3210(bit_generator)

    def _made(self, kind: str, size: Any, dtype: Any = float, out: Any = None, *parameters: Any) -> Any:
        wanted = np.dtype(dtype)
        if wanted not in (_F32, _F64):
            raise TypeError(f"numbers of {wanted} are not made: float32 and float64 are")
        if out is None:
            return self.bit_generator.fill(kind, _array.fresh(wanted, _shape(size, *parameters)))
        if out._dtype != wanted or out._strides is not None:
            raise TypeError(f"`out` must be a contiguous array of {wanted}")
        return self.bit_generator.fill(kind, out)

    def random(self, size: Any = None, dtype: Any = float, out: Any = None) -> Any:
        """Numbers from 0 on and below 1."""
        return self._made("uniform", size, dtype, out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = float) -> Any:
        """Numbers from `low` on and below `high`."""
        return self._made("uniform", size, dtype, None, low, high) * (high - low) + low

    def standard_normal(self, size: Any = None, dtype: Any = float, out: Any = None) -> Any:
        """Normal numbers of mean 0 and deviation 1."""
        return self._made("normal", size, dtype, out)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = float) -> Any:
        """Normal numbers."""
        return self._made("normal", size, dtype, None, loc, scale) * scale + loc

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = float) -> Any:
        """Numbers whose logarithms are normal."""
        return _ufuncs.ALL["exp"](self.normal(mean, sigma, size, dtype))

    def standard_exponential(self, size: Any = None, dtype: Any = float, method: Any = "inv", out: Any = None) -> Any:
        """Exponential numbers of mean 1."""
        return _ufuncs.ALL["negative"](_ufuncs.ALL["log1p"](-self.random(size, dtype)), out=out)

    def exponential(self, scale: Any = 1.0, size: Any = None, dtype: Any = float) -> Any:
        """Exponential numbers of a mean."""
        return -_ufuncs.ALL["log1p"](-self._made("uniform", size, dtype, None, scale)) * scale

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Numbers of Laplace's distribution."""
        u = self._made("uniform", size, float, None, loc, scale) - 0.5
        return loc - scale * _ufuncs.ALL["sign"](u) * _ufuncs.ALL["log1p"](-2 * abs(u))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Numbers of Gumbel's distribution."""
        return loc - scale * _ufuncs.ALL["log"](self.exponential(1.0, size))

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Numbers of the logistic distribution."""
        u = self._made("uniform", size, float, None, loc, scale)
        return loc + scale * (_ufuncs.ALL["log"](u) - _ufuncs.ALL["log1p"](-u))

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Numbers of Rayleigh's distribution."""
        return _ufuncs.ALL["sqrt"](2 * self.exponential(1.0, size)) * scale

    def weibull(self, a: Any, size: Any = None) -> Any:
        """Numbers of Weibull's distribution."""
        return self.exponential(1.0, size) ** (1.0 / a)

    def pareto(self, a: Any, size: Any = None) -> Any:
        """Numbers of Pareto's second distribution."""
        return _ufuncs.ALL["expm1"](self.exponential(1.0, size) / a)

    def power(self, a: Any, size: Any = None) -> Any:
        """Numbers whose density is a power."""
        return self.random(size) ** (1.0 / a)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        """Numbers of the triangular distribution."""
        u = self.random(size)
        middle = (mode - left) / (right - left)
        low = left + _ufuncs.ALL["sqrt"](u * (right - left) * (mode - left))
        high = right - _ufuncs.ALL["sqrt"]((1 - u) * (right - left) * (right - mode))
        return _mathematics.where(u < middle, low, high)

    def standard_cauchy(self, size: Any = None) -> Any:
        """Numbers of Cauchy's distribution."""
        return _ufuncs.ALL["tan"](np.pi * (self.random(size) - 0.5))

    def geometric(self, p: Any, size: Any = None) -> Any:
        """How many tries until one succeeds."""
        found = self.exponential(1.0, size) / -_ufuncs.ALL["log1p"](-_creation.array(p, float))
        return _ufuncs.ALL["ceil"](found).astype(np.int64)

    def binomial(self, n: int, p: float, size: Any = None) -> Any:
        """How many of `n` tries succeed."""
        shape = _shape(size)
        tries = self.random((*shape, int(n)))
        return (tries < p).sum(-1)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Whole numbers from `low` on and below `high`, or from 0 on and below `low`."""
        low, high = (0, int(low)) if high is None else (int(low), int(high))
        count = high - low + (1 if endpoint else 0)
        if count <= 0:
            raise ValueError("low >= high" if not endpoint else "low > high")
        wanted = np.dtype(dtype)
        if wanted.kind not in "biu":
            raise TypeError(f"Unsupported dtype {wanted} for integers")
        limits = (0, 1) if wanted.kind == "b" else (np.iinfo(wanted).min, np.iinfo(wanted).max)
        if low < limits[0] or low + count - 1 > limits[1]:
            raise ValueError(f"the bounds do not fit {wanted}")
        start = int(np.uint64(low % 2**64).astype(np.int64))
        return self.bit_generator.fill("integers", _array.fresh(wanted, _shape(size)), count % 2**64, start)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """A copy of an array with its rows in an order by chance, or such an order of the numbers below `x`."""
        from gridstride.cupy import _indexing, _sorting

        a = _creation.arange(x) if isinstance(x, int | np.integer) else _interop.asarray(x)
        keys = self.bit_generator.fill("bits", _array.fresh(_U64, (a._shape[axis],)))
        return _indexing.take(a, _sorting.argsort(keys), axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Brings the rows of an array into an order by chance."""
        x[...] = self.permutation(x, axis)

    permuted = permutation

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0) -> Any:
        """Elements of an array, or numbers below `a`, each time from all, or without `replace` each at most once."""
        from gridstride.cupy import _indexing, _scans, _sorting

        pool = _creation.arange(a) if isinstance(a, int | np.integer) else _interop.asarray(a)
        n, shape = pool._shape[axis], _shape(size)
        count = math.prod(shape)
        if not n and count:
            raise ValueError("a cannot be empty unless no samples are taken")
        if not replace and count > n:
            raise ValueError("Cannot take a larger sample than population when 'replace=False'")
        if p is None:
            index = self.integers(0, n, shape) if replace else self.permutation(n)[:count].reshape(shape)
        else:
            weights = _interop.asarray(p).astype(float)
            if weights._shape != (n,) or not math.isclose(float(weights.sum()), 1.0, rel_tol=1e-6):
                raise ValueError("`p` must have a probability for each element, and their sum must be 1")
            if replace:
                index = _sorting.searchsorted(_scans.cumsum(weights), self.random(shape), "right")
                index = _mathematics.clip(index, 0, n - 1)
            else:
                # The first to happen of exponential times (Efraimidis and Spirakis, 2006).
                times = self.exponential(1.0, (n,)) / weights
                index = _sorting.argsort(times)[:count].reshape(shape)
        return _indexing.take(pool, index, axis, checked=False)

    def bytes(self, length: int) -> bytes:
        """Bytes of the host."""
        return self.bit_generator.fill("bits", _array.fresh(_U64, (-(-length // 8),))).tobytes()[:length]


class RandomState(Generator):
    """The older interface: other names and orders of arguments."""

    def __init__(self, seed: Any = None, method: Any = None) -> None:
        super().__init__(seed)

    def seed(self, seed: Any = None) -> None:
        """Starts again from a seed, or from one by chance."""
        self.bit_generator.reset(seed.get().tolist() if isinstance(seed, _array.ndarray) else seed)

    def rand(self, *size: int, dtype: Any = float) -> Any:
        """Numbers from 0 on and below 1; the extents are the arguments."""
        return self.random(size, dtype)

    def randn(self, *size: int, dtype: Any = float) -> Any:
        """Normal numbers; the extents are the arguments."""
        return self.standard_normal(size, dtype)

    def random_sample(self, size: Any = None, dtype: Any = float) -> Any:
        """As `random`."""
        return self.random(size, dtype)

    ranf = sample = random_sample

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64) -> Any:
        """As `integers`."""
        return self.integers(low, high, size, dtype)

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> Any:
        """As `integers`, with the upper end."""
        return self.integers(*((1, low) if high is None else (low, high)), size, endpoint=True)
