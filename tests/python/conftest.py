"""What every test shares: the devices that kernels run on, and settings that go back to what they were.

With GRIDSTRIDE_DEVICE=cuda (`make test-gpu`) every test runs on the GPU instead: it is the default device, and the only
one that the fixture `device` gives. Tests marked `cpu` are about the CPU's memory, and run there all the same.
"""

import os

import pytest

import gridstride as wp

ON_GPU = os.environ.get("GRIDSTRIDE_DEVICE", "").startswith("cuda")


@pytest.fixture(params=["cuda"] if ON_GPU else ["interp", "cpu"], scope="session")
def device(request):
    """Each device must give the same bits; the arrays are the CPU's for `cpu` and `interp`."""
    return request.param


@pytest.fixture(autouse=True)
def settings(request):
    """Restores `wp.config` and the default device."""
    saved = {name: value for name, value in vars(wp.config).items() if not name.startswith("_")}
    default = wp.get_device()
    if ON_GPU:
        # What a launch does wrong is the launch's exception, as on the CPU.
        wp.config.verify_cuda = True
        if request.node.get_closest_marker("cpu"):
            wp.set_device("cpu")
    yield
    for name, value in saved.items():
        if getattr(wp.config, name) is not value:
            setattr(wp.config, name, value)
    wp.set_device(default)
