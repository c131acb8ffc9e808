"""Values in kernels: constructors, what `static` may ask of a run-time value, classes of errors."""

import pytest

import gridstride as wp

mat32d = wp.types.matrix(shape=(3, 2), dtype=wp.float64)


def run(kernel, *args):
    wp.launch(kernel, dim=1, inputs=list(args))


def test_static_knows_the_type_of_a_run_time_value():
    @wp.kernel
    def kernel(v: wp.vec4, out: wp.array(dtype=int)):
        out[0] = wp.static(len(v))

    out = wp.zeros(1, dtype=int)
    run(kernel, wp.vec4(), out)
    assert out.list() == [4]


def test_a_matrix_type_may_be_told_its_shape_again():
    @wp.kernel
    def kernel(out: wp.array(dtype=mat32d)):
        out[0] = mat32d(mat32d(2.0), shape=(3, 2))

    out = wp.zeros(1, dtype=mat32d)
    run(kernel, out)
    assert out.numpy().tolist() == [[[2.0, 2.0]] * 3]


def test_remainder_of_vectors():
    @wp.kernel
    def kernel(v: wp.vec3i, out: wp.array(dtype=wp.vec3i)):
        out[0] = wp.mod(v, wp.vec3i(4, 4, 4))

    out = wp.zeros(1, dtype=wp.vec3i)
    run(kernel, wp.vec3i(7, -7, 8), out)
    assert out.numpy().tolist() == [[3, -3, 0]]


@pytest.mark.parametrize(
    ("body", "base", "text"),
    [
        ("wp.vec3(1.0, 2.0)", ValueError, "incompatible number of values given (2) when constructing a vector"),
        ("wp.vec2(wp.float64(1.0), 2.0)", TypeError, "are expected to be of the type `float32`"),
        ("wp.mat22(wp.mat33())", TypeError, "matrix of shape (3, 3) given when copy constructing"),
        ("wp.transform(1.0, 2.0)", ValueError, "expected 0, 1, or 7"),
        ("wp.vec3().foo", AttributeError, "no `foo`"),
        ("undefined_name", KeyError, "`undefined_name` is not defined"),
    ],
)
def test_errors_are_of_pythons_classes_too(body, base, text, tmp_path):
    import importlib.util

    file = tmp_path / "wrong.py"
    file.write_text(f"import gridstride as wp\n\n\n@wp.kernel\ndef kernel():\n    x = {body}\n")
    spec = importlib.util.spec_from_file_location("wrong", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(wp.CompileError) as error:
        wp.launch(module.kernel, dim=1)
    assert isinstance(error.value, base) and text in str(error.value)
    with pytest.raises(base):
        module.kernel.module.load()


def test_a_kernel_in_error_takes_no_other_down():
    module = wp.Module("one_bad_kernel")

    @wp.kernel(module=module)
    def good(out: wp.array(dtype=int)):
        out[0] = 1

    @wp.kernel(module=module)
    def bad(out: wp.array(dtype=int)):
        out[0] = undefined_name  # noqa: F821

    with wp.ScopedLogLevel(wp.LOG_ERROR):
        module.load()
    out = wp.zeros(1, dtype=int)
    run(good, out)
    assert out.list() == [1]
    with pytest.raises(KeyError):
        run(bad, out)
