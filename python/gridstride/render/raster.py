"""Which primitive each sample of a picture shows: triangles, spheres and capsules, drawn into keys.

In: a view and primitives in the user's coordinates. Out: for each sample a key, its depth in the upper 32 bits and the
number of the primitive in the lower: the least key wins, in whichever order threads come, so that a picture is the same
on every device. Runs before `shading`, which looks at the keys alone.

A thread draws one primitive; a large one is put on a list, whose strips of rows are drawn by many threads. Triangles
are drawn without clipping: M. Olano and T. Greer, "Triangle scan conversion using 2D homogeneous coordinates" (1997).
"""

from __future__ import annotations

from typing import Any

import gridstride as wp

# Samples in the bounds of a primitive that one thread draws, and rows of a strip of a larger one.
LARGE = 1024
STRIP = 8
# Threads that share what is on the lists of large primitives.
WORKERS = 4096
# More than any key.
EMPTY = wp.constant(wp.uint64(0xFFFFFFFFFFFFFFFF))


@wp.struct
class View:
    """A camera and the rectangle of samples that it fills."""

    # User's coordinates to clip space and back; the distance along the view is `depth` times a point.
    matrix: wp.mat44
    inverse: wp.mat44
    depth: wp.vec4
    near: float
    far: float
    # How wide a sample is, a unit away from the camera.
    sample: float
    # In samples: the rectangle's size, and where it begins in the picture.
    width: int
    height: int
    left: int
    top: int


@wp.struct
class Triangles:
    """The triangles of all instances that are drawn: meshes once, and for each instance where it is."""

    vertices: wp.array(dtype=wp.vec3)
    normals: wp.array(dtype=wp.vec3)
    uvs: wp.array(dtype=wp.vec2)
    corners: wp.array(dtype=wp.vec3i)
    # Of each triangle that is drawn: its instance.
    owners: wp.array(dtype=int)
    # Of each instance: the number of its first triangle among those drawn, and in `corners`.
    starts: wp.array(dtype=int)
    firsts: wp.array(dtype=int)
    transforms: wp.array(dtype=wp.transform)
    scales: wp.array(dtype=wp.vec3)
    colors: wp.array(dtype=wp.vec3)
    second_colors: wp.array(dtype=wp.vec3)
    is_smooth: wp.array(dtype=wp.bool)


@wp.struct
class Spheres:
    """Balls: points of a simulation."""

    centers: wp.array(dtype=wp.vec3)
    radii: wp.array(dtype=float)
    colors: wp.array(dtype=wp.vec3)


@wp.struct
class Capsules:
    """Thick lines with round ends."""

    begins: wp.array(dtype=wp.vec3)
    ends: wp.array(dtype=wp.vec3)
    radii: wp.array(dtype=float)
    colors: wp.array(dtype=wp.vec3)


@wp.func
def on_screen(view: View, p: wp.vec3):
    """Column and row times w, w, and the depth."""
    q = wp.vec4(p[0], p[1], p[2], 1.0)
    clip = view.matrix * q
    x = (clip[0] + clip[3]) * 0.5 * float(view.width)
    y = (clip[3] - clip[1]) * 0.5 * float(view.height)
    return wp.vec4(x, y, clip[3], wp.dot(view.depth, q))


@wp.func
def unprojected(view: View, x: float, y: float, z: float):
    q = view.inverse * wp.vec4(x, y, z, 1.0)
    return wp.vec3(q[0], q[1], q[2]) / q[3]


@wp.func
def ray_of(view: View, column: float, row: float):
    """Where the ray of a sample starts, on the near plane, and its direction."""
    x = 2.0 * column / float(view.width) - 1.0
    y = 1.0 - 2.0 * row / float(view.height)
    start = unprojected(view, x, y, -1.0)
    return start, wp.normalize(unprojected(view, x, y, 1.0) - start)


