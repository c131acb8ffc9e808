"""The memory tracker: what is allocated where, in which scope, until it is freed."""

import io

import pytest

import gridstride as wp
from gridstride import _allocators, _memory


def test_allocations_are_noted_until_they_are_freed():
    with wp.ScopedMemoryTracker("outer", print=False) as tracker:
        a = wp.zeros(100, dtype=float, device="cpu")
        with wp.ScopedMemoryTracker("inner", print=False):
            b = wp.zeros((2, 8), dtype=wp.vec3, device="cpu")
        assert (_memory.ledger.n_total, _memory.ledger.current_bytes) == (2, 400 + 192)
        (line,) = [one.site for one in _memory.ledger.live.values() if one.n_bytes == 400]
        assert line.startswith(__file__)
        del b
        assert (len(_memory.ledger.live), _memory.ledger.current_bytes, _memory.ledger.peak_bytes) == (1, 400, 592)
    text = io.StringIO()
    tracker.report(text)
    for words in ("Total allocations: 2", "array[float32, 100] on cpu in outer", "outer/inner"):
        assert words in text.getvalue()
    del a


def test_what_geometry_allocates_says_what_for():
    points = wp.zeros(3, dtype=wp.vec3, device="cpu")
    corners = wp.array([0, 1, 2], dtype=int, device="cpu")
    with wp.ScopedMemoryTracker("geometry", print=False):
        grid = wp.HashGrid(4, 4, 4, device="cpu")
        grid.build(points, 1.0)
        kept = [grid, wp.Bvh(points, points), wp.Mesh(points, corners), wp.zeros(1, dtype=float, device="cpu")]
        labels = [one.label.partition("] ")[2] for one in _memory.ledger.live.values()]
    assert set(labels) == {"(native:hashgrid)", "(native:bvh)", "(native:mesh)", ""} and labels[-1] == ""
    del kept


def test_nothing_is_noted_outside():
    with pytest.raises(RuntimeError, match="memory is not tracked"):
        wp.print_memory_report()


def test_allocators_hand_out_memory_until_it_is_given_back():
    cpu = wp.get_device("cpu")
    for allocator in (cpu.default_allocator, cpu.pinned_allocator):
        assert isinstance(allocator, _allocators.Allocator)
        address = allocator.allocate(64)
        made = wp.array(ptr=address, dtype=float, shape=16, device="cpu", copy=False)
        made.fill_(2.0)
        assert made.numpy().sum() == 32.0
        allocator.deallocate(address, 64)
        for wrong in (lambda: allocator.deallocate(address, 64), lambda: allocator.allocate(0)):  # noqa: B023
            with pytest.raises(ValueError):
                wrong()
    assert cpu.mempool_allocator is None
    with pytest.raises(RuntimeError, match="for CUDA devices, not for cpu"):
        wp.set_device_allocator("cpu", cpu.default_allocator)
