"""Where was the plate heated? The sources of heat are found from the temperatures that one sees in the end.

A plate of cells conducts heat for many steps while unknown sources heat it. Adam looks for sources that lead to the
temperatures seen. The time loop is checkpointed: the tape keeps few of its states and runs the rest again.
"""

import argparse

import numpy as np

import gridstride as wp
from gridstride.examples import picture


@wp.kernel
def conduct(
    now: wp.array2d(dtype=float),
    source: wp.array2d(dtype=float),
    later: wp.array2d(dtype=float),
    rate: float,
    dt: float,
):
    i, j = wp.tid()
    n, m = now.shape[0], now.shape[1]
    middle = now[i, j]
    around = now[wp.max(i - 1, 0), j] + now[wp.min(i + 1, n - 1), j]
    around = around + now[i, wp.max(j - 1, 0)] + now[i, wp.min(j + 1, m - 1)]
    heat = wp.max(source[i, j], 0.0)
    later[i, j] = middle + rate * (around - 4.0 * middle) + dt * heat


@wp.kernel
def difference(seen: wp.array2d(dtype=float), found: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    i, j = wp.tid()
    d = found[i, j] - seen[i, j]
    wp.atomic_add(loss, 0, d * d)


def true_sources(size: int) -> np.ndarray:
    y, x = np.mgrid[0:size, 0:size] / size
    plate = np.zeros((size, size))
    for cx, cy, radius, heat in [(0.3, 0.35, 0.14, 1.0), (0.72, 0.6, 0.1, 0.8), (0.4, 0.8, 0.07, 0.9)]:
        plate[(x - cx) ** 2 + (y - cy) ** 2 < radius**2] = heat
    return plate


class Plate:
    """Two arrays of temperatures that take turns."""

    def __init__(self, size: int, steps: int, device: str) -> None:
        self.states = [wp.zeros((size, size), dtype=float, requires_grad=True) for _ in range(2)]
        self.steps, self.device = steps, device

    def run(self, source: wp.array, numbers: object = None) -> wp.array:
        now, later = self.states
        now.zero_()
        for _ in numbers or range(self.steps):
            inputs = [now, source, later, 0.2, 1.0 / self.steps]
            wp.launch(conduct, dim=now.shape, inputs=inputs, device=self.device)
            now, later = later, now
        return now


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=64, help="cells along a side")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--out", default="out/heat_source.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    plate = Plate(args.size, args.steps, args.device)
    right = true_sources(args.size)
    seen = wp.clone(plate.run(wp.array(right, dtype=float)), requires_grad=False)
    source = wp.full((args.size, args.size), 0.1, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    optimizer = wp.optim.Adam([source], lr=0.05)
    losses = []
    with wp.ScopedTimer(f"{args.iterations} iterations of {args.steps} steps"):
        for _ in range(args.iterations):
            loss.zero_()
            with wp.Tape() as tape:
                found = plate.run(source, tape.checkpoint(args.steps))
                wp.launch(difference, dim=found.shape, inputs=[seen, found, loss], device=args.device)
            losses.append(float(loss.numpy()[0]))
            tape.zero()
            tape.backward(loss)
            optimizer.step()
    state = 4 * args.size**2
    print(f"the tape held {tape.saved_bytes / state:.0f} states at most, of {args.steps} steps")
    print(f"squared difference of temperatures: {losses[0]:.3g} at first, {losses[-1]:.3g} at last")
    assert losses[-1] < 0.05 * losses[0]
    frames = [
        picture.shrink(picture.colors(values), 256) for values in (right, seen.numpy(), np.maximum(source.numpy(), 0.0))
    ]
    print("wrote", picture.save(args.out, picture.strip([*frames, picture.curve(losses, 256)])))


if __name__ == "__main__":
    main()
