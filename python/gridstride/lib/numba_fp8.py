"""Floats of 8 bits in the numba dialect: numbers to bits and back.

In: a float64 and which type, 0 for E5M2, 1 for E4M3 (both with a sign), 2 for E8M0 (powers of two). Out: the bits.

    _fp8_of(2.5, True, 1)  ->  0x42
    _fp8_value(0x42, 1)    ->  2.5

P. Micikevicius et al., "FP8 formats for deep learning" (2022); OCP, "Microscaling formats (MX) specification" (2023).
"""


# Rounded to nearest even. What is too large becomes the largest number, or where that is not wanted infinity, which
# E4M3 does not have: NaN.
def _fp8_of(x, saturates, kind):
    if kind == 2:
        return _e8m0_of(x, saturates, True)
    sign = 128 if _bits(x) < 0 else 0
    if isnan(x):
        return uint8(sign | 0x7F)
    digits = 2 if kind == 0 else 3
    least = -14 if kind == 0 else -6
    largest = 0x7B if kind == 0 else 0x7E
    exponent = max(((_bits(x) >> 52) & 0x7FF) - 1023, least)
    code = largest + 1
    if exponent < 20:
        # In units of the last digit: what carries goes on into the exponent.
        units = int64(_rint(abs(x) * _power_of_two(digits - exponent)))
        code = min(((exponent - least) << digits) + units, largest + 1)
    if code > largest and saturates:
        code = largest
    return uint8(sign | code)


# A power of two by its exponent: the next that is not less than |x|, or that is not more.
def _e8m0_of(x, saturates, goes_up):
    if isnan(x):
        return uint8(255)
    exponent = ((_bits(x) >> 52) & 0x7FF) - 1023
    if goes_up and (_bits(x) & 0xFFFFFFFFFFFFF) != 0:
        exponent = exponent + 1
    code = max(exponent + 127, 0)
    if code > 254:
        code = 254 if saturates else 255
    return uint8(code)


def _fp8_value(bits, kind):
    code = int64(bits)
    if kind == 2:
        if code == 255:
            return float32(_float_of_bits(0x7FF8000000000000))
        return float32(_power_of_two(code - 127))
    digits = 2 if kind == 0 else 3
    least = -14 if kind == 0 else -6
    exponent = (code & 0x7F) >> digits
    units = code & ((1 << digits) - 1)
    sign = -1.0 if code > 127 else 1.0
    if kind == 0 and exponent == 31:
        return float32(sign / 0.0) if units == 0 else float32(_float_of_bits(0x7FF8000000000000))
    if kind == 1 and code & 0x7F == 0x7F:
        return float32(_float_of_bits(0x7FF8000000000000))
    if exponent == 0:
        return float32(sign * units * _power_of_two(least - digits))
    return float32(sign * (units + (1 << digits)) * _power_of_two(exponent - 1 + least - digits))
