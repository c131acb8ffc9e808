"""Random kernels in Warp's style whose gradients are taken by a tape, and by differences of what they compute."""

from __future__ import annotations

import random

from texts import floats
from warp_kernels import THREADS, WarpBody

TYPES = ["float64", "vec3d", "vec2d", "mat22d", "mat33d", "quatd"]
# Smooth, and of a size that differences of them can be taken of.
FLOAT = [
    *("{T} + {T}", "{T} - {T}", "{T} * {T}", "{T} / ({POSITIVE})", "-{T}", "{T} * {2}", "{T} + {1}"),
    *("wp.sin({T})", "wp.cos({T})", "wp.tanh({T})", "wp.exp(wp.sin({T}))", "wp.sqrt({POSITIVE})"),
    *("wp.log({POSITIVE})", "wp.atan2({T}, {POSITIVE})", "wp.pow({POSITIVE}, wp.sin({T}))"),
    *("wp.abs({T})", "wp.min({T}, {T})", "wp.max({T}, {T})", "wp.clamp({T}, {-2}, {2})", "wp.lerp({T}, {T}, {T})"),
    *(
        "{ELEMENT}",
        "{ELEMENT}",
        "{PRODUCT}",
        "{OF_MATRIX}",
        "{READ}",
        "{READ}",
        "wp.floor({T}) * {T}",
        "wp.float64({int32})",
    ),
    *("wp.cbrt({POSITIVE})", "wp.sinh(wp.sin({T}))", "wp.erf({T})", "wp.asin(wp.sin({T}) * {HALF})", "wp.frac({T})"),
    *(
        "wp.length_sq({VECTOR})",
        "wp.length({VECTOR})",
        "wp.dot({VECTOR3}, wp.normalize({VECTOR3}))",
        "wp.smoothstep({0}, {2}, {T})",
    ),
]
ANY = ["{T} if {bool} else {T}", "wp.where({bool}, {T}, {T})"]
VECTOR = [
    "{T} + {T}",
    "{T} - {T}",
    "{E} * {T}",
    "{T} * {E}",
    "-{T}",
    "wp.cw_mul({T}, {T})",
    "{MAKE}",
    "{MATRIX_TIMES}",
    "{TYPE}({E})",
]
VECTOR += ["{T} / ({POSITIVE})", "wp.lerp({T}, {T}, {E})", "wp.min({T}, {T})", "{ROW}", "wp.normalize({T})"]
VECTOR3 = ["wp.cross({T}, {T})", "wp.quat_rotate(wp.normalize({QUAT}), {T})", "wp.quat_rotate_inv({QUAT}, {T})"]
MATRIX = [
    "{T} + {T}",
    "{T} - {T}",
    "{E} * {T}",
    "{T} * {T}",
    "{T} @ {T}",
    "wp.transpose({T})",
    "{MAKE}",
    "{OUTER}",
    "{DIAGONAL}",
]
MATRIX += ["wp.cw_mul({T}, {T})", "-{T}", "{T} / ({POSITIVE})", "wp.inverse({T} + wp.transpose({T}))"]
QUATERNION = [
    "{T} + {T}",
    "{T} * {T}",
    "{MAKE}",
    "{T} * {E}",
    "wp.quat_inverse({T})",
    "wp.normalize({T})",
    "wp.quat_from_axis_angle({VECTOR3}, {E})",
]
BOOL = ["{float64} < {float64}", "{int32} < 2", "{bool} and {bool}", "not {bool}", "{int32} == 1"]
INT = ["i % 3", "{T} + {1}", "{T} & {3}", "{T} * {2}"]


class GradientBody(WarpBody):
    def templates(self, ty):
        if ty == "bool":
            return BOOL
        if ty == "int32":
            return INT
        if ty == "float64":
            return ANY + FLOAT
        kind = MATRIX if ty.startswith("mat") else QUATERNION if ty == "quatd" else VECTOR + VECTOR3 * (ty == "vec3d")
        return ANY + kind

    def literal(self, ty, value=None):
        if ty == "int32":
            return str(self.rng.randint(0, 3) if value is None else value)
        if ty == "float64":
            return f"wp.float64({self.rng.choice([0.5, 1.5, -0.75, 2.25]) if value is None else float(value)})"
        # A literal that stands beside a vector is one of its elements.
        return super().literal(ty) if value is None else f"wp.float64({float(value)})"

    def special(self, name, ty, depth):
        if name == "HALF":
            return "wp.float64(0.5)"
        if name == "POSITIVE":
            return f"wp.exp(wp.sin({self.expression('float64', depth)}))"
        if name == "VECTOR":
            return self.expression(self.rng.choice(["vec2d", "vec3d"]), depth)
        if name in ("VECTOR3", "QUAT"):
            return self.expression("vec3d" if name == "VECTOR3" else "quatd", depth)
        if name == "READ":
            return self.rng.choice(
                ["a[i]", "b[i]", "a[(i + 1) % 5]", "b[i, 1]".replace("b[i, 1]", "c[i, 1]"), "c[i][0]"]
            )
        return super().special(name, ty, depth)

    def matrix_times(self, ty, depth):
        its = self.square(ty)
        matrix, vector = self.expression(its, depth), self.expression(ty, depth)
        return self.rng.choice([f"{matrix} * {vector}", f"{matrix} @ {vector}", f"{vector} * {matrix}"])

    def operators(self, ty):
        return ["+", "-", "*"] if ty == "float64" else ["+"]

    def settable(self):
        return [(name, ty) for name, ty in super().settable() if ty not in ("int32", "bool")]


