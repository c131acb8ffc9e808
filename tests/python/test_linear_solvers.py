"""Linear solvers against NumPy's direct one: every method, type, preconditioner and kind of operator."""

import numpy as np
import pytest

import gridstride as wp
from gridstride import sparse as sp
from gridstride.optim import linear
from gridstride.optim.linear import aslinearoperator, bicgstab, cg, cr, gmres, preconditioner

SOLVERS = {"cg": cg, "cr": cr, "bicgstab": bicgstab, "gmres": gmres}


def system(n, seed, is_symmetric=True):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.3)
    a = a + a.T if is_symmetric else a
    return a + np.diag(np.abs(a).sum(1) + rng.uniform(0.5, 2.0, n)), rng.normal(size=n)


def sparse(a, dtype=wp.float64, block=1):
    rows, columns = np.nonzero(a)
    arrays = [wp.array(one, dtype=int) for one in (rows, columns)]
    made = sp.bsr_from_triplets(*a.shape, *arrays, wp.array(a[rows, columns], dtype=dtype))
    return sp.bsr_copy(made, block_shape=(block, block)) if block > 1 else made


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "blocks"])
@pytest.mark.parametrize("ptype", ["id", "diag"])
def test_solutions_are_those_of_numpy(name, kind, ptype):
    a, b = system(24, 1, is_symmetric=name in ("cg", "cr"))
    operator = {"dense": lambda: wp.array(a, dtype=wp.float64), "sparse": lambda: sparse(a)}.get(
        kind, lambda: sparse(a, block=3)
    )()
    right = wp.array(b.reshape(-1, 3), dtype=wp.vec3d) if kind == "blocks" else wp.array(b, dtype=wp.float64)
    x = wp.zeros_like(right)
    iterations, norm, tolerance = SOLVERS[name](
        operator, right, x, tol=1e-10, maxiter=200, M=preconditioner(operator, ptype), check_every=1
    )
    assert 0 < iterations <= 200 and norm <= tolerance == pytest.approx(1e-10 * np.linalg.norm(b))
    np.testing.assert_allclose(x.numpy().ravel(), np.linalg.solve(a, b), rtol=1e-8, atol=1e-8)
    assert SOLVERS[name](operator, right, x, tol=1e-8, maxiter=200)[0] == 0


@pytest.mark.parametrize("name", ["bicgstab", "gmres"])
def test_preconditioners_on_the_left(name):
    a, b = system(30, 2, is_symmetric=False)
    a *= np.geomspace(1.0, 1e3, 30)[:, None]
    matrix, x = sparse(a), wp.zeros(30, dtype=wp.float64)
    options = {"M": preconditioner(matrix, "diag"), "is_left_preconditioner": True, "check_every": 1}
    SOLVERS[name](matrix, wp.array(b, dtype=wp.float64), x, tol=1e-10, maxiter=300, **options)
    np.testing.assert_allclose(a @ x.numpy(), b, atol=1e-8)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtype, tol, error", [(wp.float16, 1e-2, 3e-2), (wp.float32, 1e-5, 1e-4)])
def test_other_types(name, dtype, tol, error):
    a, b = system(12, 3)
    x = wp.zeros(12, dtype=dtype)
    SOLVERS[name](wp.array(a, dtype=dtype), wp.array(b, dtype=dtype), x, tol=tol, maxiter=60, check_every=1)
    np.testing.assert_allclose(x.numpy().astype(float), np.linalg.solve(a, b), rtol=error, atol=error)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("sizes", [[5, 5, 5], [1, 9, 0, 4]])
def test_batches_are_solved_side_by_side(name, sizes):
    n = sum(sizes) + 2
    a, expected = np.zeros((n, n)), np.full(n, 7.0)
    right = np.random.default_rng(4).normal(size=n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    for k, size in enumerate(sizes):
        part = slice(offsets[k], offsets[k + 1])
        a[part, part], _ = system(size, 10 + k, is_symmetric=name in ("cg", "cr"))
        expected[part] = np.linalg.solve(a[part, part], right[part])
    # What is behind the last subproblem acts on nothing and is not touched.
    a[: n - 2, n - 1] = 1.0
    right[: n - 2] += 7.0
    operator = aslinearoperator(wp.array(a, dtype=wp.float64), wp.array(offsets, dtype=int), max(sizes))
    x = np.zeros(n)
    x[-2:] = 7.0
    x = wp.array(x, dtype=wp.float64)
    _, norm, tolerance = SOLVERS[name](operator, wp.array(right, dtype=wp.float64), x, tol=1e-10, maxiter=99)
    assert norm <= tolerance
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-7, atol=1e-7)


