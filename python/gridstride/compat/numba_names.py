"""Where Numba's modules are in Gridstride: `numba.cuda.cudadrv.devicearray` is `gridstride.numba.cuda._arrays` …

Modules that are not listed here, and that `gridstride.numba` does not have by the same name, can be imported under
`gridstride.compat`; what is used of them raises `NotImplementedError`.
"""

from __future__ import annotations

_TYPES = "gridstride.numba.types"
_CONFIG = "gridstride.numba.config"
_ERRORS = "gridstride.numba.errors"
_DTYPES = "gridstride.numba._dtypes"
_CUDA = "gridstride.numba.cuda"

MODULES = {
    "numba.core.types": _TYPES,
    "numba.core.config": _CONFIG,
    "numba.core.errors": _ERRORS,
    "numba.np.numpy_support": _DTYPES,
    "numba.cuda.types": _TYPES,
    "numba.extending": f"{_CUDA}.extending",
    "numba.core.extending": f"{_CUDA}.extending",
    "numba.cuda.misc.special": f"{_CUDA}._language",
    "numba.cuda.serialize": "gridstride.numba._serialize",
    "numba.cuda.config": _CONFIG,
    "numba.cuda.errors": _ERRORS,
    "numba.cuda.core.config": _CONFIG,
    "numba.cuda.core.errors": _ERRORS,
    "numba.cuda.core.sigutils": f"{_CUDA}._signatures",
    "numba.cuda.np.numpy_support": _DTYPES,
    "numba.cuda.typing": "gridstride.numba._typing",
    "numba.cuda.typeconv": "gridstride.numba._typing",
    "numba.cuda.typeconv.rules": "gridstride.numba._typing",
    "numba.cuda.typeconv.typeconv": "gridstride.numba._typing",
    "numba.cuda.typing.typeof": _DTYPES,
    "numba.cuda.typing.templates": _TYPES,
    "numba.cuda.api": _CUDA,
    "numba.cuda.decorators": f"{_CUDA}.dispatcher",
    "numba.cuda.compiler": f"{_CUDA}._compile",
    "numba.cuda._internal.cuda_fp8": f"{_CUDA}.fp8",
    "numba.cuda.vector_types": f"{_CUDA}._language",
    "numba.cuda.simulator": _CUDA,
    "numba.cuda.simulator.vector_types": f"{_CUDA}._language",
    "numba.cuda.vectorizers": f"{_CUDA}._ufuncs",
    "numba.cuda.deviceufunc": f"{_CUDA}._schedule",
    "numba.cuda.kernels.reduction": f"{_CUDA}._reduce",
    "numba.cuda.cudadrv.dummyarray": f"{_CUDA}._layout",
    "numba.cuda.cudadrv.devicearray": f"{_CUDA}._arrays",
    "numba.cuda.cudadrv.devices": f"{_CUDA}._devices",
    "numba.cuda.cudadrv.driver": f"{_CUDA}._driver",
    "numba.cuda.cudadrv.drvapi": f"{_CUDA}._driver",
    "numba.cuda.cudadrv.error": f"{_CUDA}._errors",
    "numba.cuda.cudadrv.libs": f"{_CUDA}._libs",
    "numba.cuda.cudadrv.linkable_code": f"{_CUDA}._linkable",
    "numba.cuda.cudadrv.nvrtc": f"{_CUDA}._nvrtc",
    "numba.cuda.cudadrv.nvvm": f"{_CUDA}._driver",
    "numba.cuda.cudadrv.runtime": f"{_CUDA}._driver",
}
