"""`@cuda.jit`: kernels and device functions, launches, and what can be asked about compiled code.

    >>> @cuda.jit
    ... def double(x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] *= 2
    >>> double[4, 256](x)

A function is compiled for the types of its arguments when a launch first needs it, or at once for the signatures that
are given. `kernel[grid, block, stream, shared]` is a launch configuration; calling that launches.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from typing import Any

from gridstride import _native, _source
from gridstride import config as settings
from gridstride.numba import _dtypes, _serialize, config, types
from gridstride.numba.cuda import _lambdas, _linkable, _signatures, _statics, _texts
from gridstride.numba.cuda._arguments import Back, convert, pointer
from gridstride.numba.cuda._configuration import ForAll, LaunchConfiguration
from gridstride.numba.cuda._devices import gpu, launch_device, synchronize
from gridstride.numba.cuda._overloads import Overload, Overloads, best
from gridstride.numba.errors import DeprecationError, NumbaInvalidConfigWarning, of_fault

_MISSING_CONFIG = """
Kernel launch configuration was not specified. Use the syntax:

kernel_function[blockspergrid, threadsperblock](arg0, arg1, ..., argn)

See help(cuda.jit) for examples.
"""


class Kernel(_native.Kernel):
    """A function for given argument types, or for any."""

    def __new__(cls, function: Callable[..., Any], annotations: dict[str, Any]) -> Kernel:
        return super().__new__(cls, function, function.__name__, annotations, dialect="numba")


class Dispatcher(_native.Function):
    """A function decorated with `@cuda.jit`. Index it with a launch configuration; kernels may call it too."""

    py_func: Callable[..., Any]
    targetoptions: dict[str, Any]

    def __new__(cls, function: Callable[..., Any], options: dict[str, Any], signatures: Any = None) -> Dispatcher:
        function = _lambdas.named(function)
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        normalized = [_signatures.normalize(one) for one in signatures or ()]
        for arguments, _ in normalized:
            if len(arguments) != len(names):
                raise TypeError(f"`{function.__name__}` has {len(names)} parameters, the signature {len(arguments)}")
        overloads: list[Any] = []
        annotations = _annotations(names, *normalized[0]) if len(normalized) == 1 else {}
        self = super().__new__(cls, function, annotations, overloads, dialect="numba")
        overloads.append(self)
        self.py_func = self.__wrapped__ = function
        self.targetoptions = options
        self._names = names
        self._signatures = normalized
        self._kernels: list[Kernel] = []
        self._options: dict[str, Any] = {}
        self._stamp = -1
        self._configurations: dict[Any, LaunchConfiguration] = {}
        self.specializations: dict[Any, Dispatcher] = {}
        self.specialized = len(normalized) == 1 and not isinstance(signatures, list)
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__"):
            setattr(self, name, getattr(function, name, None))
        if not hasattr(function, "__gs_text__"):
            _source.remember(function)
        return self

    def _make_kernels(self) -> list[Kernel]:
        if not self._kernels:
            listed = self._signatures or [None]
            self._kernels.extend(self._kernel(one and one[0]) for one in listed)
        return self._kernels

    def _kernel(self, arguments: Any) -> Kernel:
        """The kernel for argument types, or for any."""
        function, given = self.py_func, dict.fromkeys(self._names, ("any",))
        if arguments is not None:
            pairs = zip(_statics.kept(arguments, self._names), _statics.kept(arguments), strict=True)
            given = {name: _dtypes.argument(ty) for name, ty in pairs}
            if len(given) < len(arguments):
                core = Dispatcher(function, {**self.targetoptions, "device": True})
                function = _statics.bound(function, core, self._names, arguments)
        made = Kernel(function, given)
        # What the compiler looks for: code that the kernel is linked with.
        made.__gs_link__ = self.targetoptions.get("link", [])
        return made

    def compile_eagerly(self) -> None:
        """Compiles for the signatures that were given. Raises `CompileError`."""
        for kernel, (arguments, result) in zip(self._make_kernels(), self._signatures, strict=True):
            if result is not None and result != types.none and not self.targetoptions.get("device"):
                raise TypeError("CUDA kernel must have void return type.")
            if not self.targetoptions.get("device"):
                self._compile(kernel, arguments)

    def _compile(self, kernel: Kernel, arguments: Any) -> None:
        compiled = [_dtypes.argument(ty) for ty in _statics.kept(arguments)]
        ordinal = gpu()
        if ordinal is None:
            _native.compile(kernel, compiled, self._compile_options())
        else:
            for code in self.targetoptions.get("link", ()):
                code.for_driver(_native.cuda_properties(ordinal)["arch"])
            # Finds the mistakes; code for the GPU depends on the block, which the launch says.
            _native.ir(kernel, compiled, self._compile_options())

    def _compile_options(self) -> dict[str, Any]:
        stamp = settings.__dict__["_changes"]
        if stamp != self._stamp:
            debug = bool(self.targetoptions.get("debug"))
            self._options = {
                "checked": debug or settings.checked or settings.mode == "debug",
                "check_finite": False,
                "fast_math": bool(self.targetoptions.get("fastmath")),
                "max_unroll": settings.max_unroll,
                **_texts.tuning(self.targetoptions),
                "cache_dir": settings.cache_dir(),
            }
            self._stamp = stamp
        return self._options

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> LaunchConfiguration:
        """A launch configuration: extents of the grid in blocks and of a block in threads."""
        return self[griddim, blockdim, stream, sharedmem]

    def _quiet(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> LaunchConfiguration:
        """A launch configuration of the package's own, without warnings."""
        return LaunchConfiguration(self, griddim, blockdim, stream, sharedmem)

    def __getitem__(self, item: Any) -> LaunchConfiguration:
        try:
            found = self._configurations[item]
        except (KeyError, TypeError):
            found = self._configured(item)
        if found.is_small:
            found.warn()
        return found

    def _configured(self, item: Any) -> LaunchConfiguration:
        if not isinstance(item, tuple) or not 2 <= len(item) <= 4:
            raise ValueError("must specify at least the griddim and blockdim")
        made = LaunchConfiguration(self, *item)
        # Lists cannot be looked up.
        if len(self._configurations) < 256 and not any(isinstance(one, list) for one in item):
            with contextlib.suppress(TypeError):
                self._configurations[item] = made
        return made

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> ForAll:
        """A launch of one thread for each task."""
        return ForAll(self, ntasks, tpb, stream, sharedmem)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(_MISSING_CONFIG)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self

    def launch(self, launch: LaunchConfiguration, args: tuple[Any, ...], device: str | None = None) -> None:
        """Runs the kernel over the blocks of a configuration, on the device that launches run on or another."""
        if self.targetoptions.get("device"):
            raise RuntimeError("Cannot compile a device function as a kernel: it is called by kernels")
        most = (self.targetoptions.get("launch_bounds") or (0,))[0]
        n_threads = launch.blockdim[0] * launch.blockdim[1] * launch.blockdim[2]
        if most and n_threads > most:
            raise ValueError(f"a block of {n_threads} threads is more than the launch bounds allow: {most}")
        if len(args) < len(self._names):
            args = (*args, *(self.__defaults__ or ())[len(args) - len(self._names) :])
        if not self._signatures and any(map(_statics.is_static, args)):
            self.specialize(*args).launch(launch, args, device)
            return
        back: Back = []
        keep: list[Any] = []
        extensions = self.targetoptions.get("extensions") or ()
        for extension in extensions:
            args = tuple(_extended(extension, arg, launch.stream, back) for arg in args)
        values = []
        for arg in args:
            values.append(convert(arg, back, keep))
        kernels = self._kernels or self._make_kernels()
        kernel = kernels[0] if len(kernels) == 1 else self._choose(kernels, args)
        if self._signatures:
            wanted = self._signatures[kernels.index(kernel)][0]
            values = [_as_given(value, ty) for value, ty in zip(values, wanted, strict=False)]
            values = _statics.kept(wanted, values)
        options = self._options if self._stamp == settings.__dict__["_changes"] else self._compile_options()
        # What the next launch may repeat without coming here.
        is_plain = len(kernels) == 1 and not extensions and len(values) == len(args)
        learner = launch if is_plain and device is None else None
        try:
            where = device or launch_device()
            grid, block, shared, stream = launch.griddim, launch.blockdim, launch.sharedmem, launch.queue
            _native.launch_blocks(kernel, grid, block, values, shared, where, options, stream, learner)
            if options["checked"]:
                # What the launch did wrong is the launch's exception.
                synchronize()
        except _native.KernelFault as fault:
            raise self.explained(fault) from None
        finally:
            for write_back in reversed(back):
                write_back()

    def explained(self, fault: Any) -> Any:
        """The exception of Python's for a failed check."""
        return of_fault(fault, _names(self.py_func, 2))

    def _choose(self, kernels: list[Kernel], args: tuple[Any, ...]) -> Kernel:
        """The kernel whose signature fits the arguments best."""
        found = tuple(_dtypes.typeof(arg) for arg in args)
        return kernels[best([arguments for arguments, _ in self._signatures], found, self.py_func)]

    @property
    def extensions(self) -> list[Any]:
        """What looks at arguments before they are converted: objects with `prepare_args`."""
        return self.targetoptions.setdefault("extensions", [])

    @property
    def signatures(self) -> list[tuple[types.Type, ...]]:
        """The argument types that it was compiled for."""
        return list(self.overloads)

    @property
    def nopython_signatures(self) -> list[types.Signature]:
        return [overload.signature for overload in self.overloads.values()]

    @property
    def overloads(self) -> dict[tuple[types.Type, ...], Overload]:  # type: ignore[override]
        """What is compiled, by argument types."""
        found = Overloads()
        for index, kernel in enumerate(self._kernels):
            for compiled in kernel._signatures:
                arguments = tuple(_dtypes.from_compiler(ty) for ty in compiled)
                if self._signatures:
                    arguments = self._signatures[index][0]
                found[arguments] = Overload(self, types.Signature(types.none, arguments), kernel)
        return found

    def specialize(self, *args: Any) -> Dispatcher:
        """This kernel for the types of given arguments alone."""
        if self.specialized:
            raise RuntimeError("Dispatcher already specialized")
        arguments = tuple(_statics.type_of(arg) or _dtypes.typeof(arg) for arg in args)
        made = self.specializations.get(arguments)
        if made is None:
            made = Dispatcher(self.py_func, self.targetoptions, [types.Signature(types.none, arguments)])
            made.specialized = True
            made.compile_eagerly()
            self.specializations[arguments] = made
        return made

    def compile(self, signature: Any) -> Overload:
        """Compiles for a signature."""
        arguments, _ = _signatures.normalize(signature)
        made = self._kernel(arguments)
        self._compile(made, arguments)
        self._make_kernels()
        return Overload(self, types.Signature(types.none, arguments), made)

    def compile_device(self, args: Any, return_type: Any = None) -> Any:
        """Accepted: a device function is compiled with the kernels that call it."""
        return self

    def disable_compile(self, val: bool = True) -> None:
        """Accepted: types that are not compiled yet still are when they are met."""

    def recompile(self) -> None:
        """Forgets what is compiled."""
        self._kernels = []

    def _text(self, arguments: Any, stage: str, cc: Any = None) -> str:
        passed = _statics.kept(arguments)
        kernel = self._kernel(arguments if len(passed) < len(arguments) else None)
        return _texts.text(self, kernel, passed, stage, cc)

    def _inspect(self, what: str, signature: Any) -> Any:
        if self.targetoptions.get("device"):
            return _texts.of_function(self, what, signature)
        stage = _texts.stage(what)
        if signature is not None:
            return self._text(_signatures.normalize(tuple(signature))[0], stage)
        return {arguments: overload.text(stage) for arguments, overload in self.overloads.items()}

    def inspect_llvm(self, signature: Any = None) -> Any:
        """LLVM's text, by argument types or for a signature."""
        return self._inspect("llvm", signature)

    def inspect_asm(self, signature: Any = None) -> Any:
        """The device's assembly text, PTX on a GPU, by argument types or for a signature."""
        return self._inspect("asm", signature)

    inspect_ptx = inspect_lto_ptx = inspect_asm

    def inspect_sass(self, signature: Any = None) -> Any:
        """As `inspect_asm`: a GPU's machine code has no text here."""
        if self.targetoptions.get("device"):
            raise RuntimeError("Cannot inspect SASS of a device function")
        return self.inspect_asm(signature)

    def inspect_types(self, file: Any = None) -> None:
        """Prints the kernel with the types of all that it computes."""
        for overload in self.overloads.values():
            print(overload.text("typed"), file=file)

    def _number(self, name: str, signature: Any) -> Any:
        found = {arguments: getattr(overload, name) for arguments, overload in self.overloads.items()}
        if signature is not None:
            return getattr(self.overloads[tuple(signature)], name)
        if self.specialized:
            return next(iter(found.values()))
        return found

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Registers a thread: 0 on the CPU device."""
        return self._number("regs_per_thread", signature)

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Bytes of constant memory: 0, constants are part of the code."""
        return self._number("const_mem_size", signature)

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Bytes of static shared memory a block: 0 on the CPU device."""
        return self._number("shared_mem_per_block", signature)

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Bytes of local memory a thread: 0 on the CPU device."""
        return self._number("local_mem_per_thread", signature)

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """The largest block that can be launched."""
        return self._number("max_threads_per_block", signature)

    def __repr__(self) -> str:
        return f"<Dispatcher {self.__name__}({', '.join(self._names)})>"

    def __reduce__(self) -> Any:
        return _serialize.reduced(self)


