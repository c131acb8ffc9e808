"""Sums, scans, sorts and runs of whole arrays by `utils` on the CPU, beside Warp's where it is installed.

    python benches/arrays.py [--n 10000000] [--rounds 7]

Milliseconds of a call, best of the rounds, in turns. `radix_sort_pairs` gets a tenth of the numbers, unsorted.
"""

import argparse
import importlib
import importlib.util
import time

import numpy as np

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--n", type=int, default=10_000_000)
parser.add_argument("--rounds", type=int, default=7)


def works(wp, n):
    """Each work's name and a function that gives the seconds that it took."""
    rng = np.random.default_rng(0)
    x, total = wp.array(rng.random(n, dtype=np.float32), device="cpu"), wp.zeros(1, dtype=float, device="cpu")
    few = wp.array(rng.integers(0, 9, n).astype(np.int32), device="cpu")
    sums, lengths, values = (wp.zeros(n, dtype=int, device="cpu") for _ in range(3))
    count = wp.zeros(1, dtype=int, device="cpu")
    m = n // 10
    unsorted = wp.array(rng.integers(0, 1 << 30, 2 * m).astype(np.int32), device="cpu")
    keys, places = wp.empty_like(unsorted), wp.zeros(2 * m, dtype=int, device="cpu")

    def timed(function):
        began = time.perf_counter()
        function()
        return time.perf_counter() - began

    def sort():
        wp.copy(keys, unsorted)
        return timed(lambda: wp.utils.radix_sort_pairs(keys, places, m))

    yield "array_sum", lambda: timed(lambda: wp.utils.array_sum(x, out=total))
    yield "array_inner", lambda: timed(lambda: wp.utils.array_inner(x, x, out=total))
    yield "array_scan", lambda: timed(lambda: wp.utils.array_scan(few, sums))
    yield "runlength_encode", lambda: timed(lambda: wp.utils.runlength_encode(few, values, lengths, count))
    yield "radix_sort_pairs", sort


def main():
    options = parser.parse_args()
    packages = [name for name in ("gridstride", "warp") if importlib.util.find_spec(name)]
    columns = [dict(works(importlib.import_module(name), options.n)) for name in packages]
    print(f"{'ms':18}" + "".join(f"{name:>12}" for name in packages))
    for name in columns[0]:
        rounds = [[column[name]() for column in columns] for _ in range(options.rounds)]
        best = np.min(rounds, axis=0)
        print(f"{name:18}" + "".join(f"{seconds * 1e3:12.2f}" for seconds in best))


if __name__ == "__main__":
    main()
