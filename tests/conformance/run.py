"""Runs the own test suite of Warp, or of numba-cuda, against Gridstride and writes a table.

    python tests/conformance/run.py [--suite warp|numba] [--device cpu|cuda] [--quick] [--only GLOB]
                                    [--update] [--reasons] [--topics] [--peer-time PYTHON]

A suite comes from the peer's wheel on PyPI, which pip downloads into a cache folder outside the repository; no
file of it is copied here. `expected.tsv` lists for each module how many tests pass: fewer is a failure of this
command, more is a gain that `--update` records. `excluded.tsv` lists tests that assert the peer's internals, each with
its reason; `allowed.tsv` those that want something else than what is right here: an error for what works, or what
their own report then says; `failing.tsv` says of all others why they fail, by patterns of their names.
`--suite numba --device cuda` runs the tests that numba-cuda cannot run without a GPU, on a GPU. `--peer-time` measures
the peer's own run beside this one.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import dataclasses
import fnmatch
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import summary

HERE = pathlib.Path(__file__).parent
# Seconds of processor time that a single test may take, and seconds for a module as a whole.
TEST_SECONDS, MODULE_SECONDS = 20.0, 300.0
# Allowed: the test wants an error where there is none here, or another result, and this one is right; `allowed.tsv`.
# Wording: the test wants an error, gets one of the class that it names, and only its text differs.
STATES = ("passed", "skipped", "excluded", "allowed", "wording", "failed", "error")
FAILURES = ("wording", "failed", "error")


@dataclass(frozen=True)
class Suite:
    """A peer's tests: where they come from, who runs them, and the prefix of its tables here."""

    wheel: str
    worker: str
    prefix: str
    # What is taken from the wheel, where it goes, and the folder of the tests there.
    wanted: tuple[str, ...]
    moved: tuple[str, str]
    tests: str
    # What the worker is to run: all that needs no GPU, or what needs one.
    device: str = "cpu"


SUITES = {
    "warp": Suite("warp-lang==1.19.0", "worker.py", "", ("warp/tests/", "warp/examples/"), ("", ""), "warp/tests"),
    "numba": Suite(
        "numba-cuda==0.30.4",
        "numba_worker.py",
        "numba_",
        tuple(f"numba_cuda/numba/cuda/{name}" for name in ("tests/", "testing.py", "utils.py", "cuda_paths.py")),
        ("numba_cuda/", ""),
        "numba/cuda/tests",
    ),
}
SUITES["numba-cuda"] = dataclasses.replace(SUITES["numba"], prefix="numba_cuda_", device="cuda")
# The one that the command line names.
suite = SUITES["warp"]


@dataclass
class Module:
    """What became of the tests of one module."""

    name: str
    collected: int = 0
    states: Counter[str] = field(default_factory=Counter)
    reasons: list[tuple[str, str]] = field(default_factory=list)
    # Those that do not pass, by "allowed", "wording", "excluded" and "failing".
    noted: dict[str, list[str]] = field(default_factory=dict)
    # Tests that pass although they are listed as excluded.
    stale: list[str] = field(default_factory=list)
    seconds: float = 0.0
    # Processor time of its processes and of those that they started, the system's included.
    cpu_seconds: float = 0.0


class Lists(NamedTuple):
    """Tests that do not count as failures, by their names."""

    # The reason.
    excluded: dict[str, str]
    # What the report of the failure must say; a test of the list that fails in another way is a failure.
    allowed: dict[str, str]


def suite_folder() -> pathlib.Path:
    """The folder that holds the tests; downloads the wheel when they are not there yet."""
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = base / "gridstride-conformance" / suite.wheel.replace("==", "-")
    needed = (folder / name.replace(*suite.moved, 1) for name in suite.wanted)
    if not all(path.exists() for path in needed):
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), suite.wheel]
        subprocess.run(pip, check=True)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(suite.wanted) and not name.endswith("/"):
                    target = folder / name.replace(*suite.moved, 1)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(name))
        wheel.unlink()
    return folder


def module_names(folder: pathlib.Path) -> list[str]:
    """All test modules of the suite."""
    files = sorted((folder / suite.tests).rglob("test_*.py"))
    return [".".join(file.relative_to(folder).with_suffix("").parts) for file in files]


def listed(name: str, column: str, default: str = "") -> dict[str, str]:
    """Tests of a list, `excluded` or `allowed`, with what a column says of each; `default` where that is nothing."""
    path = HERE / f"{suite.prefix}{name}.tsv"
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {row["test"]: row.get(column) or default for row in csv.DictReader(file, delimiter="\t")}


