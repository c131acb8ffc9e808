"""CuPy's words for kernels: `jit.threadIdx`, `jit.grid`, `jit.atomic_add` …, and what they are in C."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride.cupy._element_kernels import c_name

HELP = (
    "kernels call functions of jit, math and NumPy, types, and functions decorated with `@jit.rawkernel(device=True)`"
)


class Word:
    """A name that only kernels use. Called from Python, it says so."""

    def __init__(self, name: str, doc: str, translate: Callable[..., Any]) -> None:
        self.__name__ = name
        self.__doc__ = doc
        self.translate = translate

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"jit.{self.__name__} can only be called in a kernel")

    def __repr__(self) -> str:
        return f"<cupyx.jit function {self.__name__}>"


class Position:
    """`threadIdx` and its like: x, y and z."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<cupyx.jit {self.__name__}>"


def _made(text: str, type_: Any) -> Any:
    from gridstride.cupyx.jit._translate import Value

    return Value(text, type_)


def _known(value: Any) -> Any:
    from gridstride.cupyx.jit._translate import known

    return known(value)


UNSIGNED, INT = np.dtype("I"), np.dtype("i")


def part(base: Any, attr: str) -> Any:
    """`threadIdx.x`."""
    if isinstance(base, Position) and attr in ("x", "y", "z"):
        return _made(f"{base.__name__}.{attr}", UNSIGNED)
    return None


def _whole(lower: Any, node: Any, value: Any, what: str) -> int:
    if isinstance(value.known, int) and not isinstance(value.known, bool):
        return value.known
    raise lower.refuse(node, f"{what} is a constant")


def _spread(name: str, text: str) -> Word:
    def translate(lower: Any, node: Any, args: Any, named: Any) -> Any:
        n = _whole(lower, node, args[0] if args else named["ndim"], "the number of dimensions")
        if n not in (1, 2, 3):
            raise lower.refuse(node, "there are 1, 2 or 3 dimensions")
        items = tuple(_made("(" + text.replace("#", axis) + ")", UNSIGNED) for axis in "xyz"[:n])
        return items[0] if n == 1 else _known(items)

    return Word(name, "The index of the thread, or the threads of the grid, along 1 to 3 dimensions.", translate)


def _plain(name: str, c_function: str, type_: Any, doc: str) -> Word:
    def translate(lower: Any, node: Any, args: Any, named: Any) -> Any:
        values = [lower.valued(one, node) for one in (*args, *named.values())]
        return _made(f"{c_function}({', '.join(one.text for one in values)})", type_)

    return Word(name, doc, translate)


def _atomic(name: str, c_function: str) -> Word:
    def translate(lower: Any, node: Any, args: Any, named: Any) -> Any:
        args = [*args, *named.values()]
        n = 4 if name == "atomic_cas" else 3
        if len(args) != n:
            raise lower.refuse(node, f"`{name}` takes {n} arguments, found {len(args)}")
        index = node.args[1] if len(node.args) > 1 else next(one.value for one in node.keywords)
        place = lower.subscript(args[0], index, node)
        values = [lower.valued(one, node).text for one in args[2:]]
        return _made(f"{c_function}(&{place.text}, {', '.join(values)})", place.type)

    return Word(name, f"CUDA's `{c_function}` on an element: array, index, value. Gives what was there.", translate)


def _shuffle(name: str, c_function: str) -> Word:
    def translate(lower: Any, node: Any, args: Any, named: Any) -> Any:
        values = [lower.valued(one, node) for one in (*args, *named.values())]
        if len(values) not in (3, 4):
            raise lower.refuse(node, f"`{name}` takes 3 or 4 arguments, found {len(values)}")
        return _made(f"{c_function}({', '.join(one.text for one in values)})", values[1].type)

    return Word(name, f"CUDA's `{c_function}`: mask, value, lane, width.", translate)


def _shared(lower: Any, node: Any, args: Any, named: Any) -> Any:
    from gridstride.cupyx.jit._translate import Array

    given = dict(zip(("dtype", "size", "alignment"), args, strict=False)) | named
    dtype = np.dtype(given["dtype"].known)
    size = given["size"].known
    name = f"_shared{len(lower.shared)}"
    if size is None:
        lower.shared.append(f"  extern __shared__ {c_name(dtype)} {name}[];")
        return _made(name, Array(dtype, 1, (1 << 31,)))
    items = size if isinstance(size, tuple) else (size,)
    shape = tuple(one if isinstance(one, int) else getattr(one, "known", None) for one in items)
    if not all(isinstance(one, int) and one > 0 for one in shape):
        raise lower.refuse(node, "the size of shared memory is a constant", "for a size of the launch's give None")
    lower.shared.append(f"  __shared__ {c_name(dtype)} {name}{''.join(f'[{one}]' for one in shape)};")
    return _made(name, Array(dtype, len(shape), shape))  # type: ignore[arg-type]


