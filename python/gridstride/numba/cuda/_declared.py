"""`cuda.declare_device`: functions of other compilers, which kernels here cannot be linked with."""

from __future__ import annotations

from typing import Any, NoReturn

from gridstride.numba import types
from gridstride.numba.cuda import _signatures


class ExternFunction:
    """A function by its name and signature. A kernel that calls it does not compile."""

    def __init__(self, name: str, sig: types.Signature, link: Any, abi: str) -> None:
        self.name, self.sig, self.link, self.abi = name, sig, link, abi
        self.__name__ = name

    def __call__(self, *args: Any) -> NoReturn:
        raise NotImplementedError(f"`{self.name}` is code of another compiler, which kernels cannot be linked with")


def declare_device(
    name: str, sig: Any, link: Any = None, use_cooperative: bool = False, abi: str = "numba"
) -> ExternFunction:
    """A function that is defined elsewhere. Raises `TypeError` for a signature without a result."""
    arguments, result = _signatures.normalize(sig)
    if result is None:
        raise TypeError("Return type must be provided for device declarations")
    return ExternFunction(name, types.Signature(result, arguments), link, abi)
