"""The kernels of `FSAI`: choosing the columns of each row of the factor, and solving for their values.

Row `i` of the factor G is nonzero in few columns S, `i` the first of them. With A scaled to a unit diagonal, its values
are z / sqrt(z_0), where A[S, S] z = e_0. z_0 says how good a row is: the larger, the nearer is G A G^T to the identity
(Kaporin's condition number). So S grows by the columns in which the residual A[:, S] z is largest, as long as z_0 does.

Kolotilina & Yeremin, "Factorized Sparse Approximate Inverse Preconditionings I" (1993), for the factor; Janna &
Ferronato, "Adaptive Pattern Research for Block FSAI Preconditioning" (2011), for its growth. A[S, S] = L L^T is
factorized as S grows: Golub & Van Loan, "Matrix Computations" (4th ed., 2013), section 4.2.
"""

from __future__ import annotations

import functools
from typing import Any

import gridstride as wp
from gridstride._kernel import Kernel
from gridstride.sparse import _functions

find_column = _functions.find_column
# Counts of an update: entries whose place differs, diagonal elements that are not positive, rows that failed, rows
# with a pivot that was raised.
MOVED, INVALID, FAILED, RAISED = 0, 1, 2, 3


@wp.kernel(enable_backward=False)
def expand_structure(
    block: int,
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    nrow: int,
    scalar_offsets: wp.array(dtype=int),
    scalar_columns: wp.array(dtype=int),
    entries: wp.array(dtype=int),
):
    """Rows of numbers from rows of blocks, and where each number lies among the numbers of all blocks."""
    row = wp.tid()
    if row == nrow * block:
        scalar_offsets[row] = offsets[nrow] * block * block
    else:
        block_row = row / block
        i = row - block_row * block
        first = offsets[block_row]
        n = offsets[block_row + 1] - first
        at = first * block * block + i * n * block
        scalar_offsets[row] = at
        for k in range(n):
            for j in range(block):
                scalar_columns[at + k * block + j] = columns[first + k] * block + j
                entries[at + k * block + j] = ((first + k) * block + i) * block + j


@wp.kernel(enable_backward=False)
def count_moved(
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    known_offsets: wp.array(dtype=int),
    known_columns: wp.array(dtype=int),
    status: wp.array(dtype=int),
):
    row = wp.tid()
    first = offsets[row]
    end = offsets[row + 1]
    moved = int(0)
    if first != known_offsets[row] or end != known_offsets[row + 1]:
        moved = 1
    else:
        for k in range(first, end):
            if columns[k] != known_columns[k]:
                moved += 1
    if moved > 0:
        wp.atomic_add(status, MOVED, moved)


@wp.kernel(enable_backward=False)
def take_values(
    offsets: wp.array(dtype=int),
    entries: wp.array(dtype=int),
    source: wp.array(dtype=Any),
    status: wp.array(dtype=int),
    values: wp.array(dtype=Any),
):
    row = wp.tid()
    if status[MOVED] == 0:
        for k in range(offsets[row], offsets[row + 1]):
            values[k] = values.dtype(source[entries[k]])


@wp.kernel(enable_backward=False)
def scale_diagonal(
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    values: wp.array(dtype=Any),
    scale: wp.array(dtype=Any),
    status: wp.array(dtype=int),
):
    """1 / sqrt(a) for each diagonal element; 0, and counted, where it is not positive and finite."""
    row = wp.tid()
    at = find_column(columns, offsets[row], offsets[row + 1], row)
    result = scale.dtype(0.0)
    if at >= 0 and values[at] > scale.dtype(0.0) and wp.isfinite(values[at]):
        result = scale.dtype(1.0) / wp.sqrt(values[at])
    else:
        wp.atomic_add(status, INVALID, 1)
    scale[row] = result


@wp.func
def scaled_entry(
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    values: wp.array(dtype=Any),
    scale: wp.array(dtype=Any),
    row: int,
    column: int,
):
    at = find_column(columns, offsets[row], offsets[row + 1], column)
    result = scale.dtype(0.0)
    if at >= 0:
        result = values[at] * scale[row] * scale[column]
    return result


@wp.func
def is_among(numbers: wp.array(dtype=int), n: int, value: int):
    found = False
    for k in range(n):
        if numbers[k] == value:
            found = True
    return found


