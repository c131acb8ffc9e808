"""Matrices of a camera, as OpenGL has them: columns are multiplied from the right, depths are from -1 to 1.

>>> from gridstride.render import camera
>>> camera.perspective(90.0, 1.0, 1.0, 3.0)[0]
array([1., 0., 0., 0.], dtype=float32)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def perspective(fov: float, aspect_ratio: float, near: float, far: float) -> np.ndarray:
    """The projection of a camera that sees `fov` degrees vertically."""
    focal = 1.0 / math.tan(math.radians(fov) / 2.0)
    made = np.zeros((4, 4), np.float32)
    made[0, 0], made[1, 1] = focal / aspect_ratio, focal
    made[2, 2], made[2, 3] = (far + near) / (near - far), 2.0 * far * near / (near - far)
    made[3, 2] = -1.0
    return made


def look_at(position: Any, front: Any, up: Any) -> np.ndarray:
    """The view of a camera at a position that looks along `front`."""
    position, up = np.asarray(position, float), np.asarray(up, float)
    back = -_unit(np.asarray(front, float))
    right = _unit(np.cross(up, back))
    made = np.eye(4)
    made[:3, :3] = right, np.cross(back, right), back
    made[:3, 3] = -made[:3, :3] @ position
    return made.astype(np.float32)


def axes_of(up_axis: int) -> np.ndarray:
    """Turns directions where y is up into those where another axis is; the others keep their order."""
    order = [(1, 2, 0), (0, 1, 2), (2, 0, 1)][up_axis]
    return np.eye(3)[list(order)]


def _unit(vector: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vector)
    if length == 0.0:
        raise ValueError("a camera needs a direction, and an up that is not along it")
    return vector / length
