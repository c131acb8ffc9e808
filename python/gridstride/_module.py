"""The kernels and functions of a Python module, and their compile options.

>>> wp.set_module_options({"fast_math": True})
>>> wp.get_module_options()["fast_math"]
True
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from gridstride import _device, _identity, _logger, _native, config

if TYPE_CHECKING:
    from gridstride._kernel import Function, Kernel

_settings = config.__dict__
# Warp's names. None: as `wp.config` says, or without meaning on this device.
_OPTION_NAMES = """
max_unroll enable_backward fast_math fuse_fp lineinfo cuda_output mode optimization_level cpu_compiler_flags block_dim
compile_time_trace strip_hash extra_build_options deterministic deterministic_max_records default_grid_stride
enable_mathdx_gemm enable_mathdx_solver enable_mathdx_fft checked check_finite verify_fp enable_tiles_in_stack_memory
"""
MODULE_OPTIONS = tuple(_OPTION_NAMES.split())


class ModuleExec(NamedTuple):
    """A module compiled for a device and a number of threads in a block."""

    module: Module
    device: _device.Device
    block_dim: int


class Module:
    """The kernels and functions of one Python module, and their compile options.

    Attributes: `name`; `options`; `kernels`, `functions` and `structs` by key, the newest of each key.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.options: dict[str, Any] = dict.fromkeys(MODULE_OPTIONS)
        self.options["enable_backward"] = config.enable_backward
        self.kernels: dict[str, Kernel] = {}
        self.functions: dict[str, Function] = {}
        self.structs: dict[str, type] = {}
        _all.add(self)

    def set_options(self, options: Mapping[str, Any]) -> None:
        """Changes options; later launches use them."""
        self.options.update(options)
        _settings["_changes"] += 1
        _native.set_launch_state(changes=_settings["_changes"])

    @property
    def execs(self) -> dict[tuple[Any, int], ModuleExec]:
        """What kernels of it are compiled for, by a device's context (None: the CPU) and the threads of a block."""
        found = {}
        for kernel in self.kernels.values():
            for one in (kernel, *kernel._overloads.values()):
                for ordinal, n_threads in one._compiled:
                    device = _device.get_device("cpu" if ordinal is None else f"cuda:{ordinal}")
                    found[(device.context, n_threads)] = ModuleExec(self, device, n_threads)
        return found

    @property
    def references(self) -> set[Module]:
        """The other modules whose functions its kernels and functions call."""
        identity = _identity.Identity()
        for kernel in self.kernels.values():
            kernel.identify(identity)
        for function in self.functions.values():
            identity.value(function)
        return {one for one in identity.modules if one is not self}

    @property
    def dependents(self) -> set[Module]:
        """The modules that this one is among the `references` of: they are compiled anew where it changes."""
        return {one for one in list(_all) if self in one.references}

    @property
    def hashers(self) -> dict[int, bytes]:
        """Its hash by the threads of a block, for those that there is compiled code for."""
        return {n_threads: self.hash_module(n_threads) for _, n_threads in self.execs}

    def resolve_options(self, settings: Any = config, block_dim: int | None = None) -> dict[str, Any]:
        """The options in force: where one is None, it is what `settings` say. Raises `ValueError` for a wrong one."""
        named = vars(settings)
        found = {name: named.get(name) if value is None else value for name, value in self.options.items()}
        if not isinstance(found["deterministic"], config.DeterministicMode):
            raise ValueError(f"the option `deterministic` is a wp.DeterministicMode, not {found['deterministic']!r}")
        if block_dim is not None:
            found["block_dim"] = block_dim
        return found

    @property
    def resolved_options(self) -> dict[int | None, dict[str, Any]]:
        """The options in force by the threads of a block: what the options say, and those of compiled code."""
        return {count: self.resolve_options(config, count) for count in (self.options["block_dim"], *self.hashers)}

    def load(self, device: Any = None, block_dim: int | None = None) -> None:
        """Compiles every kernel whose types are known, for launches that ask for `block_dim` threads in a block.

        A kernel in error raises at its launches, and takes no other down; it is reported as a warning here. Where no
        kernel of the module can be compiled, this raises the `CompileError` of the first.
        """
        from gridstride import _launch

        place = _device.get_device(device)
        self._load(place, _launch.block_threads(block_dim, place))

    def _load(self, place: _device.Device, block: int) -> None:
        errors: list[_native.CompileError] = []
        kernels = list(self.kernels.values())
        for kernel in kernels:
            try:
                kernel.compile(place, block)
            except _native.CompileError as error:
                errors.append(error)
        if errors and len(errors) == len(kernels):
            raise errors[0]
        for error in errors:
            _logger.log_warning(str(error), once=True)

    def hash_module(self, block_dim: int | None = None) -> bytes:
        """A hash of the options and of all kernels: another one where a launch would now compile something else."""
        identity = _identity.Identity()
        given = self.resolve_options()
        given["verify_fp"] = given.get("verify_fp") or config.verify_fp
        identity.add(sorted((name, str(value)) for name, value in given.items()))
        for key, kernel in sorted(self.kernels.items()):
            identity.add(key, sorted(kernel.overloads))
            kernel.identify(identity)
        return identity.digest()

    get_module_hash = hash_module

    def get_module_identifier(self) -> str:
        """The name of the module's files: with seven digits of its hash, or without by its option `strip_hash`."""
        return f"wp_{self.name}" if self.options["strip_hash"] else f"wp_{self.name}_{self.hash_module().hex()[:7]}"

    def mark_modified(self) -> None:
        """Has every kernel compiled anew at its next launch, with the values that it captures then."""
        for kernel in self.kernels.values():
            for one in (kernel, *kernel._overloads.values()):
                one._forget()
        self.set_options({})

    def unload(self) -> None:
        """Frees what the kernels were compiled to, as far as nothing holds it; see `mark_modified`."""
        self.mark_modified()

    def __repr__(self) -> str:
        return f"<Module {self.name!r}>"


