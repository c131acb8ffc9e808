"""Points near a point, through a grid of cells that repeats in space.

In: a `HashGrid`'s id, a position, a radius. Out: the indices of all points in the cells that the cube of that radius
touches: all that are near enough, and some that are not.

    for index in hash_grid_query(grid, p, radius):
        if length(points[index] - p) < radius: ...

Points are sorted by cell, stably, cells along x first; a row of cells is one run of the sorted points. The grid is
periodic: cell x lies at x modulo the dimension, and a query longer than the grid visits every cell once.

Source: M. Teschner et al., "Optimized spatial hashing for collision detection of deformable objects" (2003), with a
grid of cells in place of a table of hashes.
"""


# What the host writes at the id's address (_hash_grid.py).
class _HashGrid:
    id: uint64
    dim_x: int32
    dim_y: int32
    dim_z: int32
    n_points: int32
    cell_width_inv: float64
    # Indices of points, sorted by cell, and by group within a cell.
    point_ids: array(dtype=int32)
    # Of each cell, where its points begin; one more at the end.
    cell_starts: array(dtype=int32)
    # Groups of the sorted points; null without groups.
    point_groups: array(dtype=int32)


# A walk over cells, row by row.
class HashGridQuery:
    grid: _HashGrid
    x_start: int32
    y_start: int32
    x_end: int32
    y_end: int32
    z_end: int32
    # The next cells to visit.
    x: int32
    y: int32
    z: int32
    # What is left of the present run of sorted points.
    index: int32
    end: int32
    group: int32
    is_grouped: bool


def _hash_grid(id: uint64):
    address = _record_of(id, uint64(1))
    grid = _HashGrid()
    if address != uint64(0):
        grid = _at(_HashGrid, address)
    return grid


# The greatest cell is left out, so that a walk can step behind the last one.
def _grid_coordinate(scaled: Float):
    return min(int(floor(scaled)), 2147483646)


# A cell's place in the grid.
def _in_grid(cell: int, dim: int):
    place = cell % dim
    if place < 0:
        place += dim
    return place


# The cell of a point, as the host sorts by it.
def _hash_grid_cell(point: Vector3, per_width: Float, dim_x: int, dim_y: int, dim_z: int):
    x = _in_grid(_grid_coordinate(point[0] * per_width), dim_x)
    y = _in_grid(_grid_coordinate(point[1] * per_width), dim_y)
    z = _in_grid(_grid_coordinate(point[2] * per_width), dim_z)
    return (z * dim_y + y) * dim_x + x


# The last of a row of cells, so that none is visited twice.
def _last_in_grid(first: int, last: int, dim: int):
    if int64(last) - int64(first) >= int64(dim):
        return first + (dim - 1)
    return last


def _hash_grid_query(id: uint64, point: Vector3, radius: Float, group: int, is_grouped: bool):
    query = HashGridQuery()
    grid = _hash_grid(id)
    query.grid = grid
    query.group = group
    query.is_grouped = is_grouped and grid.point_groups.shape[0] > 0
    query.z = 1
    if grid.n_points > 0:
        per_width = type(radius)(grid.cell_width_inv)
        query.x_start = _grid_coordinate((point[0] - radius) * per_width)
        query.y_start = _grid_coordinate((point[1] - radius) * per_width)
        query.z = _grid_coordinate((point[2] - radius) * per_width)
        query.x_end = _last_in_grid(query.x_start, _grid_coordinate((point[0] + radius) * per_width), grid.dim_x)
        query.y_end = _last_in_grid(query.y_start, _grid_coordinate((point[1] + radius) * per_width), grid.dim_y)
        query.z_end = _last_in_grid(query.z, _grid_coordinate((point[2] + radius) * per_width), grid.dim_z)
        query.x = query.x_start
        query.y = query.y_start
    return query


def hash_grid_query(id: uint64, point: Vector3, max_dist: Float):
    return _hash_grid_query(id, point, max_dist, 0, False)


def hash_grid_query(id: uint64, point: Vector3, max_dist: Float, group: int):
    return _hash_grid_query(id, point, max_dist, group, True)


# The first of the sorted points from `lo` to before `hi` whose group is at least `group`.
def _first_of_group(groups: array(dtype=int32), lo: int, hi: int, group: int):
    while lo < hi:
        mid = lo + (hi - lo) // 2
        if groups[mid] < group:
            lo = mid + 1
        else:
            hi = mid
    return lo


# The run of points in as many of the next cells of a row as lie side by side.
def _next_cells(query: HashGridQuery):
    grid = query.grid
    row = (_in_grid(query.z, grid.dim_z) * grid.dim_y + _in_grid(query.y, grid.dim_y)) * grid.dim_x
    x = _in_grid(query.x, grid.dim_x)
    n_more = min(query.x_end - query.x, grid.dim_x - 1 - x)
    if query.is_grouped:
        n_more = 0
    query.index = grid.cell_starts[row + x]
    query.end = grid.cell_starts[row + x + n_more + 1]
    if query.is_grouped:
        first = _first_of_group(grid.point_groups, query.index, query.end, query.group)
        if query.group != 2147483647:
            query.end = _first_of_group(grid.point_groups, first, query.end, query.group + 1)
        query.index = first
    query.x += n_more + 1
    if query.x > query.x_end:
        query.x = query.x_start
        query.y += 1
        if query.y > query.y_end:
            query.y = query.y_start
            query.z += 1
    return query


def _next(query: HashGridQuery):
    while query.index >= query.end and query.z <= query.z_end:
        query = _next_cells(query)
    is_there = query.index < query.end
    index = int(-1)
    if is_there:
        index = query.grid.point_ids[query.index]
        query.index += 1
    return is_there, index, query


def hash_grid_query_next(query: HashGridQuery, index: int):
    is_there, found, query = _next(query)
    if is_there:
        index = found
    return is_there, query, index


def hash_grid_point_id(id: uint64, index: int):
    grid = _hash_grid(id)
    found = int(-1)
    if grid.n_points > 0:
        found = grid.point_ids[index]
    return found
