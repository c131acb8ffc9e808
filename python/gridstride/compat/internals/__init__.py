"""The private names of Warp (`warp._src`) that published programs reach for, over the public ones.

Only under `gridstride.compat`; a program of your own should use the public names. A name of Warp's that is not here
can be imported and raises `NotImplementedError` when it is used.
"""

from typing import Any

from gridstride.compat.absent import AbsentModule
from gridstride.compat.internals import build as build
from gridstride.compat.internals import codegen as codegen
from gridstride.compat.internals import context as context
from gridstride.compat.internals import deterministic as deterministic
from gridstride.compat.internals import dlpack as dlpack
from gridstride.compat.internals import logger as logger
from gridstride.compat.internals import types as types
from gridstride.compat.internals import utils as utils


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return AbsentModule(f"warp._src.{name}")
