"""`RawKernel` and `RawModule`: kernels as text in C.

    >>> import gridstride.cupy as cp
    >>> double = cp.RawKernel(r'''
    ... extern "C" __global__ void twice(float* x, int n) {
    ...     int i = blockDim.x * blockIdx.x + threadIdx.x;
    ...     if (i < n) x[i] *= 2;
    ... }''', "twice")
    >>> x = cp.arange(4, dtype=cp.float32)
    >>> double((1,), (32,), (x, x.size))
    >>> x
    array([0., 2., 4., 6.], dtype=float32)

The text is read by Gridstride's compiler, which knows the part of CUDA C++ that such kernels are written in (the page
"C kernels"): they run on the CPU too, and no compiler of NVIDIA's is needed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from gridstride import _native, config
from gridstride.cupy import _array, _memory
from gridstride.cupy._arguments import Parameter, parameters
from gridstride.numba.cuda import _devices
from gridstride.numba.cuda._configuration import dim3

# Shapes of grids and blocks that a kernel keeps a way to launch in.
_MOST_SHAPES = 64
# What a kernel has once its text is read.
_OF_THE_TEXT = ("_parameters", "_kernel", "_globals", "_options", "_stamp", "_launchers", "_text")


def _as_it_is(fault: BaseException) -> BaseException:
    return fault


class Text:
    """C text with options of a compiler: the kernels in it, and its variables of the device. Reports name its label."""

    def __init__(self, code: str, options: Sequence[str] = (), label: str = "RawModule") -> None:
        self.defines, self.fast_math = _read_options(options)
        self.native = _native.CText(f"<{label}>", code, self.defines)
        self._globals: dict[tuple[str, str], _array.ndarray] = {}

    def global_(self, name: str, elem: _native.Type, length: int, begins_with: bytes) -> Any:
        """The memory of a variable, on the device that launches run on."""
        key = name, _memory.place()
        found = self._globals.get(key)
        if found is None:
            size = length * elem.size
            buffer, where = _memory.allocate(size)
            if elem.kind == "scalar":
                dtype = _memory.dtype_of(elem)
                found = _array.make(dtype, buffer.ptr, (length,), None, buffer, where)
                found.fill(0)
                if begins_with:
                    import numpy as np

                    values = np.frombuffer(begins_with, dtype)
                    found[: len(values)] = _array.of_host(values)
            else:
                import numpy as np

                whole = _array.make(np.dtype(np.uint8), buffer.ptr, (size,), None, buffer, where)
                whole.fill(0)
                found = _native.Array(elem, buffer.ptr, (length,), (elem.size,), where, buffer)  # type: ignore[assignment]
            self._globals[key] = found
        return found


class Function:
    """A kernel of a text. Call it with a grid, a block and a tuple of arguments."""

    name: str

    def __init__(self, text: Text, name: str) -> None:
        listed, self._globals = text.native.signature(name)
        self.name = name
        self._text = text
        self._parameters: list[Parameter] = parameters(name, listed)
        types = {param: ty for param, ty, _ in listed}
        types |= {one: _native.Type.array(elem, 1) for one, elem, _, _ in self._globals}
        self._kernel = _native.Kernel(text.native, name, types, dialect="c")
        self._options: dict[str, Any] = {}
        self._stamp = -1
        self._launchers: dict[Any, _native.BlockLauncher] = {}
        self.max_dynamic_shared_size_bytes = 48 << 10
        self.preferred_shared_memory_carveout = -1

    def _compile_options(self) -> dict[str, Any]:
        stamp = config.__dict__["_changes"]
        if stamp != self._stamp:
            self._options = {
                "checked": config.checked or config.mode == "debug",
                "check_finite": False,
                "fast_math": self._text.fast_math,
                "max_unroll": config.max_unroll,
                "cache_dir": config.cache_dir(),
            }
            self._stamp = stamp
        return self._options

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Runs it over `grid` blocks of `block` threads, on the current stream or another.

        Args:
            args: An array, a number, or a record of a struct's dtype for each parameter. None is a null pointer.
            shared_mem: Bytes of dynamic shared memory.

        Raises `TypeError` for an argument that does not fit its parameter, `CompileError` for mistakes in the text; in
        debug mode `KernelFault` for what the kernel does wrong.
        """
        launcher = None
        if stream is None:
            try:
                launcher = self._launchers.get((grid, block, shared_mem)) or self._launcher(grid, block, shared_mem)
            except (TypeError, ValueError):
                # A list, or no shape at all.
                launcher = None
        if launcher is not None:
            launcher(*args)
        else:
            self._launch(grid, block, args, shared_mem, stream)

    def _launcher(self, grid: Any, block: Any, shared_mem: int) -> _native.BlockLauncher | None:
        """What launches in this shape again and again; None for a kernel that takes variables of the text besides."""
        if self._globals:
            return None

        def launch(launcher: _native.BlockLauncher, args: Any) -> None:
            self._launch(grid, block, args, shared_mem, None, launcher)

        made = _native.BlockLauncher(dim3(grid, "grid"), dim3(block, "block"), shared_mem, None, launch, _as_it_is)
        if len(self._launchers) == _MOST_SHAPES:
            self._launchers.clear()
        self._launchers[grid, block, shared_mem] = made
        return made

    def _launch(
        self,
        grid: Any,
        block: Any,
        args: Any,
        shared_mem: int,
        stream: Any,
        learner: _native.BlockLauncher | None = None,
    ) -> None:
        known = self._parameters
        if len(args) != len(known):
            raise TypeError(f"kernel `{self.name}` takes {len(known)} arguments, got {len(args)}")
        values = [param.pass_(arg) for param, arg in zip(known, args, strict=True)]
        for one in self._globals:
            values.append(self._text.global_(*one))
        options = self._compile_options()
        queue = None if stream is None else getattr(stream, "_queue", stream)
        _native.launch_blocks(
            self._kernel,
            dim3(grid, "grid"),
            dim3(block, "block"),
            values,
            shared_mem,
            _devices.launch_device(),
            options,
            queue,
            learner,
        )
        if options["checked"]:
            # What the launch did wrong is the launch's exception.
            _devices.synchronize()

    def compile(self, log_stream: Any = None) -> None:
        """Compiles it now. Raises `CompileError`."""
        types = [param.type for param in self._parameters]
        types += [_native.Type.array(elem, 1) for _, elem, _, _ in self._globals]
        if _devices.gpu() is None:
            _native.compile(self._kernel, types, self._compile_options())
        else:
            # Finds the mistakes; code for the GPU depends on the block, which the launch says.
            _native.ir(self._kernel, types, self._compile_options())

    @property
    def attributes(self) -> dict[str, int]:
        """What CUDA tells of a kernel, by name. What the CPU device has no word for is 0."""
        return {
            "max_threads_per_block": 1024,
            "shared_size_bytes": 0,
            "const_size_bytes": 0,
            "local_size_bytes": 0,
            "num_regs": 0,
            "ptx_version": 0,
            "binary_version": 0,
            "cache_mode_ca": 0,
            "max_dynamic_shared_size_bytes": self.max_dynamic_shared_size_bytes,
            "preferred_shared_memory_carveout": self.preferred_shared_memory_carveout,
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self.attributes.get(name)
        if found is None:
            raise AttributeError(f"a kernel has no attribute {name!r}")
        return found


class RawKernel(Function):
    """A kernel from C text.

    Args:
        code: The text, with a kernel marked `__global__`.
        name: The kernel's name; `f<float>` for an instance of a template.
        options: Of a compiler: `-DNAME=VALUE` and `--use_fast_math` say something here.
        backend, translate_cucomplex, enable_cooperative_groups, jitify: Accepted.

    Raises `CompileError` at the first use where the text has mistakes, with a caret under each.
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:
        if not isinstance(code, str):
            raise TypeError(f"`code` must be a string, not {type(code)}")
        self.code, self.options, self.backend = code, tuple(options), backend
        self.name = name
        self.file_path = None
        self.enable_cooperative_groups = enable_cooperative_groups
        self._pending = Text(code, options, f"RawKernel {name}")

    # As in CuPy, mistakes are told by the first use, not where the kernel is made.
    def __getattr__(self, name: str) -> Any:
        pending = self.__dict__.get("_pending")
        if pending is not None and name in _OF_THE_TEXT:
            Function.__init__(self, pending, self.name)
            return self.__dict__[name]
        return super().__getattr__(name)

    @property
    def kernel(self) -> RawKernel:
        return self


class RawModule:
    """Kernels from one C text.

    Args:
        code: The text.
        path: A file of NVIDIA's machine code, which is not loaded here.
        options: As for `RawKernel`.
        name_expressions: Names of instances of templates, which `get_function` takes.
        backend, translate_cucomplex, enable_cooperative_groups, jitify: Accepted.
    """

    def __init__(
        self,
        code: str | None = None,
        *,
        path: str | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if code is None:
            raise NotImplementedError("machine code in files is not loaded: give the text as `code`")
        self.code, self.options, self.backend, self.file_path = code, tuple(options), backend, path
        self.name_expressions = tuple(name_expressions or ())
        self.enable_cooperative_groups = enable_cooperative_groups
        self._text = Text(code, options)
        self._functions: dict[str, Function] = {}

    def get_function(self, name: str) -> Function:
        """The kernel of a name, `f` or `f<float, 4>`. Raises `CompileError` where there is none, or it has mistakes."""
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = Function(self._text, name)
        return found

    def get_global(self, name: str) -> Any:
        """A `__device__` or `__constant__` variable's memory, as a pointer."""
        from gridstride.cupy.cuda import MemoryPointer

        for one in self._text.native.variables():
            if one[0] == name:
                return MemoryPointer(self._text.global_(*one), 0)
        raise KeyError(f"the text has no variable `{name}` of the device")

    def compile(self, log_stream: Any = None) -> None:
        """Reads the text now, and compiles the kernels of `name_expressions`. Raises `CompileError`."""
        self._text.native.variables()
        for name in self.name_expressions:
            self.get_function(name).compile()


def _read_options(options: Sequence[str]) -> tuple[list[tuple[str, str]], bool]:
    """The macros and whether fast math is asked for, among options of NVIDIA's compilers."""
    if isinstance(options, str):
        raise TypeError("`options` must be a tuple of strings")
    defines, fast_math = [], False
    given = iter(options)
    for option in given:
        if option in ("-D", "--define-macro"):
            with contextlib.suppress(StopIteration):
                option = "-D" + next(given)
        if option.startswith(("-D", "--define-macro=")):
            name, _, value = option.removeprefix("-D").removeprefix("--define-macro=").partition("=")
            defines.append((name.strip(), value or "1"))
        fast_math |= option in ("--use_fast_math", "-use_fast_math")
    return defines, fast_math
