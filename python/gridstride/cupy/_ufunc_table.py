"""What each function over elements computes, in the words of `numba.cuda` kernels.

A row: the name, its number of inputs, and an expression for the kinds of the types that NumPy computes it in: `b` bool,
`i` int, `u` int without a sign, `f` float, `c` complex, `*` all others; float16 computes as float32. The operands are
x0, x1 and have those types already; `_name` are the functions of `_ufunc_functions`. Which types a function computes in
is NumPy's own table, asked by `resolve_dtypes`.
"""

from __future__ import annotations

_TEXT = """
add 2           | b: x0 | x1 | *: x0 + x1
subtract 2      | *: x0 - x1
multiply 2      | b: x0 & x1 | *: x0 * x1
divide 2        | *: x0 / x1
floor_divide 2  | i: _floor_divide(x0, x1) | u: _over(x0, x1) | f: _divmod(x0, x1)[0]
remainder 2     | i: _remainder(x0, x1) | u: _rest(x0, x1) | f: _divmod(x0, x1)[1]
fmod 2          | i: _fmod(x0, x1) | u: _rest(x0, x1) | f: math.fmod(x0, x1)
power 2         | i: _power(x0, x1) | u: _unsigned_power(x0, x1) | *: x0 ** x1
float_power 2   | *: x0 ** x1
negative 1      | *: -x0
positive 1      | *: x0
absolute 1      | b: x0 | *: abs(x0)
fabs 1          | *: abs(x0)
sign 1          | c: _complex_sign(x0) | f: _float_sign(x0) | u: x0 != 0 | *: _sign(x0)
square 1        | *: x0 * x0
reciprocal 1    | i: _reciprocal(x0) | *: 1 / x0
conjugate 1     | c: x0.conjugate() | *: x0
sqrt 1          | *: np.sqrt(x0)
cbrt 1          | *: np.cbrt(x0)
exp 1           | *: np.exp(x0)
exp2 1          | c: np.exp(x0 * math.log(2)) | *: np.exp2(x0)
expm1 1         | c: _complex_expm1(x0) | *: np.expm1(x0)
log 1           | *: np.log(x0)
log2 1          | *: np.log2(x0)
log10 1         | *: np.log10(x0)
log1p 1         | c: _complex_log1p(x0) | *: np.log1p(x0)
sin 1           | *: np.sin(x0)
cos 1           | *: np.cos(x0)
tan 1           | *: np.tan(x0)
arcsin 1        | *: np.arcsin(x0)
arccos 1        | *: np.arccos(x0)
arctan 1        | *: np.arctan(x0)
arctan2 2       | *: np.arctan2(x0, x1)
sinh 1          | *: np.sinh(x0)
cosh 1          | *: np.cosh(x0)
tanh 1          | *: np.tanh(x0)
arcsinh 1       | *: np.arcsinh(x0)
arccosh 1       | *: np.arccosh(x0)
arctanh 1       | *: np.arctanh(x0)
hypot 2         | *: _hypot(x0, x1)
degrees 1       | *: x0 * (180 / math.pi)
rad2deg 1       | *: x0 * (180 / math.pi)
radians 1       | *: x0 * (math.pi / 180)
deg2rad 1       | *: x0 * (math.pi / 180)
rint 1          | c: _complex_rint(x0) | *: np.rint(x0)
floor 1         | f: np.floor(x0) | *: x0
ceil 1          | f: np.ceil(x0) | *: x0
trunc 1         | f: np.trunc(x0) | *: x0
bitwise_and 2   | *: x0 & x1
bitwise_or 2    | *: x0 | x1
bitwise_xor 2   | *: x0 ^ x1
invert 1        | b: not x0 | *: ~x0
left_shift 2    | *: _left_shift(x0, x1, _width)
right_shift 2   | u: x0 >> x1 if x1 < _width else x0 ^ x0 | *: _right_shift(x0, x1, _width)
bitwise_count 1 | *: _bit_count(x0)
gcd 2           | *: _gcd(x0, x1)
lcm 2           | *: _lcm(x0, x1)
equal 2         | *: x0 == x1
not_equal 2     | *: x0 != x1
less 2          | c: np.less(x0, x1) | *: x0 < x1
less_equal 2    | c: np.less_equal(x0, x1) | *: x0 <= x1
greater 2       | c: np.greater(x0, x1) | *: x0 > x1
greater_equal 2 | c: np.greater_equal(x0, x1) | *: x0 >= x1
logical_and 2   | *: (x0 != 0) and (x1 != 0)
logical_or 2    | *: (x0 != 0) or (x1 != 0)
logical_xor 2   | *: (x0 != 0) != (x1 != 0)
logical_not 1   | *: x0 == 0
maximum 2       | c: np.maximum(x0, x1) | f: _maximum(x0, x1) | *: x0 if x0 > x1 else x1
minimum 2       | c: np.minimum(x0, x1) | f: _minimum(x0, x1) | *: x0 if x0 < x1 else x1
fmax 2          | c: np.fmax(x0, x1) | f: _fmax(x0, x1) | *: x0 if x0 > x1 else x1
fmin 2          | c: np.fmin(x0, x1) | f: _fmin(x0, x1) | *: x0 if x0 < x1 else x1
isfinite 1      | c: np.isfinite(x0.real) and np.isfinite(x0.imag) | f: np.isfinite(x0) | *: True
isinf 1         | c: np.isinf(x0.real) or np.isinf(x0.imag) | f: np.isinf(x0) | *: False
isnan 1         | c: np.isnan(x0.real) or np.isnan(x0.imag) | f: x0 != x0 | *: False
signbit 1       | *: math.copysign(1.0, x0) < 0
copysign 2      | *: math.copysign(x0, x1)
nextafter 2     | *: np.nextafter(x0, x1)
spacing 1       | *: np.nextafter(x0, _type(-math.inf if x0 < 0 else math.inf)) - x0
heaviside 2     | *: _heaviside(x0, x1)
logaddexp 2     | *: _logaddexp(x0, x1)
logaddexp2 2    | *: _logaddexp2(x0, x1)
ldexp 2         | *: math.ldexp(x0, x1)
divmod 2        | i: _floor_divide(x0, x1); _remainder(x0, x1) | u: _over(x0, x1); _rest(x0, x1) | f: _divmod(x0, x1)
modf 1          | *: math.modf(x0)
frexp 1         | *: math.frexp(x0)
"""


