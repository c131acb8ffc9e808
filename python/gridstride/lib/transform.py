"""Rigid transforms: a position p and a rotation q; a point goes to quat_rotate(q, x) + p.

In: transforms, or 4 x 4 matrices that act on columns (x, y, z, 1), of any one float type. Out: the same.

    t = transform(vec3(1.0, 0.0, 0.0), quat_identity())
    transform_point(t, vec3(0.0, 2.0, 0.0))  ->  (1, 2, 0)

Sources: R. M. Murray, Z. Li and S. S. Sastry, "A Mathematical Introduction to Robotic Manipulation" (1994),
chapter 2; K. Shoemake, "Matrix animation and polar decomposition", Graphics Interface (1992), for what
`transform_decompose` can and cannot separate: scale along the axes, and no shear.
"""


def transform_get_translation(xform: Transformation):
    return vector(xform[0], xform[1], xform[2])


def transform_get_rotation(xform: Transformation):
    return quaternion(xform[3], xform[4], xform[5], xform[6])


def transform_set_translation(xform: Transformation, p: Vector3):
    return transformation(p, transform_get_rotation(xform))


def transform_set_rotation(xform: Transformation, q: Quaternion):
    return transformation(transform_get_translation(xform), q)


# First b, then a.
def transform_multiply(a: Transformation, b: Transformation):
    q = transform_get_rotation(a)
    p = quat_rotate(q, transform_get_translation(b)) + transform_get_translation(a)
    return transformation(p, quat_mul(q, transform_get_rotation(b)))


def transform_inverse(xform: Transformation):
    q = quat_inverse(transform_get_rotation(xform))
    return transformation(-quat_rotate(q, transform_get_translation(xform)), q)


def transform_point(xform: Transformation, point: Vector3):
    return transform_get_translation(xform) + quat_rotate(transform_get_rotation(xform), point)


def transform_point(mat: Matrix44, point: Vector3):
    x = mat * vector(point[0], point[1], point[2], 1.0)
    return vector(x[0], x[1], x[2])


def transform_point(xform: Matrix44, point: Vector3):
    return transform_point(xform, point)


def transform_vector(xform: Transformation, vec: Vector3):
    return quat_rotate(transform_get_rotation(xform), vec)


def transform_vector(mat: Matrix44, vec: Vector3):
    x = mat * vector(vec[0], vec[1], vec[2], 0.0)
    return vector(x[0], x[1], x[2])


def transform_compose(position: Vector3, rotation: Quaternion, scale: Vector3):
    m = quat_to_matrix(rotation)
    return matrix(
        m[0, 0] * scale[0],
        m[0, 1] * scale[1],
        m[0, 2] * scale[2],
        position[0],
        m[1, 0] * scale[0],
        m[1, 1] * scale[1],
        m[1, 2] * scale[2],
        position[1],
        m[2, 0] * scale[0],
        m[2, 1] * scale[1],
        m[2, 2] * scale[2],
        position[2],
        0.0,
        0.0,
        0.0,
        1.0,
        shape=(4, 4),
    )


def transform_to_matrix(xform: Transformation):
    one = _element(xform)(1.0)
    return transform_compose(transform_get_translation(xform), transform_get_rotation(xform), vector(one, one, one))


def transform_from_matrix(mat: Matrix44):
    return transformation(vector(mat[0, 3], mat[1, 3], mat[2, 3]), quat_from_matrix(mat))


# A column of length zero has scale zero and stays zero in the rotation.
def transform_decompose(m: Matrix44):
    c0 = vector(m[0, 0], m[1, 0], m[2, 0])
    c1 = vector(m[0, 1], m[1, 1], m[2, 1])
    c2 = vector(m[0, 2], m[1, 2], m[2, 2])
    rotation = quat_from_matrix(matrix_from_cols(normalize(c0), normalize(c1), normalize(c2)))
    return vector(m[0, 3], m[1, 3], m[2, 3]), rotation, vector(length(c0), length(c1), length(c2))
