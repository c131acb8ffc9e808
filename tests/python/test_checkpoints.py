"""Checkpointed time loops: the same gradients as without, in less memory; what cannot run again is refused."""

import pytest
from test_gradients import floats, ones, scale, square_in_place, total, wave

import gridstride as wp


@pytest.mark.parametrize("every", [None, 1, 7, 1000])
def test_checkpointed_loops(every, device):
    def run(loop):
        a, b, loss = floats([0.3, 0.7]), floats([0.0] * 2), floats([0.0])
        start = a
        with wp.Tape() as tape:
            for step in loop(tape):
                wp.launch(wave, 2, [a], [b], device=device)
                a, b = b, a
                if step == 5:
                    wp.launch(square_in_place, 2, [a], device=device)
                    wp.copy(b, a)
                    b.fill_(0.1)
                wp.launch(total, 2, [a], [loss], device=device)
            wp.launch(total, 2, [a], [loss], device=device)
        a.zero_()
        before = (a.list(), b.list(), loss.list())
        tape.backward(loss)
        assert before == (a.list(), b.list(), loss.list())
        return start.grad.list(), loss.list(), tape.saved_bytes

    plain = run(lambda tape: range(30))
    kept = run(lambda tape: tape.checkpoint(30, every))
    assert kept[:2] == plain[:2]


def test_a_checkpointed_loop_within_a_memory():
    def run(loop):
        a, b, loss = floats([0.3] * 100), floats([0.0] * 100), floats([0.0])
        start = a
        with wp.Tape() as tape:
            for _ in loop(tape):
                wp.launch(wave, 100, [a], [b])
                a, b = b, a
            wp.launch(total, 100, [a], [loss])
        tape.backward(loss)
        return start.grad.list(), tape.saved_bytes

    plain = run(lambda tape: range(1000))
    kept = run(lambda tape: tape.checkpoint(1000, memory=30_000))
    assert kept[0] == plain[0]
    assert kept[1] <= 30_000 < plain[1]
    with pytest.raises(RuntimeError, match="need at least"):
        run(lambda tape: tape.checkpoint(1000, memory=3000))


def test_what_cannot_run_again_is_refused():
    x, y, loss = floats([0.3]), floats([0.0]), floats([0.0])
    with wp.Tape() as tape:
        for _ in tape.checkpoint(4):
            wp.launch(wave, 1, [x], [y])
            wp.launch(scale, 1, [y, 0.5], [x], record_tape=False)
        wp.launch(total, 1, [y], [loss])
    with pytest.raises(RuntimeError, match=r"kernel `scale` \(argument `y`\) wrote to its memory"):
        tape.backward(loss)
    with wp.Tape() as tape:
        for _ in tape.checkpoint(4):
            wp.launch(wave, 1, [x], [y])
            tape.record_func(lambda: None, [x])
        wp.launch(total, 1, [y], [loss])
    with pytest.raises(RuntimeError, match="only says how to go back"):
        tape.backward(loss)
    with pytest.raises(RuntimeError, match="does not record"):
        tape.checkpoint(4)


def test_progress_bars():
    pytest.importorskip("rich")
    x, y = floats([0.3]), floats([0.0])
    with wp.Tape() as tape:
        for _ in tape.checkpoint(20, progress=True):
            wp.launch(wave, 1, [x], [y])
            x, y = y, x
    tape.backward(grads={x: ones(x)})
