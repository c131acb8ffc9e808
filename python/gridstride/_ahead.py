"""Modules compiled ahead of time: `wp.compile_aot_module` writes a file, `wp.load_aot_module` runs what is in it.

    >>> wp.compile_aot_module("my_kernels", device="cpu", module_dir="build")  # doctest: +SKIP
    [PosixPath('build/wp_my_kernels_3fb0a91.o')]
    >>> wp.load_aot_module("my_kernels", device="cpu", module_dir="build")  # doctest: +SKIP

A file holds the module's kernels for their declared types, as optimized IR with machine code: for this processor, for a
GPU's architecture, or PTX that a driver finishes. Launches with as many dimensions as a kernel asks for indices run it;
for other launches, for gradients, and under other options, kernels are compiled when they are needed, as ever.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gridstride import _device, _logger, _native, config
from gridstride._module import Module, named_module

# Imported when a file is written or read: `import gridstride` does without these.
if TYPE_CHECKING:
    from pathlib import Path

    from gridstride._kernel import Kernel

# The first architecture whose blocks form clusters.
FIRST_WITH_CLUSTERS = 90
# A kernel by its name, and its types.
_Named = tuple[str, "Kernel", list[Any]]


def compile_aot_module(
    module: Any,
    device: _device.DeviceLike | Sequence[_device.DeviceLike] = None,
    arch: int | Iterable[int] | None = None,
    module_dir: str | os.PathLike[str] | None = None,
    use_ptx: bool | None = None,
    strip_hash: bool | None = None,
) -> list[Path]:
    """Compiles a module's kernels into files, one for each target. A file of this version that is there is kept.

    Args:
        module: A module, or its name.
        device: A device, or several; None for the default one, or none where `arch` is given.
        arch: CUDA architectures to write PTX for, as `90`; no GPU is needed.
        module_dir: Where to write; None for a folder in the kernel cache.
        use_ptx: For CUDA devices: PTX for their architecture, in place of machine code.
        strip_hash: Leave the hash out of the files' names, so that loading does not ask whether the source is the same;
            None for the module's option of this name. An old file is kept then, too.

    Returns:
        The files: those of the devices, then those of `arch`.

    Raises:
        RuntimeError: No kernel whose types are known, or without a hash in the name several overloads of one.
        CompileError: A kernel in error.
    """
    found = named_module(module, sys._getframe(1))
    if strip_hash is not None:
        found.set_options({"strip_hash": bool(strip_hash)})
    kernels = _kernels(found, warns=True)
    targets = _targets(device, arch, use_ptx)
    for key, kernel, _ in kernels:
        blocks = kernel.options.get("cluster_dim") or found.options.get("cluster_dim") or 1
        for _, sm in targets:
            if blocks > 1 and sm is not None and sm < FIRST_WITH_CLUSTERS:
                raise RuntimeError(f"kernel `{key}` has cluster_dim={blocks}, and sm_{sm} has no clusters")
    folder = _folder(found, module_dir)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for place, sm in targets:
        path = folder / _file_name(found, place, sm, use_ptx)
        alias, options = "cpu" if place is None else place.alias, kernels[0][1].compile_options()
        if not (config.cache_kernels and _is_readable(path, alias, options)):
            _write(path, _native.compile_ahead(kernels, alias, options, sm))
        paths.append(path)
    return paths


def load_aot_module(
    module: Any,
    device: _device.DeviceLike | Sequence[_device.DeviceLike] = None,
    arch: int | None = None,
    module_dir: str | os.PathLike[str] | None = None,
    use_ptx: bool | None = None,
    strip_hash: bool | None = None,
) -> None:
    """Gives a module's kernels the code that `compile_aot_module` wrote.

    Args:
        module, module_dir, strip_hash: As they were for `compile_aot_module`.
        device: A device, or several; None for the default one.
        arch: The architecture whose file to take; None for the device's own.
        use_ptx: Take the file of PTX; None for machine code where there is a file of it.

    Raises:
        FileNotFoundError: There is no such file; with a hash in its name also where the source has changed.
        RuntimeError: The file is damaged, or of another version.
    """
    found = named_module(module, sys._getframe(1))
    if strip_hash is not None:
        found.set_options({"strip_hash": bool(strip_hash)})
    kernels = _kernels(found, warns=False)
    folder = _folder(found, module_dir)
    for place, _ in _targets(device, None, use_ptx):
        assert place is not None
        sm = arch if arch is not None else (place.arch if place.is_cuda else None)
        choices = [use_ptx] if use_ptx is not None or not place.is_cuda else [False, True]
        paths = [folder / _file_name(found, place, sm, choice) for choice in choices]
        path = next((path for path in paths if path.exists()), None)
        if path is None:
            raise FileNotFoundError(
                f"no kernels compiled ahead of time for module `{found.name}` as it is now: {paths[0]} does not exist"
            )
        options = kernels[0][1].compile_options()
        try:
            missing = _native.install_ahead(path.read_bytes(), kernels, place.alias, options)
        except ValueError as error:
            raise RuntimeError(f"{path}: {error}") from None
        for name in missing:
            _logger.log_warning(f"{path} has no code for kernel `{name}` with these types and options", once=True)
    found.set_options({})


def _kernels(module: Module, warns: bool) -> list[_Named]:
    """The kernels whose types are known, by name: of a generic one its overloads, and itself for their types."""
    found: list[_Named] = []
    without = []
    for key, kernel in module.kernels.items():
        if not kernel.is_generic:
            found.append((key, kernel, list(kernel._annotations.values())))
            continue
        overloads = list(kernel.overloads.values())
        if module.options["strip_hash"] and len(overloads) > 1:
            raise RuntimeError(
                f"strip_hash=True cannot be used for module `{module.name}`: generic kernel `{key}` has multiple "
                "overloads, which only hash suffixes tell apart; give one overload, or leave the hash in"
            )
        if not overloads:
            without.append(key)
        for one in overloads:
            types = list(one._annotations.values())
            found += [(key, one, types), (key, kernel, types)]
    if not found:
        raise RuntimeError(
            f"No compilable kernels found in module `{module.name}`: it needs a kernel whose types are known, or a "
            "generic kernel with overloads (wp.overload)"
        )
    if without and warns:
        names = ", ".join(without)
        _logger.log_warning(f"module `{module.name}` has generic kernels without overloads, left out: {names}")
    return found


def _targets(device: Any, arch: Any, use_ptx: bool | None) -> list[tuple[_device.Device | None, int | None]]:
    """Devices, then architectures to write PTX for."""
    archs = [] if arch is None else [arch] if isinstance(arch, int) else list(arch)
    devices = list(device) if isinstance(device, (list, tuple)) else [device] if device is not None or not archs else []
    places = [_device.get_device(one) for one in devices]
    targets: list[tuple[_device.Device | None, int | None]] = [
        (place, place.arch if place.is_cuda and use_ptx else None) for place in places
    ]
    known = _device.get_cuda_supported_archs()
    for sm in archs:
        if sm not in known:
            raise RuntimeError(f"there is no CUDA architecture {sm} to compile for; there are {known}")
        if use_ptx is False:
            raise RuntimeError("machine code for a GPU needs that GPU: pass it as `device`, or use_ptx=True")
    return targets + [(None, sm) for sm in archs]


def _file_name(module: Module, place: _device.Device | None, sm: int | None, use_ptx: bool | None) -> str:
    name = module.get_module_identifier()
    if place is not None and not place.is_cuda:
        return f"{name}.o"
    is_ptx = place is None or bool(use_ptx)
    return f"{name}.sm{sm if place is None else place.arch}.{'ptx' if is_ptx else 'cubin'}"


def _folder(module: Module, given: str | os.PathLike[str] | None) -> Path:
    import tempfile
    from pathlib import Path

    if given is not None:
        return Path(given)
    cache = config.cache_dir() or tempfile.gettempdir()
    return Path(cache) / module.get_module_identifier()


def _is_readable(path: Path, alias: str, options: dict[str, Any]) -> bool:
    """Whether there is a file that this version reads: one that an update has left behind is written again."""
    if not path.exists():
        return False
    try:
        _native.install_ahead(path.read_bytes(), [], alias, options)
    except ValueError:
        return False
    return True


def _write(path: Path, content: bytes) -> None:
    """Writes a file that others see whole or not at all."""
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
