"""What Warp would say: the sentence of its own for a mistake, at the end of Gridstride's report.

Programs search error texts, and their tests do (`assertRaisesRegex`). Under `gridstride.compat` the text of a compile
error or a refused argument ends with Warp's words for the first mistake, where they are known.

    error[too-many-indices]: `out[0]` has 1 dimension, found 2 indices
    ...
    Warp says: Incorrect number of indices specified for array indexing
"""

from __future__ import annotations

import re
from typing import Any

from gridstride import _native, types

_NO_RESULTS = (
    "Warp kernels cannot return values. Write results to output arguments, and omit the return annotation or use "
    "`-> None`."
)
_NOT_STATIC = (
    r"Error evaluating static expression: \1. Make sure all variables used in the static expression are constant."
)


def _of_components(found: re.Match[str]) -> str | None:
    """Warp tells three mistakes apart: another length, other numbers, and what is no vector."""
    wanted, given = (types.named.get(name) for name in found.groups())
    if wanted is None or len(wanted._shape_) != 1:
        return None
    n, dtype = wanted._length_, wanted._wp_scalar_type_.__name__
    if given is None or len(given._shape_) != 1:
        return f"The provided value is expected to be a vector of length {n}, with dtype {dtype}."
    if given._length_ != n:
        got = given._length_
        return f"The length of the provided vector ({got}) isn't compatible with the given slice (expected {n})."
    return f"The provided vector is expected to be of length {n} with dtype {dtype}."


# Code of the mistake, pattern of Gridstride's report, and what Warp makes of the parts.
_WORDS: list[tuple[str, str, Any]] = [
    ("slice-step", r"slice step cannot be zero", "Slice step cannot be zero"),
    ("too-many-indices", r"found \d+ indices", "Incorrect number of indices specified for array indexing"),
    ("unknown-name", r"`(\w+)` is not defined", r"Referencing undefined symbol: \1"),
    (
        "unknown-attribute",
        r"the type `(\w+)` has no `(\w+)`",
        r"`\2` is not an attribute of '<class 'warp._src.types.\1'>'",
    ),
    (
        "unknown-attribute",
        r"`(.+)` has no `(\w+)`",
        r"`\2` is not an attribute of '\1'; Could not find function \1.\2 as a built-in or user-defined function",
    ),
    ("static-failed", r"`static` raised NameError: (name '\w+' is not defined)", _NOT_STATIC),
    ("static-failed", r"`static` raised \w+: (.*)", r"Error evaluating static expression: \1"),
    ("return-mismatch", r"the (function .*)", r"The \1."),
    ("kernel-return", r"a kernel cannot return", _NO_RESULTS),
    *(
        (code, r"`array\(dtype=", "Invalid external reference type: <class 'warp._src.types.array'>")
        for code in ("not-subscriptable", "not-a-value")
    ),
    # A component of an element, `a[i].x = value`.
    (
        "type-mismatch",
        r"expected `(\w+)`, found `(\w+)`\n.*\n.*\n\s*\d+ +\|[^=]*\]\.\w+ = ",
        r"Composite slot assignment expects value of type \1, got \2",
    ),
    ("not-an-index", r"an index must be an integer", "Array slot write indices must be integers"),
    (
        "no-gradient",
        r"gradient of kernel `(\w+)`(?s:.*)the value that an atomic operation gives",
        r"Warp cannot differentiate kernel '\1' automatically",
    ),
    (
        "launch-extent",
        r"kernel `\w+` uses `tid\(\)` with extent (\d+) in dimension (\d+)",
        r"Warp cannot launch a kernel using wp.tid() with extent \1 in dimension \2",
    ),
    (
        "static-index",
        r"bounds of an unpacked slice must be constants",
        "Slice component must be a compile-time constant",
    ),
    (
        "not-iterable",
        r"cannot be unpacked",
        "Starred expressions are only supported for tuples, vectors and array slices",
    ),
    ("type-mismatch", r"`expect_n?eq` must have one type", "Can't test equality for objects with different types"),
    (
        "argument-type",
        r"`zeros` needs an integer that is known when compiling",
        "the `shape` argument must be specified as a constant when zero-initializing an array",
    ),
    (
        "type-mismatch",
        r"the derivative of the function `\w+`(?s:.*)\n\s*\d+ +\|\s*(\w+) .?.=",
        r"Cannot reassign local '\1', which stands for wp.grad() of a function",
    ),
    ("wrong-components", r"components are a `(\w+)`, found `(\w+)`", _of_components),
    # Warp names the two the other way round.
    *(
        (
            code,
            r"incompatible (vector|matrix) of (length|shape) (.+) given when copy constructing a \1 of \2 (.+)",
            r"incompatible \1 of \2 \4 given when copy constructing a \1 of \2 \3",
        )
        for code in ("argument-type", "argument-count")
    ),
    ("argument-type", r"`(\w+)` needs .*, found `(.+)`", r"Couldn't find function overload for '\1' that matched '\2'"),
    (
        "argument",
        r"argument \d+ `(\w+)`: expected array\(dtype=Any, ndim=(\d)\), got (.+)",
        r"type mismatch: argument '\1' expects an array of \2 dimension(s), but passed value has type \3",
    ),
    (
        "argument",
        r"argument \d+ `(\w+)`: expected array\(.*ndim=(\d)\), got array\(.*ndim=(?!\2)(\d)\)",
        r"argument '\1' expects an array with \2 dimension(s), but passed value has \3 dimension(s)",
    ),
    (
        "argument",
        r"argument \d+ `(\w+)`: expected array\(dtype=(\w+), ndim=(\d)\), got (.+)",
        r"argument '\1' expects an array of type array(ndim=\3, dtype=\2), but passed value has type \4",
    ),
    (
        "argument",
        r"argument \d+ `(\w+)`: expected ((?:vec|mat|quat|transform)\w*), got None",
        r"Failed to convert argument for param \1 to \2",
    ),
    (
        "argument",
        r"argument \d+ `(\w+)`: expected (\w+), got None",
        r"argument '\1' expects \2 but got None",
    ),
    (
        "argument",
        r"argument \d+ `(\w+)`: expected ((?:vec|mat|quat|transform)\w*), got (?:int|float)",
        r"argument '\1' expects \2 but got a single value",
    ),
    (
        "argument",
        r"argument \d+ `(\w+)`: expected (\w*array)\b.*, got (.+)",
        r"argument '\1' expects an array of type \2, but passed value has type \3",
    ),
]


def in_warps_words(code: str, report: str) -> str | None:
    """Warp's sentence for a mistake of that code; None where it is not known."""
    for known, pattern, words in _WORDS:
        found = re.search(pattern, report) if known == code else None
        if found:
            return words(found) if callable(words) else found.expand(words)
    return None


def _text(error: Any) -> str:
    text = BaseException.__str__(error)
    code = "launch-extent" if isinstance(error, _native.ExtentError) else "argument"
    code = getattr(error, "diagnostics", [(code,)])[0][0]
    words = in_warps_words(code, text)
    return text if words is None else f"{text}\n\nWarp says: {words}"


def install() -> None:
    """Makes errors end with Warp's words."""
    for kind in (_native.CompileError, _native.ArgumentError, _native.ExtentError):
        kind.__str__ = _text
