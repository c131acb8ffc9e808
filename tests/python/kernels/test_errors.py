"""Errors: compile errors with every mistake, arguments that do not fit, checked mode."""

import os
import subprocess
import sys

import numpy as np
import pytest

import gridstride as wp


@wp.kernel
def good(a: wp.array(dtype=float), n: int):
    a[wp.tid()] = float(n)


@wp.kernel
def two_mistakes(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = no_such_name + 1.0  # noqa: F821
    a[i] = wp.sqrt("text")


def test_all_mistakes_of_a_kernel_at_once(device):
    for _ in range(2):
        with pytest.raises(wp.CompileError) as caught:
            wp.launch(two_mistakes, dim=1, inputs=[wp.zeros(1)], device=device)
        assert "no_such_name" in str(caught.value)
        assert "sqrt" in str(caught.value)
        assert "^" in str(caught.value)
        assert len(caught.value.diagnostics) == 2
        lines = [line for _, _, _, line, _ in caught.value.diagnostics]
        first = two_mistakes.func.__code__.co_firstlineno
        assert lines == [first + 3, first + 4]
        assert caught.value.diagnostics[0][2] == __file__
    wp.launch(good, dim=1, inputs=[wp.zeros(1), 1], device=device)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([], ["good", "2 arguments", "got 0"]),
        ([1.0, 2], ["good", "`a`"]),
        ([np.zeros(3), 2], ["good", "`a`", "float64"]),
        ([np.zeros((3, 3), np.float32), 2], ["good", "`a`"]),
        ([wp.zeros(3, dtype=int), 2], ["good", "`a`", "int32"]),
        ([wp.zeros((3, 3)), 2], ["good", "`a`", "ndim=2"]),
        ([wp.zeros(3), 2.5], ["good", "`n`"]),
        ([wp.zeros(3), "x"], ["good", "`n`"]),
        ([wp.zeros(3), wp.vec3()], ["good", "`n`", "vec3f"]),
    ],
)
def test_arguments_that_do_not_fit(device, inputs, words):
    with pytest.raises(RuntimeError) as caught:
        wp.launch(good, dim=1, inputs=inputs, device=device)
    for word in words:
        assert word in str(caught.value)


def test_ints_out_of_range(device):
    with pytest.raises(OverflowError, match="out of range for int32"):
        wp.launch(good, dim=1, inputs=[wp.zeros(1), 2**40], device=device)


OUTSIDE = wp.zeros(3)


@wp.kernel
def searches(out: wp.array(dtype=float)):
    out[0] = float(wp.lower_bound(OUTSIDE, 2.0))


def test_an_array_from_outside_is_no_argument_of_a_function(device):
    with pytest.raises(TypeError, match="not a value that a kernel can hold(?s:.*)pass arrays as arguments"):
        wp.launch(searches, dim=1, inputs=[wp.zeros(1)], device=device)


def test_only_kernels_are_launched():
    with pytest.raises(TypeError, match="kernel"):
        wp.launch(print, dim=1, inputs=[])
    with pytest.raises(RuntimeError, match="is not available"):
        wp.launch(good, dim=1, inputs=[wp.zeros(1), 1], device="cuda:99")


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_read_only_memory_is_not_written(device):
    x = np.zeros(3, np.float32)
    x.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        wp.launch(good, dim=3, inputs=[x, 1], device=device)
    assert not x.any()


@wp.kernel
def store(a: wp.array2d(dtype=float), i: int, j: int):
    a[i, j] = 1.0


def fault(kernel, device, inputs, dim=1):
    wp.config.mode = "debug"
    with pytest.raises(wp.KernelFault) as caught:
        wp.launch(kernel, dim=dim, inputs=inputs, device=device)
    return caught.value


def test_out_of_range(device):
    whole = wp.zeros((4, 4))
    error = fault(store, device, [whole[:2, :3], 1, 3])
    assert (error.kernel, error.array, error.index, error.shape) == ("store", "a", (1, 3), (2, 3))
    assert error.line == store.func.__code__.co_firstlineno + 2
    assert error.file == __file__
    assert error.thread == (0,)
    assert "a[i, j] = 1.0" in str(error)
    assert not whole.numpy().any()
    wp.launch(store, dim=1, inputs=[whole, 1, 3], device=device)
    assert whole.numpy()[1, 3] == 1
    wp.launch(store, dim=1, inputs=[whole, -1, -4], device=device)
    assert whole.numpy()[3, 0] == 1
    assert fault(store, device, [whole, -5, 0]).index == (-5, 0)


@wp.kernel
def thread_faults(a: wp.array(dtype=int)):
    i = wp.tid()
    if i == 7:
        a[i + 100] = 1
    a[i] = i + 1


