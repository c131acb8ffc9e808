"""The benchmarks on Gridstride."""

import warp_style

import gridstride as wp


def run(bench):
    warp_style.run(wp, bench)
