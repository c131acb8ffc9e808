"""`import numba` in the programs that tests start: Gridstride, with the suite's `numba.cuda.tests` beside it."""

import importlib
import linecache
import os
import sys

import gridstride.compat

del sys.modules["numba"]
gridstride.compat.install()
package = importlib.import_module("numba.cuda")
if "GRIDSTRIDE_SUITE" in os.environ:
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    import standins

    gridstride.compat._NUMBA_MODULES = frozenset()
    standins.install()
    package.HAS_NUMBA = True
    package.__path__.append(os.environ["GRIDSTRIDE_SUITE"])
    for name in gridstride.compat.numba_names.MODULES:
        standins.add_to(importlib.import_module(name))
if "-c" in sys.orig_argv[:-1]:
    # Kernels in the text of `python -c`, whose source Python does not keep.
    text = sys.orig_argv[sys.orig_argv.index("-c") + 1]
    linecache.cache["<string>"] = (len(text), None, text.splitlines(keepends=True), "<string>")
