"""A net of springs is to hang in a given shape: gradient descent finds how long its springs must be at rest.

Masses hang on springs from two corners and fall for a while under gravity and friction. Each step is a launch that
gathers the forces of a mass's four springs; Adam changes the springs until the net's lowest row is a wave.
"""

import argparse

import numpy as np

import gridstride as wp
from gridstride.examples import picture

STIFF, FRICTION, GRAVITY = 400.0, 1.5, 0.5


@wp.func
def pull(a: wp.vec2, b: wp.vec2, rest: float) -> wp.vec2:
    d = b - a
    length = wp.length(d) + 1.0e-6
    return STIFF * (length - rest) / length * d


@wp.kernel
def move(
    x: wp.array2d(dtype=wp.vec2),
    v: wp.array2d(dtype=wp.vec2),
    across: wp.array2d(dtype=float),
    down: wp.array2d(dtype=float),
    dt: float,
    x1: wp.array2d(dtype=wp.vec2),
    v1: wp.array2d(dtype=wp.vec2),
):
    i, j = wp.tid()
    n, m = x.shape[0], x.shape[1]
    at = x[i, j]
    force = wp.vec2(0.0, -GRAVITY) - FRICTION * v[i, j]
    if j > 0:
        force = force + pull(at, x[i, j - 1], across[i, j - 1])
    if j < m - 1:
        force = force + pull(at, x[i, j + 1], across[i, j])
    if i > 0:
        force = force + pull(at, x[i - 1, j], down[i - 1, j])
    if i < n - 1:
        force = force + pull(at, x[i + 1, j], down[i, j])
    speed = v[i, j] + dt * force
    if i == 0 and (j == 0 or j == m - 1):
        speed = wp.vec2(0.0, 0.0)
    v1[i, j] = speed
    x1[i, j] = at + dt * speed


@wp.kernel
def misfit(x: wp.array2d(dtype=wp.vec2), shape: wp.array(dtype=wp.vec2), loss: wp.array(dtype=float)):
    j = wp.tid()
    d = x[x.shape[0] - 1, j] - shape[j]
    wp.atomic_add(loss, 0, wp.dot(d, d))


class Net:
    """Every state of the fall in arrays of its own, so that the tape has nothing to save."""

    def __init__(self, rows: int, columns: int, steps: int, device: str) -> None:
        y, x = np.mgrid[0:rows, 0:columns].astype(np.float32)
        start = np.stack([x / (columns - 1), -y / (columns - 1)], axis=-1)
        make = lambda values: wp.array(values, dtype=wp.vec2, requires_grad=True)  # noqa: E731
        self.x = [make(start) for _ in range(steps + 1)]
        self.v = [make(np.zeros_like(start)) for _ in range(steps + 1)]
        rest = 1.0 / (columns - 1)
        self.across = wp.full((rows, columns - 1), rest, dtype=float, requires_grad=True)
        self.down = wp.full((rows - 1, columns), rest, dtype=float, requires_grad=True)
        along = np.linspace(0.0, 1.0, columns)
        wave = np.stack([0.15 + 0.7 * along, -0.75 - 0.1 * np.cos(4.0 * np.pi * along)], axis=1)
        self.shape = wp.array(wave, dtype=wp.vec2)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)
        self.steps, self.device = steps, device

    def fall(self) -> float:
        self.loss.zero_()
        for t in range(self.steps):
            inputs = [self.x[t], self.v[t], self.across, self.down, 0.02]
            outputs = [self.x[t + 1], self.v[t + 1]]
            wp.launch(move, dim=self.x[t].shape, inputs=inputs, outputs=outputs, device=self.device)
        last = self.x[-1]
        wp.launch(misfit, dim=last.shape[1], inputs=[last, self.shape, self.loss], device=self.device)
        return float(self.loss.numpy()[0])


def draw(positions: np.ndarray, shape: np.ndarray, size: int = 300) -> np.ndarray:
    pixels = np.full((size, size, 3), 16, np.uint8)
    place = lambda points: np.stack([25 + points[..., 0] * (size - 50), 15 - points[..., 1] * (size - 50)], -1)  # noqa: E731
    for net in (positions, positions.transpose(1, 0, 2)):
        bright = picture.colors(np.linspace(0.35, 0.85, len(net)), 0.0, 1.0)
        for row, color in zip(net, bright, strict=True):
            picture.line(pixels, place(row), color)
    picture.dots(pixels, place(positions[0][[0, -1]]), (252, 255, 220), 7)
    picture.line(pixels, place(shape), (120, 255, 120), 2)
    return pixels


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=9)
    parser.add_argument("--columns", type=int, default=17)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--rate", type=float, default=5e-4, help="step size of the search")
    parser.add_argument("--out", default="out/spring_net.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    net = Net(args.rows, args.columns, args.steps, args.device)
    optimizer = wp.optim.Adam([net.across, net.down], lr=args.rate)
    losses: list[float] = []
    frames = []
    with wp.ScopedTimer(f"{args.iterations} iterations of {args.steps} steps"):
        for iteration in range(args.iterations):
            with wp.Tape() as tape:
                losses.append(net.fall())
            if iteration == 0:
                frames.append(draw(net.x[-1].numpy(), net.shape.numpy()))
            tape.zero()
            tape.backward(net.loss)
            optimizer.step()
    frames.append(draw(net.x[-1].numpy(), net.shape.numpy()))
    print(f"squared distance from the shape: {losses[0]:.3g} at first, {losses[-1]:.3g} at last")
    assert losses[-1] < 0.3 * losses[0]
    print("wrote", picture.save(args.out, picture.strip([*frames, picture.curve(losses, 300)])))


if __name__ == "__main__":
    main()
