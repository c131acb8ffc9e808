"""The compiled part of Gridstride. Everything here is private: the public names are in `gridstride`."""

from collections.abc import Callable, Sequence
from typing import Any, final

__version__: str

@final
class Type:
    """A type of the kernel language: immutable, hashable, equal by meaning."""

    @staticmethod
    def scalar(name: str) -> Type: ...  # "bool" "i8" … "u64" "f16" "bf16" "f32" "f64"
    @staticmethod
    def vector(elem: Type, length: int) -> Type: ...
    @staticmethod
    def matrix(elem: Type, rows: int, cols: int) -> Type: ...
    @staticmethod
    def quat(elem: Type) -> Type: ...
    @staticmethod
    def transform(elem: Type) -> Type: ...
    @staticmethod
    def struct(name: str, fields: Sequence[tuple[str, Type]]) -> Type: ...
    @staticmethod
    def tuple(items: Sequence[Type]) -> Type: ...
    @staticmethod
    def array(elem: Type, rank: int) -> Type: ...
    kind: str  # "scalar" "vector" "matrix" "quat" "transform" "struct" "tuple" "array"
    name: str  # IR text
    size: int  # bytes
    align: int  # bytes
    shape: tuple[int, ...]  # (3,) for a vec3, (2, 2) for a mat22, (7,) for a transform, () else
    elem: Type | None  # scalar type of a composite, element type of an array
    rank: int  # of an array
    fields: tuple[tuple[str, Type, int], ...]  # of a struct: name, type, byte offset

class Array:
    """Base of `gridstride.array`: a view of device memory that a launch can read without calling Python.

    `owner` is kept alive with the array (a NumPy array, a parent array, a buffer). Strides are in bytes.
    """

    def __new__(
        cls,
        dtype: Type,
        ptr: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        device: str,
        owner: object = None,
    ) -> Array: ...
    _type: Type  # element type
    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    ndim: int
    size: int
    is_contiguous: bool
    _owner: object

class Buffer:
    """Owned, 64-byte aligned CPU memory. Freed with the object."""

    def __new__(cls, n_bytes: int, zeroed: bool = True) -> Buffer: ...
    ptr: int
    n_bytes: int

class Function:
    """Base of `gridstride.Function` (`@func`): what the front end needs to find its source and scope.

    `annotations` maps parameter names (and "return") to a `Type`, or to a pattern tuple, see `gridstride._types`:
    ("any",) ("scalar",) ("float",) ("int",) ("callable",) ("vector", elem, n|None) ("matrix", elem, r|None, c|None)
    ("quat", elem) ("transform", elem) ("array", elem, rank) ("tuple", items…); elem is a Type or a pattern.
    """

    def __new__(cls, pyfunc: Callable[..., Any], annotations: dict[str, Any], overloads: list[Function]) -> Function: ...

class Kernel:
    """Base of `gridstride.Kernel`. `options`: checked, check_finite, fast_math, max_unroll, cache_dir (None: no disk cache)."""

    def __new__(cls, pyfunc: Callable[..., Any], name: str, annotations: dict[str, Any]) -> Kernel: ...

class Launch:
    """A recorded launch: arguments packed once."""

    def launch(self) -> None: ...
    def set_param_at_index(self, index: int, value: Any) -> None: ...
    def set_dim(self, dim: tuple[int, ...]) -> None: ...

class CompileError(RuntimeError):
    """A kernel that cannot be compiled; the text holds every diagnostic. `.diagnostics`: list of (code, message, file, line, column)."""

    diagnostics: list[tuple[str, str, str, int, int]]

class KernelFault(RuntimeError):
    """A check that failed while a kernel ran: kind, kernel, file, line, thread, array, index, shape are attributes."""

def launch(
    kernel: Kernel,
    dim: int | tuple[int, ...],
    inputs: Sequence[Any],
    outputs: Sequence[Any] = (),
    device: str = "cpu",  # "cpu" or "interp"
    record: bool = False,
    options: dict[str, Any] | None = None,
) -> Launch | None:
    """Checks, packs, compiles when needed, runs. A Python list or tuple, a `Type`-tagged value (attribute `__gs_value__`: bytes of
    the value in the layout of its `__gs_type__`), a NumPy array or scalar, None for an array are accepted as arguments."""

def compile(kernel: Kernel, arg_types: Sequence[Type], options: dict[str, Any]) -> None: ...
def ir(kernel: Kernel, arg_types: Sequence[Type], options: dict[str, Any], stage: str) -> str:
    """stage: "typed", "optimized", "llvm", "assembly"."""

def call(function: Function | str, args: Sequence[Any]) -> Any:
    """Runs a function, or a builtin by name, on the host by the interpreter; gives (Type, bytes)."""

def counters() -> dict[str, float]:
    """Kernels captured, inferred, optimized, generated, loaded from cache, loaded; and the milliseconds spent in each (`ms_*`)."""

def set_num_threads(n: int) -> None: ...
def get_num_threads() -> int: ...
def llvm_version() -> str: ...
def cpu_name() -> str: ...
