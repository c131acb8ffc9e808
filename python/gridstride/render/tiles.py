"""Several views in one picture, each of its own instances: what `OpenGLRenderer` has of tiles, and how pixels are read.

A view fills a rectangle of the picture, counted from its lower left corner as in OpenGL.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gridstride as wp
from gridstride.render import camera


@wp.kernel(enable_backward=False)
def read_colors(
    source: wp.array2d(dtype=wp.vec3ub), places: wp.array(dtype=wp.vec2i), most: float, pixels: wp.array4d(dtype=Any)
):
    """Colors, divided by `most`, of rectangles with upper left corners `places`; black outside of the picture."""
    tile, y, x = wp.tid()
    row = places[tile][0] + y
    column = places[tile][1] + x
    color = wp.vec3ub()
    if row >= 0 and column >= 0 and row < source.shape[0] and column < source.shape[1]:
        color = source[row, column]
    for channel in range(3):
        pixels[tile, y, x, channel] = pixels.dtype(float(color[channel]) / most)


@wp.kernel(enable_backward=False)
def read_depths(
    source: wp.array2d(dtype=float), places: wp.array(dtype=wp.vec2i), far: float, pixels: wp.array4d(dtype=float)
):
    """Depths of rectangles, `far` outside of the picture."""
    tile, y, x = wp.tid()
    row = places[tile][0] + y
    column = places[tile][1] + x
    depth = far
    if row >= 0 and column >= 0 and row < source.shape[0] and column < source.shape[1]:
        depth = source[row, column]
    pixels[tile, y, x, 0] = depth


def _matrix(given: Any) -> np.ndarray | None:
    """A matrix of a view, from 16 numbers column by column, as OpenGL has them, flat or 4 by 4."""
    if given is None:
        return None
    made = np.asarray(given, np.float32)
    if made.size != 16:
        raise ValueError(f"a matrix of a view has 16 numbers, not {made.size}")
    return made.reshape(4, 4).T


class TiledRendering:
    """The part of a renderer that splits its picture into tiles."""

    screen_width: int
    screen_height: int
    camera_fov: float
    camera_near_plane: float
    camera_far_plane: float
    _colors: Any
    _depths: Any

    def __init__(self) -> None:
        self._tiled_rendering = False
        self._tile_instances: Any = None
        self._tile_viewports: Any = None
        self._tile_width: int | None = None
        self._tile_height: int | None = None
        self._tile_projections: list[Any] = []
        self._tile_views: list[Any] = []

    def _resize(self, width: int, height: int) -> None:
        raise NotImplementedError

    @property
    def tiled_rendering(self) -> bool:
        """Whether the picture is drawn by tiles. Assigning True before `setup_tiled_rendering` is a RuntimeError."""
        return self._tiled_rendering

    @tiled_rendering.setter
    def tiled_rendering(self, value: bool) -> None:
        if value and self._tile_instances is None:
            raise RuntimeError("Tiled rendering is not set up. Call setup_tiled_rendering() first.")
        self._tiled_rendering = value

    @property
    def num_tiles(self) -> int:
        """How many tiles there are."""
        return len(self._tile_instances or ())

    @property
    def tile_width(self) -> int | None:
        """Width of all tiles in pixels; None where they differ, or there are none."""
        return self._tile_width

    @property
    def tile_height(self) -> int | None:
        """Height of all tiles in pixels; None where they differ, or there are none."""
        return self._tile_height

    def setup_tiled_rendering(
        self,
        instances: list[list[int]],
        rescale_window: bool = False,
        tile_width: int | None = None,
        tile_height: int | None = None,
        tile_ncols: int | None = None,
        tile_nrows: int | None = None,
        tile_positions: list[tuple[int, int]] | None = None,
        tile_sizes: list[tuple[int, int]] | None = None,
        projection_matrices: list[Any] | None = None,
        view_matrices: list[Any] | None = None,
    ) -> None:
        """Splits the picture into tiles that show different instances, through cameras of their own or the common one.

        Args:
            instances: For each tile the numbers of the instances that it shows, as `add_shape_instance` gave them.
            rescale_window: Give the picture the size of all tiles.
            tile_width, tile_height: Of each tile; by default tiles fill the picture.
            tile_ncols, tile_nrows: How tiles are arranged; by default in a square. Tiles go up the columns.
            tile_positions, tile_sizes: Instead of all that, (x, y) from the lower left corner, and (width, height).
            projection_matrices, view_matrices: For each tile 16 numbers by columns, or None for the renderer's camera.

        Raises:
            TypeError: `instances` is no list of lists.
            ValueError: No tiles, or lists of different lengths.
        """
        if not isinstance(instances, list):
            raise TypeError(f"instances must be a list of lists, got {type(instances).__name__}")
        if not instances:
            raise ValueError(f"instances must be non-empty, got {instances!r}")
        for index, item in enumerate(instances):
            if not isinstance(item, list):
                raise TypeError(f"instances elements must be lists, got {type(item).__name__} at index {index}")
        n = len(instances)
        if tile_positions is None or tile_sizes is None:
            n_columns = tile_ncols or int(np.ceil(np.sqrt(n)))
            n_rows = tile_nrows or -(-n // n_columns)
            if n_columns * n_rows < n:
                raise ValueError(f"{n_columns} columns and {n_rows} rows are fewer tiles than the {n} of instances")
            self._tile_width = tile_width or max(32, self.screen_width // n_columns)
            self._tile_height = tile_height or max(32, self.screen_height // n_rows)
            size = self._tile_width, self._tile_height
            viewports = [(size[0] * (i // n_rows), size[1] * (i % n_rows), *size) for i in range(n)]
            if rescale_window:
                self._resize(n_columns * size[0], n_rows * size[1])
        else:
            if len(tile_positions) != n or len(tile_sizes) != n:
                raise ValueError(
                    f"tile_positions and tile_sizes must each contain {n} entries to match instances, "
                    f"got {len(tile_positions)} positions and {len(tile_sizes)} sizes"
                )
            viewports = [(*position, *size) for position, size in zip(tile_positions, tile_sizes, strict=True)]
            widths, heights = {w for w, _ in tile_sizes}, {h for _, h in tile_sizes}
            self._tile_width = widths.pop() if len(widths) == 1 else None
            self._tile_height = heights.pop() if len(heights) == 1 else None
        for name, given in (("projection_matrices", projection_matrices), ("view_matrices", view_matrices)):
            if given is not None and len(given) != n:
                raise ValueError(f"{name} must contain {n} entries to match instances, got {len(given)}")
        self._tile_instances, self._tile_viewports = instances, viewports
        self._tile_projections = [_matrix(one) for one in projection_matrices or [None] * n]
        self._tile_views = [_matrix(one) for one in view_matrices or [None] * n]
        self._tiled_rendering = True

    def update_tile(
        self,
        tile_id: int,
        instances: list[int] | None = None,
        projection_matrix: Any = None,
        view_matrix: Any = None,
        tile_size: tuple[int, int] | None = None,
        tile_position: tuple[int, int] | None = None,
    ) -> None:
        """Changes what is given of one tile; see `setup_tiled_rendering`.

        Raises:
            IndexError: There is no such tile.
            RuntimeError: Tiles were not set up.
        """
        if self._tile_instances is None:
            raise RuntimeError(
                "update_tile() requires setup_tiled_rendering() to be called first, got no tile instances"
            )
        n = len(self._tile_instances)
        if not 0 <= tile_id < n:
            raise IndexError(f"tile_id {tile_id} is out of bounds for {n} {'tile' if n == 1 else 'tiles'}")
        if instances is not None:
            self._tile_instances[tile_id] = instances
        if projection_matrix is not None:
            self._tile_projections[tile_id] = _matrix(projection_matrix)
        if view_matrix is not None:
            self._tile_views[tile_id] = _matrix(view_matrix)
        x, y, width, height = self._tile_viewports[tile_id]
        width, height = tile_size or (width, height)
        self._tile_viewports[tile_id] = (*(tile_position or (x, y)), width, height)

    def _tile_projection(self, tile: int) -> np.ndarray:
        found = self._tile_projections[tile]
        if found is not None:
            return found
        _, _, width, height = self._tile_viewports[tile]
        return camera.perspective(self.camera_fov, width / height, self.camera_near_plane, self.camera_far_plane)

    def get_pixels(
        self, target_image: Any, split_up_tiles: bool = True, mode: str = "rgb", use_uint8: bool = False
    ) -> bool:
        """Copies the last frame into an array, which may be on any device.

        Args:
            target_image: Float32, or uint8 with `use_uint8`: (num_tiles, tile_height, tile_width, channels), or without
                `split_up_tiles` (screen_height, screen_width, channels): 3 of colors, 1 of depth. Rows go down.
            split_up_tiles: Read each tile by itself.
            mode: "rgb": colors from 0 to 1. "depth": distances along the view, the far plane's where nothing is.
            use_uint8: Colors from 0 to 255.

        Returns:
            True.

        Raises:
            RuntimeError: Tiles are asked for that were not set up, or that differ in size.
            ValueError: Another shape, element type or mode.
        """
        if mode not in ("rgb", "depth"):
            raise ValueError(f'mode is "rgb" or "depth", not {mode!r}')
        viewports, size = self._rectangles(split_up_tiles)
        shape = (*((len(viewports),) if split_up_tiles else ()), *size, 3 if mode == "rgb" else 1)
        if target_image.shape != shape:
            raise ValueError(f"target_image shape must be {shape}, got {target_image.shape}")
        dtype = wp.uint8 if use_uint8 and mode == "rgb" else wp.float32
        if target_image.dtype is not dtype:
            raise ValueError(f"target_image must be of {dtype.__name__}, got {target_image.dtype.__name__}")
        device = self._colors.device
        there = target_image if target_image.device == device else wp.empty(shape, dtype=dtype, device=device)
        tiles = there if split_up_tiles else there.reshape((1, *shape))
        corners = [(self.screen_height - y - h, x) for x, y, _, h in viewports]
        places = wp.array(np.array(corners, np.int32).reshape(-1, 2), dtype=wp.vec2i, device=device)
        kernel, source, last = read_depths, self._depths, self.camera_far_plane
        if mode == "rgb":
            kernel, source, last = read_colors, self._colors, 1.0 if use_uint8 else 255.0
        inputs = [source, places, last]
        wp.launch(kernel, tiles.shape[:3], inputs, [tiles], device=device, record_tape=False)
        if there is not target_image:
            wp.copy(target_image, there)
        return True

    def _rectangles(self, split_up_tiles: bool) -> tuple[list[tuple[int, ...]], tuple[int, int]]:
        """The rectangles to read, (x, y, width, height), and the height and width that all have."""
        if not split_up_tiles:
            size = self.screen_height, self.screen_width
            return [(0, 0, size[1], size[0])], size
        if self._tile_viewports is None:
            raise RuntimeError(
                "get_pixels() requires setup_tiled_rendering() when split_up_tiles=True, got no tile viewports"
            )
        sizes = {(h, w) for _, _, w, h in self._tile_viewports}
        if len(sizes) > 1:
            raise RuntimeError(f"tiles of one size are read together, these have (height, width) {sorted(sizes)}")
        return list(self._tile_viewports), sizes.pop()
