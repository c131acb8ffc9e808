"""Quaternions x, y, z, w as rotations.

In: unit quaternions, vectors of length 3, angles in radians, of any one float type. Out: the same.

    q = quat_from_axis_angle(vec3(0.0, 0.0, 1.0), 1.570796)
    quat_rotate(q, vec3(1.0, 0.0, 0.0))  ->  (0, 1, 0)

Sources: J. B. Kuipers, "Quaternions and Rotation Sequences" (1999), chapters 5-7; S. W. Shepperd, "Quaternion from
rotation matrix", Journal of Guidance and Control 1 (1978); E. Bernardes and S. Viollet, "Quaternion to Euler angles
conversion: a direct, general and computationally efficient method", PLoS ONE 17 (2022); F. S. Grassia, "Practical
parameterization of rotations using the exponential map", Journal of Graphics Tools 3 (1998).
"""


def quat_mul(a: Quaternion, b: Quaternion):
    return quaternion(
        a.w * b.x + b.w * a.x + a.y * b.z - b.y * a.z,
        a.w * b.y + b.w * a.y + a.z * b.x - b.z * a.x,
        a.w * b.z + b.w * a.z + a.x * b.y - b.x * a.y,
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    )


def quat_inverse(quat: Quaternion):
    return quaternion(-quat.x, -quat.y, -quat.z, quat.w)


def quat_from_axis_angle(axis: Vector3, angle: Float):
    half = angle * 0.5
    return quaternion(axis * sin(half), cos(half))


# The angle is in [0, pi]; the axis of no rotation is zero.
def quat_to_axis_angle(quat: Quaternion):
    v = vector(quat.x, quat.y, quat.z)
    axis = normalize(v)
    if quat.w < 0.0:
        axis = -axis
    return axis, 2.0 * atan2(length(v), abs(quat.w))


def quat_to_axis_angle(quat: Quaternion, axis: Vector3, angle: Float):
    return quat_to_axis_angle(quat)


def _rotated(x, y, z, w, vec):
    c = 2.0 * w * w - 1.0
    d = 2.0 * (x * vec[0] + y * vec[1] + z * vec[2])
    return vector(
        vec[0] * c + x * d + (y * vec[2] - z * vec[1]) * w * 2.0,
        vec[1] * c + y * d + (z * vec[0] - x * vec[2]) * w * 2.0,
        vec[2] * c + z * d + (x * vec[1] - y * vec[0]) * w * 2.0,
    )


def quat_rotate(quat: Quaternion, vec: Vector3):
    return _rotated(quat.x, quat.y, quat.z, quat.w, vec)


def quat_rotate_inv(quat: Quaternion, vec: Vector3):
    return _rotated(-quat.x, -quat.y, -quat.z, quat.w, vec)


# Along the shorter arc from a (t = 0) to b (t = 1).
def quat_slerp(a: Quaternion, b: Quaternion, t: Float):
    axis, angle = quat_to_axis_angle(quat_mul(quat_inverse(a), b))
    return quat_mul(a, quat_from_axis_angle(axis, t * angle))


def quat_to_matrix(quat: Quaternion):
    unit = identity(3, dtype=_element(quat))
    return matrix_from_cols(quat_rotate(quat, unit[0]), quat_rotate(quat, unit[1]), quat_rotate(quat, unit[2]))


# The largest of w, x, y, z comes from the diagonal, the others from it without a small divisor.
def _from_rotation(m):
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    x, y, z, w = trace, trace, trace, trace
    if trace >= 0.0:
        h = sqrt(trace + 1.0)
        w = 0.5 * h
        h = 0.5 / h
        x = (m[2, 1] - m[1, 2]) * h
        y = (m[0, 2] - m[2, 0]) * h
        z = (m[1, 0] - m[0, 1]) * h
    elif m[0, 0] >= m[1, 1] and m[0, 0] >= m[2, 2]:
        h = sqrt((m[0, 0] - (m[1, 1] + m[2, 2])) + 1.0)
        x = 0.5 * h
        h = 0.5 / h
        y = (m[0, 1] + m[1, 0]) * h
        z = (m[2, 0] + m[0, 2]) * h
        w = (m[2, 1] - m[1, 2]) * h
    elif m[1, 1] >= m[2, 2]:
        h = sqrt((m[1, 1] - (m[2, 2] + m[0, 0])) + 1.0)
        y = 0.5 * h
        h = 0.5 / h
        z = (m[1, 2] + m[2, 1]) * h
        x = (m[0, 1] + m[1, 0]) * h
        w = (m[0, 2] - m[2, 0]) * h
    else:
        h = sqrt((m[2, 2] - (m[0, 0] + m[1, 1])) + 1.0)
        z = 0.5 * h
        h = 0.5 / h
        x = (m[2, 0] + m[0, 2]) * h
        y = (m[1, 2] + m[2, 1]) * h
        w = (m[1, 0] - m[0, 1]) * h
    return normalize(quaternion(x, y, z, w))


