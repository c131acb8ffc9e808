"""Runs of equal values: where each begins is told by a scan over the places where a value differs from the last."""

from __future__ import annotations

from typing import Any

from gridstride import _parallel, _types
from gridstride._parallel.scan import scan
from gridstride.numba import cuda


def encode_runs(values: Any, run_values: Any, run_lengths: Any, run_count: Any, n: int, device: Any) -> None:
    """Writes each run's value and length, and to `run_count` how many there are."""
    numbers, starts = (_parallel.temporary(n, _types.int32, device) for _ in range(2))
    blocks = _parallel.blocks(n)
    _parallel.run(mark, blocks, device, values, numbers, n)
    scan(numbers, numbers, True, device)
    _parallel.run(begin, blocks, device, values, numbers, run_values, starts, run_count, n)
    _parallel.run(measure, blocks, device, starts, run_count, run_lengths, n)


@cuda.jit
def mark(values, begins, n):
    """1 where a run begins."""
    i = cuda.grid(1)
    if i < n:
        begins[i] = 1 if i == 0 or values[i] != values[i - 1] else 0


@cuda.jit
def begin(values, numbers, run_values, starts, run_count, n):
    """Each run's value and where it begins, by its number, which counts from 1."""
    i = cuda.grid(1)
    if i < n:
        number = numbers[i]
        if i == 0 or numbers[i - 1] != number:
            run_values[number - 1] = values[i]
            starts[number - 1] = i
        if i == n - 1:
            run_count[0] = number


@cuda.jit
def measure(starts, run_count, run_lengths, n):
    """Each run's length: to where the next begins."""
    i = cuda.grid(1)
    if i < run_count[0]:
        run_lengths[i] = (starts[i + 1] if i + 1 < run_count[0] else n) - starts[i]