@wp.func
def with_corner(view: View, box: wp.vec4, corner: wp.vec4):
    """Bounds on the screen that hold a corner too; one behind the camera may be anywhere."""
    if corner[2] <= 1.0e-6:
        return wp.vec4(0.0, 0.0, float(view.width), float(view.height))
    x = corner[0] / corner[2]
    y = corner[1] / corner[2]
    return wp.vec4(wp.min(box[0], x), wp.min(box[1], y), wp.max(box[2], x), wp.max(box[3], y))


@wp.func
def samples_in(view: View, box: wp.vec4):
    """First column and row, and those after the last."""
    x0 = wp.max(int(wp.floor(box[0])), 0)
    y0 = wp.max(int(wp.floor(box[1])), 0)
    x1 = wp.min(int(wp.ceil(box[2])), view.width)
    y1 = wp.min(int(wp.ceil(box[3])), view.height)
    return wp.vec4i(x0, y0, wp.max(x0, x1), wp.max(y0, y1))


@wp.func
def nothing_yet():
    return wp.vec4(1.0e30, 1.0e30, -1.0e30, -1.0e30)


@wp.func
def box_on_screen(view: View, lower: wp.vec3, upper: wp.vec3):
    """Samples of what lies in a box."""
    bounds = nothing_yet()
    nearest = float(1.0e30)
    farthest = float(-1.0e30)
    for i in range(8):
        x = wp.where((i & 1) == 0, lower[0], upper[0])
        y = wp.where((i & 2) == 0, lower[1], upper[1])
        z = wp.where((i & 4) == 0, lower[2], upper[2])
        corner = on_screen(view, wp.vec3(x, y, z))
        bounds = with_corner(view, bounds, corner)
        nearest = wp.min(nearest, corner[3])
        farthest = wp.max(farthest, corner[3])
    if farthest < view.near or nearest > view.far:
        return wp.vec4i(0, 0, 0, 0)
    return samples_in(view, bounds)


@wp.func
def put(view: View, keys: wp.array2d(dtype=wp.uint64), column: int, row: int, depth: float, number: int):
    """The nearest primitive of a sample stays."""
    if depth >= view.near and depth <= view.far:
        key = (wp.uint64(wp.cast(depth, wp.uint32)) << wp.uint64(32)) | wp.uint64(number)
        wp.atomic_min(keys, view.top + row, view.left + column, key)


@wp.func
def corners_of(mesh: Triangles, t: int):
    """The corners of a drawn triangle, and its instance and where it lies in the mesh."""
    owner = mesh.owners[t]
    face = mesh.firsts[owner] + t - mesh.starts[owner]
    corner = mesh.corners[face]
    at = mesh.transforms[owner]
    scale = mesh.scales[owner]
    a = wp.transform_point(at, wp.cw_mul(scale, mesh.vertices[corner[0]]))
    b = wp.transform_point(at, wp.cw_mul(scale, mesh.vertices[corner[1]]))
    c = wp.transform_point(at, wp.cw_mul(scale, mesh.vertices[corner[2]]))
    return a, b, c, owner, corner


@wp.func
def homogeneous(q: wp.vec4):
    return wp.vec3(q[0], q[1], q[2])


@wp.func
def edges_of(a: wp.vec3, b: wp.vec3, c: wp.vec3):
    """Three vectors whose products with a sample are its barycentric coordinates, times one number; and that number's
    sign, which is that of the side that one sees.

    Neighbors compute their common edge from the same numbers: no sample between them is missed.
    """
    bc = wp.cross(b, c)
    side = wp.dot(a, bc)
    sign = wp.where(side < 0.0, -1.0, 1.0)
    return sign * bc, sign * wp.cross(c, a), sign * wp.cross(a, b), side


@wp.func
def pixels_to(edge: wp.vec3, value: float):
    """How far a sample is from an edge, in samples."""
    return value / wp.max(wp.sqrt(edge[0] * edge[0] + edge[1] * edge[1]), 1.0e-30)


