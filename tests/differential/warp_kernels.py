"""Random programs in Warp's style: kernels over numbers of every type, vectors, matrices, structs and functions.

Only what Warp defines is written: divisors are not zero, floats that become integers are in their range.
"""

from __future__ import annotations

import random

from texts import BITS, FLOATS, INTS, Body, ends, floats, integers

# Vectors, matrices, quaternions: the type of their elements, their shape, what Warp calls them.
VECTORS = {
    "vec2": ("float32", (2,)),
    "vec3": ("float32", (3,)),
    "vec4": ("float32", (4,)),
    "vec3d": ("float64", (3,)),
    "vec2h": ("float16", (2,)),
    "vec3ui": ("uint32", (3,)),
    "vec2s": ("int16", (2,)),
    "vec2d": ("float64", (2,)),
    "vec4d": ("float64", (4,)),
    "vec4ub": ("uint8", (4,)),
    "vec2ul": ("uint64", (2,)),
}
MATRICES = {
    "mat22": ("float32", (2, 2)),
    "mat33": ("float32", (3, 3)),
    "mat22d": ("float64", (2, 2)),
    "mat33d": ("float64", (3, 3)),
    "mat44d": ("float64", (4, 4)),
}
QUATERNIONS = {"quat": ("float32", (4,)), "quatd": ("float64", (4,))}
COMPOSITES = {**VECTORS, **MATRICES, **QUATERNIONS}

BOOL = [
    "{bool} and {bool}",
    "{bool} or {bool}",
    "not {bool}",
    "{COMPARISON}",
    "{COMPARISON}",
    "{COMPARISON}",
    "{int32} < {int32} <= {int32}",
    "wp.isnan({FLOAT})",
    "wp.isfinite({FLOAT})",
    "wp.bool({NUMBER})",
]
ANY = ["{T} if {bool} else {T}", "wp.where({bool}, {T}, {T})"]
INT = [
    *("{T} & {T}", "{T} | {T}", "{T} ^ {T}", "~{T}", "{T} >> ({T} & {7})", "({T} & {15}) << ({T} & {3})"),
    *("{T} // (({T} & {7}) + {1})", "{T} / (({T} & {7}) + {1})", "{T} % (({T} & {7}) + {1})"),
    *("wp.min({T}, {T})", "wp.max({T}, {T})", "wp.abs({T} >> {1})", "wp.sign({T})", "wp.clamp({T}, {1}, {7})"),
    *("{TYPE}({NUMBER_IN_RANGE})", "{TYPE}({NUMBER_IN_RANGE})", "wp.cast({REINTERPRETED}, {TYPE})"),
    *("{ELEMENT}", "{ELEMENT}", "wp.abs({T} >> {1})"),
]
WRAPPING = ["{T} + {T}", "{T} - {T}", "{T} * {T}", "-{T}", "{T} << ({T} & {7})", "{PRODUCT}", "wp.abs({T})"]
# In C++, sums of these that overflow have no meaning.
SMALL = ["({T} >> {1}) + ({T} >> {1})", "({T} >> {1}) - ({T} >> {1})", "({T} % {100}) * ({T} % {100})", "-({T} >> {1})"]
SIGNED = ["{T} // (({T} & {7}) - {9})", "{T} % (({T} & {7}) - {9})", "{T} / (({T} & {7}) - {9})"]
FLOAT = [
    *("{T} + {T}", "{T} - {T}", "{T} * {T}", "{T} / {T}", "{0} - {T}", "{T} % {T}", "{T} // {T}"),
    *("wp.min({T}, {T})", "wp.max({T}, {T})", "wp.abs({T})", "wp.sign({T})", "wp.clamp({T}, {1}, {7})"),
    *("wp.floor({T})", "wp.ceil({T})", "wp.trunc({T})", "wp.round({T})", "wp.rint({T})", "wp.frac({T})"),
    *("wp.sqrt(wp.abs({T}))", "wp.nonzero({T})", "wp.step({T})", "wp.lerp({T}, {T}, {T})", "{T} * {2}"),
    *("{TYPE}({NUMBER})", "{TYPE}({NUMBER})", "{ELEMENT}", "{ELEMENT}"),
    "{PRODUCT}",
    "{OF_MATRIX}",
]
VECTOR = [
    *("{T} + {T}", "{T} - {T}", "{E} * {T}", "{T} * {E}", "wp.cw_mul({T}, {T})", "{MAKE}", "{MAKE}"),
    *("-{T}", "wp.min({T}, {T})", "wp.max({T}, {T})", "{TYPE}({E})", "{SWIZZLE}", "{ROW}"),
]
FLOAT_VECTOR = ["{T} / {E}", "wp.cw_div({T}, {T})", "{MATRIX_TIMES}", "wp.lerp({T}, {T}, {E})"]
MATRIX = [
    *("{T} + {T}", "{T} - {T}", "{E} * {T}", "{T} * {E}", "{T} / {E}", "{MAKE}", "{MAKE}", "-{T}"),
    *("{MATRIX_SUM}", "wp.transpose({T})", "wp.cw_mul({T}, {T})", "{OUTER}"),
    *("{DIAGONAL}", "{TYPE}({E})"),
]
QUATERNION = [
    *("{T} + {T}", "{T} - {T}", "{T} * {E}", "{T} * {T}", "{MAKE}", "wp.quat_inverse({T})", "{T} / {E}"),
]


