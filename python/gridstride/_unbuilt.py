"""Kinds of objects that Warp has and Gridstride does not have yet, as annotations and constructors.

A module that mentions them can be imported: as an annotation one stands for any type. Making one raises
`NotImplementedError`.
"""

from __future__ import annotations

from typing import Any

from gridstride import _types


class Unbuilt:
    """Stands for `wp.NAME` in annotations; `wp.NAME(…)` with data raises `NotImplementedError`."""

    __gs_type__ = ("any",)

    def __init__(self, name: str, is_instance: bool = False) -> None:
        self.__name__ = name
        self.dtype: Any = None
        self.ndim: Any = None
        # Whether it stands for a description, `wp.tile(dtype=float, shape=4)`, not for the kind.
        self.is_instance = is_instance

    def __call__(self, *args: Any, **kwargs: Any) -> Unbuilt:
        if not args and set(kwargs) <= {"dtype", "ndim", "shape", "capacity", "storage"} and kwargs:
            return Unbuilt(self.__name__, is_instance=True)
        raise NotImplementedError(f"`{self.__name__}` is not available yet")

    def __getitem__(self, key: Any) -> Unbuilt:
        if self.__name__.startswith("tile"):
            # A tile's element type and extents, as they will have to be.
            key = key if isinstance(key, tuple) else (key,)
            if not key:
                raise TypeError(f"{self.__name__} requires at least a dtype")
            extents = key[1] if len(key) == 2 and isinstance(key[1], tuple) else key[1:]
            for extent in map(_types.literal, extents):
                if isinstance(extent, int) and extent < 1:
                    raise TypeError(f"an extent of a {self.__name__} is a positive integer, not {extent}")
        return Unbuilt(self.__name__, is_instance=True)

    def __or__(self, other: Any) -> Any:
        return Any

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        # A class derived from one is of no more use than it.
        return ()

    def __repr__(self) -> str:
        return f"gridstride.{self.__name__}"


table: dict[str, Unbuilt] = {name: Unbuilt(name) for name in ("Volume", "BvhQueryTiled", "MeshQueryAABBTiled")}
