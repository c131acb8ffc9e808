"""The part of `OpenGLRenderer` that knows shapes, instances of them by name, and bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

import gridstride as wp
from gridstride.render import scene, shapes

# The ten colors of Tableau, which plots have too.
_PALETTE = ["1f77b4", "ff7f0e", "2ca02c", "d62728", "9467bd", "8c564b", "e377c2", "7f7f7f", "bcbd22", "17becf"]


def palette(i: int) -> tuple[float, ...]:
    """Color number `i`; after ten they come again."""
    code = _PALETTE[i % len(_PALETTE)]
    return tuple(int(code[at : at + 2], 16) / 255.0 for at in (0, 2, 4))


def numbers(values: Any, n: int) -> tuple[float, ...]:
    """`n` floats from a vector, an array or a sequence. Raises `ValueError` for another number of them."""
    values = values.numpy() if isinstance(values, wp.array) else values
    made = tuple(float(value) for value in np.asarray(list(values), float).reshape(-1))
    if len(made) != n:
        raise ValueError(f"expected {n} numbers, got {len(made)}")
    return made


class Instances:
    """Shapes and their instances."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._meshes = scene.Meshes(device)
        # By number; numbers are not given twice.
        self._shapes: dict[int, scene.Shape] = {}
        self._n_shapes = self._n_instances = 0
        # Numbers of shapes by what they were made of.
        self._shape_geo_hash: dict[Any, int] = {}
        self._instances: dict[str, scene.Instance] = {}
        self._body_name: dict[str, int] = {}
        self._is_gathered = False

    @property
    def num_shapes(self) -> int:
        """How many shapes there are."""
        return len(self._shapes)

    @property
    def num_instances(self) -> int:
        """How many instances of shapes there are."""
        return len(self._instances)

    def register_shape(
        self, geo_hash: Any, vertices: Any, indices: Any, color1: Any = None, color2: Any = None, smooth: bool = True
    ) -> int:
        """Adds a mesh.

        Args:
            geo_hash: Stands for the mesh, anything that can be a key of a dict.
            vertices: (n, 8): position, normal, and two coordinates of the checkered pattern. Or (n, 3): positions.
            indices: Three vertices a face, counterclockwise from outside.
            color1, color2: Of the fields of the pattern; by default a color of a palette, and a brighter one.
            smooth: Whether shades follow the vertices' normals instead of the faces'.

        Returns:
            The number of the shape.
        """
        rows = np.asarray(vertices, np.float32)
        n = len(rows)
        has_normals = rows.shape[1] > 3
        normals = rows[:, 3:6] if has_normals else np.zeros((n, 3), np.float32)
        uvs = rows[:, 6:8] if has_normals else np.zeros((n, 2), np.float32)
        corners = np.asarray(indices, np.int32).reshape(-1, 3)
        mesh = shapes.Geometry(*(np.ascontiguousarray(part) for part in (rows[:, :3], normals, uvs, corners)))
        number = self._add_shape(geo_hash, mesh, color1, color2, smooth)
        if smooth and not has_normals:
            scene.smooth_normals(self._shapes[number])
        return number

    def _add_shape(self, key: Any, mesh: shapes.Geometry, color1: Any, color2: Any, smooth: bool = True) -> int:
        first = palette(self._n_shapes) if color1 is None else numbers(color1, 3)
        second = tuple(min(part + 0.25, 1.0) for part in first) if color2 is None else numbers(color2, 3)
        number = self._n_shapes
        self._n_shapes += 1
        self._shapes[number] = scene.shape_of(self._device, mesh, (first, second), key, smooth)
        self._shape_geo_hash[key] = number
        self._is_gathered = False
        return number

    def deregister_shape(self, shape: int) -> None:
        """Removes a shape; its instances go too."""
        found = self._shapes.pop(shape, None)
        if found is None:
            return
        self._shape_geo_hash.pop(found.key, None)
        for name in [name for name, one in self._instances.items() if one.shape == shape]:
            self.remove_shape_instance(name)
        self._is_gathered = False

    def add_shape_instance(
        self,
        name: str,
        shape: int,
        body: Any,
        pos: Any,
        rot: Any,
        scale: Any = (1.0, 1.0, 1.0),
        color1: Any = None,
        color2: Any = None,
        custom_index: int = -1,
        visible: bool = True,
    ) -> int:
        """Puts a shape into the scene; an instance of that name is replaced.

        Args:
            name: Of the instance.
            shape: Number of a shape, as the methods that draw shapes return it.
            body: A body's name or number, which the instance moves with; None for none.
            pos, rot, scale: (x, y, z); a quaternion (x, y, z, w); (x, y, z).
            color1, color2: Instead of the shape's.
            custom_index: A number of the program's own.
            visible: False: kept, and not drawn.

        Returns:
            The number of the instance, for `setup_tiled_rendering`.

        Raises:
            KeyError: There is no such shape or body.
        """
        known = self._shapes[shape]
        number = self._n_instances
        self._n_instances += 1
        self._instances[name] = scene.Instance(
            number,
            self._resolve_body_id(body),
            shape,
            numbers(pos, 3) + numbers(rot, 4),
            numbers(scale, 3),
            known.color if color1 is None else numbers(color1, 3),
            known.second_color if color2 is None else numbers(color2, 3),
            visible,
            custom_index,
        )
        return number

    def remove_shape_instance(self, name: str) -> None:
        """Removes the instance of that name, if there is one."""
        self._instances.pop(name, None)

    def update_shape_instance(
        self,
        name: str,
        pos: Any = None,
        rot: Any = None,
        color1: Any = None,
        color2: Any = None,
        scale: Any = None,
        visible: bool | None = None,
    ) -> bool:
        """Changes what is given of an instance; False where there is none of that name."""
        found = self._instances.get(name)
        if found is None:
            return False
        self._instances[name] = found._replace(
            place=(found.place[:3] if pos is None else numbers(pos, 3))
            + (found.place[3:] if rot is None else numbers(rot, 4)),
            scale=found.scale if scale is None else numbers(scale, 3),
            color=found.color if color1 is None else numbers(color1, 3),
            second_color=found.second_color if color2 is None else numbers(color2, 3),
            visible=found.visible if visible is None else visible,
        )
        return True

    def update_shape_vertices(self, shape: int, points: Any) -> None:
        """Moves the vertices of a shape, and makes its normals anew.

        Args:
            shape: Number of the shape.
            points: As many as it has: an array of `vec3` on any device, or (n, 3) numbers.

        Raises:
            ValueError: Another number of points.
        """
        known = self._shapes[shape]
        moved = points if isinstance(points, wp.array) else wp.array(points, dtype=wp.vec3, device=self._device)
        if len(moved) != len(known.vertices):
            raise ValueError(f"the shape has {len(known.vertices)} vertices, not {len(moved)}")
        wp.copy(known.vertices, moved)
        if known.normals is not None:
            scene.smooth_normals(known)
        self._meshes.moved(shape, known)

    def register_body(self, name: str) -> int:
        """The number of a body that instances can move with; a new one for a new name."""
        return self._body_name.setdefault(name, len(self._body_name))

    def _resolve_body_id(self, body: Any) -> int:
        if body is None:
            return -1
        return body if isinstance(body, int) else self._body_name[body]

    def update_body_transforms(self, body_tf: Any) -> None:
        """Gives bodies their poses, an array of `transform` by the numbers of bodies; None for none."""
        n = 0 if body_tf is None else len(body_tf)
        if len(self._meshes.poses) != n:
            self._meshes.poses = wp.empty(n, dtype=wp.transform, device=self._device)
        if n:
            wp.copy(self._meshes.poses, body_tf)

    def _drawn(self, chosen: list[int] | None) -> tuple[Any, int]:
        """The triangles of all visible instances, or of those with the numbers that are chosen."""
        if not self._is_gathered:
            self._meshes.gather(self._shapes)
            self._is_gathered = True
        instances = [one for one in self._instances.values() if one.visible]
        if chosen is not None:
            wanted = set(chosen)
            instances = [one for one in instances if one.number in wanted]
        return self._meshes.triangles(self._shapes, instances)
