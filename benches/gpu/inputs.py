"""What the benchmarks compute on: the same numbers for every system."""

import numpy as np

# D3Q19: directions, weights, opposite directions.
C = [(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (1, 1, 0), (-1, -1, 0), (1, -1, 0)]
C += [(-1, 1, 0), (1, 0, 1), (-1, 0, -1), (1, 0, -1), (-1, 0, 1), (0, 1, 1), (0, -1, -1), (0, 1, -1), (0, -1, 1)]
W = [1 / 3] + [1 / 18] * 6 + [1 / 36] * 12
OPPOSITE = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15, 18, 17]


def noise(shape, seed=1):
    """Numbers from 0 to 1: a million random ones, again and again, for more of them take seconds to make."""
    some = np.random.default_rng(seed).random(1 << 20, dtype=np.float32)
    return np.resize(some, shape)


def lattice(n):
    """A fluid at rest."""
    return np.broadcast_to(np.array(W, np.float32)[:, None, None, None], (19, n, n, n)).copy()


def segments(n):
    """Segments of one length and of many: the name, the offsets."""
    rng = np.random.default_rng(1)
    for name, lengths in (("segments of 64", np.full(n, 64)), ("segments of 32 to 96", rng.integers(32, 97, n))):
        yield name, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def matrix(n):
    """A sparse matrix with 16 values a row near the diagonal: rows, columns, values."""
    rng = np.random.default_rng(2)
    columns = (np.repeat(np.arange(n), 16) + rng.integers(-500, 500, 16 * n)) % n
    return np.arange(0, 16 * n + 1, 16, dtype=np.int32), columns.astype(np.int32), noise(16 * n)


def keys(n):
    return np.random.default_rng(3).integers(0, 1 << 30, n).astype(np.int32)


def few(n):
    """Small numbers in short runs."""
    return np.resize(np.random.default_rng(4).integers(0, 3, 1 << 20).astype(np.int32), n)


def cells(n):
    """The first of a particle's neighbors."""
    return (np.arange(n) // 4 * 4).astype(np.int32)


def quaternions(n):
    q = noise((n, 4)) + np.float32(0.1)
    return q / np.sqrt((q * q).sum(1, keepdims=True))
