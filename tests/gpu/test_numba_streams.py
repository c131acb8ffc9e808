"""Streams and events of numba.cuda's style on a GPU: each in its own order, the default one in order with all."""

import asyncio
import threading

import numpy as np
import pytest

from gridstride.numba import cuda, float32

pytestmark = pytest.mark.usefixtures("numba_on_the_gpu")

N = 1 << 20


@cuda.jit
def slow(x, rounds):
    i = cuda.grid(1)
    if i < x.size:
        t = x[i]
        for _ in range(rounds):
            t = t * float32(0.999) + float32(1.0)
        x[i] = t


@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += x[i]


def after(rounds):
    t = np.float32(0)
    for _ in range(rounds):
        t = np.float32(t * np.float32(0.999)) + np.float32(1)
    return t


def test_the_default_stream_waits_for_all():
    blocks, expected = N // 256, after(3000)
    streams = [cuda.stream() for _ in range(4)]
    assert len({int(one) for one in streams}) == 4
    arrays = [cuda.to_device(np.zeros(N, np.float32)) for _ in streams]
    total = cuda.to_device(np.zeros(N, np.float32))
    for stream, x in zip(streams, arrays, strict=True):
        slow[blocks, 256, stream](x, 3000)
    for x in arrays:
        add[blocks, 256](x, total)
    assert (total.copy_to_host() == 4 * expected).all()
    for stream, x in zip(streams, arrays, strict=True):
        slow[blocks, 256, stream](x, 1)
        assert (x.copy_to_host() == np.float32(expected * np.float32(0.999)) + np.float32(1)).all()


def test_events_order_streams():
    first, second = cuda.stream(), cuda.stream()
    x, y = cuda.to_device(np.zeros(N, np.float32)), cuda.to_device(np.zeros(N, np.float32))
    done, begin, end = cuda.event(timing=False), cuda.event(), cuda.event()
    begin.record(first)
    slow[N // 256, 256, first](x, 3000)
    end.record(first)
    done.record(first)
    done.wait(second)
    add[N // 256, 256, second](x, y)
    assert (y.copy_to_host(stream=second) == after(3000)).all()
    assert done.query()
    end.synchronize()
    assert 0 < cuda.event_elapsed_time(begin, end) < 10_000


def test_page_locked_copies_go_on_by_themselves():
    stream = cuda.stream()
    host, back = cuda.pinned_array(N, np.float32), cuda.pinned_array(N, np.float32)
    host[:] = np.arange(N)
    x = cuda.to_device(host, stream=stream)
    slow[N // 256, 256, stream](x, 0)
    add[N // 256, 256, stream](x, x)
    x.copy_to_host(back, stream=stream)
    stream.synchronize()
    assert (back == 2 * np.arange(N, dtype=np.float32)).all()
    with stream.auto_synchronize():
        x.copy_to_device(host, stream=stream)
        x.copy_to_host(back, stream=stream)
    assert (back == host).all()


def test_callbacks_come_in_order():
    stream, seen, done = cuda.stream(), [], threading.Event()
    x = cuda.to_device(np.zeros(N, np.float32))
    for k in range(5):
        slow[N // 256, 256, stream](x, 1000)
        stream.add_callback(lambda stream, status, k: seen.append((status, k)), k)
    stream.add_callback(lambda *_: done.set())
    assert done.wait(30)
    assert seen == [(0, k) for k in range(5)]


def test_waiting_in_asyncio():
    async def main():
        streams = [cuda.stream() for _ in range(3)]
        arrays = [cuda.to_device(np.zeros(N, np.float32), stream=one) for one in streams]
        for stream, x in zip(streams, arrays, strict=True):
            slow[N // 256, 256, stream](x, 1000)
        done = await asyncio.gather(*(one.async_done() for one in streams))
        assert done == streams
        assert all((x.copy_to_host() == after(1000)).all() for x in arrays)

    asyncio.run(main())


def test_streams_of_other_libraries():
    cp = pytest.importorskip("cupy")
    stream = cp.cuda.Stream(non_blocking=True)
    x = cuda.to_device(np.zeros(N, np.float32))
    cuda.synchronize()
    slow[N // 256, 256, cuda.external_stream(stream.ptr)](x, 3000)
    stream.synchronize()
    assert (x.copy_to_host() == after(3000)).all()
