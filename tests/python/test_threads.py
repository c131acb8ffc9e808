"""Several threads of Python launch at once."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.cpu


def test_a_thread_may_launch_a_kernel_while_another_is_at_its_options(tmp_path):
    """In a process of its own: this was a deadlock of Python's lock and one of the kernel's."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import threading
import gridstride as wp
from gridstride import _native

@wp.kernel
def count(a: wp.array(dtype=float)):
    a[wp.tid()] = a[wp.tid()] + 1.0

class Meanwhile:
    def __bool__(self):
        other = threading.Thread(target=launch, args=(False,))
        other.start()
        other.join()
        return False

def launch(checked):
    _native.launch(count, 3, [a], options={"checked": checked})

a = wp.zeros(3, dtype=float, device="cpu")
launch(Meanwhile())
assert a.list() == [2.0] * 3, a
"""
    )
    subprocess.run([sys.executable, program], check=True, timeout=60)
