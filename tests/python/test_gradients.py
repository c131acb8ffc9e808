"""Gradients through the tape: right whatever is overwritten, aliased, copied or run again, or refused by name."""

import warnings

import numpy as np
import pytest

import gridstride as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def square_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()])


@wp.kernel
def shift(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] + 1.0


@wp.kernel
def wave(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) + 0.5 * x[i]


def floats(values, requires_grad=True):
    return wp.array(values, dtype=float, requires_grad=requires_grad)


def ones(a):
    return wp.ones_like(a, requires_grad=False)


def test_a_chain_of_launches(device):
    x, y, loss = floats([1.0, 2.0, 3.0]), floats([0.0] * 3), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(square, 3, [x], [y], device=device)
        wp.launch(total, 3, [y], [loss], device=device)
    tape.backward(loss)
    assert x.grad.list() == [2.0, 4.0, 6.0]
    assert tape.gradients[x] is x.grad
    assert [entry[0] for entry in tape.launches] == [square, total]
    tape.backward(loss)
    assert x.grad.list() == [4.0, 8.0, 12.0]
    tape.zero()
    assert x.grad.list() == [0.0] * 3
    tape.reset()
    assert tape.launches == []


def test_a_second_pass_takes_nothing_of_the_first(device):
    x, y, z = floats([1.0, 2.0]), floats([0.0]), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(total, 2, [x], [y], device=device)
        wp.launch(square, 1, [y], [z], device=device)
    for n in (1, 2, 3):
        tape.backward(grads={z: ones(z)})
        assert (x.grad.list(), y.grad.list()) == ([6.0 * n, 6.0 * n], [6.0])


def test_what_a_later_launch_overwrites_is_saved_once(device):
    x, y, z, loss = floats([1.0, 2.0]), floats([0.0] * 2), floats([0.0] * 2), floats([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, [x], [y], device=device)
        wp.launch(square, 2, [x], [z], device=device)
        assert tape.saved_bytes == 0
        wp.launch(scale, 2, [y, 3.0], [x], device=device)
        wp.launch(total, 2, [x], [loss], device=device)
        wp.launch(total, 2, [z], [loss], device=device)
    assert tape.saved_bytes == 8
    tape.backward(loss)
    assert x.grad.list() == [8.0, 16.0]


def test_writes_after_the_block_are_seen(device):
    x, y = floats([1.0, 2.0]), floats([0.0] * 2)
    for overwrite in (
        lambda: x.fill_(9.0),
        x.zero_,
        lambda: x.assign([5.0, 5.0]),
        lambda: wp.copy(x, y),
        lambda: x[1:].fill_(9.0),
        lambda: wp.launch(scale, 2, [y, 2.0], [x], device=device),
        lambda: wp.launch(scale, 2, [y, 2.0], [x], device=device, record_tape=False),
        lambda: wp.utils.array_scan(y, x),
    ):
        x.assign([1.0, 2.0])
        with wp.Tape() as tape:
            wp.launch(square, 2, [x], [y], device=device)
        overwrite()
        assert tape.saved_bytes == 8
        tape.backward(grads={y: ones(y)})
        assert x.grad.list() == [2.0, 4.0]
        x.grad.zero_()


def test_in_place_twice_and_twice_backward(device):
    x, loss = floats([2.0, 3.0]), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(square_in_place, 2, [x], device=device)
        wp.launch(square_in_place, 2, [x], device=device)
        wp.launch(total, 2, [x], [loss], device=device)
    for _ in range(2):
        tape.zero()
        tape.backward(loss)
        assert x.grad.list() == [4 * 2.0**3, 4 * 3.0**3]
    assert x.list() == [16.0, 81.0]


def test_without_saving_both_launches_are_named():
    x, y = floats([1.0, 2.0]), floats([0.0] * 2)
    with wp.Tape(save_overwritten=False) as tape:
        wp.launch(square, 2, [x], [y])
        wp.launch(wave, 2, [y], [x])
    assert tape.saved_bytes == 0
    with pytest.raises(RuntimeError, match=r"array `x` of kernel `square`.*kernel `wave` \(argument `y`\)"):
        tape.backward(grads={x: ones(x)})
    with wp.Tape(save_overwritten=False) as tape:
        wp.launch(square, 2, [x], [y])
    x.zero_()
    with pytest.raises(RuntimeError, match="`square`.*fill_ has overwritten"):
        tape.backward(grads={y: ones(y)})


def test_after_the_backward_pass_nothing_is_saved():
    x, y = floats([1.0, 2.0]), floats([0.0] * 2)
    with wp.Tape() as tape:
        wp.launch(square, 2, [x], [y])
    tape.backward(grads={y: ones(y)})
    x.fill_(7.0)
    assert tape.saved_bytes == 0
    with pytest.raises(RuntimeError, match="record again"):
        tape.backward(grads={y: ones(y)})


def test_arguments_over_one_memory(device):
    @wp.kernel
    def pair(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float)):
        a[0] = b[0] * b[0]
        out[0] = b[0] * 3.0

    x, out = floats([2.0, 5.0]), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(pair, 1, [x, x[:1], out], device=device)
    assert out.list() == [12.0]
    tape.backward(out)
    assert x.grad.list() == [12.0, 0.0]


