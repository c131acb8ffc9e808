"""What PyTorch has of the benchmarks: its own operations."""

import inputs
import torch
from one import Clock


def run(bench):
    clock = clock_of_torch()
    n = bench.size(1 << 28, 1 << 16)
    if bench.wants("saxpy") or bench.wants("copy"):
        x, y, o = (torch.ones(n, device="cuda") for _ in range(3))
        bench.rate("copy", lambda: o.copy_(x), clock, 8e-9 * n, "GB/s")
        bench.rate(
            "saxpy", lambda: torch.add(y, x, alpha=2.0, out=o), clock, 12e-9 * n, "GB/s", lambda: o.cpu().numpy()
        )
    if bench.wants("launch"):
        one = torch.zeros(1, device="cuda")
        bench.time("launch", lambda: one.add_(1.0), clock, n=bench.size(3000, 10))
    if bench.wants("segments"):
        n = bench.size(1 << 20, 1 << 8)
        x, o = torch.tensor(inputs.noise((n, 64)), device="cuda"), torch.zeros(n, device="cuda")
        result = lambda: o.cpu().numpy()  # noqa: E731
        bench.rate("segments of 64", lambda: torch.sum(x, 1, out=o), clock, 4e-9 * x.numel(), "GB/s", result)
    n = bench.size(1 << 28, 1 << 16)
    if bench.wants("sum"):
        x = torch.tensor(inputs.noise(n), device="cuda")
        bench.rate("sum", lambda: torch.sum(x), clock, 4e-9 * n, "GB/s", lambda: torch.sum(x).cpu().numpy())
    if bench.wants("scan"):
        x, o = torch.tensor(inputs.few(n), device="cuda"), torch.zeros(n, dtype=torch.int32, device="cuda")
        run = lambda: torch.cumsum(x, 0, dtype=torch.int32, out=o)  # noqa: E731
        bench.rate("scan", run, clock, 8e-9 * n, "GB/s", lambda: o.cpu().numpy())
    n = bench.size(1 << 26, 1 << 16)
    if bench.wants("sort"):
        x = torch.tensor(inputs.keys(n), device="cuda")
        result = lambda: torch.sort(x).values.cpu().numpy()  # noqa: E731
        bench.rate("sort of pairs", lambda: torch.sort(x), clock, 1e-9 * n, "Gkeys/s", result, n=3)


def clock_of_torch():
    event = lambda: torch.cuda.Event(enable_timing=True)  # noqa: E731
    return Clock(event, lambda one: one.record(), milliseconds, torch.cuda.synchronize)


def milliseconds(begin, end):
    end.synchronize()
    return begin.elapsed_time(end)
