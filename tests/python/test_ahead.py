"""Modules compiled ahead of time: the file that is written is what runs, in this process and in another."""

import importlib.util
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gridstride as wp

pytestmark = pytest.mark.cpu

TEXT = """
from typing import Any

import gridstride as wp


@wp.func
def grown(x: float):
    return x * FACTOR


@wp.kernel
def scale(a: wp.array2d(dtype=float)):
    i, j = wp.tid()
    a[i, j] = grown(a[i, j])


@wp.kernel
def add(a: wp.array(dtype=Any), x: Any):
    i = wp.tid()
    a[i] = a[i] + x


add_double = wp.overload(add, [wp.array(dtype=wp.float64), wp.float64])
""".lstrip()


def load(path, factor: float) -> Any:
    path.write_text(TEXT.replace("FACTOR", str(factor)))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scaled(module) -> float:
    a = wp.ones((3, 4), dtype=float, device="cpu")
    wp.launch(module.scale, dim=a.shape, inputs=[a], device="cpu")
    assert len(set(a.numpy().flat)) == 1
    return float(a.numpy()[0, 0])


@pytest.fixture
def path(tmp_path, request):
    # A name of its own, for modules are known by name.
    return tmp_path / f"ahead_{request.node.name}.py"


def test_a_module_runs_what_was_compiled(path, tmp_path):
    before = load(path, 2.0)
    (file,) = wp.compile_aot_module(path.stem, "cpu", module_dir=tmp_path / "out", strip_hash=True)
    assert file == tmp_path / "out" / f"wp_{path.stem}.o"
    assert scaled(before) == 2.0
    after = load(path, 3.0)
    wp.load_aot_module(path.stem, "cpu", module_dir=tmp_path / "out", strip_hash=True)
    assert scaled(after) == 2.0
    a = wp.ones(5, dtype=wp.float64, device="cpu")
    wp.launch(after.add, dim=5, inputs=[a, wp.float64(0.5)], device="cpu")
    wp.launch(after.add_double, dim=5, inputs=[a, wp.float64(0.5)], device="cpu")
    np.testing.assert_array_equal(a.numpy(), np.full(5, 2.0))


def test_a_kernel_that_has_run_takes_the_file_too(path, tmp_path):
    load(path, 2.0)
    wp.compile_aot_module(path.stem, "cpu", module_dir=tmp_path, strip_hash=True)
    module = load(path, 3.0)
    assert scaled(module) == 3.0
    wp.load_aot_module(path.stem, "cpu", module_dir=tmp_path, strip_hash=True)
    assert scaled(module) == 2.0


def test_a_changed_source_has_another_name(path, tmp_path):
    load(path, 2.0)
    (file,) = wp.compile_aot_module(path.stem, "cpu", module_dir=tmp_path)
    assert file.name == f"{wp.get_module(path.stem).get_module_identifier()}.o"
    wp.load_aot_module(path.stem, "cpu", module_dir=tmp_path)
    load(path, 3.0)
    with pytest.raises(FileNotFoundError, match=path.stem):
        wp.load_aot_module(path.stem, "cpu", module_dir=tmp_path)


def test_a_file_that_is_there_is_kept_unless_kernels_are_not_cached(path, tmp_path, monkeypatch):
    load(path, 2.0)
    (file,) = wp.compile_aot_module(path.stem, "cpu", module_dir=tmp_path)
    first = file.stat().st_mtime_ns
    wp.compile_aot_module(path.stem, "cpu", module_dir=tmp_path)
    assert file.stat().st_mtime_ns == first
    monkeypatch.setattr(wp.config, "cache_kernels", False)
    wp.compile_aot_module(path.stem, "cpu", module_dir=tmp_path)
    assert file.stat().st_mtime_ns != first


def test_a_damaged_file_is_refused(path, tmp_path):
    load(path, 2.0)
    (file,) = wp.compile_aot_module(path.stem, "cpu", module_dir=tmp_path)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(RuntimeError, match="damaged"):
        wp.load_aot_module(path.stem, "cpu", module_dir=tmp_path)
    file.write_bytes(b"\x7fELF")
    with pytest.raises(RuntimeError, match="no kernels"):
        wp.load_aot_module(path.stem, "cpu", module_dir=tmp_path)
    wp.compile_aot_module(path.stem, "cpu", module_dir=tmp_path)
    wp.load_aot_module(path.stem, "cpu", module_dir=tmp_path)


def test_another_process_compiles_nothing(path, tmp_path):
    load(path, 2.0)
    wp.compile_aot_module(path.stem, "cpu", module_dir=tmp_path)
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import gridstride as wp
wp.config.cache_kernels = False
import {path.stem} as module
wp.load_aot_module(module, "cpu", module_dir={str(tmp_path)!r})
a = wp.ones((3, 4), dtype=float, device="cpu")
wp.launch(module.scale, dim=a.shape, inputs=[a], device="cpu")
assert (a.numpy() == 2.0).all(), a.numpy()
counters = wp.counters()
assert counters["generated"] == 0, counters
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_ptx_needs_no_gpu(path, tmp_path):
    load(path, 2.0)
    first, second = wp.compile_aot_module(path.stem, arch=[80, 90], module_dir=tmp_path)
    assert (first.name[-9:], second.name[-9:]) == (".sm80.ptx", ".sm90.ptx")
    assert b".target sm_80" in first.read_bytes() and b".target sm_90" in second.read_bytes()
    with pytest.raises(RuntimeError, match="no CUDA architecture 12"):
        wp.compile_aot_module(path.stem, arch=12, module_dir=tmp_path)


def test_modules_without_types_are_refused(tmp_path):
    module = wp.Module("ahead_generic")

    @wp.kernel(module=module)
    def generic(a: wp.array(dtype=Any)):
        a[0] = a[1]

    with pytest.raises(RuntimeError, match="No compilable kernels found.*generic kernel with overloads"):
        wp.compile_aot_module(module, "cpu", module_dir=tmp_path)
    for dtype in (float, int):
        wp.overload(generic, [wp.array(dtype=dtype)])
    with pytest.raises(RuntimeError, match="strip_hash=True.*generic` has multiple overloads"):
        wp.compile_aot_module(module, "cpu", module_dir=tmp_path, strip_hash=True)
