"""`_native.pyi` declares what the compiled module has, no more and no less."""

import ast
import inspect
from pathlib import Path

import pytest

import gridstride
from gridstride import _native

STUB = ast.parse(Path(gridstride.__file__).with_name("_native.pyi").read_text(encoding="utf-8"))
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]


def declared(body):
    """Names that a module's or class's body declares."""
    names = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names


def public(names):
    return {name for name in names if not name.startswith("__") or name == "__version__"}


def test_every_name_of_the_module_is_declared():
    assert public(declared(STUB.body)) == public(vars(_native))


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_every_name_of_a_class_is_declared(node):
    cls = getattr(_native, node.name)
    # An attribute that each instance gets when it is made (`CompileError.diagnostics`) is in no class.
    stated = public(declared(node.body))
    found = public(vars(cls))
    assert found <= stated
    if not issubclass(cls, Exception):
        assert stated <= found


@pytest.mark.parametrize("node", [n for n in STUB.body if isinstance(n, ast.FunctionDef)], ids=lambda node: node.name)
def test_parameters_are_declared(node):
    stated = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    assert list(inspect.signature(getattr(_native, node.name)).parameters) == stated
