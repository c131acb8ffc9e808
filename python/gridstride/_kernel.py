"""`@wp.kernel`, and the modules that kernels belong to.

In: Python functions. Out: objects that know their source, scope and evaluated annotations; the compiler reads the
rest when a launch needs it. Decorating never compiles.

    >>> @wp.kernel
    ... def scale(a: wp.array(dtype=float), s: float):
    ...     i = wp.tid()
    ...     a[i] = a[i] * s
    >>> scale.key
    'scale'
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, FunctionType
from typing import Any

from gridstride import _adj, _annotations, _device, _function, _identity, _native, _types, _unbuilt, config
from gridstride._function import Function as Function
from gridstride._function import func as func
from gridstride._function import static as static
from gridstride._module import MODULE_OPTIONS as MODULE_OPTIONS
from gridstride._module import Module as Module
from gridstride._module import force_load as force_load
from gridstride._module import get_module as get_module

# What of atomics' results is the same in every run, as the compiler names it: nothing that depends on the order of the
# threads; also sums that all threads add to; everything.
_FREE, _SUMS, IN_ORDER = 0, 1, 2
_ORDER = {
    config.DeterministicMode.NOT_GUARANTEED: _FREE,
    config.DeterministicMode.SUMS: _SUMS,
    config.DeterministicMode.RUN_TO_RUN: IN_ORDER,
    config.DeterministicMode.GPU_TO_GPU: IN_ORDER,
}

_KERNEL_OPTIONS = {
    "enable_backward",
    "launch_bounds",
    "cuda_max_registers",
    "enable_cuda_smem_spilling",
    "cluster_dim",
    "entry_point_abi",
    "grid_stride",
}
_settings = config.__dict__
MOST_BLOCKS_OF_A_CLUSTER = 16


class Kernel(_native.Kernel):
    """A kernel, made by `@wp.kernel`. Run it with `wp.launch`.

    Attributes: `func` (the Python function), `key`, `module`, `options`, `overloads` (see `wp.overload`).
    """

    func: Callable[..., Any]
    key: str
    module: Module
    options: dict[str, Any]

    def __new__(
        cls,
        func: Callable[..., Any],
        key: str | None = None,
        module: Module | str | None = None,
        options: dict[str, Any] | None = None,
        annotations: dict[str, Any] | None = None,
    ) -> Kernel:
        if annotations is None:
            annotations = _annotations.of_function(func, sys._getframe(1), every=True)
        for name, ty in annotations.items():
            if isinstance(ty, tuple) and ty[0] == "ref":
                raise TypeError(f"`{name}` of `{func.__name__}`: a kernel's parameters cannot be passed by reference")
        self = super().__new__(cls, func, func.__name__, annotations)
        self.func = func
        if key is not None and not key.isidentifier():
            raise ValueError(f"the kernel name {key!r} is no valid C++ identifier, and no Python one")
        self.key = key or _function.key_of(func)
        self.module = Module(func.__module__) if module == "unique" else _function.module_of(module, func)
        self.options = options or {}
        self._overloads: dict[str, Kernel] = {}
        self._annotations = {name: ty for name, ty in annotations.items() if name != "return"}
        self._stamp = -1
        self._n_redefined = _function.redefined
        self._launch_options: dict[str, Any] = {}
        self._block_options: dict[int, dict[str, Any]] = {}
        _function.adopt(self, func)
        self.module.kernels[self.key] = self
        return self

    def __reduce__(self) -> str:
        return self.func.__qualname__  # as Python's functions, by module and name: pickled, and copied as itself

    @property
    def overloads(self) -> dict[str, Kernel]:
        """Instances of a generic kernel by their types: those of `wp.overload`, and one for each launch's types."""
        if self.is_generic:
            for types in self._signatures:
                _instance(self, dict(zip(self._annotations, types, strict=True)))
        return self._overloads

    def add_overload(self, argument_types: Sequence[Any]) -> Kernel:
        """The instance for given types, as `wp.overload` makes it."""
        return overload(self, list(argument_types))

    def infer_argument_types(self, args: Sequence[Any]) -> list[Any]:
        """The types that a launch with these arguments has, as annotations. Raises `TypeError` where one has none."""
        from gridstride import _mapped

        return [_mapped.annotation_of(one) for one in args]

    def identify(self, identity: _identity.Identity) -> None:
        """Adds what the kernel is made of."""
        identity.add(self.key, sorted((name, str(value)) for name, value in self.options.items()))
        identity.function(self.func, self._annotations)

    @property
    def is_generic(self) -> bool:
        """Whether a parameter's type is open, so that launches decide it."""
        return any(isinstance(ty, tuple) for ty in self._annotations.values())

    @property
    def adj(self) -> _adj.Adj:
        """What it was made from."""
        return _adj.Adj(self.func)

    def compile_options(self) -> dict[str, Any]:
        """What the compiler is told: `checked`, `check_finite`, `fast_math`, `max_unroll`, `cache_dir`."""
        # One counter for the settings and every module's options.
        stamp = _settings["_changes"]
        if stamp != self._stamp:
            if self._n_redefined != _function.redefined:
                self._look_again()
            if self.module.options.get("cluster_dim") is not None:
                _require_count("cluster_dim", self.module.options["cluster_dim"], MOST_BLOCKS_OF_A_CLUSTER)
            given = {"verify_fp": config.verify_fp, **_settings}
            given.update({name: value for name, value in self.module.options.items() if value is not None})
            self._launch_options = {
                "checked": bool(given["checked"]) or given["mode"] == "debug",
                "check_finite": bool(given.get("check_finite", given["verify_fp"])),
                "fast_math": bool(given["fast_math"]),
                "max_unroll": int(given["max_unroll"]),
                "cache_dir": config.cache_dir(),
                "order": _ORDER[given["deterministic"]],
            }
            self._block_options = {}
            self._stamp = stamp
        return self._launch_options

    def _look_again(self) -> None:
        """Forgets what is compiled where a function that it calls was defined anew: a notebook's cell ran again."""
        identity = _identity.Identity()
        self.identify(identity)
        functions = (one for one in identity.held if isinstance(one, FunctionType))
        if any(getattr(one, "__gs_redefined__", 0) > self._n_redefined for one in functions):
            self._forget()
        self._n_redefined = _function.redefined

    def launch_options(self, block_dim: int) -> dict[str, Any]:
        """As `compile_options`, for a launch with that many threads in a block; 0 for the device's own number."""
        options = self.compile_options()
        if not block_dim:
            return options
        # The compiler knows a dictionary that it has read already.
        return self._block_options.setdefault(block_dim, {**options, "block_dim": block_dim})

    def compile(self, device: _device.Device | None = None, block_dim: int = 0) -> None:
        """Compiles the kernel, or its overloads where it is generic. Raises `CompileError`."""
        if self.is_generic:
            for instance in self.overloads.values():
                instance.compile(device, block_dim)
            return
        alias = "cpu" if device is None else device.alias
        _native.compile(self, list(self._annotations.values()), self.launch_options(block_dim), 1, alias)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"kernel `{self.__name__}` cannot be called: use wp.launch({self.__name__}, dim=…)")

    def __repr__(self) -> str:
        return f"<Kernel {self.key}({', '.join(self._annotations)})>"


