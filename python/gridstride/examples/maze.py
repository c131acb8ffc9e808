"""The way through a maze is where an electric current flows: a sparse linear system with walls that hardly conduct.

Every cell of the picture is an unknown potential, joined to its neighbors by conductors. The matrix is made of triplets
that a kernel writes, the system is solved by conjugate gradients with two preconditioners, and the current is drawn.
"""

import argparse

import numpy as np

import gridstride as wp
from gridstride import sparse
from gridstride.examples import picture
from gridstride.optim import linear


@wp.kernel
def conductors(
    conductance: wp.array2d(dtype=wp.float64),
    rows: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    values: wp.array(dtype=wp.float64),
):
    """Two triplets for each of a cell's two neighbors below and to the right, and their mirror images."""
    i, j, side = wp.tid()
    n, m = conductance.shape[0], conductance.shape[1]
    other_i, other_j = i + 1 - side, j + side
    cell, other = i * m + j, other_i * m + other_j
    flow = wp.float64(0.0)
    if other_i < n and other_j < m:
        a, b = conductance[i, j], conductance[other_i, other_j]
        flow = 2.0 * a * b / (a + b)
    else:
        # Outside: triplets there are left out.
        other = -1
    at = 4 * (2 * cell + side)
    rows[at], columns[at], values[at] = cell, cell, flow
    rows[at + 1], columns[at + 1], values[at + 1] = cell, other, -flow
    rows[at + 2], columns[at + 2], values[at + 2] = other, cell, -flow
    rows[at + 3], columns[at + 3], values[at + 3] = other, other, flow


@wp.kernel
def currents(
    conductance: wp.array2d(dtype=wp.float64), potential: wp.array(dtype=wp.float64), current: wp.array2d(dtype=float)
):
    i, j = wp.tid()
    n, m = conductance.shape[0], conductance.shape[1]
    total = wp.float64(0.0)
    for side in range(4):
        other_i, other_j = i, j
        if side < 2:
            other_i = i + 2 * side - 1
        else:
            other_j = j + 2 * side - 5
        if other_i >= 0 and other_i < n and other_j >= 0 and other_j < m:
            a, b = conductance[i, j], conductance[other_i, other_j]
            drop = potential[i * m + j] - potential[other_i * m + other_j]
            total += wp.abs(2.0 * a * b / (a + b) * drop)
    current[i, j] = float(0.5 * total)


def maze(size: int, seed: int) -> np.ndarray:
    """1 for ways, 0 for walls: each room is reached by one way, found by walking at random and turning back."""
    rng = np.random.default_rng(seed)
    cells = np.zeros((2 * size + 1, 2 * size + 1))
    cells[1, 1] = 1.0
    path = [(1, 1)]
    while path:
        i, j = path[-1]
        steps = [(di, dj) for di, dj in ((2, 0), (-2, 0), (0, 2), (0, -2)) if 0 < i + di < 2 * size]
        steps = [(di, dj) for di, dj in steps if 0 < j + dj < 2 * size and not cells[i + di, j + dj]]
        if not steps:
            path.pop()
            continue
        di, dj = steps[rng.integers(len(steps))]
        cells[i + di // 2, j + dj // 2] = cells[i + di, j + dj] = 1.0
        path.append((i + di, j + dj))
    return cells


def system(conductance: wp.array) -> sparse.BsrMatrix:
    n, m = conductance.shape
    rows, columns = (wp.zeros(8 * n * m, dtype=int, device=conductance.device) for _ in range(2))
    values = wp.zeros(8 * n * m, dtype=wp.float64, device=conductance.device)
    inputs = [conductance, rows, columns, values]
    wp.launch(conductors, dim=(n, m, 2), inputs=inputs, device=conductance.device)
    # The exit is grounded, so that the potential is defined.
    ground = np.zeros(n * m)
    ground[-m - 2] = 1.0
    made = sparse.bsr_from_triplets(n * m, n * m, rows, columns, values)
    return made + sparse.bsr_diag(wp.array(ground, dtype=wp.float64, device=conductance.device))


def residual(cells: np.ndarray, potential: np.ndarray) -> float:
    """How far the currents out of each cell are from what flows in, in NumPy."""
    potential = potential.reshape(cells.shape)
    missing = np.zeros(cells.shape)
    missing[1, 1] = -1.0
    missing[-2, -2] = potential[-2, -2]
    for axis in (0, 1):
        low, high = (np.take(cells, range(k, cells.shape[axis] - 1 + k), axis) for k in (0, 1))
        flow = 2.0 * low * high / (low + high) * -np.diff(potential, axis=axis)
        zero = np.zeros_like(np.take(flow, [0], axis))
        missing += np.concatenate([flow, zero], axis) - np.concatenate([zero, flow], axis)
    return float(np.abs(missing).max())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=32, help="rooms along a side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="out/maze.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    ways = maze(args.size, args.seed)
    cells = np.where(ways > 0.0, 1.0, 1e-4)
    conductance = wp.array(cells, dtype=wp.float64, device=args.device)
    matrix = system(conductance)
    source = np.zeros(cells.size)
    source[cells.shape[1] + 1] = 1.0
    b = wp.array(source, dtype=wp.float64, device=args.device)
    for name in ("diag", "fsai"):
        x = wp.zeros_like(b)
        with wp.ScopedTimer(f"{name}, {matrix.nnz_sync()} entries"):
            M = linear.preconditioner(matrix, name)
            iterations, norm, _ = linear.cg(matrix, b, x, tol=1e-9, maxiter=10 * cells.size, M=M)
        print(f"{name}: {iterations} iterations, residual {norm:.1e}")
    error = residual(cells, x.numpy())
    print(f"largest error of a cell's currents by NumPy: {error:.1e}")
    assert error < 1e-6

    current = wp.zeros(cells.shape, dtype=float, device=args.device)
    wp.launch(currents, dim=cells.shape, inputs=[conductance, x, current], device=args.device)
    pixels = picture.colors(np.log10(np.maximum(current.numpy(), 1e-4)) + 0.4 * ways, -3.2, 0.4)
    scale = max(1, 800 // len(cells))
    print("wrote", picture.save(args.out, pixels.repeat(scale, 0).repeat(scale, 1)))


if __name__ == "__main__":
    main()
