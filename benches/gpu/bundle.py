"""Packs what a machine with a GPU needs to run the tests and benchmarks: the wheel, them, and one script.

make gpu-bundle             here: dist/gridstride-gpu.tar.gz
bash gridstride-gpu/run.sh  there: installs the wheel beside itself, then tests, then measures
"""

import io
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "gridstride-gpu"
SCRIPT = """#!/usr/bin/env bash
# Installs Gridstride into ./site, runs every test on the GPU, then the benchmarks. Needs Python 3.10 or newer with
# NumPy, pytest, hypothesis and Pillow, and NVIDIA's driver. Results: tests.txt and benches.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
PYTHON=${PYTHON:-python3}
"$PYTHON" -m pip install --quiet --no-index --no-deps --upgrade --target site gridstride-*.whl
export PYTHONPATH="$PWD/site${PYTHONPATH:+:$PYTHONPATH}"
GRIDSTRIDE_DEVICE=cuda "$PYTHON" -m pytest -q tests/python tests/gpu 2>&1 | tee tests.txt || true
"$PYTHON" benches/gpu/run.py 2>&1 | tee benches.txt
"""


def main():
    wheels = sorted((ROOT / "dist").glob("gridstride-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise SystemExit("there is no wheel in dist: run `make gpu-bundle`")
    bundle = ROOT / "dist" / f"{NAME}.tar.gz"
    with tarfile.open(bundle, "w:gz") as tar:
        tar.add(wheels[-1], f"{NAME}/{wheels[-1].name}")
        for folder in ("tests/python", "tests/gpu", "benches/gpu", "docs", "pyproject.toml", "README.md"):
            tar.add(ROOT / folder, f"{NAME}/{folder}", filter=without_caches)
        text = SCRIPT.encode()
        info = tarfile.TarInfo(f"{NAME}/run.sh")
        info.size, info.mode = len(text), 0o755
        tar.addfile(info, io.BytesIO(text))
    print(f"{bundle.relative_to(ROOT)}: {bundle.stat().st_size >> 20} MiB")


def without_caches(info):
    return None if "__pycache__" in info.name else info


if __name__ == "__main__":
    main()
