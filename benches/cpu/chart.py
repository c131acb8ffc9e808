"""Draws what `run.py --save FILE` has left: a panel for each work, a bar for each contender.

    python benches/cpu/chart.py [FILE] [--out docs/pictures/cpu.svg]

Needs Matplotlib.
"""

import argparse
import json
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot
from table import NAMES, shown

FOLDER = Path(__file__).parent
# Top to bottom, with their colors.
BARS = {
    "Gridstride": "#1f6fd6",
    "C by hand": "#5b5b5b",
    "C": "#8c8c8c",
    "Warp": "#c9c9c9",
    "Numba": "#c9c9c9",
    "Taichi": "#c9c9c9",
    "NumPy": "#c9c9c9",
}


def draw(results: dict, out: Path) -> None:
    mpl.rcParams.update({"svg.hashsalt": "gridstride", "svg.fonttype": "none", "font.size": 9})
    names = list(results["works"])
    figure, panels = pyplot.subplots(2, (len(names) + 1) // 2, figsize=(13, 4.6), layout="constrained", squeeze=False)
    for panel, name in zip(panels.flat, names, strict=False):
        work = results["works"][name]
        bars = [bar for bar in BARS if bar in work]
        values = [work[bar]["best"] for bar in bars]
        drawn = panel.barh(bars, values, color=[BARS[bar] for bar in bars])
        panel.bar_label(drawn, map(shown, values), padding=2)
        title = NAMES[name].partition(",")[0].replace("`", "")
        panel.set_title(f"{title}, {work['unit']}", fontsize=9)
        panel.invert_yaxis()
        panel.margins(x=0.18)
        panel.xaxis.set_visible(False)
        panel.spines[:].set_visible(False)
        panel.tick_params(length=0)
    figure.suptitle(f"{results['machine']}, {results['threads']} threads; longer is faster", fontsize=9)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, metadata={"Date": None})
    print("wrote", out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    idle = FOLDER / "results" / "amd-epyc-avx512-2-cores-idle.json"
    parser.add_argument("file", nargs="?", type=Path, default=idle)
    parser.add_argument("--out", type=Path, default=FOLDER.parents[1] / "docs" / "pictures" / "cpu.svg")
    args = parser.parse_args()
    draw(json.loads(args.file.read_text()), args.out)
