"""Tests of what only a GPU has. They need one: `make test-gpu`."""

import pytest

import gridstride as wp


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
