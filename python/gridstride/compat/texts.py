"""Text given to `exec`, kept for kernels that are defined in it.

Numba reads a kernel's bytecode, Gridstride its text; a program that makes kernels by `exec(text)` has given the text
away. While `gridstride.compat` is in force, `exec` of text that defines functions compiles it under a file name of its
own, by which its text is found again.
"""

from __future__ import annotations
import __future__

import builtins
import itertools
import sys
from typing import Any

from gridstride import _source

_numbers = itertools.count()
_python_exec = builtins.exec
_FLAGS = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def _exec(source: Any, globals: Any = None, locals: Any = None, /, **options: Any) -> None:
    caller = sys._getframe(1)
    if isinstance(source, str) and "def " in source:
        file = f"<exec {next(_numbers)}>"
        code = compile(source, file, "exec", caller.f_code.co_flags & _FLAGS, True)
        _source.register(file, source)
        source = code
    if globals is None:
        globals = caller.f_globals
        locals = caller.f_locals if locals is None else locals
    _python_exec(source, globals, locals, **options)


def install() -> None:
    """Puts `exec` of this module in the place of Python's."""
    builtins.exec = _exec
