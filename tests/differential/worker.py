"""Runs programs one after the other and writes what each gives: `worker.py SYSTEM DEVICE FOLDER RESULTS FIRST LAST`.

FOLDER holds texts `0.py`, `1.py` …; `import warp` in them means SYSTEM. A result is written as soon as it is
there, so that the caller knows which program has ended the process.
"""

import contextlib
import ctypes
import importlib
import importlib.util
import io
import pathlib
import pickle
import subprocess
import sys
import tempfile
import types


def outcome(path, device):
    """`("gives", arrays)` or `("refuses", class and text of the exception)`."""
    spec = importlib.util.spec_from_file_location(f"program{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            spec.loader.exec_module(module)
            return "gives", module.run(device)
    except Exception as error:
        return "refuses", f"{type(error).__name__}: {error}"


def prepare(system, folder):
    """What `import warp` and `from system import …` give in a program."""
    sys.modules["system"] = types.ModuleType("system")
    if system == "gridstride":
        sys.modules["warp"] = importlib.import_module("gridstride")
        sys.modules["system"].__dict__.update(jit=numba_cuda().jit, launch=launch_here, launch_c=launch_c_here)
    elif system == "warp":
        warp = importlib.import_module("warp")
        warp.config.quiet = True
        warp.config.enable_backward = "wp.Tape" in pathlib.Path(folder, "0.py").read_text()
    elif system == "numba":
        numba = importlib.import_module("numba")
        sys.modules["system"].__dict__.update(jit=numba.njit(error_model="numpy"), launch=launch_there)
    elif system == "c":
        sys.modules["system"].launch_c = launch_c_there


def numba_cuda():
    from gridstride.numba import config, cuda

    config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_WARN_ON_IMPLICIT_COPY = 0
    return cuda


def launch_here(device, body, count, a0, a1, a2, a3, out):
    from gridstride.numba.cuda import _devices

    cuda = numba_cuda()

    @cuda.jit
    def kernel(a0, a1, a2, a3, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            body(i, a0, a1, a2, a3, out)

    _devices._launch_device = device
    kernel[2, (count + 1) // 2](a0, a1, a2, a3, out)


def launch_there(device, body, count, *arrays):
    for i in range(count):
        body(i, *arrays)


def names(parameters):
    return ", ".join(parameter.split()[-1].strip("*") for parameter in parameters.split(","))


def launch_c_here(device, text, parameters, count, *arrays):
    import gridstride.cupy as cp
    from gridstride.numba.cuda import _devices

    entry = f"if (i < {count}) body(i, {names(parameters)});"
    text += f'extern "C" __global__ void kernel({parameters}) {{ int i = blockIdx.x * 32 + threadIdx.x; {entry} }}'
    _devices._launch_device = device
    there = [cp.asarray(array) for array in arrays]
    cp.RawKernel(text, "kernel")(((count + 31) // 32,), (32,), there)
    for array, moved in zip(arrays, there, strict=True):
        array[...] = moved.get()


def launch_c_there(device, text, parameters, count, *arrays):
    head = "#include <math.h>\n#include <stdlib.h>\n#define __device__ static\n"
    tail = f'extern "C" void entry(int i, {parameters}) {{ body(i, {names(parameters)}); }}'
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder, "kernel.cpp"), pathlib.Path(folder, "kernel.so")
        source.write_text(head + text + tail)
        flags = ["-w", "-O1", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC", "-lm"]
        done = subprocess.run(["c++", *flags, "-o", library, source, "-lm"], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        loaded = ctypes.CDLL(str(library))
        for i in range(count):
            loaded.entry(i, *(array.ctypes.data_as(ctypes.c_void_p) for array in arrays))


def main():
    system, device, folder, results, first, last = sys.argv[1:]
    sys.setrecursionlimit(10000)
    prepare(system, folder)
    with open(results, "ab") as file:
        for index in range(int(first), int(last)):
            pickle.dump((index, *outcome(pathlib.Path(folder, f"{index}.py"), device)), file)
            file.flush()


main()
