"""The color of each pixel: what its samples show, by the keys of `raster`, under two lights; a sky and a grid.

In: keys, the view and the primitives that it saw. Out: colors of a byte each, and distances along the view.
Surfaces have Lambert's law and B. Phong's highlights ("Illumination for computer generated pictures", 1975).
"""

from __future__ import annotations

import gridstride as wp
from gridstride.render import raster


@wp.struct
class Look:
    """What a picture shows besides its shapes, and its lights."""

    background: wp.vec3
    has_sky: bool
    has_grid: bool
    # The grid's lines are a unit apart, as far as this from the origin.
    grid_extent: float
    up: wp.vec3
    side: wp.vec3
    sun: wp.vec3
    second_light: wp.vec3
    # Samples of a pixel along each axis.
    n_samples: int


@wp.func
def lit(look: Look, color: wp.vec3, normal: wp.vec3, direction: wp.vec3):
    """A surface seen along a direction; both of its sides are the same."""
    n = wp.where(wp.dot(normal, direction) > 0.0, -normal, normal)
    diffuse = 0.7 * wp.max(wp.dot(n, look.sun), 0.0) + 0.2 * wp.max(wp.dot(n, look.second_light), 0.0)
    mirrored = direction - 2.0 * wp.dot(n, direction) * n
    highlight = 0.25 * wp.pow(wp.max(wp.dot(mirrored, look.sun), 0.0), 32.0)
    return (0.35 + diffuse) * color + wp.vec3(highlight)


@wp.func
def sky(look: Look, direction: wp.vec3):
    """White at the horizon, the background's color above, darker below."""
    if not look.has_sky:
        return look.background
    height = wp.dot(direction, look.up)
    haze = 0.8 * wp.exp(-6.0 * wp.abs(height))
    color = wp.where(height < 0.0, 0.8 * look.background, look.background)
    return (1.0 - haze) * color + wp.vec3(haze)


@wp.func
def normal_of(mesh: raster.Triangles, owner: int, corner: wp.vec3i, at: wp.vec3):
    """The normal at barycentric coordinates, in space."""
    n = at[0] * mesh.normals[corner[0]] + at[1] * mesh.normals[corner[1]] + at[2] * mesh.normals[corner[2]]
    n = wp.cw_div(n, mesh.scales[owner])
    return wp.normalize(wp.transform_vector(mesh.transforms[owner], n))


@wp.func
def weights_at(ea: wp.vec3, eb: wp.vec3, ec: wp.vec3, column: float, row: float):
    """Barycentric coordinates of a sample."""
    at = wp.vec3(column, row, 1.0)
    weights = wp.vec3(wp.dot(ea, at), wp.dot(eb, at), wp.dot(ec, at))
    return weights / (weights[0] + weights[1] + weights[2])


@wp.func
def uv_at(mesh: raster.Triangles, corner: wp.vec3i, at: wp.vec3):
    return at[0] * mesh.uvs[corner[0]] + at[1] * mesh.uvs[corner[1]] + at[2] * mesh.uvs[corner[2]]


@wp.func
def checkered(first: wp.vec3, second: wp.vec3, uv: wp.vec2, size: float):
    """Fields of two colors; where a sample is as large as a field, the mean."""
    parity = (int(wp.floor(uv[0])) + int(wp.floor(uv[1]))) & 1
    sharpness = wp.clamp(1.5 - 2.0 * size, 0.0, 1.0)
    share = 0.5 + sharpness * (float(parity) - 0.5)
    return (1.0 - share) * first + share * second


@wp.func
def triangle_color(
    view: raster.View,
    look: Look,
    mesh: raster.Triangles,
    t: int,
    column: float,
    row: float,
    direction: wp.vec3,
):
    a, b, c, owner, corner = raster.corners_of(mesh, t)
    ea, eb, ec, _side = raster.edges_of(
        raster.homogeneous(raster.on_screen(view, a)),
        raster.homogeneous(raster.on_screen(view, b)),
        raster.homogeneous(raster.on_screen(view, c)),
    )
    at = weights_at(ea, eb, ec, column, row)
    uv = uv_at(mesh, corner, at)
    right = uv_at(mesh, corner, weights_at(ea, eb, ec, column + 1.0, row)) - uv
    below = uv_at(mesh, corner, weights_at(ea, eb, ec, column, row + 1.0)) - uv
    size = wp.max(wp.length(right), wp.length(below))
    color = checkered(mesh.colors[owner], mesh.second_colors[owner], uv, size)
    normal = wp.normalize(wp.cross(b - a, c - a))
    if mesh.is_smooth[owner]:
        normal = normal_of(mesh, owner, corner, at)
    return lit(look, color, normal, direction)