def test_views_share_gradients_by_memory():
    x, y = wp.zeros((2, 3), requires_grad=True), floats([0.0] * 3)
    early = wp.zeros((2, 3))
    view = early[1]
    early.requires_grad = True
    assert view.grad is None
    with wp.Tape() as tape:
        wp.launch(scale, 3, [x[1], 2.0], [y])
        wp.launch(scale, 3, [y, 5.0], [view])
        wp.launch(scale, 3, [early[1], 7.0], [y])
    tape.backward(grads={y: ones(y)})
    assert x.grad.numpy().tolist() == [[0.0] * 3, [70.0] * 3]


@pytest.mark.cpu
def test_two_gradients_of_one_memory_are_refused():
    values = np.ones(3, np.float32)
    a, b = (wp.array(values, copy=False, requires_grad=True) for _ in range(2))
    y = floats([0.0] * 3)
    with wp.Tape() as tape:
        wp.launch(scale, 3, [a, 2.0], [y])
        wp.launch(scale, 3, [b, 2.0], [y])
    with pytest.raises(RuntimeError, match="lie over the same memory"):
        tape.backward(grads={y: ones(y)})


def test_indexed_arrays(device):
    @wp.kernel
    def gather(x: wp.indexedarray(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    x, y = floats([1.0, 2.0, 3.0]), floats([0.0] * 2)
    with wp.Tape() as tape:
        wp.launch(gather, 2, [wp.indexedarray(x, [wp.array([2, 0], dtype=int)])], [y], device=device)
        x.zero_()
    tape.backward(grads={y: ones(y)})
    # What x held before `zero_` got 6 and 2, but x itself was overwritten after that.
    assert x.grad.list() == [2.0, 0.0, 6.0]


def test_structs_of_arrays(device):
    @wp.struct
    class Inner:
        x: wp.array(dtype=float)

    @wp.struct
    class Outer:
        inner: Inner
        s: float
        y: wp.array(dtype=float)

    @wp.kernel
    def apply(o: Outer, out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = o.s * o.inner.x[i] * o.y[i]

    o = Outer()
    o.inner.x, o.s, o.y = floats([1.0, 2.0]), 3.0, floats([4.0, 5.0])
    x, y, out = o.inner.x, o.y, floats([0.0] * 2)
    with wp.Tape() as tape:
        wp.launch(apply, 2, [o], [out], device=device)
    # The launch had the arrays that the struct held then.
    o.y = floats([0.0, 0.0])
    tape.backward(grads={out: ones(out)})
    assert (x.grad.list(), y.grad.list()) == ([12.0, 15.0], [3.0, 6.0])
    tape.zero()
    assert (x.grad.list(), y.grad.list()) == ([0.0] * 2, [0.0] * 2)
    y.requires_grad = False
    tape.backward(grads={out: ones(out)})
    assert x.grad.list() == [12.0, 15.0]


def test_copies_and_fills_have_a_way_back(device):
    with wp.ScopedDevice(device if device == "cuda" else "cpu"):
        x, y, z, loss = floats([1.0, 2.0, 3.0, 4.0]), floats([0.0] * 4), floats([0.0] * 4), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(scale, 4, [x, 2.0], [y], device=device)
        y[:1].zero_()
        wp.copy(y, x, dest_offset=1, src_offset=0, count=2)
        z.assign(y)
        c = wp.clone(z)
        wp.launch(square, 4, [c], [z], device=device)
        wp.launch(total, 4, [z], [loss], device=device)
        y.fill_(3.0)
    assert c.list() == [0.0, 1.0, 2.0, 8.0]
    tape.backward(loss)
    assert x.grad.list() == [2.0, 4.0, 0.0, 32.0]


def test_overlapping_copy():
    y, loss = floats([1.0, 2.0, 3.0, 4.0]), floats([0.0])
    with wp.Tape() as tape:
        wp.copy(y, y, dest_offset=1, src_offset=0, count=3)
        wp.launch(total, 4, [y], [loss])
    assert y.list() == [1.0, 1.0, 2.0, 3.0]
    tape.backward(loss)
    assert y.grad.list() == [2.0, 1.0, 1.0, 0.0]


def test_array_arithmetic_and_map():
    a, b = wp.zeros((2, 3), requires_grad=True), floats([1.0, 2.0, 3.0])
    a.fill_(2.0)
    with wp.Tape() as tape:
        c = a * b + wp.map(wp.sin, a)
        c *= 2.0
    tape.backward(grads={c: ones(c)})
    np.testing.assert_allclose(a.grad.numpy(), 2.0 * (b.numpy() + np.cos(2.0)) * np.ones((2, 1)), rtol=1e-6)
    np.testing.assert_allclose(b.grad.numpy(), [8.0] * 3, rtol=1e-6)


def test_retain_grad():
    x, y, loss = floats([3.0]), floats([0.0]), floats([0.0])
    y.retain_grad = True
    with wp.Tape() as tape:
        wp.launch(square, 1, [x], [y])
        wp.launch(scale, 1, [y, 5.0], [loss])
    tape.backward(loss)
    assert (y.grad.list(), x.grad.list()) == ([5.0], [30.0])


def test_a_function_on_the_tape():
    x, y, loss = floats([3.0]), floats([0.0]), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(scale, 1, [x, 2.0], [y], record_tape=False)
        tape.record_func(lambda: x.grad.assign(x.grad.numpy() + 2.0 * y.grad.numpy()), [x, y])
        wp.launch(total, 1, [y], [loss])
    tape.backward(loss)
    assert x.grad.list() == [2.0]
    with pytest.raises(RuntimeError, match="no array with a gradient"):
        tape.record_func(lambda: None, [floats([1.0], requires_grad=False)])


def test_paused_and_nested():
    x, y, z = floats([3.0]), floats([0.0]), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(square, 1, [x], [y])
        with pytest.raises(RuntimeError, match="recording already"), wp.Tape():
            pass
        with tape.paused():
            with wp.Tape() as inner:
                wp.launch(scale, 1, [x, 7.0], [z])
            x.fill_(100.0)
        wp.launch(scale, 1, [y, 2.0], [z])
    tape.backward(grads={z: ones(z)})
    assert x.grad.list() == [12.0]
    tape.zero()
    inner.backward(grads={z: ones(z)})
    assert x.grad.list() == [7.0]


def test_an_array_without_gradient_on_the_way_is_named():
    x, y, loss = floats([3.0]), floats([0.0], requires_grad=False), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(square, 1, [x], [y])
        wp.launch(total, 1, [y], [loss])
    with pytest.raises(RuntimeError, match="(?s)depends on no array that has a gradient.*array `y` of kernel `square`"):
        tape.backward(loss)
    with wp.Tape() as tape:
        wp.launch(square, 1, [x], [y])
        wp.launch(total, 1, [y], [loss])
        wp.launch(total, 1, [x], [loss])
    with pytest.warns(UserWarning, match="array `y` of kernel `square` is on the way"):
        tape.backward(loss)


def test_constants_need_no_gradient():
    x, target, loss = floats([3.0]), floats([1.0], requires_grad=False), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(scale, 1, [target, 2.0], [target])
        wp.launch(total, 1, [target], [loss])
        wp.launch(total, 1, [x], [loss])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tape.backward(loss)
    assert x.grad.list() == [1.0]


def test_what_cannot_be_a_loss():
    x, loss = floats([3.0, 4.0]), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(square, 2, [x], [x])
    with pytest.raises(RuntimeError, match="nothing on this tape writes to the loss"):
        tape.backward(loss)
    with pytest.raises(RuntimeError, match="scalar loss"):
        tape.backward(x)
    with pytest.raises(RuntimeError, match="requires_grad"):
        tape.backward(floats([1.0], requires_grad=False))


def test_backward_switched_off_warns(capfd):
    @wp.kernel(enable_backward=False)
    def off(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = x[0]

    x, y = floats([3.0]), floats([0.0])
    with wp.Tape() as tape:
        wp.launch(off, 1, [x], [y])
    tape.backward(grads={y: ones(y)})
    assert "enable_backward=False" in capfd.readouterr().err
    assert x.grad.list() == [0.0]


def test_adjoint_launch(device):
    x, gx, gy = floats([2.0, 3.0], False), floats([10.0, 0.0], False), floats([1.0, 1.0], False)
    y = floats([0.0] * 2, False)
    wp.launch(square, 2, [x], [y], adj_inputs=[gx], adj_outputs=[gy], adjoint=True, device=device)
    assert (gx.list(), gy.list()) == ([14.0, 6.0], [0.0, 0.0])
    wp.launch(square_in_place, 2, [x], adj_inputs=[gx], adjoint=True, device=device)
    assert (gx.list(), x.list()) == ([56.0, 36.0], [2.0, 3.0])


@wp.func
def take_number(counter: wp.array(dtype=int), numbers: wp.array(dtype=int), i: int):
    n = wp.atomic_add(counter, 0, 1)
    numbers[i] = n
    return n


@wp.func_replay(take_number)
def number_taken(counter: wp.array(dtype=int), numbers: wp.array(dtype=int), i: int):
    return numbers[i]


@wp.kernel
def in_turn(
    x: wp.array(dtype=float), counter: wp.array(dtype=int), numbers: wp.array(dtype=int), y: wp.array(dtype=float)
):
    i = wp.tid()
    n = take_number(counter, numbers, i)
    y[n] = x[n] * x[n]


def test_a_replay_reads_what_the_launch_left(device):
    x, y = floats([1.0, 2.0, 3.0]), floats([0.0] * 3)
    counter, numbers = wp.zeros(1, dtype=int), wp.zeros(3, dtype=int)
    with wp.Tape() as tape:
        wp.launch(in_turn, 3, [x, counter, numbers], [y], device=device)
        numbers.zero_()
    tape.backward(grads={y: ones(y)})
    assert x.grad.list() == [2.0, 4.0, 6.0]


def test_a_tape_is_drawn():
    x, y = wp.ones(2, dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)

    @wp.kernel
    def doubled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = 2.0 * x[i]

    with wp.Tape() as tape:
        wp.launch(doubled, dim=2, inputs=[x], outputs=[y])
    text = tape.visualize(array_labels={x: "first", y: "second"})
    assert text.startswith("digraph tape") and '"first"' in text and "doubled" in text


def test_launches_can_be_appended(device):
    x, y, loss = floats([1.0, 2.0]), floats([0.0] * 2), floats([0.0])
    called = []
    tape = wp.Tape()
    wp.launch(square, 2, [x], [y], device=device)
    tape.launches.append([square, (2,), 0, [x], [y], device, 1, {}])
    launches = tape.launches
    launches.append(lambda: called.append(y.grad.list()))
    launches += [[total, 2, 0, [y], [loss], device]]
    assert [launches[0][0], launches[2][0], len(launches), len(tape.launches)] == [square, total, 3, 3]
    tape.backward(loss)
    assert (x.grad.list(), called) == ([2.0, 4.0], [[1.0, 1.0]])
    with pytest.raises(TypeError, match="a tape keeps the order"):
        launches.pop()

    # What a function does that names no arrays, no one knows.
    tape = wp.Tape()
    tape.launches.append(lambda: x.grad.fill_(5.0))
    tape.backward(loss)
    assert x.grad.list() == [5.0, 5.0]


@wp.kernel
def count_and_add(n: wp.array(dtype=int), m: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(n[i] + m[0]):
        y[i] = wp.sin(y[i]) * x[i] + 0.1 * float(k)


def test_arguments_that_are_only_read_may_overlap(device):
    # What the loop writes cannot be what counts its rounds, though that is passed twice.
    rounds = wp.array([3, 2, 0], dtype=int)
    x, y = floats([1.5, 0.5, 2.0]), floats([0.1, 0.2, 0.3])
    with wp.Tape() as tape:
        wp.launch(count_and_add, 3, [rounds, rounds[1:], x], [y], device=device)
    tape.backward(grads={y: ones(y)})
    h, sides = 1e-3, []
    for step in (-h, h):
        at = np.array([0.1, 0.2, 0.3])
        for i, n in enumerate([5, 4, 2]):
            for k in range(n):
                at[i] = np.sin(at[i]) * (x.numpy()[i] + step) + 0.1 * k
        sides.append(at)
    np.testing.assert_allclose(x.grad.numpy(), (sides[1] - sides[0]) / (2 * h), rtol=1e-3)
