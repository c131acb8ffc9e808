"""Modules: code that is loaded by itself (`Context.create_module_ptx`), and what programs do when a kernel's is loaded.

Both are cuda-core's objects, which programs launch and ask for symbols.
"""

from __future__ import annotations

import importlib
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from gridstride.numba.cuda import _devices
from gridstride.numba.cuda._errors import CudaSupportError


def _core() -> Any:
    try:
        return importlib.import_module("cuda.core")
    except ImportError:
        raise CudaSupportError("modules that programs load themselves are cuda-core's: pip install cuda-core") from None


class Function:
    """A function of a module. `kernel` is what cuda-core launches."""

    def __init__(self, module: Module, kernel: Any, name: str) -> None:
        self.module, self.kernel, self.name = module, kernel, name
        self.handle = kernel.handle

    def __repr__(self) -> str:
        return f"<CUDA function {self.name}>"


class Module:
    """Loaded code, and what is to be done before it goes."""

    def __init__(self, object_code: Any, setups: Sequence[Any] = (), teardowns: Sequence[Any] = ()) -> None:
        self.object_code, self._teardowns = object_code, list(teardowns)
        self.handle = object_code.handle
        for setup in setups:
            setup(object_code)

    def get_function(self, name: str) -> Function:
        """A function by its name."""
        return Function(self, self.object_code.get_kernel(name), name)

    def unload(self) -> None:
        """Does what is to be done before the code goes, once. The code goes when nobody uses it any more."""
        teardowns, self._teardowns = self._teardowns, []
        for teardown in teardowns:
            teardown(self.object_code)


def load_ptx(ptx: Any, context: Any) -> Module:
    """Loads PTX."""
    return Module(_core().ObjectCode.from_ptx(ptx.encode() if isinstance(ptx, str) else ptx))


def load_image(image: Any, context: Any) -> Module:
    """Loads machine code."""
    return Module(_core().ObjectCode.from_cubin(image))


_lock = threading.RLock()
_loaded: weakref.WeakKeyDictionary[Any, dict[tuple[str, bytes], Module]] = weakref.WeakKeyDictionary()


def set_up(kernel: Any, signature: str, image: bytes, linked: Sequence[Any]) -> int | None:
    """Loads a kernel's code for a signature and tells what it is linked with, once.

    Gives the library; None where nobody wants to know.

    What is to be done before the code goes is done when the kernel or the context does.
    """
    setups = [code.setup_callback for code in linked if code.setup_callback is not None]
    teardowns = [code.teardown_callback for code in linked if code.teardown_callback is not None]
    if not setups and not teardowns:
        return None
    with _lock:
        known, key = _loaded.setdefault(kernel, {}), (signature, image)
        if key not in known:
            module = known[key] = Module(_core().ObjectCode.from_cubin(image), setups, teardowns)
            _devices.current_context().modules.append(module)
            weakref.finalize(kernel, module.unload).atexit = False
        return int(known[key].handle)
