"""What a picture shows, on the device that draws it: meshes and their instances, points, lines.

In: meshes, and instances of them by name, as the renderer's methods give them. Out: the structs that `raster` draws.
Meshes lie in the arrays one after the other; they are put there anew when one is added, and only copied when its points
moved.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import gridstride as wp
from gridstride.render import raster, shapes


class Shape(NamedTuple):
    """A mesh on the device. `normals` is None for one whose faces are flat."""

    vertices: Any
    normals: Any
    uvs: Any
    corners: Any
    color: tuple[float, ...]
    second_color: tuple[float, ...]
    key: Any


class Instance(NamedTuple):
    """A shape in the scene."""

    number: int
    body: int
    shape: int
    # Position, then rotation as x, y, z, w.
    place: tuple[float, ...]
    scale: tuple[float, ...]
    color: tuple[float, ...]
    second_color: tuple[float, ...]
    visible: bool
    custom_index: int


class Points(NamedTuple):
    """Balls of one name: their centers, radii and colors on the device."""

    centers: Any
    radii: Any
    colors: Any
    visible: bool


class Lines(NamedTuple):
    """Lines of one name."""

    begins: Any
    ends: Any
    radii: Any
    colors: Any
    visible: bool


@wp.kernel(enable_backward=False)
def add_face_normals(
    vertices: wp.array(dtype=wp.vec3), corners: wp.array(dtype=wp.vec3i), normals: wp.array(dtype=wp.vec3)
):
    """To the corners of a face its normal, by area."""
    c = corners[wp.tid()]
    normal = wp.cross(vertices[c[1]] - vertices[c[0]], vertices[c[2]] - vertices[c[0]])
    for k in range(3):
        wp.atomic_add(normals, c[k], normal)


@wp.kernel(enable_backward=False)
def place(
    bodies: wp.array(dtype=int),
    poses: wp.array(dtype=wp.transform),
    locals: wp.array(dtype=wp.transform),
    transforms: wp.array(dtype=wp.transform),
):
    """An instance moves with its body, where that has a pose."""
    i = wp.tid()
    body = bodies[i]
    transforms[i] = locals[i]
    if body >= 0 and body < poses.shape[0]:
        transforms[i] = wp.transform_multiply(poses[body], locals[i])


def shape_of(device: Any, mesh: shapes.Geometry, colors: tuple[Any, Any], key: Any, smooth: bool = True) -> Shape:
    """A mesh as a shape on a device."""
    corners = wp.array(mesh.corners, dtype=wp.vec3i, device=device)
    normals = wp.array(mesh.normals, dtype=wp.vec3, device=device) if smooth else None
    vertices, uvs = wp.array(mesh.vertices, dtype=wp.vec3, device=device), wp.array(mesh.uvs, wp.vec2, device=device)
    return Shape(vertices, normals, uvs, corners, *colors, key)


def smooth_normals(shape: Shape) -> None:
    """Makes normals anew from where the vertices are."""
    shape.normals.zero_()
    inputs = [shape.vertices, shape.corners]
    wp.launch(
        add_face_normals, len(shape.corners), inputs, [shape.normals], device=shape.vertices.device, record_tape=False
    )


def lines_of(device: Any, begins: Any, ends: Any, radii: Any, colors: Any, visible: bool) -> Lines:
    """Lines on a device, from NumPy's arrays."""
    arrays = ((begins, wp.vec3), (ends, wp.vec3), (radii, wp.float32), (colors, wp.vec3))
    return Lines(*(wp.array(one, dtype=dtype, device=device) for one, dtype in arrays), visible)


