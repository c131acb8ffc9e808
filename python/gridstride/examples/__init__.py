"""Small, whole programs: each simulates or computes something, checks itself against NumPy and draws a picture.

Run one as `python -m gridstride.examples.heat`; `--help` lists its sizes. In reading order: `heat` (a stencil on a
grid), `mandelbrot` (a loop that ends early), `histogram` (atomics), `box` (particles, structs and functions), `galaxy`
(every star pulls every other). `gridstride demo` runs `galaxy` and `box`.
"""
