"""The work in C: builds reference.c into a temporary folder and calls it."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from works import DAMP, DT, EPS2, GRAVITY, LID, OMEGA, PARTICLE_STEPS, REST, A

FLAGS = ["-O3", "-march=native", "-fopenmp", "-fno-math-errno"]
FOLDER = tempfile.TemporaryDirectory(prefix="gridstride-bench-")


def build(*flags, source="reference.c"):
    library = Path(FOLDER.name) / f"{source}{''.join(flags)}.so"
    source = Path(__file__).parent / source
    subprocess.run(["gcc", *FLAGS, *flags, "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def aligned(array):
    """A copy whose first element starts a cache line."""
    words = np.empty(array.nbytes + 64, np.uint8)
    start = -words.ctypes.data % 64
    copy = words[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class C:
    """`by_hand`: the versions laid out for SIMD."""

    def __init__(self, library, by_hand=False):
        self.library, self.suffix = library, "_by_hand" if by_hand else ""

    def prepare(self, name, data):
        d = {key: aligned(array) for key, array in data.items()}
        at = {key: ctypes.c_void_p(array.ctypes.data) for key, array in d.items()}
        n, real = ctypes.c_long(len(next(iter(data.values())))), ctypes.c_float
        function = getattr(self.library, name + self.suffix)

        def run(*args):
            return lambda: function(*args)

        def lattice():
            side = ctypes.c_int(data["f"].shape[1])
            function(side, at["f"], at["g"], real(OMEGA), real(LID))
            function(side, at["g"], at["f"], real(OMEGA), real(LID))

        def particles():
            for _ in range(PARTICLE_STEPS):
                function(n, at["x"], at["v"], real(DT), real(GRAVITY), real(DAMP), real(REST))

        def nbody():
            if not self.suffix:
                return run(n, at["p"], at["m"], at["acc"], real(EPS2))
            axes = [aligned(d["p"][:, axis].copy()) for axis in range(3)]
            d["axes"] = axes
            return run(n, *(ctypes.c_void_p(axis.ctypes.data) for axis in axes), at["m"], at["acc"], real(EPS2))

        runs = {
            "saxpy": lambda: run(n, real(A), at["x"], at["y"]),
            "saxpy_out": lambda: run(n, real(A), at["x"], at["y"], at["z"]),
            "stencil3": lambda: run(n, at["a"], at["b"]),
            "jacobi": lambda: run(n, at["a"], at["b"]),
            "particles": lambda: particles,
            "segments": lambda: run(ctypes.c_long(n.value - 1), at["start"], at["v"], at["sum"]),
            "nbody": nbody,
            "lattice": lambda: lattice,
        }
        return runs[name](), lambda key: d[key]
