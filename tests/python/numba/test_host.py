"""The host's side: device arrays, functions over arrays, reductions, random numbers, warnings, compat."""

import math
import subprocess
import sys

import numpy as np
import pytest

from gridstride.numba import config, cuda, errors, float32, float64, guvectorize, vectorize
from gridstride.numba.cuda.random import (
    create_xoroshiro128p_states,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)


@cuda.jit
def twice(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


def test_device_arrays():
    host = np.arange(12, dtype=np.float32)
    d = cuda.to_device(host)
    host[:] = 0
    assert d.copy_to_host()[3] == 3
    out = cuda.device_array_like(d)
    twice[1, 32](d, out)
    assert out.copy_to_host().tolist() == (2 * np.arange(12)).tolist()
    assert out[3] == 6 and out[2:4].copy_to_host().tolist() == [4, 6]
    assert out.reshape(3, 4).T.shape == (4, 3)
    out[:2] = 9
    assert [part.size for part in out.split(5)] == [5, 5, 2]
    with pytest.raises(ValueError):
        d.copy_to_device(np.zeros(5, np.float32))


def test_ufuncs():
    @vectorize([float32(float32, float32), float64(float64, float64)], target="cuda")
    def length(x, y):
        return math.sqrt(x**2 + y**2)

    @guvectorize(["void(float64[:,:], float64[:,:], float64[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda")
    def matmul(a, b, c):
        m, n = a.shape
        n, p = b.shape
        for i in range(m):
            for j in range(p):
                c[i, j] = 0
                for k in range(n):
                    c[i, j] += a[i, k] * b[k, j]

    x, y = np.random.default_rng(1).random((2, 3, 5)).astype(np.float32)
    assert length(x, y).dtype == np.float32
    np.testing.assert_allclose(length(x, y), np.hypot(x, y), rtol=1e-6)
    assert length(cuda.to_device(x), y).copy_to_host().shape == (3, 5)
    a, b = np.random.default_rng(2).random((4, 2, 3)), np.random.default_rng(3).random((3, 5))
    np.testing.assert_allclose(matmul(a, b), a @ b)


def test_reductions():
    total = cuda.reduce(lambda a, b: a + b)
    largest = cuda.reduce(lambda a, b: max(a, b))
    for n in (1, 31, 256, 1000, 70_000):
        values = np.random.default_rng(n).integers(-100, 100, n)
        assert total(values) == values.sum()
        assert largest(values, init=-1000) == values.max()
    res = cuda.to_device(np.zeros(1, np.int64))
    assert total(np.arange(10), res=res, init=5) is None and res[0] == 50


def test_random_numbers_are_those_of_numba_cuda():
    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        out[i, 0] = xoroshiro128p_uniform_float32(states, i)
        out[i, 1] = xoroshiro128p_uniform_float64(states, i)

    states = create_xoroshiro128p_states(3, seed=42, subsequence_start=1)
    out = np.zeros((3, 2))
    draw[1, 3](states, out)
    # Drawn by numba-cuda 0.30.
    assert out.tolist() == [
        [0.03927229344844818, 0.7631504844059468],
        [0.9412365555763245, 0.13687238236790156],
        [0.9836598634719849, 0.8304090869079822],
    ]


def test_warnings(monkeypatch):
    monkeypatch.setattr(config, "CUDA_LOW_OCCUPANCY_WARNINGS", 1)
    monkeypatch.setattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", 1)
    x = np.zeros(4, np.float32)
    with pytest.warns(errors.NumbaPerformanceWarning) as caught:
        twice[4, 32](x, x)
    assert "Grid size 4 will likely result in GPU under-utilization" in str(caught[0].message)
    assert "Host array used in CUDA kernel" in str(caught[1].message)
    assert caught[0].filename == caught[1].filename == __file__


def test_wrong_launches():
    with pytest.raises(ValueError, match="launch configuration"):
        twice(1, 2)
    with pytest.raises(ValueError):
        twice[4]
    with pytest.raises(ValueError, match="1024"):
        twice[1, 2048]
    with pytest.raises(TypeError):
        twice["one", 32]


def test_read_only_memory_of_the_host_stays_as_it_is():
    text = b"\x01\x02\x03\x04"
    found = np.zeros(4, np.uint8)
    twice[1, 4](np.frombuffer(text, np.uint8), found)
    assert found.tolist() == [2, 4, 6, 8]
    twice[1, 4](found, np.frombuffer(text, np.uint8))
    assert text == b"\x01\x02\x03\x04"


@pytest.mark.parametrize("thing", [print, 5, object()])
def test_only_functions_of_python_are_decorated(thing):
    with pytest.raises(TypeError, match="only functions written in Python"):
        cuda.jit()(thing)


PROGRAM = """
import numpy
from numba import cuda
from numba.cuda.cudadrv.devicearray import DeviceNDArray
space = {"cuda": cuda}
exec("@cuda.jit\\ndef fill(a):\\n    a[cuda.grid(1)] = 3\\n", space)
a = cuda.to_device(numpy.zeros(32))
assert isinstance(a, DeviceNDArray)
space["fill"][1, 32](a)
print(a.copy_to_host().sum())
"""


def test_programs_run_unchanged(tmp_path, device):
    if device != "cpu":
        return
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-W", "ignore", "-m", "gridstride.compat", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "96.0\n", done.stderr
