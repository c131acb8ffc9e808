"""Runs one module of a peer's test suite against Gridstride; one JSON line a test on standard output.

    python worker.py SUITE_FOLDER MODULE SECONDS [FIRST]

FIRST: how many tests to pass over, after a crash. A test that takes more than SECONDS of processor time, or waits for
six times as long, fails.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import unittest
from typing import Any


class OutOfTime(BaseException):
    """A test ran too long. Not an Exception, so that no test can swallow it."""


def flatten(suite: unittest.TestSuite) -> list[unittest.TestCase]:
    """The single tests of a suite, in its order."""
    tests: list[unittest.TestCase] = []
    for item in suite:
        tests.extend(flatten(item) if isinstance(item, unittest.TestSuite) else [item])
    return tests


def outcome(result: unittest.TestResult) -> tuple[str, str]:
    """What a single test came to, and the last line of its report."""
    for kind, reports in (("error", result.errors), ("failed", result.failures)):
        if reports:
            lines = [line for line in reports[0][1].strip().splitlines() if line.strip()]
            named = [line for line in lines if line.startswith(("gridstride", "error[")) or "Error" in line]
            if named and named[-1].strip() == "AssertionError:":
                # NumPy's reports begin below.
                at = len(lines) - lines[::-1].index(named[-1])
                named.append(" ".join([named[-1], *(line.strip() for line in lines[at : at + 4])]))
            # The test asks for an error and gets one of the class that it asks for, in other words.
            in_other_words = [line for line in lines if line.startswith('AssertionError: "') and "not match" in line]
            if in_other_words:
                return "wording", in_other_words[-1].strip()
            return kind, (named or lines or [""])[-1].strip()
    if result.skipped:
        return "skipped", result.skipped[0][1]
    return "passed", ""


# The classes whose tests ran, and what their preparation raised.
_entered: list[tuple[type[unittest.TestCase], Exception | None]] = []


def enter_class(cls: type[unittest.TestCase]) -> None:
    """Runs what a class does before its tests, once, and what the class before it does after its own.

    Before the first class comes what its module does before its tests; no other module's tests run in this process.
    """
    if not _entered or _entered[-1][0] is not cls:
        if _entered:
            _entered[-1][0].tearDownClass()
        try:
            if not _entered:
                getattr(sys.modules[cls.__module__], "setUpModule", lambda: None)()
            cls.setUpClass()
            _entered.append((cls, None))
        except Exception as error:
            _entered.append((cls, error))
    if _entered[-1][1] is not None:
        raise _entered[-1][1]


def run(test: unittest.TestCase, seconds: float) -> tuple[str, str]:
    """Runs one test with a limit of processor time: other programs may keep the machine busy."""

    def out_of_time(_signal: int, _frame: Any) -> None:
        raise OutOfTime

    result = unittest.TestResult()
    limits = ((signal.SIGPROF, signal.ITIMER_PROF, seconds), (signal.SIGALRM, signal.ITIMER_REAL, 6 * seconds))
    for number, timer, limit in limits:
        signal.signal(number, out_of_time)
        signal.setitimer(timer, limit)
    try:
        enter_class(type(test))
        test.run(result)
    except unittest.SkipTest as skipped:
        return "skipped", str(skipped)
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}"
    except OutOfTime:
        return "failed", f"ran longer than {seconds:g} s"
    finally:
        for _, timer, _ in limits:
            signal.setitimer(timer, 0)
    return outcome(result)


def skips(test: unittest.TestCase) -> bool:
    """Whether a test says, before it runs, that it is to be skipped."""
    method = getattr(test, test._testMethodName)
    return bool(getattr(method, "__unittest_skip__", False) or getattr(type(test), "__unittest_skip__", False))


def serve(module: str, seconds: float, first: int, only: frozenset[str] | None = None) -> None:
    """Imports a module and runs its tests from number `first` on, or those named by `only`, each with a time limit."""
    # Tests print; only our lines may reach the reader.
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def say(**fields: Any) -> None:
        lines.write(json.dumps(fields) + "\n")
        lines.flush()

    try:
        loaded = importlib.import_module(module)
        tests = flatten(unittest.defaultTestLoader.loadTestsFromModule(loaded))
        tests = [test for test in tests if only is None or test.id() in only]
    except BaseException as error:  # noqa: BLE001  # whatever stops the import is the module's result
        say(
            collected=0,
            broken=f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}",
        )
        return
    say(collected=len(tests))
    for test in tests[first:]:
        say(started=test.id())
        began = time.perf_counter()
        state, reason = run(test, seconds)
        say(test=test.id(), state=state, reason=reason[:400], seconds=round(time.perf_counter() - began, 3))


def main() -> None:
    """Runs the module named on the command line."""
    import gridstride.compat

    folder, module, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    # Tests write modules anew within a second, which a file of bytecode would hide.
    sys.dont_write_bytecode = True
    gridstride.compat.install()
    # Tests start programs of their own, which say `import warp` too.
    alias = os.path.join(os.path.dirname(os.path.abspath(__file__)), "alias")
    os.environ["GRIDSTRIDE_SUITE"] = os.path.join(folder, module.partition(".")[0])
    os.environ["PYTHONPATH"] = os.pathsep.join([alias, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    head = module.partition(".")[0]
    gridstride.compat.add_package(f"{head}.tests", os.path.join(folder, head, "tests"))
    # Gridstride has examples of its own.
    importlib.import_module(f"{head}.examples").__path__.append(os.path.join(folder, head, "examples"))
    serve(module, seconds, first)


if __name__ == "__main__":
    main()