def element(ty: str) -> str:
    return COMPOSITES[ty][0]


class WarpBody(Body):
    index_type = "int32"

    def __init__(self, rng, variables, types, functions=()):
        super().__init__(rng, variables)
        self.types = types
        self.functions = functions

    def templates(self, ty):
        called = [f"CALL{index}" for index, function in enumerate(self.functions) if function.result == ty]
        rows = ANY + ["{" + name + "}" for name in called] * 4
        if ty == "bool":
            return rows + BOOL
        if ty in INTS:
            rows = rows + INT + (SMALL if ty in ("int32", "int64") else WRAPPING)
            return rows if ty.startswith("u") else rows + SIGNED
        if ty in FLOATS:
            return rows + FLOAT
        if ty in MATRICES:
            return rows + MATRIX
        if ty in QUATERNIONS:
            return rows + QUATERNION
        return rows + VECTOR + (FLOAT_VECTOR if element(ty) in FLOATS else [])

    def literal(self, ty, value=None):
        rng = self.rng
        if ty == "bool":
            return rng.choice(["True", "False"])
        if ty in COMPOSITES:
            return self.make(ty, 0)
        if value is None:
            value = integers(rng, ty, 1)[0] if ty in INTS else rng.choice([0.0, 0.5, 1.0, -1.5, 2.0, 3.25])
        if ty == "int32":
            return str(value) if value >= 0 else f"({value})"
        if ty == "float32":
            return f"{float(value)}" if value >= 0 else f"({float(value)})"
        return f"wp.{ty}({value if ty in INTS else float(value)})"

    def of_element(self, table, ty):
        names = [name for name in table if element(name) == ty]
        return self.rng.choice(names) if names else None

    def special(self, name, ty, depth):
        rng = self.rng
        if name.startswith("CALL"):
            function = self.functions[int(name[4:])]
            return f"{function.name}({', '.join(self.expression(its, depth) for its in function.parameters)})"
        if name in ("NUMBER", "FLOAT"):
            choices = INTS + FLOATS if name == "NUMBER" else FLOATS
            return self.expression(rng.choice([its for its in choices if its in self.types]), depth)
        if name == "TYPE":
            return f"wp.{ty}"
        if name == "E":
            return self.expression(element(ty), depth)
        if name == "REINTERPRETED":
            same = [its for its, bits in BITS.items() if bits == BITS[ty]]
            return self.expression(rng.choice(same + ["float32"] * (BITS[ty] == 32)), depth)
        made_by = getattr(self, name.lower(), None) if name.isupper() else None
        return made_by(ty, depth) if made_by else None

    def comparison(self, ty, depth):
        its = self.rng.choice(self.types)
        operators = ["=="] + (["!=", "<", "<=", ">", ">="] if its in INTS + FLOATS else [])
        return f"{self.expression(its, depth)} {self.rng.choice(operators)} {self.expression(its, depth)}"

    def number_in_range(self, ty, depth):
        """A number of another type whose value the integer type has, where floats say so."""
        source = self.rng.choice(self.types)
        if source in INTS or source == "bool":
            return self.expression(source, depth)
        if source not in FLOATS:
            source = "float32"
        value = self.expression(source, depth)
        low = self.literal(source, max(-100, ends(ty)[0]))
        return f"wp.where(wp.isnan({value}), {low}, wp.clamp({value}, {low}, {self.literal(source, 100)}))"

    def product(self, ty, depth):
        its = self.of_element(VECTORS, ty)
        if its is None:
            return self.expression(ty, depth)
        a = self.expression(its, depth)
        texts = [f"wp.dot({a}, {self.expression(its, depth)})"]
        return self.rng.choice(texts + [f"wp.length_sq({a})", f"wp.length({a})"] * (ty in FLOATS))

    def of_matrix(self, ty, depth):
        its = self.of_element(MATRICES, ty)
        if its is None:
            return self.expression(ty, depth)
        a = self.expression(its, depth)
        return self.rng.choice([f"wp.trace({a})", f"wp.determinant({a})" if "22" in its else f"wp.trace({a})"])

    def element(self, ty, depth):
        its = self.of_element(COMPOSITES, ty)
        return self.expression(ty, depth) if its is None else self.element_of(its, depth)

    def make(self, ty, depth):
        its, shape = COMPOSITES[ty]
        count = shape[0] * shape[-1] if len(shape) == 2 else shape[0]
        return f"wp.{ty}({', '.join(self.expression(its, min(depth, 1)) for _ in range(count))})"

    def element_of(self, its, depth):
        shape, rng = COMPOSITES[its][1], self.rng
        value = self.expression(its, depth)
        if len(shape) == 2:
            row, column = rng.randrange(shape[0]), rng.randrange(shape[1])
            return f"{value}[{row}, {column}]" if rng.random() < 0.5 else f"{value}[{row}][{column}]"
        index = rng.randrange(shape[0])
        varying = f"{self.expression('int32', 1)} & {3 if shape[0] == 4 else 1}"
        return rng.choice([f"{value}[{index}]", f"{value}.{'xyzw'[index]}", f"{value}[-1]", f"{value}[{varying}]"])

    def swizzle(self, ty, depth):
        sources = [(name, its) for its in VECTORS if element(its) == element(ty) for name in self.variables(its)]
        if not sources:
            return self.expression(ty, depth)
        name, its = self.rng.choice(sources)
        letters = "xyzw"[: COMPOSITES[its][1][0]]
        return f"{name}.{''.join(self.rng.choice(letters) for _ in range(COMPOSITES[ty][1][0]))}"

    def square(self, ty):
        """The matrix whose rows have the vector's type."""
        return next((name for name, its in MATRICES.items() if its == (element(ty), COMPOSITES[ty][1] * 2)), None)

    def row(self, ty, depth):
        its = self.square(ty)
        if its is None:
            return self.expression(ty, depth)
        return f"{self.expression(its, depth)}[{self.rng.randrange(COMPOSITES[ty][1][0])}]"

    def matrix_times(self, ty, depth):
        its = self.square(ty)
        if its is None or COMPOSITES[its][1] != (2, 2):
            return self.expression(ty, depth)
        matrix, vector = self.expression(its, depth), self.expression(ty, depth)
        return self.rng.choice([f"{matrix} * {vector}", f"{matrix} @ {vector}", f"{vector} * {matrix}"])

    def matrix_sum(self, ty, depth):
        """Not of floats that a fused product rounds otherwise: Warp fuses in products of matrices."""
        return f"{self.expression(ty, depth)} {self.rng.choice('+-')} {self.expression(ty, depth)}"

    def outer(self, ty, depth):
        row = next(name for name in VECTORS if self.square(name) == ty)
        return f"wp.outer({self.expression(row, depth)}, {self.expression(row, depth)})"

    def diagonal(self, ty, depth):
        row = next(name for name in VECTORS if self.square(name) == ty)
        return f"wp.diag({self.expression(row, depth)})"

    # Statements.

    def declare(self, ty=None):
        ty = ty or self.rng.choice(self.types)
        value, name = self.expression(ty, 2), self.name()
        # Warp wants a type around a literal that a loop changes.
        self.line(f"{name} = wp.{ty}({value})" if ty in INTS + FLOATS + ["bool"] else f"{name} = {value}")
        self.scopes[-1][name] = ty

    def operators(self, ty):
        return ["&", "|", "^"] if ty in ("int32", "int64") else super().operators(ty)

    def augment(self):
        composites = [(name, ty) for name, ty in self.settable() if ty in COMPOSITES]
        if not composites or self.rng.random() < 0.5:
            return super().augment()
        name, ty = self.rng.choice(composites)
        its, shape = COMPOSITES[ty]
        place = f"{name}[{', '.join(str(self.rng.randrange(size)) for size in shape)}]"
        if ty in VECTORS and self.rng.random() < 0.4:
            place = f"{name}.{'xyzw'[self.rng.randrange(shape[0])]}"
        self.line(f"{place} {self.rng.choice(['=', '=', '+=', '-='])} {self.expression(its, 2)}")


