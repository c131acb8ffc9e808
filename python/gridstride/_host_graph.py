"""Graphs on the CPU: launches, copies and fills, noted while a graph is captured and run again in this order.

In: what the package would run while `active` is a recording. Out: a list of calls, each of which runs one of them. The
calls hold the arrays that they use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from gridstride import _native, config

P = ParamSpec("P")

# The recording of the graph that is captured on the CPU; one at a time.
active: HostGraph | None = None


class HostGraph:
    """What was captured, in order."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, Callable[[], Any]]] = []

    @property
    def n_nodes(self) -> int:
        """Number of operations."""
        return len(self.nodes)

    def add(self, name: str, run: Callable[[], Any]) -> None:
        """Notes an operation."""
        self.nodes.append((name, run))

    def launch(self, stream: Any = None) -> None:
        """Runs all of it; part of the graph that is being captured, if one is."""
        if active is not None:
            active.nodes += self.nodes
            return
        for _, run in self.nodes:
            run()

    def write_dot(self, path: str, verbose: bool = True) -> None:
        """Writes it to a file for Graphviz."""
        with open(path, "w", encoding="utf-8") as file:
            file.write("digraph capture {\n")
            for index, (name, _) in enumerate(self.nodes):
                before = f"n{index - 1} -> n{index}; " if index else ""
                file.write(f'  n{index} [label="{name}"]; {before}\n')
            file.write("}\n")


def begin() -> None:
    """Begins to note instead of to run. Raises `RuntimeError` where that has begun already."""
    if active is not None:
        raise RuntimeError("Graph capture already in progress on the CPU")
    _switch(HostGraph())


def end() -> HostGraph:
    """Gives what was noted since `begin`."""
    found = active
    if found is None:
        raise RuntimeError("Graph capture is not active on the CPU")
    _switch(None)
    return found


def _switch(recording: HostGraph | None) -> None:
    """Notes in `recording` from here on. Launches without a step through Python are none of this."""
    global active
    active = recording
    config.__dict__["_captures"] = recording is not None
    config.__dict__["_changes"] += 1
    prints = recording is not None or bool(config.print_launches)
    _native.set_launch_state(changes=config.__dict__["_changes"], prints=prints)


def note(name: str, run: Callable[[], Any], out: Any) -> Any:
    """Notes what writes to `out`. Raises `RuntimeError` for what gives its result to the host."""
    if active is None:
        return run()
    if out is None:
        raise RuntimeError(f"`{name}` gives its result to the host, which a graph cannot: pass an array for it")
    active.add(name, run)
    return out


def noted(function: Callable[P, None]) -> Callable[P, None]:
    """A function that works in place: noted while a graph is captured, else run."""

    @functools.wraps(function)
    def run_or_note(*args: P.args, **options: P.kwargs) -> None:
        if active is None:
            return function(*args, **options)
        active.add(function.__name__, functools.partial(function, *args, **options))
        return None

    return run_or_note


def part(body: Any) -> HostGraph:
    """What a function does, or a graph, as a graph of its own."""
    captured = getattr(body, "_captured", None)
    if isinstance(captured, HostGraph):
        return captured
    if not callable(body):
        raise TypeError(f"a part of a graph is a function or a graph on the CPU, not {body!r}")
    outer, inner = active, HostGraph()
    _switch(inner)
    try:
        body()
    finally:
        _switch(outer)
    return inner


def run_if(condition: Any, parts: list[HostGraph | None]) -> None:
    """Runs the first graph where the one number of an array is not 0, else the second."""
    chosen = parts[0 if _holds(condition) else 1]
    if chosen is not None:
        chosen.launch()


def run_while(condition: Any, body: HostGraph) -> None:
    """Runs a graph as long as the one number of an array is not 0."""
    while _holds(condition):
        body.launch()


def _holds(condition: Any) -> bool:
    return bool(condition.numpy().flat[0])
