"""Fabric arrays: buckets of memory as one array, on every device and against NumPy."""

from typing import Any

import numpy as np
import pytest

import gridstride as wp

CODES = {wp.float32: "f4", wp.float64: "f8", wp.int32: "i4", wp.uint8: "u1"}


def interface(parts, type_info, name="value", **more):
    """What Fabric hands out for an attribute in buckets."""
    device = str(parts[0].device) if parts else "cpu"
    attribute = {"type": type_info, "access": 2, "pointers": [p.ptr for p in parts], "counts": [p.size for p in parts]}
    return {"version": 1, "device": device, "attribs": {name: {**attribute, **more}}, "_keep": parts}


def fabric(sizes, dtype=wp.float32, device=None):
    """An array 0, 1, 2 … in buckets of these sizes."""
    ends = np.cumsum(sizes)
    parts = [wp.array(np.arange(e - n, e), dtype=dtype, device=device) for e, n in zip(ends, sizes, strict=True)]
    return wp.fabricarray(interface(parts, (True, CODES[dtype], 1, 0, "")), "value"), parts


@wp.kernel
def double(a: wp.fabricarray[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = a[i] * 2.0
    a[i] = a[i] + 1.0
    wp.atomic_add(a, i, 10.0)


@wp.kernel
def double_any(a: Any, out: wp.array[Any]):
    i = wp.tid()
    out[i] = a[i] + a[i]


@pytest.mark.parametrize("sizes", [[5], [1, 1, 1], [3, 0, 4], [100, 7, 33]])
def test_elements_across_buckets(device, sizes):
    fa, parts = fabric(sizes, device=device)
    n = sum(sizes)
    assert (fa.shape, fa.size, fa.ndim, fa.dtype) == ((n,), n, 1, wp.float32)
    out = wp.zeros(n, dtype=float, device=device)
    wp.launch(double, n, inputs=[fa, out], device=device)
    assert out.numpy().tolist() == (2 * np.arange(n)).tolist()
    assert fa.numpy().tolist() == (np.arange(n) + 11).tolist()
    assert np.concatenate([part.numpy() for part in parts]).tolist() == fa.numpy().tolist()


@pytest.mark.parametrize("dtype", [wp.float64, wp.int32, wp.uint8])
def test_indexed_and_generic(device, dtype):
    fa, _ = fabric([4, 3, 5], dtype, device)
    indices = wp.array([11, 0, 4, 3], dtype=int, device=device)
    out = wp.zeros(4, dtype=dtype, device=device)
    wp.launch(double_any, 4, inputs=[fa[indices], out], device=device)
    assert out.list() == [22, 0, 8, 6]
    assert fa[indices].list() == [11, 0, 4, 3]


def test_host_operations(device):
    fa, _ = fabric([2, 3], device=device)
    fa[wp.array([4, 0], dtype=int, device=device)].assign([7.0, 8.0])
    assert fa.list() == [8.0, 1.0, 2.0, 3.0, 7.0]
    fa[wp.array([1], dtype=int, device=device)].fill_(5.0)
    assert wp.clone(fa).numpy().tolist() == [8.0, 5.0, 2.0, 3.0, 7.0]
    wp.copy(fa, wp.zeros(5, dtype=float, device=device))
    assert (fa + 1.0).list() == [1.0] * 5
    fa.fill_(3.0)
    assert wp.map(wp.mul, fa, 2.0).list() == [6.0] * 5
    with pytest.raises(RuntimeError, match="argument 1 `a`: expected fabricarray"):
        wp.launch(double, 5, inputs=[fa.contiguous(), wp.zeros(5, dtype=float, device=device)], device=device)


@wp.struct
class Held:
    a: wp.fabricarray[float]
    b: wp.indexedfabricarray[float]


@wp.kernel
def read_held(held: Held, many: wp.array[Held], out: wp.array[float]):
    i = wp.tid()
    out[i] = held.a[i] + held.b[i] + many[1].a[i]


def test_fields_of_structs(device):
    held = Held()
    assert held.a is None
    held.a, _ = fabric([2, 2], device=device)
    held.b = held.a[wp.array([3, 2, 1, 0], dtype=int, device=device)]
    many = wp.array([Held(), held], dtype=Held, device=device)
    out = wp.zeros(4, dtype=float, device=device)
    wp.launch(read_held, 4, inputs=[held, many, out], device=device)
    assert out.list() == [3.0, 4.0, 5.0, 6.0]
    again = many.list()[1]
    assert again.b.list() == [3.0, 2.0, 1.0, 0.0]
    assert again.to(device).a is again.a
    with pytest.raises(TypeError, match="Struct field 'a' expects a Warp Fabric array, got list"):
        held.a = [1.0]


@wp.kernel
def row_sums(a: wp.fabricarrayarray(dtype=float), out: wp.array[float]):
    i = wp.tid()
    row = a[i]
    for j in range(row.shape[0]):
        out[i] += row[j]
    a[i, 0] = -1.0


def test_rows(device):
    rows = [wp.array(np.arange(1, n + 1), dtype=float, device=device) for n in (1, 4, 2)]
    addresses = wp.array([row.ptr for row in rows], dtype=wp.uint64, device=device)
    lengths = wp.array([row.size for row in rows], dtype=wp.uint64, device=device)
    given = interface(
        [addresses[:1], addresses[1:]], (True, "f4", 1, 1, ""), array_lengths=[lengths.ptr, lengths[1:].ptr]
    )
    fa = wp.fabricarrayarray(data=given, attrib="value")
    assert (fa.ndim, fa.shape) == (2, (3,))
    out = wp.zeros(3, dtype=float, device=device)
    wp.launch(row_sums, 3, inputs=[fa, out], device=device)
    assert out.list() == [1.0, 10.0, 3.0]
    assert [row.list()[0] for row in rows] == [-1.0] * 3


@wp.kernel
def weighted(a: wp.fabricarray[float], x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = a[i] * x[i]


def test_elements_are_constants_to_a_tape(device):
    fa, _ = fabric([2, 3], device=device)
    x = wp.ones(5, dtype=float, device=device, requires_grad=True)
    out = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(weighted, 5, inputs=[fa, x, out], device=device)
    tape.backward(grads={out: wp.ones_like(out)})
    assert x.grad.list() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_an_index_out_of_range_is_reported(device, monkeypatch):
    fa, _ = fabric([2], device=device)
    monkeypatch.setattr(wp.config, "mode", "debug")
    with pytest.raises(wp.KernelFault, match="index .2,. is out of bounds for array `a`"):
        wp.launch(double, 3, inputs=[fa, wp.zeros(3, dtype=float, device=device)], device=device)
        wp.synchronize()


@pytest.mark.cpu
def test_wrong_interfaces():
    part = [wp.zeros(6, dtype=float)]
    with pytest.raises(ValueError, match="must contain five elements, got 2"):
        wp.fabricarray(interface(part, (True, "f4")), "value")
    with pytest.raises(ValueError, match="square element count, got 6"):
        wp.fabricarray(interface(part, (True, "f4", 6, 0, "matrix")), "value")
    with pytest.raises(KeyError, match="no attribute `mass` among value"):
        wp.fabricarray(interface(part, (True, "f4", 1, 0, "")), "mass")
    with pytest.raises(TypeError, match="__fabric_arrays_interface__"):
        wp.fabricarray([1.0], "value")
