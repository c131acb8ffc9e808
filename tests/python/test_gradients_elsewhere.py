"""Kernels inside of PyTorch and JAX: the other side asks for gradients. Passed over where the package is missing."""

import numpy as np
import pytest

import gridstride as wp

VALUES = np.linspace(0.1, 2.0, 6, dtype=np.float32)


@wp.kernel
def wave(x: wp.array(dtype=float), s: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(s[0] * x[i]) + x[i] * x[i]


def waves(x, s):
    y = wp.zeros_like(x)
    wp.launch(wave, dim=len(x), inputs=[x, s], outputs=[y])
    return y


def expected(x, s):
    """The gradients of the sum of 2 y."""
    return 2.0 * (s * np.cos(s * x) + 2.0 * x), np.sum(2.0 * x * np.cos(s * x))


@pytest.mark.cpu
def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor(VALUES, requires_grad=True)
    s = torch.tensor([1.5], requires_grad=True)
    function = wp.autograd.torch_function(waves)
    (2.0 * function(x, s)).sum().backward()
    by_x, by_s = expected(VALUES, 1.5)
    np.testing.assert_allclose(x.grad.numpy(), by_x, rtol=1e-5)
    np.testing.assert_allclose(s.grad.numpy(), [by_s], rtol=1e-5)
    constant = torch.tensor([1.5])
    x.grad = None
    (2.0 * function(x, constant)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), by_x, rtol=1e-5)


def test_jax():
    jax = pytest.importorskip("jax")
    function = wp.autograd.jax_function(waves, lambda x, s: jax.ShapeDtypeStruct(x.shape, x.dtype))
    loss = jax.jit(jax.grad(lambda x, s: (2.0 * function(x, s)).sum(), argnums=(0, 1)))
    found = loss(VALUES, np.float32([1.5]))
    by_x, by_s = expected(VALUES, 1.5)
    np.testing.assert_allclose(np.asarray(found[0]), by_x, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(found[1]), [by_s], rtol=1e-5)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_missing_package_is_named(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, name, None)
    function = getattr(wp.autograd, f"{name}_function")
    with pytest.raises(ImportError, match="pip install"):
        function(waves) if name == "torch" else function(waves, None)
