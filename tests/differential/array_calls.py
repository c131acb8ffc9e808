"""Random calls of functions over arrays: what they give is what NumPy gives, with its type and shape."""

from __future__ import annotations

import random
import re
import warnings

import numpy as np

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
DTYPES = ["bool", *INTS, *FLOATS, "complex64", "complex128"]
BINARY = """add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin equal not_equal less
less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift
right_shift arctan2 hypot copysign fmod float_power logaddexp heaviside gcd lcm nextafter ldexp"""
UNARY = """negative positive absolute sign sqrt square cbrt exp expm1 exp2 log log2 log10 log1p sin cos tan arcsin
arccos arctan sinh cosh tanh arcsinh arctanh degrees radians floor ceil trunc rint isnan isinf isfinite signbit
logical_not invert reciprocal conjugate real imag angle spacing nan_to_num fabs frexp modf sinc deg2rad
fix iscomplexobj around"""
REDUCTIONS = """sum prod max min mean std var any all argmax argmin ptp median count_nonzero nansum nanprod nanmax
nanmin nanmean nanstd nanvar average"""
SCANS = "cumsum cumprod nancumsum nancumprod sort diff flip"
# {x} and {y} are arrays that broadcast, {a} is an axis of x, {n} a small integer, {s} a number, {d} a type.
TEMPLATES = [
    *("{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / {y}", "{x} // {y}", "{x} % {y}", "{x} ** {n}", "{x} & {y}"),
    *("{x} | {y}", "{x} ^ {y}", "{x} << {n}", "{x} >> {n}", "-{x}", "~{x}", "abs({x})", "{x} < {y}", "{x} == {y}"),
    *(
        "{x} + {s}",
        "{x} * 1j",
        "{x} - 2.5j",
        "{s} - {x}",
        "{x} * {s}",
        "{s} / {x}",
        "{x} // {s}",
        "{x} % {s}",
        "{s} ** {x}",
        "{x} >= {s}",
    ),
    *(
        "divmod({x}, {y})",
        "{x} @ {x}.T",
        "xp.where({x} > {s}, {x}, {y})",
        "xp.clip({x}, {s}, {s})",
        "xp.clip({x}, 0, 100).astype('{d}')",
    ),
    *(
        "{x}[{n}]",
        "{x}[{n}:]",
        "{x}[::-{n}]",
        "{x}[..., {n}]",
        "{x}[{x} > {s}]",
        "{x}[None, ..., ::2]",
        "{x}[-{n}:{n}]",
    ),
    *("xp.concatenate([{x}, {x}], axis={a})", "xp.stack([{x}, {x}], axis={a})", "xp.repeat({x}, {n}, axis={a})"),
    *("xp.tile({x}, ({n}, {n}))", "xp.roll({x}, {n}, axis={a})", "xp.rot90({x}, {n})", "xp.moveaxis({x}, 0, {a})"),
    *("xp.take({x}, [0, -1], axis={a})", "xp.unique({x})", "xp.unique({x}, return_counts=True)", "xp.nonzero({x})"),
    *(
        "xp.argwhere({x})",
        "xp.searchsorted(xp.sort({x}.ravel()), {y})",
        "xp.bincount(({x} > 0).ravel().astype(int) * {n})",
    ),
    *("xp.histogram({x}, bins={n})", "xp.digitize({x}, [-1, 0, 2])", "xp.isin({x}, {y})", "xp.pad({x}, {n})"),
    *(
        "xp.pad({x}, ({n}, 1), mode='edge')",
        "xp.pad({x}, 1, mode='reflect')",
        "xp.isclose({x}, {y})",
        "xp.tri({n}, {n}, 1)",
    ),
    *(
        "xp.tril({x}, {n})",
        "xp.triu({x}, -1)",
        "xp.outer({x}, {y})",
        "xp.dot({x}, {x}.T)",
        "xp.tensordot({x}, {x}, axes=0)",
    ),
    *("xp.einsum('...i->...', {x})", "xp.einsum('...i,...i->...', {x}, {x})", "xp.kron({x}, {n})", "xp.trace({x})"),
    *("xp.percentile({x}, [10, 50], axis={a})", "xp.quantile({x}, 0.3)", "xp.interp({x}, [0, 1, 3], [2, 5, 4])"),
    *("xp.partition({x}.ravel(), 0)[:1]", "xp.swapaxes({x}, 0, {a})", "xp.expand_dims({x}, {a})", "xp.squeeze({x})"),
    *(
        "{x}.reshape(-1)",
        "{x}.T",
        "{x}.ravel('F')",
        "xp.array_split({x}, {n}, axis={a})",
        "xp.diagonal({x})",
        "xp.diag({x})",
    ),
    *("xp.linspace({s}, {s}, {n})", "xp.arange({s}, {n}, 0.5)", "xp.full_like({x}, {s})", "xp.eye({n}, dtype='{d}')"),
    *(
        "xp.arange({n}, dtype='{d}')",
        "xp.meshgrid({x}, {y})",
        "xp.broadcast_to({x}, (2, *{x}.shape))",
        "xp.copysign({x}, -0.0)",
    ),
    *(
        "xp.add.reduce({x}, axis={a})",
        "xp.add.accumulate({x}, axis={a})",
        "xp.add.outer({x}, {y})",
        "xp.result_type({x}, {y})",
    ),
    *(
        "xp.add({x}, {y}, dtype='{d}')",
        "xp.sum({x}, axis={a}, dtype='{d}')",
        "{x}.mean(dtype='float64')",
        "xp.argsort({x}, axis={a}, kind='stable')",
    ),
    *(
        "xp.select([{x} > {s}, {x} < 0], [{x}, {x} * 2], {n})",
        "xp.choose({x}.astype(int) % 2, [{x}, {x}])",
        "xp.vstack([{x}, {x}])",
    ),
    *(
        "xp.hstack([{x}, {x}])",
        "xp.dstack([{x}, {x}])",
        "xp.cross([1, 2, 3], [{s}, 2, 1])",
        "xp.gradient({x})",
        "xp.ediff1d({x})",
    ),
    *(
        "xp.array_equal({x}, {y})",
        "xp.allclose({x}, {x})",
        "xp.round({x}, {n})",
        "xp.convolve({x}.ravel(), [1, 2])",
        "xp.vdot({x}, {x})",
    ),
    *(
        "xp.nanargmax({x}, axis={a})",
        "xp.lexsort(({x}.ravel(), {x}.ravel()))",
        "xp.flatnonzero({x})",
        "xp.append({x}, {y})",
    ),
    *(
        "xp.delete({x}, 0, axis={a})",
        "xp.compress([True, False], {x}, axis={a})",
        "xp.extract({x} > {s}, {x})",
        "xp.union1d({x}, {y})",
    ),
    *(
        "xp.setdiff1d({x}, {y})",
        "xp.intersect1d({x}, {y})",
        "xp.take_along_axis({x}, xp.argsort({x}, axis={a}, kind='stable'), axis={a})",
    ),
    *("xp.put_along_axis({x}, xp.argmax({x}, axis={a}, keepdims=True), 1, axis={a})", "xp.can_cast({x}.dtype, '{d}')"),
    *("xp.ravel_multi_index((1, 2), ({n} + 2, 4))", "xp.unravel_index({n}, (3, 4))", "xp.cov({x})", "xp.corrcoef({x})"),
    *(
        "assign({x}, {n}, {s})",
        "assign({x}, slice(None, None, 2), {s})",
        "assign({x}, {x} > 0, {s})",
        "assign({x}, ..., {y})",
    ),
    *(
        "augment({x}, {y})",
        "augment({x}, {s})",
        "xp.trapezoid({x}, axis={a})",
        "xp.nan_to_num({x}, nan={s})",
        "xp.vander({x}.ravel(), 3)",
    ),
]