def test_long_vectors_are_summed_in_pieces():
    n = 100_000
    diagonal = wp.array(np.linspace(1.0, 2.0, n), dtype=wp.float64)
    b, x = wp.ones(n, dtype=wp.float64), wp.zeros(n, dtype=wp.float64)
    iterations, norm, tolerance = cg(diagonal, b, x, tol=1e-8, maxiter=50, check_every=1)
    assert iterations < 20 and tolerance == pytest.approx(1e-8 * np.sqrt(n)) and norm <= tolerance
    np.testing.assert_allclose(x.numpy() * diagonal.numpy(), 1.0, atol=1e-7)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_is_called_again(name):
    solver = None
    for seed in (5, 6):
        a, b = system(16, seed)
        matrix, b, x = sparse(a), wp.array(b, dtype=wp.float64), wp.zeros(16, dtype=wp.float64)
        if solver is None:
            solver = SOLVERS[name](matrix, b, x, run=False, maxiter=100, check_every=1)
        assert isinstance(solver, linear.LinearSolverState)
        solver(matrix, b, x)
        np.testing.assert_allclose(a @ x.numpy(), b.numpy(), atol=1e-9)
    with pytest.raises(ValueError, match="`b` must be like"):
        solver(b=wp.zeros(4, dtype=wp.float64))
    with pytest.raises(ValueError, match="`A` must be square, with 16 rows of float64"):
        solver(A=wp.zeros((4, 4), dtype=wp.float64))


@pytest.mark.parametrize("name", SOLVERS)
def test_unread_loops_leave_arrays(name):
    a, b = system(16, 7)
    x = wp.zeros(16, dtype=wp.float64)
    right = wp.array(b, dtype=wp.float64)
    iterations, norm_sq, tolerance_sq = SOLVERS[name](sparse(a), right, x, tol=1e-9, maxiter=100, check_every=0)
    assert 0 < iterations.numpy()[0] <= 100 and norm_sq.numpy()[0] <= tolerance_sq.numpy()[0]
    np.testing.assert_allclose(a @ x.numpy(), b, atol=1e-7)


def test_callbacks_and_restarts():
    a, b = system(20, 8)
    seen = []
    right, x = wp.array(b, dtype=wp.float64), wp.zeros(20, dtype=wp.float64)
    found = cg(sparse(a), right, x, maxiter=90, restart=3, check_every=1, callback=lambda *args: seen.append(args))
    assert [one[0] for one in seen] == list(range(0, found[0] + 1, 3)) and seen[-1] == found
    with pytest.raises(TypeError, match="whole number"):
        cg(sparse(a), right, x, restart=1.5)
    with pytest.raises(ValueError, match="1 or more"):
        cr(sparse(a), right, x, restart=0)


@pytest.mark.parametrize("ptype", ["block_jacobi_direct", "block_jacobi_sequential", "block_jacobi_tile"])
def test_block_jacobi_inverts_the_blocks(ptype):
    rng = np.random.default_rng(9)
    blocks = rng.normal(size=(4, 5, 5))
    if ptype != "block_jacobi_direct":
        blocks = blocks @ blocks.transpose(0, 2, 1) + np.eye(5)
    blocks[2] = np.outer(blocks[2, 0], blocks[2, 0])
    matrix = sp.bsr_diag(wp.array(blocks, dtype=wp.types.matrix((5, 5), wp.float64)))
    x, y = rng.normal(size=20), rng.normal(size=20)
    z = wp.array(y, dtype=wp.float64)
    preconditioner(matrix, ptype).matvec(wp.array(x, dtype=wp.float64), z, z, alpha=2.0, beta=-1.0)
    # A singular block counts as the identity.
    blocks[2] = np.eye(5)
    expected = 2.0 * np.linalg.solve(blocks, x.reshape(4, 5, 1)).ravel() - y
    np.testing.assert_allclose(z.numpy(), expected, rtol=1e-8, atol=1e-8)