def quat_from_matrix(mat: Matrix33):
    return _from_rotation(mat)


def quat_from_matrix(mat: Matrix44):
    return _from_rotation(mat)


# Roll about x, then pitch about y, then yaw about z, about fixed axes.
def quat_rpy(roll: Float, pitch: Float, yaw: Float):
    cr, sr = cos(roll * 0.5), sin(roll * 0.5)
    cp, sp = cos(pitch * 0.5), sin(pitch * 0.5)
    cy, sy = cos(yaw * 0.5), sin(yaw * 0.5)
    return quaternion(
        cy * sr * cp - sy * cr * sp,
        cy * cr * sp + sy * sr * cp,
        sy * cr * cp - cy * sr * sp,
        cy * cr * cp + sy * sr * sp,
    )


def quat_to_rpy(q: Quaternion):
    return vector(
        atan2(2.0 * (q.w * q.x + q.y * q.z), 1.0 - 2.0 * (q.x * q.x + q.y * q.y)),
        asin(2.0 * (q.w * q.y - q.z * q.x)),
        atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z)),
    )


def _about_axis(axis: int, angle: Float):
    s = sin(0.5 * angle)
    q = quaternion(0.0, 0.0, 0.0, cos(0.5 * angle))
    q[axis] = s
    return q


# Angles by axis: e[0] is about x. The rotations about the fixed axes i, j and k follow each other in that order.
def quat_from_euler(e: Vector3, i: int, j: int, k: int):
    return quat_mul(_about_axis(k, e[k]), quat_mul(_about_axis(j, e[j]), _about_axis(i, e[i])))


# Where i == k the third angle is in the slot of the axis that is not named.
def quat_to_euler(q: Quaternion, i: int, j: int, k: int):
    is_proper = i == k
    third = k
    if is_proper:
        third = 3 - i - j
    parity = _element(q)(((i - j) * (j - third) * (third - i)) / 2)
    a, b, c, d = q.w, q[i], q[j], q[third] * parity
    if not is_proper:
        a, b, c, d = q.w - q[j], q[i] + q[third] * parity, q[j] + q.w, q[third] * parity - q[i]
    middle = acos(2.0 * (a * a + b * b) / (a * a + b * b + c * c + d * d) - 1.0)
    plus = atan2(b, a)
    minus = atan2(d, c)
    first = plus - minus
    last = plus + minus
    # At gimbal lock only one combination of the two is determined.
    if abs(middle) < 1.0e-6:
        first = 0.0 * plus
        last = 2.0 * plus
    elif abs(middle - 3.141592653589793) < 1.0e-6:
        first = 0.0 * plus
        last = 2.0 * minus
    if not is_proper:
        middle = middle - 1.5707963267948966
        last = last * parity
    e = vector(first, first, first)
    e[i] = first
    e[j] = middle
    e[third] = last
    return e


# The part of a rotation that is about an axis.
def quat_twist(axis: Vector3, q: Quaternion):
    along = axis * dot(axis, vector(q.x, q.y, q.z))
    return normalize(quaternion(along, q.w))


def quat_twist_angle(axis: Vector3, q: Quaternion):
    return 2.0 * atan2(abs(dot(axis, vector(q.x, q.y, q.z))), q.w)


def quat_twist_angle_signed(axis: Vector3, q: Quaternion):
    return 2.0 * atan2(dot(axis, vector(q.x, q.y, q.z)), q.w)