def test_other_threads_go_on(device):
    a = wp.zeros(10, dtype=int)
    error = fault(thread_faults, device, [a], dim=10)
    assert (error.thread, error.index, error.shape) == ((7,), (107,), (10,))
    assert a.list() == [1, 2, 3, 4, 5, 6, 7, 0, 9, 10]


@wp.kernel
def divide(a: wp.array(dtype=int), d: int):
    a[0] = 10 // d
    a[1] = 10 % d


def test_division_by_zero(device):
    assert "division by zero" in str(fault(divide, device, [wp.zeros(2, dtype=int), 0]))
    wp.config.mode = "release"
    wp.launch(divide, dim=1, inputs=[wp.zeros(2, dtype=int), 0], device=device)


@wp.kernel
def read(a: wp.array(dtype=int), out: wp.array(dtype=int)):
    out[0] = a[0]


def test_null_arrays(device):
    error = fault(read, device, [None, wp.zeros(1, dtype=int)])
    assert error.array == "a"
    assert "None" in str(error) or "null" in str(error)


@wp.kernel
def check(a: wp.array(dtype=int)):
    i = wp.tid()
    assert a[i] < 3, "too large"


def test_assert(device):
    error = fault(check, device, [wp.array([1, 2, 3], dtype=int)], dim=3)
    assert error.thread == (2,)
    assert "assert" in str(error)
    wp.config.mode = "release"
    wp.launch(check, dim=3, inputs=[wp.array([1, 2, 3], dtype=int)], device=device)


@wp.kernel
def root(a: wp.array(dtype=float), x: float):
    a[0] = wp.sqrt(x)


def test_check_finite(device):
    wp.config.verify_fp = True
    with pytest.raises(wp.KernelFault, match="NaN"):
        wp.launch(root, dim=1, inputs=[wp.zeros(1), -1.0], device=device)
    wp.launch(root, dim=1, inputs=[wp.zeros(1), 4.0], device=device)


@wp.kernel
def added(a: wp.array(dtype=float), x: float):
    a[0] += x
    wp.atomic_sub(a, 1, x)


@pytest.mark.parametrize(("first", "second"), [(3e38, 0.0), (0.0, -3e38)])
def test_check_finite_of_sums(device, first, second):
    a = wp.array([first, second], dtype=float)
    wp.launch(added, dim=1, inputs=[a, 3e38], device=device)
    assert not np.isfinite(a.numpy()).all()
    wp.config.verify_fp = True
    with pytest.raises(wp.KernelFault, match="infinite"):
        wp.launch(added, dim=1, inputs=[wp.array([first, second], dtype=float), 3e38], device=device)


@wp.kernel(module="unique", module_options={"mode": "debug"})
def always_checked(a: wp.array(dtype=float), i: int):
    a[i] = 1.0


def test_a_kernel_can_be_checked_alone(device):
    with pytest.raises(wp.KernelFault, match="5"):
        wp.launch(always_checked, dim=1, inputs=[wp.zeros(3), 5], device=device)


def test_compat_runs_programs_unchanged(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "import numpy as np\n"
        "import warp as wp\n"
        "import warp.types, warp.config, warp.utils\n"
        "from warp.types import vector\n"
        "from warp import vec3\n"
        "assert warp.config is wp.config\n"
        "wp.init()\n"
        "@wp.kernel\n"
        "def k(a: wp.array(dtype=float)):\n"
        "    a[wp.tid()] = 2.0\n"
        "a = wp.zeros(4, dtype=float)\n"
        "wp.launch(k, dim=4, inputs=[a])\n"
        "print(a.numpy().sum(), sys.argv[1:], __name__)\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "gridstride.compat", str(program), "x", "y"],
        capture_output=True,
        text=True,
        env={**os.environ, "GRIDSTRIDE_DEVICE": "cpu"},
    )
    assert run.stdout == "8.0 ['x', 'y'] __main__\n", run.stderr


@wp.kernel
def stepped(out: wp.array(dtype=int), step: int):
    n = int(0)
    for _ in range(0, 10, step):
        n += 1
    out[0] = n


def test_a_range_step_of_zero_is_found_in_checked_mode(device, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "debug")
    with pytest.raises(wp.KernelFault, match="range step cannot be zero"):
        wp.launch(stepped, dim=1, inputs=[wp.zeros(1, dtype=int, device=device), 0], device=device)


@wp.kernel
def wide(x: int):
    wp.printf("%999999999d", x)


def test_a_width_beyond_reason_is_refused(device):
    with pytest.raises(wp.CompileError, match="999999999 characters"):
        wp.launch(wide, dim=1, inputs=[1], device=device)
