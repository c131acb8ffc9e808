"""What PyTorch has of the benchmarks: its own operations."""

import torch


def run(bench):
    wait = torch.cuda.synchronize
    n = bench.size(1 << 28, 1 << 16)
    if bench.wants("saxpy") or bench.wants("copy"):
        x, y, o = (torch.ones(n, device="cuda") for _ in range(3))
        bench.rate("copy", lambda: o.copy_(x), wait, 8e-9 * n, "GB/s")
        bench.rate("saxpy", lambda: torch.add(y, x, alpha=2.0, out=o), wait, 12e-9 * n, "GB/s")
    if bench.wants("launch"):
        one = torch.zeros(1, device="cuda")
        bench.time("launch", lambda: one.add_(1.0), wait, n=bench.size(3000, 10))
    if bench.wants("segments"):
        x = torch.rand(bench.size(1 << 20, 1 << 8), 64, device="cuda")
        bench.rate("segments of 64", lambda: x.sum(1), wait, 4e-9 * x.numel(), "GB/s")
