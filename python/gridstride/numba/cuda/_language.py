"""The names that kernels use and the host only passes around: `cuda.grid`, `cuda.shared.array`, `cuda.atomic.add` …

Each knows the name by which the compiler finds its meaning, `__gs_builtin__`. Called from Python, it says that it is
for kernels.
"""

from __future__ import annotations

from typing import Any

from gridstride.numba import types


class Builtin:
    """A name of the kernel language."""

    def __init__(self, name: str) -> None:
        self.__gs_builtin__ = name
        self.__name__ = name.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self.__gs_builtin__} can only be called in a kernel")

    def __repr__(self) -> str:
        return f"<{self.__gs_builtin__}>"


class Namespace:
    """`cuda.shared`, `cuda.atomic`: a few names of the kernel language."""

    def __init__(self, name: str, members: str) -> None:
        self.__name__ = name
        for member in members.split():
            setattr(self, member, Builtin(f"{name}.{member}"))

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


FUNCTIONS = """
grid gridsize syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp threadfence threadfence_block
threadfence_system nanosleep shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync all_sync any_sync eq_sync ballot_sync
match_any_sync match_all_sync activemask lanemask_lt popc clz ffs brev selp fma cbrt threadIdx blockIdx blockDim gridDim
laneid ldca ldcg ldcs ldlu ldcv stcg stcs stwb stwt
"""
NAMES: dict[str, Any] = {name: Builtin(f"cuda.{name}") for name in FUNCTIONS.split()}
NAMES["warpsize"] = 32
literal_unroll = Builtin("literal_unroll")
carray, farray = Builtin("carray"), Builtin("farray")
NAMES["shared"] = Namespace("cuda.shared", "array")
NAMES["local"] = Namespace("cuda.local", "array")
NAMES["const"] = Namespace("cuda.const", "array_like")
NAMES["cg"] = Namespace("cuda.cg", "this_grid")
NAMES["atomic"] = Namespace(
    "cuda.atomic", "add sub and_ or_ xor exch max min nanmax nanmin inc dec cas compare_and_swap"
)

# CUDA's names of the vector types.
_ALIASES = {
    "char": types.int8,
    "short": types.int16,
    "int": types.int32,
    "long": types.int64,
    "longlong": types.int64,
    "uchar": types.uint8,
    "ushort": types.uint16,
    "uint": types.uint32,
    "ulong": types.uint64,
    "ulonglong": types.uint64,
    "float": types.float32,
    "double": types.float64,
}
_BASES = (*_ALIASES.values(),)
vector_types: dict[str, types.VectorType] = {}
for _base in dict.fromkeys(_BASES):
    for _count in (1, 2, 3, 4):
        _made = types.VectorType(_base, _count)
        _made.aliases = tuple(f"{alias}{_count}" for alias, base in _ALIASES.items() if base is _base)
        vector_types[_made.name] = _made
        NAMES.update(dict.fromkeys((_made.name, *_made.aliases), _made))
