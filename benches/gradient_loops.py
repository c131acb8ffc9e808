"""What the way back costs where a kernel loops: time of the adjoint kernel in parts of the kernel's own.

    python benches/gradient_loops.py [--threads 200000] [--rounds 9]

Processor time on one core, the least of the rounds. A pendulum keeps its states of a known and of an unknown number of
steps; a table of the thread's own is filled and read; all threads add to one number.
"""

import argparse
import time

import numpy as np

import gridstride as wp


@wp.kernel
def pendulum(a: wp.array(dtype=float), w: wp.array(dtype=float), steps: int, dt: float, out: wp.array(dtype=float)):
    i = wp.tid()
    x, v = a[i], w[i]
    for _ in range(steps):
        v = v - dt * wp.sin(x)
        x = x + dt * v
    out[i] = x


@wp.kernel
def pendulum_64(a: wp.array(dtype=float), w: wp.array(dtype=float), dt: float, out: wp.array(dtype=float)):
    i = wp.tid()
    x, v = a[i], w[i]
    for _ in range(64):
        v = v - dt * wp.sin(x)
        x = x + dt * v
    out[i] = x


@wp.kernel
def table(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    c = wp.zeros(shape=(8,), dtype=float)
    for k in range(8):
        c[k] = a[(i + k) % a.shape[0]] * float(k)
    s = float(0.0)
    for k in range(8):
        for m in range(8):
            s += c[k] * c[m]
    out[i] = s


@wp.kernel
def total(a: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, a[i] * a[i])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()

    wp.set_num_threads(1)
    n = args.threads
    random = np.random.default_rng(1)
    a, w, out = (
        wp.array(values, dtype=float, device="cpu", requires_grad=True)
        for values in (random.uniform(-1, 1, n), random.uniform(-1, 1, n), np.zeros(n))
    )
    loss = wp.zeros(1, dtype=float, device="cpu", requires_grad=True)
    cases = {
        "200 steps, a number of the launch": (pendulum, [a, w, 200, 0.01, out]),
        "64 steps, a constant": (pendulum_64, [a, w, 0.01, out]),
        "a table of 8 numbers": (table, [a, out]),
        "a sum of all threads": (total, [a, loss]),
    }
    print(f"{n} threads; ms, least of {args.rounds} rounds")
    for name, (kernel, inputs) in cases.items():
        times = np.array([one_round(kernel, n, inputs) for _ in range(args.rounds)]).min(axis=0) * 1e3
        print(f"{name:36} forward {times[0]:8.2f}  backward {times[1]:8.2f}  ratio {times[1] / times[0]:6.2f}")


def one_round(kernel, n, inputs):
    result = inputs[-1]
    result.zero_()
    clock = time.process_time
    begin = clock()
    with wp.Tape() as tape:
        wp.launch(kernel, n, inputs, device="cpu")
    middle = clock()
    result.grad.fill_(1.0)
    start = clock()
    tape.backward()
    end = clock()
    tape.zero()
    return middle - begin, end - start


if __name__ == "__main__":
    main()
