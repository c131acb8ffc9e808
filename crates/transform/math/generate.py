"""Writes ../src/math/*.ir, one function a file: `python generate.py` with mpmath installed.

`python generate.py --c FILE` writes all functions as C instead, for checks over every argument.
"""

import pathlib
import sys

import double
import double_circular
import fast
import single
from tracer import Trace

OUT = pathlib.Path(__file__).resolve().parent.parent / "src" / "math"


def functions():
    for function in single.FUNCTIONS:
        yield function, "f32", "_f32", "evaluated in f64, rounded once"
    for function in double.FUNCTIONS + double_circular.FUNCTIONS:
        yield function, "f64", "_f64", "within 1 ULP"
    for function in fast.FUNCTIONS:
        yield function, "f32", "_f32_fast", "evaluated in f32, within 4 ULP"


def trace(function, ty, suffix, how):
    n = function.__code__.co_argcount
    doc = [f"{function.__name__} of {ty}, {how}. Written by crates/transform/math/generate.py."]
    return Trace(f"math.{function.__name__}{suffix}", [ty] * n, function, doc)


def main():
    traces = [trace(*row) for row in functions()]
    if sys.argv[1:2] == ["--c"]:
        pathlib.Path(sys.argv[2]).write_text("\n".join(t.c() for t in traces))
        return
    OUT.mkdir(exist_ok=True)
    for t in traces:
        (OUT / f"{t.name.removeprefix('math.')}.ir").write_text(t.ir() + "\n")
        print(t.name, t.n_ops())


if __name__ == "__main__":
    main()
