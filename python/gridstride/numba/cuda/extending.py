"""What programs add to the kernel language: `overload`, `overload_method`, `overload_attribute`, `register_jitable`.

    >>> from gridstride.numba.cuda.extending import overload
    >>> def clamp(x, lo, hi): ...
    >>> @overload(clamp)
    ... def clamp_for(x, lo, hi):
    ...     def impl(x, lo, hi):
    ...         return min(max(x, lo), hi)
    ...     return impl

A registered function is called with the Numba types of a call's arguments when a kernel is compiled; what it returns, a
Python function, is compiled as a device function. None leaves the call to the next one. Where it is answered with None,
it is asked again with `types.IntegerLiteral` for ints that the kernel's text says; `prefer_literal=True` asks so first.
What works on Numba's own LLVM code (`intrinsic`, `lower_builtin`, data models) is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gridstride.numba import types
from gridstride.numba.cuda import _generated, _matching
from gridstride.numba.cuda._declared import ExternFunction
from gridstride.numba.cuda.dispatcher import Dispatcher
from gridstride.numba.errors import TypingError

_calls: dict[int, tuple[Any, list[Typed]]] = {}
_methods: dict[str, list[tuple[Any, Typed]]] = {}
_attributes: dict[str, list[tuple[Any, Typed]]] = {}
_made: dict[Any, Dispatcher] = {}


class Typed(NamedTuple):
    """A function that answers types with an implementation, and how it was registered."""

    function: Callable[..., Any]
    is_strict: bool
    prefers_literal: bool

    @staticmethod
    def of(function: Any, options: dict[str, Any]) -> Typed:
        return Typed(function, options.get("strict", True), options.get("prefer_literal", False))


def _is_for_kernels(options: dict[str, Any]) -> bool:
    # Targets may be given twice as in `target="cuda"`, or inside of the options.
    target = options.get("target", (options.get("jit_options") or {}).get("target", "generic"))
    return target in ("cuda", "gpu", "generic")


def overload(func: Any, jit_options: Any = None, **options: Any) -> Callable[[Any], Any]:
    """Gives calls of an object an implementation in kernels. `target="cuda"` goes before "generic"."""

    def register(typed: Any) -> Any:
        if _is_for_kernels({"jit_options": jit_options, **options}):
            known = _calls.setdefault(id(func), (func, []))[1]
            known.insert(0 if options.get("target") == "cuda" else len(known), Typed.of(typed, options))
        return typed

    return register


def _register(table: dict[str, list[tuple[Any, Any]]], ty: Any, name: str, options: Any) -> Callable[[Any], Any]:
    def register(typed: Any) -> Any:
        if _is_for_kernels(options):
            table.setdefault(name, []).append((ty, Typed.of(typed, options)))
        return typed

    return register


def overload_method(typ: Any, attr: str, **options: Any) -> Callable[[Any], Any]:
    """Gives values of a type, or of a class of types, a method in kernels."""
    return _register(_methods, typ, attr, options)


def overload_attribute(typ: Any, attr: str, **options: Any) -> Callable[[Any], Any]:
    """Gives values of a type, or of a class of types, an attribute in kernels."""
    return _register(_attributes, typ, attr, options)


def register_jitable(*args: Any, **options: Any) -> Any:
    """Makes a function one that kernels can call, and that Python runs as it is."""
    from gridstride.numba import jit

    return jit(*args) if args else jit


def _same(value: Any) -> Any:
    """What equal constants of a function share."""
    plain = isinstance(value, bool | int | float | str | types.Type)
    return (type(value), repr(value) if isinstance(value, float) else value) if plain else id(value)


def _plain(ty: Any) -> Any:
    return ty.literal_type if isinstance(ty, types.Literal) else ty


def _implementation(typed: Typed, args: Any, named: Any) -> Dispatcher | None:
    """What a registered function answers for types, and for types that know their values: the latter last, or first."""
    plain = [_plain(ty) for ty in args], {name: _plain(ty) for name, ty in named.items()}
    known = list(args), dict(named)
    asked = [plain] if known == plain else [known, plain] if typed.prefers_literal else [plain, known]
    for these, those in asked:
        try:
            found = _made_by(typed, these, those)
        except TypingError:
            # There is none for the value; the type alone may have one.
            if (these, those) == plain:
                raise
            found = None
        if found is not None:
            return found
    return None


def _made_by(typed: Typed, args: Any, named: Any) -> Dispatcher | None:
    found = typed.function(*args, **named)
    if found is None:
        return None
    if isinstance(found, Dispatcher):
        return found
    if not callable(found):
        raise TypeError(f"`{typed.function.__name__}` must return a function that implements the call, not {found!r}")
    if typed.is_strict:
        _matching.check(typed.function, found)
    captured = [cell.cell_contents for cell in found.__closure__ or ()]
    key = (found.__code__, *map(_same, captured), *map(_same, found.__defaults__ or ()))
    if key not in _made:
        _made[key] = Dispatcher(found, {"device": True})
    return _made[key]


def _first(typed: Any, args: Any, named: Any) -> Dispatcher | None:
    for one in typed:
        found = _implementation(one, args, named)
        if found is not None:
            return found
    return None


def find_call(func: Any, args: Any, named: Any) -> Dispatcher | None:
    """The function for a call with arguments of such types."""
    if isinstance(func, ExternFunction):
        return func.implementation()
    if getattr(func, "__name__", "") == "from_buffer" and type(getattr(func, "__self__", None)).__name__ == "FFI":
        return _from_buffer
    known = _calls.get(id(func))
    return None if known is None else _first(known[1], args, named)


# A pointer is passed as the array whose first element it is.
_from_buffer = Dispatcher(
    _generated.function("from_buffer", "def from_buffer(a):\n    return a\n", {}), {"device": True}
)


def _of_type(table: dict[str, list[tuple[Any, Any]]], name: str, args: Any) -> list[Any]:
    def fits(ty: Any) -> bool:
        return isinstance(args[0], ty) if isinstance(ty, type) else args[0] == ty

    return [typed for ty, typed in table.get(name, ()) if fits(ty)]


def find_method(name: str, args: Any, named: Any) -> Dispatcher | None:
    """The function for a method of the first argument's type."""
    return _first(_of_type(_methods, name, args), args, named)


def find_attribute(name: str, args: Any) -> Dispatcher | None:
    """The function for an attribute of the first argument's type."""
    return _first(_of_type(_attributes, name, args), args, {})


__all__ = ["overload", "overload_attribute", "overload_method", "register_jitable", "types"]
