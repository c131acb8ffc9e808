"""Expressions of C text as expressions of the kernel language.

In: words. Out: Python text and its type. What C converts without a word is written out, as far as types are known:

    x * 2        with `float x`    ->    (x * wp.float32(2))
    n / 2.0f     with `int n`      ->    (wp.float32(n) / wp.float32(2.0))
"""

from __future__ import annotations

from typing import Any

from gridstride import _builtins, _types
from gridstride._native import Type
from gridstride._snippet import types
from gridstride._snippet.tokens import CTextError, Token
from gridstride._snippet.types import BOOL, F32, F64, I32, I64, U32, U64, Typed

_BINARY = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
# Functions of C's library by the kernel language's names; with an `f` at the end they are those of `float`.
_MATH = {
    "fabs": "abs", "fmin": "min", "fmax": "max", "pow": "pow", "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp",
    "log": "log", "log2": "log2", "log10": "log10", "sin": "sin", "cos": "cos", "tan": "tan",
    "asin": "asin", "acos": "acos",
    "atan": "atan", "atan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh",
    "acosh": "acosh", "atanh": "atanh", "floor": "floor", "ceil": "ceil", "round": "round", "rint": "rint",
    "trunc": "trunc", "fma": "fma", "copysign": "copysign", "erf": "erf", "erfc": "erfc", "fmod": "mod",
}  # fmt: skip
# Those that give the type of their arguments, whole or not.
_ANY_NUMBER = {"abs": "abs", "min": "min", "max": "max", "clamp": "clamp"}
_ATOMICS = {
    "atomicAdd": "atomic_add", "atomicSub": "atomic_sub", "atomicMin": "atomic_min", "atomicMax": "atomic_max",
    "atomicAnd": "atomic_and", "atomicOr": "atomic_or", "atomicXor": "atomic_xor", "atomicExch": "atomic_exch",
    "atomicCAS": "atomic_cas",
}  # fmt: skip
_CONSTANTS = {
    "true": Typed("True", BOOL), "false": Typed("False", BOOL),
    "M_PI": Typed("wp.float64(3.141592653589793)", F64), "M_E": Typed("wp.float64(2.718281828459045)", F64),
    "INT_MAX": Typed("wp.int32(2147483647)", I32), "INT_MIN": Typed("wp.int32(-2147483648)", I32),
    "FLT_MAX": Typed("wp.float32(3.4028234663852886e38)", F32),
    "FLT_MIN": Typed("wp.float32(1.1754943508222875e-38)", F32),
    "FLT_EPSILON": Typed("wp.float32(1.1920928955078125e-07)", F32),
}  # fmt: skip


def _refuse_barrier() -> None:
    raise NotImplementedError(
        "`WP_TILE_SYNC` in C++ text works in blocks of one thread: operations on tiles wait for each other without it"
    )


