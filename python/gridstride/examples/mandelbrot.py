"""The Mandelbrot set: every thread iterates one pixel until it escapes, some for long and some not at all.

In double precision, and with the same operations in the same order as the NumPy program below: the two agree exactly.
"""

import argparse

import numpy as np

import gridstride as wp
from gridstride.examples import picture

LEFT, TOP, WIDTH = -2.2, -1.25, 3.0


@wp.kernel
def escape(rounds: wp.array2d(dtype=int), left: wp.float64, top: wp.float64, step: wp.float64, limit: int):
    row, column = wp.tid()
    cx = left + wp.float64(column) * step
    cy = top + wp.float64(row) * step
    x = wp.float64(0.0)
    y = wp.float64(0.0)
    count = 0
    while count < limit and x * x + y * y <= wp.float64(4.0):
        x, y = x * x - y * y + cx, wp.float64(2.0) * x * y + cy
        count += 1
    rounds[row, column] = count


def compute(width: int, height: int, limit: int, device: str = "cpu") -> np.ndarray:
    rounds = wp.zeros((height, width), dtype=int, device=device)
    wp.launch(escape, dim=(height, width), inputs=[rounds, LEFT, TOP, WIDTH / width, limit], device=device)
    return rounds.numpy()


def reference(width: int, height: int, limit: int) -> np.ndarray:
    step = WIDTH / width
    cx = np.broadcast_to(LEFT + np.arange(width) * step, (height, width)).ravel()
    cy = np.repeat(TOP + np.arange(height) * step, width)
    rounds = np.zeros(width * height, int)
    x, y = np.zeros_like(cx), np.zeros_like(cy)
    inside = np.arange(width * height)
    for _ in range(limit):
        inside = inside[x[inside] * x[inside] + y[inside] * y[inside] <= 4.0]
        a, b = x[inside], y[inside]
        x[inside], y[inside] = a * a - b * b + cx[inside], 2.0 * a * b + cy[inside]
        rounds[inside] += 1
    return rounds.reshape(height, width)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=960)
    parser.add_argument("--height", type=int, default=800)
    parser.add_argument("--limit", type=int, default=200, help="rounds after which a pixel counts as inside")
    parser.add_argument("--out", default="out/mandelbrot.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    with wp.ScopedTimer(f"{args.width} x {args.height} pixels"):
        rounds = compute(args.width, args.height, args.limit, args.device)
    different = int((rounds != reference(args.width, args.height, args.limit)).sum())
    print(f"pixels that differ from NumPy: {different}")
    assert different == 0
    shade = np.where(rounds == args.limit, 0.0, np.log1p(rounds))
    print("wrote", picture.save(args.out, picture.colors(shade)))


if __name__ == "__main__":
    main()
