"""Tiles of blocks of several threads on the CPU: `config.enable_cpu_blocks`."""

import numpy as np
import pytest

import gridstride as wp

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def blocks():
    wp.config.enable_cpu_blocks = True


@wp.kernel
def multiply(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), c: wp.array3d(dtype=float)):
    n, i, j = wp.tid()
    total = wp.tile_zeros(shape=(8, 8), dtype=float)
    for k in range(a.shape[2] / 8):
        x = wp.tile_load(a[n], shape=(8, 8), offset=(i * 8, k * 8))
        y = wp.tile_load(b, shape=(8, 8), offset=(k * 8, j * 8))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c[n], total, offset=(i * 8, j * 8))


@pytest.mark.parametrize("block_dim", [2, 32, 100])
def test_the_threads_share_the_work_and_the_result(block_dim):
    rng = np.random.default_rng(1)
    a, b = rng.random((3, 16, 24), np.float32), rng.random((24, 16), np.float32)
    c, alone = np.zeros((3, 16, 16), np.float32), np.zeros((3, 16, 16), np.float32)
    wp.launch_tiled(multiply, dim=(3, 2, 2), inputs=[a, b, c], block_dim=block_dim, device="cpu")
    wp.config.enable_cpu_blocks = False
    wp.launch_tiled(multiply, dim=(3, 2, 2), inputs=[a, b, alone], block_dim=block_dim, device="cpu")
    np.testing.assert_array_equal(c, alone)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@wp.kernel
def values_of_threads(out: wp.array(dtype=int), total: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.tile(i)
    out[i] = wp.untile(t * 2) + wp.block_dim()
    wp.tile_atomic_add(total, wp.tile_sum(t), offset=0)


def test_tiles_of_the_values_of_threads():
    out, total = np.zeros(4096, np.int32), np.zeros(1, np.int32)
    wp.launch(values_of_threads, dim=4096, inputs=[out, total], block_dim=64, device="cpu")
    np.testing.assert_array_equal(out, 2 * np.arange(4096) + 64)
    assert total[0] == np.arange(4096).sum()


@wp.kernel
def sums_of_rows(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(a, shape=64, offset=i / 48 * 64)
    wp.tile_store(out, wp.tile_sum(t), offset=i / 48)


def test_the_last_block_of_a_row_may_have_fewer_threads():
    a, out = np.arange(192, dtype=np.float32), np.zeros(3, np.float32)
    wp.launch(sums_of_rows, dim=100, inputs=[a, out], block_dim=48, device="cpu")
    np.testing.assert_array_equal(out, a.reshape(3, 64).sum(1))


@wp.kernel
def updates(bits: wp.array(dtype=wp.uint32), n: wp.array(dtype=int), least: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_zeros(shape=2, dtype=wp.uint32)
    t[0] |= wp.uint32(1) << wp.uint32(i)
    counts = wp.tile_zeros(shape=3, dtype=int)
    if i % 2 == 0:
        counts[i % 3] += 1
    m = wp.tile_zeros(shape=1, dtype=float)
    if i == 5:
        m[0] = 4.0
    wp.tile_store(bits, t)
    wp.tile_store(n, counts)
    wp.tile_store(least, m)


def test_each_thread_of_a_block_updates_elements():
    bits, n, least = np.zeros(2, np.uint32), np.zeros(3, np.int32), np.zeros(1, np.float32)
    wp.launch(updates, dim=16, inputs=[bits, n, least], block_dim=16, device="cpu")
    assert bits.tolist() == [0xFFFF, 0]
    assert n.tolist() == [3, 2, 3]
    assert least[0] == 4.0


@wp.kernel
def outside(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile(a[i])
    out[i + 3] = wp.untile(t)


def test_a_report_names_the_thread():
    wp.config.mode = "debug"
    with pytest.raises(wp.KernelFault, match=r"thread \(?61"):
        wp.launch(
            outside, dim=64, inputs=[np.zeros(64, np.float32), np.zeros(64, np.float32)], block_dim=32, device="cpu"
        )
