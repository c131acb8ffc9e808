"""Textures: sampling against NumPy, levels of detail, gradients, copies, and what is refused."""

import itertools

import numpy as np
import pytest

import gridstride as wp
from gridstride import TextureAddressMode, TextureFilterMode

TEXTURES = (wp.Texture1D, wp.Texture2D, wp.Texture3D)
PLACES = (float, wp.vec2, wp.vec3)
VALUES = {1: float, 2: wp.vec2, 4: wp.vec4}
RNG = np.random.default_rng(7)


def sampler(ndim, channels):
    texture, place, value = TEXTURES[ndim - 1], PLACES[ndim - 1], VALUES[channels]

    @wp.kernel(module="unique")
    def sample(tex: texture, at: wp.array(dtype=place), lod: wp.array(dtype=float), out: wp.array(dtype=value)):
        i = wp.tid()
        out[i] = wp.texture_sample(tex, at[i], dtype=value, lod=lod[i])

    return sample


SAMPLERS = {(ndim, channels): sampler(ndim, channels) for ndim in (1, 2, 3) for channels in VALUES}


def read(tex, places, device, lod=None):
    places = np.asarray(places, np.float32)
    n = len(places)
    at = wp.array(places, dtype=PLACES[tex.ndim - 1], device=device)
    lods = wp.array(np.full(n, -1.0 if lod is None else lod, np.float32), device=device)
    out = wp.zeros(n, dtype=VALUES[tex.num_channels], device=device)
    wp.launch(SAMPLERS[tex.ndim, tex.num_channels], dim=n, inputs=[tex, at, lods], outputs=[out], device=device)
    return out.numpy()


def index(i, n, mode):
    """The texel that stands for number i of n; -1 for none."""
    if mode == TextureAddressMode.WRAP:
        return i % n
    if mode == TextureAddressMode.MIRROR:
        return min(i % (2 * n), 2 * n - 1 - i % (2 * n))
    return min(max(i, 0), n - 1) if mode == TextureAddressMode.CLAMP or 0 <= i < n else -1


def by_numpy(data, place, modes, is_linear):
    """The sample of a texture at a place in texels, x first; `data` has its channels last."""
    sizes = data.shape[-2::-1]
    corners = []
    for x, n, mode in zip(place, sizes, modes, strict=True):
        if is_linear:
            cell = int(np.floor(x - 0.5))
            f = x - 0.5 - cell
            corners.append([(index(cell, n, mode), 1 - f), (index(cell + 1, n, mode), f)])
        else:
            corners.append([(index(int(np.floor(x)), n, mode), 1.0)])
    total = np.zeros(data.shape[-1])
    for corner in itertools.product(*corners):
        if all(i >= 0 for i, _ in corner):
            total += np.prod([weight for _, weight in corner]) * data[tuple(i for i, _ in reversed(corner))]
    return total


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("filter_mode", list(TextureFilterMode))
def test_samples_are_those_of_numpy(device, ndim, channels, filter_mode):
    sizes = (4, 3, 2)[:ndim]
    data = RNG.random((*reversed(sizes), channels)).astype(np.float32)
    places = RNG.uniform(-1.4, 2.4, (12, ndim))
    for mode, is_normalized in itertools.product(TextureAddressMode, (True, False)):
        modes = [TextureAddressMode((mode + axis) % 4) for axis in range(ndim)]
        given = data if channels > 1 else data[..., 0]
        tex = TEXTURES[ndim - 1](
            given,
            filter_mode=filter_mode,
            address_mode=tuple(modes),
            normalized_coords=is_normalized,
            device=device,
        )
        at = places if is_normalized else places * sizes
        got = read(tex, at if ndim > 1 else at[:, 0], device).reshape(-1, channels)
        for place, values in zip(np.float32(at), got, strict=True):
            texels = place * sizes if is_normalized else place
            expected = by_numpy(data, texels.astype(np.float64), modes, filter_mode == TextureFilterMode.LINEAR)
            np.testing.assert_allclose(values, expected, atol=2e-5)