def _only_in_loops(lower: Any, node: Any, args: Any, named: Any) -> Any:
    raise lower.refuse(node, "a range is for loops", "write `for i in jit.range(n)`")


threadIdx, blockIdx = Position("threadIdx"), Position("blockIdx")
blockDim, gridDim = Position("blockDim"), Position("gridDim")
warpsize = 32
grid = _spread("grid", "threadIdx.# + blockIdx.# * blockDim.#")
gridsize = _spread("gridsize", "blockDim.# * gridDim.#")
laneid = Word("laneid", "The number of the thread in its warp.", lambda *_: _made("(threadIdx.x & 31u)", UNSIGNED))
syncthreads = _plain("syncthreads", "__syncthreads", INT, "Waits for all threads of the block.")
syncwarp = _plain("syncwarp", "__syncwarp", INT, "Waits for the lanes of the warp that a mask names.")
range = Word("range", "As Python's range; `unroll=` is a wish.", _only_in_loops)
shared_memory = Word("shared_memory", "Memory that the block shares: dtype, size; None for the launch's.", _shared)
atomics = {
    f"atomic_{name}": _atomic(f"atomic_{name}", f"atomic{name.upper() if name == 'cas' else name.capitalize()}")
    for name in ("add", "sub", "exch", "min", "max", "inc", "dec", "cas", "and", "or", "xor")
}
shuffles = {
    f"shfl_{name}sync": _shuffle(f"shfl_{name}sync", f"__shfl_{name}sync") for name in ("", "up_", "down_", "xor_")
}

# Functions of one float by their names in `math` and in NumPy where C has others.
_RENAMED = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "absolute": "fabs",
    "fabs": "fabs",
    "power": "pow",
    "maximum": "fmax",
    "minimum": "fmin",
    "gamma": "tgamma",
}
_FLOAT_NAMES = """
sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh
atanh erf erfc floor ceil trunc rint fabs pow fmod copysign hypot fmax fmin fma lgamma tgamma rsqrt
"""
_FLOAT = frozenset(_FLOAT_NAMES.split())
_TESTS = frozenset(("isnan", "isinf", "isfinite"))


def function(lower: Any, node: Any, callee: Any, args: list[Any]) -> Any:
    """A call of Python's, of `math`'s or of NumPy's; nothing for others."""
    from gridstride.cupyx.jit._translate import Array, common

    if callee is len and isinstance(args[0].type, Array):
        array = args[0].type
        return _known(array.shape[0]) if array.shape else _made(f"{args[0].text}.shape(0)", np.dtype("q"))
    kind = _cast(callee)
    if kind is not None:
        inner = lower.valued(args[0], node)
        return _made(f"({c_name(kind)})({inner.text})", kind)
    values = [lower.valued(one, node) for one in args]
    if callee in (builtins.min, builtins.max):
        found = values[0]
        for one in values[1:]:
            type_ = common(found.type, one.type)
            found = _made(f"{callee.__name__}({found.text}, {one.text})", type_)
        return found
    if callee is abs:
        return _made(f"abs({values[0].text})", common(values[0].type, values[0].type))
    name = getattr(callee, "__name__", "").removeprefix("cupy_")
    module = getattr(callee, "__module__", None) or ""
    is_known = module in ("math", "numpy") or isinstance(callee, np.ufunc) or "gridstride.cupy" in module
    is_known |= type(callee).__name__ == "ufunc"
    name = _RENAMED.get(name, name)
    if not is_known or not values:
        return None
    if name in _TESTS:
        return _made(f"{name}({values[0].text})", np.dtype(bool))
    if name not in _FLOAT:
        return None
    type_ = values[0].type
    for one in values[1:]:
        type_ = common(type_, one.type)
    if name in ("fmax", "fmin") and type_.kind != "f":
        return _made(f"{name[1:]}({', '.join(one.text for one in values)})", common(type_, type_))
    type_ = type_ if type_.kind == "f" else np.dtype("d")
    return _made(f"{name}({', '.join(f'({c_name(type_)}){one.text}' for one in values)})", type_)


def _cast(callee: Any) -> np.dtype[Any] | None:
    if callee in (int, float, bool):
        return np.dtype({int: "i", float: "d", bool: "?"}[callee])
    if isinstance(callee, type) and issubclass(callee, np.generic):
        return np.dtype(callee)
    return None
