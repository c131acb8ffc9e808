"""Matrices from triplets (row, column, block), and new values for the same triplets without building again."""

from __future__ import annotations

from typing import Any

import gridstride as wp
from gridstride import _native
from gridstride._array import array
from gridstride.sparse import _build
from gridstride.sparse._create import bsr_zeros
from gridstride.sparse._matrix import BsrMatrix, components, run


class BsrTripletMap:
    """Which triplet went to which block: made by `bsr_set_from_triplets(…, build_mapping=…)`.

    Args:
        capacity: Triplets to make room for; it grows where it must.
        device: Where the map is.

    Attributes:
        triplet_count: Triplets that the map was built for; 0 before.
    """

    def __init__(self, capacity: int = 0, device: Any = None) -> None:
        self._device = wp.get_device(device)
        self.triplet_count = 0
        self._topology: tuple[Any, ...] | None = None
        self._allocate(capacity)

    @property
    def device(self) -> Any:
        """Where the map is."""
        return self._device

    @property
    def capacity(self) -> int:
        """Triplets that there is room for."""
        return self._blocks.size

    @property
    def _triplet_blocks(self) -> array:
        """The block of each triplet, or -1."""
        return self._blocks[: self.triplet_count]

    @property
    def _triplet_indices(self) -> array:
        """Triplets, by block."""
        return self._order[: self.triplet_count]

    @property
    def _block_ends(self) -> array:
        """Where each block's triplets end among `_triplet_indices`."""
        return self._ends[: self.triplet_count]

    def _allocate(self, capacity: int) -> None:
        self._blocks, self._order = (wp.empty(capacity, dtype=int, device=self._device) for _ in range(2))
        self._begin, self._ends = (wp.zeros(capacity, dtype=int, device=self._device) for _ in range(2))

    def _build(self, matrix: BsrMatrix, groups: _build.Groups, n: int) -> None:
        if self._device is not wp.get_device(matrix.device):
            raise ValueError(f"the map and the matrix must be on the same device, not {self._device}, {matrix.device}")
        if n > self.capacity:
            self._allocate(n)
        self.triplet_count = n
        self._topology = _topology(matrix)
        self._blocks.fill_(-1)
        if n:
            wp.copy(self._order, groups.order, count=n)
            wp.copy(self._begin, groups.begin, count=n)
            wp.copy(self._ends, groups.end, count=n)
        run(name_blocks, n, [self._order, self._begin, self._ends, self._blocks], self._device)

    def validate(self, dest: BsrMatrix) -> None:
        """Raises `ValueError` for another matrix's map, one that was not built, or after a change of structure.

        Sizes and arrays are compared, not what is in them.
        """
        if self._topology is None:
            raise ValueError("the triplet map has not been built: pass it to bsr_set_from_triplets as build_mapping")
        same = zip(self._topology, _topology(dest), strict=True)
        if not all(a is b if isinstance(a, array) else a == b for a, b in same):
            raise ValueError("the triplet map was built for a matrix of another structure")


def _topology(matrix: BsrMatrix) -> tuple[Any, ...]:
    return matrix.nrow, matrix.ncol, matrix.block_shape, matrix.offsets, matrix.row_counts, matrix.columns


@wp.kernel(enable_backward=False)
def name_blocks(
    order: wp.array(dtype=int), begin: wp.array(dtype=int), ends: wp.array(dtype=int), blocks: wp.array(dtype=int)
):
    block = wp.tid()
    for k in range(begin[block], ends[block]):
        blocks[order[k]] = block


@wp.kernel
def scatter(blocks: wp.array(dtype=int), source: wp.array3d(dtype=Any), target: wp.array3d(dtype=Any)):
    k, i, j = wp.tid()
    if blocks[k] >= 0:
        wp.atomic_add(target, blocks[k], i, j, target.dtype(source[k, i, j]))


def bsr_from_triplets(
    rows_of_blocks: int,
    cols_of_blocks: int,
    rows: array,
    columns: array,
    values: array,
    prune_numerical_zeros: bool = True,
) -> BsrMatrix:
    """A compact matrix from triplets; blocks at the same place are added.

    `nnz` is the number of triplets until `nnz_sync` reads how many blocks there are. The tape has it.

    Args:
        rows_of_blocks, cols_of_blocks: Size, in blocks.
        rows, columns: Of each triplet, int32. Those outside of the matrix are left out.
        values: Blocks, or numbers with three dimensions; contiguous.
        prune_numerical_zeros: Leaves out blocks that are all zero.
    """
    block_type = wp.types.matrix(shape=values.shape[1:], dtype=values.dtype) if values.ndim == 3 else values.dtype
    matrix = bsr_zeros(rows_of_blocks, cols_of_blocks, block_type, device=values.device)
    bsr_set_from_triplets(matrix, rows, columns, values, prune_numerical_zeros=prune_numerical_zeros)
    return matrix


