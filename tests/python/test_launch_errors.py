"""What a launch refuses, and what its messages name; checks that fail while a kernel runs; life afterwards."""

import signal
import threading
import typing

import numpy as np
import pytest

import gridstride as wp
from gridstride import _native, _source


@wp.kernel
def mixed(a: wp.array(dtype=float), n: wp.int8, x: float, flag: bool, v: wp.vec3, m: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    if flag:
        a[i] = x + float(n) + v[1] + float(m[0, i])


@wp.kernel
def fill(a: wp.array(dtype=float), x: float):
    a[wp.tid()] = x


@wp.kernel
def generic(a: wp.array(dtype=typing.Any), x: typing.Any):
    i = wp.tid()
    a[i] = a[i] + a.dtype(x)


def arguments(**changes):
    good = {
        "a": np.zeros(3, np.float32),
        "n": 7,
        "x": 0.5,
        "flag": True,
        "v": (1.0, 2.0, 3.0),
        "m": np.ones((1, 3)),
    }
    return list({**good, **changes}.values())


def test_every_kind_of_argument_is_passed():
    a = np.zeros(3, np.float32)
    wp.launch(mixed, dim=3, inputs=arguments(a=a))
    assert a.tolist() == [10.5, 10.5, 10.5]


@pytest.mark.parametrize(
    ("changes", "expected", "given"),
    [
        ({"a": np.zeros(3)}, "array(dtype=float32, ndim=1)", "float64"),
        ({"a": np.zeros((3, 1), np.float32)}, "array(dtype=float32, ndim=1)", "2 dimensions"),
        ({"a": 3.0}, "array(dtype=float32, ndim=1)", "float 3.0"),
        ({"a": [1.0, 2.0]}, "array(dtype=float32, ndim=1)", "list"),
        ({"a": wp.zeros(3, dtype=int)}, "array(dtype=float32, ndim=1)", "array(dtype=int32, ndim=1)"),
        ({"m": wp.zeros(3, dtype=wp.float64)}, "array(dtype=float64, ndim=2)", "array(dtype=float64, ndim=1)"),
        ({"n": 1.5}, "int8", "float 1.5"),
        ({"n": "7"}, "int8", "str '7'"),
        ({"n": None}, "int8", "None"),
        ({"x": "0.5"}, "float32", "str '0.5'"),
        ({"x": [0.5]}, "float32", "list [0.5]"),
        ({"flag": 1.0}, "bool", "float 1.0"),
        ({"v": 1.0}, "vec3f", "float 1.0"),
        ({"v": (1.0, 2.0)}, "vec3f", "2 numbers"),
        ({"v": wp.vec4(1.0, 2.0, 3.0, 4.0)}, "vec3f", "vec4f"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else None,
)
def test_a_wrong_argument_is_named_with_what_was_expected_and_given(changes, expected, given):
    with pytest.raises(RuntimeError) as caught:
        wp.launch(mixed, dim=3, inputs=arguments(**changes))
    assert isinstance(caught.value, TypeError)
    text = str(caught.value)
    (name,) = changes
    assert "kernel `mixed`" in text and f"`{name}`" in text
    assert f"expected {expected}" in text
    assert given in text.split("got", 1)[1]


@pytest.mark.parametrize("count", [0, 5, 7])
def test_a_wrong_count_of_arguments_is_named(count):
    with pytest.raises(RuntimeError, match=rf"`mixed` takes 6 arguments .*, got {count}"):
        wp.launch(mixed, dim=3, inputs=(arguments() * 2)[:count])


@pytest.mark.parametrize("n", [-129, 128, 2**40, 2**70])
def test_an_int_that_its_type_does_not_hold_is_refused(n):
    with pytest.raises(OverflowError, match=rf"`mixed`, argument 2 `n`: {n} is out of range for int8 \(-128 to 127\)"):
        wp.launch(mixed, dim=3, inputs=arguments(n=n))


@pytest.mark.parametrize("n", [-128, 127, np.int64(5), np.uint8(5), wp.int32(5), True])
def test_ints_of_any_class_are_passed(n):
    a = np.zeros(3, np.float32)
    wp.launch(mixed, dim=3, inputs=arguments(a=a, n=n))
    assert a[0] == 3.5 + int(n)


@pytest.mark.parametrize("x", [2, np.float32(2), np.float64(2), np.int16(2), wp.float64(2.0), wp.float16(2.0)])
def test_numbers_of_any_class_are_floats(x):
    a = np.zeros(3, np.float32)
    wp.launch(fill, dim=3, inputs=[a, x])
    assert a.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("v", [[1, 2, 3], np.array([1.0, 2.0, 3.0]), wp.vec3(1.0, 2.0, 3.0), wp.vec3d(1.0, 2.0, 3.0)])
def test_vectors_come_from_any_three_numbers(v):
    a = np.zeros(3, np.float32)
    wp.launch(mixed, dim=3, inputs=arguments(a=a, v=v))
    assert a[0] == 10.5


def test_outputs_follow_inputs():
    a = np.zeros(3, np.float32)
    first, *rest = arguments(a=a)
    wp.launch(mixed, dim=3, inputs=[first], outputs=rest)
    assert a[0] == 10.5


@pytest.mark.cpu
def test_read_only_memory_is_refused_only_where_it_is_written():
    fixed = np.ones((1, 3))
    fixed.setflags(write=False)
    a = np.zeros(3, np.float32)
    wp.launch(mixed, dim=3, inputs=arguments(a=a, m=fixed))
    assert a[0] == 10.5
    a.setflags(write=False)
    with pytest.raises(RuntimeError, match="argument 1 `a`: .*read-only"):
        wp.launch(mixed, dim=3, inputs=arguments(a=a))


@pytest.mark.cpu
def test_read_only_memory_is_refused_behind_any_number_of_parameters():
    parameters = ", ".join(f"p{i}: int" for i in range(70))
    source = f"@wp.kernel\ndef many({parameters}, a: wp.array(dtype=int)):\n    a[0] = p69\n"
    _source.register("<many>", source)
    scope = {"wp": wp, "__name__": __name__}
    exec(compile(source, "<many>", "exec"), scope)
    a = np.zeros(1, np.int32)
    wp.launch(scope["many"], dim=1, inputs=[*range(70), a])
    assert a[0] == 69
    a.setflags(write=False)
    with pytest.raises(RuntimeError, match="argument 71 `a`: .*read-only"):
        wp.launch(scope["many"], dim=1, inputs=[*range(70), a])


@pytest.mark.cpu
def test_memory_that_is_not_aligned_is_refused():
    raw = np.zeros(13, np.uint8)
    with pytest.raises(RuntimeError, match="multiples of 4 bytes"):
        wp.launch(fill, dim=3, inputs=[raw[1:].view(np.float32), 1.0])


def test_a_foreign_byte_order_is_refused():
    with pytest.raises(RuntimeError, match="argument 1 `a`: expected array"):
        wp.launch(fill, dim=3, inputs=[np.zeros(3, ">f4"), 1.0])


@pytest.mark.cpu
def test_an_array_of_another_device_is_refused():
    far = _native.Array(_native.Type.scalar("f32"), 64, (3,), (4,), "cuda:0")
    with pytest.raises(RuntimeError, match="argument 1 `a`: cannot be passed: it is on device cuda:0"):
        wp.launch(fill, dim=3, inputs=[far, 1.0])


@pytest.mark.parametrize(
    ("dim", "error", "words"),
    [
        (-1, ValueError, "negative"),
        ((2, -3), ValueError, "negative"),
        (2**31 + 1, ValueError, "uses `tid()` with extent 2147483649 in dimension 0"),
        ((2**40, 1), ValueError, "32-bit indices count to 2147483648"),
        (2**100, ValueError, "must be less than 2**63"),
        ((1, 1, 1, 1, 1), ValueError, "at most 4 dimensions"),
        ((), ValueError, "at least 1 dimension"),
        ((2**30, 2**30, 2**30), ValueError, "more threads"),
        (1.5, TypeError, "float 1.5"),
        ("3", TypeError, "str '3'"),
    ],
)
def test_wrong_dimensions_are_refused(dim, error, words):
    with pytest.raises(error) as caught:
        _native.launch(fill, dim, [np.zeros(3, np.float32), 1.0])
    assert words in str(caught.value) and "`fill`" in str(caught.value)


@wp.kernel
def first_index(counts: wp.array(dtype=int)):
    wp.atomic_add(counts, wp.tid(), 1)


def test_a_single_tid_is_the_first_index():
    counts = wp.zeros(4, dtype=int, device="cpu")
    wp.launch(first_index, dim=(4, 3), inputs=[counts], device="cpu")
    assert counts.list() == [3] * 4


def test_an_extent_without_an_index_may_be_large():
    wide = (1, 2**40)
    recorded = wp.launch(first_index, dim=wide, inputs=[wp.zeros(1, dtype=int)], record_cmd=True)
    assert (recorded.bounds.shape, recorded.bounds.size, recorded.bounds.coord_mult) == (wide, 2**40, 2**40)
    with pytest.raises(ValueError, match="extent 1099511627776 in dimension 0"):
        recorded.set_dim((2**40, 1))
    assert recorded.bounds.shape == wide


@wp.kernel
def asks_for_no_negative_index(a: wp.array(dtype=int)):
    if wp.tid() < 0:
        a[0] = 1


def test_an_index_that_the_optimizer_sees_through_still_counts():
    with pytest.raises(ValueError, match="extent 2147483649 in dimension 0"):
        wp.launch(asks_for_no_negative_index, dim=2**31 + 1, inputs=[wp.zeros(1, dtype=int)], record_cmd=True)


@pytest.mark.parametrize("dim", [1.5, "3", None, (1, 2.0)])
def test_dimensions_that_are_no_ints_are_named(dim):
    with pytest.raises(TypeError, match="a launch dimension is an int, or 1 to 4 of them, not"):
        wp.launch(fill, dim=dim, inputs=[np.zeros(3, np.float32), 1.0])


@pytest.mark.cpu
def test_a_recorded_launch_takes_arguments_of_any_iterable():
    a = np.zeros(3, np.float32)
    recorded = wp.launch(fill, dim=3, inputs=iter([a, 1.0]), record_cmd=True)
    recorded.set_param_by_name("x", 2.0)
    recorded.launch()
    assert a.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("dim", [0, (0,), (3, 0), (0, 2**30, 2**30, 2**30)])
def test_no_threads_do_nothing(dim):
    a = np.zeros(3, np.float32)
    wp.launch(fill, dim=dim, inputs=[a, 1.0])
    assert a.tolist() == [0.0, 0.0, 0.0]


def test_numpy_ints_are_dimensions():
    a = np.zeros(3, np.float32)
    wp.launch(fill, dim=np.array([3]), inputs=[a, 1.0])
    wp.launch(fill, dim=np.int32(2), inputs=[a, 2.0])
    assert a.tolist() == [2.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("dtype", "x", "result"),
    [(np.float32, 1, 1.0), (np.float64, 1.5, 1.5), (np.int32, 2, 2), (np.uint8, np.uint8(3), 3)],
)
def test_open_types_come_from_the_arguments(dtype, x, result):
    a = np.zeros(2, dtype)
    wp.launch(generic, dim=2, inputs=[a, x])
    assert a.tolist() == [result, result]


@pytest.mark.parametrize(
    ("arg", "words"), [(None, "None"), (np.zeros((2, 2), np.float32), "2 dimensions"), ("no", "str 'no'")]
)
@pytest.mark.cpu
def test_an_argument_that_an_open_type_does_not_cover_is_refused(arg, words):
    with pytest.raises(RuntimeError) as caught:
        wp.launch(generic, dim=2, inputs=[arg, 1.0])
    assert "expected array(dtype=Any, ndim=1)" in str(caught.value) and words in str(caught.value)


@wp.kernel(module="unique", module_options={"mode": "debug"})
def write(a: wp.array(dtype=float), at: int):
    i = wp.tid()
    a[i + at] = 1.0


@wp.kernel(module="unique", module_options={"mode": "debug"})
def divide(a: wp.array(dtype=int), by: int):
    i = wp.tid()
    a[i] = a[i] // by


@wp.kernel(module="unique", module_options={"mode": "debug"})
def demand(a: wp.array(dtype=int)):
    i = wp.tid()
    assert a[i] > 0, "must be positive"
    a[i] = -a[i]


@pytest.mark.parametrize("device", ["cpu", "interp"])
class TestFaults:
    def test_an_index_out_of_range(self, device):
        a = wp.zeros(3, dtype=float)
        with pytest.raises(_native.KernelFault) as caught:
            wp.launch(write, dim=1, inputs=[a, 5], device=device)
        fault = caught.value
        text = str(fault)
        assert "index (5,) is out of bounds for array `a` of shape (3,)" in text
        assert "a[i + at] = 1.0" in text and "^" in text and __file__ in text
        assert "thread (0,) of kernel `write`" in text
        assert (fault.kind, fault.kernel, fault.array) == ("bounds", "write", "a")
        assert (fault.thread, fault.index, fault.shape) == ((0,), (5,), (3,))
        assert fault.file == __file__ and f"{fault.file}:{fault.line}:" in text
        # The process lives, and the next launch works.
        wp.launch(write, dim=1, inputs=[a, 2], device=device)
        assert a.numpy().tolist() == [0.0, 0.0, 1.0]

    def test_the_extent_is_that_of_the_view(self, device):
        a = wp.zeros(10, dtype=float)
        with pytest.raises(_native.KernelFault) as caught:
            wp.launch(write, dim=1, inputs=[a[2:6], 4], device=device)
        assert caught.value.shape == (4,)
        assert not a.numpy().any()

    def test_other_threads_go_on(self, device):
        a = wp.zeros(4000, dtype=float)
        with pytest.raises(_native.KernelFault) as caught:
            wp.launch(write, dim=4001, inputs=[a, 0], device=device)
        assert caught.value.thread == (4000,)
        assert a.numpy().all()

    def test_a_null_array(self, device):
        with pytest.raises(_native.KernelFault, match="array `a` is None") as caught:
            wp.launch(write, dim=1, inputs=[None, 0], device=device)
        assert caught.value.kind == "null"

    def test_division_by_zero(self, device):
        a = wp.array([1, 2, 3], dtype=int)
        with pytest.raises(_native.KernelFault, match="integer division by zero") as caught:
            wp.launch(divide, dim=3, inputs=[a, 0], device=device)
        assert (caught.value.kind, caught.value.index) == ("division", None)

    def test_an_assertion(self, device):
        a = wp.array([1, 2, -3], dtype=int)
        with pytest.raises(_native.KernelFault, match="must be positive") as caught:
            wp.launch(demand, dim=3, inputs=[a], device=device)
        assert (caught.value.kind, caught.value.thread) == ("assert", (2,))
        assert a.numpy().tolist() == [-1, -2, -3]


@wp.kernel
def wrong(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = undefined_one  # noqa: F821
    a[i] = undefined_two  # noqa: F821


def test_every_mistake_is_reported_at_every_launch_and_harms_no_other_kernel():
    a = np.zeros(1, np.float32)
    texts = []
    for _ in range(2):
        with pytest.raises(_native.CompileError) as caught:
            wp.launch(wrong, dim=1, inputs=[a])
        texts.append(str(caught.value))
        found = caught.value.diagnostics
        assert [message for _, message, *_ in found if "undefined_one" in message or "undefined_two" in message]
        assert len(found) == 2
        assert {file for _, _, file, _, _ in found} == {__file__}
        assert found[1][3] == found[0][3] + 1
    assert texts[0] == texts[1]
    assert "undefined_one" in texts[0] and "undefined_two" in texts[0]
    wp.launch(fill, dim=1, inputs=[a, 1.0])
    assert a[0] == 1.0


class TestRecorded:
    def test_arguments_and_dimensions_change(self):
        a, b = np.zeros(3, np.float32), np.zeros(3, np.float32)
        recorded = _native.launch(fill, 3, [a, 1.0], record=True)
        assert not a.any()
        recorded.launch()
        recorded.set_param_at_index(1, 2.0)
        recorded.set_param_at_index(0, b)
        recorded.set_dim(2)
        recorded.launch()
        assert a.tolist() == [1.0, 1.0, 1.0]
        assert b.tolist() == [2.0, 2.0, 0.0]

    def test_a_wrong_argument_changes_nothing(self):
        a = np.zeros(3, np.float32)
        recorded = _native.launch(fill, 3, [a, 1.0], record=True)
        with pytest.raises(RuntimeError, match="argument 2 `x`"):
            recorded.set_param_at_index(1, "x")
        with pytest.raises(IndexError):
            recorded.set_param_at_index(2, 1.0)
        recorded.launch()
        assert a.all()

    def test_it_keeps_its_arrays_alive(self):
        recorded = _native.launch(fill, 1000, [np.zeros(1000, np.float32), 1.0], record=True)
        recorded.launch()


def test_printing_reaches_pythons_stdout(capfd):
    @wp.kernel
    def say(n: int):
        print(n)

    wp.launch(say, dim=2, inputs=[7])
    wp.launch(say, dim=5000, inputs=[8])
    out = capfd.readouterr().out.split()
    assert out == ["7"] * 2 + ["8"] * 5000


@pytest.mark.cpu
def test_launches_from_many_threads():
    from concurrent.futures import ThreadPoolExecutor

    def one(x):
        a = np.zeros(20_000, np.float32)
        for _ in range(20):
            wp.launch(fill, dim=a.size, inputs=[a, float(x)])
        return (a == x).all()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(16)))


@wp.kernel
def optional_scale(x: wp.array(dtype=float), scale: wp.array(dtype=float), use_scale: bool):
    i = wp.tid()
    if use_scale:
        x[i] = x[i] * scale[i]
    else:
        x[i] = x[i] + 1.0


def test_an_array_that_is_none_may_be_left_alone(device):
    x = wp.ones(3, dtype=float)
    for _ in range(3):
        wp.launch(optional_scale, dim=3, inputs=[x, None, False], device=device)
    assert x.numpy().tolist() == [4.0, 4.0, 4.0]


def test_an_array_that_is_none_is_an_exception_where_it_is_used(device):
    x = wp.ones(3, dtype=float)
    wp.launch(optional_scale, dim=3, inputs=[x, wp.ones(3, dtype=float), True], device=device)
    for _ in range(2):
        with pytest.raises(wp.KernelFault, match="`scale` is None"):
            wp.launch(optional_scale, dim=3, inputs=[x, None, True], device=device)
    wp.launch(optional_scale, dim=3, inputs=[x, wp.ones(3, dtype=float), True], device=device)


@wp.kernel
def busy(out: wp.array(dtype=float)):
    i, j = wp.tid()
    x = float(i) + float(j)
    for _ in range(200):
        x = x * 1.0000001 + 0.5
    if x < 0.0:
        out[0] = x


@pytest.fixture
def interruptible():
    """Ctrl-C as at a prompt: a background job starts with the signal ignored, and Python leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.cpu
def test_ctrl_c_ends_a_long_launch(interruptible):
    out = wp.zeros(1, dtype=float)
    wp.launch(busy, dim=(2, 2), inputs=[out])
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    # Hours of work, were it not for the signal.
    with pytest.raises(KeyboardInterrupt):
        wp.launch(busy, dim=(2**30, 2**20), inputs=[out])
    timer.join()
    wp.launch(busy, dim=(2, 2), inputs=[out])


@wp.struct
class Optional:
    values: wp.array(dtype=float)
    use: bool


@wp.kernel
def fill_optional(s: Optional):
    if s.use:
        s.values[wp.tid()] = 1.0


def test_an_array_that_a_struct_lacks_is_an_exception_where_it_is_used(device):
    s = Optional()
    wp.launch(fill_optional, dim=2, inputs=[s], device=device)
    s.use = True
    with pytest.raises(wp.KernelFault):
        wp.launch(fill_optional, dim=2, inputs=[s], device=device)
    s.values = wp.zeros(2, dtype=float)
    wp.launch(fill_optional, dim=2, inputs=[s], device=device)
    assert s.values.numpy().tolist() == [1.0, 1.0]
