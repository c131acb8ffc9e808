"""What is usual in Triton of the benchmarks."""

import torch
import triton
import triton.language as tl
from peer_torch import clock_of_torch


@triton.jit
def saxpy(a, x, y, o, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    inside = i < n
    tl.store(o + i, a * tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


def run(bench):
    clock = clock_of_torch()
    n = bench.size(1 << 28, 1 << 16)
    if bench.wants("saxpy"):
        x, y, o = (torch.ones(n, device="cuda") for _ in range(3))
        bench.once("cold saxpy", lambda: saxpy[(n // 1024,)](2.0, x, y, o, n, 1024), clock)
        bench.rate(
            "saxpy",
            lambda: saxpy[(n // 1024,)](2.0, x, y, o, n, 1024),
            clock,
            12e-9 * n,
            "GB/s",
            lambda: o.cpu().numpy(),
        )
    if bench.wants("launch"):
        x = torch.zeros(16, device="cuda")
        bench.time("launch", lambda: saxpy[(1,)](2.0, x, x, x, 16, 1024), clock, n=bench.size(3000, 10))
