"""Norms and directions of vectors and quaternions.

In: vectors of any length and float type. Out: a float of that type, or a vector like the argument.

    normalize(vec3(3.0, 0.0, 4.0))  ->  (0.6, 0.0, 0.8)
    norm_huber(v, 0.5)

Sources: P. J. Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35 (1964), for
`norm_huber`; P. Charbonnier et al., "Deterministic edge-preserving regularization", IEEE Transactions on Image
Processing 6 (1997), for its smooth form. A zero vector has the zero vector as its direction, a zero quaternion the
identity.
"""


def normalize(a: FloatVector):
    n = length(a)
    if n > 0.0:
        return a / n
    return type(a)()


def normalize(a: Quaternion):
    n = length(a)
    if n > 0.0:
        return a * (1.0 / n)
    return quat_identity(_element(a))


def norm_l1(v: FloatVector):
    total = _element(v)(0.0)
    for x in v:
        total = total + abs(x)
    return total


def norm_l2(v: FloatVector):
    return length(v)


def norm_huber(v: FloatVector, delta: Float = 1.0):
    d = _element(v)(delta)
    square = dot(v, v)
    if square <= d * d:
        return 0.5 * square
    return d * (sqrt(square) - 0.5 * d)


def norm_pseudo_huber(v: FloatVector, delta: Float = 1.0):
    d = _element(v)(delta)
    return d * sqrt(1.0 + dot(v, v) / (d * d))


def smooth_normalize(v: FloatVector, delta: Float = 1.0):
    return v / norm_pseudo_huber(v, _element(v)(delta))


# The matrix of the cross product: skew(a) * b == cross(a, b).
def skew(vec: Vector3):
    x, y, z = vec[0], vec[1], vec[2]
    return matrix(0.0, -z, y, z, 0.0, -x, -y, x, 0.0, shape=(3, 3), dtype=_element(vec))
