"""Spatial vectors of six numbers: an angular part w, then a linear part v.

In: vectors of length 6, transforms, of any one float type. Out: the same.

    velocity_at_point(spatial_vector(w, v), r)  ->  v + cross(w, r)

Source: R. Featherstone, "Rigid Body Dynamics Algorithms" (2008), chapter 2.
"""


def spatial_top(svec: Vector6):
    return vector(svec[0], svec[1], svec[2])


def spatial_bottom(svec: Vector6):
    return vector(svec[3], svec[4], svec[5])


def spatial_dot(a: Vector6, b: Vector6):
    return dot(a, b)


# Of two motions.
def spatial_cross(a: Vector6, b: Vector6):
    w = cross(spatial_top(a), spatial_top(b))
    v = cross(spatial_bottom(a), spatial_top(b)) + cross(spatial_top(a), spatial_bottom(b))
    return vector(w, v)


# Of a motion and a force.
def spatial_cross_dual(a: Vector6, b: Vector6):
    w = cross(spatial_top(a), spatial_top(b)) + cross(spatial_bottom(a), spatial_bottom(b))
    return vector(w, cross(spatial_top(a), spatial_bottom(b)))


# The matrix [r 0; s r] of 3 x 3 blocks.
def spatial_adjoint(r: Matrix33, s: Matrix33):
    z = type(r[0])()
    return matrix_from_rows(
        vector(r[0], z), vector(r[1], z), vector(r[2], z), vector(s[0], r[0]), vector(s[1], r[1]), vector(s[2], r[2])
    )


def velocity_at_point(qd: Vector6, r: Vector3):
    return spatial_bottom(qd) + cross(spatial_top(qd), r)


# A velocity in another frame.
def transform_twist(t: Transformation, x: Vector6):
    w = transform_vector(t, spatial_top(x))
    v = transform_vector(t, spatial_bottom(x)) + cross(transform_get_translation(t), w)
    return vector(w, v)


# A force in another frame.
def transform_wrench(t: Transformation, x: Vector6):
    f = transform_vector(t, spatial_bottom(x))
    return vector(transform_vector(t, spatial_top(x)) + cross(transform_get_translation(t), f), f)
