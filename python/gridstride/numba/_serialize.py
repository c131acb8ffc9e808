"""Pickling of kernels and device functions, for other processes: by value, as Numba does it.

In: a function, whatever it uses. Out: its code, its text (the compiler reads it), and the globals and captured values
that it names. Functions defined inside of others, in notebooks and in `__main__` arrive whole. The same function loaded
twice is one object.
"""

from __future__ import annotations

import importlib
import marshal
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from gridstride import _source

_known: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
#: What was loaded last stays alive, as in Numba: it may be loaded again at once.
_recent: OrderedDict[Any, Any] = OrderedDict()
_MAX_RECENT = 100


class _Itself:
    """Where a function names itself."""

    def __reduce__(self) -> Any:
        return _Itself, ()


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


class _Module:
    """A module, by name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        return _module, (self.name,)


def reduced(dispatcher: Any) -> Any:
    """What `__reduce__` of a dispatcher gives."""
    identity = dispatcher.__dict__.setdefault("_identity", uuid.uuid4().hex)
    _known.setdefault(identity, dispatcher)
    state = _function_state(dispatcher.py_func, dispatcher)
    return _rebuilt, (identity, type(dispatcher), state, dispatcher.targetoptions, dispatcher._signatures)


def _rebuilt(identity: str, cls: Any, state: Any, options: Any, signatures: Any) -> Any:
    found = _known.get(identity)
    if found is None:
        function, fill = _function(state)
        found = cls(function, options, [args if result is None else result(*args) for args, result in signatures])
        fill(found)
        found._identity = identity
        _known[identity] = found
    _keep(identity, found)
    return found


def _keep(key: Any, value: Any) -> None:
    _recent[key] = value
    _recent.move_to_end(key)
    while len(_recent) > _MAX_RECENT:
        _recent.popitem(last=False)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _function_state(function: FunctionType, dispatcher: Any) -> Any:
    def plain(value: Any) -> Any:
        if value is dispatcher or value is function:
            return _Itself()
        return _Module(value.__name__) if isinstance(value, ModuleType) else value

    used = {
        name: plain(function.__globals__[name]) for name in _names(function.__code__) if name in function.__globals__
    }
    cells = [plain(cell.cell_contents) for cell in function.__closure__ or ()]
    return {
        "code": marshal.dumps(function.__code__),
        "text": _source.text(function),
        "globals": {"__name__": function.__module__, **used},
        "closure": cells,
        "name": function.__name__,
        "qualname": function.__qualname__,
        "doc": function.__doc__,
        "defaults": function.__defaults__,
        "kwdefaults": function.__kwdefaults__,
    }


def _function(state: Any) -> Any:
    """The function of a state, and what puts the dispatcher where it names itself."""
    code, scope = marshal.loads(state["code"]), state["globals"]
    cells = tuple(CellType(value) for value in state["closure"])
    function = FunctionType(code, scope, state["name"], state["defaults"], cells)
    function.__qualname__, function.__doc__ = state["qualname"], state["doc"]
    function.__kwdefaults__ = state["kwdefaults"]
    if state["text"] is not None:
        function.__gs_text__ = state["text"]  # type: ignore[attr-defined]

    def fill(dispatcher: Any) -> None:
        for name, value in scope.items():
            if isinstance(value, _Itself):
                scope[name] = dispatcher
        for cell in cells:
            if isinstance(cell.cell_contents, _Itself):
                cell.cell_contents = dispatcher

    return function, fill


def _numba_unpickle(address: int, data: bytes, hashed: Any) -> Any:
    """The object of a pickle; the same for the same address and hash."""
    import pickle

    key = (address, hashed)
    if key not in _recent:
        _keep(key, pickle.loads(data))
    return _recent[key]
