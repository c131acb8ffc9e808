"""`wp.launch`: runs a kernel over a grid of threads.

    >>> a = wp.zeros(4, dtype=float)
    >>> wp.launch(scale, dim=4, inputs=[a, 2.0])

The compiled part checks the arguments against the kernel's parameters and packs them; here only the device, the shape
and the options are settled.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gridstride import (
    _c_forms,
    _device,
    _host_graph,
    _logger,
    _module,
    _native,
    _overwrites,
    _runtime_tape,
    _types,
    config,
)
from gridstride._kernel import IN_ORDER, Kernel
from gridstride._struct import struct_base

_settings = config.__dict__
MAX_EXTENT = 2**31 - 1
# Threads of a block: at most on the CPU, and of a launch on a GPU that does not say.
MOST_CPU_THREADS, CUDA_BLOCK = 1024, 256
_PARAMETERS = (
    "kernel, dim, inputs=(), outputs=(), adj_inputs=(), adj_outputs=(), device=None, stream=None, adjoint=False, "
    "record_tape=True, record_cmd=False, max_blocks=0, block_dim=None"
)


def _shape(dim: Any) -> int | tuple[int, ...]:
    """A launch shape as an int or a tuple of 1 to 4 ints. Raises `TypeError` or `ValueError`."""
    try:
        extents = tuple(map(operator.index, dim)) if hasattr(dim, "__len__") else (operator.index(dim),)
    except TypeError:
        raise TypeError(f"a launch dimension is an int, or 1 to 4 of them, not {dim!r}") from None
    if not 1 <= len(extents) <= 4:
        raise ValueError(f"a launch has at least 1 and at most 4 dimensions, not {len(extents)}")
    for extent in extents:
        if extent < 0:
            raise ValueError(f"launch dimensions must be non-negative, {extent} is negative")
    return extents


class LaunchBounds(NamedTuple):
    """The shape of a recorded launch: `shape`, `ndim`, `size` (threads), `coord_mult` (threads to a first index)."""

    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of threads."""
        return math.prod(self.shape)

    @property
    def coord_mult(self) -> int:
        """Threads that share a first index."""
        return math.prod(self.shape[1:])


def _blank(ty: _types.Type) -> Any:
    """An argument of zeros; None for an array."""
    return None if ty.kind == "array" else _types.from_native(ty, bytes(ty.size))


def _signed(name: str, parameters: str, function: Any) -> str:
    """The text that tells Python the signature of a compiled function, then the doc string of the one it stands for."""
    return f"{name}({parameters})\n--\n\n{function.__doc__ or ''}"