def suite_name(test: str) -> str:
    """A test by the name of the suite's package, whose modules Gridstride loads as its own."""
    return "numba." + test.partition("numba.")[2] if suite.prefix else "warp." + test.partition(".")[2]


def run_module(folder: pathlib.Path, name: str, lists: Lists, environment: dict[str, str] | None = None) -> Module:
    """Runs one module in worker processes: a new one after each crash."""
    module, done, began = Module(name), 0, time.perf_counter()
    while time.perf_counter() - began < MODULE_SECONDS:
        script = str(HERE / suite.worker)
        worker = [sys.executable, script, str(folder), name, str(TEST_SECONDS), str(done), suite.device]
        started = ""
        pipe = subprocess.PIPE
        with subprocess.Popen(
            worker, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment, start_new_session=True
        ) as process:
            for line in told(process):
                report = json.loads(line)
                module.collected = max(module.collected, report.get("collected", 0))
                if "broken" in report:
                    note(module, name, "error", report["broken"], lists)
                elif "started" in report:
                    started = suite_name(report["started"])
                elif "test" in report:
                    done, started = done + 1, ""
                    note(module, suite_name(report["test"]), report["state"], report["reason"], lists)
            module.cpu_seconds += reaped(process)
        if not started:
            break
        done += 1
        note(module, started, "error", f"the process ended with {process.returncode}", lists)
    module.seconds = time.perf_counter() - began
    return module


