"""Kernels whose parameters have open types: each launch runs the code for the types of its arguments."""

from typing import Any

import numpy as np
import pytest

import gridstride as wp

pytestmark = pytest.mark.cpu


@wp.kernel
def kind_of(x: Any, n: int, out: wp.array(dtype=Any)):
    # What an integer makes of a half tells its type, and so does what an array keeps of it.
    out[0] = out.dtype(x) / out.dtype(2) + out.dtype(n)


@wp.kernel
def scaled(x: Any, out: wp.array(dtype=float)):
    if wp.static(True):
        out[0] = float(type(x)(3.7)) + float(x) * 0.0


def test_kernels_with_open_types_are_launched_for_the_types_of_each_launch():
    outs = [wp.zeros(1, dtype=dtype, device="cpu") for dtype in (float, int, wp.float64, wp.int8)]
    wanted = [3.5, 3.0, 3.5, 3.0]
    for _ in range(4):
        for out, value in zip(outs, wanted, strict=True):
            for x in (5, 5.0, wp.float64(5.0), wp.int8(5), np.float32(5)):
                out.zero_()
                wp.launch(kind_of, dim=1, inputs=[x, 1], outputs=[out], device="cpu")
                assert out.numpy()[0] == value
    out = wp.zeros(1, dtype=float, device="cpu")
    for _ in range(4):
        for x, kept in [
            (1.0, 3.7),
            (1, 3.0),
            (True, 1.0),
            (wp.float64(1), 3.7),
            (wp.int16(1), 3.0),
            (np.uint8(1), 3.0),
        ]:
            wp.launch(scaled, 1, [x, out], device="cpu")
            assert out.numpy()[0] == np.float32(kept), x
        with pytest.raises(OverflowError):
            wp.launch(scaled, 1, [2**40, out], device="cpu")
        with pytest.raises(TypeError):
            wp.launch(scaled, 1, ["1", out], device="cpu")
        with pytest.raises(TypeError):
            wp.launch(scaled, 1, [1.0], device="cpu")
    assert len(scaled._signatures) == 6
