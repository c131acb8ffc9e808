"""Random functions in Numba's style: numbers of every type mixed, as Numba's typing says, tuples, arrays and views.

The peer compiles them by `numba.njit`, whose types and values are those of numba-cuda.
"""

from __future__ import annotations

import random

from texts import FLOATS, INTS, Body, floats, integers

ANY = ["{T} if {bool} else {T}", "({T}, {T}, {T})[{-2}]", "(float({T}), float({T}))[{SMALL} & 1]"]
NUMBER = [
    *("{T} + {T}", "{T} - {T}", "{T} * {T}", "{T} * {int}", "{T} + {int}", "-{T}", "abs({T})", "+{T}"),
    *(
        "{T} / {T}",
        "{T} // {NONZERO}",
        "{T} % {NONZERO}",
        "{T} // {T}",
        "{T} ** 2",
        "divmod({T}, {NONZERO})[{SMALL} & 1]",
    ),
    *("min({T}, {T})", "max({T}, {T}, {T})", "float({T})", "math.sqrt(abs({T}))", "math.fabs({T})"),
    *("math.copysign({T}, {T})", "np.floor({T})", "np.float32({T})"),
    *("np.minimum({T}, {T})", "np.maximum({T}, {T})", "np.sign({T})", "round({WITHIN})", "{int}", "{ITEM}", "{ITEM}"),
    *("np.float64({T})", "{CALL}", "{CALL}"),
]
INT = [
    *("{T} + {T}", "{T} - {T}", "{T} * {T}", "{T} & {T}", "{T} | {T}", "{T} ^ {T}", "~{T}", "-{T}"),
    *("{T} << {SMALL}", "{T} >> {SMALL}", "{T} // {DIVISOR}", "{T} % {DIVISOR}", "abs({T})", "min({T}, {T})"),
    *("int({WITHIN})", "math.floor({WITHIN})", "math.ceil({WITHIN})", "int({bool})", "math.trunc({WITHIN})"),
    *("np.int8({T})", "np.uint8({T})", "np.int16({T})", "np.uint16({T})", "np.int32({T})", "np.uint32({T})"),
    *("np.int64({T})", "{ITEM_INT}", "{ITEM_INT}", "len(a0)", "a1.size", "{bool} + {T}", "{T} ** 2"),
]
BOOL = [
    *("{number} < {number}", "{number} <= {int}", "{int} == {int}", "{number} != {number}", "{int} > {number}"),
    *("{bool} and {bool}", "{bool} or {bool}", "not {bool}", "bool({number})", "math.isnan({number})"),
    *("{int} < {number} <= {int}", "math.isinf({number})", "{int} in (1, 2, 7)", "{bool} == {bool}"),
]
# Two numbers of any integer type may make a float (uint64 and int64), which has no bits: those of 32 do not.
NARROW = [ty for ty in INTS if ty not in ("uint64", "uint32", "uint16", "uint8")]


