"""The gradient of every builtin that has one: in float64 against central differences, in the others against float64.

    python tests/python/test_gradients_of_builtins.py

prints the table of docs/gradients.md.
"""

from typing import Any

import numpy as np
import pytest

import gridstride as wp

# Kinds of arguments: s scalar, v3 vector, m33 matrix, q unit quaternion, t transform. A range of numbers may follow:
# s:1.2:3. i:2 is the integer 2, u a random state.
CASES = {
    "add": "s s, v2 v2, v3 v3, v4 v4, m22 m22, m33 m33, m44 m44, q q",
    "sub": "s s, v2 v2, v3 v3, v4 v4, m22 m22, m33 m33, m44 m44, q q",
    "mul": "s s, v3 s, s v3, v4 s, m33 s, m22 v2, m33 v3, m44 v4, v3 m33, m22 m22, m33 m33, "
    "m44 m44, m23 v3, m23 m34, q q, q s",
    "div": "s s, v2 s, v3 s, v4 s, m33 s, q s",
    "div_approx": "s s",
    "neg": "s, v3, m33, q",
    "pos": "s",
    "abs": "s:-3:-1, s:1:3",
    "min": "s s, v3 v3, v3",
    "max": "s s, v3 v3, v3",
    "clamp": "s:2:3 s:0:1 s:4:5, s:6:7 s:0:1 s:4:5",
    "mod": "s:5:6 s:2:2.2",
    "pow": "s s",
    "sqrt": "s",
    "cbrt": "s",
    "exp": "s",
    "log": "s",
    "log2": "s",
    "log10": "s",
    "sin": "s",
    "cos": "s",
    "tan": "s",
    "asin": "s",
    "acos": "s",
    "atan": "s",
    "atan2": "s s",
    "sinh": "s",
    "cosh": "s",
    "tanh": "s",
    "asinh": "s",
    "acosh": "s:1.2:3",
    "atanh": "s",
    "erf": "s",
    "erfc": "s",
    "erfinv": "s",
    "erfcinv": "s",
    "degrees": "s",
    "radians": "s",
    "frac": "s:2.2:2.8",
    "sign": "s",
    "step": "s",
    "floor": "s:2.2:2.8",
    "ceil": "s:2.2:2.8",
    "round": "s:2.2:2.4",
    "rint": "s:2.2:2.4",
    "trunc": "s:2.2:2.8",
    "lerp": "s s s, v3 v3 s, m33 m33 s",
    "smoothstep": "s:0:0.2 s:0.8:1 s:0.3:0.7",
    "fma": "s s s",
    "copysign": "s s:-2:-1",
    "where": "i:0 s s, i:1 s s, i:1 v3 v3, i:0 m33 m33, i:1 q q",
    "select": "i:0 s s, i:1 v3 v3",
    "dot": "v2 v2, v3 v3, v4 v4, q q",
    "ddot": "m22 m22, m33 m33",
    "cross": "v3 v3",
    "skew": "v3",
    "outer": "v3 v2",
    "length": "v2, v3, v4, q",
    "length_sq": "v2, v3, v4, q",
    "normalize": "v2, v3, v4, q",
    "cw_mul": "v3 v3, m33 m33",
    "cw_div": "v3 v3, m33 m33",
    "transpose": "m33, m23",
    "trace": "m33",
    "diag": "v3",
    "get_diag": "m33",
    "determinant": "m22, m33, m44",
    "inverse": "m22, m33, m44",
    "inverse_approx": "m22, m33, m44",
    "qr3": "m33",
    "svd2": "m22",
    "svd3": "m33",
    "eig3": "m33",
    "matrix_from_cols": "v3 v3 v3",
    "matrix_from_rows": "v3 v3 v3",
    "quaternion": "s s s s",
    "quat_from_matrix": "m33",
    "quat_twist": "v3 q",
    "quat_twist_angle_signed": "v3 q",
    "transformation": "v3 q",
    "transform_compose": "v3 q v3",
    "transform_decompose": "m44",
    "transform_from_matrix": "m44",
    "transform_twist": "t v6",
    "transform_wrench": "t v6",
    "spatial_adjoint": "m33 m33",
    "quat_inverse": "q",
    "quat_rotate": "q v3",
    "quat_rotate_inv": "q v3",
    "quat_rpy": "s s s",
    "quat_from_euler": "v3 i:2 i:0 i:1",
    "quat_to_euler": "q i:2 i:0 i:1",
    "quat_slerp": "q q s",
    "quat_from_axis_angle": "v3 s",
    "quat_to_axis_angle": "q",
    "quat_to_matrix": "q",
    "quat_to_rpy": "q",
    "quat_twist_angle": "v3 q",
    "transform_multiply": "t t",
    "transform_point": "t v3, m44 v3",
    "transform_vector": "t v3, m44 v3",
    "transform_inverse": "t",
    "transform_set_translation": "t v3",
    "transform_set_rotation": "t q",
    "transform_get_translation": "t",
    "transform_get_rotation": "t",
    "transform_to_matrix": "t",
    "spatial_dot": "v6 v6",
    "spatial_cross": "v6 v6",
    "spatial_cross_dual": "v6 v6",
    "spatial_top": "v6",
    "spatial_bottom": "v6",
    "velocity_at_point": "v6 v3",
    "norm_l1": "v3",
    "norm_l2": "v3",
    "norm_huber": "v3 s",
    "norm_pseudo_huber": "v3 s",
    "smooth_normalize": "v3 s",
}
CHECKS = [(name, kinds.split()) for name, signatures in CASES.items() for kinds in signatures.split(", ")]


