"""`wp.print_diagnostics`: versions, settings and devices, for reports of faults."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gridstride import _device, _native, config

# Packages that arrays are shared with.
_FRAMEWORKS = ("torch", "jax", "jaxlib", "cupy", "warp-lang", "numba", "paddlepaddle")


def _facts() -> dict[str, Any]:
    """By the names that Warp's function of this name gives; what has no counterpart is None or False."""
    # It takes as long to load as this package.
    import importlib.metadata
    import platform

    info: dict[str, Any] = {
        "warp_python": _native.__version__,
        "warp_native": _native.__version__,
        "warp_clang": None,
        "llvm": _native.llvm_version(),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cuda_enabled": _device.is_cuda_available(),
        "cuda_toolkit": None,
        "cuda_driver": _device.get_cuda_driver_version(),
        "nvrtc": None,
        "cuda_compatibility": None,
        "mathdx_enabled": False,
        "libmathdx": None,
        "cubql_enabled": False,
        "nanovdb": None,
        "host_compiler": None,
        "debug": False,
        "verify_fp": bool(config.verify_fp),
        "fast_math": bool(config.fast_math),
        "devices": [_device_facts(device) for device in _device.get_devices()],
    }
    for name in _FRAMEWORKS:
        try:
            info[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return info


def _device_facts(device: Any) -> dict[str, Any]:
    facts = {"alias": device.alias, "name": device.name}
    for name in ("arch", "sm_count", "total_memory", "is_mempool_enabled", "pci_bus_id"):
        if device.is_cuda and hasattr(device, name):
            facts[name] = getattr(device, name)
    return facts


def get_cpu_kernel_cache_key(cpu_compiler_flags: str | None = None) -> str:
    """A text that changes with what compiled kernels on disk depend on: version, system, processor, compiler flags.

    Flags for LLVM itself (`-mllvm …`) do not count. For the folders of a shared cache.
    """
    import hashlib
    import platform

    flags = config.cpu_compiler_flags if cpu_compiler_flags is None else cpu_compiler_flags
    words = "-march=native" if flags is None else re.sub(r"-mllvm[ =]\S+", "", flags)
    target = (config.version, platform.system(), platform.machine(), _native.cpu_name(), " ".join(words.split()))
    return f"{config.version}-{platform.system()}-{hashlib.sha256(repr(target).encode()).hexdigest()[:16]}".lower()


def print_diagnostics() -> dict[str, Any]:
    """Prints versions, settings and devices, and gives them as a dict."""
    info = _facts()
    rows = [(name, value) for name, value in info.items() if name != "devices" and value is not None]
    print("Software")
    for name, value in rows:
        print(f"  {name:<18} {value}")
    print("Devices")
    for device in info["devices"]:
        print("  " + ", ".join(f"{name} {value}" for name, value in device.items()))
    return info
