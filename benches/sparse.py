"""Sparse matrices on one core of a CPU beside Warp and SciPy, whatever is installed, in the same run.

    python benches/sparse.py [--side 64] [--rounds 5]

The matrix is that of Poisson's equation on a cube of `side` points a side, 7 entries a row, in float64; with 3 x 3
blocks on a cube of half the side. Systems take turns at each work; the figures are the least of the rounds, in
processor time. All results are compared.
"""

import argparse
import time

import numpy as np

CLOCK = time.process_time


def poisson(side, block=1):
    """Rows, columns and values of the triplets."""
    index = np.arange(side**3).reshape(side, side, side)
    pairs = [(index.ravel(), index.ravel(), 6.0)]
    for axis in range(3):
        low, high = (np.take(index, range(k, side - 1 + k), axis).ravel() for k in (0, 1))
        pairs += [(low, high, -1.0), (high, low, -1.0)]
    rows, columns = (np.concatenate([pair[k] for pair in pairs]).astype(np.int32) for k in (0, 1))
    values = np.concatenate([np.full(len(pair[0]), pair[2]) for pair in pairs])
    shape = np.eye(block) + 0.1 * np.ones((block, block)) * (block > 1)
    return rows, columns, values[:, None, None] * shape if block > 1 else values


def warp_style(wp, sparse, linear, problem, blocks, x, iterations):
    """The works of a system in Warp's style, by name: functions that give the result as a NumPy array."""
    n, n_blocks = len(x), int(blocks[0].max()) + 1

    def arrays(triplets):
        rows, columns, values = triplets
        dtype = wp.float64 if values.ndim == 1 else wp.types.matrix(shape=values.shape[1:], dtype=wp.float64)
        indices = [wp.array(one, dtype=int, device="cpu") for one in (rows, columns)]
        return [*indices, wp.array(values, dtype=dtype, device="cpu")]

    given = arrays(problem)
    made = sparse.bsr_from_triplets(n, n, *given)
    made.nnz_sync()
    large = sparse.bsr_from_triplets(n_blocks, n_blocks, *arrays(blocks))
    large.nnz_sync()
    vector = wp.array(x, dtype=wp.float64, device="cpu")
    out = wp.zeros_like(vector)
    vectors = wp.array(x[: 3 * n_blocks].reshape(-1, 3), dtype=wp.vec3d, device="cpu")
    outs = wp.zeros_like(vectors)
    solution = wp.zeros_like(vector)
    solver = linear.cg(made, vector, solution, tol=0.0, atol=0.0, maxiter=iterations, check_every=iterations, run=False)

    def solve():
        solution.zero_()
        solver()
        return solution.numpy()

    def of_values(matrix):
        return matrix.values.numpy()[: matrix.nnz_sync()]

    transposed = sparse.bsr_transposed(made)
    return {
        "from triplets": lambda: of_values(sparse.bsr_from_triplets(n, n, *given)),
        "A x": lambda: sparse.bsr_mv(made, vector, out).numpy(),
        "A x, 3 x 3": lambda: sparse.bsr_mv(large, vectors, outs).numpy().ravel(),
        "transposed": lambda: of_values(sparse.bsr_transposed(made)),
        "A + A^T": lambda: of_values(made + transposed),
        "A A": lambda: of_values(sparse.bsr_mm(made, made)),
        f"cg, {iterations} iterations": solve,
    }


def scipy_works(problem, blocks, x, iterations):
    """The same by SciPy. Its products have rows that are not sorted; sorting them is part of the work."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import cg

    n, n_blocks = len(x), int(blocks[0].max()) + 1
    rows, columns, values = problem
    made = sp.csr_matrix((values, (rows, columns)), shape=(n, n))
    order = np.lexsort((blocks[1], blocks[0]))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(blocks[0], minlength=n_blocks))])
    large = sp.bsr_matrix((blocks[2][order], blocks[1][order], offsets), shape=(3 * n_blocks,) * 2)
    transposed = made.T.tocsr()

    def of_values(matrix):
        matrix.sort_indices()
        return matrix.data

    return {
        "from triplets": lambda: of_values(sp.csr_matrix((values, (rows, columns)), shape=(n, n))),
        "A x": lambda: made @ x,
        "A x, 3 x 3": lambda: large @ x[: 3 * n_blocks],
        "transposed": lambda: of_values(made.T.tocsr()),
        "A + A^T": lambda: of_values(made + transposed),
        "A A": lambda: of_values(made @ made),
        f"cg, {iterations} iterations": lambda: cg(made, x, rtol=0.0, atol=0.0, maxiter=iterations)[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=50)
    options = parser.parse_args()
    problem, blocks = poisson(options.side), poisson(options.side // 2, 3)
    x = np.random.default_rng(1).random(options.side**3)
    given = (problem, blocks, x, options.iterations)
    systems = {}

    import gridstride
    import gridstride.optim.linear

    gridstride.set_num_threads(1)
    systems["gridstride"] = warp_style(gridstride, gridstride.sparse, gridstride.optim.linear, *given)
    try:
        import warp
        import warp.optim.linear
        import warp.sparse

        warp.config.quiet = True
        systems["warp"] = warp_style(warp, warp.sparse, warp.optim.linear, *given)
    except ImportError:
        print("Warp is not installed")
    try:
        systems["scipy"] = scipy_works(*given)
    except ImportError:
        print("SciPy is not installed")

    print(f"{'work':20}" + "".join(f"{name:>14}" for name in systems) + "   ms, least of", options.rounds)
    for work in systems["gridstride"]:
        least = dict.fromkeys(systems, np.inf)
        results = {name: works[work]() for name, works in systems.items()}
        for result in results.values():
            np.testing.assert_allclose(result, results["gridstride"], rtol=1e-6, atol=1e-9)
        for _ in range(options.rounds):
            for name, works in systems.items():
                began = CLOCK()
                works[work]()
                least[name] = min(least[name], CLOCK() - began)
        print(f"{work:20}" + "".join(f"{1e3 * one:14.2f}" for one in least.values()))


if __name__ == "__main__":
    main()
