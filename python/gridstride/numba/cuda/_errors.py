"""Errors of the driver and of NVIDIA's compilers, as numba-cuda names them."""

from __future__ import annotations


class CudaDriverError(Exception):
    """A call of the driver failed."""


class CudaRuntimeError(Exception):
    """A call of the runtime failed."""


class CudaAPIError(CudaDriverError):
    """A call of the driver failed, with its number."""

    def __init__(self, code: int, msg: str) -> None:
        super().__init__(code, msg)
        self.code, self.msg = code, msg

    def __str__(self) -> str:
        return f"[{self.code}] {self.msg}"


class CudaSupportError(ImportError):
    """There is no driver."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg)
        self.msg = msg


class DeadMemoryError(RuntimeError):
    """Memory that was freed is used."""


class LinkerError(RuntimeError):
    """Code could not be linked."""


class NvvmError(Exception):
    """NVVM failed."""


class NvvmSupportError(ImportError):
    """There is no NVVM."""


class NvrtcError(Exception):
    """CUDA C++ text could not be compiled."""