@pytest.mark.parametrize(
    ("dtype", "value", "number"),
    [
        (np.uint8, 51, 0.2),
        (np.int8, -128, -1.0),
        (np.uint16, 65535, 1.0),
        (np.int16, -32767, -1.0),
        (np.float16, 1.5, 1.5),
        (np.float32, -2.5, -2.5),
        (np.int32, -16777217, -16777216.0),
        (np.uint32, 4294967295, 4294967296.0),
    ],
)
def test_texels_of_every_type_are_numbers_and_come_back(device, dtype, value, number):
    data = np.full((2, 3), value, dtype=dtype)
    tex = wp.Texture2D(data, device=device)
    assert np.dtype(wp.dtype_to_numpy(tex.dtype)) == dtype
    np.testing.assert_allclose(read(tex, [[0.5, 0.5]], device), [number], rtol=1e-6)
    back = np.zeros_like(data)
    tex.copy_to(back)
    np.testing.assert_array_equal(back, data)


def test_texels_are_replaced(device):
    tex = wp.Texture2D(width=3, height=2, num_channels=2, dtype=wp.uint8, device=device)
    assert tex.is_mipmapped is False and tex.id != 0 and repr(tex) == "Texture2D(shape=(2, 3, 2), dtype=uint8)"
    assert not read(tex, [[0.5, 0.5]], device).any()
    vectors = np.full((2, 3, 2), 255, dtype=np.uint8)
    tex.copy_from(wp.array(vectors, dtype=wp.types.vector(2, wp.uint8), device=device))
    np.testing.assert_array_equal(read(tex, [[0.5, 0.5]], device), [[1.0, 1.0]])
    other = wp.Texture2D(np.zeros_like(vectors), device=device)
    tex.copy_to(other)
    np.testing.assert_array_equal(read(other, [[0.5, 0.5]], device), [[1.0, 1.0]])
    with pytest.raises(ValueError, match="texture shape=\\(2, 3, 2\\), source shape=\\(3, 3, 2\\)"):
        tex.copy_from(np.zeros((3, 3, 2), np.uint8))
    with pytest.raises(ValueError, match="texture dtype=uint8, destination dtype=float32"):
        tex.copy_to(np.zeros((2, 3, 2), np.float32))


def test_levels_of_detail(device):
    data = np.array([0, 2, 10, 12, 100], dtype=np.float32)
    tex = wp.Texture1D(data, num_mip_levels=0, device=device)
    assert tex.num_mip_levels == 3 and tex.is_mipmapped
    levels = [read(tex, [0.25, 0.75], device, lod) for lod in (1.0, 2.0, 9.0)]
    np.testing.assert_allclose(levels, [[1.0, 11.0], [6.0, 6.0], [6.0, 6.0]])
    np.testing.assert_allclose(read(tex, [0.25, 0.75], device, 1.25), [2.25, 9.75])
    nearest = wp.Texture1D(data, num_mip_levels=0, mip_filter_mode=TextureFilterMode.CLOSEST, device=device)
    np.testing.assert_allclose(read(nearest, [0.25, 0.75], device, 1.25), [1.0, 11.0])
    with pytest.raises(RuntimeError, match="levels of detail"):
        tex.copy_from(data)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("mode", list(TextureAddressMode))
