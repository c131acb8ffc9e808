"""What every test shares: the devices that kernels run on, and settings that go back to what they were."""

import pytest

import gridstride as wp


@pytest.fixture(params=["interp", "cpu"], scope="session")
def device(request):
    """Each device must give the same bits; the arrays are the CPU's for both."""
    return request.param


@pytest.fixture(autouse=True)
def settings():
    """Restores `wp.config` and the default device."""
    saved = {name: value for name, value in vars(wp.config).items() if not name.startswith("_")}
    default = wp.get_device()
    yield
    for name, value in saved.items():
        if getattr(wp.config, name) is not value:
            setattr(wp.config, name, value)
    wp.set_device(default)
