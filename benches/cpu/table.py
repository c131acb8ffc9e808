"""The tables of docs/performance.md, from what run.py has saved, one file a machine.

python benches/cpu/table.py benches/cpu/results/*.json
"""

import json
import sys
from pathlib import Path

# Works, in words.
NAMES = {
    "saxpy": "saxpy in place, 10^7",
    "saxpy_out": "saxpy out of place, 10^7",
    "stencil3": "3-point stencil with `if`, 10^7",
    "jacobi": "Jacobi 4096² with `if`",
    "particles": "particles in a box, array of vec3, 10^6",
    "segments": "segmented sum, 10^6 of 0 to 32",
    "nbody": "N-body 10^4, array of vec3",
    "lattice": "lattice Boltzmann D3Q19, 96³",
    "sph": "SPH density by cell lists, 2·10^5",
    "spmv": "sparse matrix times vector, 4 to 27 a row",
    "mandelbrot": "Mandelbrot set, 2048²",
    "warp": "image turned, bilinear, 2048²",
    "fdtd": "FDTD, electric field, 128³",
    "springs": "springs of a cloth, atomics",
    "rotations": "quaternions integrated, 10^6",
    "histogram": "histogram, 10^7 into 256",
    "shadow": "rays and 128 spheres, first hit",
    "tridiagonal": "tridiagonal systems of 32 unknowns",
    "convolution": "convolution 5x5, clamped, 2048²",
    "wave": "waves over a flat index, 2048²",
    "red_black": "red-black relaxation in place, 2048²",
    "bilateral": "bilateral filter 5x5, 1024²",
    "life": "game of life, edges meet, uint8, 2048²",
    "nearest": "nearest of 16 centers in 8 dimensions, 2·10^5",
    "collide": "first overlap of 8192 boxes",
    "solve4": "4x4 systems by elimination, 5·10^5",
    "march": "sphere tracing, 1024²",
    "prefix": "running sums of rows of 16, 2·10^5",
    "pcg": "16 rounds of PCG hashing, 10^6",
    "butterfly": "stage of a Fourier transform, 2^20",
    "resize": "image of 3 bytes a pixel doubled, 2048²",
    "threshold": "contrast of bytes, 2048²",
    "gray": "colors to gray, bytes, 2048²",
    "darts": "64 pairs of random numbers, 10^5",
}
COLUMNS = ["C", "C by hand", "C fast math", "Gridstride", "Gridstride fast math", "Warp", "Numba", "Taichi", "NumPy"]
HEADINGS = {"Gridstride": "here", "Gridstride fast math": "here, fast math", "C fast math": "C, fast math"}
PEERS = ["Warp", "Numba", "Taichi", "NumPy"]


def shown(figure):
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.1f}" if figure >= 10 else f"{figure:.2f}"


def table(headings, rows):
    print("|", " | ".join(["", *headings]), "|")
    print("|---" * (len(headings) + 1) + "|")
    for name, cells in rows:
        print("|", " | ".join([name, *cells]), "|")
    print()


def figures(results):
    """What each contender does, on one machine."""
    clock = "processor time, " if results["processor_time"] else ""
    print(f"{results['machine']}; {clock}{results['threads']} threads, load {results['load']:.1f}\n")
    works = results["works"]
    columns = [name for name in COLUMNS if any(name in rows for rows in works.values())]
    rows = [
        (
            f"{NAMES[work]}, {rows['unit']}",
            [shown(rows[name]["best"]) if name in rows else "" for name in columns],
        )
        for work, rows in works.items()
    ]
    table([HEADINGS.get(name, name) for name in columns], rows)


def best(rows, *names):
    """The fastest of those that do the work, or nothing."""
    return max((rows[name]["best"] for name in names if name in rows), default=None)


# Whose figure over whose.
RATIOS = {
    "to C": (["Gridstride"], ["C"]),
    "to C by hand": (["Gridstride"], ["C by hand"]),
    "fast math, to C's": (["Gridstride fast math"], ["C fast math"]),
    "to the fastest of Warp, Numba, Taichi, NumPy": (["Gridstride"], PEERS),
}


def ratios(results):
    works = results["works"]
    headings, cells = [], {work: [] for work in works}
    for ratio, (ours, theirs) in RATIOS.items():
        of = {}
        for work, rows in works.items():
            our, their = best(rows, *ours), best(rows, *theirs)
            if our and their:
                of[work] = f"{our / their:.2f}"
        if of:
            headings.append(ratio)
            for work, row in cells.items():
                row.append(of.get(work, ""))
    table(headings, [(NAMES[work], row) for work, row in cells.items()])


def main():
    for path in sys.argv[1:]:
        results = json.loads(Path(path).read_text())
        figures(results)
        ratios(results)


if __name__ == "__main__":
    main()
