"""What programs add to the kernel language: `overload`, `overload_method`, `overload_attribute`, `register_jitable`.

    >>> from gridstride.numba.cuda.extending import overload
    >>> def clamp(x, lo, hi): ...
    >>> @overload(clamp)
    ... def clamp_for(x, lo, hi):
    ...     def impl(x, lo, hi):
    ...         return min(max(x, lo), hi)
    ...     return impl

A registered function is called with the Numba types of a call's arguments when a kernel is compiled; what it returns, a
Python function, is compiled as a device function. None leaves the call to the next one. What works on Numba's own LLVM
code (`intrinsic`, `lower_builtin`, data models) is not there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gridstride.numba import types
from gridstride.numba.cuda import _generated
from gridstride.numba.cuda._declared import ExternFunction
from gridstride.numba.cuda.dispatcher import Dispatcher

_calls: dict[int, tuple[Any, list[Callable[..., Any]]]] = {}
_methods: dict[str, list[tuple[Any, Callable[..., Any]]]] = {}
_attributes: dict[str, list[tuple[Any, Callable[..., Any]]]] = {}
_made: dict[Any, Dispatcher] = {}


def _is_for_kernels(options: dict[str, Any]) -> bool:
    # Targets may be given twice as in `target="cuda"`, or inside of the options.
    target = options.get("target", (options.get("jit_options") or {}).get("target", "generic"))
    return target in ("cuda", "gpu", "generic")


def overload(func: Any, jit_options: Any = None, **options: Any) -> Callable[[Any], Any]:
    """Gives calls of an object an implementation in kernels. `target="cuda"` goes before "generic"."""

    def register(typed: Any) -> Any:
        if _is_for_kernels({"jit_options": jit_options, **options}):
            known = _calls.setdefault(id(func), (func, []))[1]
            known.insert(0 if options.get("target") == "cuda" else len(known), typed)
        return typed

    return register


def _register(table: dict[str, list[tuple[Any, Any]]], ty: Any, name: str, options: Any) -> Callable[[Any], Any]:
    def register(typed: Any) -> Any:
        if _is_for_kernels(options):
            table.setdefault(name, []).append((ty, typed))
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


def _parameters(function: Any) -> list[tuple[str, Any]]:
    return [(one.name, one.kind) for one in inspect.signature(function).parameters.values()]


def _same(value: Any) -> Any:
    """What equal constants of a function share."""
    plain = isinstance(value, bool | int | float | str | types.Type)
    return (type(value), repr(value) if isinstance(value, float) else value) if plain else id(value)


def _implementation(typed: Any, args: Any, named: Any) -> Dispatcher | None:
    found = typed(*args, **named)
    if found is None:
        return None
    if isinstance(found, Dispatcher):
        return found
    if not callable(found):
        raise TypeError(f"`{typed.__name__}` must return a function that implements the call, not {found!r}")
    ours, theirs = _parameters(typed), _parameters(found)
    if ours != theirs:
        said = [", ".join(name for name, _ in one) for one in (ours, theirs)]
        raise TypeError(
            f"Typing and implementation arguments differ in names or kinds: `{typed.__name__}({said[0]})` and "
            f"`{found.__name__}({said[1]})`"
        )
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
