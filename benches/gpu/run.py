"""Gridstride on a GPU beside whatever else is installed: Warp, Numba, CuPy (CUDA C++), PyTorch, Triton.

    python benches/gpu/run.py [--only NAME,NAME] [--peers NAME,NAME] [--quick]

Every system runs in a process of its own: the same work on the same sizes. Work on the device is timed by the host
over many launches between two waits, after a warm-up, transfers apart: the median of the rounds, and their spread.
Figures of two runs are not to be compared: the clocks move. `copy` is the ceiling, what a copy within the device
reaches.
"""

import argparse
import collections
import importlib.util
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = {
    "gridstride": "gridstride",
    "warp": "warp",
    "numba": "numba.cuda",
    "cupy": "cupy",
    "torch": "torch",
    "triton": "triton",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of benchmarks")
    parser.add_argument("--peers", default="", help="names of systems")
    parser.add_argument("--quick", action="store_true", help="small sizes: whether all runs, not how fast")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for a system")
    options = parser.parse_args()
    print(device())
    table = collections.defaultdict(dict)
    units = {}
    for peer, module in PEERS.items():
        if options.peers and peer not in options.peers.split(","):
            continue
        if not installed(module):
            print(f"{peer}: not installed")
            continue
        command = [sys.executable, str(HERE / "one.py"), peer, options.only, "quick" if options.quick else "full"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout, check=False)
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
    show(table, units)


def device():
    query = "name,driver_version,clocks.sm,clocks.mem,temperature.gpu"
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "nvidia-smi says nothing"


def installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def show(table, units):
    peers = [peer for peer in PEERS if any(peer in row for row in table.values())]
    print(f"\n{'':24}{'unit':10}" + "".join(f"{peer:>18}" for peer in peers))
    for bench, row in table.items():
        cells = "".join(
            f"{row[peer][0]:>11.4g} ±{row[peer][1]:>3.0f} %" if peer in row else f"{'':>18}" for peer in peers
        )
        print(f"{bench:24}{units[bench]:10}{cells}")


if __name__ == "__main__":
    main()
