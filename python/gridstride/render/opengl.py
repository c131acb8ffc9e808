"""`OpenGLRenderer`: Warp's renderer by name and methods, without OpenGL: kernels draw into arrays, on any device.

There is no window, so nothing is shown or waited for; frames are read by `get_pixels` and saved by `save_image`. What
is drawn stays until it is given anew under the same name, as in Warp.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import gridstride as wp
from gridstride.render import camera, png, raster, scene, shading
from gridstride.render.drawing import Drawing
from gridstride.render.instances import numbers
from gridstride.render.tiles import TiledRendering

# How far from the origin the grid's lines go.
_GRID_EXTENT = 20.0


class OpenGLRenderer(Drawing, TiledRendering):
    """Draws scenes of shapes, meshes, points and lines into memory.

    Args:
        title: Of the window in Warp.
        scaling: Of the scene; the camera stays where it is.
        fps: Frames a second, for `time` without a time given.
        up_axis: "X", "Y" or "Z", or its number.
        screen_width, screen_height: Of the picture, in pixels.
        near_plane, far_plane: What is nearer or farther is not drawn.
        camera_fov: Degrees that the camera sees vertically.
        camera_pos, camera_front, camera_up: The camera, in axes of which y is up whatever `up_axis` is, as in Warp.
        background_color: Of the sky, as three numbers from 0 to 1.
        draw_grid, draw_sky, draw_axis: Lines on the ground, a sky, and the axes at the origin.
        show_info, vsync, enable_mouse_interaction, enable_keyboard_interaction, use_legacy_opengl: Of windows.
        render_wireframe: Draw the edges of triangles only.
        render_depth: Let `save_image` show distances in shades of gray.
        axis_scale: Length of the axes.
        headless: None or True; there are no windows.
        enable_backface_culling: Leave out the faces of meshes that are seen from behind.
        device: Draws, and holds what is drawn; by default the default device.
        n_samples: Samples of a pixel along each axis: edges are smooth with 2.

    Raises:
        NotImplementedError: `headless=False`.
        ValueError: Sizes or planes that are not positive, a camera without a direction.
    """

    def __init__(
        self,
        title: str = "Gridstride",
        scaling: float = 1.0,
        fps: int = 60,
        up_axis: str | int = "Y",
        screen_width: int = 1024,
        screen_height: int = 768,
        near_plane: float = 1.0,
        far_plane: float = 100.0,
        camera_fov: float = 45.0,
        camera_pos: Any = (0.0, 2.0, 10.0),
        camera_front: Any = (0.0, 0.0, -1.0),
        camera_up: Any = (0.0, 1.0, 0.0),
        background_color: Any = (0.53, 0.8, 0.92),
        draw_grid: bool = True,
        draw_sky: bool = True,
        draw_axis: bool = True,
        show_info: bool = True,
        render_wireframe: bool = False,
        render_depth: bool = False,
        axis_scale: float = 1.0,
        vsync: bool = False,
        headless: bool | None = None,
        enable_backface_culling: bool = True,
        enable_mouse_interaction: bool = True,
        enable_keyboard_interaction: bool = True,
        device: Any = None,
        use_legacy_opengl: bool | None = None,
        n_samples: int = 2,
    ) -> None:
        if headless is False:
            raise NotImplementedError(
                "there are no windows: use headless=True, read frames with get_pixels() or save them with save_image()"
            )
        if not 0.0 < near_plane < far_plane:
            raise ValueError(f"planes must be positive, the far one behind the near one: {near_plane}, {far_plane}")
        Drawing.__init__(self, wp.get_device(device))
        TiledRendering.__init__(self)
        self.title, self.headless, self.show_info = title, True, show_info
        self.camera_near_plane, self.camera_far_plane, self.camera_fov = near_plane, far_plane, camera_fov
        self.background_color = background_color
        self.draw_grid, self.draw_sky, self.draw_axis = draw_grid, draw_sky, draw_axis
        self.render_wireframe, self.render_depth = render_wireframe, render_depth
        self.enable_backface_culling = enable_backface_culling
        self.skip_rendering = self.paused = False
        self.scaling, self.axis_scale, self.n_samples = scaling, axis_scale, n_samples
        self._frame_dt, self.time, self._start_time = 1.0 / fps, 0.0, time.time()
        self._camera_axis = up_axis if isinstance(up_axis, int) else "XYZ".index(up_axis.upper())
        self._is_running = True
        self.update_view_matrix(camera_pos, camera_front, camera_up)
        self._resize(screen_width, screen_height)

    def _resize(self, width: int, height: int) -> None:
        if width < 1 or height < 1:
            raise ValueError(f"a picture has at least one pixel, not {width} by {height}")
        self.screen_width, self.screen_height, n = width, height, self.n_samples
        self._keys = wp.empty((height * n, width * n), dtype=wp.uint64, device=self._device)
        self._colors = wp.zeros((height, width), dtype=wp.vec3ub, device=self._device)
        self._depths = wp.full((height, width), self.camera_far_plane, dtype=float, device=self._device)
        self.update_projection_matrix()

    # The camera.

    @property
    def camera_pos(self) -> Any:
        """Where the camera is. Assignable, as are its directions."""
        return wp.vec3(*self._camera[0])

    @camera_pos.setter
    def camera_pos(self, value: Any) -> None:
        self.update_view_matrix(cam_pos=value)

    @property
    def camera_front(self) -> Any:
        """Where the camera looks."""
        return wp.vec3(*self._camera[1])

    @camera_front.setter
    def camera_front(self, value: Any) -> None:
        self.update_view_matrix(cam_front=value)

    @property
    def camera_up(self) -> Any:
        """What is up in the picture."""
        return wp.vec3(*self._camera[2])

    @camera_up.setter
    def camera_up(self, value: Any) -> None:
        self.update_view_matrix(cam_up=value)

    @staticmethod
    def compute_projection_matrix(fov: float, aspect_ratio: float, near_plane: float, far_plane: float) -> np.ndarray:
        """The 16 numbers of a projection, by columns: degrees seen vertically, width by height, and the planes."""
        return camera.perspective(fov, aspect_ratio, near_plane, far_plane).T.flatten()

    def update_projection_matrix(self) -> None:
        """Follows changes of `camera_fov` and of the planes."""
        aspect_ratio = self.screen_width / self.screen_height
        self._projection = camera.perspective(
            self.camera_fov, aspect_ratio, self.camera_near_plane, self.camera_far_plane
        )

    def compute_view_matrix(self, cam_pos: Any, cam_front: Any, cam_up: Any) -> np.ndarray:
        """The 16 numbers of a view, by columns; for points of the scene, scaled."""
        axes = camera.axes_of(self._camera_axis)
        return camera.look_at(*(axes @ numbers(one, 3) for one in (cam_pos, cam_front, cam_up))).T.flatten()

    def update_view_matrix(
        self, cam_pos: Any = None, cam_front: Any = None, cam_up: Any = None, stiffness: float = 1.0
    ) -> None:
        """Moves the camera: all the way, or with a `stiffness` below 1 a part of it."""
        known = getattr(self, "_camera", None)
        given = (cam_pos, cam_front, cam_up)
        if known is None:
            known = tuple(np.zeros(3) for _ in given)
        self._camera = tuple(
            old if new is None else (1.0 - stiffness) * old + stiffness * np.array(numbers(new, 3))
            for old, new in zip(known, given, strict=True)
        )
        self._view = self.compute_view_matrix(*self._camera).reshape(4, 4).T

    # Frames.

    @property
    def clock_time(self) -> float:
        """Seconds since the renderer was made."""
        return time.time() - self._start_time

    def begin_frame(self, t: float | None = None) -> None:
        """Begins a frame at a time in seconds; by default `clock_time`."""
        self.time = self.clock_time if t is None else t

    def end_frame(self) -> None:
        """Draws the frame, unless `skip_rendering` is set."""
        if not self.skip_rendering:
            self.update()

    def update(self) -> None:
        """Draws the scene as it is now."""
        self._keys.fill_(raster.EMPTY)
        self._depths.fill_(self.camera_far_plane)
        if not self._tiled_rendering:
            whole = (0, 0, self.screen_width, self.screen_height)
            self._draw(whole, self._projection, self._view, None)
            return
        self._colors.fill_(wp.vec3ub(*(round(255.0 * part) for part in numbers(self.background_color, 3))))
        for i, viewport in enumerate(self._tile_viewports):
            view = self._view if self._tile_views[i] is None else self._tile_views[i]
            self._draw(viewport, self._tile_projection(i), view, self._tile_instances[i])

    def _draw(self, viewport: tuple[int, ...], projection: Any, view_matrix: Any, chosen: list[int] | None) -> None:
        """Draws all, or the instances with the numbers that are chosen, into a rectangle of the picture."""
        view = self._view_of(viewport, projection, view_matrix)
        mesh, n_triangles = self._drawn(chosen)
        balls, n_balls = scene.spheres(self._shown(self._points, chosen), self._device)
        lines, n_lines = scene.capsules(self._shown(self._lines, chosen) + self._axes(chosen), self._device)
        wire = 0.6 * self.n_samples if self.render_wireframe else 0.0
        options = [self.enable_backface_culling and not self.render_wireframe, wire, self._keys]
        self._launch(raster.draw_triangles, raster.draw_large_triangles, n_triangles, [view, mesh, *options])
        for solids, n, first in ((balls, n_balls, n_triangles), (lines, n_lines, n_triangles + n_balls)):
            self._launch(raster.draw_solids, raster.draw_large_solids, n, [view, solids, first, self._keys])
        counts = wp.vec2i(n_triangles, n_balls)
        inputs = [view, self._look(), mesh, balls, lines, counts, self._keys]
        size = viewport[3], viewport[2]
        wp.launch(shading.shade, size, inputs, [self._colors, self._depths], device=self._device, record_tape=False)

    def _launch(self, kernel: Any, large_kernel: Any, n: int, inputs: list[Any]) -> None:
        if n:
            count = wp.zeros(1, dtype=int, device=self._device)
            large = wp.empty(n, dtype=int, device=self._device)
            for one, threads in ((kernel, n), (large_kernel, raster.WORKERS)):
                wp.launch(one, threads, [*inputs, count, large], device=self._device, record_tape=False)

    def _view_of(self, viewport: tuple[int, ...], projection: Any, view_matrix: Any) -> Any:
        x, y, width, height = viewport
        scaled = np.asarray(view_matrix, np.float64) @ np.diag([self.scaling] * 3 + [1.0])
        matrix = np.asarray(projection, np.float64) @ scaled
        view, n = raster.View(), self.n_samples
        view.matrix, view.inverse = wp.mat44(matrix), wp.mat44(np.linalg.inv(matrix))
        view.depth = wp.vec4(*-scaled[2])
        view.near, view.far = self.camera_near_plane, self.camera_far_plane
        view.width, view.height = n * width, n * height
        view.sample = 2.0 / (float(projection[1, 1]) * view.height)
        view.left, view.top = n * x, n * (self.screen_height - y - height)
        return view

    def _look(self) -> Any:
        look, axes = shading.Look(), camera.axes_of(self._camera_axis)
        look.background = numbers(self.background_color, 3)
        look.has_sky, look.has_grid, look.grid_extent = self.draw_sky, self.draw_grid, _GRID_EXTENT
        look.up, look.side = axes @ (0.0, 1.0, 0.0), axes @ (1.0, 0.0, 0.0)
        look.sun = wp.normalize(wp.vec3(axes @ (0.3, 0.9, 0.5)))
        look.second_light = wp.normalize(wp.vec3(axes @ (1.0, 0.3, -0.3)))
        look.n_samples = self.n_samples
        return look

    @staticmethod
    def _shown(groups: dict[str, Any], chosen: list[int] | None) -> list[Any]:
        return [one for one in groups.values() if one.visible] if chosen is None else []

    def _axes(self, chosen: list[int] | None) -> list[scene.Lines]:
        if not self.draw_axis or chosen is not None:
            return []
        ends = np.eye(3) * (self.axis_scale / self.scaling)
        radii = np.full(3, 0.02 * self.axis_scale / self.scaling)
        return [scene.lines_of(self._device, np.zeros((3, 3)), ends, radii, np.eye(3), True)]

    def save_image(self, path: str | Path) -> Path:
        """Writes the last frame to a PNG file; with `render_depth` distances, near ones bright."""
        pixels = self._colors.numpy()
        if self.render_depth:
            near, far = self.camera_near_plane, self.camera_far_plane
            shades = np.sqrt(np.clip((far - self._depths.numpy()) / (far - near), 0.0, 1.0))
            pixels = np.repeat((255.0 * shades).astype(np.uint8)[..., None], 3, axis=2)
        return png.save(path, pixels)

    def save(self) -> None:
        """Returns at once: there is no window to wait for."""

    def is_running(self) -> bool:
        """True until `close` is called."""
        return self._is_running

    @property
    def has_exit(self) -> bool:
        """Whether `close` was called."""
        return not self._is_running

    def clear(self) -> None:
        """Empties the scene."""
        Drawing.__init__(self, self._device)
        TiledRendering.__init__(self)

    def close(self) -> None:
        """Empties the scene and ends `is_running`."""
        self.clear()
        self._is_running = False