class Function:
    """A function of the program, which its kernel calls."""

    def __init__(self, rng, index, types, functions):
        self.name = f"f{index}"
        self.parameters = [rng.choice(types) for _ in range(rng.randint(1, 3))]
        self.result = rng.choice(types)
        body = WarpBody(rng, {f"p{k}": ty for k, ty in enumerate(self.parameters)}, types, functions)
        body.statements(rng.randint(1, 3), 1)
        if rng.random() < 0.3:
            body.line(f"if {body.expression('bool', 1)}:")
            body.line(f"    return {self.typed(body)}")
        body.line(f"return {self.typed(body)}")
        annotated = (f"p{k}: wp.{ty}" for k, ty in enumerate(self.parameters))
        self.lines = ["@wp.func", f"def {self.name}({', '.join(annotated)}):", *body.lines, "", ""]

    def typed(self, body):
        value = body.expression(self.result, 2)
        return f"wp.{self.result}({value})" if self.result in INTS + FLOATS + ["bool"] else value


THREADS = 37


def program(seed: int) -> str:
    """The text of a module whose `run(device)` gives two arrays: what is an integer, what is a float."""
    rng = random.Random(seed)
    scalars = rng.sample(INTS + FLOATS, rng.randint(2, 4))
    for needed in ("int32", "float32"):
        if needed not in scalars:
            scalars.append(needed)
    composites = [name for name in COMPOSITES if element(name) in scalars]
    types = scalars + ["bool"] + rng.sample(composites, min(len(composites), rng.randint(0, 3)))
    functions = []
    for index in range(rng.randint(0, 2)):
        functions.append(Function(rng, index, types, list(functions)))
    body = WarpBody(rng, {f"x_{ty}": ty for ty in scalars}, types, functions)
    body.fixed = set()
    for ty in types:
        body.declare(ty)
    body.statements(rng.randint(2, 5), 2)
    results = [(name, ty) for scope in body.scopes for name, ty in scope.items()]
    stores = [line for index, (name, ty) in enumerate(results) for line in store(index, name, ty)]
    lines = ["import numpy as np", "import warp as wp", "from numpy import inf, nan", "", ""]
    for function in functions:
        lines += function.lines
    parameters = [f"a_{ty}: wp.array(dtype=wp.{ty})" for ty in scalars]
    parameters += ["ints: wp.array2d(dtype=wp.int64)", "floats: wp.array2d(dtype=wp.float64)"]
    lines += ["@wp.kernel", f"def kernel({', '.join(parameters)}):", "    i = wp.tid()"]
    lines += [f"    x_{ty} = a_{ty}[i]" for ty in scalars] + body.lines + stores + ["", ""]
    return "\n".join(lines + runner(rng, scalars)) + "\n"


