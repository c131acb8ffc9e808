"""What becomes of two types: conversions, the type that holds both, and which signature a call means.

>>> context = Context()
>>> context.unify_types(types.int8, types.uint8)
int16
>>> context.can_convert(types.int32, types.float64)
<Conversion.safe: 3>
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride.numba import types
from gridstride.numba.types import Signature, signature


class Conversion(enum.IntEnum):
    """How a value of one type becomes one of another; less is better."""

    exact = 1
    #: To a wider type of its kind.
    promote = 2
    #: To another kind, without loss; an int64 counts as held by a float64.
    safe = 3
    unsafe = 4
    nil = 99


def _number(given: types.Number, wanted: types.Number) -> Conversion | None:
    if isinstance(given, types.Complex) and not isinstance(wanted, types.Complex):
        return None
    if np.can_cast(given.dtype, wanted.dtype, "safe"):
        return Conversion.promote if given.dtype.kind == wanted.dtype.kind else Conversion.safe
    is_held = isinstance(given, types.Integer) and wanted in (types.float64, types.complex128)
    return Conversion.safe if is_held else Conversion.unsafe


def _array(given: types.Array, wanted: types.Array) -> Conversion | None:
    fits = (given.dtype, given.ndim) == (wanted.dtype, wanted.ndim) and wanted.layout in (given.layout, "A")
    return Conversion.safe if fits and (given.mutable or not wanted.mutable) else None


def _unify_arrays(a: types.Array, b: types.Array) -> types.Array | None:
    if (a.dtype, a.ndim) != (b.dtype, b.ndim):
        return None
    layout = a.layout if a.layout == b.layout else "A"
    return types.Array(a.dtype, a.ndim, layout, readonly=not (a.mutable and b.mutable))


class Context:
    """Answers questions about types."""

    def can_convert(self, fromty: types.Type, toty: types.Type) -> Conversion | None:
        """How values of a type become those of another; None where they do not."""
        if fromty == toty:
            return Conversion.exact
        if isinstance(toty, types.Optional):
            if fromty == types.none:
                return Conversion.promote
            inner = fromty.type if isinstance(fromty, types.Optional) else fromty
            found = self.can_convert(inner, toty.type)
            return None if found is None else max(found, Conversion.promote)
        if isinstance(fromty, types.Optional):
            found = self.can_convert(fromty.type, toty)
            return None if found is None else max(found, Conversion.safe)
        if isinstance(fromty, types.Number) and isinstance(toty, types.Number):
            return _number(fromty, toty)
        if isinstance(fromty, types.Array) and isinstance(toty, types.Array):
            return _array(fromty, toty)
        if isinstance(toty, types.CPointer) and isinstance(fromty, types.Integer):
            return Conversion.safe
        if isinstance(fromty, types.BaseTuple) and isinstance(toty, types.BaseTuple):
            if len(fromty) != len(toty):
                return None
            items = [self.can_convert(a, b) for a, b in zip(fromty, toty, strict=True)]
            return None if None in items else max((item for item in items if item is not None), default=Conversion.safe)
        return None

    def unify_pairs(self, first: types.Type, second: types.Type) -> types.Type | None:
        """The type of a name that is one on one path and the other on another; None where there is none."""
        if first == second:
            return first
        if types.none in (first, second) or isinstance(first, types.Optional) or isinstance(second, types.Optional):
            inner = [one.type if isinstance(one, types.Optional) else one for one in (first, second)]
            known = [one for one in inner if one != types.none]
            found = known[0] if len(known) == 1 else self.unify_pairs(*known)
            return None if found is None else types.Optional(found)
        if isinstance(first, types.Number) and isinstance(second, types.Number):
            from gridstride.numba import _dtypes

            return _dtypes.from_dtype(np.promote_types(first.dtype, second.dtype))
        if isinstance(first, types.Array) and isinstance(second, types.Array):
            return _unify_arrays(first, second)
        if isinstance(first, types.BaseTuple) and isinstance(second, types.BaseTuple) and len(first) == len(second):
            items = [self.unify_pairs(a, b) for a, b in zip(first, second, strict=True)]
            if None in items:
                return None
            if items and isinstance(first, types.UniTuple) and isinstance(second, types.UniTuple):
                return types.UniTuple(items[0], len(items))  # type: ignore[arg-type]
            return types.Tuple(items)
        return None

    def unify_types(self, *typelist: types.Type) -> types.Type | None:
        """The type that holds all, whatever their order."""
        # Narrow ones first: what two small integers become a float may hold or not.
        ordered = sorted(typelist, key=lambda ty: (getattr(ty, "bitwidth", 0), str(ty)))
        found: types.Type | None = ordered[0]
        for ty in ordered[1:]:
            found = None if found is None else self.unify_pairs(found, ty)
        return found

    def _score(self, args: Sequence[types.Type], case: Sequence[types.Type]) -> tuple[int, ...] | None:
        found = [self.can_convert(given, wanted) for given, wanted in zip(args, case, strict=True)]
        if None in found:
            return None
        return tuple(found.count(step) for step in (Conversion.unsafe, Conversion.safe, Conversion.promote))

    def resolve_overload(
        self,
        key: Any,
        cases: Sequence[Signature],
        args: Sequence[types.Type],
        kws: Any = None,
        allow_ambiguous: bool = True,
        unsafe_casting: bool = True,
    ) -> Signature | None:
        """The signature that arguments fit best, the first of several; None where they fit none.

        Raises `TypeError` where several fit as well and `allow_ambiguous` is false.
        """
        scored = []
        for case in cases:
            score = self._score(args, case.args) if len(case.args) == len(args) else None
            if score is not None and (unsafe_casting or not score[0]):
                scored.append((score, case))
        if not scored:
            return None
        best = min(score for score, _ in scored)
        equal = [case for score, case in scored if score == best]
        if len(equal) > 1 and not allow_ambiguous:
            listed = "\n".join(map(str, equal))
            raise TypeError(f"Ambiguous overloading for {key} ({', '.join(map(str, args))}):\n{listed}")
        return equal[0]


class TypeManager:
    """The choice among signatures by their argument types alone."""

    def check_compatible(self, fromty: types.Type, toty: types.Type) -> Conversion | None:
        """How values of a type become those of another; None where they do not."""
        return context().can_convert(fromty, toty)

    def select_overload(
        self,
        sig: Sequence[types.Type],
        overloads: Sequence[Sequence[types.Type]],
        allow_unsafe: bool = True,
        exact_match_required: bool = False,
    ) -> int:
        """The number of the signature that fits best. Raises `TypeError` where none does."""
        cases = [Signature(types.none, overload) for overload in overloads]
        if exact_match_required:
            cases = [case for case in cases if case.args == tuple(sig)]
        found = context().resolve_overload("function", cases, sig, unsafe_casting=allow_unsafe)
        if found is None:
            raise TypeError(f"No matching definition for argument type(s) {', '.join(map(str, sig))}")
        return [tuple(overload) for overload in overloads].index(found.args)


#: By Numba's rules for numbers.
default_type_manager = TypeManager()


@functools.cache
def context() -> Context:
    """The one that the package asks."""
    return Context()


__all__ = ["Context", "Conversion", "Signature", "TypeManager", "context", "default_type_manager", "signature", "types"]
