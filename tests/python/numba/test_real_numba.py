"""Numba itself beside Gridstride's `numba.cuda`, under `gridstride.compat`."""

import os
import subprocess
import sys
import textwrap

# What of Numba's modules and classes the bridge looks at; the classes have the names and attributes of Numba's.
FILES = {
    "numba/__init__.py": """
        from numba.core.types import float32, int32, Array
        from numba.core.typing.templates import Signature
        def njit(f): return f
        prange = range
    """,
    "numba/core/__init__.py": "",
    "numba/core/typing/__init__.py": "",
    "numba/core/typing/templates.py": """
        class Signature:
            def __init__(self, return_type, args): self.return_type, self.args = return_type, args
    """,
    "numba/core/types/__init__.py": """
        class Type:
            def __init__(self, name): self.name = name
        class Float(Type): pass
        class Integer(Type): pass
        class Array(Type):
            def __init__(self, dtype, ndim, layout): self.dtype, self.ndim, self.layout = dtype, ndim, layout
        float32, int32 = Float("float32"), Integer("int32")
    """,
}
PROGRAM = """
    import numpy as np
    import numba
    from numba import cuda, njit, prange, float32, int32, Array, Signature

    @njit
    def host(n):
        return sum(prange(n))

    @cuda.jit((Array(float32, 1, "A"), int32))
    def twice(x, n):
        shared = cuda.shared.array(4, dtype=float32)
        i = cuda.grid(1)
        shared[i] = float32(i) / 2
        if i < n:
            x[i] = shared[i] + numba.float32(1)

    x = np.zeros(4, np.float32)
    twice[1, 4](x, 3)
    print(x, host(4), cuda.__name__, numba.cuda is cuda, hasattr(numba, "typeof"))
"""


def test_an_installed_numba_stays_itself_but_for_its_cuda(tmp_path):
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-W", "ignore", "-m", "gridstride.compat", str(program)]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "[1.  1.5 2.  0. ] 6 gridstride.numba.cuda True False\n"
