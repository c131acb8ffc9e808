"""The compiled part of Gridstride. Everything here is private: the public names are in `gridstride`."""

from collections.abc import Callable, Iterable, Sequence
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
    @property
    def kind(self) -> str: ...  # "scalar" "vector" "matrix" "quat" "transform" "struct" "tuple" "array"
    @property
    def name(self) -> str: ...  # IR text
    @property
    def user_name(self) -> str: ...  # as in messages: "vec3f", "array(dtype=float32, ndim=1)"
    @property
    def size(self) -> int: ...  # bytes
    @property
    def align(self) -> int: ...  # bytes
    @property
    def shape(self) -> tuple[int, ...]: ...  # (3,) for a vec3, (2, 2) for a mat22, (7,) for a transform, () else
    @property
    def elem(self) -> Type | None: ...  # scalar type of a composite, element type of an array
    @property
    def rank(self) -> int: ...  # of an array
    @property
    def fields(self) -> tuple[tuple[str, Type, int], ...]: ...  # of a struct or tuple: name, type, byte offset
    @property
    def struct_name(self) -> str | None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object) -> bool: ...

def library_struct(name: str) -> Type: ...  # that the kernel library declares
def sort_by_cell(keys: Array, ids: Array, starts: Array) -> None: ...  # on the host; `keys` are sorted in place
def build_bvh(
    boxes: tuple[Array, Array], groups: Array | None, tree: tuple[Array, Array], leaf_size: int, is_median: bool
) -> tuple[int, list[tuple[int, int]]]: ...  # on the host; the number of nodes, and each group with its root
def refit_bvh(boxes: tuple[Array, Array], tree: tuple[Array, Array], n_nodes: int) -> None: ...
def object_changed(id: int) -> None: ...  # what kernels find by it is not what it was

class WideTree:  # of eight children a node
    n_nodes: int
    @staticmethod
    def of(boxes: tuple[Array, Array], tree: tuple[Array, Array], n_nodes: int) -> WideTree | None: ...
    def fill(self, corners: Array, rows: Array) -> None: ...