def program(seed: int) -> str:
    """`run(device)` gives the values, the gradients by a tape, and those by differences."""
    rng = random.Random(seed)
    types = ["float64", *rng.sample(TYPES[1:], 2)]
    body = GradientBody(rng, {"x": "float64", "y": "float64", "i": "int32"}, types)
    body.fixed = {"i"}
    for ty in types:
        body.declare(ty)
    body.statements(rng.randint(2, 5), 2)
    total = [name for scope in body.scopes for name, ty in scope.items() if ty == "float64"]
    total += [f"{name}[0]" for scope in body.scopes for name, ty in scope.items() if ty in ("vec3d", "vec2d", "quatd")]
    total += [f"{name}[0, 1]" for scope in body.scopes for name, ty in scope.items() if ty.startswith("mat")]
    a, b = floats(rng, THREADS, False), floats(rng, THREADS, False)
    c = floats(rng, 2 * THREADS, False)
    # Off the quarters, where functions have corners.
    moved = [[value + 0.013 * (index % 7) + 0.003 for index, value in enumerate(values)] for values in (a, b, c)]
    arrays = "a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64), c: wp.array2d(dtype=wp.float64)"
    lines = [
        *("import numpy as np", "import warp as wp", "", "", "@wp.kernel"),
        f"def kernel({arrays}, out: wp.array(dtype=wp.float64)):",
        *("    i = wp.tid()", "    x = a[i]", "    y = b[i]", *body.lines, f"    out[i] = {' + '.join(total)}", "", ""),
        *(
            "def run(device):",
            f"    values = [np.array({moved[0]}), np.array({moved[1]}), np.array({moved[2]}).reshape(-1, 2)]",
        ),
        *(
            "    def launch(values):",
            "        inputs = [wp.array(v, dtype=wp.float64, device=device, requires_grad=True) for v in values]",
        ),
        f"        out = wp.zeros({THREADS}, dtype=wp.float64, device=device, requires_grad=True)",
        *("        tape = wp.Tape()", "        with tape:"),
        f"            wp.launch(kernel, dim={THREADS}, inputs=[*inputs, out], device=device)",
        "        return inputs, out, tape",
        "    inputs, out, tape = launch(values)",
        f"    seeds = np.cos(np.arange({THREADS}.0)) + 1.5",
        "    tape.backward(grads={out: wp.array(seeds, dtype=wp.float64, device=device)})",
        "    gradients = [np.array(one.grad.numpy()) for one in inputs]",
        "    differences = [np.zeros_like(v) for v in values]",
        "    for k, v in enumerate(values):",
        "        for at in [0, 1, 2, 3, 4, 5, 17, 36]:",
        "            for place in [(at,)] if v.ndim == 1 else [(at, 0), (at, 1)]:",
        "                slopes = []",
        "                for step in (1e-5, 1e-6):",
        "                    two = []",
        "                    for moved in [[w.copy() for w in values] for _ in range(2)]:",
        "                        moved[k][place] += step if not two else -step",
        "                        two.append(launch(moved)[1].numpy())",
        "                    slopes.append((two[0] - two[1]) @ seeds / (2 * step))",
        "                # Where steps of two lengths differ there is a corner, or too few digits.",
        "                is_smooth = abs(slopes[0] - slopes[1]) < 1e-5 * (1 + abs(slopes[1]))",
        "                differences[k][place] = slopes[1] if is_smooth else gradients[k][place]",
        "        differences[k][6:17] = gradients[k][6:17]",
        "        differences[k][18:36] = gradients[k][18:36]",
        "    return [out.numpy(), *gradients, *differences]",
    ]
    return "\n".join(lines) + "\n"
