"""Forward and backward over a tape of many small launches, beside Warp in the same run.

    python benches/gradients.py [--launches 1000] [--particles 1000] [--rounds 15]
    python benches/gradients.py --device cuda:0 --launches 50 --particles 1048576

Particles under gravity and drag bounce off the ground, one launch a step, every state in arrays of its own; the loss is
their squared distance from a target. The machine may be busy: both take turns, and the figures are the least and the
median of the rounds, in processor time of all threads. Warp runs on one core of a CPU, and so do both here unless
`--threads` says otherwise. On a GPU it is the time until all work is done, beside the bytes that must be moved: a step
forward reads two vectors of a particle and writes two; backward it reads them again and the gradients of what it wrote,
and writes those of what it read. The gradient of the initial velocity is compared with central differences in float64.
"""

import argparse
import time

import numpy as np

import gridstride

DT = 1e-3
TARGET = (1.0, 1.0, 1.0)
VECTOR = 12
# Particles whose gradients are compared with differences.
CHECKED = 1000


def clock_of(wp, device):
    """On a CPU the time of all threads together, so that other programs on the machine count less."""
    if device == "cpu":
        return time.process_time

    def clock():
        wp.synchronize()
        return time.perf_counter()

    return clock


def program(wp, n_launches, start, velocity, device):
    """Functions that run one system's simulation: without a tape, with one, backward."""

    @wp.kernel
    def step(
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        x1: wp.array(dtype=wp.vec3),
        v1: wp.array(dtype=wp.vec3),
        dt: float,
    ):
        i = wp.tid()
        vi = v[i] + wp.vec3(0.0, -9.81, 0.0) * dt - v[i] * (0.1 * wp.length(v[i]) * dt)
        xi = x[i] + vi * dt
        if xi[1] < 0.0:
            vi = wp.vec3(vi[0], -0.7 * vi[1], vi[2])
            xi = wp.vec3(xi[0], -xi[1], xi[2])
        x1[i] = xi
        v1[i] = vi

    @wp.kernel
    def distance(x: wp.array(dtype=wp.vec3), target: wp.vec3, loss: wp.array(dtype=float)):
        i = wp.tid()
        d = x[i] - target
        wp.atomic_add(loss, 0, wp.dot(d, d))

    def states(first):
        rest = [np.zeros_like(first)] * n_launches
        return [wp.array(one, dtype=wp.vec3, device=device, requires_grad=True) for one in [first, *rest]]

    xs, vs, n = states(start), states(velocity), len(start)
    loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
    clock = clock_of(wp, device)
    target = wp.vec3(*TARGET)

    def forward():
        loss.zero_()
        for t in range(n_launches):
            wp.launch(step, n, [xs[t], vs[t], xs[t + 1], vs[t + 1], DT], device=device)
        wp.launch(distance, n, [xs[-1], target, loss], device=device)

    def round_():
        times = [clock()]
        forward()
        times.append(clock())
        tape = wp.Tape()
        with tape:
            forward()
        times.append(clock())
        tape.backward(loss)
        times.append(clock())
        gradient = vs[0].grad.numpy()[:CHECKED].copy()
        now = clock()
        tape.zero()
        times.append(times[-1] + clock() - now)
        return np.diff(times), gradient

    return round_


def differences(start, velocity, n_launches, h=1e-5):
    """Central differences in double precision."""

    def distances(v):
        x, v = start.astype(float), v.copy()
        for _ in range(n_launches):
            drag = 0.1 * np.linalg.norm(v, axis=1, keepdims=True)
            v = v + np.array([0, -9.81, 0]) * DT - v * (drag * DT)
            x = x + v * DT
            below = x[:, 1] < 0
            v[below, 1] *= -0.7
            x[below, 1] *= -1
        return ((x - TARGET) ** 2).sum(1)

    v = velocity.astype(float)
    return np.stack([(distances(v + h * e) - distances(v - h * e)) / (2 * h) for e in np.eye(3)], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=1000)
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()

    gridstride.set_num_threads(args.threads)
    random = np.random.default_rng(7)
    start = random.random((args.particles, 3), np.float32) + np.float32([0, 1, 0])
    velocity = ((random.random((args.particles, 3), np.float32) - 0.5) * 8).astype(np.float32)
    systems = {"Gridstride": program(gridstride, args.launches, start, velocity, args.device)}
    try:
        import warp
    except ImportError:
        pass
    else:
        warp.config.quiet = True
        systems["Warp"] = program(warp, args.launches, start, velocity, args.device)

    times = {name: [] for name in systems}
    gradients = {}
    for run in systems.values():
        run()
    for _ in range(args.rounds):
        for name, run in systems.items():
            taken, gradients[name] = run()
            times[name].append(taken)
    expected = differences(start[:CHECKED], velocity[:CHECKED], args.launches)
    print(f"{args.launches} launches x {args.particles} particles; ms, least (median) of {args.rounds} rounds")
    print(f"{'':12}" + "".join(f"{part:>20}" for part in ("forward", "with a tape", "backward", "zero")))
    for name, rounds in times.items():
        cells = [f"{min(part) * 1e3:.2f} ({np.median(part) * 1e3:.2f})" for part in zip(*rounds, strict=True)]
        print(f"{name:12}" + "".join(f"{cell:>20}" for cell in cells))
    if "Warp" in times:
        ours, theirs = (np.min(times[name], axis=0) for name in ("Gridstride", "Warp"))
        print(f"{'ratio':12}" + "".join(f"{ratio:>20.3f}" for ratio in ours / theirs))
        print(f"with a tape and backward: {sum(ours[1:3]) / sum(theirs[1:3]):.3f} of Warp's time")
    if args.device != "cpu":
        n = args.launches * args.particles * VECTOR
        for name, rounds in times.items():
            rates = [count * n / least / 1e9 for count, least in zip((4, 4, 6), np.min(rounds, axis=0), strict=False)]
            cells = "".join(f"{rate:>17.0f} GB/s" for rate in rates)
            print(f"{name:12}{cells[2:]}  of bytes that must be moved")
    for name, gradient in gradients.items():
        error = np.abs(gradient - expected).max(1) / (np.abs(expected).max(1) + 1e-3)
        print(f"{name}: error of the gradient, median {np.median(error):.1e}, 99 of 100 {np.quantile(error, 0.99):.1e}")


if __name__ == "__main__":
    main()