@wp.func
def rank(best: wp.array(dtype=Any), best_columns: wp.array(dtype=int), n: int, room: int, score: Any, column: int):
    """Puts a column among the best, the largest score first, the smaller column of two equal ones; gives how many."""
    at = n
    while at > 0 and (score > best[at - 1] or (score == best[at - 1] and column < best_columns[at - 1])):
        at -= 1
    count = n
    if at < room:
        count = wp.min(n + 1, room)
        for m in range(count - 1 - at):
            to = count - 1 - m
            best[to] = best[to - 1]
            best_columns[to] = best_columns[to - 1]
        best[at] = score
        best_columns[at] = column
    return count


@functools.cache
def selecting(width: int, step: int, number: Any) -> Kernel:
    """The kernel that chooses up to `width` columns of a row, up to `step` at a time."""
    size = width * width

    @wp.kernel(enable_backward=False, module="unique")
    def select_columns(
        offsets: wp.array(dtype=int),
        columns: wp.array(dtype=int),
        values: wp.array(dtype=number),
        scale: wp.array(dtype=number),
        tolerance: number,
        floor: number,
        supports: wp.array2d(dtype=int),
        counts: wp.array(dtype=int),
        status: wp.array(dtype=int),
    ):
        row = wp.tid()
        support = wp.zeros(shape=(width,), dtype=int)
        z = wp.zeros(shape=(width,), dtype=number)
        y = wp.zeros(shape=(width,), dtype=number)
        factor = wp.zeros(shape=(size,), dtype=number)
        best = wp.zeros(shape=(step,), dtype=number)
        best_columns = wp.zeros(shape=(step,), dtype=int)
        support[0] = row
        factor[0] = number(1.0)
        y[0] = number(1.0)
        z[0] = number(1.0)
        energy = number(1.0)
        n = int(1)
        is_growing = scale[row] > number(0.0)
        while is_growing and n < width:
            room = wp.min(step, width - n)
            n_best = int(0)
            for s in range(n):
                for k in range(offsets[support[s]], offsets[support[s] + 1]):
                    c = columns[k]
                    if c < row and not is_among(support, n, c) and not is_among(best_columns, n_best, c):
                        score = number(0.0)
                        for t in range(n):
                            score += scaled_entry(offsets, columns, values, scale, c, support[t]) * z[t]
                        score = wp.abs(score)
                        if score > number(0.0):
                            n_best = rank(best, best_columns, n_best, room, score, c)
            old = energy
            for m in range(n_best):
                if is_growing:
                    c = best_columns[m]
                    pivot = number(1.0)
                    product = number(0.0)
                    for j in range(n):
                        value = scaled_entry(offsets, columns, values, scale, c, support[j])
                        for q in range(j):
                            value -= factor[n * width + q] * factor[j * width + q]
                        value = value / factor[j * width + j]
                        factor[n * width + j] = value
                        pivot -= value * value
                        product += value * y[j]
                    if pivot > floor:
                        factor[n * width + n] = wp.sqrt(pivot)
                        y[n] = -product / factor[n * width + n]
                        energy += y[n] * y[n]
                        support[n] = c
                        n += 1
                    else:
                        is_growing = False
                        wp.atomic_add(status, 1, 1)
            for m in range(n):
                j = n - 1 - m
                value = y[j]
                for q in range(j + 1, n):
                    value -= factor[q * width + j] * z[q]
                z[j] = value / factor[j * width + j]
            if n_best == 0 or (tolerance > number(0.0) and number(1.0) - old / energy <= tolerance):
                is_growing = False
        counts[row] = n
        for k in range(n):
            supports[row, k] = support[k]

    return select_columns


