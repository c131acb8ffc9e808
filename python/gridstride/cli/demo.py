"""`gridstride demo`: simulates a galaxy and a box of particles, compares both with NumPy, draws them.

In: sizes. Out: two PNG files, a table of times, exit status 1 where a result differs from NumPy's by too much.
"""

import ast
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np

from gridstride import _native
from gridstride.cli import Mistake
from gridstride.cli.facts import facts

COMPILING = ("ms_captured", "ms_inferred", "ms_optimized", "ms_generated", "ms_cached", "ms_loaded")


@dataclass
class Plan:
    """One program of the demo: an example module and how large to run it."""

    module: ModuleType
    what: str
    n: int
    frames: tuple[int, ...]  # steps after which a picture is drawn
    check: int  # steps after which the state is compared with NumPy's
    tolerance: float

    @property
    def steps(self) -> int:
        return max(*self.frames, self.check)


@dataclass
class Outcome:
    transfer: float = 0.0
    compile: float = 0.0
    run: float = 0.0
    numpy_step: float = 0.0
    difference: float = 0.0
    frames: list[np.ndarray] = field(default_factory=list)
    picture: Path = Path()


def plans(quick: bool) -> dict[str, Plan]:
    from gridstride.examples import box, galaxy

    if quick:
        return {
            "galaxy": Plan(galaxy, "stars", 1024, (0, 140, 260), check=3, tolerance=1e-3),
            "box": Plan(box, "particles", 20_000, (0, 150, 300), check=300, tolerance=1e-3),
        }
    return {
        "galaxy": Plan(galaxy, "stars", 4096, (0, 140, 260), check=3, tolerance=1e-3),
        "box": Plan(box, "particles", 200_000, (0, 150, 300), check=300, tolerance=1e-3),
    }


def demo(quick: bool, out: str, device: str) -> int:
    try:
        from rich import box as lines
        from rich.console import Console
        from rich.progress import Progress
        from rich.table import Table
    except ImportError:
        raise Mistake("the demo needs rich and Pillow: pip install 'gridstride[demo]'") from None

    from gridstride.examples import picture

    console = Console(highlight=False)
    for name, value in facts():
        console.print(f"[dim]{name:<12}[/]  {value}")
    programs = plans(quick)
    outcomes = {}
    with Progress(console=console) as progress:
        for name, plan in programs.items():
            bar = progress.add_task(f"{name}: {plan.n} {plan.what}", total=plan.steps)
            outcomes[name] = run(plan, device, lambda bar=bar: progress.advance(bar))
            outcomes[name].picture = picture.save(Path(out, f"{name}.png"), picture.strip(outcomes[name].frames))

    table = Table("", box=lines.SIMPLE_HEAD)
    for name in programs:
        table.add_column(name, justify="right")
    for cells in zip(*(describe(plan, outcomes[name]) for name, plan in programs.items()), strict=True):
        table.add_row(cells[0][0], *(value for _, value in cells))
    console.print(table)
    failed = [name for name, plan in programs.items() if not outcomes[name].difference <= plan.tolerance]
    for name in failed:
        console.print(f"[red]{name} differs from NumPy by more than {programs[name].tolerance:g}[/]")
    if not failed:
        console.print("[green]both agree with NumPy in double precision[/]")
    console.print("More programs, each run by [bold]python -m gridstride.examples.NAME[/]:")
    for name, what in others(programs):
        console.print(f"  [bold]{name:<12}[/]  {what}")
    return 1 if failed else 0


def others(shown: Iterable[str]) -> list[tuple[str, str]]:
    """The examples besides those shown, each with the first line of its description."""
    from gridstride import examples

    found = []
    for file in sorted(Path(examples.__path__[0]).glob("*.py")):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        if not file.stem.startswith("_") and file.stem not in {*shown, "picture"}:
            found.append((file.stem, text.splitlines()[0]))
    return found


def run(plan: Plan, device: str, step_done: Callable[[], None]) -> Outcome:
    outcome = Outcome()
    state = plan.module.start(plan.n)
    began = time.perf_counter()
    simulation = plan.module.Simulation(*state, device)
    outcome.transfer = time.perf_counter() - began
    done = 0
    for mark in sorted({*plan.frames, plan.check}):
        compiled, began = compile_seconds(), time.perf_counter()
        simulation.run(mark - done, step_done)
        compiled = compile_seconds() - compiled
        outcome.run += time.perf_counter() - began - compiled
        outcome.compile += compiled
        done = mark
        if mark == plan.check:
            began = time.perf_counter()
            outcome.difference = plan.module.difference(simulation, mark)
            outcome.numpy_step = (time.perf_counter() - began) / mark
        if mark in plan.frames:
            compiled = compile_seconds()
            outcome.frames.append(simulation.picture())
            outcome.compile += compile_seconds() - compiled
    return outcome


def describe(plan: Plan, outcome: Outcome) -> list[tuple[str, str]]:
    return [
        ("size", f"{plan.n} {plan.what}"),
        ("steps", str(plan.steps)),
        ("compile", f"{1e3 * outcome.compile:.1f} ms"),
        ("transfer", f"{1e3 * outcome.transfer:.1f} ms"),
        ("run", f"{1e3 * outcome.run:.0f} ms"),
        ("one step", f"{1e3 * outcome.run / plan.steps:.2f} ms"),
        ("one step, NumPy float64", f"{1e3 * outcome.numpy_step:.2f} ms"),
        ("largest difference", f"{outcome.difference:.1e}"),
        ("picture", str(outcome.picture)),
    ]


def compile_seconds() -> float:
    """Spent so far on everything between a kernel's text and its loaded code."""
    counters = _native.counters()
    return sum(counters[name] for name in COMPILING) / 1e3
