"""Turns arrays into PNG files. The examples compute; this draws."""

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
