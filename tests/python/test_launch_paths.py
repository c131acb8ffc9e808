"""Usual launches run without a step through Python; every other one goes through the package, and means the same."""

import inspect
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gridstride as wp
from gridstride import _launch
from gridstride.cli.stages import kernel_ir

pytestmark = pytest.mark.cpu


@wp.kernel
def fill(a: wp.array(dtype=float), x: float, n: int):
    a[wp.tid()] = x + float(n)


@wp.kernel
def corner(a: wp.array(dtype=float, ndim=2)):
    i, j = wp.tid()
    a[i, j] = float(10 * i + j)


@wp.kernel
def optional(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = 1.0
    if b:
        a[i] = 2.0


@wp.kernel
def ints(a: wp.array(dtype=wp.int64), b: wp.int8, c: wp.uint8, d: wp.int64, e: wp.uint32, f: bool):
    a[0] = wp.int64(b)
    a[1] = wp.int64(c)
    a[2] = d
    a[3] = wp.int64(e)
    if f:
        a[4] = wp.int64(1)


@wp.kernel
def shout(x: int):
    print(x)


@wp.struct
class Pair:
    x: float
    y: float


@wp.kernel
def add_pair(a: wp.array(dtype=float), pair: Pair):
    a[wp.tid()] = pair.x + pair.y


def steps(run):
    """The Python functions of the package that `run` enters."""
    entered = []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename == _launch.__file__:
            entered.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return entered


@pytest.fixture
def a():
    """Four zeros; `fill` and `corner` have run, so that their code is known."""
    wp.set_device("cpu")
    a = wp.zeros(4, dtype=float)
    for n in (1, 4):
        wp.launch(fill, dim=n, inputs=[a, 0.0, 0])
    wp.launch(corner, dim=(2, 2), inputs=[wp.zeros((2, 2), dtype=float)])
    a.zero_()
    return a


USUAL = {
    "by name": lambda a: wp.launch(kernel=fill, dim=4, inputs=[a, 1.0, 2]),
    "by place": lambda a: wp.launch(fill, 4, [a, 1.0, 2]),
    "outputs": lambda a: wp.launch(fill, 4, outputs=[1.0, 2], inputs=(a,)),
    "device": lambda a: wp.launch(fill, 4, [a, 1.0, 2], device="cpu"),
    "device object": lambda a: wp.launch(fill, 4, [a, 1.0, 2], device=a.device),
    "without effect": lambda a: wp.launch(
        fill, 4, [a, 1.0, 2], [], [], [], None, None, False, False, False, max_blocks=3, block_dim=64
    ),
    "int for a float": lambda a: wp.launch(fill, 4, [a, 1, 2]),
    "tuple shape": lambda a: wp.launch(fill, (4,), [a, 1.0, 2]),
    "list shape": lambda a: wp.launch(fill, [4], [a, 1.0, 2]),
    "NumPy": lambda a: wp.launch(fill, 4, [a.numpy(), np.float32(1.0), np.int64(2)]),
}


@pytest.mark.parametrize("launch", USUAL.values(), ids=USUAL)
def test_a_usual_launch_takes_no_step_through_python(a, launch):
    assert steps(lambda: launch(a)) == []
    assert a.numpy().tolist() == [3.0] * 4


def test_the_order_in_which_styles_come_does_not_matter(tmp_path):
    """A process in which a kernel of numba's style is the first one, and an array of a class of a program's own."""
    program = """
import numpy as np
import gridstride as wp
from gridstride.numba import cuda
from test_launch_paths import fill, steps

class Own(wp.array):
    pass

@cuda.jit
def first(x):
    x[0] = 1.0

first[1, 1](np.zeros(1, dtype=np.float32))
own = Own([0.0] * 4, dtype=float)
a = wp.zeros(4, dtype=float)
for one in (own, a):
    for n in (1, 4):
        wp.launch(fill, dim=n, inputs=[one, 0.0, 0], device="cpu")
    assert steps(lambda: wp.launch(fill, 4, [one, 1.0, 2], device="cpu")) == []
"""
    (tmp_path / "program.py").write_text(program)
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    environment = dict(os.environ, GRIDSTRIDE_DEVICE="cpu", PYTHONPATH=path)
    subprocess.run([sys.executable, "-W", "ignore", tmp_path / "program.py"], check=True, env=environment)


def generator(a):
    yield from (a, 1.0, 2)


UNUSUAL = {
    "interpreter": lambda a: wp.launch(fill, 4, [a, 1.0, 2], device="interp"),
    "NumPy shape": lambda a: wp.launch(fill, np.int64(4), [a, 1.0, 2]),
    "generator": lambda a: wp.launch(fill, 4, generator(a)),
    "None for outputs": lambda a: wp.launch(fill, 4, [a, 1.0, 2], None),
    "name made at run time": lambda a: wp.launch(fill, 4, **{"".join(["in", "puts"]): [a, 1.0, 2]}, device="c" + "pu"),
    "no adjoint, as an int": lambda a: wp.launch(fill, 4, [a, 1.0, 2], adjoint=0),
    "recorded": lambda a: wp.launch(fill, 4, [a, 1.0, 2], record_cmd=True).launch(),
}


@pytest.mark.parametrize("launch", UNUSUAL.values(), ids=UNUSUAL)
def test_an_unusual_launch_means_the_same(a, launch):
    assert "launch" in steps(lambda: launch(a))
    assert a.numpy().tolist() == [3.0] * 4


@pytest.mark.parametrize("n", [1, 3, 64, 1023, 1024, 5000])
def test_every_size(n):
    a = wp.zeros(n + 1, dtype=float)
    for x in (1.0, 2.0, 3.0):
        wp.launch(fill, dim=n, inputs=[a, x, 0])
    assert a.numpy().tolist() == [3.0] * n + [0.0]


def test_nothing_runs_for_a_shape_with_a_zero(a):
    wp.launch(fill, dim=0, inputs=[a, 1.0, 2])
    wp.launch(corner, dim=(0, 2), inputs=[wp.zeros((2, 2), dtype=float)])
    assert a.numpy().tolist() == [0.0] * 4


def test_views_and_whole_arrays_have_their_own_code():
    whole = wp.zeros((4, 4), dtype=float)
    for array in (whole, whole[:, ::2], whole[::2], whole[:, ::2], whole):
        whole.zero_()
        wp.launch(corner, dim=(2, 2), inputs=[array])
        assert array.numpy()[:2, :2].tolist() == [[0, 1], [10, 11]]
        assert whole.numpy().sum() == 22


def test_none_for_an_array(a):
    for b, expected in ((None, 1.0), (a, 2.0), (None, 1.0)):
        wp.launch(optional, dim=1, inputs=[a, b])
        assert a.numpy()[0] == expected


@wp.struct
class Optional:
    a: wp.array(dtype=float)
    b: wp.array(dtype=float)


@wp.kernel
def through_struct(arrays: Optional, out: wp.array(dtype=float), without: bool):
    i = wp.tid()
    if without:
        out[i] = arrays.b[i]
    elif arrays.b:
        out[i] = arrays.a[i] + arrays.b[i]
    else:
        out[i] = arrays.a[i]


def test_an_array_that_a_struct_leaves_out():
    arrays, out = Optional(), wp.zeros(40, dtype=float)
    arrays.a = wp.full(40, 2.0, dtype=float)
    for b, expected in ((None, 2.0), (wp.full(40, 3.0, dtype=float), 5.0), (None, 2.0)):
        arrays.b = b
        wp.launch(through_struct, dim=40, inputs=[arrays, out, False])
        assert (out.numpy() == expected).all()
    with pytest.raises(wp.KernelFault, match="arrays.b"):
        wp.launch(through_struct, dim=40, inputs=[arrays, out, True])
        wp.synchronize()


def test_ints_at_the_ends_of_their_types():
    a = wp.zeros(5, dtype=wp.int64)
    for values in ([-128, 0, -(2**63), 0, False], [127, 255, 2**63 - 1, 2**32 - 1, True]) * 2:
        wp.launch(ints, dim=1, inputs=[a, *values])
        assert a.numpy()[:4].tolist() == values[:4]
    assert a.numpy()[4] == 1
    good = [0, 0, 0, 0, False]
    for index, value in ((0, 128), (0, -129), (1, 256), (1, -1), (2, 2**63), (3, 2**32), (3, -1), (2, 10**30)):
        wrong = [*good[:index], value, *good[index + 1 :]]
        with pytest.raises(OverflowError, match=f"{value} is out of range"):
            wp.launch(ints, dim=1, inputs=[a, *wrong])


MISTAKES = {
    "launch() missing 1 required positional argument: 'dim'": lambda a: wp.launch(fill),
    "got an unexpected keyword argument 'input'": lambda a: wp.launch(fill, 4, input=[a]),
    "got multiple values for argument 'dim'": lambda a: wp.launch(fill, 4, dim=4),
    "takes from 2 to 13 positional arguments but 14 were given": lambda a: wp.launch(fill, 4, *[None] * 12),
    "takes 3 arguments": lambda a: wp.launch(fill, 4, [a, 1.0]),
    "takes 3 arguments (`a`, `x`, `n`), got 4": lambda a: wp.launch(fill, 4, [a, 1.0, 2, 3]),
    "argument 1 `a`: expected array(dtype=float32, ndim=1), got array(dtype=float64": lambda a: wp.launch(
        fill, 4, [wp.zeros(4, dtype=wp.float64), 1.0, 2]
    ),
    "argument 2 `x`: expected float32, got str 'x'": lambda a: wp.launch(fill, 4, [a, "x", 2]),
    "expected a kernel made by @wp.kernel": lambda a: wp.launch(len, 4, [a]),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_read_as_ever(a, text):
    for _ in range(2):
        with pytest.raises((TypeError, RuntimeError)) as raised:
            MISTAKES[text](a)
        assert text in str(raised.value)
    wp.launch(fill, 4, [a, 1.0, 2])
    assert a.numpy().tolist() == [3.0] * 4


def test_settings_count_at_the_next_launch(a, capsys):
    wp.launch(fill, dim=1, inputs=[a, 1.0, 2])
    wp.config.mode = "debug"
    for _ in range(3):
        with pytest.raises(wp.KernelFault, match=r"index \(4,\) is out of bounds") as raised:
            wp.launch(fill, dim=5, inputs=[a, 1.0, 2])
        assert raised.value.thread == (4,)
    wp.launch(fill, dim=4, inputs=[a, 1.0, 2])
    with pytest.raises(wp.KernelFault):
        wp.launch(fill, dim=5, inputs=[a, 1.0, 2])
    wp.config.print_launches = True
    wp.launch(fill, dim=4, inputs=[a, 1.0, 2])
    assert "fill" in capsys.readouterr().out
    wp.config.print_launches = False
    wp.launch(fill, dim=4, inputs=[a, 1.0, 2])
    assert capsys.readouterr().out == ""


def test_module_options_count_at_the_next_launch(a):
    wp.launch(fill, dim=1, inputs=[a, 1.0, 2])
    wp.set_module_options({"mode": "debug"})
    try:
        with pytest.raises(wp.KernelFault):
            wp.launch(fill, dim=5, inputs=[a, 1.0, 2])
    finally:
        wp.set_module_options({"mode": None})


def test_the_default_device_counts(a):
    wp.launch(fill, dim=4, inputs=[a, 1.0, 2])
    with wp.ScopedDevice("interp"):
        assert steps(lambda: wp.launch(fill, dim=4, inputs=[a, 1.0, 3])) != []
    assert a.numpy().tolist() == [4.0] * 4
    assert steps(lambda: wp.launch(fill, dim=4, inputs=[a, 1.0, 2])) == []


def test_a_tape_sees_every_launch(a):
    with wp.Tape() as tape:
        wp.launch(fill, dim=4, inputs=[a, 1.0, 2])
        wp.launch(fill, dim=4, inputs=[a, 1.0, 2], record_tape=False)
        wp.launch(fill, dim=4, inputs=[a, 1.0, 2])
    wp.launch(fill, dim=4, inputs=[a, 1.0, 2])
    assert len(tape.launches) == 2


def test_text_comes_out_with_its_launch(capsys):
    for n in range(3):
        wp.launch(shout, dim=1, inputs=[n])
        assert capsys.readouterr().out == f"{n}\n"


def test_arguments_live_while_they_are_read():
    class Emptying:
        """Frees the other arguments while it is read."""

        def __float__(self):
            arguments.clear()
            return 1.0

    for n in (1, 4, 2000):
        for _ in range(3):
            a = wp.zeros(n, dtype=float)
            host = a.numpy()
            arguments = [a, Emptying(), 2]
            del a
            wp.launch(fill, dim=n, inputs=arguments)
            assert host.tolist() == [3.0] * n


class TestRecorded:
    def test_again_and_again(self, a):
        for n in (1, 4):
            recorded = wp.launch(fill, dim=n, inputs=[a, 1.0, 2], record_cmd=True)
            assert isinstance(recorded, wp.Launch)
            for _ in range(3):
                a.zero_()
                recorded.launch()
                assert a.numpy().tolist() == [3.0] * n + [0.0] * (4 - n)
            assert steps(recorded.launch) == []

    def test_changes_count(self, a):
        recorded = wp.launch(fill, dim=1, inputs=[a, 1.0, 2], record_cmd=True)
        recorded.launch()
        recorded.launch()
        recorded.set_param_by_name("x", 5.0)
        recorded.set_dim(2)
        recorded.launch()
        recorded.launch(stream=None)
        recorded.launch(None)
        assert a.numpy().tolist() == [7.0, 7.0, 0.0, 0.0]
        assert (recorded.dim, recorded.params[1:]) == ((2,), [5.0, 2])
        other = wp.zeros(4, dtype=float)
        recorded.set_param_at_index(0, other[::2])
        recorded.launch()
        assert other.numpy().tolist() == [7.0, 0.0, 7.0, 0.0]

    def test_a_struct_is_read_at_each_launch(self, a):
        pair = Pair()
        recorded = wp.launch(add_pair, dim=4, inputs=[a, pair], record_cmd=True)
        for x in (1.0, 2.0, 3.0):
            pair.x = x
            recorded.launch()
            assert a.numpy().tolist() == [x] * 4

    def test_settings_count(self, a):
        recorded = wp.launch(fill, dim=4, inputs=[a, 1.0, 2], record_cmd=True)
        recorded.launch()
        assert steps(recorded.launch) == []
        wp.config.deterministic = wp.DeterministicMode.RUN_TO_RUN
        assert "launch" in steps(recorded.launch)
        wp.launch(fill, dim=4, inputs=[a, 1.0, 2])
        assert steps(lambda: wp.launch(fill, dim=4, inputs=[a, 1.0, 2])) == []
        wp.config.deterministic = wp.DeterministicMode.SUMS
        recorded.launch()
        assert steps(recorded.launch) == []

    def test_faults_and_text(self, a, capsys):
        wp.config.mode = "debug"
        recorded = wp.launch(fill, dim=4, inputs=[a, 1.0, 2], record_cmd=True)
        for _ in range(2):
            recorded.launch()
            recorded.set_dim(5)
            with pytest.raises(wp.KernelFault):
                recorded.launch()
            recorded.set_dim(4)
        said = wp.launch(shout, dim=1, inputs=[7], record_cmd=True)
        for _ in range(3):
            said.launch()
            assert capsys.readouterr().out == "7\n"

    def test_mistakes_read_as_ever(self, a):
        recorded = wp.launch(fill, dim=1, inputs=[a, 1.0, 2], record_cmd=True)
        with pytest.raises(TypeError, match="takes from 1 to 2 positional arguments but 3 were given"):
            recorded.launch(None, None)
        with pytest.raises(TypeError, match="unexpected keyword argument 'strem'"):
            recorded.launch(strem=None)


def test_compiled_functions_describe_themselves():
    assert list(inspect.signature(wp.launch).parameters) == [
        *("kernel", "dim", "inputs", "outputs", "adj_inputs", "adj_outputs", "device", "stream"),
        *("adjoint", "record_tape", "record_cmd", "max_blocks", "block_dim"),
    ]
    assert inspect.signature(wp.launch).parameters["inputs"].default == ()
    assert wp.launch.__doc__.startswith("Runs `kernel` once for every thread")
    assert (wp.launch.__name__, wp.launch.__module__) == ("launch", "gridstride._launch")
    assert list(inspect.signature(wp.Launch.launch).parameters) == ["self", "stream"]
    assert wp.Launch.launch.__doc__.startswith("Runs the recorded launch")


@wp.kernel
def long_loop(a: wp.array(dtype=float), n: int):
    x = float(1.0)
    for _ in range(n):
        x = wp.sin(x) + 1.0
    a[0] = x


def test_long_launches_of_one_thread_let_others_run():
    a = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(long_loop, dim=1, inputs=[a, 1], device="cpu")
    ticks, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.0001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        # The first long one is not known to be long.
        wp.launch(long_loop, dim=1, inputs=[a, 1_000_000], device="cpu")
        before = ticks[0]
        wp.launch(long_loop, dim=1, inputs=[a, 5_000_000], device="cpu")
        assert ticks[0] > before + 3
    finally:
        stop.set()
        thread.join()


def test_a_launch_without_arguments_is_filled_in():
    a = wp.zeros(3, dtype=float, device="cpu")
    command = wp.Launch(fill, "cpu")
    command.launch()
    command.set_dim(2)
    command.set_param_by_name("a", a)
    command.set_param_by_name("x", 1.5)
    command.launch()
    assert a.list() == [1.5, 1.5, 0.0]


@pytest.mark.cpu
def test_an_object_that_describes_its_memory_is_an_array():
    class Described:
        def __init__(self, values):
            self.values = values
            self.__array_interface__ = values.__array_interface__

        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("not asked on the CPU")

    values = np.zeros(3, np.float32)
    wp.launch(fill, dim=3, inputs=[Described(values), 2.0, 0], device="cpu")
    assert values.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="argument 1 `a`: expected array"):
        wp.launch(fill, dim=3, inputs=[Described(np.zeros(3)), 1.0, 3], device="cpu")


@wp.kernel
def advance(v: wp.array(dtype=float), x: wp.array(dtype=float), dt: float):
    i = wp.tid()
    v[i] += dt
    x[i] += v[i] * dt


def test_updates_of_several_arrays_are_plain_where_these_share_no_memory():
    assert "atomic" not in kernel_ir(f"{__file__}:advance", "explain")


@pytest.mark.parametrize("way", ["launch", "recorded"])
def test_updates_of_several_arrays_in_turn_with_memory_in_common(way):
    n = 100_000
    for shift in (n, 1, n, 0):
        memory = wp.zeros(2 * n, dtype=float)
        v, x = memory[:n], memory[shift : shift + n]
        if way == "launch":
            wp.launch(advance, dim=n, inputs=[v, x, 1.0])
        else:
            wp.launch(advance, dim=n, inputs=[v, x, 1.0], record_cmd=True).launch()
        if shift == n:
            np.testing.assert_array_equal(memory.numpy(), 1.0)
        elif shift == 0:
            np.testing.assert_array_equal(v.numpy(), 2.0)
        else:
            # What a thread adds to its neighbor's element depends on who comes first; neither update is lost.
            assert memory.numpy()[0] == 1.0
            assert memory.numpy()[1:n].min() >= 2.0