def told(process: subprocess.Popen[str]) -> Iterator[str]:
    """The lines of a worker. One that says nothing for longer than a test may wait is
    killed with what it started: a test that waits for ever takes no processor time."""
    assert process.stdout is not None
    # As `worker.py`, which ends a test after as long.
    patience = 6 * TEST_SECONDS + 10
    while True:
        timer = threading.Timer(patience, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        line = process.stdout.readline()
        timer.cancel()
        if not line:
            return
        if suite.device == "cuda":
            # Once the module is imported: tests hardly share what they wait for.
            patience = 2 * TEST_SECONDS + 10
        yield line


def note(module: Module, test: str, state: str, reason: str, lists: Lists) -> None:
    """Counts a test."""
    if state in FAILURES and test in lists.excluded:
        state = "excluded"
    if state in FAILURES and test in lists.allowed and lists.allowed[test] in reason:
        state = "allowed"
    module.states[state] += 1
    if state not in ("passed", "skipped"):
        module.noted.setdefault("failing" if state in ("failed", "error") else state, []).append(test)
    if state == "passed" and (test in lists.excluded or test in lists.allowed):
        module.stale.append(test)
    if state in FAILURES:
        module.reasons.append((test, reason))


def reaped(process: subprocess.Popen[str]) -> float:
    """Waits for a process that closed its output; the processor time that it and its own processes took."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def read_expected() -> dict[str, int]:
    """Tests that passed when the table was last recorded, by module."""
    path = HERE / f"{suite.prefix}expected.tsv"
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {row["module"]: int(row["passed"]) for row in csv.DictReader(file, delimiter="\t")}


def write_expected(modules: list[Module]) -> None:
    """Records the table, keeping the rows of modules that did not run."""
    path = HERE / f"{suite.prefix}expected.tsv"
    rows: dict[str, list[str]] = {}
    if path.exists():
        with open(path, newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                rows[row["module"]] = [row["module"], *(row.get(name) or "0" for name in ("collected", *STATES))]
    for m in modules:
        rows[m.name] = [m.name, str(m.collected), *(str(m.states[state]) for state in STATES)]
    with open(path, "w", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(["module", "collected", *STATES])
        table.writerows(rows[name] for name in sorted(rows))


def read_topics() -> dict[str, tuple[str, int]]:
    """The topic of each module, and how many of its tests pass with the peer on a CPU."""
    with open(HERE / f"{suite.prefix.removesuffix('cuda_')}topics.tsv", newline="") as file:
        return {
            row["module"]: (row["topic"], int(row["peer_passed" if suite.prefix else "warp_passed"]))
            for row in csv.DictReader(file, delimiter="\t")
        }


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=("warp", "numba"), default="warp", help="whose tests to run")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: what needs a GPU, of numba's")
    parser.add_argument("--quick", action="store_true", help="only the modules listed in quick.txt")
    parser.add_argument("--only", default="*", help="modules whose name matches")
    parser.add_argument("--update", action="store_true", help="record the table in expected.tsv")
    parser.add_argument("--reasons", action="store_true", help="print each failure and its reason")
    parser.add_argument("--topics", action="store_true", help="print a table by topic, and lists by reason")
    parser.add_argument("--seconds", type=float, default=TEST_SECONDS, help="a test may take, a module 15 times that")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    peer_time = "a Python that has the peer: runs its first modules, until they took longer than this whole run"
    parser.add_argument("--peer-time", metavar="PYTHON", help=f"{peer_time}. Both start with empty caches")
    options = parser.parse_args()
    if options.device == "cuda" and options.suite != "numba":
        parser.error("--device cuda is for --suite numba")
    if options.peer_time and options.suite != "warp":
        parser.error("--peer-time is for --suite warp")
    return options


def compare_with_peer(python: str, modules: list[Module]) -> None:
    """Runs the same modules with the peer itself, in order, until they took more processor time than all did here."""
    ours, peers = sum(module.cpu_seconds for module in modules), 0.0
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, WARP_CACHE_PATH=cache)
        for n, module in enumerate(modules, 1):
            worker = [python, str(HERE / "peer_worker.py"), module.name]
            quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
            with subprocess.Popen(worker, env=environment, **quiet) as process:  # type: ignore[call-overload]
                passed = sum(json.loads(line).get("state") == "passed" for line in process.stdout)
                seconds = reaped(process)
            peers += seconds
            line = f"{module.name}: {passed} passed with the peer in {seconds:.1f} s of processor time"
            print(f"{line}, {module.states['passed']} in {module.cpu_seconds:.1f} s here", flush=True)
            if peers > ours:
                print(f"{n} modules of the peer took {peers:.0f} s, all {len(modules)} took {ours:.0f} s here")
                return
    print(f"all {len(modules)} modules took {peers:.0f} s with the peer, {ours:.0f} s here")


def main() -> int:
    """Runs the suite; 1 where a module passes fewer tests than recorded."""
    global suite, TEST_SECONDS, MODULE_SECONDS
    options = arguments()
    TEST_SECONDS, MODULE_SECONDS = options.seconds, 15 * options.seconds
    suite = SUITES["numba-cuda" if options.device == "cuda" else options.suite]
    folder, lists = suite_folder(), Lists(listed("excluded", "reason"), listed("allowed", "report", "not raised"))
    names = [name for name in module_names(folder) if fnmatch.fnmatch(name, options.only)]
    if options.quick:
        quick = (HERE / "quick.txt").read_text().split()
        names = [name for name in names if name in quick]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, GRIDSTRIDE_CACHE_DIR=cache) if options.peer_time else None
        modules, losses = run_modules(folder, names, lists, environment, options)
    total = sum((module.states for module in modules), Counter[str]())
    n_tests, n_modules = sum(m.collected for m in modules), len(modules)
    seconds, cpu_seconds = time.perf_counter() - began, sum(m.cpu_seconds for m in modules)
    print(f"{n_tests} tests in {n_modules} modules, {seconds:.0f} s, {cpu_seconds:.0f} s of processor time")
    for test in [test for module in modules for test in module.stale]:
        print(f"passes, and is no longer to be listed: {test}")
    failing = listed("failing", "reason")
    for test in [test for module in modules for test in module.noted.get("failing", ())]:
        if failing and summary.failing_reason(test, failing) is None:
            print(f"fails, and has no line in failing.tsv: {test}")
    if options.topics:
        summary.print_topics(modules, read_topics())
    if options.topics and not suite.prefix:
        reasons = {name: listed(name, "reason") for name in ("allowed", "excluded")}
        summary.print_reasons(modules, read_topics(), {**reasons, "failing": failing})
    if options.update:
        write_expected(modules)
    if options.peer_time:
        compare_with_peer(options.peer_time, modules)
    print(f"{total['passed']} passed, {losses} failed, {total['skipped']} skipped")
    return 1 if losses and not options.update else 0


def run_modules(
    folder: pathlib.Path,
    names: list[str],
    lists: Lists,
    environment: dict[str, str] | None,
    options: argparse.Namespace,
) -> tuple[list[Module], int]:
    """Runs modules side by side and prints a line for each; also how many tests fewer passed than recorded."""
    expected, modules, losses = read_expected(), [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for module in pool.map(lambda name: run_module(folder, name, lists, environment), names):
            modules.append(module)
            passed, before = module.states["passed"], expected.get(module.name, 0)
            counts = " ".join(f"{state} {module.states[state]}" for state in STATES)
            change = (
                f"  LOST {before - passed}" if passed < before else f"  gained {passed - before}" * (passed > before)
            )
            losses += max(0, before - passed)
            taken = f"{module.seconds:.1f} s, {module.cpu_seconds:.1f} s of processor time"
            print(f"{module.name} collected {module.collected} {counts} {taken}{change}", flush=True)
            if options.reasons:
                for test, reason in module.reasons:
                    print(f"    {test}: {reason}")
    return modules, losses


if __name__ == "__main__":
    sys.exit(main())
