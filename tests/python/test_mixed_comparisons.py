"""Numbers of two types compare: integers by their values, an integer beside a float as such a float."""

import numpy as np
import pytest

import gridstride as wp

PAIRS = [
    (wp.int32, wp.uint32, -1, 1),
    (wp.int64, wp.uint64, -1, 2**63),
    (wp.uint64, wp.int8, 2**63, -1),
    (wp.int8, wp.int64, 5, 5),
    (wp.float32, wp.int32, 2.5, 2),
    (wp.int32, wp.float32, 3, 3.0),
    (wp.float64, wp.float32, 0.1, 0.1),
    (wp.float16, wp.uint8, 7.0, 8),
]


@pytest.mark.parametrize(("left", "right", "x", "y"), PAIRS)
def test_comparisons(device, left, right, x, y):
    @wp.kernel
    def compare(x: left, y: right, out: wp.array(dtype=bool)):
        out[0] = x < y
        out[1] = x <= y
        out[2] = x == y
        out[3] = x != y
        out[4] = x >= y
        out[5] = x > y

    out = wp.zeros(6, dtype=bool)
    wp.launch(compare, dim=1, inputs=[left(x), right(y), out], device=device)
    a, b = x, float(np.float32(y)) if right is wp.float32 else y
    np.testing.assert_array_equal(out.numpy(), [a < b, a <= b, a == b, a != b, a >= b, a > b])


def test_a_bool_is_no_number():
    @wp.kernel
    def compare(x: bool, y: int, out: wp.array(dtype=bool)):
        out[0] = x < y

    with pytest.raises(wp.CompileError, match="compare the number with 0"):
        wp.launch(compare, dim=1, inputs=[True, 1, wp.zeros(1, dtype=bool)])