def test_what_no_solver_can_take_is_refused():
    b = wp.zeros(4, dtype=wp.float64)
    with pytest.raises(ValueError, match="is made of"):
        cg(np.eye(4), b, b)
    with pytest.raises(ValueError, match="requires batch_offsets"):
        aslinearoperator(b, max_batch_length=2)
    with pytest.raises(ValueError, match="one of diag, diag_abs"):
        preconditioner(b, "ilu")
    with pytest.raises(ValueError, match="have float numbers"):
        cg(wp.zeros((4, 4), dtype=int), wp.zeros(4, dtype=int), wp.zeros(4, dtype=int))
    with pytest.raises(TypeError, match="base of CG"):
        linear.LinearSolverState(b, b, b)


def factor(pre):
    """The factor of an FSAI preconditioner, dense."""
    rows, columns = pre.G.uncompress_rows().numpy(), pre.G.columns.numpy()
    found = np.zeros(pre.G.shape)
    found[rows, columns] = pre.G.values.numpy()
    np.testing.assert_array_equal(dense_transpose(pre), found)
    return found


def dense_transpose(pre):
    rows, columns = pre.GT.uncompress_rows().numpy(), pre.GT.columns.numpy()
    found = np.zeros(pre.GT.shape)
    found[rows, columns] = pre.GT.values.numpy()
    return found.T


@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("step", [1, 3])
def test_fsai_rows_solve_their_equations(block, step):
    a, b = system(18, 11)
    pre = linear.FSAI(sparse(a, block=block), max_row_size=6, max_step_size=step, kap_tolerance=0.0)
    g = factor(pre)
    assert (np.tril(g) == g).all() and (np.diag(g) > 0).all()
    assert (g != 0).sum(1).max() == 6
    for row in range(18):
        support = np.flatnonzero(g[row])
        z = np.linalg.solve(a[np.ix_(support, support)], np.eye(len(support))[-1])
        np.testing.assert_allclose(g[row, support], z / np.sqrt(z[-1]), rtol=1e-9)
    z = wp.array(b, dtype=wp.float64)
    pre.matvec(z, z, z, 2.0, -1.0)
    np.testing.assert_allclose(z.numpy(), 2.0 * g.T @ g @ b - b, rtol=1e-10, atol=1e-10)
    # All columns allowed, it is the inverse.
    full = factor(linear.FSAI(sparse(a, block=block), max_row_size=18, max_step_size=step, kap_tolerance=0.0))
    np.testing.assert_allclose(full.T @ full, np.linalg.inv(a), rtol=1e-8, atol=1e-10)


def test_fsai_needs_fewer_iterations_than_the_diagonal():
    n = 20
    line = np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)
    matrix = sparse(np.kron(line, np.eye(n)) + np.kron(np.eye(n), line))
    counts = []
    for width in (1, 8):
        b, x = wp.ones(n * n, dtype=wp.float64), wp.zeros(n * n, dtype=wp.float64)
        pre = linear.FSAI(matrix, max_row_size=width)
        counts.append(cg(matrix, b, x, tol=1e-8, M=pre, maxiter=200, check_every=1)[0])
    assert counts[1] < 0.7 * counts[0]


def test_fsai_updates_or_stays_as_it_was():
    a, _ = system(12, 12)
    for deferred in (False, True):
        pre = linear.FSAI(sparse(a), max_row_size=4, reuse_pattern=True, defer_pattern=deferred)
        if deferred:
            np.testing.assert_array_equal(factor(pre), np.eye(12))
            pre.update()
        once = linear.FSAI(sparse(a), max_row_size=4)
        np.testing.assert_array_equal(factor(pre), factor(once))
        pre.update(sparse(4.0 * a))
        np.testing.assert_allclose(factor(pre), 0.5 * factor(once))
        with pytest.raises(ValueError, match="positive diagonals"):
            pre.update(sparse(-a))
        with pytest.raises(ValueError, match="not SPD"):
            pre.update(sparse(np.where(a != 0, 10.0, 0.0) + np.eye(12)))
        with pytest.raises(ValueError, match="another sparsity"):
            pre.update(sparse(a + np.eye(12)[::-1]))
        np.testing.assert_allclose(factor(pre), 0.5 * factor(once))
    with pytest.raises(ValueError, match="reuse_pattern"):
        once.update()
    with pytest.raises(ValueError, match="max_row_size is a whole number"):
        linear.FSAI(sparse(a), max_row_size=0)
