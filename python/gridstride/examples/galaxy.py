"""Two galaxies pass each other: every star pulls every other one.

Every thread adds up the pull on one star. Stars start on circles around the center of their galaxy; as the galaxies
pass, tides draw out arms and a bridge. Time runs by the leapfrog scheme: velocities live half a step behind positions.
"""

import argparse
from collections.abc import Callable

import numpy as np

import gridstride as wp
from gridstride.examples import picture


@wp.kernel
def accelerate(
    positions: wp.array(dtype=wp.vec3),
    masses: wp.array(dtype=float),
    softening: float,
    accelerations: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    here = positions[i]
    pull = wp.vec3(0.0, 0.0, 0.0)
    for j in range(positions.shape[0]):
        away = positions[j] - here
        # The softening keeps close stars from flinging each other out, and makes a star's pull on itself zero.
        distance = wp.sqrt(wp.dot(away, away) + softening * softening)
        pull += masses[j] / (distance * distance * distance) * away
    accelerations[i] = pull


@wp.kernel
def advance(
    positions: wp.array(dtype=wp.vec3),
    velocities: wp.array(dtype=wp.vec3),
    accelerations: wp.array(dtype=wp.vec3),
    dt: float,
):
    i = wp.tid()
    velocities[i] = velocities[i] + accelerations[i] * dt
    positions[i] = positions[i] + velocities[i] * dt


@wp.kernel
def draw(positions: wp.array(dtype=wp.vec3), colors: wp.array(dtype=wp.vec3), light: wp.array2d(dtype=wp.vec3)):
    """Adds every star's light to the pixels around it, seen from above."""
    i = wp.tid()
    size = light.shape[0]
    scale = float(size) / 6.0
    x = positions[i][0] * scale + 0.5 * float(size)
    y = 0.5 * float(size) - positions[i][1] * scale
    for row in range(int(y) - 2, int(y) + 3):
        for column in range(int(x) - 2, int(x) + 3):
            if row >= 0 and row < size and column >= 0 and column < size:
                dx = float(column) + 0.5 - x
                dy = float(row) + 0.5 - y
                wp.atomic_add(light, row, column, wp.exp(-0.8 * (dx * dx + dy * dy)) * colors[i])


SOFTENING = 0.05
DT = 0.01
CENTER_MASS = 1.0
DISC_MASS = 0.1


def disc(n: int, center, drift, tilt: float, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A heavy center and n - 1 light stars on circles around it."""
    radius = 0.15 + 0.75 * np.sqrt(rng.random(n))
    angle = 2.0 * np.pi * rng.random(n)
    radius[0] = 0.0
    inside = DISC_MASS * np.clip((radius - 0.15) / 0.75, 0.0, 1.0) ** 2
    speed = np.sqrt((CENTER_MASS + inside) * radius**2 / (radius**2 + SOFTENING**2) ** 1.5)
    zero = np.zeros(n)
    positions = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0.02 * rng.normal(size=n) * (radius > 0)], 1)
    velocities = np.stack([-speed * np.sin(angle), speed * np.cos(angle), zero], 1)
    c, s = np.cos(tilt), np.sin(tilt)
    turn = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    masses = np.full(n, DISC_MASS / n)
    masses[0] = CENTER_MASS
    return positions @ turn.T + center, velocities @ turn.T + drift, masses


def start(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities, masses."""
    rng = np.random.default_rng(11)
    one = disc(n // 2, (-1.2, -0.55, 0.0), (0.55, 0.1, 0.0), 0.35, rng)
    two = disc(n - n // 2, (1.2, 0.55, 0.0), (-0.55, -0.1, 0.0), -0.6, rng)
    return tuple(np.concatenate(pair).astype(np.float32) for pair in zip(one, two, strict=True))


class Simulation:
    """The stars on a device."""

    def __init__(self, positions: np.ndarray, velocities: np.ndarray, masses: np.ndarray, device: str = "cpu"):
        n = len(masses)
        self.device = device
        self.positions = wp.array(positions, dtype=wp.vec3, device=device)
        self.velocities = wp.array(velocities, dtype=wp.vec3, device=device)
        self.masses = wp.array(masses, dtype=float, device=device)
        self.accelerations = wp.zeros(n, dtype=wp.vec3, device=device)
        warm, cold = (1.0, 0.55, 0.25), (0.3, 0.55, 1.0)
        colors = np.where((np.arange(n) < n // 2)[:, None], warm, cold)
        self.colors = wp.array(colors.astype(np.float32), dtype=wp.vec3, device=device)

    def run(self, steps: int, progress: Callable[[], None] = lambda: None) -> None:
        n = self.positions.shape[0]
        for _ in range(steps):
            inputs = [self.positions, self.masses, SOFTENING]
            wp.launch(accelerate, dim=n, inputs=inputs, outputs=[self.accelerations], device=self.device)
            inputs = [self.positions, self.velocities, self.accelerations, DT]
            wp.launch(advance, dim=n, inputs=inputs, device=self.device)
            progress()

    def picture(self, size: int = 600) -> np.ndarray:
        n = self.positions.shape[0]
        light = wp.zeros((size, size), dtype=wp.vec3, device=self.device)
        wp.launch(draw, dim=n, inputs=[self.positions, self.colors, light], device=self.device)
        return picture.glow(light.numpy() * (1.6 * (4096.0 / n) ** 0.5))


def pull_in_double(positions: np.ndarray, masses: np.ndarray) -> np.ndarray:
    pull = np.empty_like(positions)
    for start in range(0, len(positions), 256):  # in blocks, or the pairs would not fit into memory
        away = positions[None, :, :] - positions[start : start + 256, None, :]
        distance = np.sqrt(np.einsum("ijk,ijk->ij", away, away) + SOFTENING**2)
        pull[start : start + 256] = np.einsum("ij,ijk->ik", masses / distance**3, away)
    return pull


def reference(n: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The same in NumPy, in double precision: positions and velocities."""
    positions, velocities, masses = (x.astype(np.float64) for x in start(n))
    for _ in range(steps):
        velocities += pull_in_double(positions, masses) * DT
        positions += velocities * DT
    return positions, velocities


def difference(simulation: Simulation, steps: int) -> float:
    """Largest error of what `steps` changed in a velocity, beside the mean change; to be asked once they have run."""
    n = simulation.positions.shape[0]
    before = start(n)[1].astype(np.float64)
    _, expected = reference(n, steps)
    error = np.linalg.norm(simulation.velocities.numpy() - expected, axis=1)
    return float(error.max() / np.linalg.norm(expected - before, axis=1).mean())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stars", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=130, help="between two of the three pictures")
    parser.add_argument("--check-steps", type=int, default=3, help="compared with NumPy, which is slow")
    parser.add_argument("--out", default="out/galaxy.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    simulation = Simulation(*start(args.stars), args.device)
    simulation.run(args.check_steps)
    error = difference(simulation, args.check_steps)
    print(f"largest difference from NumPy in double precision: {error:.1e}")
    assert error < 1e-3
    frames = [simulation.picture()]
    with wp.ScopedTimer(f"{2 * args.steps} steps of {args.stars} stars"):
        for _ in range(2):
            simulation.run(args.steps)
            frames.append(simulation.picture())
    print("wrote", picture.save(args.out, picture.strip(frames)))


if __name__ == "__main__":
    main()
