"""A few random programs at every change; `make differential` runs as many as one has time for, beside the peers."""

import shutil
import sys
import warnings

import array_calls
import pytest
from run import compare

import gridstride.cupy as cp
from gridstride.numba.cuda import _devices


@pytest.mark.parametrize("style", ["warp", "numba", "gradients"])
def test_compiled_and_interpreted_programs_agree(style, tmp_path):
    kinds, outcomes = compare(style, 8, 100, tmp_path)
    assert kinds == {}
    assert sum(outcome[0] == "gives" for outcome in outcomes["cpu"]) >= 6


def test_kernels_in_c_do_what_the_compiler_of_the_machine_says(tmp_path):
    peer = sys.executable if shutil.which("c++") else None
    kinds, outcomes = compare("c", 8, 100, tmp_path, peer)
    assert kinds == {}
    assert all(outcome[0] == "gives" for outcome in outcomes["cpu"])


def test_functions_over_arrays_give_what_numpy_gives(monkeypatch):
    if _devices.gpu() is None:
        monkeypatch.setattr(_devices, "_launch_device", "interp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [array_calls.difference(seed, cp) for seed in range(250)]
    # What NumPy refuses may work here.
    assert [one for one in found if one is not None and one[0] != "refused there"] == []
