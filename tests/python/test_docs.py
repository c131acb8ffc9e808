"""The pages of the documentation, run as programs: each page's ```python blocks in order, in one module.

A ```text block that follows a ```python block is what that block prints; `...` in it stands for anything.
"""

import contextlib
import doctest
import gc
import io
import re
import sys
import types
from pathlib import Path

import pytest

import gridstride as wp
from gridstride.numba.cuda import _devices

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/gpu.md",
    "docs/language.md",
    "docs/numba.md",
    "docs/c-kernels.md",
    "docs/cupy.md",
    "docs/differences.md",
    "docs/gradients.md",
    "docs/sparse.md",
    "docs/geometry.md",
    "docs/tiles.md",
    "docs/rendering.md",
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_page(page, tmp_path, monkeypatch):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    programs = [block for block in blocks if block[1] == "python"]
    assert programs, f"{page} has no example"

    # The program of the page as a file, line for line where it stands in the page: reports then name the page's lines.
    source = ["\n"] * (text.count("\n") + 1)
    for block in programs:
        first = text.count("\n", 0, block.start(2))
        lines = block[2].splitlines(keepends=True)
        source[first : first + len(lines)] = lines
    file = tmp_path / f"{Path(page).stem}.py"
    file.write_text("".join(source), encoding="utf-8")

    if file.stem == "cupy" and _devices.gpu() is not None:
        # A process keeps its arrays in CuPy's style where the first one was, and that page has Warp's beside them.
        wp.set_device("cuda")
    module = types.ModuleType(f"page_{file.stem}")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(wp.config, "mode", wp.config.mode)
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] != "python":
            continue
        first = text.count("\n", 0, block.start(2))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * first + block[2], str(file), "exec"), module.__dict__)
        if following and following[1] == "text" and not text[block.end() : following.start()].strip():
            check_output(page, first, following[2], printed.getvalue().replace(str(file), file.name))
    # What the page made, tapes among it, must not be there in later tests.
    module.__dict__.clear()
    gc.collect()


def check_output(page, line, expected, printed):
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.REPORT_NDIFF
    if not checker.check_output(expected, printed, flags):
        example = doctest.Example("", expected)
        difference = checker.output_difference(example, printed, flags)
        raise AssertionError(f"{page}, the block at line {line}:\n{difference}")