@wp.func
def draw_triangle(
    view: View,
    a: wp.vec4,
    b: wp.vec4,
    c: wp.vec4,
    box: wp.vec4i,
    wire: float,
    keys: wp.array2d(dtype=wp.uint64),
    t: int,
):
    """The samples of a box that lie in a triangle; with `wire` only those so near to an edge."""
    ea, eb, ec, side = edges_of(homogeneous(a), homogeneous(b), homogeneous(c))
    if side == 0.0:
        return
    for row in range(box[1], box[3]):
        for column in range(box[0], box[2]):
            at = wp.vec3(float(column) + 0.5, float(row) + 0.5, 1.0)
            wa = wp.dot(ea, at)
            wb = wp.dot(eb, at)
            wc = wp.dot(ec, at)
            total = wa + wb + wc
            if wa >= 0.0 and wb >= 0.0 and wc >= 0.0 and total > 0.0:
                shown = bool(True)
                if wire > 0.0:
                    nearest = wp.min(pixels_to(ea, wa), wp.min(pixels_to(eb, wb), pixels_to(ec, wc)))
                    shown = nearest <= wire
                if shown:
                    put(view, keys, column, row, (wa * a[3] + wb * b[3] + wc * c[3]) / total, t)


@wp.func
def strip_of(box: wp.vec4i, strip: int):
    """The part of a box in a strip of rows."""
    first = wp.max(box[1], strip * STRIP)
    return wp.vec4i(box[0], first, box[2], wp.min(box[3], (strip + 1) * STRIP))


@wp.func
def is_large(box: wp.vec4i):
    return (box[2] - box[0]) * (box[3] - box[1]) > LARGE


@wp.func
def triangle_on_screen(view: View, mesh: Triangles, t: int, culls: bool):
    """Corners on the screen and the samples of their bounds; none where nothing is to be seen."""
    pa, pb, pc, _owner, _corner = corners_of(mesh, t)
    a = on_screen(view, pa)
    b = on_screen(view, pb)
    c = on_screen(view, pc)
    box = samples_in(view, with_corner(view, with_corner(view, with_corner(view, nothing_yet(), a), b), c))
    if wp.max(a[3], wp.max(b[3], c[3])) < view.near or wp.min(a[3], wp.min(b[3], c[3])) > view.far:
        box = wp.vec4i(0, 0, 0, 0)
    # Rows count downwards: what turns left in space turns right here.
    if culls and wp.dot(homogeneous(a), wp.cross(homogeneous(b), homogeneous(c))) > 0.0:
        box = wp.vec4i(0, 0, 0, 0)
    return a, b, c, box


@wp.kernel(enable_backward=False)
def draw_triangles(
    view: View,
    mesh: Triangles,
    culls: bool,
    wire: float,
    keys: wp.array2d(dtype=wp.uint64),
    count: wp.array(dtype=int),
    large: wp.array(dtype=int),
):
    t = wp.tid()
    a, b, c, box = triangle_on_screen(view, mesh, t, culls)
    if is_large(box):
        large[wp.atomic_add(count, 0, 1)] = t
    else:
        draw_triangle(view, a, b, c, box, wire, keys, t)


