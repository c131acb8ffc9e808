"""`cuda.declare_device`: functions of other compilers, which kernels call and are linked with.

>>> f = cuda.declare_device("twice", "int32(int32)", link="twice.cu")

As Numba's own device functions do, such a function gives 0 and puts its result to the address that it is passed first;
with `abi="c"` it gives its result, as C does. Numbers are passed as they are, a `CPointer` is an array's first element
(`ffi.from_buffer(a)` of cffi, or the array), and an array is what Numba makes of one: two null pointers, its size, the
size of an element, the address, then extents and strides.
"""

from __future__ import annotations

from typing import Any, NoReturn

from gridstride.numba import types
from gridstride.numba.cuda import _generated, _linkable, _signatures
from gridstride.numba.cuda._language import Builtin


class ExternFunction:
    """A function by its name and signature. Kernels that call it run on a GPU alone."""

    def __init__(self, name: str, sig: types.Signature, link: Any, abi: str) -> None:
        self.name, self.sig, self.abi = name, sig, abi
        self.__name__ = name
        self.link = _linkable.listed(link)
        self.__gs_link__ = self.link
        self._implementation: Any = None

    def __call__(self, *args: Any) -> NoReturn:
        raise NotImplementedError(f"`{self.name}` is code of another compiler, which kernels alone call")

    def implementation(self) -> Any:
        """The device function that kernels call: it passes arguments on as the signature says."""
        if self._implementation is None:
            from gridstride.numba.cuda.dispatcher import Dispatcher

            function = _generated.function(self.name, *_text(self))
            self._implementation = Dispatcher(function, {"device": True})
        return self._implementation


def _text(declared: ExternFunction) -> tuple[str, dict[str, Any]]:
    """A device function around the call, and the types that it names."""
    result, names = declared.sig.return_type, {"external": Builtin("_external")}
    params = [f"a{index}" for index in range(len(declared.sig.args))]
    passed: list[str] = []
    for index, (param, ty) in enumerate(zip(params, declared.sig.args, strict=True)):
        names[f"T{index}"] = ty
        passed.extend(_passed(param, ty, f"T{index}"))
    lines = [f"def {declared.name}({', '.join(params)}):"]
    is_void = result == types.none
    names["R"], names["status"] = result, types.int32
    names["word"], names["index"] = types.uint64, types.int64
    given = "".join(f", {one}" for one in passed)
    if declared.abi == "c":
        lines.append(
            f"    {'' if is_void else 'return '}external({declared.name!r}, {None if is_void else 'R'}{given})"
        )
    elif is_void:
        lines.append(f"    external({declared.name!r}, status, word(0){given})")
    else:
        lines.append("    result = local.array(1, R)")
        lines.append(f"    external({declared.name!r}, status, result{given})")
        lines.append("    return result[0]")
    return "\n".join(lines) + "\n", names


def _passed(param: str, ty: types.Type, name: str) -> list[str]:
    """What is passed for an argument."""
    if isinstance(ty, types.Array):
        size = ty.dtype.bitwidth // 8
        dims = range(ty.ndim)
        extents, strides = [f"{param}.shape[{dim}]" for dim in dims], [f"{param}.strides[{dim}]" for dim in dims]
        return ["word(0)", "word(0)", f"{param}.size", f"index({size})", param, *extents, *strides]
    if isinstance(ty, types.CPointer):
        return [param]
    if not isinstance(ty, types.Number):
        raise NotImplementedError(f"functions of other compilers take numbers, pointers and arrays, not {ty}")
    return [f"{name}({param})"]


def declare_device(
    name: str, sig: Any, link: Any = None, use_cooperative: bool = False, abi: str = "numba"
) -> ExternFunction:
    """A function that is defined elsewhere, in what `link` names or in what the kernel's own `link` does.

    Raises `TypeError` for a signature without a result, `NotImplementedError` for an ABI other than "numba" and "c".
    """
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi}")
    arguments, result = _signatures.normalize(sig)
    if result is None:
        raise TypeError("Return type must be provided for device declarations")
    return ExternFunction(name, types.Signature(result, arguments), link, abi)
