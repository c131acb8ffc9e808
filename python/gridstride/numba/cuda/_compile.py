"""Compiling without a launch: `cuda.compile`, `cuda.compile_ptx`."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        "code for GPUs cannot be made apart from a launch; `kernel.inspect_asm()` shows what a launch compiled"
    )


compile = compile_ptx = compile_all = compile_for_current_device = compile_ptx_for_current_device = _refuse
declare_device_function = run_frontend = _refuse
