"""`capture_if` and `capture_while`: decided by the host, or by a graph on a GPU that has conditions."""

import numpy as np
import pytest

import gridstride as wp


@wp.kernel
def add(x: wp.array(dtype=float), amount: float):
    x[wp.tid()] += amount


@wp.kernel
def count_down(left: wp.array(dtype=int)):
    left[0] = left[0] - 1


@wp.kernel
def is_small(x: wp.array(dtype=float), limit: float, answer: wp.array(dtype=int)):
    answer[0] = wp.where(x[0] < limit, 1, 0)


def launch_add(x, amount):
    wp.launch(add, x.shape, [x, amount])


def captured(act):
    """What `act` does as a graph, where there is a GPU whose driver has conditions; else `act` itself."""
    if not wp.get_device().is_cuda or not wp.is_conditional_graph_supported():
        return act
    with wp.ScopedCapture() as capture:
        act()
    return lambda: wp.capture_launch(capture.graph)


def test_one_or_the_other():
    x, condition = wp.zeros(10), wp.zeros(1, dtype=int)

    def act():
        wp.capture_if(condition, lambda x: launch_add(x, 1.0), lambda x: launch_add(x, 100.0), x=x)
        wp.capture_if(condition, on_true=lambda: launch_add(x, 10.0))

    run = captured(act)
    for value, expected in ((0, 100), (1, 111), (5, 122), (0, 222)):
        condition.assign([value])
        run()
        assert (x.numpy() == expected).all()


def test_what_a_branch_changes_does_not_undo_the_decision():
    x, left = wp.zeros(4), wp.array([1], dtype=int)

    def on_true():
        wp.launch(count_down, 1, [left])
        launch_add(x, 1.0)

    run = captured(lambda: wp.capture_if(left, on_true, lambda: launch_add(x, 1000.0)))
    run()
    assert (x.numpy() == 1).all()
    run()
    assert (x.numpy() == 1001).all()


def test_loops_and_loops_in_loops():
    x, outer, inner = wp.zeros(8), wp.zeros(1, dtype=int), wp.zeros(1, dtype=int)
    three = wp.array([3], dtype=int)

    def inner_body():
        launch_add(x, 1.0)
        wp.launch(count_down, 1, [inner])

    def outer_body():
        wp.copy(inner, three)
        wp.capture_while(inner, inner_body)
        wp.launch(count_down, 1, [outer])

    def act():
        wp.capture_while(outer, outer_body)
        launch_add(x, 100.0)

    run = captured(act)
    for times, expected in ((0, 100), (2, 206), (5, 321)):
        outer.assign([times])
        run()
        assert (x.numpy() == expected).all()


def test_a_loop_until_a_value_is_reached():
    x, goes_on = wp.zeros(1), wp.array([1], dtype=int)

    def body(amount):
        launch_add(x, amount)
        wp.launch(is_small, 1, [x, 50.0, goes_on])

    captured(lambda: wp.capture_while(goes_on, body, amount=7.0))()
    assert x.numpy()[0] == 56


def test_what_is_no_condition():
    for wrong in (wp.zeros(1), wp.zeros(0, dtype=int), True, np.ones(1, np.int32)):
        with pytest.raises(TypeError, match="a condition is an array of int32 with one element"):
            wp.capture_if(wrong, lambda: None)
        with pytest.raises(TypeError, match="a condition is an array of int32 with one element"):
            wp.capture_while(wrong, lambda: None)
