"""A kernel that a former process compiled is taken from the disk without being read again, unless anything that it uses
is another: whatever changes between two processes, the second one computes with what it has itself."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

# What changes is told by `VARIANT`, and lies in another file: the text with the kernels stays as it is.
PROGRAM = """
import enum, importlib, json, os, sys
import numpy as np
import gridstride as wp
from gridstride import _native
from gridstride.numba import cuda
import changing

V = int(os.environ["VARIANT"])
found, recalled = {}, {}

def run(name, kernel, x=3.0, type=float):
    before = _native.counters()
    y = wp.zeros(1, dtype=type, device="cpu")
    wp.launch(kernel, dim=1, inputs=[type(x), y], device="cpu")
    after = _native.counters()
    found[name] = float(y.numpy()[0])
    recalled[name] = after["recalled"] - before["recalled"]
    assert recalled[name] + after["inferred"] - before["inferred"] == 1

def case(name, **given):
    return lambda kernel: run(name, kernel, **given)

NUMBER = 2.0 + V
INT_OR_FLOAT = (2, 2.5)[V]
SIGNED_ZERO = (0.0, -0.0)[V]
WIDTH = wp.constant(4 + V)
TEXT = ("a", "b")[V]
FLAG = V == 0
VECTOR = wp.vec3(1.0, 2.0, 3.0 + V)
TUPLE = (1.0, (2.0, 3.0 + V))
Alias = (wp.float32, wp.float16)[V]
TABLE = np.array([1.0, 5.0 + V], dtype=np.float32)

class Settings:
    scale = 2.0 + V

settings = Settings()
settings.offset = 1.0 + V

class Color(enum.IntEnum):
    RED = 3 + V

if V:
    @wp.func
    def abs(x: float):
        return x

@case("number")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x * NUMBER