class Meshes:
    """The meshes of a scene in one piece, and instances of them."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.poses = wp.zeros(0, dtype=wp.transform, device=device)
        self._firsts: dict[int, tuple[int, int]] = {}
        self._arrays: tuple[Any, ...] = ()

    def gather(self, known: dict[int, Shape]) -> None:
        """Puts all meshes one after the other."""
        self._firsts, n_vertices, n_faces = {}, 0, 0
        parts: list[list[Any]] = [[], [], [], []]
        for number, shape in known.items():
            self._firsts[number] = (n_vertices, n_faces)
            faces = shape.corners.numpy().reshape(-1, 3) + n_vertices
            normals = np.zeros((len(shape.vertices), 3), np.float32) if shape.normals is None else shape.normals.numpy()
            for part, one in zip(parts, (shape.vertices.numpy(), normals, shape.uvs.numpy(), faces), strict=True):
                part.append(one)
            n_vertices, n_faces = n_vertices + len(shape.vertices), n_faces + len(shape.corners)
        types = (wp.vec3, wp.vec3, wp.vec2, wp.vec3i)
        self._arrays = tuple(
            wp.array(np.concatenate(part) if part else np.zeros((0, ty._length_)), dtype=ty, device=self.device)
            for part, ty in zip(parts, types, strict=True)
        )

    def moved(self, number: int, shape: Shape) -> None:
        """Copies the vertices of one mesh to where they are drawn from."""
        if number in self._firsts:
            first = self._firsts[number][0]
            wp.copy(self._arrays[0], shape.vertices, dest_offset=first)
            if shape.normals is not None:
                wp.copy(self._arrays[1], shape.normals, dest_offset=first)

    def triangles(self, known: dict[int, Shape], instances: list[Instance]) -> tuple[Any, int]:
        """What `raster` draws of these instances, and how many triangles that is."""
        counts = np.array([len(known[one.shape].corners) for one in instances], np.int32)
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int32)
        drawn = raster.Triangles()
        drawn.vertices, drawn.normals, drawn.uvs, drawn.corners = self._arrays

        def array(values: Any, dtype: Any) -> Any:
            shape = (len(instances), dtype._length_) if dtype._length_ > 1 else (len(instances),)
            return wp.array(np.asarray(values).reshape(shape), dtype=dtype, device=self.device)

        owners = np.repeat(np.arange(len(instances), dtype=np.int32), counts)
        drawn.owners = wp.array(owners, dtype=int, device=self.device)
        drawn.starts = array(starts[:-1], wp.int32)
        drawn.firsts = array([self._firsts[one.shape][1] for one in instances], wp.int32)
        drawn.scales = array([one.scale for one in instances], wp.vec3)
        drawn.colors = array([one.color for one in instances], wp.vec3)
        drawn.second_colors = array([one.second_color for one in instances], wp.vec3)
        drawn.is_smooth = array([known[one.shape].normals is not None for one in instances], wp.bool)
        bodies = array([one.body for one in instances], wp.int32)
        locals_ = array([one.place for one in instances], wp.transform)
        drawn.transforms = wp.empty(len(instances), dtype=wp.transform, device=self.device)
        inputs = [bodies, self.poses, locals_]
        wp.launch(place, len(instances), inputs, [drawn.transforms], device=self.device, record_tape=False)
        return drawn, int(starts[-1])


def _joined(groups: list[Any], names: tuple[str, ...], types: tuple[Any, ...], device: Any) -> list[Any]:
    """The arrays of all groups, one after the other; those of a single group themselves."""
    if len(groups) == 1:
        return [getattr(groups[0], name) for name in names]
    total = sum(len(getattr(one, names[0])) for one in groups)
    made = []
    for name, dtype in zip(names, types, strict=True):
        array, at = wp.empty(total, dtype=dtype, device=device), 0
        for one in groups:
            part = getattr(one, name)
            wp.copy(array, part, dest_offset=at)
            at += len(part)
        made.append(array)
    return made


def spheres(groups: list[Points], device: Any) -> tuple[Any, int]:
    """All points as `raster` draws them, and how many they are."""
    drawn = raster.Spheres()
    names, types = ("centers", "radii", "colors"), (wp.vec3, wp.float32, wp.vec3)
    drawn.centers, drawn.radii, drawn.colors = _joined(groups, names, types, device)
    return drawn, len(drawn.centers)


def capsules(groups: list[Lines], device: Any) -> tuple[Any, int]:
    """All lines as `raster` draws them, and how many they are."""
    drawn = raster.Capsules()
    names, types = ("begins", "ends", "radii", "colors"), (wp.vec3, wp.vec3, wp.float32, wp.vec3)
    drawn.begins, drawn.ends, drawn.radii, drawn.colors = _joined(groups, names, types, device)
    return drawn, len(drawn.begins)