def bsr_set_from_triplets(
    dest: BsrMatrix,
    rows: array,
    columns: array,
    values: array | None = None,
    count: array | None = None,
    prune_numerical_zeros: bool = True,
    topology: str | None = None,
    build_mapping: BsrTripletMap | bool | None = None,
) -> BsrTripletMap | None:
    """Sets a matrix to triplets; blocks at the same place are added.

    Args:
        dest: The matrix.
        rows, columns: Of each triplet, int32. Those outside of the matrix are left out.
        values: Blocks, or numbers with three dimensions; contiguous. Without them the values are not set.
        count: An array of one number, how many of the triplets count; all of them by default.
        prune_numerical_zeros: Leaves out blocks that are all zero.
        topology: "compact" (the default), "padded" (rows keep their room, `dest.status_sync()` tells of a row that is
            full), "masked" (only blocks that are there are set).
        build_mapping: True, or a map to build again: gives the map, for `bsr_set_from_mapped_values`. Needs a compact
            topology and no pruning.

    Raises:
        TypeError: Rows or columns that are not int32, or a mapping that is none.
        ValueError: Sizes or values that do not fit.
    """
    topology = _build.topology_of(topology)
    if rows.dtype is not wp.int32 or columns.dtype is not wp.int32:
        raise TypeError("Rows and columns arrays must be of type int32")
    if rows.shape != columns.shape:
        raise ValueError(f"rows and columns must have one shape, not {rows.shape} and {columns.shape}")
    source = None if values is None else _source(dest, values, rows.size)
    if build_mapping is not None and not isinstance(build_mapping, (bool, BsrTripletMap)):
        raise TypeError(f"build_mapping is a bool or a BsrTripletMap, not {build_mapping!r}")
    if build_mapping is not None and build_mapping is not False:
        if topology != "compact":
            raise ValueError('build_mapping requires topology="compact"')
        if prune_numerical_zeros and values is not None:
            raise ValueError("build_mapping requires prune_numerical_zeros=False")
        if isinstance(build_mapping, BsrTripletMap) and build_mapping.device is not wp.get_device(dest.device):
            raise ValueError("the map and the matrix must be on the same device")
    groups = _build.coalesce(dest, rows, columns, topology, count, source if prune_numerical_zeros else None)
    if topology == "compact":
        is_own = source is not None and _native.overlap(source, dest.values)
        _build.ready_values(dest, rows.size, source is not None and source.requires_grad, fresh=is_own)
    if source is not None:
        _build.gather_values(dest, groups, source)
    if build_mapping is None or build_mapping is False:
        return None
    mapping = BsrTripletMap(rows.size, dest.device) if build_mapping is True else build_mapping
    mapping._build(dest, groups, rows.size)
    return mapping


def bsr_set_from_mapped_values(
    dest: BsrMatrix, mapping: BsrTripletMap, values: array, reduction: str = "gather"
) -> None:
    """Sets the values of a matrix that was built from triplets to other values of the same triplets.

    Args:
        dest: The matrix, its structure unchanged.
        mapping: What `bsr_set_from_triplets` gave with `build_mapping`.
        values: As for `bsr_set_from_triplets`.
        reduction: "gather", a thread a block, sums in the order of the triplets; "atomic", a thread a number.

    Raises:
        ValueError: A map of something else, or values that do not fit.
    """
    mapping.validate(dest)
    source = _source(dest, values, mapping.triplet_count)
    if reduction == "gather":
        n = mapping.triplet_count
        groups = _build.Groups(mapping._order, mapping._begin[:n], mapping._ends[:n])
        _build.gather_values(dest, groups, source)
    elif reduction == "atomic":
        if dest.nnz:
            dest.values[: dest.nnz].zero_()
            inputs = [mapping._triplet_blocks, source]
            wp.launch(scatter, source.shape, inputs, [dest.scalar_values], device=dest.device)
    else:
        raise ValueError(f"reduction is 'gather' or 'atomic', not {reduction!r}")


def _source(dest: BsrMatrix, values: array, n: int) -> array:
    """Values as numbers with three dimensions. Raises `ValueError` for those that do not fit."""
    if values.device != dest.device:
        raise ValueError(f"the values are on {values.device}, the matrix on {dest.device}")
    if not values.is_contiguous:
        raise ValueError("the values of triplets must be contiguous")
    shape = (n, *dest.block_shape)
    if values.shape[0] != n:
        raise ValueError(f"there are {n} triplets and {values.shape[0]} values")
    if values.ndim == 1 and values.dtype._length_ == dest.block_size:
        found = components(values).reshape(shape)
    elif values.ndim == 3 and values.dtype._length_ == 1 and values.shape == shape:
        found = values
    else:
        found = None
    if found is None or found.dtype is not dest.scalar_type:
        raise ValueError(
            f"the values are blocks of type {dest.dtype.__name__}, or {dest.scalar_type.__name__} numbers of shape "
            f"{shape}, not {values!r}"
        )
    return found
