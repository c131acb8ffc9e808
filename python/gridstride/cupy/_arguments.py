"""Arguments of kernels in C: arrays as pointers, numbers as the types that the text declares.

CuPy passes the bytes of an argument as they are, whatever the parameter's type is. Here an argument that does not fit
its parameter is refused, by the kernel's and the parameter's name.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _array, _memory
from gridstride.numba.cuda import _arguments

# What a pointer that is given as a number may lead to: nobody knows where its memory ends.
_OPEN = 1 << 40


class Parameter:
    """A parameter of a kernel: its name, its type, and the type as C writes it."""

    def __init__(self, index: int, kernel: str, name: str, ty: _native.Type, spelled: str) -> None:
        self.name, self.type, self.spelled = name, ty, spelled
        self._place = f"kernel `{kernel}`, argument {index + 1} `{name}`"
        element = ty.elem if ty.kind == "array" else None
        self.element = element
        if element is None:
            self.pass_ = self._number if ty.kind == "scalar" else self._value
            self._dtype = _memory.dtype_of(ty) if ty.kind == "scalar" else None
            return
        self.pass_ = self._array if spelled.startswith("CArray") else self._pointer
        self._size = element.size
        self._dtype = _cell(element)

    def _refuse(self, why: str) -> TypeError:
        return TypeError(f"{self._place}: {why}")

    def _array(self, value: Any) -> Any:
        """An array with its strides."""
        if not isinstance(value, _native.Array) or value._type != self.element:
            raise self._refuse(f"`{self.spelled}` takes an array of {self._dtype}")
        return value

    def _pointer(self, value: Any) -> Any:
        """An array's memory as an array of one dimension; None is a null pointer."""
        if value is None:
            return None
        if not isinstance(value, _native.Array):
            return self._address(value)
        if not isinstance(value, _array.ndarray):
            from gridstride.cupy import _interop

            value = _interop.asarray(value)
        dtype = value.dtype
        if not self._fits(dtype):
            raise self._refuse(f"`{self.spelled}` does not point into an array of {dtype}: {self._wanted()}")
        if not value.is_flat:
            self._require_memory_without_gaps(value)
        n_bytes = value.nbytes
        if n_bytes % self._size:
            raise self._refuse(f"{n_bytes} bytes are no whole number of `{self.spelled.strip('* ')}`")
        if len(value.shape) == 1 and value._type == self.element and value.is_flat:
            return value
        shape = (n_bytes // self._size,)
        return _native.Array(self.element, value.ptr, shape, (self._size,), value._place, value)

    def _fits(self, dtype: np.dtype[Any]) -> bool:
        wanted = self._dtype
        if wanted is None:
            return True
        if dtype == wanted:
            return True
        # Integers of one size are the same bits, signed or not; a complex number is two floats.
        is_same_int = dtype.kind in "iub" and wanted.kind in "iub" and dtype.itemsize == wanted.itemsize
        is_complex = dtype.kind == "c" and wanted.kind == "f" and dtype.itemsize == 2 * wanted.itemsize
        return is_same_int or is_complex and self._size >= dtype.itemsize

    def _wanted(self) -> str:
        return f"pass one of {self._dtype}, or declare the parameter with the type that the array has"

    def _require_memory_without_gaps(self, value: Any) -> None:
        if not value.flags.f_contiguous:
            raise ValueError(
                f"{self._place}: a pointer does not know the strides of an array that has gaps: "
                "pass cupy.ascontiguousarray(x), or the array that it is a view of"
            )
        if value.base is not None:
            text = f"{self._place}: the kernel sees the memory of a transposed view, column by column"
            warnings.warn(text, stacklevel=5)

    def _address(self, value: Any) -> Any:
        """Memory that is given by its address."""
        if isinstance(value, np.ndarray | np.generic) and not np.issubdtype(value.dtype, np.integer):
            raise self._refuse(f"`{self.spelled}` takes an array of cupy, not {type(value)}: use cupy.asarray")
        if hasattr(value, "__cuda_array_interface__"):
            from gridstride.cupy import _interop

            return self._pointer(_interop.asarray(value))
        pointer = getattr(value, "ptr", value)
        try:
            address = operator.index(pointer)
        except TypeError:
            raise self._refuse(f"`{self.spelled}` takes an array, not {type(value)}") from None
        memory = getattr(value, "mem", None)
        n_bytes = getattr(memory, "size", None) if memory is not None else None
        extent = n_bytes // self._size if isinstance(n_bytes, int) and n_bytes else _OPEN
        if not address:
            return None
        return _native.Array(self.element, address, (extent,), (self._size,), _memory.place(), value)

    def _number(self, value: Any) -> Any:
        dtype: Any = self._dtype
        kind = dtype.kind
        if isinstance(value, np.generic):
            given = value.dtype.kind
            if given == "f" and value.dtype != dtype or given == "c" or kind == "f" and given in "iub":
                raise self._refuse(
                    f"`{self.spelled}` takes {dtype}, not numpy.{value.dtype}: pass numpy.{dtype}(x) or a Python number"
                )
            value = value.item()
        elif isinstance(value, _native.Array | np.ndarray):
            raise self._refuse(f"`{self.spelled}` takes a number, not an array: pass x.item(), or declare a pointer")
        if kind == "f":
            try:
                return float(value)
            except (TypeError, ValueError):
                raise self._refuse(f"`{self.spelled}` takes a number, not {type(value)}") from None
        try:
            whole = operator.index(value)
        except TypeError:
            raise self._refuse(f"`{self.spelled}` takes an integer, not {type(value)}") from None
        if kind == "b":
            return bool(whole)
        info = np.iinfo(dtype)
        if not info.min <= whole <= info.max:
            raise OverflowError(f"{self._place}: {whole} is not in the range of `{self.spelled}`")
        return whole

    def _value(self, value: Any) -> Any:
        """A struct or vector: a NumPy scalar or record with the same bytes."""
        found = np.asarray(value)
        if found.nbytes != self.type.size:
            raise self._refuse(
                f"`{self.spelled}` has {self.type.size} bytes, not {found.nbytes}: "
                "pass a NumPy record of a dtype with align=True"
            )
        return _arguments._value(self.type, found.tobytes())


def _cell(element: _native.Type) -> Any:
    """The dtype of the numbers that memory consists of; None for structs, which may be of any."""
    if element.kind == "vector":
        element = element.elem
    return _memory.dtype_of(element) if element.kind == "scalar" else None


def parameters(kernel: str, listed: list[tuple[str, _native.Type, str]]) -> list[Parameter]:
    """The parameters of a kernel in order."""
    return [Parameter(index, kernel, *one) for index, one in enumerate(listed)]
