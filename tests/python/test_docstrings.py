"""The examples in the docstrings of the package give what they say."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import gridstride as wp

MODULES = [name for _, name, is_package in pkgutil.iter_modules(wp.__path__, "gridstride.") if not is_package]
# Packages that are libraries of their own, with their modules.
for package in (
    "gridstride.cupy",
    "gridstride.cupyx",
    "gridstride.sparse",
    "gridstride.optim",
    "gridstride.optim.linear",
    "gridstride.render",
):
    path = importlib.import_module(package).__path__
    MODULES += [package, *(name for _, name, is_package in pkgutil.iter_modules(path, package + ".") if not is_package)]
PRIVATE = [name for name in MODULES if name not in ("gridstride._native", "gridstride.__main__")]


@wp.kernel
def scale(a: wp.array(dtype=float), s: float):
    i = wp.tid()
    a[i] = a[i] * s


@pytest.mark.parametrize("name", PRIVATE)
def test_examples(name):
    module = importlib.import_module(name)
    names = {**vars(module), "wp": wp, "np": np, "scale": scale}
    if name == "gridstride.utils":
        names["a"] = wp.array([1.0, 2.0, 3.0], dtype=float)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name, globs=names):
        result = runner.run(test)
        assert result.failed == 0, test.name
