"""Graphs on the CPU: what is captured runs when the graph is launched, as often as it is, and not before."""

import numpy as np
import pytest

import gridstride as wp

pytestmark = pytest.mark.cpu


@wp.kernel
def add(a: wp.array(dtype=float), x: float):
    i = wp.tid()
    a[i] = a[i] + x


@wp.kernel
def count_down(n: wp.array(dtype=int), rounds: wp.array(dtype=int)):
    n[0] = n[0] - 1
    rounds[0] = rounds[0] + 1


def test_nothing_runs_until_the_graph_does():
    a, b = wp.zeros(4, dtype=float, device="cpu"), wp.zeros(4, dtype=float, device="cpu")
    wp.launch(add, dim=4, inputs=[a, 0.0], device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        # The second is as usual a launch as there is.
        wp.launch(add, dim=4, inputs=[a, 1.0], device="cpu")
        wp.launch(add, dim=4, inputs=[a, 2.0], device="cpu")
        wp.copy(b, a)
        a.fill_(5.0)
    assert capture.graph.n_nodes == 4
    assert not a.numpy().any() and not b.numpy().any()
    wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(b.numpy(), np.full(4, 3.0))
    wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(b.numpy(), np.full(4, 8.0))
    np.testing.assert_array_equal(a.numpy(), np.full(4, 5.0))
    wp.launch(add, dim=4, inputs=[a, 1.0], device="cpu")
    np.testing.assert_array_equal(a.numpy(), np.full(4, 6.0))


def test_recorded_launches_and_settings_within_a_capture():
    a = wp.zeros(2, dtype=float, device="cpu")
    command = wp.launch(add, dim=2, inputs=[a, 1.0], device="cpu", record_cmd=True)
    command.launch()
    with wp.ScopedCapture(device="cpu") as capture:
        wp.config.max_unroll = 8
        command.launch()
        wp.launch(add, dim=2, inputs=[a, 10.0], device="cpu")
    np.testing.assert_array_equal(a.numpy(), [1.0, 1.0])
    wp.capture_launch(capture.graph)
    command.launch()
    np.testing.assert_array_equal(a.numpy(), [13.0, 13.0])


def test_parts_of_a_copy_and_views():
    a = wp.array(np.arange(6, dtype=np.float32), device="cpu")
    b = wp.zeros(6, dtype=float, device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        wp.copy(b, a, dest_offset=1, src_offset=2, count=3)
        b[::2].zero_()
    assert not b.numpy().any()
    wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(b.numpy(), [0, 2, 0, 4, 0, 0])


def test_loops_and_choices():
    n, rounds = wp.zeros(1, dtype=int, device="cpu"), wp.zeros(1, dtype=int, device="cpu")
    a = wp.zeros(1, dtype=float, device="cpu")

    def body(rounds):
        wp.launch(count_down, dim=1, inputs=[n, rounds], device="cpu")

    with wp.ScopedCapture(device="cpu") as capture:
        n.fill_(3)
        wp.capture_while(n, body, rounds=rounds)
        wp.capture_if(n, on_true=lambda: a.fill_(1.0), on_false=lambda: a.fill_(2.0))
    for total in (3, 6):
        wp.capture_launch(capture.graph)
        assert (rounds.numpy()[0], a.numpy()[0]) == (total, 2.0)
    n.fill_(2)
    wp.capture_while(n, body, rounds=rounds)
    assert rounds.numpy()[0] == 8
    wp.capture_if(rounds, capture.graph)
    assert rounds.numpy()[0] == 11


def test_functions_of_whole_arrays_are_captured_or_refused():
    a = wp.array([1, 2, 3], dtype=int, device="cpu")
    b = wp.zeros(3, dtype=int, device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        wp.utils.array_scan(a, b)
        with pytest.raises(RuntimeError, match="gives its result to the host"):
            wp.utils.array_sum(a)
    assert not b.numpy().any()
    wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(b.numpy(), [1, 3, 6])


def test_mistakes():
    with pytest.raises(RuntimeError, match="not active"):
        wp.capture_end(device="cpu")
    with wp.ScopedCapture(device="cpu"), pytest.raises(RuntimeError, match="already in progress"):
        wp.capture_begin(device="cpu")
    with pytest.raises(ZeroDivisionError), wp.ScopedCapture(device="cpu"):
        raise ZeroDivisionError
    a = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(add, dim=1, inputs=[a, 1.0], device="cpu")
    assert a.numpy()[0] == 1.0