class Expressions:
    """A reader of expressions. `names` are the variables that are known, by their names in C."""

    def __init__(self, words: list[Token]) -> None:
        self.words = words
        self.at = 0
        self.names: dict[str, Typed] = {}
        # What the text refers to by name, beside `wp`.
        self.scope: dict[str, Any] = {}

    # --- words ---

    @property
    def word(self) -> str:
        """The next word."""
        return self.words[self.at].text

    def peek(self, n: int = 1) -> str:
        """The word after `n` others."""
        return self.words[min(self.at + n, len(self.words) - 1)].text

    def take(self) -> Token:
        """The next word, which is read."""
        token = self.words[self.at]
        self.at = min(self.at + 1, len(self.words) - 1)
        return token

    def accept(self, text: str) -> bool:
        """Reads the next word where it is this one."""
        is_it = self.word == text and self.words[self.at].kind == "operator"
        self.at += is_it
        return is_it

    def expect(self, text: str) -> None:
        """Reads a word that must come."""
        if not self.accept(text):
            raise self.error(f"expected `{text}`, found `{self.word or 'the end'}`")

    def error(self, message: str) -> CTextError:
        """A mistake at the next word."""
        return CTextError(message, self.words[self.at].line)

    # --- types ---

    def type_name(self) -> Type | None:
        """Reads the name of a type; None, and nothing is read, where there is none."""
        start = self.at
        while self.word in ("const", "constexpr", "static", "volatile"):
            self.take()
        if self.word == "wp" and self.peek() == "::":
            self.at += 2
        word = self.word
        found: Type | None = None
        if word in types.COMPOSITES and self.peek() == "<":
            found = self._template()
        elif word in types.PARTS:
            parts = []
            while self.word in types.PARTS:
                parts.append(self.take().text)
            found = types.SCALARS.get(" ".join(sorted(parts)))
        elif word not in self.names and self.words[self.at].kind == "name":
            found = types.named(word)
            self.at += found is not None
        if found is None:
            self.at = start
            return None
        while self.word == "const":
            self.take()
        return found

    def _template(self) -> Type:
        n_sizes, make = types.COMPOSITES[self.take().text]
        self.expect("<")
        sizes = []
        for _ in range(n_sizes):
            number = self.take()
            if not number.text.isdigit():
                raise self.error(f"expected a number, found `{number.text}`")
            sizes.append(int(number.text))
            self.expect(",")
        elem = self.type_name()
        self.expect(">")
        if elem is None:
            raise self.error("expected a type")
        return make(sizes, elem)

    def spelled(self, ty: Type) -> str:
        """Text that stands for a type."""
        if ty.kind == "scalar":
            return f"wp.{types.class_name(ty)}"
        name = f"wp_{types.class_name(ty)}".replace(".", "_")
        self.scope[name] = _types.class_of(ty)
        return name

    # --- conversions ---

    def converted(self, value: Typed, ty: Type | None) -> Typed:
        """A value as one of a type; as it is where either type is not known, or is none of numbers."""
        if ty is None or value.type == ty and not value.is_literal or not types.is_number(ty):
            return value
        if value.type is not None and not types.is_number(value.type):
            return value
        if ty == BOOL:
            return self.condition(value)
        return Typed(f"{self.spelled(ty)}({value.text})", ty)

    def condition(self, value: Typed) -> Typed:
        """A value as a flag."""
        if value.type == BOOL or not types.is_number(value.type):
            return value
        zero = "0" if types.is_int(value.type) else "0.0"
        left = self.converted(value, value.type) if value.is_literal else value
        return Typed(f"({left.text} != {self.spelled(value.type)}({zero}))", BOOL)

    def _alike(self, a: Typed, b: Typed) -> tuple[Typed, Typed, Type | None]:
        if not (types.is_number(a.type) and types.is_number(b.type)):
            return a, b, None
        ty = types.common(a.type, b.type)
        return self.converted(a, ty), self.converted(b, ty), ty

    # --- expressions ---

    def expression(self) -> Typed:
        """Reads an expression, `a ? b : c` at most."""
        value = self._binary(1)
        if not self.accept("?"):
            return value
        yes = self.expression()
        self.expect(":")
        no = self.expression()
        yes, no, ty = self._alike(yes, no)
        ty = ty or (yes.type if yes.type == no.type else None)
        return Typed(f"({yes.text} if {self.condition(value).text} else {no.text})", ty)

    def _binary(self, least: int) -> Typed:
        left = self._unary()
        while self.words[self.at].kind == "operator" and _BINARY.get(self.word, 0) >= least:
            op = self.take().text
            left = self._operation(op, left, self._binary(_BINARY[op] + 1))
        return left

    def _operation(self, op: str, left: Typed, right: Typed) -> Typed:
        if op in ("&&", "||"):
            word = "and" if op == "&&" else "or"
            return Typed(f"({self.condition(left).text} {word} {self.condition(right).text})", BOOL)
        if op in ("<<", ">>"):
            if types.is_int(left.type) and types.is_int(right.type):
                ty = types.promoted(left.type)
                return Typed(f"({self.converted(left, ty).text} {op} {self.converted(right, ty).text})", ty)
            return Typed(f"({left.text} {op} {right.text})", None)
        a, b, ty = self._alike(left, right)
        if op in ("==", "!=", "<", ">", "<=", ">="):
            return Typed(f"({a.text} {op} {b.text})", BOOL)
        return Typed(f"({a.text} {op} {b.text})", ty or self._composite(op, left, right))

    def _composite(self, op: str, left: Typed, right: Typed) -> Type | None:
        """The type of a sum of two composites, or of one times a number."""
        if left.type is not None and left.type == right.type and op in "+-":
            return left.type
        return left.type if op in "*/" and left.type is not None and types.is_number(right.type) else None

    def _unary(self) -> Typed:
        op = self.word if self.words[self.at].kind == "operator" else ""
        if op in ("-", "+", "~", "!"):
            self.take()
            value = self._unary()
            if op == "!":
                return Typed(f"(not {self.condition(value).text})", BOOL)
            ty = types.promoted(value.type) if types.is_number(value.type) else value.type
            if value.is_literal and op == "-":
                return Typed(f"-{value.text}", value.type, True)
            return Typed(f"({op}{self.converted(value, ty).text})", ty)
        if op in ("++", "--"):
            raise self.error(f"`{op}` is supported as a statement of its own only")
        if op == "*":
            self.take()
            return self._pointed_to()
        if op == "(":
            start = self.at
            self.take()
            ty = self.type_name()
            if ty is not None and self.accept(")"):
                return self._made(ty, [self._unary()])
            self.at = start
        return self._postfix(self._primary())

    def _pointed_to(self) -> Typed:
        """`*(float*)p`, where `p` is an address."""
        self.expect("(")
        ty = self.type_name()
        if ty is None or not self.accept("*"):
            raise self.error("a pointer is supported as `*(type*)address` only")
        self.expect(")")
        address = self.converted(self._unary(), U64)
        return Typed(f"wp.array(ptr={address.text}, shape=(1,), dtype={self.spelled(ty)})[0]", ty)

    def _primary(self) -> Typed:
        token = self.words[self.at]
        if token.kind == "number":
            return self._number(self.take().text)
        if token.kind == "string":
            return Typed(self.take().text, None)
        if self.accept("("):
            value = self.expression()
            self.expect(")")
            return value
        if token.kind != "name":
            raise self.error(f"`{token.text or 'the end'}` is not expected here")
        if token.text == "static_cast":
            return self._static_cast()
        ty = self.type_name()
        if ty is not None:
            closing = {"(": ")", "{": "}"}.get(self.word)
            if closing is None:
                raise self.error("a type is not expected here")
            return self._made(ty, self._arguments(closing))
        if token.text == "wp" and self.peek() == "::":
            self.at += 2
        name = self.take().text
        if self.word == "(":
            return self._call(name)
        found = self.names.get(name) or _CONSTANTS.get(name)
        if found is None:
            self.at -= 1
            raise self.error(f"`{name}` is not known")
        return found

    def _number(self, text: str) -> Typed:
        digits = text.lower().rstrip("ul" if text[:2].lower() == "0x" else "ulfh")
        suffix = text.lower()[len(digits) :]
        if "f" in suffix or "h" in suffix or any(c in digits for c in ".e") and digits[:2] != "0x":
            ty = F32 if "f" in suffix else Type.scalar("f16") if "h" in suffix else F64
            return Typed(repr(float(digits)), ty, True)
        base = 16 if digits[:2] == "0x" else 8 if digits[0] == "0" and digits != "0" else 10
        value = int(digits, base)
        unsigned = "u" in suffix
        if "l" in suffix or value >= 1 << (32 if unsigned or base != 10 else 31):
            ty = U64 if unsigned or value >= 1 << 63 else I64
        else:
            ty = U32 if unsigned or value >= 1 << 31 else I32
        return Typed(str(value), ty, True)

    def _static_cast(self) -> Typed:
        self.take()
        self.expect("<")
        ty = self.type_name()
        self.expect(">")
        if ty is None:
            raise self.error("expected a type")
        return self._made(ty, self._arguments())

    def _made(self, ty: Type, args: list[Typed]) -> Typed:
        """`float(x)`, `vec3(x, y, z)`."""
        if types.is_number(ty):
            if not args:
                return Typed(f"{self.spelled(ty)}(0)", ty)
            return self.converted(Typed(args[0].text, args[0].type, True), ty)
        return Typed(f"{self.spelled(ty)}({', '.join(self.converted(arg, ty.elem).text for arg in args)})", ty)

    def _arguments(self, closing: str = ")") -> list[Typed]:
        self.take()
        args: list[Typed] = []
        while not self.accept(closing):
            if args:
                self.expect(",")
            args.append(self.expression())
        return args

    def _call(self, name: str) -> Typed:
        if name in _ATOMICS:
            return self._atomic(_ATOMICS[name])
        args = self._arguments()
        if name == "WP_TILE_SYNC":
            # A block of one thread, as on the CPU, has nobody to wait for.
            self.scope["wp_refuse_barrier"] = _refuse_barrier
            return Typed("if wp.block_dim() > 1: wp.static(wp_refuse_barrier())", types.VOID)
        if name in ("printf",):
            return Typed(f"wp.printf({', '.join(arg.text for arg in args)})", types.VOID)
        is_single = name.endswith("f") and name[:-1] in _MATH
        found = _MATH.get(name[:-1] if is_single else name)
        if found is not None:
            known = [arg.type for arg in args]
            ty = F32 if is_single else None
            if ty is None and all(map(types.is_number, known)):
                ty = F64 if all(map(types.is_int, known)) else known[0]
                for other in known[1:]:
                    ty = types.common(ty, other)
            return Typed(f"wp.{found}({', '.join(self.converted(arg, ty).text for arg in args)})", ty)
        if name in _ANY_NUMBER and all(types.is_number(arg.type) for arg in args) and args:
            ty = types.promoted(args[0].type)
            for arg in args[1:]:
                ty = types.common(ty, arg.type)
            return Typed(f"wp.{name}({', '.join(self.converted(arg, ty).text for arg in args)})", ty)
        if name not in _builtins.table:
            raise self.error(f"the function `{name}` is not known")
        values = [self.converted(arg, arg.type) if arg.is_literal and arg.type != F64 else arg for arg in args]
        return Typed(f"wp.{name}({', '.join(value.text for value in values)})", None)

    def _atomic(self, name: str) -> Typed:
        """`atomicAdd(&a[i], x)`."""
        self.expect("(")
        self.expect("&")
        array = self.names.get(self.take().text)
        if array is None or array.type is None or array.type.kind != "array" or self.word != "[":
            raise self.error("the first argument of an atomic function is supported as `&array[index]` only")
        indices = self._indices()
        args = []
        while not self.accept(")"):
            self.expect(",")
            args.append(self.converted(self.expression(), array.type.elem).text)
        return Typed(f"wp.{name}({array.text}, {', '.join([*indices, *args])})", array.type.elem)

    def _indices(self) -> list[str]:
        indices = []
        while self.accept("["):
            indices.append(self.expression().text)
            self.expect("]")
        return indices

    def _postfix(self, value: Typed) -> Typed:
        while True:
            if self.word == "[":
                value = self._indexed(value, self._indices())
            elif self.accept("."):
                value = self._member(value, self.take().text)
            elif self.word in ("++", "--") and self.peek() not in (";", ")", ","):
                raise self.error(f"`{self.word}` is supported as a statement of its own only")
            else:
                return value

    def _indexed(self, value: Typed, indices: list[str]) -> Typed:
        text = f"{value.text}[{', '.join(indices)}]"
        ty = value.type
        if ty is None:
            return Typed(text, None)
        rank = ty.rank if ty.kind == "array" else len(ty.shape)
        return Typed(text, ty.elem if len(indices) == rank else None)

    def _member(self, value: Typed, name: str) -> Typed:
        # Vectors of Warp's C++ keep their components in `c`, matrices in `data`.
        is_inner = value.type is not None and value.type.kind in ("vector", "matrix", "quat")
        if is_inner and name in ("c", "data"):
            return value
        ty = None
        if value.type is not None and value.type.kind in ("vector", "quat") and name in "xyzw":
            ty = value.type.elem
        elif value.type is not None and value.type.kind == "struct":
            ty = next((field for label, field, _ in value.type.fields if label == name), None)
        return Typed(f"{value.text}.{name}", ty)
