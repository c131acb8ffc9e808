"""Time loops that a tape keeps few values of: how they are divided, and the bars that show how far they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def loop(tape: Any, steps: int, every: int, memory: int | None, progress: bool) -> Iterator[int]:
    """The numbers of the steps; the tape learns where each begins."""
    forward, backward = _bars(steps, every) if progress else (None, None)
    before = tape.saved_bytes
    tape._begin_stretch(backward)
    try:
        for step in range(steps):
            if step == 2 and memory is not None:
                # After two steps, since most loops write to two states in turn.
                every, inner = division(steps, tape.saved_bytes - before, memory)
                tape._split(inner)
            if step > 0:
                tape._step(step % every == 0)
            yield step
            if forward is not None:
                forward()
    finally:
        tape._end_stretch()


def division(steps: int, state: int, memory: int) -> tuple[int, list[int]]:
    """Steps of a part, and of the parts of parts, so that all that is held at a time fits into `memory`.

    Each part holds what it overwrites, `state` bytes; each step of a part that runs again holds as much at most. Raises
    `RuntimeError` where no number of levels fits.
    """
    least = 0
    for levels in range(1, max(2, steps.bit_length())):
        parts = max(2, round(steps ** (1.0 / (levels + 1))))
        sizes, size = [], steps
        for _ in range(levels):
            size = max(1, -(-size // parts))
            sizes.append(size)
        n_parts = sum(-(-whole // part) for whole, part in zip([steps, *sizes], sizes, strict=False))
        held = (n_parts + sizes[-1]) * state
        if held <= memory:
            return sizes[0], sizes[1:]
        least = held if least == 0 else min(least, held)
    raise RuntimeError(f"{steps} steps that overwrite {state} bytes need at least {least} bytes, not {memory}")


def _bars(steps: int, every: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """What to call after each step, and after each part on the way back."""
    try:
        from rich.progress import Progress
    except ImportError:
        raise RuntimeError("`progress=True` needs rich: pip install rich") from None
    bars = Progress()

    def bar(name: str, total: int) -> Callable[[], None]:
        task: Any = None

        def advance() -> None:
            nonlocal task
            if task is None:
                bars.start()
                task = bars.add_task(name, total=total)
            bars.advance(task)
            if bars.finished:
                bars.stop()

        return advance

    return bar("forward", steps), bar("backward", -(-steps // every))
