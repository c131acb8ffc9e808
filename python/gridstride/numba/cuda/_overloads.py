"""What is compiled of a kernel, by argument types, and which signature a call means."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba import _dtypes, types
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
        compiled = [_dtypes.argument(ty) for ty in self.signature.args]
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
        return self._properties()[3]

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

    def text(self, stage: str) -> str:
        """The compiler's text of this overload."""
        return str(self.dispatcher._text(self.signature.args, stage))

    def inspect_llvm(self) -> str:
        return self.text("llvm")

    def inspect_asm(self) -> str:
        return self.text("assembly" if gpu() is None else "ptx")


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


# How far a conversion goes.
_EXACT, _PROMOTED, _SAFE, _UNSAFE, _IMPOSSIBLE = range(5)


def conversion(given: types.Type, wanted: types.Type) -> int:
    """How a value is converted: not at all, to a wider type of its kind, without loss, with loss, or not at all."""
    if same(wanted, given):
        return _EXACT
    if isinstance(wanted, types.CPointer):
        return _SAFE if isinstance(given, types.Integer) else _IMPOSSIBLE
    if not (isinstance(given, types.Number) and isinstance(wanted, types.Number)):
        return _IMPOSSIBLE
    if isinstance(given, types.Complex) and not isinstance(wanted, types.Complex):
        return _IMPOSSIBLE
    if np.can_cast(given.dtype, wanted.dtype, "safe"):
        return _PROMOTED if given.dtype.kind == wanted.dtype.kind else _SAFE
    # As Numba has it, a float64 holds an int64 well enough.
    is_fair = isinstance(given, types.Integer) and wanted.dtype.kind in "fc" and wanted.dtype.itemsize >= 8
    return _SAFE if is_fair else _UNSAFE


def best(signatures: list[tuple[types.Type, ...]], given: tuple[types.Type, ...], name: str) -> int:
    """The number of the signature that arguments fit best. Raises `TypeError` where none or several do."""
    scores: list[tuple[tuple[int, ...], int]] = []
    for index, wanted in enumerate(signatures):
        found = [conversion(ours, theirs) for ours, theirs in zip(given, wanted, strict=True)]
        if _IMPOSSIBLE not in found:
            scores.append((tuple(found.count(step) for step in (_UNSAFE, _SAFE, _PROMOTED)), index))
    listed = ", ".join(map(str, given))
    if not scores:
        raise TypeError(f"No matching definition for argument type(s) {listed}")
    scores.sort()
    if len(scores) > 1 and scores[0][0] == scores[1][0]:
        equal = [signatures[index] for score, index in scores if score == scores[0][0]]
        shown = "\n".join(f"({', '.join(map(str, one))}) -> none" for one in equal)
        raise TypeError(f"Ambiguous overloading for <function {name}> ({listed}):\n{shown}")
    return scores[0][1]