CUDADispatcher = Dispatcher


def _names(function: Any, depth: int) -> dict[str, Any]:
    """What a function's text and the device functions that it calls may name: globals and captured values."""
    found = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            found[name] = cell.cell_contents
    called = [found.get(name) for name in (*function.__code__.co_names, *function.__code__.co_freevars)]
    for one in called:
        if depth and isinstance(one, Dispatcher):
            found = {**_names(one.py_func, depth - 1), **found}
    return found


def _annotations(names: Any, arguments: Any, result: Any) -> dict[str, Any]:
    """What a device function's signature says of parameters and result. Arrays stay open: any strides will do."""
    found: dict[str, Any] = {}
    for name, ty in zip(names, arguments, strict=True):
        found[name] = _dtypes.native(ty) if isinstance(ty, types.Number) else ("any",)
    if isinstance(result, types.Number):
        found["return"] = _dtypes.native(result)
    return found


def _extended(extension: Any, value: Any, stream: Any, back: Back) -> Any:
    try:
        ty = _dtypes.typeof(value)
    except ValueError:
        ty = types.none
    _, changed = extension.prepare_args(ty, value, stream=stream, retr=back)
    return changed


def _as_given(value: Any, ty: types.Type) -> Any:
    """An int with the bits of the one given: 0xFFFFFFFF may stand for the int32 -1. An address for a pointer."""
    if isinstance(ty, types.CPointer):
        return pointer(value, ty)
    if type(value) is int and isinstance(ty, types.Integer) and not ty.minval <= value <= ty.maxval:
        span = 1 << ty.bitwidth
        if -span // 2 <= value < span:
            return value - span if value > ty.maxval else value + span
    return value


