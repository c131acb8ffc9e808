"""Runs one module of numba-cuda's test suite against Gridstride; one JSON line a test, as `worker.py` does for Warp's.

    python numba_worker.py SUITE_FOLDER MODULE SECONDS [FIRST [cpu|cuda]]

SUITE_FOLDER holds `numba/cuda/tests` and what the tests share. `cpu` runs what numba-cuda runs on its simulator; `cuda`
runs the tests that it skips there: those that look into its compiler, its driver's objects, or a GPU. Modules of the
compiler that the suite imports, and packages that only serve it, are stand-ins whose every use fails the test that
makes it (`standins.py`).
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import unittest

WAY = sys.argv[5] if len(sys.argv) > 5 else "cpu"
os.environ["NUMBA_ENABLE_CUDASIM"] = "0" if WAY == "cuda" else "1"
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")

import standins  # noqa: E402
import worker  # noqa: E402

import gridstride.compat  # noqa: E402


def needing_gpu(module: str) -> frozenset[str] | None:
    """The tests of a module that numba-cuda skips on its simulator; None where the module does not load there."""
    command = [sys.executable, __file__, sys.argv[1], module, "0", "0", "names"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return frozenset(found.stdout.split()) if found.returncode == 0 else None


def print_names(module: str) -> None:
    """Prints the tests of a module that are skipped."""
    tests = worker.flatten(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(module)))
    print(*(test.id() for test in tests if worker.skips(test)), sep="\n")


def prepare(folder: str) -> None:
    """Makes `import numba` give Gridstride with the suite's modules and stand-ins beside it."""
    gridstride.compat.install()
    # Gridstride's modules of absent names would refuse what the suite does while it loads.
    gridstride.compat._NUMBA_MODULES = frozenset()
    import numba.cuda

    standins.install()
    # Tests that numba-cuda has without Numba's own package are skipped; ours is always whole.
    numba.cuda.HAS_NUMBA = True

    # The suite's imports look for further modules in ours.
    for name in gridstride.compat.numba_names.MODULES:
        standins.add_to(importlib.import_module(name))

    suite = os.path.join(folder, "numba", "cuda")
    numba.cuda.__path__.append(suite)
    if os.environ.get("GRIDSTRIDE_SUITE") == suite:
        return
    # Tests start programs of their own, which say `import numba` too.
    alias = os.path.join(os.path.dirname(os.path.abspath(__file__)), "alias")
    os.environ["GRIDSTRIDE_SUITE"] = suite
    os.environ["PYTHONPATH"] = os.pathsep.join([alias, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])


def main() -> None:
    """Runs the module named on the command line."""
    folder, module = sys.argv[1], sys.argv[2]
    prepare(folder)
    if WAY == "names":
        print_names(module)
        return
    only = needing_gpu(module) if WAY == "cuda" else None
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    worker.serve(module, float(sys.argv[3]), first, only)


if __name__ == "__main__":
    main()
elif __name__ == "__mp_main__":
    # A process that a test spawned.
    prepare(sys.argv[1])