# These change what they are given.
@wp.func
def set_translation(t: Any, p: Any):
    moved = t
    wp.transform_set_translation(moved, p)
    return moved


@wp.func
def set_rotation(t: Any, q: Any):
    turned = t
    wp.transform_set_rotation(turned, q)
    return turned


# Its derivative is that of a symmetric matrix.
@wp.func
def eigen_of_symmetric(m: Any):
    return wp.eig3(m + wp.transpose(m))


FUNCTIONS = {
    "transform_set_translation": set_translation,
    "transform_set_rotation": set_rotation,
    "eig3": eigen_of_symmetric,
}


def dtype_of(kind, scalar):
    kind = kind.split(":")[0]
    if kind == "s":
        return scalar
    if kind in ("i", "u"):
        return wp.int32 if kind == "i" else wp.uint32
    if kind == "q":
        return wp.types.quaternion(scalar)
    if kind == "t":
        return wp.types.transformation(scalar)
    if kind.startswith("v"):
        return wp.types.vector(int(kind[1:]), scalar)
    return wp.types.matrix((int(kind[-2]), int(kind[-1])), scalar)


def values_of(kind, random):
    """Numbers that every type of float has."""
    if kind[0] in "iu":
        return np.full(2, int(kind[2:])) if kind[0] == "i" else random.integers(0, 1000, 2)
    name, low, high = (*kind.split(":"), "0.2", "0.9")[:3] if ":" in kind else (kind, "0.2", "0.9")
    shape = {"s": (), "q": (4,), "t": (7,)}.get(name)
    if shape is None:
        shape = (int(name[1:]),) if name[0] == "v" else (int(name[-2]), int(name[-1]))
    values = random.uniform(float(low), float(high), (2, *shape))
    if name == "q":
        values /= np.linalg.norm(values, axis=-1, keepdims=True)
    if name == "t":
        values[..., 3:] /= np.linalg.norm(values[..., 3:], axis=-1, keepdims=True)
    if name[0] == "m":
        values += np.eye(*shape)
    return values.astype(np.float16)


def jacobians(name, kinds, values, scalar, eps=None):
    """The derivatives by the tape, and with `eps` by differences too."""
    arrays = [
        wp.array(one, dtype=dtype_of(kind, scalar), requires_grad=kind[0] not in "iu")
        for one, kind in zip(values, kinds, strict=True)
    ]

    def function(*given):
        return wp.map(FUNCTIONS.get(name) or getattr(wp, name), *given)

    found = wp.autograd.jacobian(function, inputs=arrays)
    return (found, wp.autograd.jacobian_fd(function, inputs=arrays, eps=eps)) if eps else found


def worst(ours, right):
    """The largest error, relative to the larger of 1 and the derivative."""
    pairs = [(ours[key].numpy().astype(np.float64), right[key].numpy().astype(np.float64)) for key in right]
    assert pairs
    return max(float((np.abs(a - b) / np.maximum(np.abs(b), 1.0)).max()) for a, b in pairs)