def jit(
    func_or_sig: Any = None,
    device: bool = False,
    inline: Any = "never",
    forceinline: bool = False,
    link: Any = (),
    debug: bool | None = None,
    opt: bool | None = None,
    lineinfo: bool = False,
    cache: bool = False,
    launch_bounds: Any = None,
    lto: bool | None = None,
    shared_memory_carveout: Any = None,
    **kws: Any,
) -> Any:
    """Makes a function a kernel, or one that kernels call. Use as `@cuda.jit`, `@cuda.jit(device=True)`, or with
    signatures: `@cuda.jit("void(float32[:])")`, `@cuda.jit([sig, sig])`.

    Args:
        func_or_sig: The function, a signature, or a list of signatures; signatures are compiled at once.
        device: Whether it is a device function. Kernels may call functions without it too.
        debug: Check array bounds, divisions and asserts; the first failing thread raises an exception.
        fastmath: Allow results that differ in the last digits for speed; a GPU's approximate instructions.
        opt: Whether LLVM optimizes code for a GPU; other code is always optimized.
        lineinfo: Whether code for a GPU says which lines it is from, to profilers. `debug` implies it.
        launch_bounds: Most threads of a block; blocks of a multiprocessor at least; blocks of a cluster at most.
        max_registers: Most registers of a thread on a GPU.
        cache, inline, forceinline, lto, shared_memory_carveout: Accepted. The disk cache is always used.
        link: Code of other compilers that the kernel is linked with, on a GPU: paths, or `cuda.PTXSource` and its like.

    Raises:
        NotImplementedError: `boundscheck=True` (`debug=True` checks bounds); `link` where kernels run on the CPU.
        CompileError: A function that does not compile for a signature.
    """
    if link and gpu() is None:
        raise NotImplementedError("Cannot link PTX in the simulator: code for a GPU cannot run on the device `cpu`")
    if kws.get("boundscheck"):
        raise NotImplementedError("bounds checking is not supported for CUDA: debug=True checks bounds")
    for name in ("argtypes", "restype", "bind"):
        if kws.get(name) is not None:
            raise _deprecated(name)
    debug = bool(config.CUDA_DEBUGINFO_DEFAULT) if debug is None else debug
    if debug and (opt is None or opt):
        text = "debug=True with opt=True is not supported by CUDA. This may result in a crash"
        warnings.warn(NumbaInvalidConfigWarning(f"{text} - set debug=False or opt=False."), stacklevel=2)
    if debug and lineinfo:
        text = "debug and lineinfo are mutually exclusive. Use debug to get full debug info (this disables some "
        text += "optimizations), or lineinfo for line info only with code generation unaffected."
        warnings.warn(NumbaInvalidConfigWarning(text), stacklevel=2)
    options = {"device": device, "debug": debug, "fastmath": False, "launch_bounds": bounds(launch_bounds), **kws}
    options |= {"lineinfo": lineinfo, "opt": opt}
    if link:
        options["link"] = _linkable.listed(link)
    _check_carveout(shared_memory_carveout)
    if _signatures.is_signature(func_or_sig) or isinstance(func_or_sig, list):
        signatures = func_or_sig if isinstance(func_or_sig, list) else (func_or_sig,)
        for one in signatures:
            _, result = _signatures.normalize(one)
            if result is not None and result != types.none and not device:
                raise TypeError("CUDA kernel must have void return type.")
        return functools.partial(_compiled, options=options, signatures=signatures)
    if func_or_sig is None:
        return functools.partial(Dispatcher, options=options)
    if isinstance(func_or_sig, Dispatcher):
        return Dispatcher(func_or_sig.py_func, options)
    return Dispatcher(func_or_sig, options)


