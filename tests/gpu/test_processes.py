"""Memory and events of two processes."""

import subprocess
import sys

import pytest

import gridstride as wp

CHILD = """
import sys
import gridstride as wp

@wp.kernel
def add(x: wp.array(dtype=wp.vec3), amount: float):
    i = wp.tid()
    x[i] += wp.vec3(amount, 0.0, -amount)

memory, event, done = (bytes.fromhex(one) for one in sys.argv[1:])
wp.set_device("cuda:0")
x = wp.from_ipc_handle(memory, wp.vec3, (100, 10))
wp.wait_event(wp.event_from_ipc_handle(event))
assert (x.numpy()[..., 0] == 5).all(), x.numpy()
wp.launch(add, 1000, [x.flatten(), 2.0])
wp.record_event(wp.event_from_ipc_handle(done))
wp.synchronize()
print("child is done")
"""


def test_two_processes_share_memory_and_events(tmp_path):
    device = wp.get_device()
    if not device.is_ipc_supported:
        pytest.skip("this device cannot share memory between processes")
    with wp.ScopedMempool(device, False):
        x = wp.zeros((100, 10), dtype=wp.vec3)
    ready, done = wp.Event(interprocess=True), wp.Event(interprocess=True)
    x.fill_(wp.vec3(5.0, 6.0, 7.0))
    wp.record_event(ready)
    handles = [one.ipc_handle().hex() for one in (x, ready, done)]
    program = tmp_path / "child.py"
    program.write_text(CHILD)
    child = subprocess.run(
        [sys.executable, str(program), *handles], capture_output=True, text=True, timeout=100, check=False
    )
    assert child.returncode == 0, child.stderr
    wp.wait_event(done)
    assert (x.numpy() == [7, 6, 5]).all()


def test_what_cannot_be_shared():
    if not wp.get_device().is_ipc_supported:
        pytest.skip("this device cannot share memory between processes")
    with pytest.raises(RuntimeError, match=r"memory of a pool .* within `wp.ScopedMempool\(device, False\)`"):
        wp.zeros(10).ipc_handle()
    with wp.ScopedMempool("cuda:0", False):
        x = wp.zeros(1024)
    with pytest.raises(RuntimeError, match="a part of an array cannot be shared"):
        x[512:].ipc_handle()
    with pytest.raises(RuntimeError, match="IPC requires a CUDA device"):
        wp.zeros(10, device="cpu").ipc_handle()
    with pytest.raises(TypeError, match="a handle of another process has 64 bytes"):
        wp.from_ipc_handle(b"123", float, (3,))
    with pytest.raises(ValueError, match="no timing"):
        wp.Event(interprocess=True, enable_timing=True)
    with pytest.raises(RuntimeError, match="IPC is not supported on device cpu"):
        wp.from_ipc_handle(bytes(64), float, (3,), device="cpu")
