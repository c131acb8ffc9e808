"""Bodies that attract each other are to meet in given places: gradient descent finds the speeds to start with.

All pairs attract each other; each step is a launch with a loop over the other bodies, in float64. The loop over time is
checkpointed, and the bodies move in place: what a step overwrites comes back when the tape runs it again.
"""

import argparse

import numpy as np

import gridstride as wp
from gridstride.examples import picture


@wp.kernel
def attract(x: wp.array(dtype=wp.vec2d), v: wp.array(dtype=wp.vec2d), dt: wp.float64):
    i = wp.tid()
    here = x[i]
    pull = wp.vec2d(wp.float64(0.0), wp.float64(0.0))
    for j in range(x.shape[0]):
        d = x[j] - here
        r2 = wp.dot(d, d) + wp.float64(0.05)
        pull = pull + d / (r2 * wp.sqrt(r2))
    v[i] = v[i] + dt / wp.float64(x.shape[0]) * pull


@wp.kernel
def drift(x: wp.array(dtype=wp.vec2d), v: wp.array(dtype=wp.vec2d), dt: wp.float64):
    i = wp.tid()
    x[i] = x[i] + dt * v[i]


@wp.kernel
def distance(x: wp.array(dtype=wp.vec2d), places: wp.array(dtype=wp.vec2d), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    d = x[i] - places[i]
    wp.atomic_add(loss, 0, wp.dot(d, d))


class Bodies:
    def __init__(self, n: int, steps: int, device: str) -> None:
        angle = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
        ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        self.start = wp.array(ring, dtype=wp.vec2d)
        self.speed = wp.array(0.7 * np.stack([-ring[:, 1], ring[:, 0]], axis=1), dtype=wp.vec2d, requires_grad=True)
        # A diamond: every other body comes closer.
        self.places = wp.array(ring * np.where(np.arange(n) % 2, 0.5, 1.1)[:, None], dtype=wp.vec2d)
        self.x = wp.zeros(n, dtype=wp.vec2d, requires_grad=True)
        self.v = wp.zeros(n, dtype=wp.vec2d, requires_grad=True)
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        self.steps, self.device = steps, device

    def run(self, numbers: object, trace: list[np.ndarray] | None = None) -> float:
        self.loss.zero_()
        self.x.assign(self.start)
        self.v.assign(self.speed)
        dt = wp.float64(2.0 / self.steps)
        for _ in numbers:
            for kernel in (attract, drift):
                wp.launch(kernel, dim=len(self.x), inputs=[self.x, self.v, dt], device=self.device)
            if trace is not None:
                trace.append(self.x.numpy().copy())
        inputs = [self.x, self.places, self.loss]
        wp.launch(distance, dim=len(self.x), inputs=inputs, device=self.device)
        return float(self.loss.numpy()[0])


def draw(trace: list[np.ndarray], places: np.ndarray, size: int = 300) -> np.ndarray:
    pixels = np.full((size, size, 3), 16, np.uint8)
    paths = size / 2 + np.stack(trace) * size / 3.2
    bright = picture.colors(np.linspace(0.25, 0.8, len(paths)), 0.0, 1.0)
    for body in range(paths.shape[1]):
        for step in range(1, len(paths)):
            picture.line(pixels, paths[step - 1 : step + 1, body], bright[step])
    picture.dots(pixels, size / 2 + places * size / 3.2, (120, 255, 120), 7)
    picture.dots(pixels, paths[-1], (252, 165, 10), 5)
    return pixels


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument("--out", default="out/orbits.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    bodies = Bodies(args.bodies, args.steps, args.device)
    optimizer = wp.optim.Adam([bodies.speed], lr=0.03)
    losses: list[float] = []
    frames = []
    for final in (False, True):
        trace: list[np.ndarray] = []
        bodies.run(range(args.steps), trace)
        frames.append(draw(trace, bodies.places.numpy()))
        if final:
            break
        with wp.ScopedTimer(f"{args.iterations} iterations of {args.steps} steps"):
            for _ in range(args.iterations):
                with wp.Tape() as tape:
                    losses.append(bodies.run(tape.checkpoint(args.steps)))
                tape.zero()
                tape.backward(bodies.loss)
                optimizer.step()
    print(f"squared distance from the places: {losses[0]:.3g} at first, {losses[-1]:.3g} at last")
    assert losses[-1] < 0.05 * losses[0]
    print("wrote", picture.save(args.out, picture.strip([*frames, picture.curve(losses, 300)])))


if __name__ == "__main__":
    main()
