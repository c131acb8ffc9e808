"""Determinants, inverses and decompositions of small matrices.

In: square matrices of any float type. Out: floats, matrices, or tuples of factors.

    U, sigma, V = svd3(A)    A == U * diag(sigma) * transpose(V), U and V rotations, |sigma| falling
    Q, R = qr3(A)            A == Q * R, Q a rotation, R upper triangular
    Q, d = eig3(A)           A == Q * diag(d) * transpose(Q) for a symmetric A
    inverse(A)               zero where the determinant is

Sources: D. Eberly, "The Laplace expansion theorem: computing the determinants and inverses of matrices" (2008), for
4 x 4; M. R. Hestenes, "Inversion of matrices by biorthogonalization", Journal of SIAM 6 (1958), for the one-sided
rotations of `svd3`; G. H. Golub and C. F. Van Loan, "Matrix Computations" (2013), chapters 5 and 8, for QR by
orthogonalization carried out twice and for Jacobi's eigenvalue method; J. Blinn, "Consider the lowly 2 x 2 matrix",
IEEE Computer Graphics and Applications 16 (1996), for `svd2`.
"""


def determinant(a: Matrix22):
    return a[0, 0] * a[1, 1] - a[1, 0] * a[0, 1]


def determinant(a: Matrix33):
    return dot(a[0], cross(a[1], a[2]))


# Determinants of the pairs of columns 01 02 03 12 13 23 in two rows.
def _minors(r: Vector4, s: Vector4):
    return (
        r[0] * s[1] - r[1] * s[0],
        r[0] * s[2] - r[2] * s[0],
        r[0] * s[3] - r[3] * s[0],
        r[1] * s[2] - r[2] * s[1],
        r[1] * s[3] - r[3] * s[1],
        r[2] * s[3] - r[3] * s[2],
    )


def determinant(a: Matrix44):
    s0, s1, s2, s3, s4, s5 = _minors(a[0], a[1])
    c0, c1, c2, c3, c4, c5 = _minors(a[2], a[3])
    return s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0


def inverse(a: Matrix22):
    det = determinant(a)
    if det == 0.0:
        return type(a)()
    return matrix(a[1, 1], -a[0, 1], -a[1, 0], a[0, 0], shape=(2, 2)) * (1.0 / det)


def inverse(a: Matrix33):
    det = determinant(a)
    if det == 0.0:
        return type(a)()
    return matrix_from_cols(cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])) * (1.0 / det)


def inverse(a: Matrix44):
    s0, s1, s2, s3, s4, s5 = _minors(a[0], a[1])
    c0, c1, c2, c3, c4, c5 = _minors(a[2], a[3])
    det = s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0
    if det == 0.0:
        return type(a)()
    return matrix(
        a[1, 1] * c5 - a[1, 2] * c4 + a[1, 3] * c3,
        a[0, 2] * c4 - a[0, 1] * c5 - a[0, 3] * c3,
        a[3, 1] * s5 - a[3, 2] * s4 + a[3, 3] * s3,
        a[2, 2] * s4 - a[2, 1] * s5 - a[2, 3] * s3,
        a[1, 2] * c2 - a[1, 0] * c5 - a[1, 3] * c1,
        a[0, 0] * c5 - a[0, 2] * c2 + a[0, 3] * c1,
        a[3, 2] * s2 - a[3, 0] * s5 - a[3, 3] * s1,
        a[2, 0] * s5 - a[2, 2] * s2 + a[2, 3] * s1,
        a[1, 0] * c4 - a[1, 1] * c2 + a[1, 3] * c0,
        a[0, 1] * c2 - a[0, 0] * c4 - a[0, 3] * c0,
        a[3, 0] * s4 - a[3, 1] * s2 + a[3, 3] * s0,
        a[2, 1] * s2 - a[2, 0] * s4 - a[2, 3] * s0,
        a[1, 1] * c1 - a[1, 0] * c3 - a[1, 2] * c0,
        a[0, 0] * c3 - a[0, 1] * c1 + a[0, 2] * c0,
        a[3, 1] * s1 - a[3, 0] * s3 - a[3, 2] * s0,
        a[2, 0] * s3 - a[2, 1] * s1 + a[2, 2] * s0,
        shape=(4, 4),
    ) * (1.0 / det)


def inverse_approx(a: Matrix22):
    return inverse(a)


def inverse_approx(a: Matrix33):
    return inverse(a)


def inverse_approx(a: Matrix44):
    return inverse(a)


# A unit vector at right angles to a unit vector.
def _perpendicular(a: Vector3):
    if abs(a[0]) < 0.5:
        return normalize(vector(0.0, a[2], -a[1], dtype=_element(a)))
    return normalize(vector(-a[1], a[0], 0.0, dtype=_element(a)))


# A unit vector along a; `other` where a is zero.
def _direction(a: Vector3, other: Vector3):
    n = length(a)
    if n > 0.0:
        return a / n
    return other


# Three columns as far as possible along b0 and b1, made a rotation.
def _frame(b0: Vector3, b1: Vector3):
    q0 = _direction(b0, vector(1.0, 0.0, 0.0, dtype=_element(b0)))
    q1 = b1 - q0 * dot(q0, b1)
    q1 = _direction(q1 - q0 * dot(q0, q1), _perpendicular(q0))
    # What cancellation left along q0 is large only where b1 nearly had its direction.
    q1 = _direction(q1 - q0 * dot(q0, q1), _perpendicular(q0))
    return q0, q1, cross(q0, q1)


