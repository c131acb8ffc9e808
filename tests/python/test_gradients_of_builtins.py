"""The gradient of every builtin that has one: in float64 against central differences, in float32 against float64.

    python tests/python/test_gradients_of_builtins.py

prints the table of docs/gradients.md.
"""

import numpy as np
import pytest

import gridstride as wp

# Kinds of arguments: s scalar, v3 vector, m33 matrix, q unit quaternion, t transform. A range of numbers may follow:
# s:1.2:3.
CASES = {
    "add": "s s, v3 v3, m33 m33, q q",
    "sub": "s s, v3 v3, m33 m33, q q",
    "mul": "s s, v3 s, s v3, m33 s, m33 v3, v3 m33, m33 m33, q q, q s",
    "div": "s s, v3 s, m33 s, q s",
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
    "dot": "v3 v3, q q",
    "ddot": "m33 m33",
    "cross": "v3 v3",
    "skew": "v3",
    "outer": "v3 v2",
    "length": "v3, q",
    "length_sq": "v3, q",
    "normalize": "v3, q",
    "cw_mul": "v3 v3, m33 m33",
    "cw_div": "v3 v3, m33 m33",
    "transpose": "m33",
    "trace": "m33",
    "diag": "v3",
    "get_diag": "m33",
    "determinant": "m22, m33, m44",
    "inverse": "m22, m33, m44",
    "qr3": "m33",
    "svd2": "m22",
    "svd3": "m33",
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


def dtype_of(kind, scalar):
    kind = kind.split(":")[0]
    if kind == "s":
        return scalar
    if kind == "q":
        return wp.types.quaternion(scalar)
    if kind == "t":
        return wp.types.transformation(scalar)
    if kind.startswith("v"):
        return wp.types.vector(int(kind[1:]), scalar)
    return wp.types.matrix((int(kind[-2]), int(kind[-1])), scalar)


def values_of(kind, random):
    name, low, high = (*kind.split(":"), "0.2", "0.9")[:3] if ":" in kind else (kind, "0.2", "0.9")
    shape = {"s": (), "q": (4,), "t": (7,)}.get(name)
    if shape is None:
        shape = (int(name[1:]),) if name[0] == "v" else (int(name[-2]), int(name[-1]))
    values = random.uniform(float(low), float(high), (2, *shape)).astype(np.float32)
    if name == "q":
        values /= np.linalg.norm(values, axis=-1, keepdims=True)
    if name == "t":
        values[..., 3:] /= np.linalg.norm(values[..., 3:], axis=-1, keepdims=True)
    if name[0] == "m":
        values += np.eye(shape[0], dtype=np.float32)
    return values


def errors(name, kinds, scalars=(wp.float64, wp.float32)):
    """Relative errors of the gradient: in float64 against central differences, in float32 against float64."""
    random = np.random.default_rng(sum(map(ord, name)) + len(kinds))
    values = [values_of(kind, random) for kind in kinds]
    found = {}
    for scalar in scalars:
        arrays = [
            wp.array(one, dtype=dtype_of(kind, scalar), requires_grad=True)
            for one, kind in zip(values, kinds, strict=True)
        ]

        def function(*given):
            return wp.map(getattr(wp, name), *given)

        found[scalar] = wp.autograd.jacobian(function, inputs=arrays)
        if scalar is wp.float64:
            expected = wp.autograd.jacobian_fd(function, inputs=arrays, eps=1e-6)

    def worst(ours, right):
        pairs = [(ours[key].numpy().astype(np.float64), right[key].numpy().astype(np.float64)) for key in right]
        assert pairs
        return max(float((np.abs(a - b) / np.maximum(np.abs(b), 1.0)).max()) for a, b in pairs)

    return worst(found[wp.float64], expected), worst(found[scalars[-1]], found[wp.float64])


@pytest.mark.parametrize(("name", "kinds"), CHECKS, ids=lambda part: part if isinstance(part, str) else "-".join(part))
def test_gradient(name, kinds):
    assert errors(name, kinds, [wp.float64])[0] < 1e-7


@wp.func
def eigen_of_symmetric(m: wp.mat33d):
    return wp.eig3(m + wp.transpose(m))


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
    print("| builtin | arguments | float64, against differences | float32, against float64 |\n|---|---|---|---|")
    for name, signatures in CASES.items():
        found = []
        for kinds in signatures.split(", "):
            try:
                found.append(errors(name, kinds.split()))
            except Exception as error:
                print("!!", name, kinds, str(error).splitlines()[0][:150])
        if found:
            double, single = (max(part) for part in zip(*found, strict=True))
            shown = ", ".join(" ".join(k.split(":")[0] for k in one.split()) for one in signatures.split(", "))
            print(f"| `{name}` | {shown} | {double:.0e} | {single:.0e} |")


if __name__ == "__main__":
    main()
