"""Loops that are unrolled while compiling: jumps that are decided then."""

import numpy as np
import pytest

import gridstride as wp


@wp.kernel
def jumps(out: wp.array(dtype=int), x: wp.array(dtype=float)):
    for i in range(6):
        if wp.static(i % 2 == 0):
            continue
        out[0] = out[0] + i
    for k in (1, 2, 3, 4):
        for j in (10, 20):
            if wp.static(j == 20):
                break
            out[1] = out[1] + j * k
        if wp.static(k == 3):
            break
        # A loop that is not unrolled has jumps of its own.
        for n in range(int(x[0])):
            if n > k:
                break
            out[2] = out[2] + 1


def test_static_jumps(device):
    out, x = wp.zeros(3, dtype=int), wp.array([9.0], dtype=float)
    wp.launch(jumps, dim=1, inputs=[out, x], device=device)
    np.testing.assert_array_equal(out.numpy(), [9, 60, 5])


def test_jumps_of_run_time_are_refused():
    @wp.kernel
    def kernel(x: wp.array(dtype=float)):
        for k in (1.0, 2.0):
            if x[0] > k:
                break
            x[0] = k

    with pytest.raises(wp.CompileError, match="`break` in a loop that is unrolled.*run time only"):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])
