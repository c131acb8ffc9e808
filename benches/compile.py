"""How long a first launch takes, in processes of their own: with an empty cache, and with what that one left there.

    python benches/compile.py [--rounds 7]

A figure is the median over the rounds, in ms of processor time (a busy machine would show in any other), from the
launch until its result is there; the import is beside that of NumPy alone. Warp runs the same text and Numba what it
can of it, where they are installed. Results are compared before anything is printed.
"""

import argparse
import importlib.util
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

N = 1000

SAXPY = """
@wp.kernel
def work(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]

run(work, n, [2.0, x, y])
"""

SOLVE = """
mat66 = wp.types.matrix((6, 6), float)
vec6 = wp.types.vector(6, float)

@wp.kernel
def work(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = mat66()
    b = vec6()
    for r in range(6):
        b[r] = x[i] + float(r)
        for c in range(6):
            a[r, c] = 1.0 / float(r + c + 1)
        a[r, r] += 4.0
    for k in range(6):
        for r in range(k + 1, 6):
            f = a[r, k] / a[k, k]
            for c in range(k, 6):
                a[r, c] -= f * a[k, c]
            b[r] -= f * b[k]
    total = float(0.0)
    for s in range(6):
        k = 5 - s
        for c in range(k + 1, 6):
            b[k] -= a[k, c] * b[c]
        b[k] /= a[k, k]
        total += b[k]
    y[i] = total

run(work, n, [x, y])
"""

PRODUCT = """
mat12 = wp.types.matrix((12, 12), float)

@wp.kernel
def work(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = mat12()
    for r in range(12):
        for c in range(12):
            a[r, c] = x[i] + float(r) * 0.1 - float(c) * 0.2
    b = a * a
    total = float(0.0)
    for r in range(12):
        for c in range(12):
            total += b[r, c]
    y[i] = total

run(work, n, [x, y])
"""

# Functions whose code is long, for whoever writes it out where it is called.
SINES = """
@wp.kernel
def work(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    y[i] = wp.sin(v) * wp.sin(v * 2.0) * wp.sin(v * 3.0) * wp.cos(v * 4.0) * wp.pow(v, 1.5)

run(work, n, [x, y])
"""

# The text of benches/cpu, on a small cube.
CPU_BENCH = Path(__file__).parent / "cpu"
LATTICE = (CPU_BENCH / "warp_text.py").read_text().split("def prepare")[0].replace("FAST_MATH", "False")
LATTICE += """
f = wp.full((19, 8, 8, 8), 1.0, dtype=float, device="cpu")
y = wp.zeros((19, 8, 8, 8), dtype=float, device="cpu")
run(lattice, (8, 8, 8), [f, y, 8, 1.6, 0.05])
"""


def statements(number, root, sine, exponential, absolute):
    """Lines of arithmetic, branches and short loops over six variables, the same for everyone."""
    draw = random.Random(3)
    lines = [f"{v} = x[i] * {number(k + 1)}" for k, v in enumerate("abcdeh")]
    while len(lines) < 196:
        kind, (p, q, r), c = draw.randrange(7), draw.sample("abcdeh", 3), number(round(draw.uniform(0.1, 0.9), 3))
        lines += [
            [f"{p} = {q} * {c} + {r} * {number(0.5)}"],
            [f"{p} = {root}({absolute}({q}) + {c}) - {r} * {number(0.25)}"],
            [f"{p} = {sine}({q} * {c}) + {r} * {number(0.125)}"],
            [f"if {p} > {q}:", f"    {p} = {q} * {c} - {r}", "else:", f"    {p} = {r} + {c}"],
            ["for k in range(m):", f"    {p} = {p} * {number(0.5)} + {q} * {c}", f"    {q} = {q} * {number(0.9)}"],
            [f"{p} = {q} / ({number(1.5)} + {absolute}({r}))"],
            [f"{p} = {exponential}(-{absolute}({q})) * {c} + {r} * {number(0.1)}"],
        ][kind]
    return [*lines, "y[i] = a + b + c + d + e + h"]


def indented(lines, by):
    return "\n".join(" " * by + line for line in lines)


LONG = f"""
@wp.kernel
def work(m: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
{indented(statements(lambda v: repr(float(v)), "wp.sqrt", "wp.sin", "wp.exp", "wp.abs"), 4)}

run(work, n, [4, x, y])
"""

WARP_STYLE = {
    "saxpy": SAXPY,
    "sines": SINES,
    "200 lines": LONG,
    "6x6 solve": SOLVE,
    "12x12 product": PRODUCT,
    "D3Q19": LATTICE,
}

