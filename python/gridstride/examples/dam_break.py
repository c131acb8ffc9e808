"""A dam breaks: water as particles that push on their neighbors, which a hash grid finds anew in each step.

One kernel sums densities, another the forces of pressure and viscosity and moves the particles; walls reflect them.
Müller, Charypar & Gross, "Particle-based fluid simulation for interactive applications" (2003).
"""

import argparse
from collections.abc import Callable

import numpy as np

import gridstride as wp
from gridstride.examples import picture

SIZE = (2.0, 1.0, 0.5)
GRAVITY = -9.8
DENSITY = 1000.0
STIFFNESS = 60.0
VISCOSITY = 6.0
DT = 0.001


@wp.kernel
def measure(
    grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, mass: float, density: wp.array(dtype=float)
):
    # In the order of cells, so that threads side by side read the same neighbors.
    i = wp.hash_grid_point_id(grid, wp.tid())
    total = float(0.0)
    for j in wp.hash_grid_query(grid, points[i], radius):
        d = points[i] - points[j]
        near = wp.max(radius * radius - wp.dot(d, d), 0.0)
        total += near * near * near
    density[i] = mass * 315.0 / (64.0 * wp.pi * radius**9.0) * total


@wp.kernel
def move(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    velocities: wp.array(dtype=wp.vec3),
    density: wp.array(dtype=float),
    radius: float,
    mass: float,
    new_points: wp.array(dtype=wp.vec3),
    new_velocities: wp.array(dtype=wp.vec3),
):
    i = wp.hash_grid_point_id(grid, wp.tid())
    x, v = points[i], velocities[i]
    pressure = wp.max(density[i] - DENSITY, 0.0)
    force = wp.vec3()
    for j in wp.hash_grid_query(grid, x, radius):
        d = x - points[j]
        apart = wp.length(d)
        if apart < radius and j != i:
            near = radius - apart
            push = 0.5 * STIFFNESS * (pressure + wp.max(density[j] - DENSITY, 0.0)) * near * near
            drag = VISCOSITY * near
            force += (d * (push / wp.max(apart, 1.0e-6)) + (velocities[j] - v) * drag) * (1.0 / density[j])
    scale = mass * 45.0 / (wp.pi * radius**6.0)
    v += (force * (scale / density[i]) + wp.vec3(0.0, GRAVITY, 0.0)) * DT
    x += v * DT
    for axis in range(3):
        if x[axis] < 0.0 or x[axis] > wp.vec3(SIZE)[axis]:
            x[axis] = wp.clamp(x[axis], 0.0, wp.vec3(SIZE)[axis])
            v[axis] = -0.3 * v[axis]
    new_points[i], new_velocities[i] = x, v


@wp.kernel
def draw(points: wp.array(dtype=wp.vec3), velocities: wp.array(dtype=wp.vec3), light: wp.array2d(dtype=wp.vec3)):
    i = wp.tid()
    n = light.shape[0]
    row = n - 1 - int(points[i][1] * float(n - 1))
    column = int(points[i][0] * float(n - 1))
    speed = wp.min(wp.length(velocities[i]) / 4.0, 1.0)
    if row >= 0 and row < n and column >= 0 and column < light.shape[1]:
        wp.atomic_add(light, row, column, wp.vec3(0.1 + 0.7 * speed, 0.3 + 0.5 * speed, 1.0))


class Simulation:
    """The water on a device: a block of particles `spacing` apart, at rest in a corner."""

    def __init__(self, spacing: float, device: str = "cpu"):
        axes = [np.arange(0.5 * spacing, extent, spacing) for extent in (0.6, 0.7, SIZE[2])]
        start = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
        start += np.random.default_rng(0).uniform(-0.1, 0.1, start.shape) * spacing
        self.device, self.n = device, len(start)
        self.radius, self.mass = 2.0 * spacing, DENSITY * spacing**3
        self.points = wp.array(start.astype(np.float32), dtype=wp.vec3, device=device)
        self.velocities = wp.zeros(self.n, dtype=wp.vec3, device=device)
        self.density = wp.zeros(self.n, dtype=float, device=device)
        self.next = [wp.zeros(self.n, dtype=wp.vec3, device=device) for _ in range(2)]
        self.grid = wp.HashGrid(64, 64, 64, device)

    def measure(self) -> None:
        """Sorts the particles into cells, and sums densities."""
        self.grid.build(self.points, self.radius)
        inputs = [self.grid.id, self.points, self.radius, self.mass]
        wp.launch(measure, self.n, inputs, [self.density], device=self.device)

    def run(self, steps: int, progress: Callable[[], None] = lambda: None) -> None:
        for _ in range(steps):
            self.measure()
            inputs = [self.grid.id, self.points, self.velocities, self.density, self.radius, self.mass]
            wp.launch(move, self.n, inputs, self.next, device=self.device)
            (self.points, self.velocities), self.next = self.next, [self.points, self.velocities]
            progress()

    def picture(self, height: int = 300) -> np.ndarray:
        light = wp.zeros((height, int(height * SIZE[0])), dtype=wp.vec3, device=self.device)
        wp.launch(draw, self.n, [self.points, self.velocities, light], device=self.device)
        return picture.glow(light.numpy() * min(1.5, 0.15 * height * height / self.n))


def difference(simulation: Simulation) -> float:
    """Largest relative difference of densities from those of all pairs, in double precision, for some particles."""
    simulation.measure()
    points = simulation.points.numpy().astype(float)
    some = np.arange(0, simulation.n, max(1, simulation.n // 200))
    apart = ((points[some, None] - points[None]) ** 2).sum(-1)
    total = (np.maximum(simulation.radius**2 - apart, 0.0) ** 3).sum(1)
    expected = simulation.mass * 315.0 / (64.0 * np.pi * simulation.radius**9) * total
    return float(np.abs(simulation.density.numpy()[some] / expected - 1.0).max())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spacing", type=float, default=0.02, help="between particles, in meters")
    parser.add_argument("--steps", type=int, default=250, help="between two of the three pictures")
    parser.add_argument("--out", default="out/dam_break.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    simulation = Simulation(args.spacing, args.device)
    frames = [simulation.picture()]
    with wp.ScopedTimer(f"{2 * args.steps} steps of {simulation.n} particles"):
        for _ in range(2):
            simulation.run(args.steps)
            frames.append(simulation.picture())
    error = difference(simulation)
    print(f"largest difference from the densities of all pairs: {error:.1e}")
    assert error < 1e-3
    print("wrote", picture.save(args.out, picture.strip(frames)))


if __name__ == "__main__":
    main()
