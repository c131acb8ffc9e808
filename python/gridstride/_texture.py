"""`wp.Texture1D`, `wp.Texture2D`, `wp.Texture3D`: gridded numbers that kernels read between their texels.

    >>> import numpy as np
    >>> picture = wp.Texture2D(np.array([[0.0, 1.0], [2.0, 3.0]], dtype=np.float32))
    >>> @wp.kernel
    ... def read(tex: wp.Texture2D, out: wp.array(dtype=float)):
    ...     out[0] = wp.texture_sample(tex, wp.vec2(0.5, 0.5), dtype=float)
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch(read, dim=1, inputs=[picture], outputs=[out])
    >>> out.list()
    [1.5]

The texels are an array on the device, as float32 numbers whatever they were made from; sampling is the same function
on every device (`gridstride/lib/texture.py`). A texture is a kernel argument, a field of structs, an element of arrays.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from gridstride import _array, _create, _device, _mapped, _types
from gridstride._geometry import structs


class TextureFilterMode(enum.IntEnum):
    """What is read between texels, or between levels of detail: the nearest, or a mean by distance."""

    CLOSEST = 0
    LINEAR = 1


class TextureAddressMode(enum.IntEnum):
    """What lies beyond the edges: the texture again, its last texel, its mirror image, or zeros."""

    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3


_WHOLE = (_types.int32, _types.uint32)
_SMALL = (_types.uint8, _types.uint16, _types.int8, _types.int16)
_DTYPES = (*_SMALL, *_WHOLE, _types.float16, _types.float32)
_MOST_LEVELS = 16
_AXES = ("u", "v", "w")
_EXTENTS = ("width", "height", "depth")


class Texture:
    """Base of the textures. Make a `Texture1D`, `Texture2D` or `Texture3D`.

    Args:
        data: An array or NumPy array of shape (width,), (height, width) or (depth, height, width), with an extent for
            2 or 4 channels behind, or with vectors as elements. Of `uint8`, `int8`, `uint16`, `int16` (read as 0 to 1,
            or -1 to 1), `float16`, `float32`, or of `int32`, `uint32` (read as numbers, and the nearest only).
        width, height, depth: Extents where there are no data: texels are zeros. With data, a check of them.
        num_channels: 1, 2 or 4.
        dtype: Type of the texels where there are no data.
        filter_mode: `LINEAR`, or `CLOSEST` for whole numbers.
        address_mode: For all axes, or a tuple of one for each.
        address_mode_u, address_mode_v, address_mode_w: For one axis.
        normalized_coords: Places are 0 to 1 along each axis; else they are in texels.
        num_mip_levels: Levels of detail, each of half the extents; 0 for all down to one texel. They are made from the
            data once, and cannot be copied to or from.
        mip_filter_mode: Between levels.
        device: Where kernels will read it.

    Attributes: `device`, `dtype`, `ndim`, `width`, `height`, `depth`, `num_channels`, `num_mip_levels`, `is_mipmapped`,
    `id` (not 0) and the modes.

    Raises:
        ValueError: A mode that does not exist, extents that are not positive or disagree with the data, another type.
        NotImplementedError: `surface_access`, and `cuda_array` on a GPU: there is no texture object of CUDA's.
    """

    _ndim = 0

    def __init__(
        self,
        data: Any = None,
        width: int = 0,
        height: int = 0,
        depth: int = 0,
        num_channels: int = 0,
        dtype: Any = None,
        filter_mode: Any = None,
        address_mode: Any = TextureAddressMode.CLAMP,
        address_mode_u: Any = None,
        address_mode_v: Any = None,
        address_mode_w: Any = None,
        normalized_coords: bool = True,
        num_mip_levels: int = 1,
        mip_filter_mode: Any = None,
        device: _device.DeviceLike = None,
        surface_access: bool = False,
        cuda_array: int = 0,
    ) -> None:
        if not self._ndim:
            raise TypeError("make a Texture1D, Texture2D or Texture3D")
        place = _device.get_device(device)
        if cuda_array and not place.is_cuda:
            raise ValueError(f"`cuda_array` is for a CUDA device, not {place}")
        if cuda_array or surface_access and place.is_cuda:
            raise NotImplementedError("a texture here is an array in memory: it has no CUDA array and no surface")
        modes = [address_mode_u, address_mode_v, address_mode_w]
        for axis in range(self._ndim):
            shared = address_mode[axis] if isinstance(address_mode, (tuple, list)) else address_mode
            modes[axis] = _mode(TextureAddressMode, "address", shared if modes[axis] is None else modes[axis])
        given = {"width": width, "height": height, "depth": depth, "num_channels": num_channels, "dtype": dtype}
        if data is not None:
            if isinstance(data, np.ndarray):
                data = _array.array(data, device="cpu", copy=not data.flags.writeable)
            given = _agreed(given, _described(data, self._ndim), self._ndim)
        scalar = _known_dtype(given["dtype"])
        extents = [given[name] for name in _EXTENTS[: self._ndim]]
        for name, extent in zip(_EXTENTS, extents, strict=False):
            if extent <= 0:
                raise ValueError(f"Texture {name} must be a positive integer")
        if given["num_channels"] not in (1, 2, 4):
            raise ValueError("Texture num_channels must be 1, 2, or 4")
        n_levels = _n_levels(extents, num_mip_levels)
        usual = TextureFilterMode.CLOSEST if scalar in _WHOLE else TextureFilterMode.LINEAR
        filters = [
            usual if one is None else _mode(TextureFilterMode, name, one)
            for name, one in (("filter", filter_mode), ("mip filter", mip_filter_mode))
        ]
        for name, one, counts in (("filter_mode", filters[0], True), ("mip_filter_mode", filters[1], n_levels > 1)):
            if scalar in _WHOLE and counts and one != TextureFilterMode.CLOSEST:
                raise ValueError(f"32-bit integer textures require {name}=TextureFilterMode.CLOSEST")
        if n_levels > 1 and data is None:
            raise ValueError("levels of detail are made from data, which there is none of")
        self.__dict__.update(
            zip(_EXTENTS, [*extents, 1, 1], strict=False),
            num_channels=given["num_channels"],
            num_mip_levels=n_levels,
            filter_mode=int(filters[0]),
            mip_filter_mode=int(filters[1]),
            use_normalized_coords=bool(normalized_coords),
            **{f"address_mode_{axis}": int(mode or 0) for axis, mode in zip(_AXES, modes, strict=True)},
            _dtype=scalar,
            _device=place,
            _levels=[],
        )
        self._fill(data)

    def _fill(self, data: Any) -> None:
        """Takes the texels from an array of the right shape, or makes them zero."""
        values: Any = self.__dict__
        if data is None:
            kept = _create.zeros(self._shape(), self.dtype, self.device)
        else:
            scalars = data if data.dtype is self.dtype else data.view(self.dtype)
            kept = _create.empty(self._shape(), self.dtype, self.device)
            _create.copy_values(kept, scalars.contiguous().reshape(kept.shape))
        # In their own type: what `copy_to` gives back.
        values["_kept"] = kept
        self._convert()

    def _convert(self) -> None:
        """Makes what kernels read, all levels one after the other."""
        values: Any = self.__dict__
        if self.dtype is _types.float32 and self.num_mip_levels == 1:
            values["texels"] = values["_kept"].flatten().view(_types.uint32)
            return
        levels = _levels(values["_kept"].numpy(), self._ndim, self.num_mip_levels)
        numbers = np.concatenate([_as_float(level).ravel() for level in levels])
        values["texels"] = _array.array(numbers.view(np.uint32), dtype=_types.uint32, device=self.device)

    def _shape(self) -> tuple[int, ...]:
        extents = tuple(self.__dict__[name] for name in reversed(_EXTENTS[: self._ndim]))
        return extents if self.num_channels == 1 else (*extents, self.num_channels)

    num_channels: int
    num_mip_levels: int

    @property
    def device(self) -> Any:
        """Where kernels read it."""
        return self.__dict__["_device"]

    @property
    def dtype(self) -> Any:
        """Type of the texels as they were given."""
        return self.__dict__["_dtype"]

    @property
    def ndim(self) -> int:
        """1, 2 or 3."""
        return self._ndim

    @property
    def id(self) -> int:
        """A number that no other living texture has."""
        return self.__dict__["texels"].ptr

    @property
    def is_mipmapped(self) -> bool:
        """Whether it has more than one level of detail."""
        return self.num_mip_levels > 1

    @property
    def normalized_coords(self) -> bool:
        """Whether places are 0 to 1 along each axis."""
        return self.__dict__["use_normalized_coords"]

    def copy_from(self, src: Any) -> None:
        """Replaces the texels. `src`: an array, a NumPy array or a texture of the same extents, channels and type.

        Raises `ValueError` for another one, `RuntimeError` for a texture with levels of detail.
        """
        if isinstance(src, np.ndarray) and not src.flags.writeable:
            src = src.copy()
        other = self._other(src, "source")
        _create.copy_values(self.__dict__["_kept"], _scalars(other, self))
        self._convert()

    def copy_to(self, dst: Any) -> None:
        """Copies the texels. `dst`: as for `copy_from`."""
        other = self._other(dst, "destination")
        _create.copy_values(_scalars(other, self), self.__dict__["_kept"])
        if isinstance(dst, Texture):
            dst._convert()

    def _other(self, other: Any, role: str) -> Any:
        """The array that a copy goes to or comes from."""
        if self.is_mipmapped:
            raise RuntimeError("a texture with levels of detail cannot be copied to or from: they are made once")
        if isinstance(other, Texture):
            if other.is_mipmapped:
                raise RuntimeError("a texture with levels of detail cannot be copied to or from: they are made once")
            if type(other) is not type(self) or self._extents() != other._extents():
                roles = (self, other) if role == "source" else (other, self)
                raise ValueError(
                    f"Incompatible texture shapes for copy: destination shape={roles[0]._shape()}, "
                    f"source shape={roles[1]._shape()}"
                )
            if (other.dtype, other.num_channels) != (self.dtype, self.num_channels):
                raise ValueError(
                    f"Incompatible texture data types for copy: {self.dtype.__name__} with {self.num_channels} "
                    f"channels, {other.dtype.__name__} with {other.num_channels}"
                )
            return other.__dict__["_kept"]
        other = _array.array(other, device="cpu", copy=False) if isinstance(other, np.ndarray) else other
        if not isinstance(other, _array.array):
            raise ValueError(f"Expected contiguous array or Texture, got {type(other)}")
        found = _described(other, self._ndim)
        if [found[name] for name in _EXTENTS[: self._ndim]] != self._extents():
            raise ValueError(
                f"Incompatible array shape for copy: texture shape={self._shape()}, {role} shape={other.shape}"
            )
        if (found["dtype"], found["num_channels"]) != (self.dtype, self.num_channels):
            raise ValueError(
                f"Incompatible array data type for copy: texture dtype={self.dtype.__name__}, "
                f"{role} dtype={found['dtype'].__name__}, texture channels={self.num_channels}, "
                f"{role} channels={found['num_channels']}"
            )
        if not other.is_contiguous:
            raise ValueError(f"{role.capitalize()} array must be contiguous")
        return other

    def _extents(self) -> list[int]:
        return [self.__dict__[name] for name in _EXTENTS[: self._ndim]]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self._shape()}, dtype={self.dtype.__name__})"


def _handle(self: Texture) -> int:
    """Raises `RuntimeError`: a texture is an array in memory, also on a GPU."""
    raise RuntimeError("handles of CUDA's are only supported for CUDA textures, and none of these is one")


def _enum_of(kind: Any, name: str) -> Any:
    return property(lambda self: kind(self.__dict__[name]), doc=kind.__doc__)


for _name in ("cuda_array", "cuda_texture", "cuda_surface"):
    setattr(Texture, _name, property(_handle))
for _name in ("filter_mode", "mip_filter_mode"):
    setattr(Texture, _name, _enum_of(TextureFilterMode, _name))
for _name in ("address_mode_u", "address_mode_v", "address_mode_w"):
    setattr(Texture, _name, _enum_of(TextureAddressMode, _name))


def _class(name: str, ndim: int, doc: str) -> Any:
    """The class of the textures of so many dimensions: a struct of the kernel library, made from data."""
    made = type(name, (Texture, structs.of_library(name)), {"_ndim": ndim, "__doc__": doc, "__module__": "gridstride"})
    _types.classes[made.__gs_type__] = made
    return made


Texture1D = _class("Texture1D", 1, "A line of texels: `wp.texture_sample(tex, u, dtype=float)`. See `Texture`.")
Texture2D = _class(
    "Texture2D", 2, "Rows of texels: `wp.texture_sample(tex, wp.vec2(u, v), dtype=float)`. See `Texture`."
)
Texture3D = _class(
    "Texture3D", 3, "Planes of rows: `wp.texture_sample(tex, wp.vec3(u, v, w), dtype=float)`. See `Texture`."
)


def _mode(kind: Any, name: str, value: Any) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise ValueError(f"Invalid texture {name} mode: {value}") from None


def _known_dtype(dtype: Any) -> Any:
    scalar = {float: _types.float32, int: _types.int32}.get(dtype, dtype)
    if scalar not in _DTYPES:
        raise ValueError(f"Unsupported texture dtype: {dtype}. Supported: {', '.join(one.__name__ for one in _DTYPES)}")
    return scalar


def _described(data: Any, ndim: int) -> dict[str, Any]:
    """Extents, channels and type of an array of texels."""
    if not _mapped.is_array(data):
        raise ValueError("Data must be a Warp array or NumPy array")
    scalar = getattr(data.dtype, "_wp_scalar_type_", data.dtype)
    inner = getattr(data.dtype, "_shape_", ())
    shape = (*data.shape, *inner)
    if len(inner) > 1 or len(shape) not in (ndim, ndim + 1) or inner and data.ndim != ndim:
        raise ValueError(f"{ndim}D texture data must be {ndim}D, or {ndim + 1}D with the channels last")
    extents = dict(zip(_EXTENTS, [*reversed(shape[:ndim]), 1, 1], strict=False))
    return {**extents, "num_channels": shape[ndim] if len(shape) > ndim else 1, "dtype": _known_dtype(scalar)}


def _agreed(given: dict[str, Any], found: dict[str, Any], ndim: int) -> dict[str, Any]:
    """What data say, where nothing else was asked for."""
    for name, value in given.items():
        if name in _EXTENTS[ndim:]:
            continue
        wanted = _known_dtype(value) if name == "dtype" and value is not None else value
        if wanted and wanted != found[name]:
            raise ValueError(f"Specified texture {name} does not match data {name} ({wanted}, {found[name]})")
    return found


def _n_levels(extents: list[int], asked: int) -> int:
    most = max(extents).bit_length()
    if not 0 <= asked <= most or min(asked or most, most) > _MOST_LEVELS:
        raise ValueError(f"num_mip_levels is 0 to {min(most, _MOST_LEVELS)} for extents {tuple(extents)}, not {asked}")
    return asked or most


def _levels(base: np.ndarray, ndim: int, n_levels: int) -> list[np.ndarray]:
    """The data, and means of two neighbors along each axis of the level before, in the type of the data."""
    levels = [base]
    for _ in range(n_levels - 1):
        level = levels[-1].astype(np.float64)
        for axis in range(ndim):
            n = max(level.shape[axis] // 2, 1)
            if level.shape[axis] > 1:
                pairs = np.take(level, range(2 * n), axis)
                first, second = (np.take(pairs, range(start, 2 * n, 2), axis) for start in (0, 1))
                level = (first + second) / 2
        if base.dtype.kind in "iu":
            bounds = np.iinfo(base.dtype)
            level = np.clip(np.rint(level), bounds.min, bounds.max)
        levels.append(level.astype(base.dtype))
    return levels


def _as_float(texels: np.ndarray) -> np.ndarray:
    """The numbers that kernels read."""
    small = texels.dtype.kind in "iu" and texels.dtype.itemsize < 4
    numbers = texels.astype(np.float32)
    return np.maximum(numbers / np.float32(np.iinfo(texels.dtype).max), np.float32(-1.0)) if small else numbers


def _scalars(array: Any, texture: Texture) -> Any:
    """An array of texels as one of scalars in the texture's shape, over the same memory."""
    return (array if array.dtype is texture.dtype else array.view(texture.dtype)).reshape(texture._shape())
