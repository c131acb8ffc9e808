"""`import numba` in the programs that tests start: Gridstride, with the suite's `numba.cuda.tests` beside it."""

import importlib
import os
import sys

import gridstride.compat

del sys.modules["numba"]
gridstride.compat.install()
package = importlib.import_module("numba.cuda")
if "GRIDSTRIDE_SUITE" in os.environ:
    package.__path__.append(os.environ["GRIDSTRIDE_SUITE"])
