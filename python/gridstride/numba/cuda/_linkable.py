"""Code of other compilers that kernels are linked with: `@cuda.jit(link=…)`, `cuda.declare_device(…, link=…)`.

    >>> twice = cuda.CUSource("extern \\"C\\" __device__ int twice(int *out, int x) { *out = 2 * x; return 0; }")
    >>> f = cuda.declare_device("twice", "int32(int32)", link=twice)

A file is named by its path, whose ending says what it is: `.ptx`, `.cubin`, `.fatbin`, `.o`, `.a`, or `.cu` for CUDA
C++, which NVIDIA's compiler makes PTX of. The driver links them, and NVIDIA's own linker, nvJitLink, where LTO-IR
(`.ltoir`) is among them.
"""

from __future__ import annotations

import importlib
import io
import os
from collections.abc import Callable
from typing import Any

from gridstride.numba.cuda._errors import LinkerError


class LinkableCode:
    """Code of another compiler, and what is called with a kernel's module after it is loaded and before it goes.

    Args:
        data: The bytes, a text, or a file object with either.
        name: For messages.
        setup_callback, teardown_callback: Called with the module, an `ObjectCode` of cuda-core.
    """

    kind = ""
    default_name = "<unnamed-code>"

    def __init__(
        self,
        data: Any,
        name: str | None = None,
        setup_callback: Callable[[Any], Any] | None = None,
        teardown_callback: Callable[[Any], Any] | None = None,
        nrt: bool = False,
    ) -> None:
        for callback in (setup_callback, teardown_callback):
            if callback is not None and not callable(callback):
                raise TypeError("callbacks must be callables that take the module")
        self._data, self._name = data, name
        self.setup_callback, self.teardown_callback = setup_callback, teardown_callback

    @property
    def name(self) -> str:
        return self._name or self.default_name

    @property
    def data(self) -> Any:
        """The bytes or the text."""
        if isinstance(self._data, io.IOBase):
            self._data = self._data.read()
        return self._data

    def for_driver(self, sm: int) -> tuple[str, bytes, str]:
        """Kind, bytes and name, for a compute capability."""
        data = self.data
        return self.kind, data.encode() if isinstance(data, str) else bytes(data), self.name

    @classmethod
    def from_path(cls, path: str | os.PathLike[str]) -> LinkableCode:
        """A file's code.

        Raises `RuntimeError` for an ending that says nothing, `LinkerError` for a file that is missing.
        """
        path = os.fspath(path)
        ending = os.path.splitext(path)[1].lower()
        if not ending:
            raise RuntimeError("Don't know how to link file with no extension")
        if ending not in _BY_ENDING:
            raise RuntimeError(f"Don't know how to link file with extension {ending}")
        try:
            with open(path, "rb") as file:
                return _BY_ENDING[ending](file.read(), os.path.basename(path))
        except FileNotFoundError:
            raise LinkerError(f"{path} not found") from None

    @classmethod
    def from_path_or_obj(cls, path_or_obj: Any) -> LinkableCode:
        """A file's code, or code that there is already."""
        return path_or_obj if isinstance(path_or_obj, LinkableCode) else cls.from_path(path_or_obj)


class PTXSource(LinkableCode):
    """PTX."""

    kind, default_name = "ptx", "<unnamed-ptx>"


class CUSource(LinkableCode):
    """CUDA C++."""

    kind, default_name = "cu", "<unnamed-cu>"

    def for_driver(self, sm: int) -> tuple[str, bytes, str]:
        from gridstride.numba.cuda import _nvrtc

        text = self.data.decode() if isinstance(self.data, bytes) else self.data
        if not hasattr(self, "_compiled"):
            self._compiled: dict[int, bytes] = {}
        if sm not in self._compiled:
            self._compiled[sm] = _nvrtc.compile(text, self.name, sm)
        return "ptx", self._compiled[sm], self.name


class Fatbin(LinkableCode):
    """Machine code and PTX for several architectures."""

    kind, default_name = "fatbin", "<unnamed-fatbin>"


class Cubin(LinkableCode):
    """Machine code."""

    kind, default_name = "cubin", "<unnamed-cubin>"


class Archive(LinkableCode):
    """Several objects."""

    kind, default_name = "a", "<unnamed-archive>"


class Object(LinkableCode):
    """An object of the host's with code for devices in it."""

    kind, default_name = "o", "<unnamed-object>"


class LTOIR(LinkableCode):
    """Code for linking with optimization, which NVIDIA's own linker alone reads."""

    kind, default_name = "ltoir", "<unnamed-ltoir>"


_BY_ENDING: dict[str, type[LinkableCode]] = {
    ".ptx": PTXSource,
    ".cu": CUSource,
    ".fatbin": Fatbin,
    ".cubin": Cubin,
    ".a": Archive,
    ".o": Object,
    ".ltoir": LTOIR,
}


def listed(link: Any) -> list[LinkableCode]:
    """What `link=` names, one or several, paths or code."""
    if link is None:
        return []
    one = isinstance(link, str | os.PathLike | LinkableCode)
    return [LinkableCode.from_path_or_obj(item) for item in ([link] if one else link)]


def link_with_optimization(ptx: str, inputs: list[tuple[str, bytes, str]], sm: int, max_registers: int) -> bytes:
    """A kernel's machine code by NVIDIA's own linker: its PTX and what it is linked with, by kind, bytes and name."""
    try:
        core = importlib.import_module("cuda.core")
    except ImportError:
        raise LinkerError("LTO-IR is linked by nvJitLink: pip install cuda-core nvidia-nvjitlink") from None
    makers = {
        "ptx": core.ObjectCode.from_ptx,
        "cubin": core.ObjectCode.from_cubin,
        "fatbin": core.ObjectCode.from_fatbin,
        "o": core.ObjectCode.from_object,
        "a": core.ObjectCode.from_library,
        "ltoir": core.ObjectCode.from_ltoir,
    }
    codes = [makers[kind](bytes(data), name=name) for kind, data, name in [("ptx", ptx.encode(), "kernel"), *inputs]]
    limit = {"max_register_count": max_registers} if max_registers else {}
    options = core.LinkerOptions(arch=f"sm_{sm}", link_time_optimization=True, **limit)
    return bytes(core.Linker(*codes, options=options).link("cubin").code)
