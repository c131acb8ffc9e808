"""Runs the own test suite of Warp, or of numba-cuda, against Gridstride and writes a table.

    python tests/conformance/run.py [--suite warp|numba] [--device cpu|cuda] [--quick] [--only GLOB]
                                    [--update] [--reasons] [--topics]

A suite comes from the peer's wheel on PyPI, which pip downloads into a cache folder outside the repository; no
file of it is copied here. `expected.tsv` lists for each module how many tests pass: fewer is a failure of this
command, more is a gain that `--update` records. `excluded.tsv` lists tests that assert the peer's internals, each with
its reason. `--suite numba --device cuda` runs the tests that numba-cuda cannot run without a GPU, on a GPU.
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
import subprocess
import sys
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).parent
# Seconds of processor time that a single test may take, and seconds for a module as a whole.
TEST_SECONDS, MODULE_SECONDS = 20.0, 300.0
# Wording: the test wants an error, gets one of the class that it names, and only its text differs.
STATES = ("passed", "skipped", "excluded", "wording", "failed", "error")
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
    # Tests that pass although they are listed as excluded.
    stale: list[str] = field(default_factory=list)
    seconds: float = 0.0


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


def excluded() -> dict[str, str]:
    """Tests that are not run, with the reason for each."""
    path = HERE / f"{suite.prefix}excluded.tsv"
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {row["test"]: row["reason"] for row in csv.DictReader(file, delimiter="\t")}


def suite_name(test: str) -> str:
    """A test by the name of the suite's package, whose modules Gridstride loads as its own."""
    return "numba." + test.partition("numba.")[2] if suite.prefix else "warp." + test.partition(".")[2]


def run_module(folder: pathlib.Path, name: str, skip: dict[str, str]) -> Module:
    """Runs one module in worker processes: a new one after each crash."""
    module, done, began = Module(name), 0, time.perf_counter()
    while time.perf_counter() - began < MODULE_SECONDS:
        worker = [
            sys.executable,
            str(HERE / suite.worker),
            str(folder),
            name,
            str(TEST_SECONDS),
            str(done),
            suite.device,
        ]
        started = ""
        with subprocess.Popen(worker, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                report = json.loads(line)
                module.collected = max(module.collected, report.get("collected", 0))
                if "broken" in report and name in skip:
                    module.states["excluded"] += 1
                elif "broken" in report:
                    module.states["error"] += 1
                    module.reasons.append((name, report["broken"]))
                elif "started" in report:
                    started = suite_name(report["started"])
                elif "test" in report:
                    done, started = done + 1, ""
                    test, state = suite_name(report["test"]), report["state"]
                    if state in FAILURES and test in skip:
                        state = "excluded"
                    module.states[state] += 1
                    if state == "passed" and test in skip:
                        module.stale.append(test)
                    if state in FAILURES:
                        module.reasons.append((test, report["reason"]))
        if not started:
            break
        done += 1
        module.states["error"] += 1
        module.reasons.append((started, f"the process ended with {process.returncode}"))
    module.seconds = time.perf_counter() - began
    return module


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
            rows = {row[0]: row for row in list(csv.reader(file, delimiter="\t"))[1:]}
    for m in modules:
        rows[m.name] = [m.name, str(m.collected), *(str(m.states[state]) for state in STATES)]
    with open(path, "w", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(["module", "collected", *STATES])
        table.writerows(rows[name] for name in sorted(rows))


def print_topics(modules: list[Module]) -> None:
    """Prints the table of docs/conformance.md: what passes by topic, beside what passes with the peer on a CPU."""
    with open(HERE / f"{suite.prefix.removesuffix('cuda_')}topics.tsv", newline="") as file:
        topics = {
            row["module"]: (row["topic"], int(row["peer_passed" if suite.prefix else "warp_passed"]))
            for row in csv.DictReader(file, delimiter="\t")
        }
    peer, ours = Counter[str](), dict[str, Counter[str]]()
    for module in modules:
        topic, passed = topics.get(module.name, ("other", 0))
        peer[topic] += passed
        ours.setdefault(topic, Counter()).update(module.states)
    print("| topic | Warp passes | Gridstride passes | other words | excluded | fails |")
    print("|---|---|---|---|---|---|")
    for topic in sorted(ours, key=lambda topic: -ours[topic]["passed"]):
        states = ours[topic]
        others = states["failed"] + states["error"]
        row = (topic, peer[topic], states["passed"], states["wording"], states["excluded"], others)
        print("| " + " | ".join(map(str, row)) + " |")


def main() -> int:
    """Runs the suite; 1 where a module passes fewer tests than recorded."""
    global suite, TEST_SECONDS, MODULE_SECONDS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=("warp", "numba"), default="warp", help="whose tests to run")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: what needs a GPU, of numba's")
    parser.add_argument("--quick", action="store_true", help="only the modules listed in quick.txt")
    parser.add_argument("--only", default="*", help="modules whose name matches")
    parser.add_argument("--update", action="store_true", help="record the table in expected.tsv")
    parser.add_argument("--reasons", action="store_true", help="print each failure and its reason")
    parser.add_argument("--topics", action="store_true", help="print a table by topic")
    parser.add_argument("--seconds", type=float, default=TEST_SECONDS, help="a test may take, a module 15 times that")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    TEST_SECONDS, MODULE_SECONDS = options.seconds, 15 * options.seconds
    if options.device == "cuda" and options.suite != "numba":
        parser.error("--device cuda is for --suite numba")
    suite = SUITES["numba-cuda" if options.device == "cuda" else options.suite]
    folder, skip, expected = suite_folder(), excluded(), read_expected()
    names = [name for name in module_names(folder) if fnmatch.fnmatch(name, options.only)]
    if options.quick:
        quick = (HERE / "quick.txt").read_text().split()
        names = [name for name in names if name in quick]
    began, modules, losses = time.perf_counter(), [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for module in pool.map(lambda name: run_module(folder, name, skip), names):
            modules.append(module)
            passed, before = module.states["passed"], expected.get(module.name, 0)
            counts = " ".join(f"{state} {module.states[state]}" for state in STATES)
            change = (
                f"  LOST {before - passed}" if passed < before else f"  gained {passed - before}" * (passed > before)
            )
            losses += max(0, before - passed)
            print(f"{module.name} collected {module.collected} {counts} {module.seconds:.1f} s{change}", flush=True)
            if options.reasons:
                for test, reason in module.reasons:
                    print(f"    {test}: {reason}")
    total = sum((module.states for module in modules), Counter[str]())
    print(f"{sum(m.collected for m in modules)} tests in {len(modules)} modules, {time.perf_counter() - began:.0f} s")
    for test in [test for module in modules for test in module.stale]:
        print(f"passes, and is no longer to be excluded: {test}")
    if options.topics:
        print_topics(modules)
    if options.update:
        write_expected(modules)
    print(f"{total['passed']} passed, {losses} failed, {total['skipped']} skipped")
    return 1 if losses and not options.update else 0


if __name__ == "__main__":
    sys.exit(main())
