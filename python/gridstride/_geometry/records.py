"""Records: where kernels find the arrays of a hash grid, a hierarchy or a mesh by its id.

In: a struct of the kernel library, whose first field is `id`. Out: an id that kernels may be given, also after the
object is gone: the memory of records is never given back, and a record that is used again has another id. How an id is
made up is in `gridstride/lib/geometry_ids.py`.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from gridstride import _array, _create, _device, _launch, _native, _recorded, _types

HASH_GRID, BVH, MESH = 1, 2, 3

_SIZE = 512
_ALIGN = 256
_PER_BLOCK = 64
_ADDRESS = 2**48 - _ALIGN
_GENERATIONS = 64
_FACTOR = 2177342782468422677

# Of every device: memory that is kept for good, and records that are free: their addresses and last generations.
_blocks: dict[Any, list[Any]] = {}
_free: dict[Any, list[tuple[int, int]]] = {}
# Of objects that went while a graph was captured: their records still hold arrays.
_later: list[Record] = []


class Record:
    """The record of one object on one device; `id` is what kernels are given."""

    def __init__(self, kind: int, device: Any) -> None:
        self.device = device
        _release_later()
        free = _free.setdefault(device, [])
        if not free:
            _add_block(device)
        # The one that was freed longest ago, so that generations last.
        self._address, generation = free.pop(0)
        self._generation = (generation + 1) % _GENERATIONS
        low = self._address | self._generation << 2 | kind
        self.id = low | (low * _FACTOR % 2**64 >> 49) << 48
        self._value: Any = None
        self._raw = b""

    def write(self, value: Any) -> None:
        """Writes a struct, in the order of the device's work, and keeps its arrays."""
        value.id = self.id
        raw = value.__gs_bytes__()
        # A graph that is captured must write it again at each launch.
        if raw != self._raw or self.device.is_capturing:
            self._put(value, raw)
        self._value, self._raw = value, raw

    def note_change(self) -> None:
        """Tells tapes that what kernels find by the id is not what it was."""
        _native.object_changed(self.id)

    def release(self) -> None:
        """Makes the id one of no object; at exit, where no kernel will run, nothing."""
        if sys is None or sys.is_finalizing():
            return
        if self.device.is_capturing:
            _later.append(self)
            return
        self.note_change()
        if self._value is not None:
            nothing = type(self._value)()
            self._put(nothing, nothing.__gs_bytes__())
        _free[self.device].append((self._address, self._generation))
        self._value = None

    def _put(self, value: Any, raw: bytes) -> None:
        if self.device.is_cuda:
            cls = type(value)
            place = _blocks[self.device][0]._place
            target = _array.make(cls, self._address, (1,), (cls.__gs_type__.size,), _blocks[self.device], place)
            _launch.launch(_recorded.FILLS[0], 1, [target, value], device=self.device, record_tape=False)
        else:
            ctypes.memmove(self._address, raw, len(raw))


def _release_later() -> None:
    while _later and not _later[-1].device.is_capturing:
        _later.pop().release()


def _add_block(device: Any) -> None:
    block = _create.zeros(_SIZE * _PER_BLOCK + _ALIGN, _types.uint8, _device.memory_of(device))
    _blocks.setdefault(device, []).append(block)
    first = (block.ptr + _ALIGN - 1) // _ALIGN * _ALIGN
    if (first + _SIZE * _PER_BLOCK) & ~(_ADDRESS + _ALIGN - 1):
        raise RuntimeError(f"memory at {first:#x}: ids are made of addresses of 48 bits")
    _free[device] += [(first + index * _SIZE, 0) for index in range(_PER_BLOCK)]
