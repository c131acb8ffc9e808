"""The driver's side of numba.cuda on a GPU: code of other compilers, memory managers, frees that wait, contexts."""

import ctypes
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import gridstride as wp
from gridstride import _native
from gridstride.numba import cuda

pytestmark = pytest.mark.usefixtures("numba_on_the_gpu")


PTX = cuda.PTXSource("""
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 status) twice(.param .b64 result, .param .b32 x)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.b32 %r1, [x];
    ld.param.b64 %rd1, [result];
    add.s32 %r2, %r1, %r1;
    st.b32 [%rd1], %r2;
    mov.b32 %r1, 0;
    st.param.b32 [status], %r1;
    ret;
}
.visible .func (.param .b32 sum) add2(.param .b32 x, .param .b32 y)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [x];
    ld.param.b32 %r2, [y];
    add.s32 %r1, %r1, %r2;
    st.param.b32 [sum], %r1;
    ret;
}
""")


def test_kernels_are_linked_with_ptx():
    twice = cuda.declare_device("twice", "int32(int32)", link=PTX)
    add2 = cuda.declare_device("add2", "int32(int32, int32)", link=[PTX], abi="c")

    @cuda.jit(device=True)
    def inner(x):
        return twice(x)

    @cuda.jit
    def kernel(r, x):
        i = cuda.grid(1)
        if i < r.size:
            r[i] = add2(inner(x[i]), i)

    x = np.arange(1000, dtype=np.int32)
    r = np.zeros_like(x)
    for _ in range(2):
        kernel[8, 128](r, x)
        assert (r == 3 * x).all()


def test_code_that_is_missing_is_named():
    absent = cuda.declare_device("absent", "int32(int32)")

    @cuda.jit
    def kernel(r):
        r[0] = absent(r[1])

    with pytest.raises(RuntimeError, match="absent"):
        kernel[1, 1](np.zeros(2, np.int32))


class Manager(cuda.HostOnlyCUDAMemoryManager):
    """Gives out memory as a library with an allocator of its own does."""

    interface_version = 1

    def initialize(self):
        self.is_ready = True

    def memalloc(self, size):
        buffer, allocations = _native.CudaBuffer(0, size), self.allocations
        pointer = ctypes.c_uint64(buffer.ptr)
        allocations[pointer.value] = buffer
        return cuda.MemoryPointer(self.context, pointer, size, finalizer=lambda: allocations.pop(pointer.value))

    def get_ipc_handle(self, memory):
        raise NotImplementedError

    def get_memory_info(self):
        return cuda.MemoryInfo(free=1, total=2)


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def test_arrays_are_made_in_a_managers_memory():
    context = cuda.current_context()
    before = context.memory_manager
    context.memory_manager = manager = Manager(context=context)
    try:
        x = cuda.to_device(np.arange(100.0))
        assert list(manager.allocations) == [x.device_pointer] and cuda.current_context().get_memory_info().total == 2
        double[1, 128](x)
        assert (x.copy_to_host() == 2 * np.arange(100.0)).all() and manager.is_ready
        del x
        assert not manager.allocations
    finally:
        context.memory_manager = before


def test_frees_wait_while_they_are_deferred():
    pending = cuda.current_context().deallocations
    pending.clear()
    with cuda.defer_cleanup():
        for _ in range(50):
            cuda.to_device(np.zeros(4))
        pending.clear()
        assert len(pending) == 50
    pending.clear()
    assert len(pending) == 0


def test_memory_of_the_host_is_locked_for_a_block():
    x = np.arange(1000.0)
    for _ in range(2):
        with cuda.pinned(x), cuda.mapped(x[:500]) as half:
            double[4, 128](half)
    assert x[499] == 4 * 499 and x[500] == 500


def test_a_block_leaves_the_current_context_as_it_was():
    found = []

    def run():
        with cuda.gpus[0]:
            found.append(_native.cuda_current_context())
        found.append(_native.cuda_current_context())
        cuda.current_context()
        found.append(_native.cuda_current_context())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    ours = cuda.current_context().handle
    assert found == [ours, 0, ours]


READ = "import pickle, sys\nwith pickle.load(sys.stdin.buffer) as x: print(x.copy_to_host().tolist())"


def test_arrays_are_read_by_other_processes():
    if not wp.get_device("cuda:0").is_ipc_supported:
        pytest.skip("this device cannot share memory between processes")
    with wp.ScopedMempool("cuda:0", False):
        x = cuda.to_device(np.arange(6))
    handle = pickle.dumps(x[2:].get_ipc_handle())
    done = subprocess.run([sys.executable, "-c", READ], input=handle, capture_output=True)
    assert done.stdout == b"[2, 3, 4, 5]\n", done.stderr.decode()[-500:]


def test_the_registers_of_a_kernel_are_limited():
    @cuda.jit(max_registers=32)
    def kernel(x, n):
        a, b, c, d = x[0], x[1], x[2], x[3]
        for _ in range(n):
            a, b, c, d = a * b + c, b * c + d, c * d + a, d * a + b
            x[4] += a + b
        x[5], x[6] = c, d

    assert kernel.specialize(np.zeros(8), 3).get_regs_per_thread() <= 32
