"""Random kernels in C: its promotions and conversions, pointers, arrays, structs, `switch`.

The peer is the machine's C compiler, told that signed integers wrap around.
"""

from __future__ import annotations

import random

from texts import Body, floats, integers

INTS = {
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "long long": "int64",
    "unsigned long long": "uint64",
    "long": "int64",
    "size_t": "uint64",
}
FLOATS = {"float": "float32", "double": "float64"}
TYPES = [*INTS, *FLOATS, "bool"]

ANY = ["{bool} ? {T} : {T}", "({PLAIN})({T})", "({T}, {T})", "{CALL}", "{CALL}", "{ITEM}", "{ITEM}", "{MEMBER}"]
NUMBER = [
    *("{T} + {T}", "{T} - {T}", "{T} * {T}", "- {T}", "+{T}", "{int}", "{int}", "{FLOAT}", "{FLOAT}"),
    *(
        "{T} / ({int} & 7) + 1",
        "{T} / 3.0f",
        "{T} * 0.5",
        "fabs({T})",
        "sqrt(fabs({T}))",
        "floor({T})",
        "ceilf((float){T})",
    ),
    *(
        "fmin({T}, {T})",
        "fmaxf({T}, {T})",
        "trunc({T})",
        "(float){T} + {T}",
        "copysign({T}, {T})",
        "rint({T})",
        "round({T})",
    ),
]
INT = [
    *("{T} + {T}", "{T} - {T}", "{T} * {T}", "{T} & {T}", "{T} | {T}", "{T} ^ {T}", "~{T}", "- {T}", "!{T}"),
    *("{T} << ({T} & 7)", "{T} >> ({T} & 7)", "{T} / (({T} & 7) + 1)", "{T} % (({T} & 7) + 1)", "{T} / 7", "{T} % 5u"),
    *(
        "({WHOLE}){WITHIN}",
        "({WHOLE})({T})",
        "({WHOLE})({T})",
        "{bool}",
        "{T} < {T}",
        "{bool} + {bool}",
        "sizeof({PLAIN})",
    ),
    *("abs((int)({T} & 1023) - 500)", "{ITEM_INT}", "{ITEM_INT}", "{MEMBER_INT}", "{POINTERS}"),
]
BOOL = [
    *("{number} < {number}", "{number} >= {number}", "{int} == {int}", "{number} != {number}", "{int} < {int}"),
    *("{bool} && {bool}", "{bool} || {bool}", "!{bool}", "{int}", "isnan((double){number})", "!{number}"),
]
TABLES = {"number": ANY + NUMBER, "int": ["{bool} ? {T} : {T}", "({T}, {T})", *INT], "bool": BOOL}
LITERALS = [
    *(
        "0",
        "1",
        "2",
        "-1",
        "7",
        "100",
        "255",
        "-128",
        "65536",
        "2147483647",
        "1u",
        "0xFFFFFFFF",
        "0x7f",
        "017",
        "3000000000",
    ),
    *(
        "4294967295u",
        "1LL",
        "-5LL",
        "0xFFFFFFFFFFFFFFFFull",
        "1ul",
        "'a'",
        "'\\n'",
        "'\\\\'",
        "'\\x7f'",
        "'\\0'",
        "RED",
        "BLUE",
        "SIX",
    ),
]
REALS = ["0.5f", "1.5", "-2.0f", "1e3", ".25f", "3.f", "1e-3", "100.0"]

STRUCT = """
enum Color { RED, GREEN = 5, BLUE };
#define SIX (2 * 3)
#define MIX(a, b) ((a) * 3 - (b))
struct Inner { short s; unsigned char c; double d; };
struct Outer { char tag; struct Inner inner; float f[3]; long long wide; struct Inner other; };
"""
# Members of `Outer`, and whether they are integers.
MEMBERS = {
    "tag": True,
    "inner.s": True,
    "inner.c": True,
    "inner.d": False,
    "f[1]": False,
    "f[{int} & 1]": False,
    "wide": True,
    "other.s": True,
    "other.c": True,
    "other.d": False,
}


