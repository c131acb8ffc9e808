"""`wp.grad(f)` in a kernel: derivatives of the user's functions and of builtins."""

import numpy as np
import pytest

import gridstride as wp


@wp.func
def square(x: float):
    return x * x


@wp.func
def rooted(x: float, y: float, n: int):
    if n > 1:
        return wp.sqrt(x * x + y * y)
    return x * y


@wp.func
def powered(x: float, n: int):
    y = float(1.0)
    for _i in range(n):
        y = y * x
    return y


@wp.func
def length(v: wp.vec3):
    return wp.length(v)


@wp.func
def apply(g: wp.Function, x: float):
    return g(x) + x


@wp.func
def custom(x: float):
    return x * x


@wp.func_grad(custom)
def adj_custom(x: float, adj_ret: float):
    wp.adjoint[x] += 100.0 * wp.grad(square)(x) * adj_ret


@wp.kernel
def all_kinds(out: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), x: float, n: int):
    out[0] = wp.grad(square)(x)
    d_square = wp.grad(square)
    out[1] = d_square(3.0)
    dx, dy = wp.grad(rooted)(x, 4.0, 2)
    out[2] = dx
    out[3] = dy
    ex, ey = wp.grad(rooted)(x, 4.0, n)
    out[4] = ex
    out[5] = ey
    out[6] = wp.grad(powered)(x, 5)
    v[0] = wp.grad(length)(wp.vec3(0.0, x, 4.0))
    out[7] = wp.grad(apply)(wp.sin, x)
    out[8] = wp.grad(wp.exp)(x)
    by, bx = wp.grad(wp.atan2)(x, 1.0)
    out[9] = by + 10.0 * bx
    out[10] = wp.grad(custom)(x)


def test_derivatives(device):
    out, v = wp.zeros(11, dtype=float), wp.zeros(1, dtype=wp.vec3)
    wp.launch(all_kinds, dim=1, inputs=[out, v, 3.0, 1], device=device)
    expected = [6, 6, 0.6, 0.8, 4, 3, 5 * 81, np.cos(3) + 1, np.exp(3), 0.1 - 3, 600]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(v.numpy(), [[0, 0.6, 0.8]], rtol=1e-6)


@wp.func
def slope(x: float):
    return wp.grad(powered)(x, 3)


@wp.kernel
def curvature(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = slope(x[i])


def test_a_derivative_has_a_gradient():
    x = wp.array([1.0, 2.0, 5.0], dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(curvature, dim=3, inputs=[x], outputs=[y])
    np.testing.assert_allclose(y.numpy(), 3 * x.numpy() ** 2)
    tape.backward(grads={y: wp.ones_like(y)})
    np.testing.assert_allclose(x.grad.numpy(), 6 * x.numpy())


def test_functions_with_derivatives_can_be_called_from_python():
    assert slope(2.0) == 12.0


def test_what_has_no_derivative_is_refused():
    @wp.func
    def whole(n: int):
        return n + 1

    @wp.kernel
    def of_ints(out: wp.array(dtype=int)):
        out[0] = wp.grad(whole)(out[1])

    @wp.kernel
    def of_a_number(out: wp.array(dtype=float)):
        out[0] = wp.grad(out[1])

    with pytest.raises(wp.CompileError, match="takes floats and gives some"):
        wp.launch(of_ints, dim=1, inputs=[wp.zeros(2, dtype=int)])
    with pytest.raises(wp.CompileError, match="a function"):
        wp.launch(of_a_number, dim=1, inputs=[wp.zeros(2, dtype=float)])
