"""`block_dim` of launches on the CPU: what `wp.block_dim()` gives with `config.enable_cpu_blocks`."""

import numpy as np
import pytest

import gridstride as wp
from gridstride.autograd import jacobian

pytestmark = pytest.mark.cpu


@wp.kernel
def times_block(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a[i] * float(wp.block_dim())


@pytest.fixture
def blocks(monkeypatch):
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", True)


def run(**options) -> float:
    a, out = wp.ones(5, dtype=float, device="cpu"), wp.zeros(5, dtype=float, device="cpu")
    wp.launch(times_block, dim=5, inputs=[a], outputs=[out], device="cpu", **options)
    assert len(set(out.numpy())) == 1
    return float(out.numpy()[0])


def test_a_block_is_one_thread_unless_blocks_are_enabled():
    assert [run(), run(block_dim=64), run(block_dim=64), run()] == [1.0] * 4


def test_launches_say_how_many_threads_a_block_has(blocks):
    # Twice each: the second launch runs code that is known.
    assert [run(), run(block_dim=64), run(block_dim=8), run(block_dim=64), run(), run(block_dim=0)] == [
        1,
        64,
        8,
        64,
        1,
        1,
    ]


@pytest.mark.parametrize("n", [1025, 2**70])
def test_a_block_has_at_most_1024_threads(n):
    run()
    with pytest.raises(ValueError, match="at most 1024 on CPU"):
        run(block_dim=n)
    with pytest.raises(ValueError, match="at most 1024 on CPU"):
        wp.Launch(times_block, "cpu", block_dim=n)


def test_recorded_launches_keep_their_block(blocks, monkeypatch):
    a, out = wp.ones(3, dtype=float, device="cpu"), wp.zeros(3, dtype=float, device="cpu")
    command = wp.launch(times_block, dim=3, inputs=[a, out], device="cpu", block_dim=4, record_cmd=True)
    assert command.block_dim == 4
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", False)
    command.launch()
    command.launch()
    np.testing.assert_array_equal(out.numpy(), [4.0] * 3)


def test_gradients_are_those_of_the_launch(blocks, monkeypatch):
    a = wp.ones(3, dtype=float, device="cpu", requires_grad=True)
    out = wp.zeros_like(a)
    with wp.Tape() as tape:
        wp.launch(times_block, dim=3, inputs=[a], outputs=[out], device="cpu", block_dim=4)
    assert tape.launches[0][6] == 4
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", False)
    tape.backward(grads={out: wp.ones_like(out)})
    np.testing.assert_array_equal(a.grad.numpy(), [4.0] * 3)
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", True)
    found = jacobian(times_block, 3, inputs=[a], outputs=[out], device="cpu", block_dim=2)
    np.testing.assert_allclose(found[0, 0].numpy(), 2 * np.eye(3))


def test_recorded_adjoint_launches():
    a = wp.ones(3, dtype=float, device="cpu", requires_grad=True)
    out = wp.zeros_like(a)
    out.grad.fill_(2.0)
    command = wp.launch(times_block, 3, [a, out], device="cpu", adjoint=True, record_cmd=True)
    command.launch()
    np.testing.assert_array_equal(a.grad.numpy(), [2.0] * 3)
    further, d_further = wp.ones(2, dtype=float, device="cpu"), wp.zeros(2, dtype=float, device="cpu")
    command.set_params([further, wp.zeros(2, dtype=float, device="cpu")])
    command.set_param_by_name("a", d_further, adjoint=True)
    command.set_param_by_name("out", wp.ones(2, dtype=float, device="cpu"), adjoint=True)
    command.set_dim(2)
    command.launch()
    np.testing.assert_array_equal(d_further.numpy(), [1.0] * 2)


def test_modules_know_what_they_are_compiled_for(blocks):
    module = wp.Module("block_dim_execs")

    @wp.kernel(module=module)
    def one(a: wp.array(dtype=int)):
        a[0] = wp.block_dim()

    assert module.execs == {}
    wp.force_load("cpu", [module], block_dim=4)
    assert list(module.execs) == [(None, 4)]
    wp.force_load("cpu", [module])
    assert list(module.execs) == [(None, 4)]
    module.load("cpu")
    assert sorted(module.execs) == [(None, 1), (None, 4)]
