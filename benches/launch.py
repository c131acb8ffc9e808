"""What a launch from Python costs, beside the call of an empty Python function in the same run.

    python benches/launch.py

The machine may be busy: every figure but the last is CPU time of this thread, the least of many interleaved rounds, and
the ratio to the empty function is what to compare. Warp and Numba are measured where they are installed.
"""

import time

import numpy as np

import gridstride as wp

ROUNDS = 60
CALLS = 2000


@wp.kernel
def five(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), s: float, n: int):
    i = wp.tid()
    c[i] = a[i] + s * b[i] + float(n)


@wp.kernel
def one(a: wp.array(dtype=float)):
    a[wp.tid()] = 1.0


def empty(*args):
    pass


def candidates():
    """Pairs of a name and a function that makes as many calls as it is told."""
    a, b, c = (wp.zeros(4096, dtype=float) for _ in range(3))
    inputs, outputs = [a, b, c, 2.0, 3], []
    launch = wp.launch
    recorded = wp.launch(five, dim=1, inputs=inputs, record_cmd=True).launch
    x, y = np.zeros(1, np.float32), np.zeros(1, np.float32)
    add = np.add
    wp.launch(five, dim=1, inputs=inputs, device="cpu")

    def call(n):
        for _ in range(n):
            empty(a, b, c, 2.0, 3)

    def usual(n):
        for _ in range(n):
            launch(five, dim=1, inputs=[a, b, c, 2.0, 3])

    def positional(n):
        for _ in range(n):
            launch(five, 1, inputs, outputs)

    def named(n):
        for _ in range(n):
            launch(five, dim=1, inputs=[a, b], outputs=[c, 2.0, 3], device="cpu")

    def single(n):
        for _ in range(n):
            launch(one, dim=1, inputs=[a])

    def small(n):
        for _ in range(n):
            launch(five, dim=64, inputs=inputs)

    def large(n):
        for _ in range(n):
            launch(five, dim=4096, inputs=inputs)

    def again(n):
        for _ in range(n):
            recorded()

    def ufunc(n):
        for _ in range(n):
            add(x, y, y)

    yield "empty Python function", call
    yield "launch, n=1, 5 arguments", usual
    yield "launch, positional", positional
    yield "launch, outputs and device", named
    yield "launch, n=1, 1 argument", single
    yield "launch, n=64", small
    yield "launch, n=4096", large
    yield "recorded, n=1", again
    yield "NumPy add of one element", ufunc
    yield from numba_style()
    yield from peers()


def numba_style():
    from gridstride.numba import config, cuda

    config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_WARN_ON_IMPLICIT_COPY = 0

    @cuda.jit
    def kernel(a, b, c, s, n):
        i = cuda.grid(1)
        c[i] = a[i] + s * b[i] + n

    hosts = [np.zeros(8, np.float32) for _ in range(3)]
    arrays = [cuda.to_device(host) for host in hosts]

    def indexed(n):
        for _ in range(n):
            kernel[1, 1](*arrays, 2.0, 3)

    def of_numpy(n):
        for _ in range(n):
            kernel[1, 1](*hosts, 2.0, 3)

    yield "kernel[1, 1](…), device arrays", indexed
    yield "kernel[1, 1](…), NumPy arrays", of_numpy


def peers():
    try:
        import warp
    except ImportError:
        pass
    else:
        warp.config.quiet = True

        @warp.kernel
        def theirs(
            a: warp.array(dtype=float), b: warp.array(dtype=float), c: warp.array(dtype=float), s: float, n: int
        ):
            i = warp.tid()
            c[i] = a[i] + s * b[i] + float(n)

        arrays = [warp.zeros(8, dtype=float, device="cpu") for _ in range(3)]
        command = warp.launch(theirs, dim=1, inputs=[*arrays, 2.0, 3], device="cpu", record_cmd=True)

        def launches(n):
            for _ in range(n):
                warp.launch(theirs, dim=1, inputs=[*arrays, 2.0, 3], device="cpu")

        def commands(n):
            for _ in range(n):
                command.launch()

        yield "Warp launch", launches
        yield "Warp recorded", commands
    try:
        import numba
    except ImportError:
        return

    @numba.njit
    def jitted(a, b, c, s, n):
        c[0] = a[0] + s * b[0] + n

    x = [np.zeros(8, np.float32) for _ in range(3)]

    def calls(n):
        for _ in range(n):
            jitted(*x, 2.0, 3)

    yield "Numba call", calls


@wp.kernel
def busy(a: wp.array(dtype=float)):
    i = wp.tid()
    x = a[i]
    for _ in range(24):
        x = x * 0.5 + 1.0
    a[i] = x


def hand_off():
    """What a launch on two threads takes above half of one on one thread, in us of the clock on the wall; the least of
    many, as the second core may be busy."""
    a = wp.zeros(4096, dtype=float)
    best = {}
    before = wp.get_num_threads()
    for _ in range(ROUNDS):
        for n_threads in (1, 2):
            wp.set_num_threads(n_threads)
            for _ in range(200):
                start = time.perf_counter_ns()
                wp.launch(busy, dim=4096, inputs=[a])
                best[n_threads] = min(best.get(n_threads, 1e9), time.perf_counter_ns() - start)
    wp.set_num_threads(before)
    return (best[2] - best[1] / 2) / 1e3, best[1] / 1e3


def main():
    measured = [(name, function, []) for name, function in candidates()]
    for _ in range(ROUNDS):
        for _, function, times in measured:
            start = time.thread_time_ns()
            function(CALLS)
            times.append((time.thread_time_ns() - start) / CALLS)
    base = min(measured[0][2])
    print(f"{'':28} {'ns':>8} {'ratio':>7}")
    for name, _, times in measured:
        print(f"{name:28} {min(times):8.1f} {min(times) / base:7.2f}")
    extra, whole = hand_off()
    print(f"hand-off to a second thread {extra:9.2f} us, of a launch that takes {whole:.1f} us on one")


if __name__ == "__main__":
    main()
