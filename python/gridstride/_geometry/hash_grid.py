"""`wp.HashGrid`: points sorted by the cells of a grid, for queries by distance.

    >>> import numpy as np
    >>> points = wp.array(np.random.default_rng(0).random((100, 3), dtype=np.float32), dtype=wp.vec3)
    >>> grid = wp.HashGrid(16, 16, 16)
    >>> grid.build(points, radius=0.1)

Kernels query it by `grid.id`; the queries are in `gridstride/lib/hash_grid.py`. The points are sorted on the device
where they are: by the host's threads (`crates/geometry`), on a GPU by the radix sort of `gridstride._parallel`.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

from gridstride import _array, _builtins, _create, _device, _host_graph, _kernel, _launch, _memory, _native, _types
from gridstride._builtins import table
from gridstride._geometry import records, structs
from gridstride._named import named

tid = table["tid"]
uint32, uint64 = _types.uint32, _types.uint64
hash_grid_cell = _builtins.Builtin("_hash_grid_cell")
_POINTS = {
    _types.float16: named["vec3h"],
    _types.float32: named["vec3f"],
    _types.float64: named["vec3d"],
}
_MAX_CELLS = 2**31 - 1


class HashGrid:
    """A grid of cells that repeats in space, for finding the points near a point.

    Args:
        dim_x, dim_y, dim_z: Cells along each axis. More cells than points cost memory, fewer bring far points together.
        device: Where points will be; the default device where it is left out.
        dtype: `float16`, `float32` (the default) or `float64`: the scalar of the points.

    Attributes: `id` (an int, for kernels), `device`, `dtype`, `groups` (those of the last build), `reserved` (whether
    there is memory for points).

    Raises:
        RuntimeError: Dimensions that are not positive, or 2**31 cells and more.
        TypeError: Dimensions that are no integers; another `dtype`.
    """

    id: Any = None

    @_memory.made_for("hashgrid")
    def __init__(self, dim_x: int, dim_y: int, dim_z: int, device: Any = None, dtype: Any = None) -> None:
        self.dtype = _types.float32 if dtype in (None, float) else dtype
        if self.dtype not in _POINTS:
            raise TypeError(f"Unsupported dtype {dtype} for HashGrid. Supported types: float16, float32, float64")
        try:
            self._dims = tuple(operator.index(dim) for dim in (dim_x, dim_y, dim_z))
        except TypeError:
            raise TypeError("HashGrid dimensions must be integers") from None
        n_cells = self._dims[0] * self._dims[1] * self._dims[2]
        if min(self._dims) <= 0:
            raise RuntimeError("Hash grid dimensions must be positive")
        if n_cells > _MAX_CELLS:
            text = f"{dim_x} * {dim_y} * {dim_z} = {n_cells} > {_MAX_CELLS}"
            raise RuntimeError(f"Hash grid cell count exceeds supported limit: {text}")
        self.device = _device.get_device(device)
        self.groups: Any = None
        self.reserved = False
        self._n_cells = n_cells
        self._keys: Any = None
        self._wide_keys: Any = None
        self._ids: Any = None
        self._sorted_groups: Any = None
        self._starts: Any = None
        self._record = records.Record(records.HASH_GRID, self.device)
        self._record.write(structs.HashGridData())
        self.id = self._record.id

    def build(self, points: Any, radius: float, groups: Any = None) -> None:
        """Sorts points into cells; queries see them until the next build. The order within a cell is that of `points`.

        Args:
            points: An array of `vec3` of the grid's scalar, of any shape.
            radius: Width of a cell; about that of the queries is fast.
            groups: An int32 a point: `hash_grid_query` with a group finds the points of that group alone.

        Raises:
            RuntimeError: Arrays on another device; groups of another type or length.
            TypeError: Points of another type.
            ValueError: A radius that is not positive.
        """
        wanted = _POINTS[self.dtype]
        if points.dtype is not wanted:
            raise TypeError(f"Hash grid points should have type {wanted.__name__}, got {points.dtype}")
        if not radius > 0.0:
            raise ValueError(f"Hash grid cell width must be positive, got {radius}")
        self._check_device("points", points)
        if groups is not None:
            if groups.dtype is not _types.int32:
                raise RuntimeError("groups should be an array of type wp.int32")
            self._check_device("groups", groups)
            if groups.size != points.size:
                raise RuntimeError("groups must have the same length as points")
        self.groups = groups
        graph = _host_graph.active
        run = functools.partial(self._build, points, float(radius), groups)
        if graph is not None and not self.device.is_cuda:
            graph.add("HashGrid.build", run)
        else:
            run()
        self.reserved = True

    def reserve(self, num_points: int, with_groups: bool = False) -> None:
        """Makes room for points, so that later builds of as many allocate nothing.

        Args:
            num_points: How many.
            with_groups: Whether builds will have groups.

        Raises:
            NotImplementedError: While a graph on the CPU is captured.
        """
        if _host_graph.active is not None and not self.device.is_cuda:
            raise NotImplementedError(
                "HashGrid.reserve() cannot be called during CPU graph capture; reserve before capture"
            )
        self._reserve(num_points, with_groups)
        self.reserved = True

    def _check_device(self, name: str, one: Any) -> None:
        if _device.memory_of(one.device) is not _device.memory_of(self.device):
            raise RuntimeError(f"{name} must live on the same device as this HashGrid")

    @_memory.made_for("hashgrid")
    def _reserve(self, n: int, with_groups: bool) -> None:
        # A sort on a GPU goes forth and back between two halves.
        room = 2 * n if self.device.is_cuda else n
        self._starts = self._starts or _create.empty(self._n_cells + 1, _types.int32, self.device)
        if self._ids is None or self._ids.size < room:
            self._ids = _create.empty(room, _types.int32, self.device)
        if with_groups:
            if self._wide_keys is None or self._wide_keys.size < room:
                self._wide_keys = _create.empty(room, _types.uint64, self.device)
                self._sorted_groups = _create.empty(n, _types.int32, self.device)
        elif self._keys is None or self._keys.size < room:
            self._keys = _create.empty(room, _types.uint32, self.device)

    def _build(self, points: Any, radius: float, groups: Any) -> None:
        n = points.size
        self._record.note_change()
        self._reserve(n, groups is not None)
        points = _flat(points)
        per_width = self.dtype(1.0 / self.dtype(radius).value)
        if groups is None:
            keys = self._keys
            self._run(cell_keys, n, [points, per_width, *self._dims], [keys])
        else:
            keys = self._wide_keys
            self._run(cell_and_group_keys, n, [points, _flat(groups), per_width, *self._dims], [keys])
        if self.device.is_cuda:
            self._sort_on_device(keys, n)
        else:
            _native.sort_by_cell(keys[:n], self._ids[:n], self._starts)
        if groups is not None:
            self._run(groups_of_keys, n, [keys], [self._sorted_groups])
        value = structs.HashGridData()
        value.dim_x, value.dim_y, value.dim_z = self._dims
        value.n_points = n
        value.cell_width_inv = per_width.value
        value.point_ids, value.cell_starts = self._ids[:n], self._starts
        value.point_groups = None if groups is None else self._sorted_groups[:n]
        self._record.write(value)

    def _sort_on_device(self, keys: Any, n: int) -> None:
        from gridstride._parallel import sort

        shift = 32 if keys is self._wide_keys else 0
        bits = range(shift + max(1, (self._n_cells - 1).bit_length()))
        self._run(numbers, n, [], [self._ids])
        if n:
            sort.sort_pairs(keys, self._ids, n, bits, "u", self.device)
        self._run(starts_in_keys, self._n_cells + 1, [keys, keys.dtype(shift), n], [self._starts])

    def _run(self, kernel: Any, n: int, inputs: list[Any], outputs: list[Any]) -> None:
        _launch.launch(kernel, n, inputs, outputs, device=self.device, record_tape=False)

    def __del__(self) -> None:
        if self.id is not None:
            self._record.release()


def _flat(one: Any) -> Any:
    return one if one.ndim == 1 else one.contiguous().flatten()


@_kernel.kernel(enable_backward=False)
def cell_keys(points: Any, per_width: Any, dim_x: int, dim_y: int, dim_z: int, keys: _array.array(dtype=uint32)):
    i = tid()
    keys[i] = uint32(hash_grid_cell(points[i], per_width, dim_x, dim_y, dim_z))


@_kernel.kernel(enable_backward=False)
def cell_and_group_keys(
    points: Any,
    groups: _array.array(dtype=int),
    per_width: Any,
    dim_x: int,
    dim_y: int,
    dim_z: int,
    keys: _array.array(dtype=uint64),
):
    i = tid()
    cell = hash_grid_cell(points[i], per_width, dim_x, dim_y, dim_z)
    # Groups in their order as signed numbers.
    keys[i] = uint64(cell) << uint64(32) | uint64(uint32(groups[i]) ^ uint32(0x80000000))


@_kernel.kernel(enable_backward=False)
def groups_of_keys(keys: _array.array(dtype=uint64), groups: _array.array(dtype=int)):
    i = tid()
    groups[i] = int(uint32(keys[i] & uint64(0xFFFFFFFF)) ^ uint32(0x80000000))


@_kernel.kernel(enable_backward=False)
def numbers(ids: _array.array(dtype=int)):
    i = tid()
    ids[i] = i


@_kernel.kernel(enable_backward=False)
def starts_in_keys(keys: Any, shift: Any, n: int, starts: _array.array(dtype=int)):
    cell = tid()
    lo = int(0)
    hi = n
    while lo < hi:
        mid = lo + (hi - lo) // 2
        if keys[mid] >> shift < keys.dtype(cell):
            lo = mid + 1
        else:
            hi = mid
    starts[cell] = lo