@functools.cache
def fitting(width: int, number: Any, storage: Any) -> Kernel:
    """The kernel that solves for the values of a row whose columns are chosen."""
    size = width * width

    @wp.kernel(enable_backward=False, module="unique")
    def fit_rows(
        offsets: wp.array(dtype=int),
        columns: wp.array(dtype=int),
        values: wp.array(dtype=number),
        scale: wp.array(dtype=number),
        floor: number,
        raises: bool,
        supports: wp.array2d(dtype=int),
        counts: wp.array(dtype=int),
        fitted: wp.array2d(dtype=storage),
        status: wp.array(dtype=int),
    ):
        """`raises`: a pivot below the floor is raised to it; a row that fails becomes diagonal."""
        row = wp.tid()
        z = wp.zeros(shape=(width,), dtype=number)
        y = wp.zeros(shape=(width,), dtype=number)
        factor = wp.zeros(shape=(size,), dtype=number)
        n = counts[row]
        is_raised = False
        is_fit = True
        for k in range(n):
            if not scale[supports[row, k]] > number(0.0):
                is_fit = False
        for k in range(n):
            pivot = number(1.0)
            product = number(0.0)
            for j in range(k):
                value = scaled_entry(offsets, columns, values, scale, supports[row, k], supports[row, j])
                for q in range(j):
                    value -= factor[k * width + q] * factor[j * width + q]
                value = value / factor[j * width + j]
                factor[k * width + j] = value
                pivot -= value * value
                product += value * y[j]
            if not wp.isfinite(pivot):
                is_fit = False
                pivot = number(1.0)
            elif not pivot > floor:
                is_raised = True
                pivot = floor
            factor[k * width + k] = wp.sqrt(pivot)
            first = number(0.0)
            if k == 0:
                first = number(1.0)
            y[k] = (first - product) / factor[k * width + k]
        for m in range(n):
            j = n - 1 - m
            value = y[j]
            for q in range(j + 1, n):
                value -= factor[q * width + j] * z[q]
            z[j] = value / factor[j * width + j]
        if is_raised and not raises:
            is_fit = False
        for k in range(n):
            value = storage(z[k] * scale[supports[row, k]] / wp.sqrt(z[0]))
            fitted[row, k] = value
            if not wp.isfinite(value) or (k == 0 and not value > storage(0.0)):
                is_fit = False
        if not is_fit:
            wp.atomic_add(status, FAILED, 1)
            for k in range(n):
                fitted[row, k] = storage(0.0)
            diagonal = storage(scale[row])
            if not (diagonal > storage(0.0) and wp.isfinite(diagonal)):
                diagonal = storage(1.0)
            fitted[row, 0] = diagonal
        elif is_raised:
            wp.atomic_add(status, RAISED, 1)

    return fit_rows


@wp.kernel(enable_backward=False)
def sort_columns(
    supports: wp.array2d(dtype=int),
    counts: wp.array(dtype=int),
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    rows: wp.array(dtype=int),
):
    """Rows of the factor from its columns in the order in which they were chosen."""
    row = wp.tid()
    for k in range(counts[row]):
        before = int(0)
        for j in range(counts[row]):
            if supports[row, j] < supports[row, k]:
                before += 1
        columns[offsets[row] + before] = supports[row, k]
        rows[offsets[row] + before] = row


@wp.func
def is_usable(status: wp.array(dtype=int), raises: bool):
    return status[MOVED] == 0 and (raises or (status[INVALID] == 0 and status[FAILED] == 0))


@wp.kernel(enable_backward=False)
def publish(
    supports: wp.array2d(dtype=int),
    counts: wp.array(dtype=int),
    fitted: wp.array2d(dtype=Any),
    raises: bool,
    status: wp.array(dtype=int),
    offsets: wp.array(dtype=int),
    values: wp.array(dtype=Any),
):
    """Sets the factor's values, if they are usable."""
    row = wp.tid()
    if is_usable(status, raises):
        for k in range(counts[row]):
            before = int(0)
            for j in range(counts[row]):
                if supports[row, j] < supports[row, k]:
                    before += 1
            values[offsets[row] + before] = fitted[row, k]


@wp.kernel(enable_backward=False)
def permute(order: wp.array(dtype=int), source: wp.array(dtype=Any), target: wp.array(dtype=Any)):
    k = wp.tid()
    target[k] = source[order[k]]


@wp.kernel(enable_backward=False)
def multiply_factor(
    alpha: Any,
    beta: Any,
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    values: wp.array(dtype=Any),
    x: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
    z: wp.array(dtype=Any),
):
    row = wp.tid()
    total = alpha - alpha
    for k in range(offsets[row], offsets[row + 1]):
        total += type(alpha)(values[k]) * type(alpha)(x[columns[k]])
    total = alpha * total
    if beta != type(beta)(0.0):
        total += beta * type(beta)(y[row])
    z[row] = z.dtype(total)
