"""Compiled kernels on disk: used by later processes, and harmless whatever happens to the files."""

import os
import stat
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys, warnings
import numpy as np
import gridstride as wp
from gridstride import _native

FACTOR = {factor}

@wp.kernel
def scale(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] * FACTOR

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    a = wp.array(np.arange(1000, dtype=np.float32), dtype=float)
    wp.launch(scale, dim=1000, inputs=[a])
assert np.array_equal(a.numpy(), np.arange(1000, dtype=np.float32) * np.float32(FACTOR)), a.numpy()
print(json.dumps([_native.counters(), [str(w.message) for w in caught]]))
"""


def environment(cache):
    return {**os.environ, "GRIDSTRIDE_CACHE_DIR": str(cache)}


@pytest.fixture
def run(tmp_path):
    """Runs the program in a process of its own; gives its counters and warnings."""
    import json

    def run(cache, factor=2.5):
        path = tmp_path / f"program{factor}.py"
        path.write_text(PROGRAM.format(factor=factor))
        done = subprocess.run([sys.executable, path], env=environment(cache), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def entries(cache):
    """By size, the code last: of a kernel there is a summary of some bytes too, and on a GPU what its code takes."""
    return sorted(cache.glob("*.o"), key=lambda entry: entry.stat().st_size)


def test_a_second_process_loads_what_the_first_compiled(run, tmp_path):
    cache = tmp_path / "cache"
    first, _ = run(cache)
    second, _ = run(cache)
    assert (first["generated"], first["cached"]) == (1, 0)
    assert (second["generated"], second["cached"], second["loaded"]) == (0, 1, 1)
    assert (first["optimized"], second["optimized"]) == (1, 0)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_a_captured_value_is_part_of_the_key(run, tmp_path):
    cache = tmp_path / "cache"
    run(cache, factor=2.5)
    n_files = len(entries(cache))
    other, _ = run(cache, factor=3.5)
    assert other["generated"] == 1
    assert len(entries(cache)) == 2 * n_files


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: entry.write_bytes(b""),
        lambda entry: entry.write_bytes(entry.read_bytes()[:-7]),
        lambda entry: entry.write_bytes(entry.read_bytes()[:200] + b"\xff\x00\xff" + entry.read_bytes()[203:]),
        lambda entry: entry.write_bytes(b"\x7fELF" + bytes(500)),
    ],
    ids=["empty", "truncated", "altered", "foreign"],
)
def test_a_damaged_entry_is_compiled_again_and_replaced(run, tmp_path, damage):
    cache = tmp_path / "cache"
    run(cache)
    *_, entry = entries(cache)
    whole = entry.read_bytes()
    damage(entry)
    again, warned = run(cache)
    assert (again["generated"], again["damaged"]) == (1, 1)
    assert warned == []
    assert len(entry.read_bytes()) == len(whole)
    assert run(cache)[0]["cached"] == 1


def test_a_cache_that_cannot_be_made_is_no_cache(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    run(tmp_path / "cache")
    counters, _ = run(tmp_path / "file" / "cache")
    assert (counters["generated"], counters["unwritten"]) == (1, len(entries(tmp_path / "cache")))


def test_a_read_only_cache_still_serves(run, tmp_path):
    cache = tmp_path / "cache"
    run(cache)
    cache.chmod(0o500)
    try:
        assert run(cache)[0]["cached"] == 1
        assert run(cache, factor=4.5)[0]["generated"] == 1
    finally:
        cache.chmod(0o700)


def test_a_cache_that_others_can_write_to_is_refused_with_a_warning(run, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    for _ in range(2):
        counters, (warned,) = run(cache)
        assert counters["generated"] == 1
        assert "others can write to it" in warned and str(cache) in warned
    assert entries(cache) == []


def test_processes_that_start_together_all_work(tmp_path):
    cache = tmp_path / "cache"
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(factor=5.5))
    started = [
        subprocess.Popen(
            [sys.executable, path], env=environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in started:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    subprocess.run([sys.executable, path], env=environment(tmp_path / "alone"), check=True, capture_output=True)
    names = [{entry.name for entry in entries(one)} for one in (cache, tmp_path / "alone")]
    assert names[0] == names[1] != set()
    assert list(cache.glob("*.tmp")) == []


def test_a_first_launch_imports_nothing(tmp_path):
    """Each import would take as long as all else that a first launch does."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nimport gridstride as wp\n"
        "@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[wp.tid()] = 2.0\n"
        "a = wp.zeros(4, dtype=float)\nbefore = set(sys.modules)\n"
        "wp.launch(k, dim=4, inputs=[a])\nprint(sorted(set(sys.modules) - before))\n"
    )
    result = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]", result.stdout
