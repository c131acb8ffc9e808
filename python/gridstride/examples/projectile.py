"""A thrown ball is to hit a target behind a wall of wind: gradient descent finds the throw.

The whole flight is a loop inside of one kernel, with drag, wind and a bounce; the tape goes back through the loop. The
derivative is checked against central differences before the search begins.
"""

import argparse

import numpy as np

import gridstride as wp
from gridstride.examples import picture


@wp.func
def wind(at: wp.vec2) -> wp.vec2:
    strength = 6.0 * wp.exp(-0.5 * (at[0] - 4.0) * (at[0] - 4.0))
    return wp.vec2(-strength, 0.0)


@wp.kernel
def fly(
    throw: wp.array(dtype=wp.vec2),
    target: wp.vec2,
    steps: int,
    dt: float,
    path: wp.array(dtype=wp.vec2),
    loss: wp.array(dtype=float),
):
    x = wp.vec2(0.0, 0.0)
    v = throw[0]
    for step in range(steps):
        air = v - wind(x)
        v = v + dt * (wp.vec2(0.0, -9.81) - 0.05 * wp.length(air) * air)
        x = x + dt * v
        if x[1] < 0.0:
            x = wp.vec2(x[0], -x[1])
            v = wp.vec2(v[0], -0.7 * v[1])
        path[step] = x
    loss[0] = wp.dot(x - target, x - target)


class Search:
    """The flight, and the gradient of its end's distance from the target."""

    def __init__(self, steps: int, device: str) -> None:
        self.throw = wp.array([wp.vec2(5.0, 9.0)], dtype=wp.vec2, requires_grad=True)
        self.path = wp.zeros(steps, dtype=wp.vec2)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)
        self.inputs = [self.throw, wp.vec2(8.0, 2.0), steps, 1.5 / steps]
        self.device = device

    def distance(self) -> float:
        wp.launch(fly, dim=1, inputs=self.inputs, outputs=[self.path, self.loss], device=self.device)
        return float(self.loss.numpy()[0])

    def gradient(self) -> float:
        """Fills the throw's `grad`, and gives the squared distance."""
        with wp.Tape() as tape:
            distance = self.distance()
        tape.zero()
        tape.backward(self.loss)
        return distance

    def check(self) -> float:
        """The largest difference from central differences, as a part of the gradient."""
        self.gradient()
        found, start = self.throw.grad.numpy().copy()[0], self.throw.numpy().copy()
        expected = []
        for axis in range(2):
            sides = []
            for h in (-1e-2, 1e-2):
                moved = start.copy()
                moved[0, axis] += h
                self.throw.assign(moved)
                sides.append(self.distance())
            expected.append((sides[1] - sides[0]) / 2e-2)
        self.throw.assign(start)
        return float(np.abs(found - expected).max() / np.abs(expected).max())


def draw(paths: list[np.ndarray], losses: list[float], size: int = 360) -> np.ndarray:
    sky = np.full((size, size, 3), 16, np.uint8)
    place = lambda points: np.stack([10 + points[:, 0] * 40, size - 20 - points[:, 1] * 40], axis=1)  # noqa: E731
    for number, path in enumerate(paths):
        bright = 60 + 195 * number // max(len(paths) - 1, 1)
        picture.line(sky, place(path), (bright, bright // 2, 110 - bright // 4))
    picture.dots(sky, place(np.array([[8.0, 2.0]])), (120, 255, 120), 9)
    return picture.strip([sky, picture.curve(losses, size)])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=500, help="steps of a flight")
    parser.add_argument("--iterations", type=int, default=80)
    parser.add_argument("--out", default="out/projectile.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    search = Search(args.steps, args.device)
    error = search.check()
    print(f"difference from central differences: {error:.1e} of the gradient")
    assert error < 1e-2
    optimizer = wp.optim.Adam([search.throw], lr=0.2)
    losses, paths = [], []
    with wp.ScopedTimer(f"{args.iterations} iterations of {args.steps} steps"):
        for iteration in range(args.iterations):
            losses.append(search.gradient())
            optimizer.step()
            if iteration % max(args.iterations // 12, 1) == 0:
                paths.append(search.path.numpy().copy())
    paths.append(search.path.numpy().copy())
    print(f"squared distance from the target: {losses[0]:.3g} at first, {losses[-1]:.3g} at last")
    assert losses[-1] < 0.05 * losses[0]
    print("wrote", picture.save(args.out, draw(paths, losses)))


if __name__ == "__main__":
    main()
