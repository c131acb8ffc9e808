"""`numba.cuda.random`: a xoroshiro128+ generator for each thread, with the very numbers of numba-cuda.

    >>> states = create_xoroshiro128p_states(1024, seed=1)
    >>> @cuda.jit
    ... def fill(states, out):
    ...     i = cuda.grid(1)
    ...     out[i] = xoroshiro128p_uniform_float32(states, i)

D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators" (2018), first version of xoroshiro128+
(rotations 55, 14, 36), seeded by one step of splitmix64. Consecutive states are 2**64 numbers apart.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gridstride.numba._dtypes import from_dtype
from gridstride.numba.cuda._arrays import DeviceNDArray, device_array
from gridstride.numba.cuda.dispatcher import jit
from gridstride.numba.types import float32, float64, int64, uint64

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
xoroshiro128p_type = from_dtype(xoroshiro128p_dtype)
XOROSHIRO128P_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)
TWO_PI_FLOAT32 = np.float32(2 * math.pi)
TWO_PI_FLOAT64 = 2 * math.pi


@jit(device=True)
def init_xoroshiro128p_state(states, index, seed):
    """Sets a state from a seed, mixed so that small seeds differ in every bit."""
    z = uint64(seed) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> uint64(31))
    states[index].s0 = z
    states[index].s1 = z


@jit(device=True)
def rotl(x, k):
    """A 64-bit integer rotated left by k bits."""
    return (uint64(x) << uint64(k)) | (uint64(x) >> uint64(64 - k))


@jit(device=True)
def xoroshiro128p_next(states, index):
    """The next 64 random bits of a state."""
    s0 = states[index].s0
    s1 = states[index].s1
    result = s0 + s1
    s1 ^= s0
    states[index].s0 = rotl(s0, 55) ^ s1 ^ (s1 << uint64(14))
    states[index].s1 = rotl(s1, 36)
    return result


@jit(device=True)
def xoroshiro128p_jump(states, index):
    """Advances a state by 2**64 numbers."""
    s0 = uint64(0)
    s1 = uint64(0)
    for half in range(2):
        jump = uint64(XOROSHIRO128P_JUMP[half])
        for bit in range(64):
            if jump & (uint64(1) << uint64(bit)):
                s0 ^= states[index].s0
                s1 ^= states[index].s1
            xoroshiro128p_next(states, index)
    states[index].s0 = s0
    states[index].s1 = s1


@jit(device=True)
def uint64_to_unit_float64(x):
    """64 random bits as a float64 in [0, 1)."""
    return (uint64(x) >> uint64(11)) * (float64(1) / (uint64(1) << uint64(53)))


@jit(device=True)
def uint64_to_unit_float32(x):
    """64 random bits as a float32 in [0, 1]."""
    return float32(uint64_to_unit_float64(x))


@jit(device=True)
def xoroshiro128p_uniform_float32(states, index):
    """A uniformly distributed float32; advances the state."""
    return uint64_to_unit_float32(xoroshiro128p_next(states, index))


@jit(device=True)
def xoroshiro128p_uniform_float64(states, index):
    """A uniformly distributed float64; advances the state."""
    return uint64_to_unit_float64(xoroshiro128p_next(states, index))


@jit(device=True)
def xoroshiro128p_normal_float32(states, index):
    """A normally distributed float32 of mean 0 and deviation 1 (Box and Muller); advances the state by two."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-float32(2.0) * math.log(u1)) * math.cos(TWO_PI_FLOAT32 * u2)


@jit(device=True)
def xoroshiro128p_normal_float64(states, index):
    """A normally distributed float64 of mean 0 and deviation 1 (Box and Muller); advances the state by two."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-float64(2.0) * math.log(u1)) * math.cos(TWO_PI_FLOAT64 * u2)


@jit
def _init_states(states, seed, subsequence_start):
    if states.size > 0:
        init_xoroshiro128p_state(states, 0, seed)
        for _ in range(int64(subsequence_start)):
            xoroshiro128p_jump(states, 0)
        for i in range(1, states.size):
            states[i].s0 = states[i - 1].s0
            states[i].s1 = states[i - 1].s1
            xoroshiro128p_jump(states, i)


def init_xoroshiro128p_states(states: Any, seed: int, subsequence_start: int = 0, stream: Any = 0) -> None:
    """Sets an array of states, each 2**64 numbers after the one before, from step `subsequence_start` on."""
    # One state follows from the one before: work for a processor, not for a GPU.
    made = np.empty(states.size, xoroshiro128p_dtype)
    there = DeviceNDArray(made)
    _init_states.launch(_init_states._quiet(1, 1), (there, np.uint64(seed), np.uint64(subsequence_start)), "cpu")
    states.copy_to_device(made, stream=stream)


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> Any:
    """A device array of `n` states, set by `init_xoroshiro128p_states`."""
    states = device_array(n, dtype=xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states