def errors(name, kinds, others=()):
    """Errors of the gradient: in float64 against central differences, in other types against float64."""
    random = np.random.default_rng(sum(map(ord, name)) + len(kinds))
    values = [values_of(kind, random) for kind in kinds]
    double, expected = jacobians(name, kinds, values, wp.float64, eps=1e-6)
    return [worst(double, expected), *(worst(jacobians(name, kinds, values, scalar), double) for scalar in others)]


@pytest.mark.parametrize(("name", "kinds"), CHECKS, ids=lambda part: part if isinstance(part, str) else "-".join(part))
def test_gradient(name, kinds):
    assert errors(name, kinds)[0] < 1e-7


# These are of float32 only.
NOISE = [(name, n) for name in ("noise", "pnoise", "curlnoise") for n in range(1, 5) if (name, n) != ("curlnoise", 1)]


def errors_of_noise(name, n):
    """The error of the gradient of noise of n dimensions, against differences whose own error is up to 1e-3."""
    random = np.random.default_rng(n)
    # Not at the edges of a cell, where higher derivatives jump.
    shape = (50, n) if n > 1 else 50
    points = (random.integers(0, 5, shape) + random.uniform(0.05, 0.95, shape)).astype(np.float32)
    kinds = ["u", f"v{n}" if n > 1 else "s", *(["i"] * n if name == "pnoise" else [])]
    values = [random.integers(0, 1000, 50), points, *[np.full(50, 5)] * (len(kinds) - 2)]
    return worst(*jacobians(name, kinds, values, wp.float32, eps=2e-3))


@pytest.mark.parametrize(("name", "n"), NOISE)
def test_noise(name, n):
    assert errors_of_noise(name, n) < 2e-3


def test_eigenvectors_of_symmetric_matrices():
    random = np.random.default_rng(5)
    matrices = np.concatenate([random.normal(size=(8, 3, 3)), [np.diag([1.0, 2.0, 3.0])]])
    x = wp.array(matrices, dtype=wp.mat33d, requires_grad=True)
    assert wp.autograd.gradcheck(
        lambda m: wp.map(eigen_of_symmetric, m), inputs=[x], eps=1e-6, atol=1e-6, rtol=1e-6, show_summary=False
    )


def gradients_of(function, values, dtype):
    """Derivatives of the results of a function of one argument, one a value."""
    x = wp.array(values, dtype=dtype, requires_grad=True)
    with wp.Tape() as tape:
        y = wp.map(function, x)
    tape.backward(grads={y: wp.ones_like(y)})
    return x.grad.numpy().astype(np.float64)


@wp.func
def sum_of_eigenvalues(m: wp.mat33h):
    Q, d = wp.eig3(m)
    return d[0] + d[1] + d[2]


def test_gradients_in_float16_are_rounded_once():
    # Differences of eigenvalues are tiny here: their quotients overflow a float16.
    matrices = np.array([np.diag([0.0, 1e-5, 1.0]), np.diag([2.0, 2.0, 3.0])], np.float16)
    gradients = gradients_of(sum_of_eigenvalues, matrices, wp.mat33h)
    np.testing.assert_allclose(gradients, [np.eye(3)] * 2, atol=2e-3)
    np.testing.assert_allclose(gradients_of(wp.erf, np.float16([0.123, 1.5]), wp.float16), [1.1114, 0.11893], rtol=5e-4)


def test_the_sign_of_copysign_at_zeros():
    @wp.func
    def with_the_sign_of_minus_two(x: float):
        return wp.copysign(x, -2.0)

    zeros = np.float32([0.0, -0.0, 1.0, -1.0])
    assert gradients_of(with_the_sign_of_minus_two, zeros, float).tolist() == [-1.0, 1.0, -1.0, 1.0]


def main():
    print("| builtin | arguments | float64, against differences | float32 | float16 |\n|---|---|---|---|---|")
    for name, signatures in CASES.items():
        found = [errors(name, kinds.split(), [wp.float32, wp.float16]) for kinds in signatures.split(", ")]
        double, single, half = (max(part) for part in zip(*found, strict=True))
        shown = ", ".join(" ".join(k.split(":")[0] for k in one.split()) for one in signatures.split(", "))
        print(f"| `{name}` | {shown} | {double:.0e} | {single:.0e} | {half:.0e} |", flush=True)
    for name in ("noise", "pnoise", "curlnoise"):
        error = max(errors_of_noise(*one) for one in NOISE if one[0] == name)
        print(f"`{name}`, float32 against differences: {error:.0e}")


if __name__ == "__main__":
    main()