def qr3(A: Matrix33):
    t = transpose(A)
    q0, q1, q2 = _frame(t[0], t[1])
    R = matrix(
        dot(q0, t[0]),
        dot(q0, t[1]),
        dot(q0, t[2]),
        0.0,
        dot(q1, t[1]),
        dot(q1, t[2]),
        0.0,
        0.0,
        dot(q2, t[2]),
        shape=(3, 3),
        dtype=_element(A),
    )
    return matrix_from_cols(q0, q1, q2), R


def qr3(A: Matrix33, Q: Matrix33, R: Matrix33):
    return qr3(A)


# Rotates two columns to right angles, and v with them.
def _orthogonalize(bp: Vector3, bq: Vector3, vp: Vector3, vq: Vector3):
    gamma = dot(bp, bq)
    if gamma == 0.0:
        return bp, bq, vp, vq
    zeta = (dot(bq, bq) - dot(bp, bp)) / (2.0 * gamma)
    t = sign(zeta) / (abs(zeta) + sqrt(1.0 + zeta * zeta))
    c = 1.0 / sqrt(1.0 + t * t)
    s = c * t
    return c * bp - s * bq, s * bp + c * bq, c * vp - s * vq, s * vp + c * vq


def svd3(A: Matrix33):
    t = transpose(A)
    b0, b1, b2 = t[0], t[1], t[2]
    unit = identity(3, dtype=_element(A))
    v0, v1, v2 = unit[0], unit[1], unit[2]
    for sweep in range(8):
        b0, b1, v0, v1 = _orthogonalize(b0, b1, v0, v1)
        b0, b2, v0, v2 = _orthogonalize(b0, b2, v0, v2)
        b1, b2, v1, v2 = _orthogonalize(b1, b2, v1, v2)
    if dot(b1, b1) > dot(b0, b0):
        b0, b1, v0, v1 = b1, b0, v1, v0
    if dot(b2, b2) > dot(b0, b0):
        b0, b2, v0, v2 = b2, b0, v2, v0
    if dot(b2, b2) > dot(b1, b1):
        b1, b2, v1, v2 = b2, b1, v2, v1
    if dot(cross(v0, v1), v2) < 0.0:
        b2 = -b2
        v2 = -v2
    u0, u1, u2 = _frame(b0, b1)
    sigma = vector(dot(u0, b0), dot(u1, b1), dot(u2, b2))
    return matrix_from_cols(u0, u1, u2), sigma, matrix_from_cols(v0, v1, v2)


def svd3(A: Matrix33, U: Matrix33, sigma: Vector3, V: Matrix33):
    return svd3(A)


# A == R(phi) * diag(x, y) * R(theta) for two plane rotations; a negative y goes into V.
def svd2(A: Matrix22):
    e = 0.5 * (A[0, 0] + A[1, 1])
    f = 0.5 * (A[0, 0] - A[1, 1])
    g = 0.5 * (A[1, 0] + A[0, 1])
    h = 0.5 * (A[1, 0] - A[0, 1])
    x = sqrt(e * e + h * h) + sqrt(f * f + g * g)
    y = x * 0.0
    if x > 0.0:
        y = determinant(A) / x
    a1 = atan2(g, f)
    a2 = atan2(h, e)
    phi = 0.5 * (a2 + a1)
    theta = 0.5 * (a2 - a1)
    cp, sp = cos(phi), sin(phi)
    ct, st = cos(theta), sin(theta)
    flip = sign(y)
    U = matrix(cp, -sp, sp, cp, shape=(2, 2))
    V = matrix(ct, st * flip, -st, ct * flip, shape=(2, 2))
    return U, vector(x, abs(y)), V


def svd2(A: Matrix22, U: Matrix22, sigma: Vector2, V: Matrix22):
    return svd2(A)


# Cosine and sine of the rotation that makes an off-diagonal element zero. Nothing is divided by that element, so that
# the derivative is right where it is small or zero.
def _jacobi(app: Float, aqq: Float, apq: Float):
    # tan = b / (d + sqrt(d^2 + b^2)) up to signs: also at b = 0 its derivative is that of the angle. Scaled, so that
    # squares do not overflow. Where both are rounding errors, any angle would do, and its derivative would be noise.
    d = aqq - app
    b = 2.0 * apq
    scale = max(abs(d), abs(b))
    size = abs(app) + abs(aqq)
    if size + scale == size:
        return 1.0 + 0.0 * apq, 0.0 * apq
    x = d / scale
    y = b / scale
    t = where(d < 0.0, -y, y) / (abs(x) + sqrt(x * x + y * y))
    c = 1.0 / sqrt(1.0 + t * t)
    return c, c * t


def eig3(A: Matrix33):
    m = A
    Q = identity(3, dtype=_element(A))
    for sweep in range(8):
        c, s = _jacobi(m[0, 0], m[1, 1], m[0, 1])
        J = matrix(c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0, shape=(3, 3))
        m = transpose(J) * m * J
        Q = Q * J
        c, s = _jacobi(m[0, 0], m[2, 2], m[0, 2])
        J = matrix(c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c, shape=(3, 3))
        m = transpose(J) * m * J
        Q = Q * J
        c, s = _jacobi(m[1, 1], m[2, 2], m[1, 2])
        J = matrix(1.0, 0.0, 0.0, 0.0, c, s, 0.0, -s, c, shape=(3, 3), dtype=_element(A))
        m = transpose(J) * m * J
        Q = Q * J
    return Q, get_diag(m)


# Quotients of small float16 numbers overflow.
def eig3(A: mat33h):
    Q, d = eig3(mat33(A))
    return mat33h(Q), vec3h(d)


def eig3(A: Matrix33, Q: Matrix33, d: Vector3):
    return eig3(A)
