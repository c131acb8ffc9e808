"""Measures Gridstride on the CPU beside C and whichever of Warp, Numba, Taichi and NumPy are installed.

    python benches/cpu/run.py [WORK ...] [--only NAME,NAME] [--rounds 9] [--threads N] [--cpu] [--save FILE]

Everybody does the same work on copies of the same arrays, in turns: what slows the machine for a while slows all. Every
result is first compared with NumPy's in double precision. A figure is the best of all rounds; the ratio is to C as a C
programmer would first write it, higher is faster. The sources are beside this file.
"""

import argparse
import importlib
import importlib.util
import json
import logging
import os
import platform
import statistics
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("works", nargs="*", help="which; all where none is named")
parser.add_argument("--only", help="contenders, separated by commas")
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--cpu", action="store_true", help="processor time of all threads, for a busy machine")
parser.add_argument("--save", type=Path, help="where the results go as JSON")
ARGS = parser.parse_args()
# Before anything that reads them is imported. Workers of others that wait must not take the cores.
os.environ |= {
    "OMP_NUM_THREADS": str(ARGS.threads),
    "OMP_WAIT_POLICY": "passive",
    "NUMBA_NUM_THREADS": str(ARGS.threads),
    "GRIDSTRIDE_NUM_THREADS": str(ARGS.threads),
}

import numpy as np  # noqa: E402
from works import WORKS, double  # noqa: E402

FOLDER = Path(__file__).parent
# At least so long is measured at a stretch.
STRETCH = 0.03
clock = time.process_time if ARGS.cpu else time.perf_counter


def warp_style(package, fast_math, file="warp_text.py"):
    """A text in the style of Warp with `wp` as one of the two packages whose text it is."""
    module = importlib.import_module(package)
    if package == "warp":
        module.config.log_level = logging.WARNING
    spec = importlib.util.spec_from_file_location(f"{package}_{fast_math}_text", FOLDER / file)
    text = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = text
    text.wp, text.FAST_MATH = module, fast_math
    spec.loader.exec_module(text)
    return text


def c_text(by_hand=False, *flags):
    module = importlib.import_module("c_text")
    return module.C(module.build(*flags), by_hand)


def taichi():
    module = importlib.import_module("taichi_text")
    module.start(ARGS.threads)
    return module


# Names, how to get at them, and which work they do where not all.
CONTENDERS = {
    "C": (c_text, None),
    "C by hand": (lambda: c_text(True), {"nbody", "lattice"}),
    "C fast math": (lambda: c_text(True, "-ffast-math"), {"nbody"}),
    "Gridstride": (lambda: warp_style("gridstride", False), None),
    "Gridstride fast math": (lambda: warp_style("gridstride", True), {"nbody", "lattice"}),
    "Warp": (lambda: warp_style("warp", False), None),
    "Numba": (lambda: importlib.import_module("numba_text"), None),
    "Taichi": (taichi, None),
    "NumPy": (lambda: importlib.import_module("numpy_text"), None),
}


def find(contenders):
    wanted = [name.strip() for name in ARGS.only.split(",")] if ARGS.only else list(contenders)
    found = {}
    for name in wanted:
        load, works = contenders[name]
        try:
            found[name] = (load(), works)
        except ImportError as error:
            print(f"without {name}: {error}")
    return found


def check(work, data, got, name):
    want = work.expected(double(data))
    got = np.asarray(got, float)[: work.rows]
    error = float(np.max(np.abs(got - want)) / np.max(np.abs(want)))
    if not error < work.tolerance:
        raise SystemExit(f"{name} computes {work.name} wrong: off by {error:.3g}")


def measure(work, found, check):
    """The times of each contender's runs."""
    data = work.arrays()
    runs, kept = {}, []
    for name, (text, works) in found.items():
        if works is None or work.name in works:
            run, result = text.prepare(work.name, data)
            run()
            check(work, data, result(work.out), name)
            runs[name] = run
            # C sees addresses only; this is what they belong to.
            kept.append(result)
    times = {name: [] for name in runs}
    for _ in range(ARGS.rounds):
        for name, run in runs.items():
            run()
            began = time.perf_counter()
            while time.perf_counter() - began < STRETCH:
                start = clock()
                run()
                times[name].append(clock() - start)
    return times


def machine():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    widest = next((name for name in ("avx512f", "avx2", "sse2") if name in flags), "")
    return f"{model}, {os.cpu_count()} cores, {widest}"


def main(works=WORKS, contenders=CONTENDERS, check=check):
    found = find(contenders)
    results = {
        "machine": machine(),
        "threads": ARGS.threads,
        "processor_time": ARGS.cpu,
        "load": os.getloadavg()[0],
        "works": {},
    }
    clock_name = " (processor time)" if ARGS.cpu else ""
    print(f"{results['machine']}; {ARGS.threads} threads{clock_name}; best of {ARGS.rounds} rounds")
    for work in works:
        if ARGS.works and work.name not in ARGS.works:
            continue
        times = measure(work, found, check)
        base = min(times["C"]) if "C" in times else None
        print(f"\n{work.name}, {work.unit}")
        rows = results["works"][work.name] = {"unit": work.unit}
        for name, seconds in times.items():
            best, middle = min(seconds), statistics.median(seconds)
            rows[name] = {"best": work.amount / best, "median": work.amount / middle}
            ratio = f"{base / best:6.2f}" if base else ""
            print(f"  {name:22}{work.amount / best:10.2f}{work.amount / middle:10.2f}{ratio}", flush=True)
    if ARGS.save:
        ARGS.save.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
