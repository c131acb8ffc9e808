"""Functions, closures, generics, structs and constants in kernels."""

import enum
from typing import Any

import numpy as np
import pytest

import gridstride as wp


@wp.func
def area(r: float):
    return 3.0 * r * r


@wp.func
def area(w: float, h: float):  # noqa: F811
    return w * h


@wp.func
def area(v: wp.vec3, scale: float = 2.0):  # noqa: F811
    return wp.length(v) * scale


@wp.func
def split(x: int):
    return x // 10, x % 10


@wp.func
def swap(a: Any, b: Any):
    return b, a


@wp.func
def apply(f: Any, x: float):
    return f(x)


@wp.func
def plus_one(x: float):
    return x + 1.0


@wp.func
def fact(n: int) -> int:
    return n * fact(n - 1)


@wp.kernel
def overloads(out: wp.array(dtype=float)):
    out[0] = area(2.0)
    out[1] = area(2.0, 5.0)
    out[2] = area(wp.vec3(3.0, 4.0, 0.0))
    out[3] = area(wp.vec3(3.0, 4.0, 0.0), scale=1.0)


def test_overloads_and_defaults(device):
    out = wp.zeros(4)
    wp.launch(overloads, dim=1, inputs=[out], device=device)
    assert out.list() == [12.0, 10.0, 10.0, 5.0]


@wp.kernel
def several_results(x: wp.array(dtype=int), out: wp.array2d(dtype=int)):
    i = wp.tid()
    tens, ones = split(x[i])
    ones, tens = swap(ones, tens)
    both = split(x[i])
    out[i, 0] = tens
    out[i, 1] = ones
    out[i, 2] = both[0] + both[1]


def test_tuples(device):
    out = wp.zeros((3, 3), dtype=int)
    wp.launch(several_results, dim=3, inputs=[wp.array([12, 34, 56], dtype=int), out], device=device)
    assert out.numpy().tolist() == [[2, 1, 3], [4, 3, 7], [6, 5, 11]]


@wp.kernel
def functions_as_values(out: wp.array(dtype=float)):
    f = plus_one
    out[0] = f(1.0)
    out[1] = apply(plus_one, 2.0)
    g = wp.static(TABLE["area"])
    out[2] = g(2.0)


TABLE = {"area": area}


def test_functions_as_values(device):
    out = wp.zeros(3)
    wp.launch(functions_as_values, dim=1, inputs=[out], device=device)
    assert out.list() == [2.0, 3.0, 12.0]


def test_functions_called_from_python():
    assert area(2.0) == 12.0
    assert area(wp.vec3(3.0, 4.0, 0.0), scale=1.0) == 5.0
    assert split(57) == (5, 7)
    assert plus_one(np.float32(1.5)) == 2.5


@wp.kernel
def recursive(out: wp.array(dtype=int)):
    out[0] = fact(3)


def test_recursion_is_refused(device):
    with pytest.raises(wp.CompileError, match="recurs"):
        wp.launch(recursive, dim=1, inputs=[wp.zeros(1, dtype=int)], device=device)


def make_kernel(op, constant, dtype):
    @wp.kernel
    def k(a: wp.array(dtype=dtype)):
        i = wp.tid()
        a[i] = op(a[i], dtype(constant))

    return k


@wp.func
def times(a: Any, b: Any):
    return a * b


@wp.func
def minus(a: Any, b: Any):
    return a - b


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.int32, wp.uint8])
def test_closures(device, dtype):
    for op, constant, expected in ((times, 3, 30), (times, 2, 20), (minus, 3, 7)):
        a = wp.full(2, 10, dtype=dtype)
        wp.launch(make_kernel(op, constant, dtype), dim=2, inputs=[a], device=device)
        assert a.list() == [expected] * 2


