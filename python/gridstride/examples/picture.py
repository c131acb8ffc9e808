"""Turns arrays into PNG files. The examples compute; this draws."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

# Black, violet, red, orange, yellow, white: dark to bright for every kind of eye.
_STOPS = np.array([[0, 0, 4], [66, 10, 104], [147, 38, 103], [221, 81, 58], [252, 165, 10], [252, 255, 220]], float)


def colors(values: np.ndarray, low: float | None = None, high: float | None = None) -> np.ndarray:
    """Colors for numbers: black for `low` and below, white for `high` and above."""
    values = np.asarray(values, np.float64)
    low = float(values.min()) if low is None else low
    high = float(values.max()) if high is None else high
    scaled = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0) * (len(_STOPS) - 1)
    before = np.minimum(scaled.astype(int), len(_STOPS) - 2)
    share = (scaled - before)[..., None]
    return ((1.0 - share) * _STOPS[before] + share * _STOPS[before + 1]).astype(np.uint8)


def glow(light: np.ndarray) -> np.ndarray:
    """Pixels for an image of summed light, (height, width, 3): bright places saturate, faint ones stay visible."""
    return (255.0 * (1.0 - np.exp(-np.asarray(light, np.float64)))).astype(np.uint8)


def strip(frames: list[np.ndarray]) -> np.ndarray:
    """Pictures side by side, with a thin line between."""
    line = np.full((len(frames[0]), 3, 3), 90, np.uint8)
    parts = [part for frame in frames for part in (frame, line)]
    return np.concatenate(parts[:-1], axis=1)


def save(path: str | Path, pixels: np.ndarray) -> Path:
    """Writes pixels, (height, width, 3) of bytes, as a PNG and makes its folder if need be."""
    try:
        from PIL import Image
    except ImportError:
        raise SystemExit("pictures need Pillow: pip install 'gridstride[demo]'") from None
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.ascontiguousarray(pixels)).save(path)
    return path


def line(pixels: np.ndarray, points: np.ndarray, color: Sequence[int], width: int = 1) -> None:
    """Draws a line through points, (n, 2) of column and row in pixels, into a picture."""
    ends = np.asarray(points, np.float64)
    for begin, end in zip(ends[:-1], ends[1:], strict=True):
        n = max(2, int(np.ceil(2 * np.abs(end - begin).max())) + 1) if np.isfinite(begin + end).all() else 0
        dots(pixels, begin + (end - begin) * np.linspace(0.0, 1.0, n)[:, None], color, width)


def dots(pixels: np.ndarray, points: np.ndarray, color: Sequence[int], width: int = 3) -> None:
    """Draws squares of `width` pixels at points, (n, 2) of column and row, into a picture."""
    at = np.rint(np.asarray(points, np.float64)).astype(int).reshape(-1, 2)
    for dx in range(-(width // 2), width - width // 2):
        for dy in range(-(width // 2), width - width // 2):
            x, y = at[:, 0] + dx, at[:, 1] + dy
            inside = (x >= 0) & (x < pixels.shape[1]) & (y >= 0) & (y < pixels.shape[0])
            pixels[y[inside], x[inside]] = color


def curve(values: list[float], size: int) -> np.ndarray:
    """A square picture of numbers over time, on a logarithmic scale with a thin line at each power of ten."""
    pixels = np.full((size, size, 3), 16, np.uint8)
    heights = np.log10(np.maximum(np.asarray(values, np.float64), 1e-30))
    low, high = np.floor(heights.min()), np.ceil(heights.max())
    scale = (size - 9) / ((high - low) or 1.0)
    for power in np.arange(low, high + 1):
        pixels[int(4 + (high - power) * scale), :] = 60
    x = np.linspace(4, size - 5, len(heights))
    line(pixels, np.stack([x, 4 + (high - heights) * scale], axis=1), (252, 165, 10), 2)
    return pixels


def shrink(pixels: np.ndarray, size: int) -> np.ndarray:
    """The nearest pixels of a picture in a square of another size."""
    rows, columns = (np.arange(size) * extent // size for extent in pixels.shape[:2])
    return pixels[rows][:, columns]
