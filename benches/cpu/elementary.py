"""What the elementary functions cost: nanoseconds an element on one core, beside NumPy.

    python benches/cpu/elementary.py

Arrays stay in the cache; processor time of this thread, the least of many rounds. The table of docs/math.md is made of
this one. How right the functions are is on that page too.
"""

import os
import time

os.environ["GRIDSTRIDE_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

import gridstride as wp  # noqa: E402

N, ROUNDS = 8192, 30
# Arguments between these bounds, where the function has interesting values.
UNARY = {
    "exp": (-10, 10),
    "log": (0.01, 100),
    "log2": (0.01, 100),
    "log10": (0.01, 100),
    "sin": (-10, 10),
    "cos": (-10, 10),
    "tan": (-1.5, 1.5),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-10, 10),
    "sinh": (-5, 5),
    "cosh": (-5, 5),
    "tanh": (-5, 5),
    "cbrt": (-10, 10),
    "erf": (-3, 3),
    "erfc": (-3, 3),
    "sqrt": (0.01, 100),
}
BINARY = {"pow": (0.1, 10), "atan2": (-10, 10)}
IN_NUMPY = {"pow": "power", "atan2": "arctan2", "asin": "arcsin", "acos": "arccos", "atan": "arctan"}


def kernels(kind):
    """A kernel for each function."""

    def unary(function):
        @wp.kernel
        def apply(x: wp.array(dtype=kind), y: wp.array(dtype=kind)):
            i = wp.tid()
            y[i] = function(x[i])

        return apply

    def binary(function):
        @wp.kernel
        def apply(x: wp.array(dtype=kind), y: wp.array(dtype=kind)):
            i = wp.tid()
            y[i] = function(x[i], kind(0.7))

        return apply

    return {name: unary(getattr(wp, name)) for name in UNARY} | {name: binary(getattr(wp, name)) for name in BINARY}


def least(run):
    run()
    times = []
    for _ in range(ROUNDS):
        start = time.thread_time_ns()
        for _ in range(8):
            run()
        times.append((time.thread_time_ns() - start) / 8 / N)
    return min(times)


def measure(name, kernel, kind, dtype):
    """Nanoseconds here and in NumPy, as text."""
    low, high = (UNARY | BINARY)[name]
    data = np.random.default_rng(1).uniform(low, high, N).astype(dtype)
    x, y, out = wp.array(data), wp.zeros(N, dtype=kind), np.empty_like(data)
    ours = least(lambda: wp.launch(kernel, dim=N, inputs=[x, y], device="cpu"))
    function = getattr(np, IN_NUMPY.get(name, name), None)
    if function is None:
        return f"{ours:.2f} | "
    second = (dtype(0.7),) if name in BINARY else ()
    return f"{ours:.2f} | {least(lambda: function(data, *second, out=out)):.2f}"


def main():
    print("| function | f32 | f32 in NumPy | f64 | f64 in NumPy |\n| --- | --- | --- | --- | --- |")
    single, double = kernels(wp.float32), kernels(wp.float64)
    for name in [*UNARY, *BINARY]:
        of_f32 = measure(name, single[name], wp.float32, np.float32)
        of_f64 = measure(name, double[name], wp.float64, np.float64)
        print(f"| `{name}` | {of_f32} | {of_f64} |")


if __name__ == "__main__":
    main()