def kernel(
    f: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    module: Module | str | None = None,
    module_options: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Makes a function a kernel. Use as `@wp.kernel` or `@wp.kernel(enable_backward=False)`.

    Args:
        f: The function; every parameter has a type annotation.
        name: Key of the kernel in its module.
        module: The module it belongs to; `"unique"` for one of its own.
        module_options: With `module="unique"`: its compile options, as in `set_module_options`.
        options: Warp's other kernel options: `enable_backward`, `launch_bounds`, `grid_stride` … An `entry_point_abi`
            is for generated CUDA code and has no effect.

    Raises:
        TypeError: A parameter without annotation, an annotation that is no type, an unknown or wrong option.
        ValueError: An option out of range, an unknown module option or `entry_point_abi`, or module options without
            `module="unique"`.
    """
    frame = sys._getframe(1)
    unknown = options.keys() - _KERNEL_OPTIONS
    if unknown:
        raise TypeError(f"kernel() got an unexpected keyword argument `{min(unknown)}`")
    _check_options(options)
    abi = options.get("entry_point_abi")
    if abi not in (None, "warp", "external_constant_params"):
        raise ValueError(f"entry_point_abi must be 'warp' or 'external_constant_params', not {abi!r}")
    if abi == "external_constant_params" and options.get("enable_backward") is not False:
        raise ValueError("entry_point_abi='external_constant_params' requires enable_backward=False")
    if module_options is not None:
        if module != "unique":
            raise ValueError('module_options are those of a module of the kernel\'s own: they need module="unique"')
        if not isinstance(module_options, dict):
            raise TypeError(f"module_options must be a dict, not {_types.describe(type(module_options))}")
        unknown = module_options.keys() - set(MODULE_OPTIONS)
        if unknown:
            valid = ", ".join(sorted(MODULE_OPTIONS))
            raise ValueError(f"there is no module option `{min(unknown)}`. Valid options: {valid}")
        _check_records(module_options.get("deterministic_max_records", 0))

    def decorate(function: Callable[..., Any], frame: FrameType = frame) -> Kernel:
        annotations = _annotations.of_function(function, frame, every=True)
        if module == "unique":
            return _unique(function, name, options, module_options or {}, annotations)
        return Kernel(function, name, module, options, annotations)

    return decorate if f is None else decorate(f)


_unique_kernels: weakref.WeakValueDictionary[bytes, Kernel] = weakref.WeakValueDictionary()


def _unique(
    function: Callable[..., Any],
    name: str | None,
    options: dict[str, Any],
    module_options: dict[str, Any],
    annotations: dict[str, Any],
) -> Kernel:
    """A kernel in a module of its own; the one that is there already where all that it is made of is the same."""
    identity = _identity.Identity()
    # Leaving a default out and naming it are the same.
    is_default = {("enable_cuda_smem_spilling", False)}
    options = {key: one for key, one in options.items() if one is not None and (key, one) not in is_default}
    identity.add(name or _function.key_of(function), function.__module__)
    identity.add(sorted((key, str(value)) for key, value in (options | module_options).items()))
    _function.keep(function)
    identity.add(str(annotations.get("return")))
    identity.function(function, {key: ty for key, ty in annotations.items() if key != "return"})
    digest = identity.digest()
    found = _unique_kernels.get(digest) if identity.is_by_value else None
    if found is None:
        module = Module(f"{function.__module__}.{name or _function.key_of(function)}_{digest.hex()[:8]}")
        module.options.update(module_options)
        found = _unique_kernels[digest] = Kernel(function, name, module, options, annotations)
        found._held = identity.held
    return found


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuses values that kernel options cannot have, on every device alike."""
    registers = options.get("cuda_max_registers")
    if registers is not None:
        _require_count("cuda_max_registers", registers, None)
        if options.get("launch_bounds") is not None:
            raise ValueError("cuda_max_registers and launch_bounds both limit registers: give one of them")
    spilling = options.get("enable_cuda_smem_spilling")
    if spilling is not None and not isinstance(spilling, bool):
        raise TypeError(f"enable_cuda_smem_spilling is a bool, not {spilling!r}")
    if options.get("cluster_dim") is not None:
        _require_count("cluster_dim", options["cluster_dim"], MOST_BLOCKS_OF_A_CLUSTER)


def _require_count(name: str, value: Any, most: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is an int, not {value!r}")
    if value < 1 or most is not None and value > most:
        raise ValueError(f"{name} is at least 1{f' and at most {most}' if most is not None else ''}, not {value}")


def _check_records(count: Any) -> None:
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"deterministic_max_records is an int, not {count!r}")
    if count < 0:
        raise ValueError(f"deterministic_max_records must be non-negative, not {count}")


def overload(kernel: Any, arg_types: Sequence[Any] | Mapping[str, Any] | None = None) -> Any:
    """An instance of a generic kernel for given types: a list in order, or a dict by name.

    As a decorator, `@wp.overload` over a function with the kernel's name, typed parameters and the body `...`.
    Raises `TypeError` for types that do not fill every open parameter.
    """
    if arg_types is None:
        function = kernel
        frame = sys._getframe(1)
        known = get_module(function.__module__).kernels
        same = [one for one in known.values() if one.func.__qualname__ == function.__qualname__]
        found = (
            frame.f_locals.get(function.__name__)
            or known.get(_function.key_of(function))
            or known.get(function.__name__)
        )
        if not isinstance(found, Kernel) and len(same) > 1:
            names = ", ".join(f"`{one.key}`" for one in same)
            raise RuntimeError(f"Ambiguous kernel lookup: `{function.__name__}` may overload {names}")
        found = found if isinstance(found, Kernel) or not same else same[0]
        if not isinstance(found, Kernel):
            raise TypeError(f"`{function.__name__}` overloads no kernel")
        annotations = _annotations.of_function(function, frame, every=True)
        if "return" in annotations:
            raise TypeError(f"Return annotations are not allowed on @wp.overload stubs: `{function.__name__}` has one")
        _instance(found, annotations)
        return found
    if not isinstance(kernel, Kernel):
        raise TypeError(f"expected a kernel, got {_types.describe(type(kernel))}")
    names = list(kernel._annotations)
    given_types = arg_types.values() if isinstance(arg_types, Mapping) else arg_types
    if any(isinstance(ty, _unbuilt.Unbuilt) for ty in given_types):
        return kernel
    if isinstance(arg_types, Mapping):
        unknown = arg_types.keys() - kernel._annotations.keys()
        if unknown:
            raise TypeError(f"kernel `{kernel.key}` has no parameter `{min(unknown)}`")
        given = {name: _types.native_type(ty) for name, ty in arg_types.items()}
    else:
        if len(arg_types) != len(names):
            raise TypeError(f"kernel `{kernel.key}` has {len(names)} parameters, got {len(arg_types)} types")
        given = {name: _types.native_type(ty) for name, ty in zip(names, arg_types, strict=True)}
    return _instance(kernel, {**kernel._annotations, **given})


def _instance(kernel: Kernel, annotations: dict[str, Any]) -> Kernel:
    open_names = [name for name, ty in annotations.items() if isinstance(ty, tuple)]
    if open_names:
        raise TypeError(f"parameter `{open_names[0]}` of kernel `{kernel.key}` is still open: give its type")
    signature = ", ".join(ty.name for ty in annotations.values())
    found = kernel._overloads.get(signature)
    if found is None:
        own = Module(kernel.module.name)
        own.options = kernel.module.options
        found = kernel._overloads[signature] = Kernel(kernel.func, kernel.key, own, kernel.options, annotations)
    return found
