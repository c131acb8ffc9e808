"""Scalars on the host: values of a fixed type."""

import copy
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridstride as wp

INTS = [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64]
FLOATS = {wp.float16: np.float16, wp.float32: np.float32, wp.float64: np.float64}


@pytest.mark.parametrize("cls", INTS)
@given(x=st.integers(-(2**70), 2**70))
def test_integers_wrap_to_their_width(cls, x):
    info = np.iinfo(cls.__name__)
    value = cls(x).value
    assert info.min <= value <= info.max
    assert (value - x) % 2**info.bits == 0
    assert int.from_bytes(cls(x).__gs_bytes__(), "little", signed=info.min < 0) == value


@pytest.mark.parametrize(("cls", "numpy_class"), FLOATS.items())
@given(x=st.floats())
def test_floats_are_rounded_in_memory(cls, numpy_class, x):
    with np.errstate(over="ignore"):
        expected = numpy_class(x)
    found = np.frombuffer(cls(x).__gs_bytes__(), dtype=numpy_class)[0]
    assert found == expected or (np.isnan(found) and np.isnan(expected))


@given(x=st.floats(width=32, allow_nan=False))
def test_bfloat16_rounds_to_the_nearest_even(x):
    (bits,) = struct.unpack("<H", wp.bfloat16(x).__gs_bytes__())
    value = struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    below, above = (
        (struct.unpack("<f", struct.pack("<I", (bits + step) << 16))[0] for step in (-1, 1) if 0 < bits < 0xFFFE)
        if 0 < bits < 0xFFFE
        else (value, value)
    )
    for other in (below, above):
        if np.isfinite(other) and np.isfinite(value):
            assert abs(value - x) < abs(other - x) or (abs(value - x) == abs(other - x) and bits % 2 == 0)


def test_text_forms():
    assert repr(wp.float32(1.0)) == "float32(1.0)"
    assert str(wp.float32(1.0)) == "1.0"
    assert repr(wp.bool(3)) == "bool(True)"
    assert f"{wp.float64(1.5):.2f}" == "1.50"


def test_arithmetic_keeps_the_type_and_refuses_another():
    assert repr(wp.uint8(250) + 10) == "uint8(4)"
    assert repr(2 - wp.int16(5)) == "int16(-3)"
    assert repr(wp.int32(-7) / 2) == "int32(-3)"
    assert repr(wp.int32(-7) % 3) == "int32(-1)"
    assert wp.float32(1.0) < 2.0
    assert wp.float32(2.0) == 2.0
    with pytest.raises(TypeError):
        wp.float32(1.0) + wp.int32(1)


@pytest.mark.parametrize(
    "value", [wp.float32(1.5), wp.uint8(7), wp.bool(True), wp.vec3(1.0, 2.0, 3.0), wp.types.vector(5, int)(2)]
)
def test_values_survive_copies(value):
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert type(copy.copy(value)) is type(value)


def test_numpy_types_and_back():
    for cls in (*INTS, *FLOATS, wp.bool):
        assert wp.dtype_from_numpy(np.dtype(cls.__name__)) is cls
        assert wp.dtype_to_numpy(cls) == np.dtype(cls.__name__)
    assert wp.dtype_to_numpy(float) == np.float32
    with pytest.raises(TypeError, match="complex"):
        wp.dtype_from_numpy(np.complex64)


def test_numpy_takes_the_classes_as_types():
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4):
        assert np.zeros(2, dtype=wp.uint8).dtype == np.uint8
    assert wp.float32.__numpy_dtype__ == np.float32


def test_sizes_and_equality_of_types():
    assert wp.type_size_in_bytes(wp.mat33d) == 72
    assert wp.type_size_in_bytes(float) == 4
    assert wp.types_equal(int, wp.int32)
    assert wp.types_equal(wp.types.vector(3, float), wp.vec3)
    assert not wp.types_equal(wp.vec4, wp.quat)
    from typing import Any

    assert wp.types_equal(wp.array(dtype=Any), wp.array(dtype=wp.vec3), match_generic=True)
    assert not wp.types_equal(wp.array(dtype=wp.Int), wp.array(dtype=float), match_generic=True)
    assert wp.types_equal(wp.types.vector(length=Any, dtype=wp.Float), wp.vec3d, match_generic=True)
