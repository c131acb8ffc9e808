"""What this installation is and what it runs on, as rows of name and value."""

import contextlib
import os
import platform
from collections.abc import Iterator

import numpy as np

import gridstride as wp
from gridstride import _native


def facts() -> list[tuple[str, str]]:
    threads = _native.get_num_threads()
    return [
        ("gridstride", _native.__version__),
        ("python", f"{platform.python_version()}, NumPy {np.__version__}"),
        ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
        ("device cpu", f"{processor()}, {threads} thread{'s' * (threads != 1)}"),
        *[(f"device {gpu}", graphics(gpu)) for gpu in wp.get_cuda_devices()],
        ("compiler", f"LLVM {_native.llvm_version()}, target {_native.cpu_name()}"),
        ("kernel cache", cache()),
    ]


def graphics(gpu: wp.Device) -> str:
    driver = ".".join(map(str, wp.get_cuda_driver_version() or ()))
    return f"{gpu.name}, sm_{gpu.arch}, {gpu.total_memory / 2**30:.0f} GiB, driver for CUDA {driver}"


def processor() -> str:
    """The processor's name as its maker writes it, where the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _sizes(folder: str) -> Iterator[int]:
    """Bytes of each file of a folder. Other processes write to it meanwhile: what is gone by then does not count."""
    for entry in os.scandir(folder):
        with contextlib.suppress(FileNotFoundError):
            if entry.is_file():
                yield entry.stat().st_size


def cache() -> str:
    folder = wp.config.cache_dir()
    if folder is None:
        return "off"
    sizes = list(_sizes(folder)) if os.path.isdir(folder) else []
    return f"{folder}, {len(sizes)} files, {sum(sizes) / 1024:.0f} KiB"
