"""What every test shares: the devices that kernels run on, and settings that go back to what they were.

With GRIDSTRIDE_DEVICE=cuda (`make test-gpu`) every test runs on the GPU instead: it is the default device, and the only
one that the fixture `device` gives. Tests marked `cpu` are about the CPU's memory, and run there all the same.
"""

import os

import numpy as np
import pytest

import gridstride as wp
from gridstride._types import class_of

ON_GPU = os.environ.get("GRIDSTRIDE_DEVICE", "").startswith("cuda")


@pytest.fixture(params=["cuda"] if ON_GPU else ["interp", "cpu"], scope="session")
def device(request):
    """Each device must give the same bits; the arrays are the CPU's for `cpu` and `interp`."""
    return request.param


@pytest.fixture(autouse=True)
def settings(request, monkeypatch):
    """Restores `wp.config` and the default device."""
    saved = {name: value for name, value in vars(wp.config).items() if not name.startswith("_")}
    default = wp.get_device()
    if ON_GPU:
        # What a launch does wrong is the launch's exception, as on the CPU.
        wp.config.verify_cuda = True
        call = getattr(request.node, "callspec", None)
        if request.node.get_closest_marker("cpu") or (call and call.params.get("device") in ("cpu", "interp")):
            wp.set_device("cpu")
        else:
            for name in ("launch", "launch_tiled"):
                monkeypatch.setattr(wp, name, taking_memory_along(getattr(wp, name)))
    yield
    for name, value in saved.items():
        if getattr(wp.config, name) is not value:
            setattr(wp.config, name, value)
    wp.set_device(default)


def taking_memory_along(launch):
    """A launch whose arguments in the CPU's memory go to the GPU and come back: the CPU uses them in place."""

    def launched(kernel, dim, inputs=(), outputs=(), **options):
        moved = []
        device = options.get("device")
        is_there = isinstance(kernel, wp.Kernel) and (device is None or wp.is_device_available(device))
        if is_there and wp.get_device(device).is_cuda:
            types = list(kernel._annotations.values())
            inputs = [on_gpu(one, ty, device, moved) for one, ty in pairs(inputs, types)]
            outputs = [on_gpu(one, ty, device, moved) for one, ty in pairs(outputs, types[len(inputs) :])]
        result = launch(kernel, dim, inputs, outputs, **options)
        for host, array in moved:
            host[...] = array.numpy()
        return result

    return launched


def pairs(items, types):
    items = list(items or ())
    return zip(items, types + [None] * (len(items) - len(types)), strict=False)


def on_gpu(value, ty, device, moved):
    """An array of the CPU that fits its parameter as an array of the GPU; anything else as it is."""
    if isinstance(value, wp.array) and value.device.is_cpu and not value.requires_grad:
        array = value.to(device)
        moved.append((value.numpy(), array))
        return array
    if not isinstance(value, np.ndarray) or value.ndim == 0 or not value.flags.writeable:
        return value
    if isinstance(ty, tuple):
        array = wp.array(value, device=device)
    elif ty is None or ty.kind != "array" or value.dtype != wp.dtype_to_numpy(class_of(ty.elem)):
        return value
    else:
        try:
            array = wp.array(value, dtype=class_of(ty.elem), device=device)
        except RuntimeError:
            return value
        if array.ndim != ty.rank:
            return value
    moved.append((value, array))
    return array
