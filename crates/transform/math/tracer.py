"""Traces Python expressions over IR values into IR text, and into C for the exhaustive checks.

In: a function over `Value`s. Out: the text of one IR function, straight-line but for `if_`. Equal
expressions are one value.

    >>> print(Trace("twice", ["f64"], lambda x: x + x).ir())
    func @twice(v0: f64) -> f64 {
      v1: f64 = add v0, v0
      return v1
    }
"""

import math

C_TYPES = {
    "f32": "float",
    "f64": "double",
    "i32": "int32_t",
    "i64": "int64_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "bool": "bool",
}
C_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
C_BINARY |= {"shl": "<<", "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
C_CALLS = {
    "abs": "fabs",
    "sqrt": "sqrt",
    "rint": "rint",
    "fma": "fma",
    "copysign": "copysign",
    "trunc": "trunc",
    "floor": "floor",
}
COMPARES = ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isfinite")

current = None


class Value:
    def __init__(self, ty, number):
        self.ty, self.number = ty, number

    def __repr__(self):
        return f"v{self.number}"

    def __add__(self, other):
        return current.op("add", self, other)

    def __radd__(self, other):
        return current.op("add", other, self)

    def __sub__(self, other):
        return current.op("sub", self, other)

    def __rsub__(self, other):
        return current.op("sub", other, self)

    def __mul__(self, other):
        return current.op("mul", self, other)

    def __rmul__(self, other):
        return current.op("mul", other, self)

    def __truediv__(self, other):
        return current.op("div", self, other)

    def __rtruediv__(self, other):
        return current.op("div", other, self)

    def __neg__(self):
        return current.op("neg", self)

    def __and__(self, other):
        return current.op("and", self, other)

    def __or__(self, other):
        return current.op("or", self, other)

    def __xor__(self, other):
        return current.op("xor", self, other)

    def __lshift__(self, other):
        return current.op("shl", self, other)

    def __rshift__(self, other):
        return current.op("shr", self, other)

    def __lt__(self, other):
        return current.op("lt", self, other)

    def __le__(self, other):
        return current.op("le", self, other)

    def __gt__(self, other):
        return current.op("gt", self, other)

    def __ge__(self, other):
        return current.op("ge", self, other)

    def same(self, other):
        return current.op("eq", self, other)

    def differs(self, other):
        return current.op("ne", self, other)


def fma(a, b, c):
    return current.op("fma", a, b, c)


def rint(x):
    return current.op("rint", x)


def trunc(x):
    return current.op("trunc", x)


def sqrt(x):
    return current.op("sqrt", x)


def magnitude(x):
    return current.op("abs", x)


def copysign(x, y):
    return current.op("copysign", x, y)


def isnan(x):
    return current.op("isnan", x)


def isfinite(x):
    return current.op("isfinite", x)


def negated(condition):
    return current.op("not", condition)


def mulhi(x, y):
    return current.op("mulhi", x, y)


def select(condition, x, y):
    return current.op("select", condition, x, y)


def cast(x, ty):
    return x if x.ty == ty else current.op("cast", x, ty=ty)


def bitcast(x, ty):
    return x if x.ty == ty else current.op("bitcast", x, ty=ty)


def const(ty, x):
    return current.const(ty, x)


def note(text):
    """A comment at this point of the IR text."""
    current.block.append(("note", text))


def if_(condition, then, orelse):
    """The values of `then()` where `condition` holds, else those of `orelse()`; for what is rarely needed."""
    return current.if_(condition, then, orelse)


class Trace:
    def __init__(self, name, params, function, doc=()):
        global current
        self.name, self.doc, self.count, self.block, self.known = name, doc, 0, [], {}
        self.params = [self.fresh(ty) for ty in params]
        current = self
        result = function(*self.params)
        self.result = result
        self.block.append(("return", [result]))
        self.remove_unused()

    def fresh(self, ty):
        self.count += 1
        return Value(ty, self.count - 1)

    def const(self, ty, x):
        if ty.startswith("f"):
            x = float(x)
            key = ("const", ty, x.hex())
        else:
            x = int(x)
            if ty[0] == "u":
                x &= (1 << int(ty[1:])) - 1
            key = ("const", ty, x)
        return self.emit(key, "const", [x], ty)

    def op(self, name, *args, ty=None):
        start = 1 if name == "select" else 0
        known = next(arg.ty for arg in args[start:] if isinstance(arg, Value))
        if name == "select" and not isinstance(args[0], Value):
            raise TypeError("a condition is a value")
        args = [arg if isinstance(arg, Value) else self.const(known, arg) for arg in args]
        assert all(arg.ty == known for arg in args[start:]), (name, [(a, a.ty) for a in args])
        if ty is None:
            ty = "bool" if name in COMPARES else known
        return self.emit((name, ty, *(arg.number for arg in args)), name, args, ty)

    def emit(self, key, name, args, ty):
        if key not in self.known:
            self.known[key] = self.fresh(ty)
            self.block.append((name, args, self.known[key]))
        return self.known[key]

    def if_(self, condition, then, orelse):
        block, known, regions = self.block, self.known, []
        for arm in (then, orelse):
            self.block, self.known = [], dict(known)
            values = arm()
            self.block.append(("yield", values))
            regions.append(self.block)
        self.block, self.known = block, known
        results = [self.fresh(value.ty) for value in values]
        self.block.append(("if", condition, regions, results))
        return results

    def remove_unused(self):
        used = set()

        def walk(block):
            kept = []
            for line in reversed(block):
                if line[0] in ("return", "yield"):
                    used.update(value.number for value in line[1])
                elif line[0] == "if":
                    line = ("if", line[1], [walk(region) for region in line[2]], line[3])
                    used.add(line[1].number)
                elif line[0] != "note":
                    if line[2].number not in used:
                        continue
                    if line[0] != "const":
                        used.update(arg.number for arg in line[1])
                kept.append(line)
            return kept[::-1]

        self.block = walk(self.block)
        self.renumber()

    def renumber(self):
        """Numbers without gaps, in the order of the text."""
        numbers = {}

        def define(value):
            numbers[id(value)] = len(numbers)

        def walk(block):
            for line in block:
                if line[0] == "if":
                    for region in line[2]:
                        walk(region)
                    for value in line[3]:
                        define(value)
                elif line[0] not in ("note", "return", "yield"):
                    define(line[2])

        values = list(self.params)
        for value in values:
            define(value)
        walk(self.block)

        def apply(block):
            for line in block:
                if line[0] == "if":
                    for region in line[2]:
                        apply(region)
                    values.extend(line[3])
                elif line[0] not in ("note", "return", "yield"):
                    values.append(line[2])

        apply(self.block)
        for value in values:
            value.number = numbers[id(value)]

    def n_ops(self):
        def count(block):
            return sum(
                sum(map(count, line[2])) if line[0] == "if" else line[0] not in ("note", "const", "yield", "return")
                for line in block
            )

        return count(self.block)

    def ir(self):
        params = ", ".join(f"{value}: {value.ty}" for value in self.params)
        out = [f";; {line}" for line in self.doc]
        out.append(f"func @{self.name}({params}) -> {self.result.ty} {{")

        def walk(block, indent):
            for line in block:
                if line[0] == "note":
                    out.append(f"{indent};; {line[1]}")
                elif line[0] in ("return", "yield"):
                    out.append(f"{indent}{line[0]} {', '.join(map(str, line[1]))}")
                elif line[0] == "if":
                    results = ", ".join(f"{value}: {value.ty}" for value in line[3])
                    out.append(f"{indent}{results} = if {line[1]} {{")
                    walk(line[2][0], indent + "  ")
                    out.append(f"{indent}}} else {{")
                    walk(line[2][1], indent + "  ")
                    out.append(f"{indent}}}")
                else:
                    name, args, result = line
                    args = ir_literal(args[0]) if name == "const" else ", ".join(map(str, args))
                    out.append(f"{indent}{result}: {result.ty} = {name} {args}")

        walk(self.block, "  ")
        return "\n".join([*out, "}"])

    def c(self):
        params = ", ".join(f"{C_TYPES[value.ty]} {value}" for value in self.params)
        out = [f"static {C_TYPES[self.result.ty]} own_{self.name.replace('.', '_')}({params}) {{"]

        def walk(block, results):
            for line in block:
                if line[0] == "return":
                    out.append(f"return {line[1][0]};")
                elif line[0] == "yield":
                    out.extend(f"{result} = {value};" for result, value in zip(results, line[1], strict=True))
                elif line[0] == "if":
                    out.extend(f"{C_TYPES[value.ty]} {value};" for value in line[3])
                    out.append(f"if ({line[1]}) {{")
                    walk(line[2][0], line[3])
                    out.append("} else {")
                    walk(line[2][1], line[3])
                    out.append("}")
                elif line[0] != "note":
                    name, args, result = line
                    out.append(f"{C_TYPES[result.ty]} {result} = {c_expression(name, args, result)};")

        walk(self.block, [])
        return "\n".join([*out, "}"])


def ir_literal(x):
    return repr(x).replace("e+", "e") if isinstance(x, float) else str(x)


def c_expression(name, args, result):
    if name == "const":
        x = args[0]
        if isinstance(x, int):
            return f"{x}ull" if result.ty == "u64" else str(x)
        if math.isnan(x):
            return "NAN"
        return "INFINITY" if x == math.inf else "-INFINITY" if x == -math.inf else f"({C_TYPES[result.ty]}){x.hex()}"
    if name in C_BINARY:
        return f"{args[0]} {C_BINARY[name]} {args[1]}"
    if name in ("neg", "not"):
        return f"{'-' if name == 'neg' else '!'}{args[0]}"
    if name == "select":
        return f"{args[0]} ? {args[1]} : {args[2]}"
    if name == "cast":
        return f"({C_TYPES[result.ty]}){args[0]}"
    if name == "bitcast":
        return f"BITCAST({C_TYPES[args[0].ty]}, {C_TYPES[result.ty]}, {args[0]})"
    if name == "mulhi":
        return f"(uint64_t)(((unsigned __int128){args[0]} * {args[1]}) >> 64)"
    if name in ("isnan", "isfinite"):
        return f"{name}({args[0]})"
    suffix = "f" if result.ty == "f32" else ""
    return f"{C_CALLS[name]}{suffix}({', '.join(map(str, args))})"
