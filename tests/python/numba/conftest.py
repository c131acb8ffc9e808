"""Numba's style on both devices of the processor."""

import pytest

from gridstride.numba import config
from gridstride.numba.cuda import _devices


@pytest.fixture(params=["cpu", "interp"], autouse=True)
def device(request, monkeypatch):
    monkeypatch.setattr(_devices, "_launch_device", request.param)
    monkeypatch.setattr(config, "CUDA_LOW_OCCUPANCY_WARNINGS", 0)
    monkeypatch.setattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", 0)
    return request.param
