"""A tape as a graph in GraphViz's language: launches and the arrays that pass between them.

    >>> print(wp.Tape().visualize())
    digraph tape {
      rankdir=LR;
      node [fontname="sans-serif", fontsize=10];
    }

Launches that come again and again in the same order are drawn once, in a box that says how often; scopes of the
recording are boxes too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gridstride._kernel import Kernel
from gridstride._native import Array
from gridstride._struct import struct_base


@dataclass
class Step:
    """A launch or a function of the tape, as it is drawn."""

    name: str
    details: str
    reads: list[tuple[str, Any]] = field(default_factory=list)
    writes: list[tuple[str, Any]] = field(default_factory=list)


@dataclass
class Box:
    """Steps under a title: those of a scope, or some that are repeated."""

    title: str
    parts: list[Any] = field(default_factory=list)


def dot(
    tape: Any,
    simplify_graph: bool = True,
    hide_readonly_arrays: bool = False,
    array_labels: dict[Any, str] | None = None,
    choose_longest_node_name: bool = True,
    ignore_graph_scopes: bool = False,
    track_inputs: Sequence[Any] = (),
    track_outputs: Sequence[Any] = (),
    track_input_names: Sequence[str] = (),
    track_output_names: Sequence[str] = (),
    graph_direction: str = "LR",
) -> str:
    """The text of the graph.

    Args:
        simplify_graph: Draw launches that repeat once.
        hide_readonly_arrays: Leave out arrays that nothing writes to.
        array_labels: Names of arrays; the others get those of parameters.
        choose_longest_node_name: Of an array's names as a parameter take the longest, not the first.
        ignore_graph_scopes: Draw no boxes for scopes.
        track_inputs, track_outputs: Arrays to draw in any case, named by `track_input_names`, `track_output_names`.
        graph_direction: LR, RL, TB or BT.
    """
    steps = [_step(tape, index, entry) for index, entry in enumerate(tape._entries())]
    parts = _scopes(steps, [] if ignore_graph_scopes else tape.scopes)
    if simplify_graph:
        parts = _simplified(parts)
    names = dict(array_labels or {})
    for arrays, given in ((track_inputs, track_input_names), (track_outputs, track_output_names)):
        for number, one in enumerate(arrays or ()):
            names.setdefault(one, given[number] if given and number < len(given) else f"array {number}")
    tracked = set(names)
    for step in _all_steps(parts):
        for name, one in [*step.reads, *step.writes]:
            if one not in tracked and (one not in names or (choose_longest_node_name and len(name) > len(names[one]))):
                names[one] = name
    written = {one for step in _all_steps(parts) for _, one in step.writes}
    lines = ["digraph tape {", f"  rankdir={graph_direction};", '  node [fontname="sans-serif", fontsize=10];']
    numbers = {one: f"a{number}" for number, one in enumerate(names)}
    for one, name in names.items():
        if hide_readonly_arrays and one not in written and one not in tracked:
            continue
        gradient = "with gradient" if one.grad is not None else "no gradient"
        tooltip = f"array: dtype={one.dtype.__name__}, shape={one.shape}, {gradient}"
        color = "#c7e3c7" if one.grad is not None else "#eeeeee"
        lines.append(
            f'  {numbers[one]} [shape=ellipse, style=filled, fillcolor="{color}", label={_text(name)}, '
            f"tooltip={_text(tooltip)}];"
        )
    count = [0]
    _draw(parts, numbers, written | tracked if hide_readonly_arrays else set(names), lines, count, "  ")
    return "\n".join([*lines, "}"]) + "\n"


def _step(tape: Any, index: int, entry: Any) -> Step:
    if not isinstance(entry[0], Kernel):
        step = Step(entry[0], "function")
        for kind, arrays in ((step.reads, entry[2]), (step.writes, entry[3])):
            kind.extend((f"array {number}", one) for number, one in enumerate(arrays))
        return step
    kernel, dim, _, args, device, _ = entry
    step = Step(kernel.key, f"kernel: dim={dim}, device={device}")
    for name, arg, (is_read, is_written, _) in zip(kernel._annotations, args, tape._accesses(index), strict=True):
        for path, one in _arrays(name, arg):
            if is_read or not is_written:
                step.reads.append((path, one))
            if is_written:
                step.writes.append((path, one))
    return step


def _arrays(name: str, arg: Any) -> list[tuple[str, Any]]:
    if isinstance(arg, Array):
        return [(name, arg)]
    if isinstance(arg, struct_base):
        return [found for part in arg._fields for found in _arrays(f"{name}.{part}", getattr(arg, part))]
    data = getattr(arg, "data", None)
    return [(name, data)] if isinstance(data, Array) else []


def _scopes(steps: list[Step], scopes: list[Any]) -> list[Any]:
    """Steps in the boxes of their scopes."""
    outer = Box("")
    open_boxes = [outer]
    events = list(scopes)
    for index in range(len(steps) + 1):
        while events and events[0][0] <= index:
            _, name, _ = events.pop(0)
            if name is not None:
                box = Box(name)
                open_boxes[-1].parts.append(box)
                open_boxes.append(box)
            elif len(open_boxes) > 1:
                open_boxes.pop()
        if index < len(steps):
            open_boxes[-1].parts.append(steps[index])
    return outer.parts


def _simplified(parts: list[Any]) -> list[Any]:
    """Parts with runs that repeat in a box, drawn once."""
    parts = [Box(part.title, _simplified(part.parts)) if isinstance(part, Box) else part for part in parts]
    keys = [_key(part) for part in parts]
    found: list[Any] = []
    at = 0
    while at < len(parts):
        best = (1, 1)
        for period in range(1, min(32, (len(parts) - at) // 2) + 1):
            repeats = 1
            while keys[at : at + period] == keys[at + repeats * period : at + (repeats + 1) * period]:
                repeats += 1
            if repeats > 1 and repeats * period > best[0] * best[1]:
                best = (period, repeats)
        period, repeats = best
        run = parts[at : at + period]
        found.extend([Box(f"repeated {repeats}x", run)] if repeats > 1 else run)
        at += period * repeats
    return found


def _key(part: Any) -> Any:
    return (part.title, tuple(map(_key, part.parts))) if isinstance(part, Box) else part.name


def _all_steps(parts: list[Any]) -> list[Step]:
    return [step for part in parts for step in (_all_steps(part.parts) if isinstance(part, Box) else [part])]


def _draw(
    parts: list[Any], numbers: dict[Any, str], shown: Any, lines: list[str], count: list[int], indent: str
) -> None:
    for part in parts:
        count[0] += 1
        if isinstance(part, Box):
            lines.append(f"{indent}subgraph cluster{count[0]} {{")
            lines.append(f"{indent}  label={_text(part.title)}; style=rounded;")
            _draw(part.parts, numbers, shown, lines, count, indent + "  ")
            lines.append(f"{indent}}}")
            continue
        node = f"k{count[0]}"
        lines.append(
            f'{indent}{node} [shape=box, style=filled, fillcolor="#f6d9b8", label={_text(part.name)}, '
            f"tooltip={_text(part.details)}];"
        )
        lines.extend(f"{indent}{numbers[one]} -> {node};" for _, one in part.reads if one in shown)
        lines.extend(f"{indent}{node} -> {numbers[one]};" for _, one in part.writes if one in shown)


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
