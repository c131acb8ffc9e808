"""Heat spreads over a plate whose rim is kept cold: a five-point stencil on a grid.

Every thread computes one cell of the next moment from the cell and its four neighbors. Two arrays take turns, so that
no thread reads what another one writes.
"""

import argparse

import numpy as np

import gridstride as wp
from gridstride.examples import picture


@wp.kernel
def spread(now: wp.array2d(dtype=float), later: wp.array2d(dtype=float), rate: float):
    i, j = wp.tid()
    n, m = now.shape[0], now.shape[1]
    if i == 0 or j == 0 or i == n - 1 or j == m - 1:
        later[i, j] = now[i, j]
        return
    neighbors = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
    later[i, j] = now[i, j] + rate * (neighbors - 4.0 * now[i, j])


def hot_spots(size: int) -> np.ndarray:
    y, x = np.mgrid[0:size, 0:size] / size
    plate = np.zeros((size, size))
    for cx, cy, radius, heat in [(0.3, 0.35, 0.15, 1.0), (0.7, 0.6, 0.2, 0.7), (0.45, 0.8, 0.08, 0.9)]:
        plate[(x - cx) ** 2 + (y - cy) ** 2 < radius**2] = heat
    return plate


def simulate(plate: np.ndarray, steps: int, rate: float = 0.2, device: str = "cpu") -> np.ndarray:
    now = wp.array(plate, dtype=float, device=device)
    later = wp.zeros_like(now)
    for _ in range(steps):
        wp.launch(spread, dim=now.shape, inputs=[now, later, rate], device=device)
        now, later = later, now
    return now.numpy()


def reference(plate: np.ndarray, steps: int, rate: float = 0.2) -> np.ndarray:
    """The same in NumPy, in double precision."""
    now = plate.astype(np.float64)
    for _ in range(steps):
        later = now.copy()
        neighbors = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
        later[1:-1, 1:-1] += rate * (neighbors - 4.0 * now[1:-1, 1:-1])
        now = later
    return now


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=512, help="cells along a side")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--out", default="out/heat.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    plate = hot_spots(args.size)
    with wp.ScopedTimer(f"{args.steps} steps on {args.size} x {args.size} cells"):
        warm = simulate(plate, args.steps, device=args.device)
    error = np.abs(warm - reference(plate, args.steps)).max()
    print(f"largest difference from NumPy in double precision: {error:.1e}")
    assert error < 1e-4
    print("wrote", picture.save(args.out, picture.colors(warm, 0.0, 1.0)))


if __name__ == "__main__":
    main()
