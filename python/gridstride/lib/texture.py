"""Textures: gridded numbers read between their texels, in one to three dimensions, at any level of detail.

In: a texture, a place in it, the type to read (`float`, `vec2` or `vec4`: so many channels). Out: the number there.

    texture_sample(tex, vec2(u, v), dtype=vec4, lod=1.5)

Texel i of n is centered at (i + 0.5) / n, or at i + 0.5 where places are not normalized. What lies beyond the edges is
the address mode's: 0 wraps, 1 clamps, 2 mirrors, 3 is a border of zeros. Levels of detail halve each extent, rounded
down. Texels are the bits of float32 numbers, so that no gradient is looked for in them: gradients are those of the
place and of the level.

Source: "Texture Fetching", appendix of the CUDA C++ Programming Guide; the fractions here have all their bits.
"""


# What the host makes (_texture.py).
class _Texture:
    texels: array(dtype=uint32)
    width: int32
    height: int32
    depth: int32
    num_channels: int32
    num_mip_levels: int32
    filter_mode: int32
    mip_filter_mode: int32
    use_normalized_coords: bool
    address_mode_u: int32
    address_mode_v: int32
    address_mode_w: int32


class Texture1D(_Texture):
    """A line of texels."""


class Texture2D(_Texture):
    """Rows of texels."""


class Texture3D(_Texture):
    """Planes of rows of texels."""


# One level: where its texels begin, and its extents.
class _TextureLevel:
    start: int64
    width: int32
    height: int32
    depth: int32


# Two neighbors along an axis, and how far the place is from the first to the second.
class _TextureCell:
    first: int64
    second: int64
    fraction: float32