def test_gradients_are_those_of_the_place_and_the_level(device, ndim, mode):
    data = RNG.random((8,) * ndim).astype(np.float32)
    tex = TEXTURES[ndim - 1](data, num_mip_levels=2, address_mode=mode, device=device)
    places = ((np.arange(6)[:, None] * 3 + np.arange(ndim)) / 4.0 - 1.0 + 0.02).astype(np.float32)
    at = wp.array(places if ndim > 1 else places[:, 0], dtype=PLACES[ndim - 1], requires_grad=True, device=device)
    lods = wp.array(np.full(6, 0.4, np.float32), requires_grad=True, device=device)
    out = wp.zeros(6, dtype=float, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(SAMPLERS[ndim, 1], dim=6, inputs=[tex, at, lods], outputs=[out], device=device)
    tape.backward(grads={out: wp.full_like(out, 1.0)})
    step = 2.0**-9
    slopes = at.grad.numpy().reshape(6, ndim)
    for axis in range(ndim):
        moved = [read(tex, np.squeeze(places + sign * step * np.eye(ndim)[axis]), device, 0.4) for sign in (1, -1)]
        np.testing.assert_allclose(slopes[:, axis], (moved[0] - moved[1]) / (2 * step), atol=2e-3)
    by_level = [read(tex, places if ndim > 1 else places[:, 0], device, lod) for lod in (0.5, 0.3)]
    np.testing.assert_allclose(lods.grad.numpy(), (by_level[0] - by_level[1]) / 0.2, atol=2e-5)


@wp.struct
class Material:
    picture: wp.Texture2D
    gain: float


@wp.kernel
def shade(materials: wp.array(dtype=Material), one: Material, out: wp.array(dtype=float)):
    i = wp.tid()
    m = materials[i]
    seen = m.gain * wp.texture_sample(m.picture, 0.5, 0.5, float) + float(m.picture.width)
    out[i] = seen + one.gain * wp.texture_sample(one.picture, wp.vec2(0.5, 0.5), float, 0.0)


def test_textures_in_structs_and_arrays(device):
    pictures = [wp.Texture2D(np.full((2, 2), value, np.float32), device=device) for value in (1.0, 10.0)]
    materials = [Material(picture=picture, gain=2.0) for picture in pictures]
    out = wp.zeros(2, dtype=float, device=device)
    held = wp.array(materials, dtype=Material, device=device)
    wp.launch(shade, dim=2, inputs=[held, materials[1]], outputs=[out], device=device)
    assert out.list() == [24.0, 42.0]


@wp.kernel
def three_channels(tex: wp.Texture1D, out: wp.array(dtype=wp.vec3)):
    out[0] = wp.texture_sample(tex, 0.5, dtype=wp.vec3)


@wp.kernel
def no_type(tex: wp.Texture1D, out: wp.array(dtype=wp.vec3)):
    out[0][0] = wp.texture_sample(tex, 0.5)


@wp.kernel
def flat_place(tex: wp.Texture1D, out: wp.array(dtype=wp.vec3)):
    out[0][0] = wp.texture_sample(tex, wp.vec2(0.5, 0.5), dtype=float)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (three_channels, "`float`, `vec2` or `vec4`, by the channels of the texture, found the type `vec3`"),
        (no_type, "needs `dtype` to be"),
        (flat_place, "cannot be called with `Texture1D`, `vec2`"),
    ],
)
def test_wrong_samples_are_compile_errors(kernel, words):
    with pytest.raises(wp.CompileError, match=words):
        wp.launch(kernel, dim=1, inputs=[wp.Texture1D(np.zeros(2, np.float32))], outputs=[wp.zeros(1, dtype=wp.vec3)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"filter_mode": 2}, "Invalid texture filter mode: 2"),
        ({"address_mode": "wrap"}, "Invalid texture address mode"),
        ({"num_mip_levels": 4}, "num_mip_levels is 0 to 3"),
        ({"width": 3}, "width does not match"),
        ({"data": None, "dtype": float}, "width must be a positive integer"),
        ({"data": np.zeros((4, 4, 3), np.float32)}, "num_channels must be 1, 2, or 4"),
        ({"data": np.zeros((4, 4), np.float64)}, "Unsupported texture dtype"),
        ({"data": np.zeros((4, 4), np.int32), "filter_mode": 1}, "require filter_mode"),
    ],
)
def test_wrong_textures_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        wp.Texture2D(**{"data": np.zeros((4, 4), np.float32), "dtype": None, "num_channels": 0, **options})
    with pytest.raises(TypeError, match="Texture1D, Texture2D or Texture3D"):
        wp.Texture(np.zeros(4, np.float32))