class Launch(_native.Launch):
    """A recorded launch (`record_cmd=True`): arguments checked and packed once, run by `launch()`.

    `Launch(kernel, device)` is a launch of no threads whose arguments are all zero, or null arrays: set them. With
    `adjoint` it is one of the kernel's adjoint kernel, as `launch` with `adjoint` is.

    Attributes: `kernel`, `device`, `params` (the arguments), `dim`, `block_dim`.
    """

    __slots__ = ("_bounds", "_structs", "block_dim", "device", "dim", "kernel", "params")
    kernel: Kernel
    dim: Any
    params: list[Any]
    device: _device.Device
    block_dim: int
    _bounds: LaunchBounds | None

    def __new__(
        cls,
        kernel: Kernel,
        device: _device.DeviceLike = None,
        *,
        block_dim: int | None = None,
        max_blocks: int = 0,
        adjoint: bool = False,
    ) -> Launch:
        if kernel.is_generic:
            raise RuntimeError(f"kernel `{kernel.key}` is generic: launch an overload of it")
        place = _device.get_device(device)
        params = [_blank(ty) for ty in kernel._annotations.values()]
        block = block_threads(block_dim, place)
        options = kernel.launch_options(block)
        recorded = _native.launch(kernel, 0, params, (), place.alias, True, options, True, None, _on_gpu(block, place))
        return (AdjointLaunch if adjoint else cls)._of(recorded, kernel, 0, params, place, block)

    @classmethod
    def _of(
        cls, recorded: Any, kernel: Kernel, dim: Any, params: list[Any], device: _device.Device, block: int
    ) -> Launch:
        self = super().__new__(cls, recorded)
        self.kernel = kernel
        self.dim = dim
        self._bounds = None
        # Packed arguments are addresses: the arrays must live as long as this object.
        self.params = params
        self.device = device
        self.block_dim = block or (CUDA_BLOCK if device.is_cuda else 1)
        self._find_structs()
        return self

    def _find_structs(self) -> None:
        # A struct is read as it is at each launch; every other argument was read when it was set.
        self._structs = [index for index, value in enumerate(self.params) if isinstance(value, struct_base)]
        self._set_plain(not self._structs)

    def set_param_at_index(self, index: int, value: Any, adjoint: bool = False) -> None:
        """Replaces an argument by position. Raises as `launch` does for a value that does not fit."""
        if adjoint:
            raise RuntimeError(f"this launch of kernel `{self.kernel.key}` has no gradients: make it with adjoint=True")
        if not 0 <= index < len(self.params):
            raise IndexError(f"kernel `{self.kernel.key}` has {len(self.params)} parameters, none at {index}")
        super().set_param_at_index(index, value)
        self.params[index] = value
        self._find_structs()

    def set_param_by_name(self, name: str, value: Any, adjoint: bool = False) -> None:
        """Replaces an argument by parameter name."""
        self.set_param_at_index(self._index_of(name), value, adjoint)

    def _index_of(self, name: str) -> int:
        names = list(self.kernel._annotations)
        if name not in names:
            raise RuntimeError(f"kernel `{self.kernel.key}` has no parameter `{name}`")
        return names.index(name)

    def set_param_at_index_from_ctype(self, index: int, value: Any) -> None:
        """Replaces an argument by a ctypes object: a number, or what `__ctype__` of an array or a struct gives."""
        types = list(self.kernel._annotations.values())
        if not 0 <= index < len(types):
            raise IndexError(f"kernel `{self.kernel.key}` has {len(types)} parameters, none at {index}")
        self.set_param_at_index(index, _c_forms.value_of(value, types[index]))

    def set_param_by_name_from_ctype(self, name: str, value: Any) -> None:
        """Replaces an argument by parameter name; see `set_param_at_index_from_ctype`."""
        self.set_param_at_index_from_ctype(self._index_of(name), value)

    def set_params(self, values: Sequence[Any]) -> None:
        """Replaces all arguments."""
        if len(values) != len(self.params):
            raise RuntimeError(f"kernel `{self.kernel.key}` takes {len(self.params)} arguments, got {len(values)}")
        for index, value in enumerate(values):
            self.set_param_at_index(index, value)

    @property
    def module_exec(self) -> _module.ModuleExec:
        """The compiled code that it runs: its module, device and number of threads in a block."""
        return _module.ModuleExec(self.kernel.module, self.device, self.block_dim)

    @property
    def bounds(self) -> LaunchBounds:
        """The launch shape and what follows from it."""
        if self._bounds is None:
            self._bounds = LaunchBounds(self.dim if isinstance(self.dim, tuple) else (self.dim,))
        return self._bounds

    def set_dim(self, dim: Any) -> None:
        """Replaces the launch shape."""
        extents = _shape(dim)
        super().set_dim(extents)
        self.dim = extents
        self._bounds = None

    def launch(self, stream: Any = None) -> None:
        """Runs the recorded launch, on a GPU on `stream`. Raises as `launch` does."""
        if _host_graph.active is not None and not self.device.is_cuda:
            return _host_graph.active.add(self.kernel.key, self.launch)
        for index in self._structs:
            super().set_param_at_index(index, self.params[index])
        order = self.kernel.compile_options()["order"]
        if order != IN_ORDER:
            self._set_unordered(self.kernel._stamp)
        super().launch(order, stream if self.device.is_cuda else None)
        return None


class AdjointLaunch(Launch):
    """A recorded launch of a kernel's adjoint kernel. Attributes: those of `Launch`, and `adjoints`."""

    __slots__ = ("_block", "adjoints")
    adjoints: list[Any]
    _block: int

    @classmethod
    def _of(
        cls, recorded: Any, kernel: Kernel, dim: Any, params: list[Any], device: _device.Device, block: int
    ) -> AdjointLaunch:
        self = super()._of(recorded, kernel, dim, params, device, block)
        assert isinstance(self, AdjointLaunch)
        # None: the argument's own `grad`.
        self.adjoints = [None] * len(params)
        self._block = block
        return self

    def set_param_at_index(self, index: int, value: Any, adjoint: bool = False) -> None:
        """Replaces an argument by position, or with `adjoint` its gradient (None: its own `grad`)."""
        if not adjoint:
            super().set_param_at_index(index, value)
        elif value is None or isinstance(value, (_native.Array, struct_base)):
            self.adjoints[index] = value
        else:
            raise TypeError(f"the gradient of an argument is an array, a struct of arrays, or None, not {value!r}")

    def launch(self, stream: Any = None) -> None:
        """Runs the recorded launch. Raises as `launch` does."""
        block = self._block
        _backward(self.kernel, self.dim, list(self.params), list(self.adjoints), self.device.alias, block)


if not TYPE_CHECKING:
    Launch.launch = _native.fast_recorded(Launch, Launch.launch, _signed("launch", "$self, stream=None", Launch.launch))


def launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    adj_inputs: Sequence[Any] = (),
    adj_outputs: Sequence[Any] = (),
    device: _device.DeviceLike = None,
    stream: Any = None,
    adjoint: bool = False,
    record_tape: bool = True,
    record_cmd: bool = False,
    max_blocks: int = 0,
    block_dim: int | None = None,
) -> Any:
    """Runs `kernel` once for every thread of a grid of shape `dim`.

    On the CPU it returns when the launch is done, on a GPU when the launch is on its stream.

    Args:
        kernel: A function decorated with `@wp.kernel`.
        dim: Number of threads, or up to 4 extents; 0 runs nothing.
        inputs: Arguments in the order of the parameters: numbers, host vectors and structs, arrays of the device (NumPy
            arrays share their memory on the CPU, arrays of CuPy, PyTorch and others on a GPU), None for a null array.
        outputs: The remaining arguments.
        device: Where to run; None for the stream's device, or the default one.
        stream: The stream to run on, of a GPU; None for its current one.
        record_cmd: Do not run; return a `Launch` that can be run many times.
        block_dim: Threads of a block at most, on a GPU; what `wp.block_dim()` gives. On the CPU it is 1, or this with
            `wp.config.enable_cpu_blocks`; at most 1024.
        max_blocks, record_tape: Accepted; without effect.
        adjoint: Run the kernel's adjoint kernel instead, for arguments as they were before the kernel ran.
        adj_inputs, adj_outputs: Arrays for the gradients of the arguments, None for
            their own `grad`: those of what the
            kernel read grow, those of what it wrote come in and become zero.

    Raises:
        RuntimeError: Arguments that do not fit the parameters, or a device that does not exist.
        CompileError: A kernel in error, with every mistake.
        KernelFault: A check of checked mode that failed; on a GPU it shows at the next wait for it.
        ValueError: A wrong shape.
    """
    if device is None and stream is not None:
        device = stream.device
    place = _device._BY_NAME.get(device) if type(device) is str else None
    if place is None:
        place = _device.get_device(device)
    try:
        is_current = kernel._stamp == _settings["_changes"]
    except AttributeError:
        raise TypeError(f"expected a kernel made by @wp.kernel, got {kernel!r}") from None
    if type(dim) is not int or not 0 <= dim <= MAX_EXTENT:
        dim = _shape(dim)
    if _settings["print_launches"]:
        counts = f"inputs: {len(inputs)}  outputs: {len(outputs)}"
        _logger.get_logger().info(f"kernel: {kernel.key}  dim: {dim}  {counts}  device: {place}")
    block = 0 if block_dim is None else block_threads(block_dim, place)
    if adjoint and record_cmd:
        recorded = Launch(kernel, place, block_dim=block_dim, adjoint=True)
        recorded.set_params([*inputs, *outputs])
        recorded.adjoints[:] = [*adj_inputs, *adj_outputs, *recorded.adjoints][: len(recorded.params)]
        recorded.set_dim(dim)
        return recorded
    if adjoint:
        return _backward(kernel, dim, [*inputs, *outputs], [*adj_inputs, *adj_outputs], place.alias, block)
    tape = _runtime_tape.active if record_tape and _settings["verify_autograd_array_access"] else None
    if record_cmd or tape is not None:
        # Read twice: by the launch and by what records it.
        inputs, outputs = list(inputs), list(outputs)
    n_entries = 0 if tape is None else tape._n_entries
    options = kernel._launch_options if is_current and not block else kernel.launch_options(block)
    if _host_graph.active is not None and not (place.is_cuda or record_cmd):
        noted = launch(kernel, dim, inputs, outputs, device=place, record_cmd=True, block_dim=block_dim)
        _host_graph.active.add(kernel.key, noted.launch)
        return None
    if place.is_cuda:
        if stream is not None and stream.device is not place:
            raise RuntimeError(f"a launch on {place} cannot go to a stream of {stream.device}")
        recorded = _native.launch(
            kernel, dim, inputs, outputs, place.alias, record_cmd, options, record_tape, stream, block
        )
    else:
        recorded = _native.launch(kernel, dim, inputs, outputs, place.alias, record_cmd, options, record_tape)
    if tape is not None and tape._n_entries > n_entries:
        _overwrites.launched(tape, n_entries, kernel, [*inputs, *outputs])
    if record_cmd:
        return Launch._of(recorded, kernel, dim, [*inputs, *outputs], place, block)
    return None


if not TYPE_CHECKING:
    # Usual launches run without a step through Python; the others come to the function above.
    launch = _native.fast_launch(launch, _device.cpu, __name__, _signed("launch", _PARAMETERS, launch))


