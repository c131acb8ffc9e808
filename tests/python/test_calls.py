"""Calls in kernels: types as constructors and casts, choices, printing, atomics in checked mode, refused calls."""

import linecache
from collections.abc import Callable

import numpy as np
import pytest

import gridstride as wp

vec5 = wp.types.vector(5, wp.float64)
mat23 = wp.types.matrix((2, 3), float)


@wp.struct
class Particle:
    position: wp.vec3
    mass: float
    tags: wp.array(dtype=int)


def run(text, device, result=float, **names):
    """The value of an expression, or of the last line of several, in a kernel."""
    *before, last = text.strip().splitlines()
    lines = [*before, f"out[0] = {last}"]
    source = "@wp.kernel(module='unique')\ndef k(out: wp.array(dtype=result)):\n    " + "\n    ".join(lines) + "\n"
    file = f"<call {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"wp": wp, "result": result, "np": np, **names}
    exec(compile(source, file, "exec"), scope)
    out = wp.zeros(1, dtype=result)
    wp.launch(scope["k"], dim=1, inputs=[out], device=device)
    return out.numpy()[0]


VALUES = [
    ("wp.vec3()", wp.vec3, [0, 0, 0]),
    ("wp.vec3(2.0)", wp.vec3, [2, 2, 2]),
    ("wp.vec3(1, 2.5, True)", wp.vec3, [1, 2.5, 1]),
    ("wp.vec3(wp.vec3d(1.0, 2.0, 3.0))", wp.vec3, [1, 2, 3]),
    ("wp.vec3i(wp.vec3(1.7, -2.7, 3.0))", wp.vec3i, [1, -2, 3]),
    ("wp.vec3(wp.vec2(1.0, 2.0), 3.0)", wp.vec3, [1, 2, 3]),
    ("wp.vec4(0.5, wp.vec3(1.0, 2.0, 3.0))", wp.vec4, [0.5, 1, 2, 3]),
    ("wp.vec3((1.0, 2.0, 3.0))", wp.vec3, [1, 2, 3]),
    ("wp.vector(1.0, 2.0, 3.0)", wp.vec3, [1, 2, 3]),
    ("wp.vector(1, 2)", wp.vec2i, [1, 2]),
    ("wp.vector(1, 2, dtype=float)", wp.vec2, [1, 2]),
    ("wp.vector(3.0, length=4)", wp.vec4, [3] * 4),
    ("wp.vector(length=2, dtype=wp.float64)", wp.vec2d, [0, 0]),
    ("wp.vector(wp.float64(1.0), 2.0)", wp.vec2d, [1, 2]),
    ("vec5(1.0, 2.0, 3.0, 4.0, 5.0)", vec5, [1, 2, 3, 4, 5]),
    ("wp.mat22(1.0, 2.0, 3.0, 4.0)", wp.mat22, [[1, 2], [3, 4]]),
    ("wp.mat22(7.0)", wp.mat22, [[7, 7], [7, 7]]),
    ("wp.mat22(wp.mat22d(1.0, 2.0, 3.0, 4.0))", wp.mat22, [[1, 2], [3, 4]]),
    ("mat23(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)", mat23, [[1, 2, 3], [4, 5, 6]]),
    ("wp.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2), dtype=wp.float64)", wp.mat22d, [[1, 2], [3, 4]]),
    ("wp.matrix_from_rows(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))", wp.mat22, [[1, 2], [3, 4]]),
    ("wp.matrix_from_cols(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))", wp.mat22, [[1, 3], [2, 4]]),
    ("wp.identity(n=2, dtype=float)", wp.mat22, [[1, 0], [0, 1]]),
    ("wp.transpose(mat23(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))[2]", wp.vec2, [3, 6]),
    ("wp.quat()", wp.quat, [0, 0, 0, 0]),
    ("wp.quat(1.0, 2.0, 3.0, 4.0)", wp.quat, [1, 2, 3, 4]),
    ("wp.quat(wp.vec3(1.0, 2.0, 3.0), 4.0)", wp.quat, [1, 2, 3, 4]),
    ("wp.quat(x=1.0, y=2.0, z=3.0, w=4.0)", wp.quat, [1, 2, 3, 4]),
    ("wp.quaternion(ijk=wp.vec3(1.0, 2.0, 3.0), real=4.0)", wp.quat, [1, 2, 3, 4]),
    ("wp.quat_identity(dtype=wp.float64)", wp.quatd, [0, 0, 0, 1]),
    ("wp.quaternion(1.0, 2.0, 3.0, 4.0, dtype=wp.float64)", wp.quatd, [1, 2, 3, 4]),
    ("wp.transform()", wp.transform, [0] * 7),
    ("wp.transform(wp.vec3(1.0, 2.0, 3.0))", wp.transform, [1, 2, 3, 0, 0, 0, 1]),
    ("wp.transform(q=wp.quat_identity(), p=wp.vec3(1.0, 2.0, 3.0))", wp.transform, [1, 2, 3, 0, 0, 0, 1]),
    ("wp.transform(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)", wp.transform, [1, 2, 3, 4, 5, 6, 7]),
    ("wp.spatial_vector(wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0))", wp.spatial_vector, [1, 2, 3, 4, 4, 4]),
    ("Particle(mass=2.0).mass", float, 2),
    ("Particle().position", wp.vec3, [0, 0, 0]),
    ("Particle(wp.vec3(1.0), 3.0).position", wp.vec3, [1, 1, 1]),
    ("float(1)", float, 1),
    ("wp.float64(0.1)", wp.float64, 0.1),
    ("wp.int8(300)", wp.int8, 44),
    ("wp.uint8(-1)", wp.uint8, 255),
    ("int(-2.7)", int, -2),
    ("int(True)", int, 1),
    ("float('inf')", float, np.inf),
    ("wp.bool(0.5)", wp.bool, True),
    ("wp.cast(1.0, wp.int32)", int, 0x3F800000),
    ("wp.cast(wp.uint32(0x40490fdb), float)", float, np.float32(np.pi)),
    ("wp.where(wp.tid() > 0, 1.0, 2)", float, 2),
    ("wp.where(wp.tid(), 1.0, 2.0)", float, 2),
    ("wp.select(wp.tid() == 0, 1.0, 2.0)", float, 2),
    ("min(3, 1, 2)", int, 1),
    ("max(1, 2.5, float(wp.tid()))", float, 2.5),
    ("len(wp.vec4()) + len((1, 2)) + len(wp.mat33()) + len(wp.transform())", int, 4 + 2 + 3 + 7),
    ("float(isinstance(1.0, float)) + float(isinstance(wp.vec2(), (wp.vec3, wp.vec2)))", float, 2),
    ("type(wp.float64(1.0))(0.1)", wp.float64, 0.1),
    ("wp.lerp(wp.vec2d(1.0, 2.0), wp.vec2d(2.0, 4.0), 0.25)[1]", wp.float64, 2.5),
    ("wp.quat_rpy(0, 0, 0)", wp.quat, [0, 0, 0, 1]),
]


