"""`UsdRenderer`: writes scenes that change with time as a USD file, which Blender, usdview and Omniverse open.

    >>> renderer = gridstride.render.UsdRenderer("drop.usda")  # doctest: +SKIP
    >>> for frame in range(60):  # doctest: +SKIP
    ...     renderer.begin_frame(frame / 60)
    ...     renderer.render_sphere("ball", (0.0, 2.0 - frame / 60, 0.0), (0.0, 0.0, 0.0, 1.0), 0.5)
    ...     renderer.end_frame()
    >>> renderer.save()  # doctest: +SKIP

The file is text; no other package is needed to write it. Names and arguments are Warp's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import gridstride as wp
from gridstride.render.drawing import turn_between
from gridstride.render.instances import numbers
from gridstride.render.usd_text import Prim, document

_AXES = "XYZ"
_ORDER = np.array(["xformOp:translate", "xformOp:orient", "xformOp:scale"])
_ONES = (1.0, 1.0, 1.0)


class UsdRenderer:
    """Keeps what is drawn, frame by frame, and writes it at `save`.

    Args:
        stage: Path of the file, `.usda` or `.usd`.
        up_axis: "X", "Y" or "Z".
        fps: Frames a second; times are rounded to frames.
        scaling: Of the scene.

    Raises:
        TypeError: `stage` is an object of USD's own library.
        ValueError: Another ending of the file's name, or another axis.
    """

    def __init__(self, stage: str | Path, up_axis: str = "Y", fps: int = 60, scaling: float = 1.0) -> None:
        if not isinstance(stage, (str, Path)):
            raise TypeError(
                f"the path of a file is expected: this writes USD files itself, not into a {type(stage).__name__}"
            )
        self.path = Path(stage)
        if self.path.suffix not in (".usda", ".usd"):
            raise ValueError(f"USD files are written as text, `.usda` or `.usd`, not `{self.path.suffix}`")
        self.up_axis = up_axis.upper()
        if self.up_axis not in ("X", "Y", "Z"):
            raise ValueError(f'up_axis is "X", "Y" or "Z", not {up_axis!r}')
        self.fps, self.time, self._end = float(fps), 0.0, 0.0
        self.root = Prim("Xform", "root")
        self._place(self.root, None, None, (scaling,) * 3)
        sun, dome = Prim("DistantLight", "distant_light"), Prim("DomeLight", "dome_light")
        sun.set("inputs:intensity", "float", 2000.0, 0.0)
        sun.set("xformOp:rotateXYZ", "float3", (-35.0, 45.0, 0.0), 0.0)
        sun.set("xformOpOrder", "uniform token[]", ["xformOp:rotateXYZ"], 0.0)
        dome.set("inputs:intensity", "float", 500.0, 0.0)
        self._prims = [self.root, dome, sun]

    def begin_frame(self, time: float) -> None:
        """Begins the frame of a time in seconds: what is drawn from now on changes then."""
        self.time = float(round(time * self.fps))
        self._end = max(self._end, self.time)

    def end_frame(self) -> None:
        """Ends the frame."""

    def register_body(self, body_name: str) -> None:
        """Makes a body, which is the parent of what is drawn with its name as `parent_body`."""
        self._place(self.root.child("Xform", body_name), None, None, None)

    def _prim(self, kind: str, name: str, parent_body: str | None = None, is_template: bool = False) -> Prim:
        if is_template:
            return self.root.child("Scope", "_template_shapes").child(kind, name, "class")
        if parent_body is None:
            return self.root.child(kind, name)
        if parent_body not in self.root.children:
            raise KeyError(f"there is no body `{parent_body}`: call register_body first")
        return self.root.children[parent_body].child(kind, name)

    def _place(self, prim: Prim, pos: Any, rot: Any, scale: Any) -> None:
        """Sets where a prim is; what is None is left, or as in the origin."""
        is_new = "xformOpOrder" not in prim.attributes
        for name, kind, value, default in (
            ("translate", "double3", pos, (0.0, 0.0, 0.0)),
            ("orient", "quatf", rot, (0.0, 0.0, 0.0, 1.0)),
            ("scale", "float3", scale, _ONES),
        ):
            if value is not None or is_new:
                parts = numbers(default if value is None else value, len(default))
                # The real part of a quaternion comes first in a file.
                parts = (parts[3], *parts[:3]) if len(parts) == 4 else parts
                prim.set(f"xformOp:{name}", kind, np.array(parts), self.time)
        prim.set("xformOpOrder", "uniform token[]", _ORDER, 0.0)

    def _show(self, prim: Prim, visible: bool, color: Any = None) -> None:
        prim.set("visibility", "token", "inherited" if visible else "invisible", self.time)
        if color is not None:
            prim.set("primvars:displayColor", "color3f[]", _rows(color), self.time, "constant")

    def _solid(
        self,
        kind: str,
        name: str,
        place: tuple[Any, Any, Any],
        sizes: dict[str, Any],
        parent_body: str | None,
        is_template: bool,
        color: Any,
        visible: bool,
    ) -> str:
        """One of USD's solids, whose sizes are attributes of their names."""
        prim = self._prim(kind, name, parent_body, is_template)
        for size, value in sizes.items():
            prim.set(size, "uniform token" if isinstance(value, str) else "double", value, self.time)
        if not is_template:
            self._place(prim, *place)
        elif place[2] is not None:
            self._place(prim, None, None, place[2])
        self._show(prim, visible, color)
        return prim.path

    def add_shape_instance(
        self,
        name: str,
        shape: str,
        body: str | None,
        pos: Any,
        rot: Any,
        scale: Any = _ONES,
        color1: Any = None,
        color2: Any = None,
        custom_index: int = -1,
        visible: bool = True,
    ) -> None:
        """Another one of a shape, by the path that the method which drew it returned; `body` is its parent.

        A color of its own is `color1`; `color2` and `custom_index` have no meaning in a file.
        """
        known = self.root
        for part in shape.split("/")[2:]:
            known = known.children[part]
        prim = self._prim(known.kind, name, body)
        prim.reference = f"<{shape}>"
        own = known.attributes.get("xformOp:scale")
        sizes = _ONES if own is None else next(iter(own.samples.values()))
        self._place(prim, pos, rot, np.multiply(numbers(scale, 3), sizes))
        self._show(prim, visible, color1)

    def render_plane(
        self,
        name: str,
        pos: Any,
        rot: Any,
        width: float,
        length: float,
        color: Any = None,
        color2: Any = None,
        parent_body: str | None = None,
        is_template: bool = False,
        u_scaling: float = 1.0,
        v_scaling: float = 1.0,
        visible: bool = True,
    ) -> str:
        """A rectangle across y, which reaches as far as `width` and `length` along x and z; 0 is 100. Of one color."""
        width, length = (extent if extent > 0.0 else 100.0 for extent in (width, length))
        prim = self._prim("Mesh", name, parent_body, is_template)
        corners = np.array([[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]]) * (width, 0.0, length)
        prim.set("points", "point3f[]", corners, self.time)
        prim.set("faceVertexCounts", "int[]", [4], self.time)
        prim.set("faceVertexIndices", "int[]", [0, 1, 2, 3], self.time)
        prim.set("doubleSided", "uniform bool", True, 0.0)
        if not is_template:
            self._place(prim, pos, rot, None)
        self._show(prim, visible, color)
        return prim.path

    def render_ground(self, size: float = 100.0, plane: Any = None) -> str:
        """The ground: a plane across the axis that is up, or (nx, ny, nz, d), d along its normal from the origin."""
        normal, distance = np.eye(3)[_AXES.index(self.up_axis)], 0.0
        if plane is not None:
            normal = np.asarray(plane[:3], float) / np.linalg.norm(plane[:3])
            distance = float(plane[3])
        rot = turn_between((0.0, 1.0, 0.0), normal)
        return self.render_plane("ground", distance * normal, rot, size, size, (0.7, 0.7, 0.7))

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
    ) -> str:
        """A sphere."""
        sizes = {"radius": radius}
        return self._solid("Sphere", name, (pos, rot, None), sizes, parent_body, is_template, color, visible)

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
    ) -> str:
        """A cylinder along an axis with half spheres on its ends."""
        sizes = {"axis": _AXES[up_axis], "radius": radius, "height": 2.0 * half_height}
        return self._solid("Capsule", name, (pos, rot, None), sizes, parent_body, is_template, color, visible)

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
    ) -> str:
        """A cylinder along an axis."""
        sizes = {"axis": _AXES[up_axis], "radius": radius, "height": 2.0 * half_height}
        return self._solid("Cylinder", name, (pos, rot, None), sizes, parent_body, is_template, color, visible)

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
    ) -> str:
        """A cone along an axis."""
        sizes = {"axis": _AXES[up_axis], "radius": radius, "height": 2.0 * half_height}
        return self._solid("Cone", name, (pos, rot, None), sizes, parent_body, is_template, color, visible)

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
    ) -> str:
        """A box that reaches as far as `extents` along each axis."""
        place = (pos, rot, extents)
        return self._solid("Cube", name, place, {"size": 2.0}, parent_body, is_template, color, visible)

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
    ) -> str:
        """An arrow along an axis: a shaft from `pos`, and a tip."""
        prim = self._prim("Xform", name, parent_body, is_template)
        cap_radius = 1.8 * base_radius if cap_radius is None else cap_radius
        cap_height = 0.18 * base_height if cap_height is None else cap_height
        parts = (
            ("Cylinder", "base", base_radius, base_height, 0.0),
            ("Cone", "cap", cap_radius, cap_height, base_height),
        )
        for kind, part, radius, height, bottom in parts:
            child = prim.child(kind, part)
            child.set("axis", "uniform token", _AXES[up_axis], 0.0)
            child.set("radius", "double", radius, self.time)
            child.set("height", "double", height, self.time)
            self._place(child, np.eye(3)[up_axis] * (bottom + height / 2.0), None, None)
            self._show(child, True, color)
        if not is_template:
            self._place(prim, pos, rot, None)
        self._show(prim, visible)
        return prim.path

    def render_ref(self, name: str, path: str, pos: Any, rot: Any, scale: Any, color: Any = None) -> str:
        """Another USD file, by its path as seen from this one."""
        prim = self._prim("Xform", name)
        prim.reference = f"@{path}@"
        self._place(prim, pos, rot, scale)
        self._show(prim, True, color)
        return prim.path

    def render_mesh(
        self,
        name: str,
        points: Any,
        indices: Any,
        colors: Any = None,
        pos: Any = (0.0, 0.0, 0.0),
        rot: Any = (0.0, 0.0, 0.0, 1.0),
        scale: Any = _ONES,
        update_topology: bool = False,
        parent_body: str | None = None,
        is_template: bool = False,
        smooth_shading: bool = True,
        visible: bool = True,
    ) -> str:
        """A mesh of triangles; its faces are read again with `update_topology` only. `colors`: one, or one a vertex."""
        prim = self._prim("Mesh", name, parent_body, is_template)
        rows = _rows(points)
        prim.set("points", "point3f[]", rows, self.time)
        if update_topology or "faceVertexIndices" not in prim.attributes:
            faces = np.asarray(indices.numpy() if isinstance(indices, wp.array) else indices, np.int64).ravel()
            prim.set("faceVertexIndices", "int[]", faces, self.time)
            prim.set("faceVertexCounts", "int[]", np.full(len(faces) // 3, 3), self.time)
        # Catmull-Clark surfaces are the default of files.
        prim.set("subdivisionScheme", "uniform token", "none", 0.0)
        self._colors(prim, colors, len(rows))
        if not is_template:
            self._place(prim, pos, rot, scale)
        self._show(prim, visible)
        return prim.path

    def _colors(self, prim: Prim, colors: Any, n: int) -> None:
        """One color, or one for each of `n` points."""
        if colors is None:
            return
        rows = _rows(colors)
        if len(rows) not in (1, n):
            raise ValueError(f"one color, or one for each of {n} points, not {len(rows)}")
        prim.set("primvars:displayColor", "color3f[]", rows, self.time, "constant" if len(rows) == 1 else "vertex")

    def render_points(
        self, name: str, points: Any, radius: Any, colors: Any = None, as_spheres: bool = True, visible: bool = True
    ) -> str:
        """Points as balls: instances of a sphere, or points with a width without `as_spheres`.

        `radius` and `colors` are one, or one a point; `points` (n, 3) numbers or an array of `vec3`.
        """
        rows = _rows(points)
        prim = self._prim("PointInstancer" if as_spheres else "Points", name)
        radii = np.asarray(radius.numpy() if isinstance(radius, wp.array) else radius, np.float64).ravel()
        radii = np.broadcast_to(radii, len(rows))
        if as_spheres:
            prim.targets["prototypes"] = prim.child("Sphere", "sphere").path
            prim.set("protoIndices", "int[]", np.zeros(len(rows), int), self.time)
            prim.set("positions", "point3f[]", rows, self.time)
            prim.set("scales", "float3[]", np.repeat(radii[:, None], 3, axis=1), self.time)
        else:
            prim.set("points", "point3f[]", rows, self.time)
            prim.set("widths", "float[]", 2.0 * radii, self.time, "vertex")
        self._colors(prim, colors, len(rows))
        self._show(prim, visible)
        return prim.path

    def render_line_list(
        self, name: str, vertices: Any, indices: Any, color: Any = None, radius: float = 0.01, visible: bool = True
    ) -> str:
        """Lines between pairs of vertices; two indices a line."""
        pairs = np.asarray(indices.numpy() if isinstance(indices, wp.array) else indices, np.int64).ravel()
        return self._curves(name, _rows(vertices)[pairs], np.full(len(pairs) // 2, 2), color, radius, visible)

    def render_line_strip(
        self, name: str, vertices: Any, color: Any = None, radius: float = 0.01, visible: bool = True
    ) -> str:
        """A line through vertices."""
        rows = _rows(vertices)
        return self._curves(name, rows, np.array([len(rows)]), color, radius, visible)

    def _curves(self, name: str, rows: Any, counts: Any, color: Any, radius: float, visible: bool) -> str:
        prim = self._prim("BasisCurves", name)
        prim.set("type", "uniform token", "linear", 0.0)
        prim.set("curveVertexCounts", "int[]", counts, self.time)
        prim.set("points", "point3f[]", rows, self.time)
        prim.set("widths", "float[]", [2.0 * radius], self.time, "constant")
        self._show(prim, visible, color)
        return prim.path

    def save(self) -> bool:
        """Writes the file, and returns True. Raises `OSError` where it cannot be written."""
        settings = {
            "defaultPrim": "root",
            "endTimeCode": self._end,
            "framesPerSecond": self.fps,
            "metersPerUnit": 1.0,
            "startTimeCode": 0.0,
            "timeCodesPerSecond": self.fps,
            "upAxis": self.up_axis,
        }
        with open(self.path, "w") as file:
            file.writelines(f"{line}\n" for line in document(self._prims, settings))
        return True


def _rows(values: Any) -> np.ndarray:
    """Points or colors, (n, 3)."""
    return np.asarray(values.numpy() if isinstance(values, wp.array) else values, np.float32).reshape(-1, 3)
