"""The benchmarks on Gridstride."""

import warp_style

import gridstride as wp


def run(bench):
    wp.config.quiet = True
    wp.init()
    wp.set_device("cuda:0")
    wp.zeros(1)
    wp.synchronize()
    warp_style.run(wp, bench)