def _backward(kernel: Kernel, dim: Any, args: list[Any], gradients: list[Any], alias: str, block: int) -> None:
    """Runs the adjoint kernel. What it may write to on its way is copied first."""
    from gridstride import _create

    gradients += [None] * (len(args) - len(gradients))
    gradients = [
        given if isinstance(given, (_native.Array, struct_base)) else getattr(one, "grad", None)
        for given, one in zip(gradients, args, strict=True)
    ]
    options = kernel.launch_options(block)
    rank = 1 if isinstance(dim, int) else len(dim)
    facts = _native.adjoint_facts(kernel, args, options, rank)
    for index, fact in enumerate(facts):
        if fact["reads"] and fact["writes"] and isinstance(args[index], _native.Array):
            args[index] = _create.clone(args[index], requires_grad=False)
    _native.launch_adjoint(kernel, dim, args, gradients, alias, options)


def block_threads(block_dim: int | None, place: _device.Device) -> int:
    """Threads of a block that a launch asks for; 0 where it leaves the number to the device."""
    if block_dim is None:
        return 0
    n_threads = operator.index(block_dim)
    if not place.is_cuda:
        if n_threads > MOST_CPU_THREADS:
            raise ValueError(f"block_dim is at most {MOST_CPU_THREADS} on CPU, not {n_threads}")
        is_compiled = place.alias == "cpu"
        return n_threads if n_threads > 1 and config.enable_cpu_blocks and is_compiled else 0
    most = place.max_threads_per_block
    if not 1 <= n_threads <= most:
        raise ValueError(f"block_dim is 1 to {most} on {place}, not {n_threads}")
    return n_threads


def _on_gpu(block: int, place: _device.Device) -> int:
    return block if place.is_cuda else 0


def get_suggested_block_size(kernel: Kernel, device: _device.DeviceLike = None) -> tuple[int, int]:
    """Threads of a block, and blocks that fill a device: (1, 1) on the CPU, which has neither."""
    found = _device.get_device(device)
    if not found.is_cuda:
        return (1, 1)
    *_, block, blocks = _properties(kernel, found)
    return (block, blocks * found.sm_count)


def get_cuda_kernel_properties(kernel: Kernel, device: _device.DeviceLike = None) -> dict[str, int]:
    """What a kernel's code for a CUDA device needs: registers and local bytes of a thread, shared bytes of a block.

    The kernel is compiled if it is not yet. Raises `RuntimeError` for the CPU.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"expected a wp.Kernel, got {kernel!r}")
    if kernel.is_generic:
        raise RuntimeError(
            f"kernel `{kernel.key}` is generic: this requires a concrete overload, which wp.overload gives"
        )
    found = _device.get_device(device)
    if not found.is_cuda:
        raise RuntimeError(f"this requires a CUDA device, and {found.alias} is none")
    names = ("num_regs", "shared_size_bytes", "local_size_bytes", "max_threads_per_block")
    return dict(zip(names, _properties(kernel, found), strict=False))


def get_cuda_max_cluster_dim(kernel: Kernel, device: _device.DeviceLike = None) -> int:
    """Blocks of a kernel's largest cluster: 1, since kernels are launched without clusters. See `kernel`."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"expected a wp.Kernel, got {kernel!r}")
    _device.get_device(device)
    return 1


def _properties(kernel: Kernel, device: _device.Device) -> list[int]:
    types = list(kernel._annotations.values())
    if kernel.is_generic:
        raise RuntimeError(f"kernel `{kernel.key}` is generic: use one of its overloads")
    return _native.cuda_kernel_properties(kernel, types, device.ordinal, kernel.compile_options())


def launch_tiled(*args: Any, **options: Any) -> Any:
    """As `launch`, with one more dimension at the end: the threads of a block, `block_dim` of them.

    On the CPU it is one, unless `wp.config.enable_cpu_blocks` is set.

    Args:
        args: As for `launch`: the kernel, 1 to 3 extents, the arguments.
        options: As for `launch`; `block_dim` must be given.

    Raises:
        RuntimeError: No `block_dim`, or no `dim`.
    """
    names = ("kernel", "dim", "inputs", "outputs", "adj_inputs", "adj_outputs", "device", "stream", "adjoint")
    options.update(zip(names, args, strict=False))
    for name in ("dim", "block_dim"):
        if options.get(name) is None:
            raise RuntimeError(
                f"launch_tiled() needs `{name}`: the tiles in each dimension, and the threads of a block"
            )
    extents = _shape(options["dim"])
    place = _device.get_device(options.get("device"))
    options["dim"] = (*extents, block_threads(options["block_dim"], place) or 1)
    try:
        return launch(**options)
    except _native.CompileError:
        # Who keeps the error keeps no kernel.
        args = ()
        options.clear()
        raise
