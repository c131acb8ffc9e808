"""The command `gridstride`, as a user calls it."""

import os
import subprocess
import sys

import pytest

from gridstride import _native
from gridstride.cli import Mistake, facts, main
from gridstride.cli.stages import parse_types

PROGRAM = """
from typing import Any
import gridstride as wp

@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]

@wp.kernel
def twice(x: wp.array(dtype=Any)):
    i = wp.tid()
    x[i] = x[i] + x[i]

@wp.kernel
def wrong(x: wp.array(dtype=float)):
    x[wp.tid()] = nowhere

if __name__ == "__main__":
    raise SystemExit("`gridstride ir` must not run the program")
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


@pytest.mark.parametrize(
    ("stage", "fragment"),
    [("typed", "kernel @saxpy"), ("optimized", "kernel @saxpy"), ("llvm", "define"), ("assembly", "ret")],
)
def test_ir_prints_every_stage(stage, fragment, program, capsys):
    assert main(["ir", f"{program}:saxpy", "--stage", stage]) == 0
    assert fragment in capsys.readouterr().out


def test_ir_of_a_generic_kernel_needs_types(program, capsys):
    assert main(["ir", f"{program}:twice"]) == 1
    assert "`x` of `twice`" in capsys.readouterr().err
    assert main(["ir", f"{program}:twice", "--types", "array<vec<f64, 3>, 1>"]) == 0
    assert "vec<f64, 3>" in capsys.readouterr().out


def test_ir_of_a_wrong_kernel_reports_it(program, capsys):
    assert main(["ir", f"{program}:wrong"]) == 1
    assert "`nowhere`" in capsys.readouterr().err


def test_ir_says_which_kernels_there_are(program, capsys):
    assert main(["ir", f"{program}:sexpy"]) == 1
    assert "`saxpy`, `twice`, `wrong`" in capsys.readouterr().err
    assert main(["ir", "nowhere.py:saxpy"]) == 1
    assert "there is no file `nowhere.py`" in capsys.readouterr().err
    assert main(["ir", "saxpy"]) == 1
    assert "FILE:KERNEL" in capsys.readouterr().err


def test_types_are_read_as_the_ir_writes_them():
    Type = _native.Type
    f32, i64 = Type.scalar("f32"), Type.scalar("i64")
    text = "f32, array<vec<f32,3>, 2>, mat<f32, 2, 3>, quat<f32>, transform<f32>, tuple<f32, i64>"
    assert parse_types(text) == [
        f32,
        Type.array(Type.vector(f32, 3), 2),
        Type.matrix(f32, 2, 3),
        Type.quat(f32),
        Type.transform(f32),
        Type.tuple([f32, i64]),
    ]


@pytest.mark.parametrize(
    "text", ["", "f31", "vec<f32>", "vec<f32, 3", "f32 f32", "array<f32, x>", "vec<f32, 3, 4>", "f32,"]
)
def test_wrong_types_are_refused(text):
    with pytest.raises(Mistake, match="--types"):
        parse_types(text)


def test_ptx_is_printed_without_a_gpu(program, capsys):
    assert main(["ir", f"{program}:saxpy", "--stage", "ptx"]) == 0
    assert ".visible .entry gs_kernel_saxpy" in capsys.readouterr().out


def test_explain_says_what_a_gpu_would_do(program, capsys):
    assert main(["explain", f"{program}:saxpy", "--device", "cuda"]) == 0
    printed = capsys.readouterr().out
    assert "each thread of the GPU runs 4 neighbors" in printed
    assert "load: neighbors    y[i] = a * x[i] + y[i]" in printed


def test_info_names_the_versions(capsys):
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    assert _native.__version__ in printed
    assert _native.llvm_version() in printed


def test_a_wrong_command_shows_the_usage(capsys):
    with pytest.raises(SystemExit) as exit:
        main(["no-such-command"])
    assert exit.value.code == 2
    assert "usage: gridstride" in capsys.readouterr().err


def test_quick_demo_checks_itself_and_draws(tmp_path):
    command = [sys.executable, "-m", "gridstride", "demo", "--quick"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "both agree with NumPy" in result.stdout
    assert "heat_source" in result.stdout
    assert (tmp_path / "out" / "galaxy.png").is_file()
    assert (tmp_path / "out" / "box.png").is_file()


def test_a_cache_that_others_write_to_is_counted(monkeypatch, tmp_path):
    (tmp_path / "kept").write_bytes(b"12345")

    class Gone:
        def is_file(self):
            raise FileNotFoundError("another process has renamed it")

    entries = [Gone(), *os.scandir(tmp_path)]
    monkeypatch.setattr("gridstride.cli.facts.os.scandir", lambda folder: entries)
    assert list(facts._sizes(str(tmp_path))) == [5]