def store(index, name, ty):
    """Lines that put the elements of a variable to columns of their own."""
    if ty not in COMPOSITES:
        elements = [name]
    elif len(COMPOSITES[ty][1]) == 2:
        rows, columns = COMPOSITES[ty][1]
        elements = [f"{name}[{row}, {column}]" for row in range(rows) for column in range(columns)]
    else:
        elements = [f"{name}[{k}]" for k in range(COMPOSITES[ty][1][0])]
    its = COMPOSITES[ty][0] if ty in COMPOSITES else ty
    array, wide = ("floats", "float64") if its in FLOATS else ("ints", "int64")
    return [f"    {array}[i, {index * 16 + k}] = wp.{wide}({text})" for k, text in enumerate(elements)]


def runner(rng, scalars):
    lines = ["def run(device):"]
    for ty in scalars:
        values = integers(rng, ty, THREADS) if ty in INTS else floats(rng, THREADS)
        lines.append(f"    a_{ty} = wp.array(np.array({values}, np.{ty}), dtype=wp.{ty}, device=device)")
    return [
        *lines,
        f"    ints = wp.zeros(({THREADS}, 512), dtype=wp.int64, device=device)",
        f"    floats = wp.zeros(({THREADS}, 512), dtype=wp.float64, device=device)",
        f"    inputs = [{', '.join(f'a_{ty}' for ty in scalars)}, ints, floats]",
        f"    wp.launch(kernel, dim={THREADS}, inputs=inputs, device=device)",
        "    return [ints.numpy(), floats.numpy()]",
    ]
