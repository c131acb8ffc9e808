"""The benchmarks on NVIDIA Warp."""

import warp as wp
import warp_style


def run(bench):
    warp_style.run(wp, bench)
