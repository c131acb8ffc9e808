"""Counts how often numbers fall into each bin. Many threads meet in one bin, so each adds atomically.

`wp.atomic_add` gives what was there before: the first to arrive in a bin also notes its own number.
"""

import argparse

import numpy as np

import gridstride as wp
from gridstride.examples import picture


@wp.kernel
def count(
    samples: wp.array(dtype=float),
    low: float,
    high: float,
    bins: wp.array(dtype=int),
    sums: wp.array(dtype=wp.float64),
    first: wp.array(dtype=int),
):
    i = wp.tid()
    n = bins.shape[0]
    bin = int(wp.floor((samples[i] - low) / (high - low) * float(n)))
    if bin < 0 or bin >= n:
        return
    before = wp.atomic_add(bins, bin, 1)
    if before == 0:
        first[bin] = i
    sums[bin] += wp.float64(samples[i])  # an array element that is added to in place is added to atomically


def compute(samples: np.ndarray, n_bins: int, low: float, high: float, device: str = "cpu"):
    bins = wp.zeros(n_bins, dtype=int, device=device)
    sums = wp.zeros(n_bins, dtype=wp.float64, device=device)
    first = wp.full(n_bins, -1, dtype=int, device=device)
    values = wp.array(samples, dtype=float, device=device)
    wp.launch(count, dim=len(samples), inputs=[values, low, high], outputs=[bins, sums, first], device=device)
    return bins.numpy(), sums.numpy(), first.numpy()


def bin_of(samples: np.ndarray, n_bins: int, low: float, high: float) -> np.ndarray:
    """The bin of each sample, in single precision as in the kernel: at an edge the last bit decides."""
    low, high = np.float32(low), np.float32(high)
    return np.floor((samples.astype(np.float32) - low) / (high - low) * np.float32(n_bins)).astype(int)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2_000_000)
    parser.add_argument("--bins", type=int, default=128)
    parser.add_argument("--out", default="out/histogram.png")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)

    rng = np.random.default_rng(7)
    samples = np.concatenate([rng.normal(-1.0, 0.6, args.samples // 2), rng.normal(1.2, 0.9, (args.samples + 1) // 2)])
    samples = samples.astype(np.float32)
    low, high = -3.0, 4.0
    with wp.ScopedTimer(f"{len(samples)} samples into {args.bins} bins"):
        bins, sums, first = compute(samples, args.bins, low, high, args.device)

    where = bin_of(samples, args.bins, low, high)
    kept = (where >= 0) & (where < args.bins)
    expected = np.bincount(where[kept], minlength=args.bins)
    expected_sums = np.bincount(where[kept], weights=samples[kept].astype(np.float64), minlength=args.bins)
    print(f"bins that differ from NumPy: {int((bins != expected).sum())} of {args.bins}")
    assert (bins == expected).all()
    assert np.allclose(sums, expected_sums, rtol=1e-9, atol=1e-6)
    filled = first >= 0
    assert (filled == (expected > 0)).all() and (where[first[filled]] == np.flatnonzero(filled)).all()

    height = 300
    level = (height * bins / max(bins.max(), 1)).astype(int)
    bars = np.where(np.arange(height)[::-1, None] < level, np.arange(height)[::-1, None] + 60, 0)
    print("wrote", picture.save(args.out, picture.colors(np.repeat(bars, max(768 // args.bins, 1), axis=1), 0, 420)))


if __name__ == "__main__":
    main()
