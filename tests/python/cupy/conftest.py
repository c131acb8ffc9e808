"""Where operations of CuPy's style run in tests: on the CPU unless a test asks for the interpreter, which needs no code
to be generated and gives the same bits."""

import pytest

from gridstride.numba.cuda import _devices


@pytest.fixture
def interpreted(monkeypatch):
    """Runs operations by the interpreter."""
    if _devices.gpu() is None:
        monkeypatch.setattr(_devices, "_launch_device", "interp")
