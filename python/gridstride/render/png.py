"""Pixels as a PNG file. Source: ISO/IEC 15948 (W3C, "Portable Network Graphics", 2003)."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np


def save(path: str | Path, pixels: np.ndarray) -> Path:
    """Writes bytes, (rows, columns, 3), to a file, whose folder is made if need be."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width, _ = pixels.shape
    # Each row begins with its filter: none.
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks))
    return path


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
