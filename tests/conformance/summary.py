"""What became of a suite's tests, as the tables and lists of docs/conformance.md."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from run import Module

# Topics that users meet first, and what else a program of theirs may use: the two that the page counts by reason.
GROUPS = {
    "the language, matrices and vectors, arrays, structs, atomics, random numbers": (
        "core language/math",
        "matrix/vec/quat/spatial types",
        "arrays",
        "struct",
        "atomics",
        "random/noise",
    ),
    "functions, generics, static values, modules, and the rest": ("func/generics/static", "misc"),
    "gradients, other libraries' arrays, sparse matrices, optimizers, devices": (
        "autodiff",
        "interop",
        "sparse/linear solvers",
        "optim",
        "cuda-only",
    ),
}
# What is left out of the core topics: they assert how the deterministic modes of the peer's GPU code are built.
NOT_CORE = "warp.tests.deterministic."
FAILURES = ("wording", "failed", "error")


def print_topics(modules: list[Module], topics: dict[str, tuple[str, int]]) -> None:
    """The table by topic: what passes, beside what passes with the peer on a CPU."""
    peer, ours = Counter[str](), dict[str, Counter[str]]()
    for module in modules:
        topic, passed = topics.get(module.name, ("other", 0))
        peer[topic] += passed
        ours.setdefault(topic, Counter()).update(module.states)
    print("| topic | Warp passes | Gridstride passes | right, but different | other words | excluded | fails |")
    print("|---|---|---|---|---|---|---|")
    for topic in sorted(ours, key=lambda topic: -ours[topic]["passed"]):
        states = ours[topic]
        others = states["failed"] + states["error"]
        counts = (states[name] for name in ("passed", "allowed", "wording", "excluded"))
        row = (topic, peer[topic], *counts, others)
        print("| " + " | ".join(map(str, row)) + " |")


def print_reasons(
    modules: list[Module], topics: dict[str, tuple[str, int]], reasons: dict[str, dict[str, str]]
) -> None:
    """Why tests of the groups of topics do not pass: for each reason how many, and which where they are few.

    `reasons` are those of the lists "allowed", "excluded" and "failing"; the last by patterns of names.
    """
    for title, members in GROUPS.items():
        chosen = [module for module in modules if topics.get(module.name, ("other", 0))[0] in members]
        chosen = [module for module in chosen if "atomics" not in members or not module.name.startswith(NOT_CORE)]
        states = sum((module.states for module in chosen), Counter[str]())
        peer = sum(topics[module.name][1] for module in chosen)
        print(f"\n### {title[0].upper()}{title[1:]}\n")
        print(f"Of {peer} tests that pass with Warp, {states['passed']} pass.")
        for state, heading in (
            ("allowed", "Right, but different"),
            ("wording", "An error in other words"),
            ("excluded", "Excluded"),
            ("failing", "Fails"),
        ):
            found = [test for module in chosen for test in module.noted.get(state, ())]
            if found:
                print(f"\n{heading}: {len(found)}.\n")
                print("\n".join(_lines(found, reasons, state)))


def _lines(tests: Iterable[str], reasons: dict[str, dict[str, str]], state: str) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for test in tests:
        by_reason.setdefault(_reason(test, reasons, state), []).append(test)
    lines = []
    for reason, members in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        names = ", ".join(f"`{test.split('.')[-1].removesuffix('_cpu')}`" for test in members)
        lines.append(f"- {len(members)}: {reason}" if len(members) > 3 else f"- {names}: {reason}")
    return lines


def _reason(test: str, reasons: dict[str, dict[str, str]], state: str) -> str:
    if state == "wording":
        return "the class is right"
    if state == "failing":
        return failing_reason(test, reasons["failing"]) or "no reason is known"
    reason = reasons[state].get(test) or reasons[state].get(test.rpartition(".")[0], "")
    # Of what is excluded the kind is enough: `reads Warp's private`, without the name.
    kind = re.split(r" ?[(`]", reason)[0] if state == "excluded" else reason
    return reason if len(kind.split()) < 3 else kind


def failing_reason(test: str, failing: dict[str, str]) -> str | None:
    """The line of `failing.tsv` that names a test, by itself or by a pattern."""
    return next((reason for pattern, reason in failing.items() if fnmatch.fnmatch(test, pattern)), None)
