"""The benchmarks in Numba's text, on Gridstride."""

import gridstride.compat

gridstride.compat.install()

from peer_numba import run  # noqa: E402

__all__ = ["run"]
