"""Whether an implementation has the parameters of the function that was asked for it: a call is bound to both.

In: two functions. Out: nothing, or a `TypeError` that says what differs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_ENDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def check(typed: Callable[..., Any], found: Callable[..., Any]) -> None:
    """Raises `TypeError` where the parameters differ in names, defaults or kinds."""
    asked = list(inspect.signature(typed).parameters.values())
    given = list(inspect.signature(found).parameters.values())
    for one in (*asked, *given):
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            raise _error("use of VAR_KEYWORD (e.g. **kwargs) is unsupported", one)
    rest = next((one for one in asked if one.kind is inspect.Parameter.VAR_POSITIONAL), None)
    if rest is not None:
        before = [one.name for one in asked[: asked.index(rest)]]
        same = next((one for one in given if one.kind is inspect.Parameter.VAR_POSITIONAL), None)
        if same is None or [one.name for one in given[: given.index(same)]] != before:
            raise _error("VAR_POSITIONAL (e.g. *args) argument kind", rest)
        return
    _compare("argument names", *([one for one in side if not _is_keyword(one)] for side in (asked, given)))
    ours, theirs = ([one for one in side if _is_keyword(one)] for side in (asked, given))
    _compare("keyword argument names", ours, theirs)
    if [one.default for one in ours] != [one.default for one in theirs]:
        different = [(a, b) for a, b in zip(ours, theirs, strict=True) if a.default != b.default]
        raise TypeError(_said("keyword argument default values", *map(list, zip(*different, strict=True))))


def _is_keyword(one: inspect.Parameter) -> bool:
    return one.default is not inspect.Parameter.empty


def _compare(what: str, ours: list[inspect.Parameter], theirs: list[inspect.Parameter]) -> None:
    # What `*args` of an implementation takes has no names to compare.
    end = next((index for index, one in enumerate(theirs) if one.kind in _ENDS), None)
    names = [one.name for one in ours], [one.name for one in theirs]
    if end is not None:
        names = names[0][:end], names[1][:end]
    if names[0] == names[1]:
        return
    message = _said(what, ours, theirs)
    if end is not None:
        first = next((b for a, b in zip(*names, strict=False) if a != b), None)
        message += f"\nFirst difference: {first!r}"
    raise TypeError(message)


def _said(what: str, ours: list[inspect.Parameter], theirs: list[inspect.Parameter]) -> str:
    text = f"Typing and implementation arguments differ in {what}.\n"
    return f"{text}In the typing signature: {ours}\nIn the implementation signature: {theirs}"


def _error(why: str, one: inspect.Parameter) -> TypeError:
    return TypeError(f"Typing and implementation arguments differ in {why}, offending argument name is '{one}'")
