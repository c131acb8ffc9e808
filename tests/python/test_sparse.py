"""Sparse matrices against dense ones of NumPy, for every block shape and topology; gradients against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridstride as wp
from gridstride import sparse as sp

SHAPES = [(1, 1), (2, 3), (3, 3), (7, 7)]


def block_type(shape, dtype):
    return dtype if shape == (1, 1) else wp.types.matrix(shape=shape, dtype=dtype)


def dense(matrix):
    """The active blocks of a matrix; a column that comes twice, or out of order, is a failure."""
    rows, columns = matrix.block_shape
    found = np.zeros(matrix.shape)
    offsets, places = matrix.offsets.numpy(), matrix.columns.numpy()
    counts = np.diff(offsets) if matrix.row_counts is None else matrix.row_counts.numpy()
    values = matrix.scalar_values.numpy()
    for r in range(matrix.nrow):
        active = range(offsets[r], offsets[r] + counts[r])
        assert (np.diff([places[k] for k in active]) > 0).all()
        for k in active:
            c = places[k]
            found[r * rows : (r + 1) * rows, c * columns : (c + 1) * columns] = values[k]
    return found


def triplets(rng, nrow, ncol, n, shape, dtype=wp.float64):
    rows, columns = rng.integers(0, nrow, n), rng.integers(0, ncol, n)
    values = rng.integers(-4, 5, (n, *shape)).astype(float)
    full = np.zeros((nrow * shape[0], ncol * shape[1]))
    for r, c, v in zip(rows, columns, values, strict=True):
        full[r * shape[0] : (r + 1) * shape[0], c * shape[1] : (c + 1) * shape[1]] += v
    arrays = [wp.array(one, dtype=int) for one in (rows, columns)]
    return [*arrays, wp.array(values, dtype=dtype)], full


def random_matrix(rng, nrow, ncol, shape=(1, 1), dtype=wp.float64, n=None):
    given, full = triplets(rng, nrow, ncol, 2 * nrow if n is None else n, shape, dtype)
    matrix = sp.bsr_zeros(nrow, ncol, block_type(shape, dtype))
    sp.bsr_set_from_triplets(matrix, *given)
    return matrix, full


@pytest.mark.parametrize("shape", SHAPES)
@given(seed=st.integers(0, 1000), nrow=st.integers(1, 9), ncol=st.integers(1, 9), n=st.integers(0, 40))
@settings(max_examples=8, deadline=None)
def test_triplets_are_sorted_and_added(shape, seed, nrow, ncol, n):
    matrix, full = random_matrix(np.random.default_rng(seed), nrow, ncol, shape, n=n)
    np.testing.assert_array_equal(dense(matrix), full)
    assert matrix.nnz == n and matrix.nnz_sync() <= n
    rows = matrix.uncompress_rows().numpy()
    assert (np.diff(rows) >= 0).all() and rows.size == matrix.nnz


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("topology", ["compact", "padded", "masked"])
@given(seed=st.integers(0, 1000))
@settings(max_examples=4, deadline=None)
def test_sums_and_products(shape, topology, seed):
    rng = np.random.default_rng(seed)
    inner = (shape[1], shape[0])
    x, x_full = random_matrix(rng, 5, 4, shape)
    y, y_full = random_matrix(rng, 4, 6, inner)
    z_shape = (shape[0], shape[0])

    def result():
        made, full = random_matrix(rng, 5, 6, z_shape)
        if topology == "padded":
            padded = sp.bsr_zeros(5, 6, made.dtype, row_capacity=6)
            sp.bsr_assign(padded, made, topology="padded")
            made = padded
        present = np.kron(dense_pattern(made), np.ones(z_shape)) if topology == "masked" else 1.0
        return made, full, present

    z, full, present = result()
    sp.bsr_mm(x, 2.0 * y, z, alpha=-1.0, beta=0.5, topology=topology)
    np.testing.assert_array_equal(dense(z), present * (-2.0 * x_full @ y_full + 0.5 * full))
    z, full, present = result()
    w, w_full = random_matrix(rng, 5, 6, z_shape)
    sp.bsr_axpy(w * 3.0, z, alpha=0.5, beta=-1.0, topology=topology)
    np.testing.assert_array_equal(dense(z), present * (1.5 * w_full - full))
    z, full, present = result()
    sp.bsr_assign(z, w, topology=topology)
    np.testing.assert_array_equal(dense(z), present * w_full)
    z, full, present = result()
    t, t_full = random_matrix(rng, 6, 5, z_shape)
    sp.bsr_set_transpose(z, -t, topology=topology)
    np.testing.assert_array_equal(dense(z), present * -t_full.T)


def dense_pattern(matrix):
    """1 where a matrix has a block."""
    found = np.zeros((matrix.nrow, matrix.ncol))
    rows = matrix.uncompress_rows().numpy()
    columns = matrix.columns.numpy()[: rows.size]
    found[rows[rows >= 0], columns[rows >= 0]] = 1.0
    return found


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_with_vectors(shape, dtype):
    rng = np.random.default_rng(3)
    matrix, full = random_matrix(rng, 6, 5, shape, dtype)
    x = rng.integers(-3, 4, full.shape[1]).astype(float)
    y = rng.integers(-3, 4, full.shape[0]).astype(float)
    numbers = [wp.array(one, dtype=dtype) for one in (x, y)]
    sp.bsr_mv(matrix, *numbers, alpha=2.0, beta=-1.0)
    np.testing.assert_array_equal(numbers[1].numpy(), 2 * full @ x - y)
    np.testing.assert_array_equal((matrix @ numbers[0]).numpy().ravel(), full @ x)
    vectors = wp.array(y.reshape(6, -1), dtype=wp.types.vector(shape[0], dtype))
    np.testing.assert_array_equal((vectors @ (matrix * 0.5)).numpy().ravel(), 0.5 * full.T @ y)
    # What is not read may be anything.
    y_nan = wp.full(full.shape[0], np.nan, dtype=dtype)
    sp.bsr_mv(matrix, numbers[0], y_nan)
    np.testing.assert_array_equal(y_nan.numpy(), full @ x)
    if shape[0] == shape[1]:
        square, full = random_matrix(rng, 5, 5, shape, dtype)
        sp.bsr_mv(square, numbers[0], numbers[0])
        np.testing.assert_array_equal(numbers[0].numpy(), full @ x)


@pytest.mark.parametrize("shape, other", [((4, 2), (2, 2)), ((4, 2), (1, 1)), ((2, 4), (4, 2)), ((1, 2), (4, 4))])
@pytest.mark.parametrize("topology", ["compact", "padded"])
def test_blocks_are_cut_and_joined(shape, other, topology):
    matrix, full = random_matrix(np.random.default_rng(5), 8, 8, shape)
    copy = sp.bsr_copy(matrix * 2.0, block_shape=other, scalar_type=wp.float32, topology=topology)
    np.testing.assert_array_equal(dense(copy), 2.0 * full)
    assert copy.scalar_type is wp.float32 and copy.status_sync() == sp.BSR_STATUS_SUCCESS


def test_shapes_that_do_not_fit_are_refused():
    matrix, _ = random_matrix(np.random.default_rng(5), 4, 4, (4, 2))
    with pytest.raises(ValueError, match="multiple or a divisor"):
        sp.bsr_copy(matrix, block_shape=(3, 3))
    with pytest.raises(ValueError, match="does not evenly divide"):
        sp.bsr_copy(matrix, block_shape=(32, 32))
    with pytest.raises(ValueError, match="Incompatible 'x'"):
        matrix @ wp.zeros(3, dtype=wp.float64)
    with pytest.raises(ValueError, match="Incompatible 'x'"):
        matrix @ wp.zeros(8, dtype=wp.float32)
    with pytest.raises(ValueError, match="Incompatible block sizes"):
        sp.bsr_mm(matrix, matrix)
    with pytest.raises(ValueError, match="same number of rows"):
        matrix + sp.bsr_zeros(1, 4, matrix.dtype)
    with pytest.raises(ValueError, match="block type must be"):
        sp.bsr_zeros(1, 1, wp.vec3)
    with pytest.raises(ValueError, match="topology is one of"):
        sp.bsr_axpy(matrix, matrix, topology="loose")
    with pytest.raises(TypeError, match="int32"):
        sp.bsr_set_from_triplets(matrix, *[wp.zeros(1, dtype=wp.int64)] * 2)
    with pytest.raises(TypeError, match="no matrix product"):
        wp.zeros(2, dtype=float) @ wp.zeros(2, dtype=float)


@given(seed=st.integers(0, 1000), inplace=st.booleans(), padded=st.booleans(), prune=st.booleans())
@settings(max_examples=10, deadline=None)
def test_compression_joins_what_is_in_any_order(seed, inplace, padded, prune):
    rng = np.random.default_rng(seed)
    matrix = sp.bsr_zeros(3, 4, wp.float32, row_capacity=5)
    counts = rng.integers(0, 6, 3).astype(np.int32)
    columns = rng.integers(-1, 5, 15).astype(np.int32)
    values = rng.integers(-1, 2, 15).astype(np.float32)
    for name, one in (("row_counts", counts), ("columns", columns)):
        setattr(matrix, name, wp.array(one, dtype=int))
    matrix.values = wp.array(values, dtype=float)
    expected = np.zeros((3, 4))
    for r in range(3):
        for k in range(5 * r, 5 * r + counts[r]):
            if 0 <= columns[k] < 4:
                expected[r, columns[k]] += values[k]
    address = matrix.values.ptr
    sp.bsr_compress(matrix, prune, inplace, topology="padded" if padded else "compact")
    np.testing.assert_array_equal(dense(matrix), expected)
    assert (matrix.row_counts is not None) == padded and (matrix.values.ptr == address) == inplace


def test_a_row_that_is_full_is_reported():
    given, full = triplets(np.random.default_rng(7), 3, 8, 30, (1, 1))
    matrix = sp.bsr_zeros(3, 8, wp.float64, row_capacity=2)
    sp.bsr_set_from_triplets(matrix, *given, topology="padded")
    assert matrix.status_sync() == sp.BSR_STATUS_ROW_CAPACITY_EXCEEDED
    assert matrix.row_counts.list() == [2, 2, 2] and "room" in matrix.status_message()
    matrix.clear_status()
    assert matrix.status_sync() == sp.BSR_STATUS_SUCCESS
    kept = dense(matrix)
    np.testing.assert_array_equal(kept[kept != 0], full[kept != 0])


@wp.kernel
def positions(
    offsets: wp.array(dtype=int),
    counts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    n_rows: int,
    wrong: wp.array(dtype=int),
):
    row, column = wp.tid()
    block = wp.sparse.bsr_block_index(row, column, offsets, columns, counts)
    if block >= 0 and (columns[block] != column or wp.sparse.bsr_row_index(offsets, n_rows, block, counts) != row):
        wp.atomic_add(wrong, 0, 1)
    if block >= 0:
        wp.atomic_add(wrong, 1, 1)


@pytest.mark.parametrize("room", [None, 7])
def test_kernels_find_blocks(device, room):
    matrix, full = random_matrix(np.random.default_rng(11), 9, 7)
    if room:
        padded = sp.bsr_zeros(9, 7, wp.float64, row_capacity=room)
        sp.bsr_assign(padded, matrix, topology="padded")
        matrix = padded
    wrong = wp.zeros(2, dtype=int)
    inputs = [matrix.offsets, matrix.row_counts, matrix.columns, 9, wrong]
    wp.launch(positions, (9, 7), inputs, device=device)
    assert wrong.list() == [0, int(dense_pattern(matrix).sum())]


@pytest.mark.parametrize("shape", [(1, 1), (2, 2)])
@pytest.mark.parametrize("reduction", ["gather", "atomic"])
def test_values_come_again_by_a_map(shape, reduction):
    rng = np.random.default_rng(13)
    (rows, columns, values), full = triplets(rng, 4, 4, 20, shape)
    matrix = sp.bsr_zeros(4, 4, block_type(shape, wp.float64))
    options = {"prune_numerical_zeros": False, "build_mapping": True}
    mapping = sp.bsr_set_from_triplets(matrix, rows, columns, values, **options)
    np.testing.assert_array_equal(dense(matrix), full)
    sp.bsr_set_from_mapped_values(matrix, mapping, values * -3.0, reduction)
    np.testing.assert_array_equal(dense(matrix), -3.0 * full)
    with pytest.raises(ValueError, match="another structure"):
        sp.bsr_set_from_mapped_values(sp.bsr_copy(matrix), mapping, values, reduction)


def energy(values, rows, columns, x, seed):
    """A number from a matrix of given values, by everything that has a gradient."""
    a = sp.bsr_from_triplets(3, 3, rows, columns, values, prune_numerical_zeros=False)
    b = (2.0 * a).transpose() - a
    c = sp.bsr_copy(a @ b, block_shape=(3, 3)) + sp.bsr_copy(a, block_shape=(3, 3)) * 0.5
    y = sp.bsr_copy(c, block_shape=(1, 1)) @ x
    y = x @ (a @ a) + y
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    weights = wp.array(seed, dtype=wp.float64)
    sp.bsr_get_diag(a, out=(diagonal := wp.zeros(3, dtype=wp.float64, requires_grad=True)))
    wp.utils.array_inner(y + diagonal, weights, out=loss)
    return loss


def test_gradients_of_everything():
    rng = np.random.default_rng(17)
    rows = wp.array([0, 0, 1, 2, 2, 2], dtype=int)
    columns = wp.array([0, 2, 1, 0, 1, 0], dtype=int)
    at = [rng.normal(size=6), rng.normal(size=3)]
    seed = rng.normal(size=3)
    arrays = [wp.array(one, dtype=wp.float64, requires_grad=True) for one in at]
    with wp.Tape() as tape:
        loss = energy(arrays[0], rows, columns, arrays[1], seed)
    tape.backward(loss)

    def value(points):
        made = [wp.array(one, dtype=wp.float64) for one in points]
        return energy(made[0], rows, columns, made[1], seed).numpy()[0]

    for which in range(2):
        for k in range(at[which].size):
            step = [one.copy() for one in at]
            step[which][k] += 1e-6
            forward = value(step)
            step[which][k] -= 2e-6
            slope = (forward - value(step)) / 2e-6
            assert arrays[which].grad.numpy()[k] == pytest.approx(slope, abs=1e-6)
