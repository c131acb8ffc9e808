"""Branches, loops and early exits in kernels, against the same text run by Python."""

# ruff: noqa: B007, SIM108, UP018 - loops and casts as kernels write them

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridstride as wp

few = settings(max_examples=20, deadline=None)


def run(kernel, device, dim, *inputs, n=None, dtype=int):
    out = wp.zeros(n or dim, dtype=dtype)
    wp.launch(kernel, dim=dim, inputs=[*inputs, out], device=device)
    return out.numpy()


@wp.kernel
def classify(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    v = x[i]
    if v < 0:
        out[i] = -1
    elif v == 0:
        out[i] = 0
    elif v < 10:
        out[i] = 1
    else:
        out[i] = 2


@few
@given(x=st.lists(st.integers(-20, 20), min_size=1, max_size=30))
def test_branches(device, x):
    expected = [-1 if v < 0 else 0 if v == 0 else 1 if v < 10 else 2 for v in x]
    assert run(classify, device, len(x), wp.array(x, dtype=int)).tolist() == expected


@wp.kernel
def collatz(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    v = x[i]
    steps = int(0)
    while v != 1:
        if v % 2 == 0:
            v = v // 2
        else:
            v = 3 * v + 1
        steps += 1
    out[i] = steps


def python_collatz(v):
    steps = 0
    while v != 1:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        steps += 1
    return steps


def test_while(device):
    x = np.arange(1, 200)
    assert run(collatz, device, len(x), wp.array(x, dtype=int)).tolist() == [python_collatz(v) for v in x.tolist()]


@wp.kernel
def exits(n: int, out: wp.array(dtype=int)):
    i = wp.tid()
    s = int(0)
    for a in range(n):
        if a == i:
            continue
        for b in range(a, 10):
            if b > 7:
                break
            if s > 100:
                out[i] = -s
                return
            s += b
    out[i] = s


def python_exits(i, n):
    s = 0
    for a in range(n):
        if a == i:
            continue
        for b in range(a, 10):
            if b > 7:
                break
            if s > 100:
                return -s
            s += b
    return s


@few
@given(n=st.integers(0, 12))
def test_break_continue_return(device, n):
    assert run(exits, device, 8, n).tolist() == [python_exits(i, n) for i in range(8)]


@wp.kernel
def ranges(start: int, stop: int, step: int, out: wp.array(dtype=int)):
    n = int(0)
    s = int(0)
    for k in range(start, stop, step):
        n += 1
        s = s * 3 + k
    out[0] = n
    out[1] = s


@few
@given(start=st.integers(-9, 9), stop=st.integers(-9, 9), step=st.integers(-4, 4).filter(bool))
def test_ranges(device, start, stop, step):
    s = 0
    for k in range(start, stop, step):
        s = s * 3 + k
    assert run(ranges, device, 1, start, stop, step, n=2).tolist() == [len(range(start, stop, step)), s]


@wp.kernel
def constant_loops(out: wp.array(dtype=int)):
    s = int(0)
    for i in range(3):
        for j in range(4, 0, -2):
            s += i * j
    for i in range(0):
        s = 1000
    out[0] = s


def test_constant_loops(device):
    assert run(constant_loops, device, 1)[0] == sum(i * j for i in range(3) for j in (4, 2))


@wp.kernel
def accumulate(n: int, out: wp.array(dtype=float)):
    s = 0.0
    for k in range(n):
        s = s + float(k)
    out[0] = s


def test_a_literal_changes_in_a_loop(device):
    assert run(accumulate, device, 1, 10, dtype=float)[0] == 45.0


@wp.kernel
def short_circuit(a: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    n = a.shape[0]
    if i < n and a[i] > 0:
        out[i] += 1
    if i >= n or a[i] <= 0:
        out[i] += 2
    if not (i < n):
        out[i] += 4


def test_and_or_do_not_evaluate_what_is_not_needed(device):
    wp.config.mode = "debug"
    a = wp.array([1, 0], dtype=int)
    assert run(short_circuit, device, 4, a).tolist() == [1, 2, 6, 6]


@wp.kernel
def expressions(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    v = x[i]
    a = 1 if v > 5 else 2
    b = 10 if 0 <= v < 3 else 20 if v != 4 else 30
    out[i] = a + b


def test_conditional_expressions_and_chained_comparisons(device):
    x = list(range(-2, 10))
    expected = [(1 if v > 5 else 2) + (10 if 0 <= v < 3 else 20 if v != 4 else 30) for v in x]
    assert run(expressions, device, len(x), wp.array(x, dtype=int)).tolist() == expected


@wp.kernel
def assignments(out: wp.array(dtype=int)):
    a, b = 1, 2
    a, b = b, a
    c = d = a + b
    e: int = c
    e += 4
    e -= 1
    e *= 3
    e //= 2
    e <<= 2
    e |= 1
    e ^= 3
    e &= 255
    out[0], out[1] = a * 100 + b * 10 + c, d
    out[2] = e


def test_assignments(device):
    e = 3
    e = (((e + 4 - 1) * 3 // 2 << 2 | 1) ^ 3) & 255
    assert run(assignments, device, 1, n=3).tolist() == [213, 3, e]


@wp.kernel
def one_path(x: int, out: wp.array(dtype=int)):
    if x > 0:
        z = 5
    out[0] = z


def test_a_variable_that_one_path_does_not_set_is_zero_there(device):
    with warnings.catch_warnings():
        # Said once, for the first device that compiles it.
        warnings.simplefilter("ignore", SyntaxWarning)
        assert [run(one_path, device, 1, x)[0] for x in (1, 0)] == [5, 0]


@wp.kernel
def set_on_every_path(x: int, out: wp.array(dtype=int)):
    if x > 10:
        out[0] = -1
        return
    elif x > 0:
        z = 5
    else:
        z = 6
    out[0] = z


@pytest.mark.parametrize(("x", "expected"), [(20, -1), (1, 5), (0, 6)])
def test_a_path_that_returns_sets_nothing(device, x, expected):
    assert run(set_on_every_path, device, 1, x)[0] == expected


walker = 999


@wp.kernel
def walked(out: wp.array(dtype=int)):
    for walker in range(2):
        for walker in range(3):
            pass
        out[0] = wp.static(walker)
    for back in reversed(range(1, 10, 4)):
        out[1] = back
    out[2] = wp.static(back)


@wp.kernel
def walked_unknown(out: wp.array(dtype=int), n: int):
    for walker in range(n):
        out[0] = wp.static(walker)


def test_a_static_expression_sees_the_loop_variable_and_no_global_of_its_name(device):
    out = wp.zeros(3, dtype=int, device=device)
    wp.launch(walked, dim=1, inputs=[out], device=device)
    assert out.list() == [2, 1, 1]
    with pytest.raises(wp.CompileError, match="`static` raised NameError: name 'walker' is not defined"):
        wp.launch(walked_unknown, dim=1, inputs=[out, 1], device=device)


@wp.func
def at(a: wp.array(dtype=int), i: int):
    return a[i]


@wp.kernel
def set_by_a_loop(a: wp.array(dtype=int), n: int, out: wp.array(dtype=int)):
    for i in range(n):
        last = at(a, i)
        if i > 0:
            out[i] = before  # noqa: F821
        before = last  # noqa: F841
    out[0] = last


def test_what_a_loop_sets_is_there_in_the_next_round_and_behind_it(device):
    a = wp.array([3, 5, 7], dtype=int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        # In debug mode the function has a check, which a second walk over the loop must not lose.
        wp.config.mode = "debug"
        try:
            found = [run(set_by_a_loop, device, 1, a, n, n=3).tolist() for n in (3, 0)]
        finally:
            wp.config.mode = "release"
    assert found == [[7, 3, 5], [0, 0, 0]]