@wp.kernel(enable_backward=False)
def draw_large_triangles(
    view: View,
    mesh: Triangles,
    culls: bool,
    wire: float,
    keys: wp.array2d(dtype=wp.uint64),
    count: wp.array(dtype=int),
    large: wp.array(dtype=int),
):
    n_strips = (view.height + STRIP - 1) // STRIP
    for i in range(wp.tid(), count[0] * n_strips, WORKERS):
        t = large[i // n_strips]
        a, b, c, box = triangle_on_screen(view, mesh, t, culls)
        draw_triangle(view, a, b, c, strip_of(box, i % n_strips), wire, keys, t)


@wp.func
def sphere_hit(start: wp.vec3, direction: wp.vec3, center: wp.vec3, radius: float):
    """How far along a ray it enters a sphere; negative where it does not."""
    to = center - start
    along = wp.dot(to, direction)
    beside = to - along * direction
    inside = radius * radius - wp.dot(beside, beside)
    if inside < 0.0:
        return -1.0
    return along - wp.sqrt(inside)


@wp.func
def capsule_hit(start: wp.vec3, direction: wp.vec3, begin: wp.vec3, end: wp.vec3, radius: float):
    """How far along a ray it enters a capsule; negative where it does not."""
    best = sphere_hit(start, direction, begin, radius)
    other = sphere_hit(start, direction, end, radius)
    if other >= 0.0 and (best < 0.0 or other < best):
        best = other
    length = wp.length(end - begin)
    if length > 0.0:
        axis = (end - begin) / length
        to = begin - start
        beside = to - wp.dot(to, axis) * axis
        across = direction - wp.dot(direction, axis) * axis
        steepness = wp.dot(across, across)
        if steepness > 1.0e-12:
            nearest = wp.dot(beside, across) / steepness
            off = beside - nearest * across
            inside = radius * radius - wp.dot(off, off)
            if inside >= 0.0:
                t = nearest - wp.sqrt(inside / steepness)
                height = wp.dot(start + t * direction - begin, axis)
                if t >= 0.0 and height >= 0.0 and height <= length and (best < 0.0 or t < best):
                    best = t
    return best


@wp.func
def solid_box(view: View, shapes: Spheres, i: int):
    r = wp.vec3(shapes.radii[i])
    return box_on_screen(view, shapes.centers[i] - r, shapes.centers[i] + r)


@wp.func
def solid_hit(shapes: Spheres, i: int, start: wp.vec3, direction: wp.vec3):
    return sphere_hit(start, direction, shapes.centers[i], shapes.radii[i])


@wp.func
def solid_box(view: View, shapes: Capsules, i: int):  # noqa: F811 - an overload
    r = wp.vec3(shapes.radii[i])
    a = shapes.begins[i]
    b = shapes.ends[i]
    return box_on_screen(view, wp.min(a, b) - r, wp.max(a, b) + r)


@wp.func
def solid_hit(shapes: Capsules, i: int, start: wp.vec3, direction: wp.vec3):  # noqa: F811 - an overload
    return capsule_hit(start, direction, shapes.begins[i], shapes.ends[i], shapes.radii[i])


@wp.func
def draw_solid(view: View, shapes: Any, first: int, i: int, box: wp.vec4i, keys: wp.array2d(dtype=wp.uint64)):
    for row in range(box[1], box[3]):
        for column in range(box[0], box[2]):
            start, direction = ray_of(view, float(column) + 0.5, float(row) + 0.5)
            t = solid_hit(shapes, i, start, direction)
            if t >= 0.0:
                p = start + t * direction
                put(view, keys, column, row, wp.dot(view.depth, wp.vec4(p[0], p[1], p[2], 1.0)), first + i)


@wp.kernel(enable_backward=False)
def draw_solids(
    view: View,
    shapes: Any,
    first: int,
    keys: wp.array2d(dtype=wp.uint64),
    count: wp.array(dtype=int),
    large: wp.array(dtype=int),
):
    i = wp.tid()
    box = solid_box(view, shapes, i)
    if is_large(box):
        large[wp.atomic_add(count, 0, 1)] = i
    else:
        draw_solid(view, shapes, first, i, box, keys)


@wp.kernel(enable_backward=False)
def draw_large_solids(
    view: View,
    shapes: Any,
    first: int,
    keys: wp.array2d(dtype=wp.uint64),
    count: wp.array(dtype=int),
    large: wp.array(dtype=int),
):
    n_strips = (view.height + STRIP - 1) // STRIP
    for k in range(wp.tid(), count[0] * n_strips, WORKERS):
        i = large[k // n_strips]
        draw_solid(view, shapes, first, i, strip_of(solid_box(view, shapes, i), k % n_strips), keys)