def _parsed(line: str) -> tuple[str, int, dict[str, tuple[str, ...]]]:
    head, rest = line.split(maxsplit=1)
    count, _, rest = rest.partition("|")
    kinds = {}
    # A bar between expressions has the letter of a kind and a colon behind it; any other is Python's.
    pieces = [""]
    for part in rest.split("| "):
        if len(part) > 1 and part[1] == ":":
            pieces.append(part)
        else:
            pieces[-1] += ("| " if pieces[-1] else "") + part
    for piece in pieces:
        if piece.strip():
            kind, _, text = piece.strip().partition(":")
            kinds[kind] = tuple(one.strip() for one in text.split(";"))
    return head, int(count), kinds


#: By name: number of inputs, and by kind of type the expressions of the results.
ROWS = {name: (count, kinds) for name, count, kinds in map(_parsed, _TEXT.strip().splitlines())}
ALIASES = {"true_divide": "divide", "mod": "remainder", "abs": "absolute", "conj": "conjugate", "bitwise_not": "invert"}
ARRAY_API_ALIASES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "pow": "power",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}


def results(name: str, kind: str) -> tuple[str, ...]:
    """The expressions of a function for a NumPy kind of type (`dtype.kind`)."""
    kinds = ROWS[name][1]
    found = kinds.get(kind) or (kinds.get("i") if kind == "u" else None) or kinds.get("*")
    if found is None:
        raise TypeError(f"`{name}` does not compute in numbers of the kind {kind!r}")
    return found
