"""`cupy.ndarray`: a view of memory on the device that launches run on.

Every array is one that kernels of all three styles take as it is. Views share memory; nothing is copied by slicing,
transposing, reshaping where the strides allow it, or broadcasting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _layout, _memory

if TYPE_CHECKING:
    from gridstride.cupy._operators import Operators
else:
    from gridstride.cupy._operators import Operators

_new = _native.Array.__new__
# Elements of an array that has more dimensions than kernels take: a type that no kernel's parameter has.
_TOO_MANY = _native.Type.struct("array_of_more_than_4_dimensions", [("element", _native.Type.scalar("u8"))])
_MAX_RANK = 4


class ndarray(Operators, _native.Array):
    """An array of numbers. `shape`, `dtype`, `strides` (bytes), `order` and `memptr` are CuPy's.

    Raises `TypeError` for a dtype that kernels have no type for, `ValueError` for a negative extent, `MemoryError`.
    """

    __slots__ = ("__weakref__", "_described", "_dtype", "_shape", "_strides", "base")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __new__(
        cls, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> ndarray:
        shape = _extents(shape)
        found = np.dtype(dtype)
        if memptr is not None:
            steps = _layout.row_major(shape, found.itemsize) if strides is None else tuple(strides)
            return make(found, int(memptr.ptr), shape, steps, memptr, _memory.place(), cls)
        if strides is not None:
            raise NotImplementedError("`strides` are for memory that is given as `memptr`")
        return fresh(found, shape, order, cls)

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents. Setting them reshapes in place, without a copy."""
        return self._shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise AttributeError("`shape` cannot be set: an array's memory is described once; write a = a.reshape(shape)")

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def strides(self) -> tuple[int, ...]:
        # None says that there are no gaps, which the usual calls ask for: it stays.
        found = self._strides
        return _layout.row_major(self._shape, self._dtype.itemsize) if found is None else found

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> int:
        return math.prod(self._shape)

    @property
    def itemsize(self) -> int:
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        return math.prod(self._shape) * self._dtype.itemsize

    @property
    def flags(self) -> Any:
        return self._memory.flags

    @property
    def is_flat(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return self._strides is None or self._memory.flags.c_contiguous

    @property
    def _memory(self) -> np.ndarray[Any, Any]:
        """NumPy's description of the memory."""
        found = self._described
        if found is None:
            found = _memory.description(self._owner, self.ptr, self._shape, self._strides, self._dtype, self._place)
            self._described = found
        return found

    @property
    def device(self) -> Any:
        """The device whose memory it is."""
        from gridstride.cupy.cuda import Device

        where = self._place
        return Device(int(where.rpartition(":")[2]) if ":" in where else None)

    @property
    def data(self) -> Any:
        """The memory, as a pointer."""
        from gridstride.cupy.cuda import MemoryPointer

        return MemoryPointer(self, 0)

    @property
    def _host(self) -> np.ndarray[Any, Any]:
        """The elements for the host to read: the memory itself on the CPU device, else a copy."""
        return _memory.read(self._memory, self._is_host)

    # To the host and back.

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """The elements as a NumPy array: a new one, or `out`, which must have this shape and dtype."""
        host = self._host
        if out is None:
            return host.copy(order="K" if order == "A" else order) if self._is_host else np.array(host, order=order)  # type: ignore[call-overload]
        if not isinstance(out, np.ndarray):
            raise TypeError(f"Only numpy.ndarray can be obtained from cupy.ndarray, `out` is {type(out).__name__}")
        if out.shape != self._shape or out.dtype != self._dtype:
            raise ValueError(f"`out` must have shape {self._shape} and dtype {self._dtype}")
        out[...] = host
        return out

    def set(self, arr: Any, stream: Any = None) -> None:
        """Fills the array from a NumPy array of the same shape and dtype."""
        if not isinstance(arr, np.ndarray):
            raise TypeError(f"Only numpy.ndarray can be set to cupy.ndarray, got {type(arr).__name__}")
        if arr.dtype != self._dtype:
            raise TypeError(f"{self._dtype} array cannot be set to {arr.dtype} array")
        if arr.shape != self._shape:
            raise ValueError(f"Shape mismatch. Array has shape {self._shape}, set with shape {arr.shape}")
        if self.size:
            before_write(self, "ndarray.set")
            _memory.write(self._memory, self._is_host, arr)

    def item(self, *args: Any) -> Any:
        """An element as a Python number: the only one, or the one at an index."""
        if args:
            index = args[0] if len(args) == 1 else args
            return self.ravel()[index].item() if isinstance(index, int) else self[index].item()
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._host.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._host.tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """The bytes of all elements."""
        return self._host.tobytes(order)  # type: ignore[arg-type]

    def dump(self, file: Any) -> None:
        """Writes it to a file as a pickle."""
        self.get().dump(file)

    def dumps(self) -> bytes:
        """A pickle of it."""
        return self.get().dumps()

    def __reduce__(self) -> Any:
        return _of_host, (self.get(),)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` or cupy.asnumpy(a).")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        from gridstride.numba.cuda import _memory as described

        return described.description(self._memory, self._dtype, 0)

    def __dlpack__(self, **options: Any) -> Any:
        """A DLPack capsule over the memory."""
        if self._is_host:
            options.pop("stream", None)
            return self._memory.__dlpack__(**options)
        version = options.pop("max_version", None)
        return _native.cuda_to_dlpack(self, options.pop("stream", None), version is not None and version >= (1, 0))

    def __dlpack_device__(self) -> tuple[int, int]:
        where = self._place
        return (2, int(where.rpartition(":")[2])) if where.startswith("cuda") else (1, 0)

    def __repr__(self) -> str:
        return repr(self._host)

    def __str__(self) -> str:
        return str(self._host)

    def __format__(self, spec: str) -> str:
        return format(self._host if self.ndim else self._host[()], spec)

    def __bool__(self) -> bool:
        return bool(self._host)

    def __int__(self) -> int:
        return int(self._single("an int"))

    def __float__(self) -> float:
        return float(self._single("a float"))

    def __complex__(self) -> complex:
        return complex(self._single("a complex number"))

    def __index__(self) -> int:
        if self._dtype.kind not in "iu" or self.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self._host)

    def _single(self, what: str) -> Any:
        if self.size != 1:
            raise TypeError(f"only arrays of size 1 can be converted to {what}, this one has shape {self._shape}")
        return self._host.reshape(-1)[0]

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of unsized object")
        return self._shape[0]

    def __iter__(self) -> Iterator[ndarray]:
        if not self._shape:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in range(self._shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()


def _extents(shape: Any) -> tuple[int, ...]:
    found = (
        tuple(map(_index, shape)) if hasattr(shape, "__iter__") and not isinstance(shape, ndarray) else (_index(shape),)
    )
    if any(extent < 0 for extent in found):
        raise ValueError("negative dimensions are not allowed")
    return found


def _index(value: Any) -> int:
    return int(value.__index__())


def make(
    dtype: np.dtype[Any],
    ptr: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    owner: Any,
    where: str,
    cls: Any = ndarray,
    described: Any = None,
) -> ndarray:
    """An array over memory that `owner` holds; strides of None are row-major."""
    rank = len(shape)
    elem = _memory._ELEMS.get(dtype) or _memory.elem(dtype)
    steps = _layout.row_major(shape, dtype.itemsize) if strides is None else strides
    if 1 <= rank <= _MAX_RANK:
        self = _new(cls, elem, ptr, shape, steps, where, owner)
    elif rank:
        self = _new(cls, _TOO_MANY, ptr, (1,), (1,), where, owner)
    else:
        self = _new(cls, elem, ptr, (1,), (dtype.itemsize,), where, owner)
    self._dtype = dtype
    self._shape = shape
    self._strides = strides
    self._described = described
    self.base = None
    return self


def fresh(dtype: np.dtype[Any], shape: tuple[int, ...], order: str = "C", cls: Any = ndarray) -> ndarray:
    """A new array whose elements are not set."""
    if dtype not in _memory._ELEMS:
        _memory.elem(dtype)
    buffer, where = _memory.allocate(math.prod(shape) * dtype.itemsize)
    strides = None
    if order == "F" and len(shape) > 1:
        strides = _layout.row_major(shape[::-1], dtype.itemsize)[::-1]
        if strides == _layout.row_major(shape, dtype.itemsize):
            strides = None
    return make(dtype, buffer.ptr, shape, strides, buffer, where, cls)


def view(array: ndarray, memory: np.ndarray[Any, Any]) -> ndarray:
    """The array over a part of an array's memory that a view of its description describes."""
    strides = None if memory.flags.c_contiguous else memory.strides
    ptr = memory.__array_interface__["data"][0] if memory.size else array.ptr
    made = make(memory.dtype, ptr, memory.shape, strides, array._owner, array._place, ndarray, memory)
    made.base = array if array.base is None else array.base
    return made


def of_host(values: np.ndarray[Any, Any]) -> ndarray:
    """A copy of a NumPy array on the device, in Fortran's order where the array is in that alone."""
    is_fortran = values.flags.f_contiguous and not values.flags.c_contiguous
    made = fresh(values.dtype.newbyteorder("="), values.shape, "F" if is_fortran else "C")
    if made.size:
        _memory.write(made._memory, made._is_host, values)
    return made


_of_host = of_host
# Elements that NumPy reads and writes faster than a launch begins.
FEW = 2048


def are_few(*arrays: ndarray) -> bool:
    """Whether NumPy is to work on them: they lie in the host's memory and have few elements."""
    return all(one._is_host and one.size <= FEW for one in arrays)


def over(values: Any) -> ndarray:
    """What NumPy made of an array in the host's memory, without a copy."""
    values = np.asarray(values)
    strides = None if values.flags.c_contiguous else values.strides
    return make(values.dtype, values.__array_interface__["data"][0], values.shape, strides, values, "cpu")


def before_write(array: ndarray, what: str) -> None:
    """Announces a write by the host: tapes save what they still need."""
    _native.before_write(array, what)
