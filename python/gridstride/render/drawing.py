"""The methods of `OpenGLRenderer` that put things into a scene.

All of them take a name: what has it is changed, else it is new. `pos` is (x, y, z), `rot` a quaternion (x, y, z, w);
`parent_body` names a body that the thing moves with; with `is_template` a shape is made, and no instance of it yet.
They return the number of the shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gridstride as wp
from gridstride.render import scene, shapes
from gridstride.render.instances import Instances, palette

_UPRIGHT = (0.0, 0.0, 0.0, 1.0)
_GROUND = (200 / 255, 200 / 255, 200 / 255), (150 / 255, 150 / 255, 150 / 255)


def turn_between(begin: Any, end: Any) -> tuple[float, ...]:
    """The quaternion that turns one direction into another."""
    a, b = (np.asarray(one, float) / np.linalg.norm(one) for one in (begin, end))
    if np.dot(a, b) < -0.999999:
        across = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        return (*(across / np.linalg.norm(across)), 0.0)
    made = np.array([*np.cross(a, b), 1.0 + np.dot(a, b)])
    return tuple(made / np.linalg.norm(made))


class Drawing(Instances):
    """Shapes, meshes, points and lines."""

    _camera_axis: int

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self._points: dict[str, scene.Points] = {}
        self._lines: dict[str, scene.Lines] = {}

    def _render(
        self,
        name: str,
        key: tuple[Any, ...],
        make: Callable[[], shapes.Geometry],
        place: tuple[Any, Any],
        parent_body: Any,
        is_template: bool,
        colors: tuple[Any, Any],
        visible: bool,
    ) -> int:
        """An instance of a solid, which is made where none of its sizes is known."""
        shape = self._shape_geo_hash.get(key)
        if shape is None:
            shape = self._add_shape(key, make(), *colors)
        known = self._instances.get(name)
        if is_template:
            return shape
        if known is not None and known.shape == shape:
            self.update_shape_instance(name, *place, *colors, visible=visible)
        else:
            self.add_shape_instance(
                name, shape, parent_body, *place, color1=colors[0], color2=colors[1], visible=visible
            )
        return shape

    def render_plane(
        self,
        name: str,
        pos: Any,
        rot: Any,
        width: float,
        length: float,
        color: Any = (1.0, 1.0, 1.0),
        color2: Any = None,
        parent_body: str | None = None,
        is_template: bool = False,
        u_scaling: float = 1.0,
        v_scaling: float = 1.0,
        visible: bool = True,
    ) -> int:
        """A rectangle across y, which reaches as far as `width` and `length` along x and z; 0 is 100."""
        width, length = (extent if extent > 0.0 else 100.0 for extent in (width, length))
        key = ("plane", width, length, u_scaling, v_scaling)
        colors = (color, tuple(np.clip(np.asarray(color) + 0.25, 0.0, 1.0)) if color2 is None else color2)
        return self._render(
            name, key, lambda: shapes.plane(*key[1:]), (pos, rot), parent_body, is_template, colors, visible
        )

    def render_ground(self, size: float = 1000.0, plane: Any = None) -> int:
        """The ground: a plane across the axis that is up, or (nx, ny, nz, d), d along its normal from the origin."""
        normal, distance = np.eye(3)[self._camera_axis], 0.0
        if plane is not None:
            normal = np.asarray(plane[:3], float) / np.linalg.norm(plane[:3])
            distance = float(plane[3])
        rot = turn_between((0.0, 1.0, 0.0), normal)
        return self.render_plane("ground", distance * normal, rot, size, size, *_GROUND)

    def render_sphere(
        self,
        name: str,
        pos: Any,
        rot: Any,
        radius: float,
        parent_body: str | None = None,
        is_template: bool = False,
        color: Any = None,
        visible: bool = True,
    ) -> int:
        """A sphere."""
        key = ("sphere", radius)
        return self._render(
            name, key, lambda: shapes.sphere(radius), (pos, rot), parent_body, is_template, (color, color), visible
        )

    def render_capsule(
        self,
        name: str,
        pos: Any,
        rot: Any,
        radius: float,
        half_height: float,
        parent_body: str | None = None,
        is_template: bool = False,
        up_axis: int = 1,
        color: Any = None,
        visible: bool = True,
    ) -> int:
        """A cylinder along an axis with half spheres on its ends."""
        key = ("capsule", radius, half_height, up_axis)
        make = lambda: shapes.capsule(radius, half_height, up_axis)  # noqa: E731
        return self._render(name, key, make, (pos, rot), parent_body, is_template, (color, color), visible)

    def render_cylinder(
        self,
        name: str,
        pos: Any,
        rot: Any,
        radius: float,
        half_height: float,
        parent_body: str | None = None,
        is_template: bool = False,
        up_axis: int = 1,
        color: Any = None,
        visible: bool = True,
    ) -> int:
        """A cylinder along an axis."""
        key = ("cylinder", radius, half_height, up_axis)
        make = lambda: shapes.cylinder(radius, half_height, up_axis)  # noqa: E731
        return self._render(name, key, make, (pos, rot), parent_body, is_template, (color, color), visible)

    def render_cone(
        self,
        name: str,
        pos: Any,
        rot: Any,
        radius: float,
        half_height: float,
        parent_body: str | None = None,
        is_template: bool = False,
        up_axis: int = 1,
        color: Any = None,
        visible: bool = True,
    ) -> int:
        """A cone along an axis."""
        key = ("cone", radius, half_height, up_axis)
        make = lambda: shapes.cone(radius, half_height, up_axis)  # noqa: E731
        return self._render(name, key, make, (pos, rot), parent_body, is_template, (color, color), visible)

    def render_box(
        self,
        name: str,
        pos: Any,
        rot: Any,
        extents: Any,
        parent_body: str | None = None,
        is_template: bool = False,
        color: Any = None,
        visible: bool = True,
    ) -> int:
        """A box that reaches as far as `extents` along each axis."""
        key = ("box", *(float(extent) for extent in extents))
        make = lambda: shapes.box(key[1:])  # noqa: E731
        return self._render(name, key, make, (pos, rot), parent_body, is_template, (color, color), visible)

    def render_arrow(
        self,
        name: str,
        pos: Any,
        rot: Any,
        base_radius: float,
        base_height: float,
        cap_radius: float | None = None,
        cap_height: float | None = None,
        parent_body: str | None = None,
        is_template: bool = False,
        up_axis: int = 1,
        color: Any = None,
        visible: bool = True,
    ) -> int:
        """An arrow along an axis: a shaft from `pos`, and a tip."""
        key = ("arrow", base_radius, base_height, cap_radius, cap_height, up_axis)
        make = lambda: shapes.arrow(*key[1:])  # noqa: E731
        return self._render(name, key, make, (pos, rot), parent_body, is_template, (color, color), visible)

    def render_mesh(
        self,
        name: str,
        points: Any,
        indices: Any,
        colors: Any = None,
        pos: Any = (0.0, 0.0, 0.0),
        rot: Any = _UPRIGHT,
        scale: Any = (1.0, 1.0, 1.0),
        update_topology: bool = False,
        parent_body: str | None = None,
        is_template: bool = False,
        smooth_shading: bool = True,
        visible: bool = True,
    ) -> int:
        """A mesh of triangles.

        Args:
            points: Its vertices, (n, 3) numbers or an array of `vec3`.
            indices: Three vertices a face, flat or (m, 3), counterclockwise from outside. Of a mesh that is known they
                are read again with `update_topology` only; otherwise its vertices move.
            colors: One color, three numbers.
            smooth_shading: Whether faces share the normals of their corners.

        Raises:
            ValueError: An index that is none of the points', or a number of indices that is not divisible by three.
        """
        if not update_topology and name in self._instances:
            # The shape is the third of an instance's parts.
            shape = self._instances[name][2]
            self.update_shape_instance(name, pos, rot, color1=colors, color2=colors, scale=scale, visible=visible)
            self.update_shape_vertices(shape, points)
            return shape
        rows = np.asarray(points.numpy() if isinstance(points, wp.array) else points, np.float32)
        faces = np.array(indices.numpy() if isinstance(indices, wp.array) else indices)
        limit = min(len(rows), 2**31)
        if faces.size and not (faces.min() >= 0 and faces.max() < limit):
            raise ValueError(
                f"indices of a mesh are in the range [0, {limit}), found those from {faces.min()} to {faces.max()}"
            )
        faces = faces.astype(np.int32).reshape(-1, 3)
        key = ("mesh", rows.tobytes(), faces.tobytes(), smooth_shading)
        shape = self._shape_geo_hash.get(key)
        # A mesh that has an instance of its own moves by itself: others that look like it now do not share it.
        if shape is None or any(one[2] == shape for other, one in self._instances.items() if other != name):
            shape = self.register_shape(key, rows, faces, smooth=smooth_shading)
        if not is_template:
            self._replace_mesh(name, shape)
            self.add_shape_instance(name, shape, parent_body, pos, rot, scale, colors, colors, visible=visible)
        return shape

    def _replace_mesh(self, name: str, shape: int) -> None:
        """Removes the mesh that an instance showed before, where nothing else shows it."""
        known = self._instances.get(name)
        if known is not None and known.shape != shape:
            self.remove_shape_instance(name)
            if all(one.shape != known.shape for one in self._instances.values()):
                self.deregister_shape(known.shape)

    def render_ref(self, name: str, path: str, pos: Any, rot: Any, scale: Any, color: Any = None) -> None:
        """Another instance of what is in the scene under the name `path`. Raises `KeyError` where nothing is."""
        known = self._instances[path]
        first, second = (known.color, known.second_color) if color is None else (color, color)
        self.add_shape_instance(name, known.shape, known.body, pos, rot, scale or known.scale, first, second)

    def render_points(
        self, name: str, points: Any, radius: Any, colors: Any = None, as_spheres: bool = True, visible: bool = True
    ) -> None:
        """Points, as balls.

        Args:
            points: (n, 3) numbers, or an array of `vec3` on any device; read when the frame is drawn.
            radius: One number, or one a point.
            colors: One color, or (n, 3) of them.
            as_spheres: Either way points are balls.
        """
        n, device = len(points), self._device
        if n == 0:
            self._points.pop(name, None)
            return
        known = self._points.get(name)
        centers = points if isinstance(points, wp.array) else wp.array(points, dtype=wp.vec3, device=device)
        radii = self._a_point_each(radius, n, wp.float32)
        if colors is not None:
            shades = self._a_point_each(colors, n, wp.vec3)
        elif known is not None and len(known.colors) == n:
            shades = known.colors
        else:
            shades = self._a_point_each(palette(len(self._points)), n, wp.vec3)
        self._points[name] = scene.Points(centers.to(device), radii, shades, visible)

    def _a_point_each(self, values: Any, n: int, dtype: Any) -> Any:
        """One value a point, from as many or from one."""
        if isinstance(values, wp.array):
            return values.to(self._device)
        rows = np.asarray(values, np.float32).reshape(-1, dtype._length_)
        if len(rows) not in (1, n):
            raise ValueError(f"one value, or one for each of {n} points, not {len(rows)}")
        rows = np.broadcast_to(rows, (n, dtype._length_))
        return wp.array(rows if dtype._length_ > 1 else rows[:, 0], dtype=dtype, device=self._device)

    def render_line_list(
        self, name: str, vertices: Any, indices: Any, color: Any = None, radius: float = 0.01, visible: bool = True
    ) -> None:
        """Lines between pairs of vertices, (n, 3) numbers or an array of `vec3`; two indices a line."""
        rows = self._positions(vertices)
        pairs = np.asarray(indices.numpy() if isinstance(indices, wp.array) else indices, np.int64).reshape(-1, 2)
        self._render_lines(name, rows[pairs[:, 0]], rows[pairs[:, 1]], color, radius, visible)

    def render_line_strip(
        self, name: str, vertices: Any, color: Any = None, radius: float = 0.01, visible: bool = True
    ) -> None:
        """A line through vertices, (n, 3) numbers or an array of `vec3`."""
        rows = self._positions(vertices)
        self._render_lines(name, rows[:-1], rows[1:], color, radius, visible)

    @staticmethod
    def _positions(vertices: Any) -> np.ndarray:
        return np.asarray(vertices.numpy() if isinstance(vertices, wp.array) else vertices, np.float32).reshape(-1, 3)

    def _render_lines(self, name: str, begins: Any, ends: Any, color: Any, radius: float, visible: bool) -> None:
        n = len(begins)
        if n == 0:
            self._lines.pop(name, None)
            return
        shades = np.asarray(palette(len(self._lines)) if color is None else color, np.float32).reshape(-1, 3)
        radii = np.full(n, radius, np.float32)
        self._lines[name] = scene.lines_of(self._device, begins, ends, radii, np.broadcast_to(shades, (n, 3)), visible)