class CBody(Body):
    types = ["number", "int", "bool"]

    def __init__(self, rng, variables, functions=(), arrays=True):
        super().__init__(rng, variables)
        self.functions = functions
        self.plain: dict[str, str] = {}
        self.has_arrays = arrays

    def templates(self, ty):
        return TABLES[ty]

    def literal(self, ty, value=None):
        if value is not None:
            return str(value)
        return self.rng.choice(REALS if ty == "number" and self.rng.random() < 0.4 else LITERALS)

    def special(self, name, ty, depth):
        rng = self.rng
        if name in ("PLAIN", "WHOLE"):
            return rng.choice(
                TYPES if name == "PLAIN" and ty != "number" else list(INTS) if name == "WHOLE" else [*FLOATS]
            )
        if name == "FLOAT":
            return f"({rng.choice(list(FLOATS))}){self.expression('number', depth)}"
        if name == "WITHIN":
            return f"fmin(fmax({self.expression('number', min(depth, 1))}, 0), 100)"
        if name == "CALL":
            if not self.functions:
                return f"MIX({self.expression(ty, depth)}, {self.expression(ty, depth)})"
            function = rng.choice(self.functions)
            return f"{function.name}({', '.join(self.converted(its, depth) for its in function.parameters)})"
        if name in ("ITEM", "ITEM_INT"):
            return self.item(name == "ITEM_INT", ty, depth)
        if name == "POINTERS":
            index = self.expression("int", depth)
            return f"&a2[{index} & 7] - a2" if self.has_arrays else index
        if name in ("MEMBER", "MEMBER_INT"):
            if not self.has_arrays:
                return self.expression(ty, depth)
            choices = [member for member, whole in MEMBERS.items() if whole or name == "MEMBER"]
            member = rng.choice(choices).replace("{int}", self.expression("int", 0))
            return rng.choice([f"st.{member}", f"(&st)->{member}", f"ps->{member}"])
        return None

    def converted(self, its, depth):
        """An argument: a float goes to an integer parameter only where it is in its range."""
        return self.expression("int" if its in INTS or its == "bool" else "number", depth)

    def item(self, whole, ty, depth):
        if not self.has_arrays:
            return self.expression(ty, depth)
        array = self.rng.choice(["a1", "a2", "local"] if whole else ["a0", "a1", "a2", "local", "grid"])
        index = f"{self.expression('int', min(depth, 1))} & {7 if array[0] == 'a' else 3}"
        if array == "grid":
            return f"grid[{index} & 1][{self.expression('int', 0)} & 1]"
        forms = [f"{array}[{index}]", f"*({array} + ({index}))", f"*&{array}[{index}]"]
        return self.rng.choice([*forms, f"({array} + 3)[-(int)({index} & 3)]"])

    # Statements.

    def declare(self, ty=None):
        its = self.rng.choice(TYPES) if ty is None else ty
        kind = "bool" if its == "bool" else "int" if its in INTS else "number"
        # What is unsigned stays an `int` to the tables; a float that becomes an integer is in range there.
        value, name = self.expression(kind, 2), self.name()
        self.line(f"{its} {name} = {value};")
        self.scopes[-1][name] = kind
        self.plain[name] = its

    def set(self, name, value):
        self.line(f"{name} = {value};")

    def augment(self):
        names = [(name, ty) for name, ty in self.settable() if ty != "bool"]
        if not names:
            return self.declare()
        name, ty = self.rng.choice(names)
        kind = self.rng.randrange(4)
        if kind == 0:
            self.line(f"{self.rng.choice(['++', '--'])}{name};")
        elif kind == 1 and self.has_arrays:
            place = self.rng.choice(["local[{} & 3]", "st.tag", "ps->inner.c", "st.other.s", "ps->wide"])
            place = place.format(self.expression("int", 1))
            self.line(f"{place} {self.rng.choice(['=', '+=', '^='])} {self.expression('int', 2)};")
        elif kind == 2 and self.has_arrays:
            self.line(f"{self.rng.choice(['st.f[1]', 'grid[1][0]', 'st.inner.d'])} += {self.expression('number', 2)};")
        else:
            operators = ["+=", "-=", "*=", "&=", "|=", "^="] if ty == "int" else ["+=", "-=", "*="]
            self.line(f"{name} {self.rng.choice(operators)} {self.expression(ty, 2)};")

    def block(self, head, depth, loop=False, tail=""):
        self.line(head + " {")
        if loop:
            self.loops.append("")
        self.nested(depth)
        if loop:
            self.loops.pop()
        self.line("}" + tail)

    def branch(self, depth):
        if self.rng.random() < 0.3:
            return self.switch(depth)
        self.block(f"if ({self.expression('bool', 2)})", depth)
        if self.rng.random() < 0.5:
            self.block("else", depth)

    def switch(self, depth):
        self.line(f"switch ({self.expression('int', 2)} & 7) {{")
        labels = self.rng.sample(range(8), 4)
        outer, self.loops = self.loops, []
        for label in labels:
            self.line(
                f"case {label}:" if label != labels[2] else self.rng.choice(["default:", f"case {label}: case 8:"])
            )
            self.block("", depth)
            if self.rng.random() < 0.5:
                self.line("break;")
        self.loops = outer
        self.line("}")

    def count_loop(self, depth):
        name = self.name()
        bound = f"({self.expression('int', 1)} & 7)"
        heads = [
            f"for (int {name} = 0; {name} < {bound}; {name}++)",
            f"for (unsigned {name} = {bound}; {name}-- > 0; )",
            f"for (int {name} = 7, {name}b = 0; {name} > {name}b; {name}b += 2)",
        ]
        self.scopes.append({name: "int"})
        self.fixed.add(name)
        head = self.rng.choice(heads)
        self.scopes.pop()
        self.line(head + " {")
        self.loops.append(name)
        self.nested(depth, {name: "int"})
        self.loops.pop()
        self.line("}")

    def while_loop(self, depth):
        name = self.name()
        self.line(f"int {name} = 0;")
        self.scopes[-1][name] = "int"
        self.fixed.add(name)
        count = self.rng.randint(1, 6)
        if self.rng.random() < 0.5:
            self.block(f"while ({name}++ < {count} && {self.expression('bool', 1)})", depth, True)
        else:
            self.block("do", depth, True, f" while (++{name} < {count} && {self.expression('bool', 1)});")

    def leave(self):
        self.line(self.rng.choice(["break;", "continue;"]))


