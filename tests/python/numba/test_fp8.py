"""Floats of 8 bits, against what their formats say of every code."""

import math

import numpy as np
import pytest

from gridstride.numba import bfloat16, cuda, float32, int8, uint64
from gridstride.numba.cuda.fp8 import (
    bfloat16_raw,
    cvt_bfloat16raw_to_fp8,
    cvt_double_to_e8m0,
    cvt_e8m0_to_bf16raw,
    cvt_float_to_fp8,
    fp8_e4m3,
    fp8_e5m2,
    fp8_e8m0,
    fp8_interpretation_t,
    saturation_t,
)


def values(digits, bias, has_infinity):
    """The numbers of all codes without a sign, by code."""
    found = []
    for code in range(128):
        exponent, units = code >> digits, code & ((1 << digits) - 1)
        if has_infinity and exponent == 31:
            found.append(math.inf if units == 0 else math.nan)
        elif not has_infinity and code == 127:
            found.append(math.nan)
        elif exponent == 0:
            found.append(units * 2.0 ** (1 - bias - digits))
        else:
            found.append((units + (1 << digits)) * 2.0 ** (exponent - bias - digits))
    return np.array(found)


FORMATS = {
    "e5m2": (fp8_e5m2, fp8_interpretation_t.E5M2, values(2, 15, True), 0x7B),
    "e4m3": (fp8_e4m3, fp8_interpretation_t.E4M3, values(3, 7, False), 0x7E),
}


def to_codes(x, interpretation, saturates):
    way = saturation_t.SATFINITE if saturates else saturation_t.NOSAT

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = cvt_float_to_fp8(x[i], way, interpretation)

    out = np.zeros(len(x), np.uint8)
    kernel[len(x), 1](np.asarray(x, np.float32), out)
    return out


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_is_read_and_written(name):
    ty, interpretation, table, largest = FORMATS[name]

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = float32(ty(x[i]))

    finite = table[: largest + 1]
    for x in (finite, -finite):
        out = np.zeros(x.size, np.float32)
        kernel[x.size, 1](x, out)
        np.testing.assert_array_equal(out, x.astype(np.float32))
    codes = to_codes(finite, interpretation, True)
    assert codes.tolist() == list(range(largest + 1))


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_between_go_to_the_nearest_and_halves_to_even(name):
    _, interpretation, table, largest = FORMATS[name]
    finite = table[: largest + 1]
    middles = (finite[1:] + finite[:-1]) / 2
    codes = to_codes(middles, interpretation, True)
    assert codes.tolist() == [code if code % 2 == 0 else code + 1 for code in range(largest)]
    low = to_codes(np.nextafter(middles.astype(np.float32), np.float32(0)), interpretation, True)
    assert low.tolist() == list(range(largest))


def test_numbers_that_are_too_large():
    e5m2, e4m3 = fp8_interpretation_t.E5M2, fp8_interpretation_t.E4M3
    x = [1e20, -1e20, math.inf, math.nan]
    assert to_codes(x, e5m2, False).tolist() == [0x7C, 0xFC, 0x7C, 0x7F]
    assert to_codes(x, e5m2, True).tolist() == [0x7B, 0xFB, 0x7B, 0x7F]
    assert to_codes(x, e4m3, False).tolist() == [0x7F, 0xFF, 0x7F, 0x7F]
    assert to_codes(x, e4m3, True).tolist() == [0x7E, 0xFE, 0x7E, 0x7F]


def test_scales_are_powers_of_two():
    @cuda.jit
    def kernel(x, out, codes):
        i = cuda.grid(1)
        out[i] = float32(fp8_e8m0(x[i]))
        codes[0, i] = cvt_double_to_e8m0(x[i], saturation_t.NOSAT, 2)
        codes[1, i] = cvt_double_to_e8m0(x[i], saturation_t.SATFINITE, 1)

    x = np.array([1.0, 3.0, 0.75, 2.0**127, 1.1 * 2.0**127, math.nan])
    out, codes = np.zeros(x.size, np.float32), np.zeros((2, x.size), np.uint8)
    kernel[x.size, 1](x, out, codes)
    assert out[:5].tolist() == [1.0, 4.0, 1.0, 2.0**127, 2.0**127] and np.isnan(out[5])
    assert codes.tolist() == [[127, 129, 127, 254, 255, 255], [127, 128, 126, 254, 254, 255]]


def test_other_numbers_and_bits_of_bfloat16():
    @cuda.jit
    def kernel(out, bits):
        x = fp8_e4m3(-6)
        out[0] = int8(x)
        out[1] = uint64(fp8_e5m2(10.0))
        raw = cvt_e8m0_to_bf16raw(bits[0])
        out[2] = raw.x
        out[3] = cvt_bfloat16raw_to_fp8(bfloat16_raw(0x4020), saturation_t.SATFINITE, fp8_interpretation_t.E4M3)
        out[4] = 1 if float("-inf") < 0 and float("nan") != float("nan") else 0

    out = np.zeros(5, np.int64)
    kernel[1, 1](out, np.array([127], np.uint8))
    assert out.tolist() == [-6, 10, 0x3F80, 0x42, 1]


def test_bfloat16(capfd):
    @cuda.jit
    def kernel(x, out):
        small = bfloat16(x[0])
        out[0] = small
        out[1] = float32(bfloat16(fp8_e5m2(bfloat16(1.75))))
        print(bfloat16(0.9375))

    out = np.zeros(2)
    kernel[1, 1](np.array([1.003], np.float32), out)
    cuda.synchronize()
    assert out.tolist() == [1.0, 1.75]
    assert capfd.readouterr().out.strip() == "0.937500"
