"""Runs random programs compiled and interpreted, and by a peer, and shows where they differ.

    python tests/differential/run.py STYLE [--count N] [--seed N] [--peer PYTHON] [--keep FOLDER]

STYLE is `warp`, `gradients`, `numba`, `c` or `arrays`. The peers are Warp, Numba's `njit` and the machine's C++
compiler, run by the Python that PYTHON names; `arrays` are compared with NumPy. Programs stay in FOLDER.
"""

from __future__ import annotations

import argparse
import pathlib
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import array_calls
import c_kernels
import gradient_kernels
import numba_kernels
import numpy as np
import warp_kernels

HERE = pathlib.Path(__file__).parent
STYLES = {"warp": warp_kernels, "gradients": gradient_kernels, "numba": numba_kernels, "c": c_kernels}
PEERS = {"warp": "warp", "gradients": "warp", "numba": "numba", "c": "c"}
# What threads add to one element comes in any order, and a difference is no gradient to the last digit.
TOLERANCES = {"gradients": 1e-9}
DIFFERENCE_TOLERANCE = 1e-4

# What became of a program: ("gives", arrays), ("refuses", error) or ("dies", what the process left).
Outcome = tuple


def results(python: str, system: str, device: str, folder: pathlib.Path, count: int) -> list[Outcome]:
    file = folder / f"{system}-{device}.results"
    outcomes: list[Outcome] = []
    while len(outcomes) < count:
        file.write_bytes(b"")
        command = [python, str(HERE / "worker.py"), system, device, str(folder), str(file)]
        done = subprocess.run([*command, str(len(outcomes)), str(count)], capture_output=True, text=True)
        outcomes += read(file)
        if len(outcomes) < count:
            outcomes.append(("dies", f"exit {done.returncode}: {done.stderr[-2000:]}"))
    return outcomes


def read(file: pathlib.Path) -> list[Outcome]:
    found = []
    with file.open("rb") as stream:
        while True:
            try:
                found.append(pickle.load(stream)[1:])
            except EOFError:
                return found


def same(a: Outcome, b: Outcome, tolerance: float) -> bool:
    return a[0] == b[0] and (a[0] != "gives" or all(near(x, y, tolerance) for x, y in zip(a[1], b[1], strict=True)))


def near(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    if tolerance:
        with np.errstate(all="ignore"):
            return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    return np.array_equal(a, b, equal_nan=np.issubdtype(a.dtype, np.inexact))


def compare(
    style: str, count: int, seed: int, folder: pathlib.Path, peer: str | None = None, device: str = "cpu"
) -> tuple[dict[str, list[int]], dict[str, list[Outcome]]]:
    """Which programs differ, by kind, and what each system made of all."""
    for index in range(count):
        (folder / f"{index}.py").write_text(STYLES[style].program(seed + index))
    with ThreadPoolExecutor() as pool:
        jobs = {
            name: pool.submit(results, sys.executable, "gridstride", name, folder, count) for name in (device, "interp")
        }
        if peer:
            jobs["peer"] = pool.submit(results, peer, PEERS[style], "cpu", folder, count)
        outcomes = {name: job.result() for name, job in jobs.items()}
    kinds: dict[str, list[int]] = {}
    for index in range(count):
        here, interp = outcomes[device][index], outcomes["interp"][index]
        tolerance = TOLERANCES.get(style, 0.0)
        if here[0] == "dies":
            kinds.setdefault("dies here", []).append(index)
        if not same(here, interp, tolerance):
            kinds.setdefault(f"{device} is not interp", []).append(index)
        if style == "gradients" and here[0] == "gives":
            found = here[1][1:]
            if not all(near(a, b, DIFFERENCE_TOLERANCE) for a, b in zip(found[:3], found[3:], strict=True)):
                kinds.setdefault("gradient is not the difference", []).append(index)
        if peer and here[0] != outcomes["peer"][index][0]:
            kinds.setdefault(f"here {here[0]}, there {outcomes['peer'][index][0]}", []).append(index)
        elif peer and not same(here, outcomes["peer"][index], tolerance):
            kinds.setdefault("values differ from the peer's", []).append(index)
    return kinds, outcomes


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("style", choices=[*STYLES, "arrays"])
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--peer", help="the Python that has the peer")
    options.add_argument("--keep", type=pathlib.Path, help="where the programs stay")
    given = options.parse_args()
    if given.style == "arrays":
        import gridstride.cupy as cp

        for seed in range(given.seed, given.seed + given.count):
            found = array_calls.difference(seed, cp)
            if found is not None:
                print(seed, *found)
        return
    folder = given.keep or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    kinds, outcomes = compare(given.style, given.count, given.seed, folder, given.peer)
    (folder / "outcomes").write_bytes(pickle.dumps(outcomes))
    print(f"{given.count} programs in {folder}")
    for kind, which in kinds.items():
        print(f"{kind}: {len(which)} {which}")


if __name__ == "__main__":
    main()