class NumbaBody(Body):
    types = ["number", "int", "bool"]
    index_type = "int"

    def __init__(self, rng, variables, arrays, functions=()):
        super().__init__(rng, variables)
        self.arrays = arrays
        self.functions = functions

    def templates(self, ty):
        return {"number": ANY + NUMBER, "int": ANY + INT, "bool": ["{T} if {bool} else {T}", *BOOL]}[ty]

    def literal(self, ty, value=None):
        if value is not None:
            return str(value)
        if ty == "bool":
            return self.rng.choice(["True", "False"])
        whole = str(self.rng.choice([0, 1, 2, 3, 7, -1, -5, 100, 255, 70000, 2**31, -(2**31), 2**40]))
        return whole if ty == "int" or self.rng.random() < 0.5 else str(self.rng.choice([0.5, 2.0, -1.5, 1e3, 0.1]))

    def special(self, name, ty, depth):
        rng = self.rng
        if name == "SMALL":
            return f"({self.expression('int', 0)} & 7)"
        if name == "DIVISOR":
            return rng.choice([f"(({self.expression('int', 0)} & 7) + 1)", "3", "-4", "7", "1"])
        if name == "NONZERO":
            return rng.choice([f"(({self.expression('int', 0)} & 7) + 1)", "3", "-4", "2.5", "-0.75"])
        if name == "WITHIN":
            value = self.expression("number", min(depth, 1))
            return f"(min(max({value}, -1000), 1000) if {value} == {value} else 0)"
        if name in ("ITEM", "ITEM_INT"):
            choices = [a for a, its in self.arrays.items() if name == "ITEM" or its in NARROW]
            return f"{rng.choice(choices)}{self.index(depth)}"
        if name == "CALL":
            if not self.functions:
                return self.expression("number", depth)
            function = rng.choice(self.functions)
            text = f"{function.name}({', '.join(self.expression(its, depth) for its in function.parameters)})"
            return text + ("" if function.results == 1 else f"[{rng.randrange(function.results)}]")
        return None

    def index(self, depth):
        """An element, within the array, from the front, from the back, of a view."""
        small = f"{self.expression('int', min(depth, 1))} & 7"
        return self.rng.choice(["[i]", "[i]", f"[{small}]", f"[-1 - ({small})]", f"[2:][{small}]", f"[::-2][{small}]"])

    def declare(self, ty=None):
        if self.functions and self.rng.random() < 0.2:
            several = [function for function in self.functions if function.results > 1]
            if several:
                function = self.rng.choice(several)
                arguments = ", ".join(self.expression(its, 1) for its in function.parameters)
                names = [self.name() for _ in range(function.results)]
                self.line(f"{', '.join(names)} = {function.name}({arguments})")
                self.scopes[-1].update(dict.fromkeys(names, "number"))
                return
        super().declare(ty)

    def augment(self):
        names = [(name, ty) for name, ty in self.settable() if ty != "bool"]
        if not names:
            return self.declare()
        name, ty = self.rng.choice(names)
        operator = self.rng.choice(["+", "-", "*"] + (["&", "|", "^", "//"] if ty == "int" else ["/"]))
        value = self.special("DIVISOR", ty, 1) if operator == "//" else self.expression(ty, 2)
        self.line(f"{name} {operator}= {value}")


class Function:
    def __init__(self, rng, index, functions):
        self.name = f"f{index}"
        self.parameters = [rng.choice(["number", "int", "bool"]) for _ in range(rng.randint(1, 3))]
        self.results = rng.choice([1, 1, 2, 3])
        variables = {f"p{k}": ty for k, ty in enumerate(self.parameters)}
        body = NumbaBody(rng, variables, {}, functions)
        body.special = lambda name, ty, depth: (
            body.expression("int" if name == "ITEM_INT" else "number", depth)
            if name in ("ITEM", "ITEM_INT")
            else NumbaBody.special(body, name, ty, depth)
        )
        body.statements(rng.randint(1, 3), 1)
        body.line("return " + ", ".join(body.expression("number", 2) for _ in range(self.results)))
        text = "\n".join(body.lines).replace("len(a0)", "3").replace("a1.size", "40")
        self.lines = ["@jit", f"def {self.name}({', '.join(variables)}):", *text.split("\n"), "", ""]


THREADS = 37


def program(seed: int) -> str:
    rng = random.Random(seed)
    types = rng.sample(INTS + FLOATS[1:], 3) + [rng.choice(NARROW)]
    arrays = {f"a{k}": ty for k, ty in enumerate(types)}
    functions = []
    for index in range(rng.randint(0, 2)):
        functions.append(Function(rng, index, list(functions)))
    body = NumbaBody(rng, {"i": "int"}, arrays, functions)
    body.fixed.add("i")
    for ty in ("number", "int", "bool"):
        body.declare(ty)
    body.statements(rng.randint(2, 5), 2)
    stores = []
    for index, name in enumerate(name for scope in body.scopes for name in scope):
        # What an integer has beyond a float's digits is in its lowest ones.
        stores += [f"    out[i, {2 * index}] = {name}", f"    out[i, {2 * index + 1}] = {name} % 65536"]
    lines = [
        "import math",
        "",
        "import numpy as np",
        "from numpy import inf, nan",
        "from system import jit, launch",
        "",
        "",
    ]
    for function in functions:
        lines += function.lines
    lines += ["@jit", f"def body(i, {', '.join(arrays)}, out):", *body.lines, *stores, "", "", "def run(device):"]
    for name, ty in arrays.items():
        values = integers(rng, ty, THREADS) if ty in INTS else floats(rng, THREADS)
        lines.append(f"    {name} = np.array({values}, np.{ty})")
    lines += [f"    out = np.zeros(({THREADS}, 100))", f"    launch(device, body, {THREADS}, {', '.join(arrays)}, out)"]
    return "\n".join([*lines, "    return [out]"]) + "\n"
