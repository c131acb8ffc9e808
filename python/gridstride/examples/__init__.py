"""Small, whole programs: each simulates or computes something, checks itself against NumPy and draws a picture.

Run one as `python -m gridstride.examples.heat`; `--help` lists its sizes. In reading order: `heat` (a stencil on a
grid), `mandelbrot` (a loop that ends early), `histogram` (atomics), `box` (particles, structs and functions), `galaxy`
(every star pulls every other), `maze` (a sparse linear system). `gridstride demo` runs `galaxy` and `box`.
"""

import os


def get_asset_directory() -> str:
    """The first folder `assets` beside the examples: that of another system's, where its examples are here too."""
    for folder in __path__:
        assets = os.path.join(folder, "assets")
        if os.path.isdir(assets):
            return assets
    raise FileNotFoundError(f"there is no folder `assets` beside the examples in {', '.join(__path__)}")