def assign(x, index, value):
    x = x.copy()
    x[index] = value
    return x


def augment(x, y):
    x = x.copy()
    x += y
    return x


def templates() -> list[str]:
    texts = [*TEMPLATES] * 2
    texts += [f"xp.{name}({{x}}, {{y}})" for name in BINARY.split()] + [f"xp.{name}({{x}})" for name in UNARY.split()]
    for name in REDUCTIONS.split():
        texts += [f"xp.{name}({{x}})", f"xp.{name}({{x}}, axis={{a}})", f"xp.{name}({{x}}, axis={{a}}, keepdims=True)"]
    return texts + [f"xp.{name}({{x}}, axis={{a}})" for name in SCANS.split()]


def array(rng: random.Random, shape: tuple[int, ...]) -> tuple[np.ndarray, str]:
    """An array, and the text of the view of it that is taken."""
    dtype = np.dtype(rng.choice(DTYPES))
    count = int(np.prod(shape))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        pool = [0, 1, 2, 3, 5, 7, max(-1, info.min), max(-4, info.min), info.min, info.max]
        values = np.array([rng.choice(pool) for _ in range(count)], dtype)
    elif dtype.kind == "b":
        values = np.array([rng.random() < 0.5 for _ in range(count)], dtype)
    else:
        pool = [0.0, -0.0, 0.5, 1.0, -1.5, 2.0, 3.25, -7.0, 100.0] + [np.nan, np.inf, -np.inf] * (rng.random() < 0.4)
        values = np.array([rng.choice(pool) for _ in range(count)], dtype)
        if dtype.kind == "c":
            values = values + 1j * np.array([rng.choice([0, 1, -2.5]) for _ in range(count)], dtype)
    view = rng.choice(["", "", "", "[::-1]", ".T", "[::2]"]) if shape else ""
    return values.reshape(shape).astype(dtype), view


