"""Linear algebra, transforms and random numbers of tiles.

In: tiles. Out: tiles. `_tile_build(f, t, *args)` is the tile of t's shape whose element (i, j, ...) is
f(i, j, ..., *args), where f gets tiles as a whole.

    L = tile_cholesky(A)          A == L * transpose(L), L lower triangular; the lower triangle of A alone is read
    z = tile_lower_solve(L, y)    L * z == y
    x = tile_upper_solve(U, z)    U * x == z
    X = tile_fft(x)               row by row, elements are (real, imaginary)

Every step makes the whole tile anew, all elements at once. `adjoint_f` is the gradient of `_f`.

Sources: G. H. Golub and C. F. Van Loan, "Matrix Computations" (2013), chapters 3 and 4, in the form by columns; C. Van
Loan, "Computational Frameworks for the Fast Fourier Transform" (1992), 1.7, for the transform in Stockham's order;
M. B. Giles, "Collected Matrix Derivative Results for Forward and Reverse Mode" (2008), for gradients: of a factor and
of a triangular matrix it is that of the triangle which is read.
"""


def _cholesky_step(i: int, j: int, a, k: int):
    value = a[i, j]
    root = sqrt(a[k, k])
    if j == k:
        if i == k:
            value = root
        elif i > k:
            value = value / root
    elif j > k and i >= j:
        value = value - (a[i, k] / root) * (a[j, k] / root)
    return value


def _lower_element(i: int, j: int, a):
    value = a[i, j]
    if j > i:
        value = type(value)(0.0)
    return value


def _tile_cholesky(a):
    for k in range(len(a)):
        a = _tile_build(_cholesky_step, a, a, k)
    return _tile_build(_lower_element, a, a)


# S = P + transpose(P), where P is the lower triangle of transpose(L) * d with half of its diagonal.
def _symmetric_product(i: int, j: int, factor, d):
    row = max(i, j)
    column = min(i, j)
    total = factor[row, row] * d[row, column]
    for k in range(row + 1, len(factor)):
        total = total + factor[k, row] * d[k, column]
    return total


def _lower_half(i: int, j: int, b):
    value = b[i, j]
    half = type(value)(0.5)
    if i == j:
        value = value * half
    elif j > i:
        value = type(value)(0.0)
    return value


# transpose(inverse(L)) * S * inverse(L), of which the diagonal counts half.
def adjoint_tile_cholesky(a, d):
    factor = _tile_cholesky(a)
    b = _tile_upper_solve(tile_transpose(factor), _tile_build(_symmetric_product, factor, factor, d))
    b = _tile_upper_solve(tile_transpose(factor), tile_transpose(b))
    adjoint[a] += _tile_build(_lower_half, b, b)


def _eliminate_below(i: int, j: int, t, z, k: int):
    value = z[i, j]
    if i == k:
        value = value / t[k, k]
    elif i > k:
        value = value - t[i, k] * (z[k, j] / t[k, k])
    return value


def _tile_lower_solve(t, z):
    for k in range(len(t)):
        z = _tile_build(_eliminate_below, z, t, z, k)
    return z


# b * transpose(x) where it is below the diagonal, or on it; or above.
def _outer_triangle(i: int, j: int, b, x, is_lower: bool):
    total = b[i, 0] * x[j, 0]
    for k in range(1, b.shape[1]):
        total = total + b[i, k] * x[j, k]
    if (i < j) == is_lower and i != j:
        total = type(total)(0.0)
    return total


def adjoint_tile_lower_solve(t, z, d):
    x = _tile_lower_solve(t, z)
    b = _tile_upper_solve(tile_transpose(t), d)
    adjoint[z] += b
    adjoint[t] -= _tile_build(_outer_triangle, t, b, x, True)


def _eliminate_above(i: int, j: int, t, z, k: int):
    value = z[i, j]
    if i == k:
        value = value / t[k, k]
    elif i < k:
        value = value - t[i, k] * (z[k, j] / t[k, k])
    return value


def _tile_upper_solve(t, z):
    n = len(t)
    for k in range(n):
        z = _tile_build(_eliminate_above, z, t, z, n - 1 - k)
    return z


def adjoint_tile_upper_solve(t, z, d):
    x = _tile_upper_solve(t, z)
    b = _tile_lower_solve(tile_transpose(t), d)
    adjoint[z] += b
    adjoint[t] -= _tile_build(_outer_triangle, t, b, x, False)


# One step of the transform: s transforms of length 2 m side by side become 2 s of length m.
def _fft_step(i: int, j: int, x, s: int, m: int, turn):
    q = j % s
    r = j // s
    p = r // 2
    a = x[i, q + s * p]
    b = x[i, q + s * (p + m)]
    value = a + b
    if r % 2 == 1:
        d = a - b
        angle = turn * type(turn)(p) / type(turn)(m)
        c = cos(angle)
        w = sin(angle)
        value[0] = d[0] * c - d[1] * w
        value[1] = d[0] * w + d[1] * c
    return value


def _tile_fft(x, turn):
    s = int(1)
    m = x.shape[1] // 2
    while m > 0:
        x = _tile_build(_fft_step, x, x, s, m, turn)
        s = s * 2
        m = m // 2
    return x


def adjoint_tile_fft(x, turn, d):
    adjoint[x] += _tile_fft(d, -turn)


# The sum itself, for lengths that are no power of two.
def _dft_element(i: int, j: int, x, turn):
    n = x.shape[1]
    total = x[i, 0]
    for k in range(1, n):
        angle = turn * type(turn)(2 * (j * k % n)) / type(turn)(n)
        c = cos(angle)
        w = sin(angle)
        a = x[i, k]
        total[0] = total[0] + (a[0] * c - a[1] * w)
        total[1] = total[1] + (a[0] * w + a[1] * c)
    return total


def _tile_dft(x, turn):
    return _tile_build(_dft_element, x, x, turn)


def adjoint_tile_dft(x, turn, d):
    adjoint[x] += _tile_dft(d, -turn)


def _gathered(i: int, j: int, k: int, t, indices):
    return t[i, indices[j], k]


# Elements along the middle axis in the order of a tile of indices, in the shape of `like`.
def _tile_gather(t, indices, like):
    return _tile_build(_gathered, like, t, indices)


def _given_back(i: int, j: int, k: int, t, indices, d):
    n = t.shape[1]
    total = type(t[i, j, k])(0.0)
    for m in range(len(indices)):
        at = int(indices[m])
        if at < 0:
            at = at + n
        if at == j:
            total = total + d[i, m, k]
    return total


def adjoint_tile_gather(t, indices, like, d):
    adjoint[t] += _tile_build(_given_back, t, t, indices, d)


# Element i's generator is that of thread i of a block.
def _random_float(i: int, rng: uint32, low: float, high: float):
    state = rand_init(rng + uint32(i))
    return randf(state, low, high)


def _random_int(i: int, rng: uint32):
    state = rand_init(rng + uint32(i))
    return randi(state)


def _random_int(i: int, rng: uint32, low: int, high: int):
    state = rand_init(rng + uint32(i))
    return randi(state, low, high)