@wp.func
def capsule_color(look: Look, shapes: raster.Capsules, i: int, start: wp.vec3, direction: wp.vec3):
    begin = shapes.begins[i]
    axis = shapes.ends[i] - begin
    p = start + raster.capsule_hit(start, direction, begin, shapes.ends[i], shapes.radii[i]) * direction
    along = wp.clamp(wp.dot(p - begin, axis) / wp.max(wp.dot(axis, axis), 1.0e-30), 0.0, 1.0)
    return lit(look, shapes.colors[i], wp.normalize(p - begin - along * axis), direction)


@wp.func
def sphere_color(look: Look, shapes: raster.Spheres, i: int, start: wp.vec3, direction: wp.vec3):
    p = start + raster.sphere_hit(start, direction, shapes.centers[i], shapes.radii[i]) * direction
    return lit(look, shapes.colors[i], wp.normalize(p - shapes.centers[i]), direction)


@wp.func
def line_share(at: float, size: float):
    """How much of a sample that is `size` wide the nearest line of the grid covers: two samples are its width."""
    return wp.clamp(1.5 - wp.abs(at - wp.round(at)) / size, 0.0, 1.0)


@wp.func
def grid_share(view: raster.View, look: Look, start: wp.vec3, direction: wp.vec3, depth: float):
    """How much of a sample the grid on the ground covers, in front of what is at a depth."""
    steepness = wp.dot(direction, look.up)
    if steepness == 0.0:
        return 0.0
    t = -wp.dot(start, look.up) / steepness
    p = start + t * direction
    u = wp.dot(p, look.side)
    v = wp.dot(p, wp.cross(look.up, look.side))
    # What lies on the ground itself does not hide it.
    distance = 0.999 * wp.dot(view.depth, wp.vec4(p[0], p[1], p[2], 1.0))
    if t < 0.0 or wp.max(wp.abs(u), wp.abs(v)) > look.grid_extent or distance > depth:
        return 0.0
    size = wp.max(t, 1.0e-6) * view.sample / wp.max(wp.abs(steepness), 0.02)
    share = wp.max(line_share(u, size), line_share(v, size))
    # Lines nearer to each other than samples would be noise.
    return 0.6 * share * wp.clamp(1.5 - 2.0 * size, 0.0, 1.0)


@wp.kernel(enable_backward=False)
def shade(
    view: raster.View,
    look: Look,
    mesh: raster.Triangles,
    spheres: raster.Spheres,
    capsules: raster.Capsules,
    counts: wp.vec2i,
    keys: wp.array2d(dtype=wp.uint64),
    colors: wp.array2d(dtype=wp.vec3ub),
    depths: wp.array2d(dtype=float),
):
    """A thread is a pixel of the view's rectangle; `counts` says how many triangles and spheres were drawn."""
    y, x = wp.tid()
    n = look.n_samples
    total = wp.vec3()
    nearest = float(view.far)
    for k in range(n * n):
        i = y * n + k // n
        j = x * n + k % n
        column = float(j) + 0.5
        row = float(i) + 0.5
        start, direction = raster.ray_of(view, column, row)
        key = keys[view.top + i, view.left + j]
        depth = float(view.far)
        color = sky(look, direction)
        if key != raster.EMPTY:
            depth = wp.cast(wp.uint32(key >> wp.uint64(32)), float)
            number = int(wp.uint32(key & wp.uint64(0xFFFFFFFF)))
            if number < counts[0]:
                color = triangle_color(view, look, mesh, number, column, row, direction)
            elif number < counts[0] + counts[1]:
                color = sphere_color(look, spheres, number - counts[0], start, direction)
            else:
                color = capsule_color(look, capsules, number - counts[0] - counts[1], start, direction)
        if look.has_grid:
            share = grid_share(view, look, start, direction, depth)
            color = (1.0 - share) * color + share * wp.vec3(0.5)
        total += color
        nearest = wp.min(nearest, depth)
    total = total / float(n * n)
    top = view.top // n + y
    left = view.left // n + x
    if top < 0 or left < 0 or top >= colors.shape[0] or left >= colors.shape[1]:
        return
    shown = wp.vec3ub()
    for channel in range(3):
        shown[channel] = wp.uint8(wp.clamp(total[channel], 0.0, 1.0) * 255.0 + 0.5)
    colors[top, left] = shown
    depths[top, left] = nearest
