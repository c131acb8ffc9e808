"""`cupy.random`: numbers by chance.

    >>> import gridstride.cupy as cp
    >>> rng = cp.random.default_rng(7)
    >>> rng.random(3).shape
    (3,)

An element's numbers come from the seed, the number of the call, and the element's place, by Philox 4x32-10 (Salmon et
al., "Parallel random numbers: as easy as 1, 2, 3", 2011): the same on the CPU and on a GPU. They are not those of CuPy,
whose generators are cuRAND's.
"""

from __future__ import annotations

from typing import Any

from gridstride.cupy.random._generator import Generator, Philox4x3210, RandomState

BitGenerator = XORWOW = MRG32k3a = Philox4x3210

_state = RandomState()


def default_rng(seed: Any = None) -> Generator:
    """A generator: by a seed, or one that differs from run to run."""
    return seed if isinstance(seed, Generator) else Generator(seed)


def seed(seed: Any = None) -> None:
    """Starts the generator of the functions of this module again."""
    _state.seed(seed)


def get_random_state() -> RandomState:
    """The generator of the functions of this module."""
    return _state


def set_random_state(rs: RandomState) -> None:
    """Sets the generator of the functions of this module."""
    global _state
    if not isinstance(rs, RandomState):
        raise TypeError(f"Random state must be an instance of RandomState. Actual: {type(rs)}")
    _state = rs


_NAMES = frozenset(
    [
        "binomial",
        "bytes",
        "choice",
        "exponential",
        "geometric",
        "gumbel",
        "laplace",
        "logistic",
        "lognormal",
        "normal",
        "pareto",
        "permutation",
        "power",
        "rand",
        "randint",
        "randn",
        "random",
        "random_integers",
        "random_sample",
        "ranf",
        "rayleigh",
        "sample",
        "shuffle",
        "standard_cauchy",
        "standard_exponential",
        "standard_normal",
        "triangular",
        "uniform",
        "weibull",
    ]
)


def __getattr__(name: str) -> Any:
    # Functions of the module are methods of its generator.
    if name in _NAMES:
        return getattr(_state, name)
    raise AttributeError(f"module 'cupy.random' has no attribute {name!r}: it has {', '.join(sorted(_NAMES))}")
