"""`import warp` in the programs that tests start: Gridstride, with the suite's `warp.tests` beside it."""

import importlib
import os
import sys

import gridstride.compat

del sys.modules["warp"]
gridstride.compat.install()
gridstride.compat.add_package("warp.tests", os.path.join(os.environ["GRIDSTRIDE_SUITE"], "tests"))
# Gridstride has examples of its own.
examples = importlib.import_module("warp.examples")
examples.__path__.append(os.path.join(os.environ["GRIDSTRIDE_SUITE"], "examples"))
