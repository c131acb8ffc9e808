"""Tests of what only a GPU has. They need one: `make test-gpu`."""

import pytest

import gridstride as wp
from gridstride.numba import cuda


@pytest.fixture(autouse=True)
def settings():
    """Restores `wp.config` and the default device, which is the GPU."""
    saved = {name: value for name, value in vars(wp.config).items() if not name.startswith("_")}
    wp.set_device("cuda:0")
    yield
    wp.synchronize()
    for name, value in saved.items():
        if getattr(wp.config, name) is not value:
            setattr(wp.config, name, value)


@pytest.fixture
def numba_on_the_gpu():
    """For launches in numba.cuda's style, which are to run on the GPU."""
    if not cuda._devices.launch_device().startswith("cuda"):
        pytest.skip("launches of this style run on the CPU in this process")
    yield
    # As if the process had made no streams: wp's graphs are captured from the device's own.
    cuda._queue.device().set_stream(None)
    cuda._queue._has_streams = False
