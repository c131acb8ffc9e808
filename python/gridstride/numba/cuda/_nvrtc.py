"""CUDA C++ to PTX, by NVIDIA's runtime compiler (`numba.cuda.cudadrv.nvrtc`). It needs no GPU.

The compiler is that of the `nvidia-cuda-nvrtc` package, or of a toolkit, as `cuda-core` finds it.
"""

from __future__ import annotations

import importlib
import os
import tempfile
import warnings
from typing import Any

from gridstride.numba import config
from gridstride.numba.cuda._errors import NvrtcError


def compile(text: str, name: str, sm: int) -> bytes:
    """PTX of functions for a compute capability, to be linked with others.

    What the compiler warns of is a warning; its errors are raised as cuda-core raises them. Raises `NvrtcError` where
    there is no compiler.
    """
    try:
        core = importlib.import_module("cuda.core")
    except ImportError:
        raise NvrtcError(
            f"{name} is CUDA C++, which NVIDIA's compiler must make PTX of: pip install cuda-core nvidia-cuda-nvrtc"
        ) from None
    options = core.ProgramOptions(
        name=name,
        arch=get_arch_option(*divmod(sm, 10)),
        relocatable_device_code=True,
        std="c++17",
        include_path=include_paths(),
    )
    program = core.Program(text, "c++", options)
    with tempfile.TemporaryFile("w+") as logs:
        made = program.compile("ptx", logs=_Text(logs))
        logs.seek(0)
        said = logs.read().strip("\0\n ")
    if said:
        warnings.warn(f"NVRTC log messages while compiling {name}:\n\n{said}", stacklevel=3)
    code = made.code
    return code.encode() if isinstance(code, str) else bytes(code)


class _Text:
    """A file that takes what the compiler says."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str | bytes) -> None:
        self._file.write(text.decode() if isinstance(text, bytes) else text)


def include_paths() -> list[str]:
    """Where headers are looked for: what the program says, then those of CUDA."""
    extra = config.CUDA_NVRTC_EXTRA_SEARCH_PATHS
    found = [one for one in (extra or "").split(os.pathsep) if one]
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
    except ImportError:
        return found
    for library in ("cudart", "cccl", "curand"):
        try:
            folder = pathfinder.find_nvidia_header_directory(library)
        except Exception:  # noqa: BLE001  # headers that are not there are missed by the text that includes them
            continue
        # CUDA C++'s own library lies in a folder beside C's headers.
        inner = os.path.join(folder or "", "cccl")
        for one in (folder, inner if os.path.isdir(inner) else None):
            if one and one not in found:
                found.append(one)
    return found


def get_supported_ccs() -> tuple[tuple[int, int], ...]:
    """Compute capabilities that the compiler makes code for. Raises `NvrtcError` where there is no compiler."""
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        status, found = nvrtc.nvrtcGetSupportedArchs()[:2]
        if isinstance(found, int):
            status, found = nvrtc.nvrtcGetSupportedArchs(found)
    except (ImportError, RuntimeError) as error:
        raise NvrtcError(f"there is no compiler for CUDA C++ ({error}): pip install nvidia-cuda-nvrtc") from None
    if int(status):
        raise NvrtcError(f"nvrtcGetSupportedArchs: {status.name}")
    return tuple(divmod(arch, 10) for arch in found)


def get_arch_option(major: int, minor: int, arch: str = "") -> str:
    """The compiler's name of the newest architecture that is not newer than a compute capability: `compute_90`.

    `arch` is a suffix, as in `compute_90a`; `NUMBA_FORCE_CUDA_CC` goes before both. Raises `ValueError` for a suffix
    that the compiler has not for exactly this compute capability.
    """
    if config.FORCE_CUDA_CC:
        major, minor, *rest = config.FORCE_CUDA_CC
        return f"compute_{major}{minor}{rest[0] if rest else ''}"
    known = get_supported_ccs()
    fitting = [cc for cc in known if cc <= (major, minor)]
    if not fitting:
        raise NvrtcError(f"GPU compute capability {major}.{minor} is not supported (requires >={known[0]})")
    found = max(fitting)
    if arch and found != (major, minor):
        raise ValueError(f"Can't use arch-specific compute_{major}{minor}{arch} with nearest found compute_{found}")
    return f"compute_{found[0]}{found[1]}{arch}"