class Function:
    def __init__(self, rng, index, functions):
        self.name = f"f{index}"
        self.parameters = [rng.choice(TYPES) for _ in range(rng.randint(1, 3))]
        self.result = rng.choice(list(INTS))
        kinds = ("int" if its in INTS or its == "bool" else "number" for its in self.parameters)
        body = CBody(rng, {f"p{k}": kind for k, kind in enumerate(kinds)}, functions, arrays=False)
        body.statements(rng.randint(1, 3), 1)
        if rng.random() < 0.5:
            body.line(f"if ({body.expression('bool', 1)}) return {body.expression('int', 1)};")
        body.line(f"return {body.expression('int', 2)};")
        text = "\n".join(body.lines)
        parameters = ", ".join(f"{its} p{k}" for k, its in enumerate(self.parameters))
        self.lines = [f"__device__ {self.result} {self.name}({parameters}) {{", text, "}", ""]


THREADS = 37


def program(seed: int) -> str:
    rng = random.Random(seed)
    types = [rng.choice(list(FLOATS)), rng.choice(list(INTS)), rng.choice(list(INTS))]
    functions = []
    for index in range(rng.randint(0, 2)):
        functions.append(Function(rng, index, list(functions)))
    body = CBody(rng, {"x0": "number", "x1": "int", "x2": "int", "i": "int"}, functions)
    body.lines = [
        *(f"    {ty} x{k} = a{k}[i];" for k, ty in enumerate(types)),
        f"    {rng.choice(list(INTS))} local[4] = {{1, 2, 3}};",
        rng.choice(["    float grid[2][2] = {{1.5f, -2}, {0.25f}};", "    float grid[2][2] = {1.5f, -2, 0.25f};"]),
        "    struct Outer st = {1, {-2, 200, 0.5}, {1, 2, 3}, 7};",
        "    struct Outer* ps = &st;",
    ]
    for ty in rng.sample(TYPES, 3):
        body.declare(ty)
    body.statements(rng.randint(2, 6), 2)
    results = [(name, ty) for scope in body.scopes for name, ty in scope.items() if name != "i"]
    places = [*results, ("local[3]", "int"), ("st.wide", "int"), ("st.other.s", "int"), ("st.inner.c", "int")]
    for index, (name, ty) in enumerate(
        [*places, ("sizeof(st)", "int"), ("grid[1][0]", "number"), ("st.f[1]", "number")]
    ):
        array, wide = ("floats", "double") if ty == "number" else ("ints", "long long")
        body.line(f"{array}[i * 64 + {index}] = ({wide}){name};")
    parameters = ", ".join(f"const {ty}* a{k}" for k, ty in enumerate(types)) + ", long long* ints, double* floats"
    text = STRUCT + "\n".join(line for function in functions for line in function.lines)
    text += f"\n__device__ void body(int i, {parameters}) {{\n" + "\n".join(body.lines) + "\n}\n"
    lines = [
        "import numpy as np",
        "from numpy import inf, nan",
        "from system import launch_c",
        "",
        f'TEXT = r"""{text}"""',
    ]
    lines += [f"PARAMETERS = {parameters!r}", "", "", "def run(device):"]
    for k, ty in enumerate(types):
        dtype = {**INTS, **FLOATS}[ty]
        values = integers(rng, dtype, THREADS) if ty in INTS else floats(rng, THREADS)
        lines.append(f"    a{k} = np.array({values}, np.{dtype})")
    lines += [f"    ints, floats = np.zeros({THREADS} * 64, np.int64), np.zeros({THREADS} * 64)"]
    lines += [
        f"    launch_c(device, TEXT, PARAMETERS, {THREADS}, a0, a1, a2, ints, floats)",
        "    return [ints, floats]",
    ]
    return "\n".join(lines) + "\n"
