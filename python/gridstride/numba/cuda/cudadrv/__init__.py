"""The driver's side of `numba.cuda`, by the names of its modules: `cudadrv.driver`, `cudadrv.devices` …"""

# ruff: noqa: F401
from __future__ import annotations

import sys as _sys

from gridstride.numba.cuda import _arrays as devicearray
from gridstride.numba.cuda import _devices as devices
from gridstride.numba.cuda import _driver as driver
from gridstride.numba.cuda import _errors as error
from gridstride.numba.cuda import _layout as dummyarray
from gridstride.numba.cuda import _libs as libs
from gridstride.numba.cuda import _linkable as linkable_code
from gridstride.numba.cuda import _nvrtc as nvrtc

# `from gridstride.numba.cuda.cudadrv.driver import …` too.
for _name, _module in list(globals().items()):
    if isinstance(_module, type(_sys)) and not _name.startswith("_"):
        _sys.modules[f"{__name__}.{_name}"] = _module