def call(seed: int) -> tuple[str, dict[str, np.ndarray]]:
    rng = random.Random(seed)
    shape = tuple(rng.choice([1, 2, 3, 3, 4, 17, 0]) for _ in range(rng.randint(0, 3)))
    arrays = {}
    arrays["x"], view = array(rng, shape)
    other = tuple(1 if rng.random() < 0.2 else length for length in shape)[rng.randint(0, 1) * (rng.random() < 0.3) :]
    arrays["y"], _ = array(rng, other)

    def fill(place):
        return {
            "x": f"x{view}",
            "y": "y",
            "a": str(rng.randint(-1, max(0, len(shape) - 1))),
            "n": str(rng.randint(0, 3)),
            "s": rng.choice(
                ["0", "1", "-1", "2", "3", "0.5", "-2.5", "True", "300", "-129", "xp.float32(2)", "xp.int8(3)"]
            ),
            "d": rng.choice(DTYPES),
        }[place[1]]

    return re.sub(r"\{(\w)\}", fill, rng.choice(templates())), arrays


def evaluate(text, xp, arrays):
    names = {name: xp.array(one) for name, one in arrays.items()}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(text, {"xp": xp, "assign": assign, "augment": augment, **names})
        except Exception as error:
            return error


def flat(found) -> list:
    if isinstance(found, (tuple, list)):
        return [one for part in found for one in flat(part)]
    return [found]


def difference(seed: int, xp) -> tuple[str, str] | None:
    """What NumPy gives else than `xp`: the kind, and a text that shows it."""
    text, arrays = call(seed)
    if any(text_of in text and arrays["x"].ndim == 0 for text_of in ("axis=", "average")):
        # CuPy refuses what NumPy takes: an axis of an array that has none.
        return None
    there, here = evaluate(text, np, arrays), evaluate(text, xp, arrays)
    shown = f"{text}   x: {arrays['x'].dtype}{arrays['x'].shape} y: {arrays['y'].dtype}{arrays['y'].shape}"
    if isinstance(there, Exception) or isinstance(here, Exception):
        if isinstance(there, Exception) and isinstance(here, Exception):
            return None
        kind = "refused here" if isinstance(here, Exception) else "refused there"
        return kind, f"{shown}\n    here {here!r:.300}\n    there {there!r:.200}"
    for a, b in zip(flat(here), flat(there), strict=False):
        a = a.get() if hasattr(a, "get") else a
        if not isinstance(b, (np.ndarray, np.generic)):
            if a != b:
                return "values", f"{shown}\n    here {a!r}\n    there {b!r}"
            continue
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype:
            return "types", f"{shown}\n    here {a.dtype}\n    there {b.dtype}"
        if a.shape != b.shape:
            return "shapes", f"{shown}\n    here {a.shape}\n    there {b.shape}"
        if not alike(a, b):
            given = f"x {arrays['x'].tolist()}\n    y {arrays['y'].tolist()}"
            return "values", f"{shown}\n    {given}\n    here {a.tolist()}\n    there {b.tolist()}"
    return None


def alike(a, b):
    if a.dtype.kind not in "fc":
        return np.array_equal(a, b)
    tolerance = {"e": 4e-3, "f": 2e-5, "F": 2e-5}.get(a.dtype.char, 1e-11)
    if a.dtype.kind == "c":
        # What is not finite in one part may be anything in the other.
        odd = ~np.isfinite(a) & ~np.isfinite(b)
        return alike(a.real[~odd], b.real[~odd]) and alike(a.imag[~odd], b.imag[~odd])
    with np.errstate(all="ignore"):
        return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
