"""`wp.config.verify_autograd_array_access`: which recorded launches are warned of; gradients are right anyway."""

import numpy as np
import pytest

import gridstride as wp


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def put(value: float, target: wp.array(dtype=float)):
    target[wp.tid()] = value


@wp.kernel
def square_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.kernel
def count_up(x: wp.array(dtype=float)):
    x[wp.tid()] += 1.0


@pytest.fixture
def warnings_of(capsys):
    """Runs a function with the setting on; gives what is printed."""
    before = wp.config.verify_autograd_array_access
    wp.config.verify_autograd_array_access = True

    def run(program):
        program()
        return capsys.readouterr().err

    yield run
    wp.config.verify_autograd_array_access = before


def arrays(n=3):
    x = wp.array(np.arange(1.0, n + 1), dtype=float, requires_grad=True, device="cpu")
    return x, wp.zeros_like(x, requires_grad=True)


def test_a_write_after_a_read_names_array_and_kernel(warnings_of):
    x, y = arrays()
    with wp.Tape() as tape:
        text = warnings_of(lambda: wp.launch(square, 3, [x], [y], device="cpu"))
        assert text == ""
        text = warnings_of(lambda: wp.launch(put, 3, [0.0], [x], device="cpu"))
    assert f"passed to argument target in kernel put at {__file__}:" in text
    assert "has already been read from in a previous launch" in text
    tape.backward(grads={y: wp.ones(3, dtype=float, device="cpu")})
    # x was overwritten: nothing of it is left, and what was saved is right.
    np.testing.assert_array_equal(tape.saved_bytes, 12)
    assert not x._is_read


def test_views_are_their_array(warnings_of):
    x, y = arrays(4)

    def program():
        with wp.Tape() as tape:
            wp.launch(square, 2, [x[:2]], [y[:2]], device="cpu")
            wp.launch(put, 4, [0.0], [x], device="cpu")
        tape.reset()
        with wp.Tape():
            wp.launch(put, 4, [0.0], [x], device="cpu")

    text = warnings_of(program)
    assert text.count("has already been read from") == 1


def test_copies_name_the_line(warnings_of):
    x, y = arrays()

    def program():
        with wp.Tape():
            wp.launch(square, 3, [x], [y], device="cpu")
            wp.copy(x, y)

    text = warnings_of(program)
    line = program.__code__.co_firstlineno + 3
    assert f"is being written to by an array copy at {__file__}:{line} but has already been read" in text


def test_what_a_kernel_overwrites_itself(warnings_of):
    x, _ = arrays()

    def program():
        with wp.Tape() as tape:
            wp.launch(count_up, 3, [x], device="cpu")
        tape.reset()
        with wp.Tape():
            wp.launch(square_in_place, 3, [x], device="cpu")

    text = warnings_of(program)
    assert text.count("within the same kernel") == 1 and "kernel square_in_place" in text


def test_nothing_is_said_of_fresh_tapes(warnings_of):
    x, y = arrays()

    def program():
        for _ in range(2):
            with wp.Tape() as tape:
                wp.launch(square, 3, [x], [y], device="cpu")
                wp.launch(square, 3, [y], [wp.zeros_like(y)], device="cpu")
            tape.backward(grads={y: wp.ones(3, dtype=float, device="cpu")})

    assert warnings_of(program) == ""
