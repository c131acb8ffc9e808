"""`Tape.launches`: what a tape has recorded, as a list that more can be appended to.

    >>> tape = wp.Tape()
    >>> tape.launches.append(lambda: print("on the way back"))
    >>> tape.backward()
    on the way back

The list is as the tape was when it was asked for. An entry is a launch, as the arguments of `record_launch` in a list,
or a function, which the backward pass calls. Nothing can be taken out or put elsewhere: what later entries overwrite
was saved for the order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from gridstride._tape import Tape


class Launches(list[Any]):
    def __init__(self, tape: Tape, entries: Iterable[Any]) -> None:
        super().__init__(entries)
        self._tape = tape

    def append(self, entry: Any) -> None:
        """Records a launch, given as a list, or a function for the backward pass."""
        if isinstance(entry, (list, tuple)):
            self._tape.record_launch(*entry)
        else:
            self._tape._record_func(getattr(entry, "__qualname__", type(entry).__name__), entry, [], [])
        super().append(entry)

    def extend(self, entries: Iterable[Any]) -> None:
        for entry in entries:
            self.append(entry)

    def __iadd__(self, entries: Iterable[Any]) -> Launches:  # type: ignore[override]
        self.extend(entries)
        return self

    def _refuse(self, *_args: Any, **_options: Any) -> NoReturn:
        raise TypeError(
            "a tape keeps the order of what it recorded: `launches.append` adds at the end, `tape.reset()` forgets all"
        )

    insert = pop = remove = clear = reverse = sort = _refuse  # type: ignore[assignment]
    __setitem__ = __delitem__ = __imul__ = _refuse  # type: ignore[assignment]
