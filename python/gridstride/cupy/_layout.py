"""How operands of one shape lie in memory, as kernels walk them.

In: extents, and the strides of every operand in bytes. Out: fewer dimensions that visit the same elements in the order
in which the output's lie, so that a kernel's last index takes the smallest steps.

    >>> collapse((2, 3, 4), [(48, 16, 4), (0, 0, 4)])
    ((6, 4), [(16, 4), (0, 4)])
"""

from __future__ import annotations

from collections.abc import Sequence

Extents = tuple[int, ...]
# Rows of fewer elements leave lanes idle.
_SHORT = 16


def row_major(shape: Extents, itemsize: int) -> Extents:
    """The strides of an array without gaps."""
    if len(shape) == 1:
        return (itemsize,)
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent or 1
    return tuple(reversed(strides))


def broadcast(shapes: Sequence[Extents]) -> Extents:
    """The shape that all others stretch to. Raises `ValueError` where there is none."""
    rank = max(map(len, shapes), default=0)
    found = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent != 1:
                if found[axis] not in (1, extent):
                    listed = " ".join(str(one).replace(" ", "") for one in shapes)
                    raise ValueError(f"operands could not be broadcast together with shapes {listed}")
                found[axis] = extent
    return tuple(found)


def spread(shape: Extents, strides: Extents, target: Extents) -> Extents:
    """The strides with which an array is read as one of a larger shape: 0 along what is repeated."""
    missing = len(target) - len(shape)
    return (0,) * missing + tuple(0 if extent == 1 else stride for extent, stride in zip(shape, strides, strict=True))


def collapse(shape: Extents, strides: Sequence[Extents]) -> tuple[Extents, list[Extents]]:
    """The same elements in as few dimensions as all operands allow; the first operand says the order."""
    axes = [axis for axis, extent in enumerate(shape) if extent != 1]
    axes.sort(key=lambda axis: tuple(-abs(steps[axis]) for steps in strides))
    merged: list[int] = []
    steps_of: list[list[int]] = []
    for axis in axes:
        extent, steps = shape[axis], [one[axis] for one in strides]
        if merged and all(outer == step * extent for outer, step in zip(steps_of[-1], steps, strict=True)):
            merged[-1] *= extent
            steps_of[-1] = steps
        else:
            merged.append(extent)
            steps_of.append(steps)
    if not merged:
        return (1,), [(0,)] * len(strides)
    return tuple(merged), [tuple(steps[k] for steps in steps_of) for k in range(len(strides))]


def long_rows(shape: Extents, strides: list[Extents]) -> tuple[Extents, list[Extents]]:
    """The same elements with a longer dimension last where the last one is too short for a vector's lanes."""
    if len(shape) == 1 or shape[-1] >= _SHORT:
        return shape, strides
    longest = max(range(len(shape)), key=lambda axis: shape[axis])
    if shape[longest] < 4 * shape[-1]:
        return shape, strides
    order = [*(axis for axis in range(len(shape)) if axis != longest), longest]
    return tuple(shape[axis] for axis in order), [tuple(steps[axis] for axis in order) for steps in strides]
