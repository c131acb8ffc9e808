"""What is compiled of a kernel, by argument types, and which signature a call means."""

from __future__ import annotations

from typing import Any

from gridstride import _native
from gridstride.numba import _dtypes, _typing, types
from gridstride.numba.cuda import _statics, _texts
from gridstride.numba.cuda._configuration import dim3
from gridstride.numba.cuda._devices import gpu


class Overload:
    """What is compiled for one signature."""

    const_mem_size = 0

    def __init__(self, dispatcher: Any, signature: types.Signature, kernel: Any = None) -> None:
        self.dispatcher, self.signature, self._kernel = dispatcher, signature, kernel

    @property
    def argument_types(self) -> tuple[types.Type, ...]:
        return self.signature.args

    def _properties(self, block: int = 0, dynamic_shared: int = 0) -> list[int]:
        """What the code needs on a GPU: registers, shared and local bytes, most threads of a block, …"""
        ordinal = gpu()
        if ordinal is None or self._kernel is None:
            return [0, 0, 0, 1024, 1024, 0]
        compiled = [_dtypes.argument(ty) for ty in _statics.kept(self.signature.args)]
        options = self.dispatcher._compile_options()
        return _native.cuda_kernel_properties(self._kernel, compiled, ordinal, options, 1, block, dynamic_shared)

    @property
    def regs_per_thread(self) -> int:
        return self._properties()[0]

    @property
    def shared_mem_per_block(self) -> int:
        return self._properties()[1]

    @property
    def local_mem_per_thread(self) -> int:
        return self._properties()[2]

    @property
    def max_threads_per_block(self) -> int:
        """Code is compiled for the block that a launch asks for, so that every block fits."""
        bounds = self.dispatcher.targetoptions.get("launch_bounds")
        return int(bounds[0]) if bounds else 1024

    @property
    def cooperative(self) -> bool:
        """Whether its blocks wait for the whole grid."""
        return "grid_barrier" in self.text("optimized")

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """How many blocks can wait for each other at once; on the CPU device any number that its memory holds."""
        x, y, z = dim3(blockdim, "blockdim")
        ordinal = gpu()
        if ordinal is None:
            return max(1, 2**20 // (x * y * z))
        return self._properties(x * y * z, dynsmemsize)[5] * int(_native.cuda_properties(ordinal)["sm_count"])

    def text(self, stage: str, cc: Any = None) -> str:
        """The compiler's text of this overload."""
        return str(self.dispatcher._text(self.signature.args, stage, cc))

    def inspect_llvm(self) -> str:
        return self.text(_texts.stage("llvm"))

    def inspect_asm(self, cc: Any = None) -> str:
        """Assembly text, of a GPU for a compute capability: that of the one in use unless it is given."""
        return self.text(_texts.stage("asm"), cc)


class Overloads(dict[tuple[types.Type, ...], Overload]):
    """What is compiled, by argument types. One compiled form serves arrays of every layout."""

    def __missing__(self, arguments: Any) -> Overload:
        if isinstance(arguments, types.Signature):
            arguments = arguments.args
        for known, overload in self.items():
            if len(known) == len(arguments) and all(same(a, b) for a, b in zip(known, arguments, strict=True)):
                return overload
        raise KeyError(arguments)


def same(ours: types.Type, theirs: types.Type) -> bool:
    """Whether code for one type takes values of another: arrays of any layout."""
    if isinstance(ours, types.Array) and isinstance(theirs, types.Array):
        return ours.dtype == theirs.dtype and ours.ndim == theirs.ndim
    return ours == theirs


def best(signatures: list[tuple[types.Type, ...]], given: tuple[types.Type, ...], function: Any) -> int:
    """The number of the signature that arguments fit best. Raises `TypeError` where none or several do."""
    # Code takes arrays of any layout.
    args = tuple(ty.copy(layout="A") if isinstance(ty, types.Array) else ty for ty in given)
    cases = []
    for wanted in signatures:
        cases.append(types.none(*(ty.copy(layout="A") if isinstance(ty, types.Array) else ty for ty in wanted)))
    found = _typing.context().resolve_overload(function, cases, args, allow_ambiguous=False)
    if found is None:
        raise TypeError(f"No matching definition for argument type(s) {', '.join(map(str, given))}")
    return next(index for index, case in enumerate(cases) if case is found)
