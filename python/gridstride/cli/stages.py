"""What a kernel becomes on its way to the processor.

In: `FILE:KERNEL`, a stage, and types where the kernel is generic. Out: the text of that stage.
"""

import contextlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

from gridstride import _native
from gridstride.cli import Mistake


def kernel_ir(place: str, stage: str, types: str | None = None, adjoint: bool = False) -> str:
    kernel = find_kernel(place)
    arg_types = parse_types(types) if types else annotated_types(kernel)
    return _native.ir(kernel, arg_types, kernel.compile_options(), stage, adjoint=adjoint)


def find_kernel(place: str) -> Any:
    file, _, name = place.rpartition(":")
    if not file or not name:
        raise Mistake(f"`{place}`: write FILE:KERNEL, for example saxpy.py:saxpy")
    if not os.path.isfile(file):
        raise Mistake(f"there is no file `{file}`")
    module = load(file)
    kernel = getattr(module, name, None)
    if isinstance(kernel, _native.Kernel):
        return kernel
    kernels = sorted(known for known, value in vars(module).items() if isinstance(value, _native.Kernel))
    found = "`, `".join(kernels)
    raise Mistake(f"`{file}` has no kernel `{name}`; " + (f"it has `{found}`" if kernels else "it has none"))


def load(file: str) -> ModuleType:
    """Runs the file under a name that is not `__main__`: it defines its kernels, and does not run its program."""
    name = "__gridstride_ir__"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise Mistake(f"`{file}` is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))  # as Python does for a program
    with contextlib.redirect_stdout(sys.stderr):  # what the file prints is not the answer
        spec.loader.exec_module(module)
    return module


def annotated_types(kernel: Any) -> list[_native.Type]:
    types = kernel._annotations.items()
    open_names = [name for name, annotation in types if not isinstance(annotation, _native.Type)]
    if open_names:
        names = "`, `".join(open_names)
        raise Mistake(f"`{names}` of `{kernel.key}` can have several types: give all types with --types")
    return [annotation for _, annotation in types]


def parse_types(text: str) -> list[_native.Type]:
    """Types as the IR writes them, with commas between: `f32, array<vec<f32, 3>, 1>`."""
    reader = TypeReader(text)
    types = [reader.type()]
    while reader.accept(","):
        types.append(reader.type())
    if reader.rest:
        raise Mistake(f"--types: `{reader.rest}` is not expected here")
    return types


class TypeReader:
    """Reads types from the front of `rest`."""

    def __init__(self, text: str):
        self.rest = text.strip()

    def accept(self, mark: str) -> bool:
        found = self.rest.startswith(mark)
        if found:
            self.rest = self.rest[len(mark) :].lstrip()
        return found

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            found = f"found `{self.rest}`" if self.rest else "the text ends"
            raise Mistake(f"--types: expected `{mark}`, {found}")

    def word(self) -> str:
        length = next((at for at, c in enumerate(self.rest) if not c.isalnum()), len(self.rest))
        word, self.rest = self.rest[:length], self.rest[length:].lstrip()
        return word

    def number(self) -> int:
        word = self.word()
        if not word.isdecimal():
            raise Mistake(f"--types: expected a number, found `{word or self.rest}`")
        return int(word)

    def type(self) -> _native.Type:
        name = self.word()
        if name not in ("vec", "mat", "quat", "transform", "array", "tuple"):
            try:
                return _native.Type.scalar(name)
            except ValueError:
                raise Mistake(f"--types: `{name or self.rest}` is not a type") from None
        self.expect("<")
        elem = self.type()
        numbers = []
        items = [elem]
        while self.accept(","):
            if name == "tuple":
                items.append(self.type())
            else:
                numbers.append(self.number())
        self.expect(">")
        return self.composite(name, elem, numbers, items)

    def composite(self, name: str, elem: _native.Type, numbers: list[int], items: list[_native.Type]) -> _native.Type:
        match name, numbers:
            case "vec", [length]:
                return _native.Type.vector(elem, length)
            case "mat", [rows, columns]:
                return _native.Type.matrix(elem, rows, columns)
            case "array", [rank]:
                return _native.Type.array(elem, rank)
            case "quat", []:
                return _native.Type.quat(elem)
            case "transform", []:
                return _native.Type.transform(elem)
            case "tuple", []:
                return _native.Type.tuple(items)
        raise Mistake(f"--types: `{name}` has the wrong number of parameters")