_modules: dict[str, Module] = {}
# Those that kernels have of their own are in no table by name.
_all: weakref.WeakSet[Module] = weakref.WeakSet()


def get_module(name: str) -> Module:
    """The module of that name, made when new."""
    found = _modules.get(name)
    if found is None:
        found = _modules[name] = Module(name)
    return found


def set_module_options(options: Mapping[str, Any], module: Any = None) -> None:
    """Sets compile options of the calling module (or of `module`): `fast_math`, `mode`, `max_unroll` …"""
    named_module(module, sys._getframe(1)).set_options(options)


def get_module_options(module: Any = None) -> dict[str, Any]:
    """Compile options of the calling module (or of `module`)."""
    found = named_module(module, sys._getframe(1))
    return found.resolve_options()


def named_module(module: Any, frame: FrameType) -> Module:
    if isinstance(module, Module):
        return module
    if module is None:
        return get_module(frame.f_globals.get("__name__", "__main__"))
    return get_module(module if isinstance(module, str) else module.__name__)


def load_module(module: Any = None, device: Any = None, recursive: bool = False, block_dim: int | None = None) -> None:
    """Compiles the kernels of the calling module (or of `module`), with `recursive` its submodules' too.

    Raises `RuntimeError` for a named module without kernels and functions, and as `Module.load` does.
    """
    found = named_module(module, sys._getframe(1))
    below = [one for name, one in list(_modules.items()) if recursive and name.startswith(f"{found.name}.")]
    is_ours = found.name.startswith(("gridstride.", "warp."))
    if module is not None and not is_ours and not any(one.kernels or one.functions for one in [found, *below]):
        raise RuntimeError(f"module `{found.name}` does not contain any Warp kernels, functions, or structs")
    found.load(device, block_dim)
    for one in below:
        one.load(device, block_dim)


def force_load(
    device: Any = None,
    modules: Sequence[Any] | None = None,
    block_dim: int | None = None,
    max_workers: int | None = None,
) -> None:
    """Compiles the kernels of all modules, or of the given ones.

    Args:
        device: Where they will run; None for every device.
        modules: Modules, or their names.
        block_dim: Threads of a block that launches will ask for; None for those that there is code for already, or as
            many as a launch has that does not ask.
        max_workers: Accepted for compatibility: one kernel compiles after the other.

    Raises:
        CompileError: A module none of whose kernels can be compiled, when all others are.
    """
    from gridstride import _launch

    frame = sys._getframe(1)
    found = list(_modules.values()) if modules is None else [named_module(name, frame) for name in modules]
    errors = []
    for place in _device.get_devices() if device is None else [_device.get_device(device)]:
        for one in found:
            asked = _launch.block_threads(block_dim, place)
            known = sorted(n_threads for context, n_threads in one.execs if context == place.context)
            try:
                for block in known if block_dim is None and known else [asked]:
                    one._load(place, block if block > 1 else 0)
            except _native.CompileError as error:
                errors.append(error)
    if errors:
        raise errors[0]
