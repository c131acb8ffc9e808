"""`cupy.fft`: Fourier transforms, by NumPy on the CPU device. On a GPU they raise `NotImplementedError`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride.cupy import _array, _interop
from gridstride.numba.cuda import _devices


def _on_host(name: str) -> Callable[..., Any]:
    function = getattr(np.fft, name)

    def run(a: Any, *args: Any, **options: Any) -> Any:
        if _devices.gpu() is not None:
            raise NotImplementedError(f"`cupy.fft.{name}` does not run on a GPU: copy to the host and use numpy.fft")
        found = function(_interop.asarray(a)._memory, *args, **options)
        return _array.of_host(found)

    run.__name__ = name
    run.__doc__ = f"`numpy.fft.{name}`, run by NumPy on the CPU device. Raises `NotImplementedError` on a GPU."
    return run


fft, ifft, fft2, ifft2, fftn, ifftn = map(_on_host, ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn"))
rfft, irfft, rfft2, irfft2, rfftn, irfftn = map(_on_host, ("rfft", "irfft", "rfft2", "irfft2", "rfftn", "irfftn"))
hfft, ihfft = map(_on_host, ("hfft", "ihfft"))


def fftfreq(n: int, d: float = 1.0) -> Any:
    """The frequencies of a transform's results."""
    return _array.of_host(np.fft.fftfreq(n, d))


def rfftfreq(n: int, d: float = 1.0) -> Any:
    """The frequencies of a real transform's results."""
    return _array.of_host(np.fft.rfftfreq(n, d))


def fftshift(x: Any, axes: Any = None) -> Any:
    """The frequency of zero moved to the middle."""
    from gridstride.cupy import _shapes

    axes = tuple(range(x.ndim)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    return _shapes.roll(x, [x.shape[k] // 2 for k in axes], axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The reverse of `fftshift`."""
    from gridstride.cupy import _shapes

    axes = tuple(range(x.ndim)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    return _shapes.roll(x, [-(x.shape[k] // 2) for k in axes], axes)
