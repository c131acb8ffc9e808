"""Random programs of launches, copies and fills over overlapping views, forward and backward, against differences.

    python tests/python/test_gradients_of_programs.py SECONDS [SEED]

runs for as long as it is told, from a first seed on, and prints the seed of every program whose gradient is wrong.
"""

import sys
import time

import numpy as np
import pytest

import gridstride as wp

N = 12


@wp.kernel
def bend(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) + wp.float64(0.5) * x[i] * x[i]


@wp.kernel
def mix(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.float64)):
    i = wp.tid()
    z[i] = wp.float64(0.3) * z[i] * x[i] + y[i]


@wp.kernel
def gather(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(y, (i * 5) % y.shape[0], wp.float64(0.2) * x[i] * x[i])


@wp.kernel
def settle(x: wp.array(dtype=wp.float64), rounds: int):
    i = wp.tid()
    value = x[i]
    for k in range(rounds):
        if value < wp.float64(2.0):  # noqa: SIM108
            value = value * wp.float64(1.1) + wp.float64(0.01) * wp.float64(k)
        else:
            value = wp.cos(value)
    x[i] = value


@wp.kernel
def measure(x: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i] * wp.float64(0.1 * float(i + 1)))


def views(arrays, random, n):
    """Parts of `n` elements of the arrays, some of them strided."""

    def one():
        array = arrays[random.integers(len(arrays))]
        if random.random() < 0.25 and 2 * n <= N:
            begin = random.integers(N - 2 * n + 1)
            return array[begin : begin + 2 * n : 2]
        begin = random.integers(N - n + 1)
        return array[begin : begin + n]

    return one


def is_race(parts, n_written):
    """Whether threads of one launch would meet in memory: the last parts are written."""
    spans = [{part.ptr + k * part.strides[0] for k in range(part.size)} for part in parts]
    first = len(parts) - n_written
    for index, written in enumerate(spans[first:], first):
        for other, span in enumerate(spans):
            same = parts[other].ptr == parts[index].ptr and parts[other].strides == parts[index].strides
            if other != index and written & span and not same:
                return True
    return False


def step(arrays, random, device):
    """One random operation."""
    n = int(random.integers(2, N // 2 + 1))
    view = views(arrays, random, n)
    kind = random.integers(7)
    launch = lambda kernel, *args: wp.launch(kernel, n, [*args], device=device)  # noqa: E731
    if kind == 0 and not is_race(parts := [view(), view()], 1):
        launch(bend, *parts)
    elif kind == 1 and not is_race(parts := [view(), view(), view()], 1):
        launch(mix, *parts)
    elif kind == 2:
        whole = random.choice(len(arrays), 2, replace=False)
        launch(gather, arrays[whole[0]][:n], arrays[whole[1]])
    elif kind == 3:
        launch(settle, view(), int(random.integers(4)))
    elif kind == 4:
        wp.copy(view(), view())
    elif kind == 5:
        view().fill_(float(random.uniform(-1.0, 1.0)))
    elif kind == 6:
        part = view()
        part.assign(wp.clone(view()))


def run(seed, values, device, tape=None, loop=None):
    """The loss of the program that the seed stands for; its steps are those of `loop`."""
    random = np.random.default_rng(seed)
    arrays = [wp.array(one, dtype=wp.float64, requires_grad=True) for one in values]
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)

    def program():
        for _ in loop(12) if loop else range(12):
            step(arrays, random, device)
        for one in arrays:
            wp.launch(measure, N, [one], [loss], device=device)

    if tape is None:
        program()
    else:
        # Read once on the tape, so that what is filled or assigned later is not taken for a first value.
        with tape:
            for one in arrays:
                wp.launch(measure, N, [one], [loss], device=device)
            program()
    for one in arrays:
        one.fill_(7.0)
    return arrays, loss


def check(seed, device):
    random = np.random.default_rng(seed + 1000)
    values = random.uniform(0.3, 1.0, (3, N))
    found = []
    for every in (None, 1, int(random.integers(1, 14))):
        tape = wp.Tape()
        loop = None if every is None else lambda n, tape=tape, every=every: tape.checkpoint(n, every)
        arrays, loss = run(seed, values, device, tape, loop)
        tape.backward(loss)
        found.append([one.grad.numpy().copy() for one in arrays])
    np.testing.assert_array_equal(found[0], found[1], err_msg=f"seed {seed}: checkpoints change the gradient")
    np.testing.assert_array_equal(found[0], found[2], err_msg=f"seed {seed}: checkpoints change the gradient")
    direction = random.normal(size=values.shape)
    sides = []
    for h in (-1e-6, 1e-6):
        moved = values + h * direction
        _, loss = run(seed, moved, str(wp.get_device()))
        weights = 0.1 * np.arange(1, N + 1)
        sides.append(float(loss.numpy()[0]) + float((moved**2 * weights).sum()))
    expected = (sides[1] - sides[0]) / 2e-6
    ours = float((np.array(found[0]) * direction).sum())
    # A branch of `settle` may be taken differently on the two sides: such a program says nothing.
    half = []
    for h in (-5e-7, 5e-7):
        moved = values + h * direction
        _, loss = run(seed, moved, str(wp.get_device()))
        half.append(float(loss.numpy()[0]) + float((moved**2 * 0.1 * np.arange(1, N + 1)).sum()))
    if abs((half[1] - half[0]) / 1e-6 - expected) < 1e-5 * max(1.0, abs(expected)):
        assert abs(ours - expected) < 1e-5 * max(1.0, abs(expected)), f"seed {seed}: {ours} is not {expected}"


@pytest.fixture(autouse=True)
def on_one_core():
    """The order in which threads add to one place shows in the last bits."""
    before = wp.get_num_threads()
    wp.set_num_threads(1)
    yield
    wp.set_num_threads(before)


@pytest.mark.parametrize("seed", range(25))
def test_program(seed, device):
    check(seed, device)


def main():
    wp.set_num_threads(1)
    end = time.monotonic() + float(sys.argv[1])
    first = seed = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    wrong = []
    while time.monotonic() < end:
        try:
            check(seed, "cpu")
        except AssertionError as error:
            wrong.append(seed)
            print(seed, " ".join(str(error).split())[:200])
        seed += 1
    print(f"{seed - first} programs, {len(wrong)} wrong: {wrong}")


if __name__ == "__main__":
    main()
