"""Functions, arrays and texts as values: closures that are passed on, arrays that a kernel makes or captures."""

import pickle
import re
from enum import Enum

import numpy as np
import pytest

from gridstride.numba import cuda, errors, jit, types
from gridstride.numba._dtypes import carray
from gridstride.numba.cuda import extending
from gridstride.numba.cuda._arrays import DeviceNDArray
from gridstride.numba.cuda.kernels.transpose import transpose

TABLE = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
SEVERAL = (np.array([1.0, 2.0]), np.array([[3.0], [4.0]]))


class Color(Enum):
    red = 1
    green = 2


@cuda.jit
def applied(function, *args, times=1):
    total = 0
    for _ in range(times):
        total += function(*args)
    return total


def clamp(x, lo, hi):
    raise NotImplementedError("only in kernels")


@extending.overload(clamp)
def clamp_numbers(x, lo, hi):
    if isinstance(x, types.Number):
        return lambda x, lo, hi: min(max(x, lo), hi)
    return None


@extending.overload_method(types.Array, "middle")
def middle(array):
    def impl(array):
        return array[array.size // 2]

    return impl


def test_functions_with_captured_values_are_passed_on():
    @cuda.jit
    def kernel(out, n):
        offset = n * 10

        def shifted(a, b, scale=2):
            return offset + scale * a + b

        out[0] = applied(shifted, n, 1)
        out[1] = applied(shifted, n, 1, 3, times=2)
        out[2] = applied(lambda_like, 4)

    out = np.zeros(3)
    kernel[1, 1](out, 3)
    assert out.tolist() == [37, 80, 16]


@cuda.jit
def lambda_like(x):
    return x * x


def test_programs_extend_the_language():
    @cuda.jit
    def kernel(a, out):
        out[0] = clamp(a[0], 0, 1)
        out[1] = a.middle()

    out = np.zeros(2)
    kernel[1, 1](np.array([5.0, 6.0, 7.0]), out)
    assert out.tolist() == [1, 6]

    @cuda.jit
    def wrong(a):
        a[0] = clamp(a, 0, 1)

    with pytest.raises(errors.TypingError, match="`clamp` cannot be called in a kernel"):
        wrong[1, 1](np.zeros(1))


def test_kernels_make_and_capture_arrays():
    @cuda.jit
    def kernel(out):
        made = np.zeros(4, np.int64)
        for i in range(4):
            made[i] += i
        copied = TABLE.copy()
        copied[1, 2] = 100
        out[0] = made.sum() + np.ones(3).sum() + np.arange(2, 5)[1]
        out[1] = TABLE[1, 2] + copied[1, 2]
        k = 2
        for array in SEVERAL:
            out[k] = array.max()
            k += 1

    out = np.zeros(4)
    kernel[1, 1](out)
    assert out.tolist() == [12, 106, 2, 4]


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "min", "max", "argmin", "argmax", "any", "all", "ptp"])
def test_reductions_are_numpys(name):
    function = getattr(np, name)

    @cuda.jit
    def kernel(a, b, out):
        out[0] = function(a)
        out[1] = function(b)

    a, b = np.array([[3.0, -1.0], [0.5, 2.0]]), np.array([2, 0, 5], np.int32)
    out = np.zeros(2)
    kernel[1, 1](a, b, out)
    np.testing.assert_allclose(out, [function(a), function(b)])


def test_reductions_pass_a_nan_on_or_leave_it_out():
    @cuda.jit
    def kernel(a, out):
        out[0], out[1], out[2], out[3] = a.max(), np.nanmax(a), np.nansum(a), np.nanmean(a)

    out = np.zeros(4)
    kernel[1, 1](np.array([1.0, np.nan, 4.0]), out)
    np.testing.assert_equal(out, [np.nan, 4, 5, 2.5])


def test_texts_are_stored_in_arrays_and_records():
    @cuda.jit
    def kernel(words, codes, records):
        words[0] = "née"
        codes[0] = b"too long"
        records[0]["name"] = "ab"

    words, codes = np.array(["before", "kept"], "<U6"), np.array([b"", b"kept"], "S4")
    records = np.zeros(1, [("n", np.int32), ("name", "<U3")])
    kernel[1, 1](words, codes, records)
    assert words.tolist() == ["née", "kept"]
    assert codes.tolist() == [b"too ", b"kept"]
    assert records["name"].tolist() == ["ab"]