@wp.kernel
def generic(a: wp.array(dtype=Any), b: Any, out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = a[i] * b


@pytest.mark.parametrize(
    ("dtype", "b"),
    [(wp.float32, 2.0), (wp.int32, 2), (wp.float64, wp.float64(2.0)), (wp.vec3, 2.0), (wp.uint8, wp.uint8(2))],
)
def test_generic_kernels(device, dtype, b):
    a, out = wp.full(3, 4, dtype=dtype), wp.zeros(3, dtype=dtype)
    wp.launch(generic, dim=3, inputs=[a, b, out], device=device)
    assert (out.numpy() == 8).all()
    instance = wp.overload(
        generic, [wp.array(dtype=dtype), type(b) if not isinstance(b, (int, float)) else type(b), wp.array(dtype=dtype)]
    )
    out.zero_()
    wp.launch(instance, dim=3, inputs=[a, b, out], device=device)
    assert (out.numpy() == 8).all()


@wp.struct
class Ball:
    x: wp.vec3
    r: float
    id: int


@wp.struct
class Scene:
    balls: wp.array(dtype=Ball)
    main: Ball
    shift: wp.vec3


@wp.func
def moved(b: Ball, d: wp.vec3):
    b.x = b.x + d
    b.id += 1
    return b


@wp.kernel
def structs(scene: Scene, out: wp.array(dtype=Ball)):
    i = wp.tid()
    b = moved(scene.balls[i], scene.shift)
    b.r = scene.main.r * 2.0
    out[i] = b
    c = Ball()
    c.x = wp.vec3(7.0, 8.0, 9.0)
    c.r = b.r
    scene.balls[i] = c


def test_structs(device):
    scene = Scene()
    scene.balls = wp.array([Ball(x=(i, 0, 0), id=i) for i in range(3)], dtype=Ball)
    scene.main.r = 1.5
    scene.shift = (0.0, 1.0, 0.0)
    out = wp.zeros(3, dtype=Ball)
    wp.launch(structs, dim=3, inputs=[scene, out], device=device)
    assert out.numpy()["x"].tolist() == [[0, 1, 0], [1, 1, 0], [2, 1, 0]]
    assert out.numpy()["r"].tolist() == [3.0] * 3
    assert out.numpy()["id"].tolist() == [1, 2, 3]
    assert scene.balls.numpy()["x"].tolist() == [[7, 8, 9]] * 3
    assert scene.balls.numpy()["id"].tolist() == [0] * 3


class Mode(enum.IntEnum):
    ADD = 1
    SUB = 2


class Level(enum.Enum):
    HIGH = 2.5


LIMITS = (3, 4.0)
UP = wp.constant(wp.vec3(0.0, 1.0, 0.0))


class Config:
    gain = 4.0


@wp.kernel
def constants(mode: int, out: wp.array(dtype=float)):
    if mode == Mode.ADD:
        out[0] = wp.PI
    elif mode == Mode.SUB:
        out[0] = Level.HIGH.value
    out[1] = UP[1] + Config.gain
    out[2] = LIMITS[1]
    out[3] = wp.static(sum(k * 1.0 for k in range(4)))
    out[4] = float(wp.static(len("abc")))


def test_constants(device):
    for mode, expected in ((1, np.float32(np.pi)), (2, 2.5)):
        out = wp.zeros(5)
        wp.launch(constants, dim=1, inputs=[mode, out], device=device)
        assert out.list() == [expected, 5.0, 4.0, 6.0, 3.0]


def test_redefined_names_are_seen_by_new_kernels(device):
    results = []
    for value in (1.0, 2.0):
        scope = {"wp": wp, "VALUE": value}
        from gridstride import _source

        text = "@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = VALUE\n"
        _source.register(f"<test {value}>", text)
        exec(compile(text, f"<test {value}>", "exec"), scope)
        a = wp.zeros(1)
        wp.launch(scope["k"], dim=1, inputs=[a], device=device)
        results.append(a.list()[0])
    assert results == [1.0, 2.0]


def test_source_that_is_not_known_is_an_error(device):
    scope = {"wp": wp}
    exec("@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = 1.0\n", scope)
    with pytest.raises(RuntimeError, match="source"):
        wp.launch(scope["k"], dim=1, inputs=[wp.zeros(1)], device=device)


@wp.func
def gap(a: float, /, *, b: float):
    return a - b


@wp.kernel
def by_position(out: wp.array(dtype=float)):
    out[0] = gap(1.0, 2.0)


@wp.kernel
def positional_by_name(out: wp.array(dtype=float)):
    out[0] = gap(a=1.0, b=2.0)


@wp.kernel
def by_name(out: wp.array(dtype=float)):
    out[0] = gap(1.0, b=3.0)


def test_parameters_are_passed_as_python_passes_them(device):
    out = wp.zeros(1, device=device)
    wp.launch(by_name, dim=1, inputs=[out], device=device)
    assert out.numpy()[0] == -2.0
    for kernel, message in ((by_position, "1 arguments by position"), (positional_by_name, "`a` by position only")):
        with pytest.raises(wp.CompileError, match=message):
            wp.launch(kernel, dim=1, inputs=[out], device=device)


def test_what_is_no_plain_function_is_no_kernel():
    async def coroutine(a: wp.array(dtype=float)):
        a[0] = 1.0

    def generator(a: wp.array(dtype=float)):
        yield

    def by_keyword(*, a: wp.array(dtype=float)):
        a[0] = 1.0

    for function, message in ((coroutine, "coroutine"), (generator, "coroutine"), (by_keyword, "by position")):
        with pytest.raises(TypeError, match=message):
            wp.kernel(function)


@wp.kernel
def types_made_inline(out: wp.array(dtype=float)):
    v = wp.types.vector(length=3, dtype=float)(1.0, 2.0, 3.0)
    pair = wp.types.vector(2, float)
    m = wp.types.matrix((2, 2), float)(4.0)
    out[0] = v[2] + pair(5.0, 6.0)[1] + m[1, 0]


def test_a_type_may_be_made_where_it_is_called(device):
    out = wp.zeros(1, device=device)
    wp.launch(types_made_inline, dim=1, inputs=[out], device=device)
    assert out.numpy()[0] == 13.0