def bounds(given: Any) -> tuple[int, ...] | None:
    """Launch bounds: threads of a block at most, and what else CUDA takes, blocks a multiprocessor and a cluster."""
    if given is None:
        return None
    listed = (given,) if isinstance(given, int) else tuple(given)
    if len(listed) > 3:
        raise ValueError(f"Got {len(listed)} launch bounds: {listed}. A maximum of three are supported")
    return listed


def _check_carveout(given: Any) -> None:
    """Accepted: the driver chooses how much of a multiprocessor's memory is shared."""
    if given is None:
        return
    if isinstance(given, str):
        if given.lower() not in ("default", "maxl1", "maxshared"):
            raise ValueError(f"Invalid carveout value: {given}. Must be -1, 'default', 'MaxL1', 'MaxShared' or 0-100")
    elif not -1 <= given <= 100:
        raise ValueError(f"Carveout value must be between -1 and 100, got {given}")


def _compiled(function: Callable[..., Any], options: dict[str, Any], signatures: Any) -> Dispatcher:
    made = Dispatcher(function, options, signatures)
    if not options["device"]:
        made.compile_eagerly()
    return made


def _deprecated(name: str) -> Exception:
    return DeprecationError(
        f"Deprecated keyword argument `{name}`. Signatures should be passed as the first positional argument."
    )