def test_enums_by_name_and_tuples_by_their_items():
    @cuda.jit
    def kernel(pair, out):
        out[0] = Color["red"] == Color.red
        out[1] = pair == (1, 2.5)
        out[2] = pair != (1, 2.0)

    out = np.zeros(3, bool)
    kernel[1, 1]((1, 2.5), out)
    assert out.tolist() == [True, True, True]


def test_complex_numbers_are_ordered_as_numpy_orders_them():
    @cuda.jit
    def kernel(a, b, less, most):
        i = cuda.grid(1)
        less[i] = np.less(a[i], b[i])
        most[i] = np.maximum(a[i], b[i])

    a = np.array([1 + 1j, 1 + 1j, 2 - 1j, complex(np.nan, 0)])
    b = np.array([1 + 2j, 1 - 1j, 1 + 5j, 1 + 0j])
    less, most = np.zeros(4, bool), np.zeros(4, complex)
    kernel[1, 4](a, b, less, most)
    assert less.tolist() == np.less(a, b).tolist()
    np.testing.assert_equal(most, np.maximum(a, b))


def test_a_loop_without_a_break_runs_its_else():
    @cuda.jit
    def kernel(a, out):
        for wanted in range(3):
            for i in range(a.size):
                if a[i] == wanted:
                    out[wanted] = i
                    break
            else:
                out[wanted] = -1

    out = np.zeros(3)
    kernel[1, 1](np.array([2, 0]), out)
    assert out.tolist() == [1, -1, 0]


def test_pointers_are_arrays_without_an_end():
    memory = np.arange(6, dtype=np.float32)

    @cuda.jit(types.void(types.CPointer(types.float32)))
    def kernel(pointer):
        matrix = carray(pointer, (2, 3))
        pointer[0] = matrix[1, 2] + pointer[1]

    kernel[1, 1](memory.__array_interface__["data"][0])
    assert memory[0] == 6


def make(step):
    @cuda.jit
    def kernel(a, n):
        a[0] = applied(helper, a[0]) + step if n == 0 else factorial(n)

    @cuda.jit
    def helper(x):
        return np.sqrt(x)

    return kernel


@jit("int32(int32)")
def factorial(n):
    total = 1
    for k in range(2, n + 1):
        total *= k
    return total


def test_kernels_are_pickled_with_what_they_use():
    kernel = pickle.loads(pickle.dumps(make(0.5)))
    a = np.array([16.0])
    kernel[1, 1](a, 0)
    assert a[0] == 4.5
    kernel[1, 1](a, 4)
    assert a[0] == 24
    assert factorial(4.9) == 24
    data = pickle.dumps(kernel)
    assert pickle.loads(data) is pickle.loads(data)


def offset(x):
    raise NotImplementedError("only in kernels")


@extending.overload(offset)
def offset_of_type(x):
    distance = 1 if isinstance(x, types.Integer) else 0.5

    def added(x):
        return x + distance

    return added


def test_overloads_capture_values():
    @cuda.jit
    def kernel(out, i, x):
        out[0], out[1], out[2] = offset(i), offset(x), offset(i + 1)

    out = np.zeros(3)
    kernel[1, 1](out, 4, 8.0)
    assert out.tolist() == [5, 8.5, 6]


def test_ravel_is_a_view():
    matrix = cuda.to_device(np.arange(12).reshape(3, 4))
    every_second = matrix[:, ::2].ravel()
    every_second[0] = 7
    assert every_second.copy_to_host().tolist() == [7, 2, 4, 6, 8, 10] and matrix[0, 0] == 7
    with pytest.raises(NotImplementedError, match="need a copy"):
        matrix[:, :3].ravel()


def test_configured_launches_are_pickled():
    launch = pickle.loads(pickle.dumps(make(0.5)[1, 1]))
    a = np.array([16.0])
    launch(a, 0)
    assert a[0] == 4.5


