"""NVIDIA's libraries and headers, and where they are: `numba.cuda.cudadrv.libs`.

Kernels need the driver alone; the compiler and headers are for CUDA C++ that programs link.
"""

from __future__ import annotations

import os

from gridstride import _native
from gridstride.numba.cuda import _nvrtc
from gridstride.numba.cuda._errors import NvrtcError


def get_cuda_include_dir() -> str:
    """The folder of `cuda.h`. Raises `FileNotFoundError` where CUDA's headers are not installed."""
    for folder in _nvrtc.include_paths():
        if os.path.isfile(os.path.join(folder, "cuda.h")):
            return folder
    raise FileNotFoundError("CUDA's headers are not installed: pip install nvidia-cuda-runtime nvidia-cuda-crt")


def test() -> bool:
    """Prints what there is; whether kernels can run on a GPU, and CUDA C++ be compiled."""
    missing = _native.cuda_missing()
    print(f"driver: {missing or 'CUDA {}.{}'.format(*_native.cuda_driver_version())}")
    try:
        newest = "compute_{}{}".format(*_nvrtc.get_supported_ccs()[-1])
        print(f"compiler for CUDA C++: up to {newest}")
    except NvrtcError as error:
        print(f"compiler for CUDA C++: {error}")
        return False
    try:
        print(f"headers: {get_cuda_include_dir()}")
    except FileNotFoundError as error:
        print(f"headers: {error}")
    return missing is None
