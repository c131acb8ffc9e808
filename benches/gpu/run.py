"""Gridstride on a GPU beside whatever else is installed: Warp, Numba, CuPy (CUDA C++), PyTorch, Triton.

    python benches/gpu/run.py [--only NAME,NAME] [--peers NAME,NAME] [--quick]

Every system runs in a process of its own: the same work on the same numbers. Work on the device is timed by events
around several launches, after a warm-up, transfers apart: the median of the rounds, and their spread; `launch` is timed
by the host. Figures of two runs are not to be compared: the clocks move. `copy` is the ceiling, what a copy within the
device reaches. Two tables follow: how much faster Gridstride is, and how much of each result is the same.
"""

import argparse
import collections
import importlib.util
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PEERS = {
    "gridstride": "gridstride",
    "gridstride_numba": "gridstride",
    "warp": "warp",
    "numba": "numba.cuda",
    "cupy": "cupy",
    "torch": "torch",
    "triton": "triton",
}
# As a part of the largest value: what rounding in another order may change.
TOLERANCE = 1e-5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of benchmarks")
    parser.add_argument("--peers", default="", help="names of systems")
    parser.add_argument("--quick", action="store_true", help="small sizes: whether all runs, not how fast")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for a system")
    options = parser.parse_args()
    print(device())
    with tempfile.TemporaryDirectory() as folder:
        table, units = collections.defaultdict(dict), {}
        for peer, module in PEERS.items():
            if options.peers and peer not in options.peers.split(","):
                continue
            if not installed(module):
                print(f"{peer}: not installed")
                continue
            measure(peer, options, Path(folder), table, units)
        show(table, units)
        show_ratios(table, units)
        show_results(Path(folder))


def measure(peer, options, folder, table, units):
    (folder / peer).mkdir()
    command = [sys.executable, str(HERE / "one.py"), peer, options.only, "quick" if options.quick else "full"]
    try:
        run = subprocess.run(
            [*command, str(folder / peer)], capture_output=True, text=True, timeout=options.timeout, check=False
        )
        out, failed = run.stdout, run.returncode
    except subprocess.TimeoutExpired as expired:
        out, failed = (expired.stdout or b"").decode(), "time"
    for line in out.splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[0] == "=":
            _, bench, value, spread, unit = fields
            table[bench][peer] = (float(value), float(spread))
            units[bench] = unit
    if failed:
        last = run.stderr.strip().splitlines()[-3:] if failed != "time" else ["took too long"]
        print(f"{peer}: ended early: {' | '.join(last)}")


def device():
    query = "name,driver_version,clocks.sm,clocks.mem,temperature.gpu"
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "there is no nvidia-smi"
    return found.stdout.strip() or "nvidia-smi says nothing"


def installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def show(table, units):
    peers = [peer for peer in PEERS if any(peer in row for row in table.values())]
    print(f"\n{'':26}{'unit':10}" + "".join(f"{peer:>18}" for peer in peers))
    for bench, row in table.items():
        cells = "".join(
            f"{row[peer][0]:>11.4g} ±{row[peer][1]:>3.0f} %" if peer in row else f"{'':>18}" for peer in peers
        )
        print(f"{bench:26}{units[bench]:10}{cells}")


def show_ratios(table, units):
    """How many times as fast as each other system, and the median of these."""
    ratios = collections.defaultdict(dict)
    for bench, row in table.items():
        for peer in row.keys() - {"gridstride"}:
            if "gridstride" in row:
                ours, theirs = row["gridstride"][0], row[peer][0]
                ratios[bench][peer] = theirs / ours if units[bench] in ("us", "ms") else ours / theirs
    peers = [peer for peer in PEERS if any(peer in row for row in ratios.values())]
    if not peers:
        return
    print(f"\n{'times as fast as':26}" + "".join(f"{peer:>10}" for peer in peers))
    for bench, row in ratios.items():
        print(f"{bench:26}" + "".join(f"{row[peer]:>10.2f}" if peer in row else f"{'':>10}" for peer in peers))
    medians = [statistics.median(row[peer] for row in ratios.values() if peer in row) for peer in peers]
    print(f"{'median':26}" + "".join(f"{median:>10.2f}" for median in medians))


def show_results(folder):
    """How many of the compared elements have the same bits, and how many lie within the tolerance."""
    for ours in sorted((folder / "gridstride").glob("*.npy")):
        for theirs in sorted(folder.glob(f"*/{ours.name}")):
            if theirs == ours:
                continue
            a, b = np.load(ours), np.load(theirs)
            if a.shape != b.shape:
                print(f"{ours.stem}: {theirs.parent.name} has {b.size} elements, Gridstride {a.size}")
                continue
            scale = max(np.abs(a).max(), 1e-30)
            same, close = np.mean(a == b), np.mean(np.abs(a - b) <= TOLERANCE * scale)
            largest = np.abs(a - b).max() / scale
            text = f"{100 * same:8.3f} % the same, {100 * close:8.3f} % within {TOLERANCE:g}, largest {largest:.1e}"
            print(f"{ours.stem:26}{theirs.parent.name:10}{text}")


if __name__ == "__main__":
    main()
