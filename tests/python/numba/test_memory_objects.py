"""What stands for memory on the host's side: pending frees, pointers, layouts, code to link. No GPU is needed."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

from gridstride import numba
from gridstride.numba import config, cuda
from gridstride.numba.cuda import _layout, _pending, _pointers
from gridstride.numba.cuda._errors import LinkerError


def test_frees_wait_until_there_are_many(monkeypatch):
    monkeypatch.setattr(config, "CUDA_DEALLOCS_COUNT", 2)
    freed, pending = [], _pending.Pending(lambda: 10**9)
    for name in "ab":
        pending.add_item(freed.append, name)
    assert (len(pending), freed) == (2, [])
    pending.add_item(freed.append, "c")
    assert (len(pending), freed) == (0, ["a", "b", "c"])


def test_frees_wait_until_they_are_large(monkeypatch):
    monkeypatch.setattr(config, "CUDA_DEALLOCS_RATIO", 0.5)
    freed, pending = [], _pending.Pending(lambda: 2 * 10**6)
    pending.add_item(freed.append, "a", 10**6)
    assert freed == []
    pending.add_item(freed.append, "b", 1)
    assert freed == ["a", "b"]


def test_nothing_is_freed_while_frees_are_deferred():
    freed, pending = [], _pending.Pending(lambda: 10**9)
    with pending.disable(), pending.disable():
        pending.add_item(freed.append, "a")
        pending.clear()
        assert (len(pending), freed, pending.is_disabled) == (1, [], True)
    pending.clear()
    assert (freed, pending.is_disabled) == (["a"], False)


def test_a_finalizer_runs_when_the_last_view_has_gone():
    freed = []
    pointer = cuda.MemoryPointer(None, ctypes.c_void_p(4096), 64, finalizer=lambda: freed.append(1))
    view = pointer.view(8).view(8, 16)
    assert (view.device_pointer_value, view.size, view.owner is pointer, pointer.refct) == (4112, 8, True, 2)
    del pointer
    assert freed == []
    del view
    assert freed == [1]


def test_memory_is_freed_once():
    freed = []
    pointer = cuda.MemoryPointer(None, 4096, 64, finalizer=lambda: freed.append(1))
    pointer.free()
    with pytest.raises(RuntimeError, match="dead"):
        pointer.free()
    del pointer
    assert freed == [1]


def test_views_lie_within_the_memory():
    with pytest.raises(RuntimeError, match="bytes 8 to 65 do not lie"):
        cuda.MemoryPointer(None, 4096, 64).view(8, 65)


def test_memory_of_the_host_is_an_array():
    host, freed = np.arange(4, dtype=np.uint8), []
    memory = cuda.PinnedMemory(None, host.ctypes.data, 4, owner=host, finalizer=lambda: freed.append(1))
    np.ndarray(2, np.uint16, memory)[0] = 0x0605
    assert list(host) == [5, 6, 2, 3] and memory.device_pointer == host.ctypes.data
    assert _pointers.address_of(memory.device_ctypes_pointer) == host.ctypes.data
    part = memory[1:]
    del memory
    assert freed == []
    del part
    assert freed == [1]


SHAPES = [(4,), (4, 5), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_layouts_slice_as_arrays_do(shape, order):
    real = np.empty(shape, np.float64, order=order)
    model = _layout.Array.from_desc(0, real.shape, real.strides, real.itemsize)
    cuts = [slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1), 1, -1]
    for index in itertools.product(cuts, repeat=len(shape)):
        expected, found = real[(*index, ...)], model[index]
        offset = expected.ctypes.data - real.ctypes.data
        if not expected.ndim:
            assert found.extent == (offset, offset + 8)
            continue
        assert (found.shape, found.strides) == (expected.shape, expected.strides)
        assert found.is_c_contig == expected.flags["C_CONTIGUOUS"]
        covered = [byte for start, stop in found.iter_contiguous_extent() for byte in range(start, stop)]
        every = {offset + sum(np.multiply(at, expected.strides)) for at in np.ndindex(*expected.shape)}
        assert sorted(covered) == sorted(start + byte for start in every for byte in range(8))


def test_layouts_do_not_move_elements():
    model = _layout.Array.from_desc(0, (4, 5), (80, 8), 8)
    assert model.reshape(4, 5, 1)[0].strides == (80, 8, 8)
    with pytest.raises(NotImplementedError, match="copy"):
        model.reshape(20)
    with pytest.raises(ValueError, match="one unknown"):
        model.reshape(-1, -1)
    with pytest.raises(ValueError, match="cannot infer"):
        model.reshape(-1, 7)


def test_code_to_link_is_known_by_its_ending(tmp_path):
    path = tmp_path / "code.ptx"
    path.write_bytes(b".version 8.0")
    code = cuda.LinkableCode.from_path_or_obj(path)
    assert isinstance(code, cuda.PTXSource) and cuda.LinkableCode.from_path_or_obj(code) is code
    assert code.for_driver(90) == ("ptx", b".version 8.0", "code.ptx")
    with pytest.raises(RuntimeError, match=r"extension .cuh"):
        cuda.LinkableCode.from_path("header.cuh")
    with pytest.raises(RuntimeError, match="no extension"):
        cuda.LinkableCode.from_path("data")
    with pytest.raises(LinkerError, match="missing.a not found"):
        cuda.LinkableCode.from_path("missing.a")
    assert cuda.LTOIR(b"code").for_driver(90) == ("ltoir", b"code", "<unnamed-ltoir>")


def twice(abi):
    """A kernel that calls a function of other code, and that function."""
    declared = cuda.declare_device("twice", "int32(int32)", link=cuda.PTXSource(".version 8.0"), abi=abi)

    @cuda.jit
    def kernel(out):
        out[0] = declared(out[1])

    return kernel, declared


@pytest.mark.parametrize("abi", ["numba", "c"])
def test_functions_of_other_compilers_are_called_by_name(abi):
    kernel, _ = twice(abi)
    text = kernel._text((cuda.int64[:],), "ptx")
    assert ".extern .func  (.param .b32 func_retval0) twice" in text
    # Numba passes the address of the result first.
    assert ("(param0, param1)" in text) == (abi == "numba")


def test_functions_of_other_compilers_run_on_a_gpu_alone():
    kernel, declared = twice("numba")
    with pytest.raises(NotImplementedError, match="`twice` is code of another compiler, which runs on a GPU alone"):
        kernel[1, 1](np.zeros(2, np.int64))
    with pytest.raises(NotImplementedError, match="kernels alone call"):
        declared(1)


def test_an_array_without_dimensions_has_one_element():
    @cuda.jit
    def kernel(r, x):
        r[()] = x[()] + 1

    r, x = np.zeros(()), np.array(2.0)
    kernel[1, 1](r, x)
    assert r[()] == 3


def filled(out, dtype):
    tile = cuda.shared.array(4, dtype)
    thread = cuda.threadIdx.x
    tile[thread] = 2.75
    cuda.syncthreads()
    out[thread] = tile[3 - thread]


def test_types_are_arguments_of_kernels():
    kernel, out = cuda.jit(filled), np.zeros(4)
    for dtype, expected in ((np.float32, 2.75), (np.int32, 2.0), (cuda.int64, 2.0), (np.float64, 2.75)):
        for _ in range(2):
            kernel[1, 4](out, dtype)
            assert out.tolist() == [expected] * 4
    eager = cuda.jit(cuda.void(cuda.float64[:], numba.typeof(np.int8)))(filled)
    eager[1, 4](out, np.int8)
    assert out.tolist() == [2.0] * 4 and len(eager.overloads) == 1


def test_modules_of_the_drivers_side_are_imported_by_their_names():
    from gridstride.numba.cuda.cudadrv import devicearray, driver, nvrtc
    from gridstride.numba.cuda.cudadrv.driver import device_memory_size, host_to_device
    from gridstride.numba.cuda.cudadrv.error import CudaSupportError

    there, here = cuda.device_array(4, np.int32), np.arange(4, dtype=np.int32)
    host_to_device(there, here, here.nbytes)
    assert there.copy_to_host().tolist() == [0, 1, 2, 3] and device_memory_size(there) == 16
    assert driver.host_memory_size(here) == 16 and devicearray.is_cuda_ndarray(there)
    assert issubclass(CudaSupportError, ImportError) and nvrtc.include_paths() is not None
