"""Particles are thrown into a box; they fall, bounce off its six walls and lose speed with each bounce.

Every thread moves one particle. A struct holds what is the same for all of them, a function the bounce along one axis.
"""

import argparse
from collections.abc import Callable

import numpy as np

import gridstride as wp
from gridstride.examples import picture


@wp.struct
class Box:
    half: wp.vec3  # the walls are at -half and +half
    gravity: wp.vec3
    keep: float  # share of its speed that a particle keeps when it bounces


@wp.func
def bounce(at: float, speed: float, pull: float, wall: float, keep: float):
    """Position and speed along one axis, for a particle that went through the wall during this step.

    From how far it went follows how fast it hit the wall and how long ago; it then flies on from there.
    """
    over = at - wall
    hit = wp.sign(over) * wp.sqrt(wp.max(speed * speed - 2.0 * pull * over, 0.0))
    since = 2.0 * over / (speed + hit)
    away = -keep * hit
    return wp.clamp(wall + (away + 0.5 * pull * since) * since, -wp.abs(wall), wp.abs(wall)), away + pull * since


@wp.kernel
def move(positions: wp.array(dtype=wp.vec3), velocities: wp.array(dtype=wp.vec3), box: Box, dt: float):
    i = wp.tid()
    velocity = velocities[i] + box.gravity * dt
    position = positions[i] + (velocities[i] + velocity) * (0.5 * dt)
    for axis in range(3):
        wall = box.half[axis]
        if wp.abs(position[axis]) > wall:
            wall *= wp.sign(position[axis])
            at, speed = bounce(position[axis], velocity[axis], box.gravity[axis], wall, box.keep)
            position[axis] = at
            velocity[axis] = speed
    positions[i] = position
    velocities[i] = velocity


@wp.kernel
def draw(positions: wp.array(dtype=wp.vec3), velocities: wp.array(dtype=wp.vec3), light: wp.array2d(dtype=wp.vec3)):
    """Adds every particle's light to its pixel, seen from the front: fast ones are warm, slow ones are cold."""
    i = wp.tid()
    rows, columns = light.shape[0], light.shape[1]
    at = positions[i]
    row = int((0.5 - 0.5 * at[1]) * float(rows - 1))
    column = int((0.5 + 0.5 * at[0] / 1.5) * float(columns - 1))
    heat = wp.min(wp.length(velocities[i]) / 3.0, 1.0)
    near = 0.4 + 0.3 * (at[2] + 1.0)
    color = wp.vec3(0.1 + 0.9 * heat, 0.25 + 0.25 * heat, 1.0 - 0.9 * heat) * near
    if row >= 0 and row < rows and column >= 0 and column < columns:
        wp.atomic_add(light, row, column, color)


HALF = (1.5, 1.0, 1.0)
GRAVITY = (0.0, -1.5, 0.0)
KEEP = 0.85
DT = 0.005


def start(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities: two drops of particles high in the corners, thrown at each other."""
    rng = np.random.default_rng(3)
    direction = rng.normal(size=(n, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    side = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    positions = 0.3 * rng.random((n, 1)) ** (1 / 3) * direction
    positions[:, 0] += 1.1 * side
    positions[:, 1] += 0.6
    velocities = rng.normal(scale=0.25, size=(n, 3))
    velocities[:, 0] -= 1.6 * side
    velocities[:, 2] += 0.7 * side
    return positions.astype(np.float32), velocities.astype(np.float32)


class Simulation:
    """The particles on a device."""

    def __init__(self, positions: np.ndarray, velocities: np.ndarray, device: str = "cpu"):
        self.device = device
        self.positions = wp.array(positions, dtype=wp.vec3, device=device)
        self.velocities = wp.array(velocities, dtype=wp.vec3, device=device)
        self.box = Box()
        self.box.half = wp.vec3(*HALF)
        self.box.gravity = wp.vec3(*GRAVITY)
        self.box.keep = KEEP

    def run(self, steps: int, progress: Callable[[], None] = lambda: None) -> None:
        for _ in range(steps):
            inputs = [self.positions, self.velocities, self.box, DT]
            wp.launch(move, dim=self.positions.shape[0], inputs=inputs, device=self.device)
            progress()

    def picture(self, height: int = 400) -> np.ndarray:
        n = self.positions.shape[0]
        light = wp.zeros((height, height * 3 // 2), dtype=wp.vec3, device=self.device)
        wp.launch(draw, dim=n, inputs=[self.positions, self.velocities, light], device=self.device)
        return picture.glow(light.numpy() * (0.3 * height * height / n))


def reference(positions: np.ndarray, velocities: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The same in NumPy, in double precision."""
    position, velocity = positions.astype(np.float64), velocities.astype(np.float64)
    pull, half = np.array(GRAVITY), np.array(HALF)
    for _ in range(steps):
        before, velocity = velocity, velocity + DT * pull
        position = position + 0.5 * DT * (before + velocity)
        particle, axis = np.nonzero(np.abs(position) > half)
        at, speed = position[particle, axis], velocity[particle, axis]
        wall = half[axis] * np.sign(at)
        over = at - wall
        hit = np.sign(over) * np.sqrt(np.maximum(speed * speed - 2.0 * pull[axis] * over, 0.0))
        since = 2.0 * over / (speed + hit)
        away = -KEEP * hit
        landed = wall + (away + 0.5 * pull[axis] * since) * since
        position[particle, axis] = np.clip(landed, -half[axis], half[axis])
        velocity[particle, axis] = away + pull[axis] * since
    return position, velocity


def difference(simulation: Simulation, steps: int) -> float:
    """Largest distance of a particle from where NumPy has it, once `steps` have run."""
    expected, _ = reference(*start(simulation.positions.shape[0]), steps)
    return float(np.abs(simulation.positions.numpy() - expected).max())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, default=200_000)
    parser.add_argument("--steps", type=int, default=300, help="between two of the three pictures")
    parser.add_argument("--out", default="out/box.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    simulation = Simulation(*start(args.particles), args.device)
    frames = [simulation.picture()]
    with wp.ScopedTimer(f"{2 * args.steps} steps of {args.particles} particles"):
        for _ in range(2):
            simulation.run(args.steps)
            frames.append(simulation.picture())
    error = difference(simulation, 2 * args.steps)
    print(f"largest difference from NumPy in double precision: {error:.1e}")
    assert error < 5e-3
    print("wrote", picture.save(args.out, picture.strip(frames)))


if __name__ == "__main__":
    main()