@case("int or float")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x + float(7 // INT_OR_FLOAT)

@case("signed zero")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = wp.sign(x / SIGNED_ZERO)

@case("constant")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x + float(WIDTH)

@case("text")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    if wp.static(TEXT == "a"):
        y[0] = x

@case("flag")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    if FLAG:
        y[0] = x

@case("vector")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x * VECTOR[2]

@case("tuple")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x * TUPLE[1][1]

@case("type alias", x=0.1)
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = float(Alias(x))

@case("class attribute")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x * Settings.scale

@case("object attribute")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x * settings.offset

@case("enum member")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x * float(Color.RED)

@case("module attribute")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x * changing.FACTOR

@case("function two levels deep")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = changing.outer(x)

@case("default argument")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = changing.with_default(x)

@case("overload")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = changing.overloaded(x)

@case("struct")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    pair = changing.Pair(x, 1.0)
    y[0] = pair.first - 2.0 * pair.second

@case("name of a builtin", x=-3.0)
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = abs(x)

@case("static expression")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    for i in range(2):
        y[0] = y[0] + x * wp.static(changing.FACTOR * i)

@case("annotation")
@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    z: Alias = Alias(0.1)
    y[0] = x * float(z)

for n in range(2):
    with open(changing.FOLDER + "/reloaded.py", "w") as file:
        file.write(f"import gridstride as wp\\n\\n@wp.func\\ndef f(x: float):\\n    return x * {V + n}.0\\n")
    importlib.invalidate_caches()
    reloaded = importlib.reload(reloaded) if n else importlib.import_module("reloaded")

    @case(f"reloaded {n}")
    @wp.kernel
    def k(x: float, y: wp.array(dtype=float)):
        y[0] = reloaded.f(x)

def factory(scale, function):
    @wp.kernel
    def k(x: float, y: wp.array(dtype=float)):
        y[0] = function(x) * scale
    return k

# Of one text and one line each.
for n in range(3):
    run(f"closure {n}", factory(n + V, changing.pick(n)))

@wp.kernel
def k(x: float, y: wp.array(dtype=float)):
    y[0] = x / 3.0
wp.config.fast_math = V == 1
run("fast math", k)
wp.config.fast_math = False

y, x = (wp.array([value], dtype=float, device="cpu", requires_grad=True) for value in (0.0, 3.0))
@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[0] = changing.squared(x[0])
before = _native.counters()["recalled"]
with wp.Tape() as tape:
    wp.launch(k, dim=1, inputs=[x, y], device="cpu")
tape.backward(grads={y: wp.array([1.0], dtype=float, device="cpu")})
found["custom gradient"] = float(x.grad.numpy()[0])
recalled["custom gradient"] = _native.counters()["recalled"] - before == 2

print(json.dumps([found, recalled]))
"""

CHANGING = """
import os
import typing
import gridstride as wp
import deep

FOLDER = os.path.dirname(__file__)
V = int(os.environ["VARIANT"])
FACTOR = V + 2.0

@wp.func
def outer(x: float):
    return deep.inner(x) + 1.0

@wp.func
def with_default(x: float, by: float = FACTOR + 2.0):
    return x * by

@wp.func
def overloaded(x: typing.Any):
    return float(x) * 2.0

if V:
    @wp.func
    def overloaded(x: float):
        return x * 3.0

class Pair:
    pass

names = ("first", "second")
Pair.__annotations__ = {name: float for name in (names, names[::-1])[V]}
Pair = wp.struct(Pair)

@wp.func
def plus(x: float):
    return x + 10.0

@wp.func
def minus(x: float):
    return x - 10.0

def pick(n):
    return (plus, minus)[(n + V) % 2]

@wp.func
def squared(x: float):
    return x * x

SLOPE = 2.0 + V

@wp.func_grad(squared)
def adj_squared(x: float, adj_ret: float):
    wp.adjoint[x] += SLOPE * x * adj_ret
"""

DEEP = """
import gridstride as wp

@wp.func
def inner(x: float):
    return x * {factor}
"""

# For each variant.
EXPECTED = {
    "number": (6, 9),
    "int or float": (6, 5),
    "signed zero": (1, -1),
    "constant": (7, 8),
    "text": (3, 0),
    "flag": (3, 0),
    "vector": (9, 12),
    "tuple": (9, 12),
    "type alias": (float(np.float32(0.1)), float(np.float16(0.1))),
    "class attribute": (6, 9),
    "object attribute": (3, 6),
    "enum member": (9, 12),
    "module attribute": (6, 9),
    "function two levels deep": (16, 19),
    "default argument": (12, 15),
    "overload": (6, 9),
    "struct": (1, -5),
    "name of a builtin": (3, -3),
    "static expression": (6, 9),
    "annotation": (float(np.float32(0.1) * np.float32(3)), float(np.float32(np.float16(0.1)) * np.float32(3))),
    "reloaded 0": (0, 3),
    "reloaded 1": (3, 6),
    "closure 0": (0, -7),
    "closure 1": (-7, 26),
    "closure 2": (26, -21),
    "fast math": (1, 1),
    "custom gradient": (6, 9),
}
# They run code of the program while they are compiled.
NEVER_RECALLED = {"static expression", "annotation"}


@pytest.fixture
def run(tmp_path):
    """What the program finds, and which kernels it recalled."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "changing.py").write_text(CHANGING)

    def run(variant):
        (tmp_path / "deep.py").write_text(DEEP.format(factor=5.0 + variant))
        environment = {**os.environ, "GRIDSTRIDE_CACHE_DIR": str(tmp_path / "cache"), "VARIANT": str(variant)}
        # Python's own cache of modules knows a file by seconds.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        program = [sys.executable, tmp_path / "program.py"]
        done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found, recalled = json.loads(done.stdout.splitlines()[-1])
        assert found == {name: pytest.approx(values[variant]) for name, values in EXPECTED.items()}
        return {name for name, count in recalled.items() if count}

    return run


def test_what_a_kernel_uses_decides_whether_it_is_recalled(run):
    every = EXPECTED.keys() - NEVER_RECALLED
    assert run(0) == set()
    assert run(0) == every
    # What the first of these takes from outside is what another took in the former process.
    assert run(1) == {"closure 0", "closure 1", "reloaded 0"}
    assert run(1) == every
    # What there was before is kept beside it.
    assert run(0) == every