NUMBA = {
    "saxpy": """
@njit(cache=True)
def work(a, x, y):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]

run(work, f4(2), x, y)
""",
    "sines": """
@njit(cache=True)
def work(x, y):
    for i in range(x.shape[0]):
        v = x[i]
        y[i] = np.sin(v) * np.sin(v * f4(2)) * np.sin(v * f4(3)) * np.cos(v * f4(4)) * v ** f4(1.5)

run(work, x, y)
""",
    "200 lines": f"""
@njit(cache=True)
def work(m, x, y):
    for i in range(x.shape[0]):
{indented(statements(lambda v: f"f4({float(v)!r})", "np.sqrt", "np.sin", "np.exp", "abs"), 8)}

run(work, 4, x, y)
""",
}

START = """
import sys, time
start = time.process_time()
{imports}
imported = time.process_time()
import numpy as np
n = {n}
x, y = np.linspace(0, 1, n).astype(np.float32), np.zeros(n, np.float32)
{prepare}

def run(*launch):
    global begin
    begin = time.process_time()
    {launch}
"""
END = """
y = {result}
end = time.process_time()
print((imported - start) * 1e3, (end - begin) * 1e3, float(y.astype(float).sum()))
"""

WARP_PREPARE = 'x, y = wp.array(x, device="cpu"), wp.array(y, device="cpu")'
WARP_LAUNCH = 'kernel, dim, inputs = launch; wp.launch(kernel, dim=dim, inputs=inputs, device="cpu")'
CONTENDERS = {
    "Gridstride": ("gridstride", "import gridstride as wp", WARP_PREPARE, WARP_LAUNCH, "y.numpy()", WARP_STYLE),
    "Warp": (
        "warp",
        "import warp as wp; wp.config.log_level = 30; wp.init()",
        'wp.set_module_options({"enable_backward": False}); ' + WARP_PREPARE,
        WARP_LAUNCH,
        "y.numpy()",
        WARP_STYLE,
    ),
    "Numba": (
        "numba",
        "from numba import njit",
        "f4 = np.float32",
        "kernel, *args = launch; kernel(*args)",
        "y",
        NUMBA,
    ),
}
CACHES = ("XDG_CACHE_HOME", "WARP_CACHE_PATH", "NUMBA_CACHE_DIR")
# Threads of NumPy's library spin for a while after its import, which the time of the process would count.
QUIET = {"OPENBLAS_NUM_THREADS": "1"}


def program(contender, work):
    _, imports, prepare, launch, result, texts = CONTENDERS[contender]
    start = START.format(imports=imports, n=N, prepare=prepare, launch=launch)
    return start + texts[work] + END.format(result=result)


def once(folder, file):
    """Runs a program; its import, its first result, and a sum of that."""
    environment = os.environ | {name: str(folder / "cache") for name in CACHES} | {"HOME": str(folder)} | QUIET
    # Python's own cache of modules is full for everyone, as it is from the second import on.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "gridstride-pycache")
    environment["PYTHONPATH"] = os.pathsep.join([str(CPU_BENCH), *sys.path])
    done = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{file.read_text()}\n{done.stderr}")
    return [float(word) for word in done.stdout.split()[-3:]]


def measure(contender, work, rounds):
    """Medians of the import, the first launch with an empty cache and with a full one; a sum of the result."""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "program.py"
            file.write_text(program(contender, work))
            (Path(name) / "cache").mkdir()
            _, cold, total = once(Path(name), file)
            imported, warm, again = once(Path(name), file)
            assert total == again, (contender, work)
            found.append((imported, cold, warm, total))
    return [statistics.median(column) for column in zip(*found, strict=True)]


def numpy_import():
    code = "import time; t = time.process_time(); import numpy; print((time.process_time() - t) * 1e3)"
    return float(
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | QUIET, capture_output=True, text=True, check=True
        ).stdout
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="*", help="which; all where none is named")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", help="contenders, separated by commas")
    args = parser.parse_args()
    if unknown := set(args.works) - set(WARP_STYLE):
        parser.error(f"no work {', '.join(sorted(unknown))}; there are {', '.join(WARP_STYLE)}")
    wanted = args.only.split(",") if args.only else CONTENDERS
    installed = [name for name in wanted if importlib.util.find_spec(CONTENDERS[name][0])]
    print(f"{'ms':16}{'':12}{'cold':>8}{'warm':>8}{'import':>8}")
    alone = statistics.median(numpy_import() for _ in range(args.rounds))
    print(f"{'':16}{'NumPy':12}{'':16}{alone:8.0f}")
    for work in args.works or WARP_STYLE:
        sums = {}
        for contender in installed:
            if work in CONTENDERS[contender][-1]:
                imported, cold, warm, sums[contender] = measure(contender, work, args.rounds)
                print(f"{work:16}{contender:12}{cold:8.1f}{warm:8.1f}{imported:8.0f}", flush=True)
        spread = max(sums.values()) - min(sums.values())
        assert spread <= 1e-4 * max(map(abs, sums.values())), (work, sums)


if __name__ == "__main__":
    main()
