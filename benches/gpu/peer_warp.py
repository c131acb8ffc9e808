"""The benchmarks on NVIDIA Warp."""

import warp as wp
import warp_style


def run(bench):
    wp.config.quiet = True
    wp.init()
    wp.set_device("cuda:0")
    wp.zeros(1)
    wp.synchronize()
    warp_style.run(wp, bench)
