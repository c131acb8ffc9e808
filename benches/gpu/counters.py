"""What limits a benchmark's kernels: registers, warps in flight, bytes of device memory, by Nsight Compute.

    python benches/gpu/counters.py SYSTEM NAME,NAME

Every kernel of the named benchmarks is launched once under `ncu`, which must be on the PATH; clocks stay as they are.
"""

import csv
import subprocess
import sys
from pathlib import Path

ONE = Path(__file__).resolve().with_name("one.py")
METRICS = {
    "gpu__time_duration.sum": "time",
    "launch__registers_per_thread": "registers",
    "launch__occupancy_limit_registers": "blocks by registers",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "warps active %",
    "dram__bytes_read.sum": "read",
    "dram__bytes_write.sum": "written",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory %",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "multiprocessors %",
    "sm__inst_executed.sum": "instructions",
}
# Fills and copies that set a benchmark up say nothing.
MOST = 400


def main():
    peer, only = sys.argv[1:3]
    command = ["ncu", "--csv", "--clock-control", "none", "--metrics", ",".join(METRICS), "--launch-count", str(MOST)]
    run = subprocess.run(
        [*command, sys.executable, str(ONE), peer, only, "once"], capture_output=True, text=True, check=False
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
    if not lines:
        raise SystemExit(f"ncu found no kernel:\n{run.stdout[-2000:]}\n{run.stderr[-2000:]}")
    found = {}
    for row in csv.DictReader(lines):
        if row["Metric Name"] in METRICS:
            key = (row["Kernel Name"].split("(")[0], row["Grid Size"], row["Block Size"])
            found.setdefault(key, {})[row["Metric Name"]] = f"{row['Metric Value']} {row['Metric Unit']}".strip()
    for (kernel, grid, block), values in found.items():
        print(f"{kernel[:60]} {grid} x {block}")
        print("   " + ", ".join(f"{text} {values[metric]}" for metric, text in METRICS.items() if metric in values))


if __name__ == "__main__":
    main()