class Array:
    """Base of `gridstride.array`: a view of device memory that a launch can read without calling Python.

    `owner` is kept alive with the array (a NumPy array, a parent array, a buffer). Strides are in bytes. Raises
    `ValueError` for a view that compiled code could not rely on: no or more than 4 dimensions, elements that are not
    at multiples of their alignment.
    """

    def __new__(
        cls,
        dtype: Type,
        ptr: int,
        shape: Sequence[int],
        strides: Sequence[int],
        device: str,
        owner: object = None,
    ) -> Array: ...
    @property
    def _type(self) -> Type: ...  # element type
    @property
    def ptr(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def is_contiguous(self) -> bool: ...
    @property
    def _place(self) -> str: ...  # "cpu" "pinned" "cuda:0" "managed:0"
    @property
    def _is_host(self) -> bool: ...
    @property
    def _owner(self) -> object: ...

@final
class Buffer:
    """Owned, 64-byte aligned CPU memory. Freed with the object."""

    def __new__(cls, n_bytes: int, zeroed: bool = True) -> Buffer: ...
    @property
    def ptr(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...

class Function:
    """Base of `gridstride.Function` (`@func`): what the front end needs to find its source and scope.

    `annotations` maps parameter names (and "return") to a `Type`, or to a pattern tuple, see `gridstride._types`:
    ("any",) ("scalar",) ("float",) ("int",) ("callable",) ("vector", elem, n|None) ("matrix", elem, r|None, c|None)
    ("quat", elem) ("transform", elem) ("array", elem, rank) ("tuple", items…); elem is a Type or a pattern.
    `overloads` is kept, not copied: it may grow.
    """

    def __new__(cls, pyfunc: Callable[..., Any], annotations: dict[str, Any], overloads: list[Any]) -> Function: ...
    @property
    def overloads(self) -> list[Any]: ...

class Kernel:
    """Base of `gridstride.Kernel`: a function and everything compiled for it so far.

    Raises `TypeError` for a parameter without annotation, or an annotation that is no type.
    """

    def __new__(
        cls, pyfunc: Callable[..., Any] | CText, name: str, annotations: dict[str, Any], *, dialect: str = "warp"
    ) -> Kernel: ...
    @property
    def _signatures(self) -> list[list[Type]]: ...
    def _forget(self) -> None: ...
    @property
    def _compiled(self) -> list[tuple[int | None, int]]: ...

class CText:
    """C text that has kernels, in the place of a kernel's Python function. `defines` are macros from outside.

    Both methods raise `CompileError`. A variable is its name, the type of its elements, how many, their first values.
    """

    def __new__(cls, file: str, text: str, defines: list[tuple[str, str]]) -> CText: ...
    def signature(
        self, name: str
    ) -> tuple[list[tuple[str, Type, str]], list[tuple[str, Type, int, bytes]]]: ...  # parameters, variables
    def variables(self) -> list[tuple[str, Type, int, bytes]]: ...

class Launch:
    """A recorded launch: arguments packed once. An argument that does not fit leaves it as it was."""

    def __new__(cls, recorded: Launch, *args: Any) -> Launch: ...
    @property
    def dim(self) -> list[int]: ...
    def launch(self, order: int | None = None, stream: CudaStream | None = None) -> None: ...
    def _set_plain(self, is_plain: bool) -> None: ...  # False: the caller reads arguments again before each launch
    def _set_unordered(self, stamp: int) -> None: ...  # for this count of changes of settings, the order is free
    def set_param_at_index(self, index: int, value: Any) -> None: ...
    def set_dim(self, dim: int | Iterable[int]) -> None: ...

class Tape:
    """Base of `gridstride.Tape`: what ran while it recorded, the values that its way back needs, and the way back."""

    def __new__(cls, *args: Any, save_overwritten: bool = True, **kwargs: Any) -> Tape: ...
    def _start(self) -> None: ...  # raises `RuntimeError` while another tape records
    def _stop(self) -> bool: ...  # whether it recorded
    def _record_launch(
        self,
        kernel: Kernel,
        dim: int | Iterable[int],
        inputs: Iterable[Any],
        outputs: Iterable[Any] | None,
        device: str | None,
        options: dict[str, Any] | None,
    ) -> None: ...
    def _record_func(
        self,
        name: str,
        backward: Callable[[], Any] | None,
        reads: list[Any],
        writes: list[Any],
        forward: Callable[[], Any] | None = None,
    ) -> None: ...
    def _backward(self, seeds: list[Any], is_named: bool) -> list[str]: ...  # gives warnings
    def _zero(self) -> None: ...
    def _reset(self) -> None: ...
    def _begin_stretch(self, progress: Callable[[], Any] | None) -> None: ...
    def _step(self, is_part: bool) -> None: ...
    def _split(self, inner: list[int]) -> None: ...
    def _end_stretch(self) -> None: ...
    @property
    def saved_bytes(self) -> int: ...
    @property
    def _n_entries(self) -> int: ...
    def _entries(self) -> list[Any]: ...
    def _accesses(self, index: int) -> list[tuple[bool, bool, bool]]: ...  # by parameter: read, written, kept

def before_write(array: Array, what: str, is_recorded: bool = False) -> None:
    """Announces a write from Python, so that tapes can save what they need. `what` says in messages who writes."""

def is_recording() -> bool:
    """Whether a tape records."""

def is_watched(array: Array) -> bool:
    """Whether a tape's backward pass needs what is in the array's memory now."""

def is_on_tape(array: Array) -> bool:
    """Whether the recording tape must have a write to the array: it has read or written its memory."""

def copy_host(dest: Array, src: Array) -> None:
    """Copies every element to an array of the same shape and size of element; both in the host's memory."""

def fill_host(dest: Array, value: bytes) -> None:
    """Sets every element of an array in the host's memory to a value's bytes."""

def round_floats(dtype: Type, values: Iterable[Any]) -> list[float]:
    """Numbers as a float type holds them."""

def overlap(a: Array, b: Array) -> bool:
    """Whether two arrays may have memory in common."""

def record_func(
    name: str,
    backward: Callable[[], Any] | None,
    reads: list[Any],
    writes: list[Any],
    forward: Callable[[], Any] | None = None,
) -> None:
    """Notes a function on the tape that records, if one does."""

class CompileError(RuntimeError):
    """A kernel that cannot be compiled; the text holds every diagnostic."""

    diagnostics: list[tuple[str, str, str, int, int]]  # code, message, file, line, column

class KernelFault(RuntimeError):
    """A check that failed while a kernel ran: what the first failing thread saw."""

    kind: str  # "bounds" "null" "component" "division" "finite" "assert"
    kernel: str
    file: str
    line: int
    thread: tuple[int, ...]
    array: str | None
    index: tuple[int, ...] | None
    shape: tuple[int, ...] | None

class ExtentError(ValueError):
    """A launch of more threads along a dimension than the kernel's `tid()` counts."""

class ArgumentError(RuntimeError, TypeError, ValueError):
    """An argument that a kernel does not take; the text names both, what is expected and what was given."""

def launch(
    kernel: Kernel,
    dim: int | Iterable[int],
    inputs: Iterable[Any],
    outputs: Iterable[Any] | None = None,
    device: str | None = None,  # "cpu" (also None), "interp", "cuda:0"
    record: bool = False,
    options: dict[str, Any] | None = None,
    on_tape: bool = True,
    stream: CudaStream | None = None,
    block: int = 0,
) -> Launch | None:
    """Checks, packs, compiles when needed, runs. With `record`, gives a `Launch` instead of running.

    On a CUDA device the launch goes to `stream`, else to the device's current one, and has blocks of at most `block`
    threads, 0 for the compiler's choice.

    Arguments: arrays, NumPy arrays (their memory is used, so dtype and rank must fit), None for an array; Python and
    NumPy numbers; instances of classes with `__gs_type__`, through `__gs_bytes__()`; nested sequences for vectors and
    matrices. `options`: checked, check_finite, fast_math, max_unroll, cache_dir (None: no disk cache; left out: the
    user's own); other names are ignored. The dictionary must not be changed afterwards: a kernel remembers by identity
    what the last one said.

    Raises `ArgumentError`, `OverflowError` (an int that its parameter's type does not hold), `ValueError` (`dim`),
    `CompileError`, `KernelFault`.
    """

def adjoint_facts(
    kernel: Kernel,
    args: Iterable[Any],  # arguments, or their types
    options: dict[str, Any] | None = None,
    rank: int = 1,
    wanted: Sequence[bool] | None = None,  # per parameter: whether its adjoint is (None: all)
) -> list[dict[str, bool]]:
    """What the kernel's adjoint kernel does with each argument.

    reads: it loads from the array, which must hold what it held before the launch; reads_after: what it held after it;
    loads: the kernel loads from it; writes: the kernel writes to it (and the adjoint kernel may, where it reads it too:
    pass a copy); adjoint: it takes an adjoint; adds_only: every write is an atomic addition, so that what was there
    before keeps its adjoint; writes_back: a gradient of the user's writes to it on the way back. Raises `CompileError`
    where there is no gradient, with the line.
    """

class BlockLauncher:
    """A kernel's launches over blocks of one shape. Call it with the arguments.

    A launch like the last one runs at once; any other goes to `launch(self, args)`. `explained(fault)` gives the
    exception for a failed check.
    """

    def __new__(
        cls,
        grid: int | Iterable[int],
        block: int | Iterable[int],
        dynamic_shared: int,
        stream: CudaStream | None,
        launch: Callable[..., None],
        explained: Callable[[KernelFault], BaseException],
        *args: Any,
    ) -> BlockLauncher: ...
    def __call__(self, *args: Any) -> None: ...

def launch_blocks(
    kernel: Kernel,
    grid: int | Iterable[int],
    block: int | Iterable[int],
    inputs: Iterable[Any],
    dynamic_shared: int = 0,
    device: str | None = None,
    options: dict[str, Any] | None = None,
    stream: CudaStream | None = None,
    learner: BlockLauncher | None = None,
) -> None:
    """Runs a kernel over thread blocks: `grid` blocks of `block` threads, x first; on a GPU in the order of a stream.

    `dynamic_shared` bytes of shared memory are there besides what the kernel asks for. A barrier that not all threads
    of a block reach raises `KernelFault`; with the option `checked` the device "interp" finds races too.
    """

def launch_adjoint(
    kernel: Kernel,
    dim: int | Iterable[int],
    args: Iterable[Any],
    adj_args: Iterable[Any],
    device: str | None = None,
    options: dict[str, Any] | None = None,
) -> None:
    """Runs the kernel's adjoint kernel over the launch that `dim` and `args` describe.

    `adj_args` has an item a parameter: None where no adjoint is wanted, for an array one of its shape, for a value
    (number, vector, struct) an array of one element, for a struct that holds arrays one that holds their adjoints.
    Adjoints of what the kernel read grow; those of what it stored to are taken, and zero afterwards.
    The option `gradient_memory` is how many bytes may be held at a time for loops of unknown length that overwrite what
    they read; beyond that the launch runs in pieces.
    """

def launch_tangent(
    kernel: Kernel,
    dim: int | Iterable[int],
    args: Iterable[Any],
    tangents: Iterable[Any],
    device: str | None = None,
    options: dict[str, Any] | None = None,
    adj_args: Iterable[Any] | None = None,
    adj_tangents: Iterable[Any] | None = None,
) -> None:
    """Runs the kernel in forward mode: what it writes to arrays, and what that means for their tangents.

    `tangents` has an item a parameter, as `adj_args` of `launch_adjoint`; None is a tangent of zero. With `adj_args`
    the adjoint kernel runs, and `adj_tangents` are the tangents of the adjoints: second derivatives.
    """

def fast_launch(slow: Callable[..., Any], cpu: object, module: str, doc: str) -> Callable[..., Any]:
    """A `launch` for the package: usual launches run without a step through Python, the others are `slow`'s.

    `cpu` is the `Device` of that name. `doc` begins with the signature in the form of compiled functions.
    """

def set_cuda_devices(devices: Sequence[tuple[str, object]]) -> None:
    """Tells `fast_launch` the names and `Device`s of CUDA devices, by number."""

def foreign_array(
    value: object,
) -> tuple[str | None, int, int, list[int], list[int], str, bool, int | None] | None:
    """What another library's array is (PyTorch's tensor, `__cuda_array_interface__`), None for anything else.

    The scalar's name (None for records), bytes of an element, address, extents, strides in bytes, place, whether it is
    read-only, the stream that it is in use on.
    """

def fast_recorded(cls: type[Launch], slow: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """A method `launch` for the package's class of recorded launches; `slow` is called for what it leaves alone."""

def set_launch_state(
    *,
    changes: int | None = None,
    prints: bool | None = None,
    on_cpu: bool | None = None,
    retains: bool | None = None,
    cuda: int | None = None,
    verifies: bool | None = None,
    blocks: bool | None = None,
) -> None:
    """What `fast_launch` asks: the count of changes of settings, `config.print_launches`, whether the default device is
    the CPU, whether an array has `retain_grad`, the number of the CUDA device that is the default one (-1: none),
    `config.verify_cuda`. None leaves it as it is."""

def compile(
    kernel: Kernel,
    arg_types: Sequence[Type],
    options: dict[str, Any] | None = None,
    rank: int = 1,
    device: Any = None,
) -> None:
    """Compiles for contiguous arrays and launches of `rank` dimensions."""

def compile_ahead(
    kernels: Sequence[tuple[str, Kernel, Sequence[Type]]], device: str, options: dict[str, Any], arch: int | None = None
) -> bytes:
    """The bytes of a file of compiled kernels, by name; with `arch` PTX for that CUDA architecture."""

def install_ahead(
    file: bytes, kernels: Sequence[tuple[str, Kernel, Sequence[Type]]], device: str, options: dict[str, Any]
) -> list[str]:
    """Gives kernels the code of such a file; gives the names of those that it has none for."""

def ir(
    kernel: Kernel,
    arg_types: Sequence[Type],
    options: dict[str, Any] | None = None,
    stage: str = "optimized",  # "typed" "optimized" "llvm" "assembly"
    rank: int = 1,
    adjoint: bool = False,  # the adjoint kernel, with all adjoints wanted
) -> str: ...
def call(function: Function | str, args: Iterable[Any], names: list[str] = []) -> tuple[Type, bytes]:
    """Runs a function, or a builtin by name, on the host by the interpreter; gives the result's type and bytes.

    A function of no or several results gives a tuple type. `names` are those of a builtin's last arguments.
    """

def counters() -> dict[str, float]:
    """Kernels that went through each phase in this process, and the milliseconds spent in each.

    captured, inferred, optimized, generated (by LLVM), cached (found on disk), loaded, reused (loaded before);
    `ms_*` of these; damaged (entries on disk that were not used), unwritten (entries that could not be written).
    """

def set_num_threads(n: int) -> None: ...
def get_num_threads() -> int: ...
def llvm_version() -> str: ...
def cpu_name() -> str: ...
def default_cache_dir() -> str | None: ...

# CUDA devices, by number. Nothing here is asked for on import; the first call starts the driver. Errors of the driver
# are RuntimeErrors that name the call.

@final
class CudaBuffer:
    """Owned memory: of a device, or of the host, page-locked. Freed in the order of streams."""

    def __new__(cls, ordinal: int, n_bytes: int, kind: str = "device") -> CudaBuffer: ...  # "pinned" "managed"
    @staticmethod
    def of_handle(ordinal: int, handle: bytes) -> CudaBuffer: ...  # memory of another process
    @property
    def ptr(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...

class CudaHostLock:
    """Memory of the host that is page-locked as long as this lives."""

    def __new__(cls, ordinal: int, ptr: int, n_bytes: int) -> CudaHostLock: ...

class CudaStream:
    """A stream, one of others by its handle, or the device's own."""

    def __new__(
        cls,
        ordinal: int,
        priority: int = 0,
        handle: int | None = None,
        is_own: bool = False,
        is_borrowed: bool = False,
    ) -> CudaStream: ...
    @property
    def handle(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def is_complete(self) -> bool: ...
    @property
    def is_capturing(self) -> bool: ...
    def synchronize(self) -> None: ...
    def wait_event(self, event: CudaEvent) -> None: ...
    def wait_stream(self, other: CudaStream) -> None: ...
    def make_current(self) -> None: ...

class CudaEvent:
    """An event, or one of others by its handle."""

    def __new__(
        cls,
        ordinal: int,
        has_time: bool = False,
        sleeps: bool = False,
        handle: int | None = None,
        is_shared: bool = False,
        shared_handle: bytes | None = None,
    ) -> CudaEvent: ...
    def ipc_handle(self) -> bytes: ...  # what another process opens it by
    @property
    def handle(self) -> int: ...
    @property
    def is_complete(self) -> bool: ...
    def record(self, stream: CudaStream) -> None: ...
    def synchronize(self) -> None: ...
    def elapsed(self, end: CudaEvent) -> float: ...  # milliseconds

@final
class CudaGraph:
    """Captured work. Keeps what it uses alive."""

    def launch(self, stream: CudaStream) -> None: ...
    def upload(self, stream: CudaStream) -> None: ...
    @property
    def n_nodes(self) -> int: ...
    def write_dot(self, path: str, is_verbose: bool) -> None: ...

class CudaCondition:
    """Whether bodies of the graph that is captured from `stream` run: the int32 at `address` is not 0, or is 0."""

    def __init__(self, stream: CudaStream, address: int, is_negated: bool = False) -> None: ...
    def read(self, stream: CudaStream, address: int) -> None: ...
    def begin_body(self, stream: CudaStream, inner: CudaStream, is_loop: bool) -> None: ...
    @staticmethod
    def end_body(inner: CudaStream) -> None: ...

def cuda_memory_handle(ordinal: int, ptr: int) -> bytes: ...  # what another process opens memory by
def cuda_memory_range(ordinal: int, ptr: int) -> tuple[int, int]: ...  # the allocation around an address, its bytes
def cuda_set_profiled(ordinal: int, is_profiled: bool) -> None: ...
def cuda_current_context() -> int: ...  # of the calling thread; 0 where it has none
def cuda_push_context(context: int) -> None: ...
def cuda_pop_context() -> int: ...
def cuda_device_count() -> int: ...
def cuda_is_started() -> bool: ...
def cuda_missing() -> str | None: ...  # why there is no driver
def cuda_driver_version() -> tuple[int, int]: ...
def cuda_properties(ordinal: int) -> dict[str, Any]: ...
def cuda_memory(ordinal: int) -> tuple[int, int]: ...  # free, all
def cuda_context(ordinal: int) -> int: ...
def cuda_is_opened(ordinal: int) -> bool: ...
def cuda_can_access(ordinal: int, peer: int) -> bool: ...
def cuda_has_access(ordinal: int, peer: int) -> bool: ...
def cuda_set_access(ordinal: int, peer: int, is_enabled: bool) -> None: ...
def cuda_pool_enabled(ordinal: int, is_enabled: bool | None = None) -> bool: ...
def cuda_pool_threshold(ordinal: int, n_bytes: int | None = None) -> int: ...
def cuda_pool_used(ordinal: int) -> tuple[int, int]: ...  # now, at most so far
def cuda_synchronize(ordinal: int) -> None: ...
def cuda_upload(
    ordinal: int, dst: int, src: int, n_bytes: int, is_lasting: bool = False, stream: CudaStream | None = None
) -> None:
    """Copies from the host. With `is_lasting` the caller keeps page-locked memory as it is until it has been read."""

def cuda_download(
    ordinal: int, dst: int, src: int, n_bytes: int, waits: bool = True, stream: CudaStream | None = None
) -> None:
    """Copies to the host. With `waits` it is there on return, and checks that failed before are raised."""

def cuda_copy(
    ordinal: int, dst: int, src_ordinal: int, src: int, n_bytes: int, stream: CudaStream | None = None
) -> None: ...
def cuda_fill(ordinal: int, dst: int, value: bytes, count: int, stream: CudaStream | None = None) -> bool:
    """Sets elements to a value's bytes where the driver can: says whether it did."""

def cuda_prefetch(ordinal: int, ptr: int, n_bytes: int, to_host: bool = False) -> None:
    """Moves managed memory to a device, or to the host, ahead of its use there."""

def cuda_place(ptr: int) -> str: ...  # "cpu" "pinned" "managed" "cuda:0"
def cuda_keep(object: object) -> None: ...  # for as long as the graph that is being captured lives
def cuda_begin_capture(stream: CudaStream) -> None: ...
def cuda_end_capture(stream: CudaStream) -> CudaGraph: ...
def cuda_to_dlpack(array: Array, stream: int | None = None, is_versioned: bool = False) -> object: ...
def cuda_order(ordinal: int, stream: int, ours_waits: bool) -> None: ...
def cuda_kernel_properties(
    kernel: Kernel,
    arg_types: Sequence[Type],
    ordinal: int,
    options: dict[str, Any] | None = None,
    rank: int = 1,
    block: int = 0,
    dynamic_shared: int = 0,
) -> list[int]:
    """Registers, shared and local bytes, threads of a block at most; threads of a block, blocks a multiprocessor."""