def test_types_by_name():
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(2, dtype="float32")
        mine = cuda.local.array(1, "int16")
        mine[0] = 7
        tile[cuda.threadIdx.x] = 0.1
        cuda.syncthreads()
        out[cuda.threadIdx.x] = tile[1 - cuda.threadIdx.x] + mine[0]

    out = np.zeros(2)
    kernel[1, 2](out)
    assert (out == np.float32(0.1) + 7.0).all()


def test_device_arrays_by_shape_and_transposed():
    memory = cuda.to_device(np.arange(6.0))
    a = DeviceNDArray(shape=(2, 3), strides=(24, 8), dtype=np.float64, gpu_data=memory)
    assert a.dtype == np.dtype(np.float64) and (a.copy_to_host() == [[0, 1, 2], [3, 4, 5]]).all()
    assert (transpose(a).copy_to_host() == [[0, 3], [1, 4], [2, 5]]).all()
    whole = np.arange(33 * 70, dtype=np.int32).reshape(33, 70)
    assert (transpose(whole).copy_to_host() == whole.T).all()


def test_the_signature_that_fits_best_is_taken():
    @cuda.jit([(types.float64[:], types.float32, types.float32), (types.float64[:], types.float64, types.float64)])
    def kernel(out, x, y):
        out[0] = x + y

    out = np.zeros(1)
    kernel[1, 1](out, 1, 2**-25)
    assert out[0] == 1 + 2**-25
    kernel[1, 1](out, np.float32(1), np.float32(2**-25))
    assert out[0] == 1
    with pytest.raises(TypeError, match="No matching definition"):
        kernel[1, 1](out, 1j, 1)


def test_repeated_launches_notice_other_arguments():
    @cuda.jit
    def kernel(a, x):
        a[cuda.grid(1)] = x

    launch = kernel[1, 2]
    for value, dtype in (
        (1, np.int32),
        (2.5, np.float64),
        (np.float32(3), np.float32),
        (True, np.float64),
        (7, np.int32),
    ):
        for _ in range(2):
            a = cuda.to_device(np.zeros(2, dtype))
            launch(a, value)
            assert a.copy_to_host().tolist() == [value, value]
    assert len(kernel.overloads) == 4
    strided = cuda.to_device(np.zeros(4, np.int32))
    launch(strided[::2], 7)
    assert strided.copy_to_host().tolist() == [7, 0, 7, 0]
    with pytest.raises(TypeError):
        launch(a)


def test_device_functions_are_compiled_for_other_compilers():
    def scaled(x, y):
        return x * y + 1

    ptx, result = cuda.compile(scaled, (types.int32, types.float32))
    assert result == types.float64
    assert re.search(r"\.visible \.func\s+\(\.param \.b64 func_retval0\) scaled\(", ptx)
    assert ".entry" not in ptx and ".local" not in ptx
    ptx, result = cuda.compile(scaled, types.int32(types.int32, types.int32), abi_info={"abi_name": "_Z1fii"})
    assert result == types.int32 and "func_retval0) _Z1fii(" in ptx
    ptx, _ = cuda.compile_ptx(scaled, types.int32(types.int32, types.int32), device=True)
    assert "scaled_param_2" in ptx and "st.b32" in ptx

    def first(values):
        values[0] = values[1]

    ptx, result = cuda.compile(first, types.void(types.CPointer(types.float32)))
    assert result == types.none and "ld.b32" in ptx
    with pytest.raises(TypeError, match="void return type"):
        cuda.compile_ptx(scaled, (types.int32, types.int32))
    with pytest.raises(NotImplementedError, match="Unsupported ABI"):
        cuda.compile(scaled, (types.int32, types.int32), abi="fastcall")


def test_hints_for_caches_are_plain_accesses():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        cuda.stcs(out, i, cuda.ldca(a, i) + cuda.ldcg(a, 0))

    out = np.zeros(2)
    kernel[1, 2](np.array([1.0, 2.0]), out)
    assert out.tolist() == [2, 3]


def test_captured_arrays_are_constants():
    @cuda.jit
    def kernel(a):
        TABLE[0, 0] = a[0]

    with pytest.raises(errors.TypingError, match="this array is a constant"):
        kernel[1, 1](np.zeros(1))
