"""Devices, settings, timers and streams."""

import copy
import os
import subprocess
import sys
import warnings

import pytest

import gridstride as wp


def test_the_cpu():
    cpu = wp.get_device("cpu")
    assert cpu.is_cpu
    assert not cpu.is_cuda
    assert (str(cpu), repr(cpu)) == ("cpu", '"cpu"')
    assert cpu == "cpu"
    assert wp.get_device(cpu) is cpu
    assert wp.get_devices()[0] is cpu
    assert cpu.total_memory > cpu.free_memory > 0
    assert copy.deepcopy(cpu) is cpu
    assert wp.zeros(1, device="cpu").device == "cpu"
    assert isinstance(cpu, wp.Device)


WITHOUT_GPU = """
import gridstride as wp
for name in ("cuda", "cuda:0", "cuda:7"):
    try:
        wp.get_device(name)
    except RuntimeError as error:
        print(error)
    assert not wp.is_device_available(name)
assert not wp.is_cuda_available()
assert wp.get_cuda_device_count() == 0
assert wp.get_cuda_devices() == []
assert wp.get_devices() == [wp.get_preferred_device()] == ["cpu"]
assert wp.zeros(1).device == wp.get_device() == "cpu"
"""


def run(program, **environment):
    """What a program of its own prints where there is no GPU."""
    settings = {name: value for name, value in os.environ.items() if name != "GRIDSTRIDE_DEVICE"}
    settings.update(CUDA_VISIBLE_DEVICES="", **environment)
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout


def test_cuda_says_what_is_missing():
    lines = run(WITHOUT_GPU).splitlines()
    for name, line in zip(("cuda", "cuda:0", "cuda:7"), lines, strict=True):
        assert line.startswith(f"device `{name}` is not available: no CUDA device is available in this program (")


def test_unknown_devices():
    for name in ("gpu", "", 3):
        with pytest.raises(ValueError, match="is not a device"):
            wp.get_device(name)
    assert not wp.is_device_available("gpu")


def test_scoped_device():
    before = wp.get_device()
    with wp.ScopedDevice("interp") as device:
        assert wp.get_device() is device
        with wp.ScopedDevice("cpu"):
            assert wp.get_device() == "cpu"
        assert wp.get_device() == "interp"
    assert wp.get_device() is before
    with pytest.raises(KeyError), wp.ScopedDevice("interp"):
        raise KeyError
    assert wp.get_device() is before


@pytest.mark.parametrize(("value", "expected"), [("cpu", "cpu"), ("interp", "interp"), ("cuda", "no CUDA device")])
def test_the_environment_chooses_the_default(value, expected):
    program = "import gridstride as wp\ntry: print(wp.get_device())\nexcept RuntimeError as e: print(e)"
    assert expected in run(program, GRIDSTRIDE_DEVICE=value)


def test_settings_that_do_not_exist_warn_once():
    with pytest.warns(UserWarning, match="no setting `no_such_thing`"):
        wp.config.no_such_thing = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wp.config.no_such_thing = 2
        wp.config.quiet = True
    del wp.config.no_such_thing
    with pytest.raises(ValueError, match="'release' or 'debug'"):
        wp.config.mode = "dbug"


def test_timer(capsys):
    times = {}
    with wp.ScopedTimer("outer", dict=times) as timer, wp.ScopedTimer("inner", dict=times):
        pass
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("    inner took ")
    assert out[1].startswith("outer took ")
    assert times["outer"] == [timer.elapsed]
    with wp.ScopedTimer("silent", print=False), wp.ScopedTimer("off", active=False):
        pass
    assert capsys.readouterr().out == ""
    with wp.ScopedTimer("detailed", detailed=True):
        sorted([3, 1, 2])
    assert "cumulative" in capsys.readouterr().out


def test_streams_belong_to_cuda():
    with wp.ScopedStream(None) as stream:
        assert stream is None
    wp.synchronize()
    wp.synchronize_device("cpu")
    wp.synchronize_stream("cpu")
    for make in (wp.Stream, wp.Event, wp.get_stream):
        with pytest.raises(RuntimeError, match="cpu is not a CUDA device"):
            make("cpu")


def test_init_can_be_called_again(capsys):
    wp.init()
    wp.init()
    assert wp.is_initialized()
    assert capsys.readouterr().out == ""


def test_the_cache_is_cleared_but_nothing_else(tmp_path):
    entry, other = tmp_path / f"{'0a' * 32}.o", tmp_path / "notes.txt"
    entry.write_bytes(b"x")
    other.write_text("x")
    wp.config.kernel_cache_dir = tmp_path
    wp.clear_kernel_cache()
    assert not entry.exists()
    assert other.exists()
    wp.config.kernel_cache_dir = tmp_path / "missing"
    wp.clear_kernel_cache()
