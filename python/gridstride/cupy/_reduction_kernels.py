"""`ReductionKernel`: what brings elements together, as C text.

    >>> import gridstride.cupy as cp
    >>> norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(cp.asarray([[3.0, 4.0], [5.0, 12.0]]), axis=1)
    array([ 5., 13.])

A thread brings together every `lanes`th element of a piece; what the threads found is brought together in the same way,
until one is left for each output. The order in which elements meet depends on the shape alone, and so do the bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _array, _elementwise, _layout, _memory
from gridstride.cupy._element_kernels import Compiled, argument, c_name, decide, on, read_parameters
from gridstride.cupy._raw import Text
from gridstride.cupy._reduce import arranged, axes_of, cut


class ReductionKernel:
    """A reduction over elements.

    Args:
        in_params, out_params: Lists of parameters, as for `ElementwiseKernel`.
        map_expr: What is kept of an element.
        reduce_expr: What is kept of two, `a` and `b`.
        post_map_expr: Statements that compute the outputs from what is kept of all, `a`.
        identity: What is kept of no elements; where it is None or "", there must be one.
        name: For messages.
        reduce_type: The type of what is kept: a dtype's name, a letter or a type of the preamble; that of the first
            output by default.
        preamble: Text before the kernel.
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: Sequence[str] = (),
    ) -> None:
        self.in_params, self.out_params = read_parameters(in_params, True), read_parameters(out_params, False)
        if not self.out_params:
            raise ValueError("a reduction has an output")
        if not name.isidentifier():
            raise ValueError(f"`{name}` is no name")
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr
        self.identity = None if identity is None or identity == "" else str(identity)
        self.name = self.__name__ = name
        self.reduce_type, self.preamble, self.options = reduce_type, preamble, tuple(options)
        self._compiled: dict[Any, Compiled] = {}

    def __call__(
        self, *args: Any, out: Any = None, axis: Any = None, keepdims: bool = False, stream: Any = None
    ) -> Any:
        """Reduces along axes: all by default.

        Raises `TypeError` for arguments of other types, `ValueError` for axes that are not there, and where nothing is
        left to reduce and there is no identity.
        """
        if out is not None:
            args = (*args, *(out if isinstance(out, tuple) else (out,)))
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"Wrong number of arguments for {self.name!r}: {self.nin} or {self.nargs}, got {len(args)}")
        values = [argument(one) for one in args]
        params = [*self.in_params, *self.out_params]
        letters: dict[str, np.dtype[Any]] = {}
        decide(params[: len(values)], values, letters, self.name)
        types = tuple(one.dtype if one.letter is None else letters.get(one.letter) for one in params)
        for param, ty in zip(params, types, strict=True):
            if ty is None:
                raise TypeError(f"{self.name}: nothing says what `{param.letter}` of `{param.name}` stands for")
        walked = [
            one
            for param, one in zip(self.in_params, values, strict=False)
            if not param.raw and isinstance(one, _array.ndarray)
        ]
        if not walked:
            raise ValueError(f"{self.name}: a reduction needs an array that is not `raw`")
        shape = _layout.broadcast([one.shape for one in walked])
        axes = axes_of(axis, len(shape))
        kept = tuple(extent for k, extent in enumerate(shape) if k not in axes)
        full = tuple(1 if k in axes else extent for k, extent in enumerate(shape))
        outs = values[self.nin :]
        wanted = full if keepdims else kept
        for param, one in zip(self.out_params, outs, strict=False):
            if not isinstance(one, _array.ndarray) or one.shape != wanted:
                raise ValueError(f"{self.name}: `{param.name}` must be an array of shape {wanted}")
        results = outs or [_array.fresh(ty, wanted) for ty in types[self.nin :]]  # type: ignore[arg-type]
        n = math.prod(shape[k] for k in axes)
        if n == 0 and self.identity is None:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        if 0 not in kept:
            with on(stream):
                self._reduce(values[: self.nin], results, types, letters, shape, axes)
        return results[0] if self.nout == 1 else tuple(results)

    def _reduce(
        self,
        inputs: Sequence[Any],
        results: Sequence[Any],
        types: Any,
        letters: dict[str, np.dtype[Any]],
        shape: tuple[int, ...],
        axes: tuple[int, ...],
    ) -> None:
        """Brings the elements of the inputs together, into the results."""
        arrays, forms, extents, order = self._arranged(inputs, shape, axes)
        kept = [k for k in range(len(shape)) if k not in axes]
        # Results lie in the order in which the kept axes lie in memory.
        laid = []
        for one in results:
            there = one.reshape(tuple(shape[k] for k in kept)) if one.is_flat else one
            turned = there.transpose(tuple(kept.index(k) for k in order)) if order != kept else there
            laid.append(turned if turned.is_flat else turned.copy())
        kind = self._kept(letters)
        is_first = True
        while True:
            outer, extent, inner = extents
            # What no array holds stays in a thread.
            piece, lanes = (extent, 1) if kind is None else cut(extent, inner, outer * inner)
            slots = -(-extent // piece) * lanes if extent else 1
            is_last = slots == 1
            rank = 2 if inner == 1 else 3
            step = (outer, slots, inner)[:rank]
            if is_last:
                made = [_as(one, step) for one in laid]
            else:
                assert kind is not None
                made = [_array.fresh(kind, step)]
            key = types, forms, is_first, is_last, rank
            found = self._compiled.get(key)
            if found is None:
                text = self._text(types, letters, forms, is_first, is_last, rank)
                found = self._compiled[key] = Compiled(
                    Text(text, self.options, f"ReductionKernel {self.name}"), self.name
                )
            found.launch(step, [*arrays, *made, piece, lanes, extent])
            if is_last:
                break
            arrays, forms, extents, is_first = [_as(made[0], step)], ("each",), (outer, slots, inner), False
        for one, there in zip(results, laid, strict=True):
            if there.ptr != one.ptr:
                back = there.transpose(tuple(order.index(k) for k in kept)) if order != kept else there
                one[...] = back.reshape(one.shape)

    def _arranged(
        self, inputs: Sequence[Any], shape: tuple[int, ...], axes: tuple[int, ...]
    ) -> tuple[list[Any], tuple[Any, ...], tuple[int, int, int], list[int]]:
        """The inputs as outer x reduced x inner elements, and how each is passed; numbers and `raw` arrays as they are.

        Also the extents, and the axes kept in the order in which they lie.
        """
        from gridstride.cupy import _shapes

        kept = [k for k in range(len(shape)) if k not in axes]
        walked = [
            k
            for k, (param, one) in enumerate(zip(self.in_params, inputs, strict=True))
            if not param.raw and isinstance(one, _array.ndarray)
        ]
        whole = {k: _shapes.broadcast_to(inputs[k], shape) for k in walked}
        found: dict[int, Any] = {k: arranged(whole[k], axes) for k in walked}
        first = found[walked[0]]
        if any(one[1:] != first[1:] for one in found.values()):
            for k in walked:
                found[k] = arranged(whole[k].transpose((*kept, *axes)).copy(), range(len(kept), len(shape)))
            first = (*found[walked[0]][:2], kept)
        args: list[Any] = []
        forms: list[Any] = []
        for k, (param, one) in enumerate(zip(self.in_params, inputs, strict=True)):
            if k in found:
                args.append(found[k][0])
                forms.append("each")
            elif isinstance(one, _array.ndarray):
                args.append(_elementwise.flat(one) if one.is_flat else one)
                forms.append(1 if one.is_flat else one.ndim)
            else:
                args.append(_elementwise.number(one, param.dtype or np.asarray(one).dtype))
                forms.append("value")
        return args, tuple(forms), first[1], list(first[2])

    def _kept(self, letters: dict[str, np.dtype[Any]]) -> np.dtype[Any] | None:
        """The dtype of what is kept between steps; None for a type of the preamble, which no array holds."""
        if self.reduce_type is None:
            first = self.out_params[0]
            return letters[first.letter] if first.letter else first.dtype
        if self.reduce_type in letters:
            return letters[self.reduce_type]
        try:
            return np.dtype(self.reduce_type)
        except TypeError:
            return {"long long": np.dtype("q"), "unsigned long long": np.dtype("Q")}.get(self.reduce_type)

    def _text(
        self, types: Any, letters: dict[str, np.dtype[Any]], forms: Any, is_first: bool, is_last: bool, rank: int
    ) -> str:
        """The kernel of one step."""
        kind = self._kept(letters)
        kept = c_name(kind) if kind is not None else str(self.reduce_type)
        lines = [f"typedef {c_name(ty)} {letter};" for letter, ty in letters.items()]
        lines += [self.preamble, f"typedef {kept} type_reduce;"]
        at = "(__tid0, _J)" if rank == 2 else "(__tid0, _J, __tid2)"
        declared, element = [], []
        if is_first:
            for param, ty, form in zip(self.in_params, types, forms, strict=False):
                word = c_name(ty)
                if form == "value":
                    declared.append(f"{word} {param.name}")
                elif param.raw:
                    declared.append(f"CArray<const {word}, {form}> {param.name}")
                else:
                    declared.append(f"CArray<const {word}, {rank}> _raw_{param.name}")
                    element.append(f"    const {word} {param.name} = _raw_{param.name}.at{at};")
        else:
            declared.append(f"CArray<const type_reduce, {rank}> _kept")
        outs = list(zip(self.out_params, types[self.nin :], strict=True)) if is_last else []
        for param, ty in outs:
            declared.append(f"CArray<{c_name(ty)}, {rank}> _raw_{param.name}")
        if not is_last:
            declared.append(f"CArray<type_reduce, {rank}> _next")
        declared += ["long long _piece", "long long _lanes", "long long _extent"]
        taken = f"(type_reduce)({self.map_expr})" if is_first and kind is not None else self.map_expr
        if not is_first:
            taken = f"_kept.at{at}"
        lines += [
            f"__global__ __elements__ void {self.name}({', '.join(declared)}) {{",
            "  const ptrdiff_t _first = _piece * (__tid1 / _lanes), _start = _first + __tid1 % _lanes;",
            "  const ptrdiff_t _end = min(_first + _piece, _extent);",
        ]
        begin = "_start"
        if self.identity is not None:
            lines.append(f"  type_reduce _s = type_reduce({self.identity});")
        else:
            lines += ["  type_reduce _s;", "  { const ptrdiff_t _J = _start;", *element, f"  _s = {taken}; }}"]
            begin = "_start + _lanes"
        lines += [
            f"  for (ptrdiff_t _J = {begin}; _J < _end; _J += _lanes) {{",
            *element,
            f"    const type_reduce a = _s, b = {taken};",
            f"    _s = {self.reduce_expr};",
            "  }",
        ]
        if is_last:
            lines += [f"  {c_name(ty)}& {param.name} = _raw_{param.name}.here();" for param, ty in outs]
            lines += ["  { const type_reduce a = _s;", f"  {self.post_map_expr}; }}"]
        else:
            lines.append("  _next.here() = _s;")
        return "\n".join([*lines, "}\n"])


def _as(array: Any, shape: tuple[int, ...]) -> Any:
    """An array without gaps in a kernel's shape."""
    size = array.dtype.itemsize
    return _native.Array(
        _memory.elem(array.dtype), array.ptr, shape, _layout.row_major(shape, size), array._place, array
    )