@pytest.mark.parametrize(("text", "result", "expected"), VALUES, ids=[text for text, *_ in VALUES])
def test_values(device, text, result, expected):
    found = run(text, device, result, vec5=vec5, mat23=mat23, Particle=Particle)
    np.testing.assert_array_equal(found, expected)


def test_the_threads_of_a_block(device):
    assert run("wp.block_dim()", device, int) == (256 if device == "cuda" else 1)


REFUSED = [
    ("wp.vec3(1.0, 2.0)", "`vec3` has 3 components, found 2 values"),
    ("wp.vec3(wp.tid(), 0, 0)", "write `float32(wp.tid())`"),
    ("wp.mat22(wp.vec2(), wp.vec2())", "matrix_from_rows"),
    ("wp.vector()", "vector(length=3, dtype=float)"),
    ("wp.sqrt(wp.tid())", "write `float(wp.tid())`"),
    ("wp.sqrt()", "`sqrt` takes 1 argument, 0 were given"),
    ("wp.sqrt(1.0, 2.0)", "`sqrt` takes 1 argument, 2 were given"),
    ("wp.clamp(1.0, lo=0.0, high=1.0)", "its arguments: `x`, `low`, `high`"),
    ("wp.min(wp.tid(), 2.5)", "write `float(wp.tid())`"),
    ("wp.min(float(wp.tid()), wp.float64(2.5))", "found `float32` and `float64`"),
    ("wp.cross(wp.vec3(), 3)", "`cross` needs a vector of length 3"),
    ("wp.dot(wp.vec2(), wp.vec3())", "found `vec2` and `vec3`"),
    ("wp.length(wp.vec3i())", "a vector of floats"),
    ("wp.cast(1.0, wp.int64)", "differ in size"),
    ("wp.atomic_add(out, 1.0)", "needs 1 index and 1 value"),
    ("wp.atomic_add(out, 0, wp.int64(1))", "expected `float32`, found `int64`"),
    ("wp.atomic_or(out, 0, 1.0)", "an array of integers"),
    ("wp.zeros(shape=wp.tid(), dtype=float)[0]", "known when compiling"),
    ("wp.zeros(shape=(1000, 1000), dtype=float)[0, 0]", "too large"),
    ("range(3)", "after `in` of a `for` loop"),
    ("wp.address_of(out)", "not supported"),
    ("wp.tile_stack(4, int)", "`tile_stack` is not supported yet"),
    ("float(wp.printf('%d'))", "needs more arguments"),
    ("sorted((1, 2))", "sorted"),
    ("wp.quat_rotate(wp.quat(), wp.vec3d())[0]", "one element type, found `float32` and `float64`"),
    ("Particle(weight=1.0).mass", "no argument `weight`"),
    ("out.numpy()", "numpy"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=[text for text, _ in REFUSED])
def test_mistakes_are_named(device, text, words):
    with pytest.raises(wp.CompileError, match="error") as caught:
        run(text, device, Particle=Particle)
    assert words in str(caught.value)


PRINTED = [
    ("wp.vec3(1.0, 2.5, -3.0)", "1 2.5 -3 \n"),
    ("wp.vec2i(1, 2)", "1 2 \n"),
    ("wp.mat22(1.0, 2.0, 3.0, 4.0)", "1 2 \n3 4 \n"),
    ("wp.quat(1.0, 2.0, 3.0, 4.0)", "1 2 3 4\n"),
    ("wp.transform(wp.vec3(1.0, 2.0, 3.0))", "(1 2 3) (0 0 0 1)\n"),
    ("wp.tid() == 0", "True\n"),
    ("wp.tid() > 0", "False\n"),
    ("'100 % sure'", "100 % sure\n"),
    ("wp.uint64(18446744073709551615)", "18446744073709551615\n"),
    ("wp.int64(-9223372036854775808)", "-9223372036854775808\n"),
    ("wp.uint8(200), wp.int8(-3)", "200 -3\n"),
    ("wp.float64(0.1), 1.0e-7, wp.float16(1.5)", "0.1 1e-07 1.5\n"),
    ("1, 'a', wp.vec2(1.0, 2.0), (1, 2.5), None", "1 a [1, 2] (1, 2.5) None\n"),
    ("Particle(wp.vec3(1.0), 2.0)", "Particle(position=[1, 1, 1], mass=2, tags=array(shape=(0), dtype=int32))\n"),
    ("out", "array(shape=(1), dtype=float32)\n"),
    ("", "\n"),
]


@pytest.mark.parametrize(("text", "expected"), PRINTED, ids=[text for text, _ in PRINTED])
def test_print(device, capfd, text, expected):
    run(f"print({text})\n0.0", device, Particle=Particle)
    assert capfd.readouterr().out == expected


def test_printf_converts_what_its_format_names(device, capfd):
    run(
        r"""wp.printf("%d|%5.2f|%x|%s|%s|%5s%%|%f\n", wp.tid(), 2.5, 255, "text", wp.vec2(1.0, 2.0), True, 3)
0.0""",
        device,
    )
    assert capfd.readouterr().out == "0| 2.50|ff|text|[1, 2]|True%|3.000000\n"


def test_expectations_report_what_they_found(device, capfd):
    run(
        """wp.expect_eq(wp.tid(), 0)
wp.expect_eq(wp.tid(), 3)
wp.expect_neq(wp.vec2(1.0, 2.0), wp.vec2(1.0, 2.0))
wp.expect_near(1.0, 1.0 + 1e-7)
wp.expect_near(wp.vec2(1.0, 2.0), wp.vec2(1.0, 2.5), 0.25)
0.0""",
        device,
    )
    assert capfd.readouterr().out == (
        "Error, expect_eq() failed:\n\t Expected: 3\n\t Actual: 0\n"
        "Error, expect_neq() failed:\n\t Expected: 1 2 \n\t Actual: 1 2 \n"
        "Error, expect_near() failed with tolerance 0.25\n"
        "    Expected: 1 2.5 \n    Actual: 1 2 \n    Max absolute difference: 0.5\n"
    )


@wp.kernel
def atomics(a: wp.array2d(dtype=int), old: wp.array(dtype=int), i: int, j: int):
    old[0] = wp.atomic_add(a, i, j, 5)
    old[1] = wp.atomic_cas(a, i, j, 6, 9)
    old[2] = wp.atomic_exch(a, i=i, j=j, value=2)
    old[3] = wp.atomic_xor(a, -1, -1, 7)
    old[4] = wp.atomic_cas(a, -1, -1, compare=0, value=1)


def test_atomics_give_what_was_there(device):
    a, old = wp.array(np.ones((2, 3), np.int32)), wp.zeros(5, dtype=int)
    wp.launch(atomics, dim=1, inputs=[a, old, 0, 1], device=device)
    assert old.numpy().tolist() == [1, 6, 9, 1, 6]
    assert a.numpy().tolist() == [[1, 2, 1], [1, 1, 6]]


def test_atomics_are_checked_against_the_array(device):
    wp.config.mode = "debug"
    a, old = wp.zeros((2, 3), dtype=int), wp.zeros(5, dtype=int)
    with pytest.raises(wp.KernelFault) as caught:
        wp.launch(atomics, dim=1, inputs=[a, old, 0, 3], device=device)
        wp.synchronize()
    assert caught.value.array == "a"
    assert caught.value.shape == (2, 3)
    assert "atomic_add" in str(caught.value)


def test_an_array_over_an_address(device):
    @wp.kernel
    def through(address: wp.uint64, n: int, out: wp.array(dtype=float)):
        a = wp.array(ptr=address, shape=(n, 2), dtype=float)
        for i in range(a.shape[0]):
            out[i] = a[i, 0] + a[i, 1]

    a = wp.array(np.arange(6, dtype=np.float32))
    out = wp.zeros(3, dtype=float)
    wp.launch(through, dim=1, inputs=[a.ptr, 3, out], device=device)
    assert out.numpy().tolist() == [1, 5, 9]


def test_builtins_can_be_named_passed_and_called_from_python(device):
    @wp.func
    def apply(f: Callable, x: float):
        return f(x)

    @wp.kernel
    def k(out: wp.array(dtype=float)):
        g = wp.sqrt
        out[0] = g(4.0) + apply(wp.abs, -1.0)

    out = wp.zeros(1, dtype=float)
    wp.launch(k, dim=1, inputs=[out], device=device)
    assert out.numpy()[0] == 3
    assert wp.length(wp.vec3(2.0, 3.0, 6.0)) == 7.0
    assert wp.randf(wp.uint32(1)) == wp.randf(wp.uint32(1))


def test_a_function_of_python_things_runs_as_python_from_the_host():
    @wp.func
    def shown(x: int):
        return repr(wp.int8(x))

    @wp.func
    def misspelt(x: int):
        return reprr(x)  # noqa: F821

    assert shown(-1) == "int8(-1)"
    with pytest.raises(wp.CompileError, match="`reprr` is not defined"):
        misspelt(1)


FACTOR = 2.0


@wp.func
def inner(x: float):
    return x * FACTOR


@wp.func
def outer(x: float, by: float = 1.0):
    return inner(x) + by


def test_a_function_called_from_python_is_what_it_is_now(monkeypatch):
    for factor in (2.0, 3.0, -0.0, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert [outer(5.0), outer(6.0)] == [5.0 * factor + 1.0, 6.0 * factor + 1.0]

    def doubled(x: float):
        return 2.0 * x

    monkeypatch.setitem(globals(), "inner", wp.func(doubled))
    assert outer(5.0) == 11.0
    monkeypatch.setattr(outer.func, "__defaults__", (4.0,))
    assert outer(5.0) == 14.0
