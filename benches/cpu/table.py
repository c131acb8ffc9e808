"""The tables of docs/performance.md, from what run.py has saved.

python benches/cpu/table.py benches/cpu/results/amd-epyc-avx2-2-cores.json
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
}
COLUMNS = ["C", "C by hand", "Gridstride", "Gridstride fast math", "Warp", "Numba", "Taichi", "NumPy"]
HEADINGS = {"Gridstride": "here", "Gridstride fast math": "here, fast math"}
PEERS = ["Warp", "Numba", "Taichi", "NumPy"]


def shown(figure):
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.1f}" if figure >= 10 else f"{figure:.2f}"


def main():
    results = json.loads(Path(sys.argv[1]).read_text())
    clock = "processor time, " if results["processor_time"] else ""
    print(f"{results['machine']}; {clock}{results['threads']} threads, load {results['load']:.1f}\n")
    print("| |", " | ".join(HEADINGS.get(name, name) for name in COLUMNS), "|")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for work, rows in results["works"].items():
        figures = (shown(rows[name]["best"]) if name in rows else "" for name in COLUMNS)
        print(f"| {NAMES[work]}, {rows['unit']} |", " | ".join(figures), "|")
    print("\n| | to C | to C by hand | to the fastest of Warp, Numba, Taichi, NumPy |\n|---|---|---|---|")
    for work, rows in results["works"].items():
        here = rows["Gridstride"]["best"]
        peers = [rows[name]["best"] for name in PEERS if name in rows]
        others = [rows.get(name, {}).get("best") for name in ("C", "C by hand")] + [max(peers) if peers else None]
        print(f"| {NAMES[work]} |", " | ".join(f"{here / other:.2f}" if other else "" for other in others), "|")


if __name__ == "__main__":
    main()