def _texture_level(tex, level: int):
    found = _TextureLevel()
    found.width = tex.width
    found.height = tex.height
    found.depth = tex.depth
    for _ in range(level):
        n_texels = int64(found.width) * int64(found.height) * int64(found.depth)
        found.start += n_texels * int64(tex.num_channels)
        found.width = max(found.width // 2, 1)
        found.height = max(found.height // 2, 1)
        found.depth = max(found.depth // 2, 1)
    return found


# The texel that a number beyond the edges stands for; of a border the number itself.
def _texture_address(index: int64, size: int32, mode: int32):
    n = int64(size)
    found = index
    if mode == 1:
        found = clamp(index, int64(0), n - int64(1))
    elif mode == 0:
        found = index % n
        if found < int64(0):
            found += n
    elif mode == 2:
        found = index % (int64(2) * n)
        if found < int64(0):
            found += int64(2) * n
        if found >= n:
            found = int64(2) * n - int64(1) - found
    return found


# How long it takes until places repeat; 0 for modes that do not.
def _texture_period(base: int32, mode: int32, is_normalized: bool):
    period = 0.0
    if mode == 0 or mode == 2:
        period = where(is_normalized, 1.0, float(base))
        if mode == 2:
            period = 2.0 * period
    return period


def _texture_cell(place: float, base: int32, size: int32, mode: int32, is_normalized: bool):
    period = _texture_period(base, mode, is_normalized)
    x = place
    # Before anything is multiplied: a large place would lose its fraction.
    if period > 0.0:
        x = mod(x, period)
        if x < 0.0:
            x += period
    if not is_normalized:
        x = x / float(base)
    x = x * float(size) - 0.5
    if mode == 1:
        x = clamp(x, 0.0, float(size - 1))
    elif mode == 3:
        x = clamp(x, -2.0, float(size))
    cell = _TextureCell()
    index = int64(floor(x))
    cell.fraction = x - floor(x)
    cell.first = _texture_address(index, size, mode)
    cell.second = _texture_address(index + int64(1), size, mode)
    return cell


# In float64, which keeps the sign of the smallest places, and the texel of the largest.
def _texture_nearest(place: float, base: int32, size: int32, mode: int32, is_normalized: bool):
    x = float64(place)
    period = float64(_texture_period(base, mode, is_normalized))
    if period > float64(0.0):
        x = mod(x, period)
    x = x * float64(size)
    if not is_normalized:
        x = x / float64(base)
    if mode == 1 or mode == 3:
        x = clamp(x, float64(-1.0), float64(size))
    return _texture_address(int64(floor(x)), size, mode)


def _texture_channel(tex, at: int64, channel: int32):
    value = 0.0
    if channel < tex.num_channels:
        value = cast(tex.texels[at + int64(channel)], float32)
    return value


def _texture_channels(tex, at: int64, like: float32):
    return _texture_channel(tex, at, 0)


def _texture_channels(tex, at: int64, like: vec2):
    return vec2(_texture_channel(tex, at, 0), _texture_channel(tex, at, 1))


def _texture_channels(tex, at: int64, like: vec4):
    return vec4(
        _texture_channel(tex, at, 0),
        _texture_channel(tex, at, 1),
        _texture_channel(tex, at, 2),
        _texture_channel(tex, at, 3),
    )


def _texel(tex, level: _TextureLevel, x: int64, y: int64, z: int64, like):
    is_inside = x >= int64(0) and x < int64(level.width)
    is_inside = is_inside and y >= int64(0) and y < int64(level.height)
    is_inside = is_inside and z >= int64(0) and z < int64(level.depth)
    value = like
    if is_inside:
        row = (z * int64(level.height) + y) * int64(level.width)
        value = _texture_channels(tex, level.start + (row + x) * int64(tex.num_channels), like)
    return value


def _texture_row(tex, level: _TextureLevel, u: _TextureCell, y: int64, z: int64, like):
    first = _texel(tex, level, u.first, y, z, like)
    second = _texel(tex, level, u.second, y, z, like)
    return first * (1.0 - u.fraction) + second * u.fraction


def _texture_plane(tex, level: _TextureLevel, u: _TextureCell, v: _TextureCell, z: int64, like):
    first = _texture_row(tex, level, u, v.first, z, like)
    second = _texture_row(tex, level, u, v.second, z, like)
    return first * (1.0 - v.fraction) + second * v.fraction


def _sample_level(tex: Texture1D, number: int, u: float, like):
    level = _texture_level(tex, number)
    value = like
    if tex.filter_mode == 1:
        cell = _texture_cell(u, tex.width, level.width, tex.address_mode_u, tex.use_normalized_coords)
        value = _texture_row(tex, level, cell, int64(0), int64(0), like)
    else:
        x = _texture_nearest(u, tex.width, level.width, tex.address_mode_u, tex.use_normalized_coords)
        value = _texel(tex, level, x, int64(0), int64(0), like)
    return value


def _sample_level(tex: Texture2D, number: int, uv: vec2, like):
    level = _texture_level(tex, number)
    value = like
    if tex.filter_mode == 1:
        u = _texture_cell(uv[0], tex.width, level.width, tex.address_mode_u, tex.use_normalized_coords)
        v = _texture_cell(uv[1], tex.height, level.height, tex.address_mode_v, tex.use_normalized_coords)
        value = _texture_plane(tex, level, u, v, int64(0), like)
    else:
        x = _texture_nearest(uv[0], tex.width, level.width, tex.address_mode_u, tex.use_normalized_coords)
        y = _texture_nearest(uv[1], tex.height, level.height, tex.address_mode_v, tex.use_normalized_coords)
        value = _texel(tex, level, x, y, int64(0), like)
    return value


def _sample_level(tex: Texture3D, number: int, uvw: vec3, like):
    level = _texture_level(tex, number)
    value = like
    if tex.filter_mode == 1:
        u = _texture_cell(uvw[0], tex.width, level.width, tex.address_mode_u, tex.use_normalized_coords)
        v = _texture_cell(uvw[1], tex.height, level.height, tex.address_mode_v, tex.use_normalized_coords)
        w = _texture_cell(uvw[2], tex.depth, level.depth, tex.address_mode_w, tex.use_normalized_coords)
        first = _texture_plane(tex, level, u, v, w.first, like)
        second = _texture_plane(tex, level, u, v, w.second, like)
        value = first * (1.0 - w.fraction) + second * w.fraction
    else:
        x = _texture_nearest(uvw[0], tex.width, level.width, tex.address_mode_u, tex.use_normalized_coords)
        y = _texture_nearest(uvw[1], tex.height, level.height, tex.address_mode_v, tex.use_normalized_coords)
        z = _texture_nearest(uvw[2], tex.depth, level.depth, tex.address_mode_w, tex.use_normalized_coords)
        value = _texel(tex, level, x, y, z, like)
    return value


def _sample(tex, place, like, lod: float):
    last = tex.num_mip_levels - 1
    detail = clamp(lod, 0.0, float(last))
    value = like
    if lod >= 0.0 and last > 0 and tex.mip_filter_mode == 1:
        first = int(floor(detail))
        fraction = detail - floor(detail)
        value = _sample_level(tex, first, place, like)
        if first < last:
            coarser = _sample_level(tex, first + 1, place, like)
            value = value * (1.0 - fraction) + coarser * fraction
    else:
        value = _sample_level(tex, min(int(floor(detail + 0.5)), last), place, like)
    return value


def texture_sample(tex: Texture1D, u: float, dtype, lod: float = -1.0):
    return _sample(tex, u, dtype(0.0), lod)


def texture_sample(tex: Texture2D, uv: vec2, dtype, lod: float = -1.0):
    return _sample(tex, uv, dtype(0.0), lod)


def texture_sample(tex: Texture2D, u: float, v: float, dtype, lod: float = -1.0):
    return _sample(tex, vec2(u, v), dtype(0.0), lod)


def texture_sample(tex: Texture3D, uvw: vec3, dtype, lod: float = -1.0):
    return _sample(tex, uvw, dtype(0.0), lod)


def texture_sample(tex: Texture3D, u: float, v: float, w: float, dtype, lod: float = -1.0):
    return _sample(tex, vec3(u, v, w), dtype(0.0), lod)
