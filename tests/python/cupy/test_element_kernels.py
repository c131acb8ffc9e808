"""ElementwiseKernel and ReductionKernel, against NumPy."""

import numpy as np
import pytest

import gridstride as wp
import gridstride.cupy as cp

RNG = np.random.default_rng(7)


def array(*shape, dtype=np.float32):
    return RNG.integers(-9, 9, shape).astype(dtype)


class TestElementwise:
    def test_letters_stand_for_the_types_of_the_arguments(self):
        kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference")
        for dtype in (np.float32, np.float64, np.int32, np.uint8, np.int64, np.float16):
            x, y = array(33, dtype=dtype), array(33, dtype=dtype)
            z = kernel(cp.asarray(x), cp.asarray(y))
            assert z.dtype == dtype
            np.testing.assert_array_equal(z.get(), (x - y) * (x - y))

    def test_calls_like_the_last_one_and_others_in_turn(self):
        kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = x * 2 + y", "twice")
        cases = [(array(8), array(8)), (array(2, 4), array(2, 4)), (array(8), 3), (array(8), 2.5), (array(4), array(4))]
        cases += [
            (array(4, dtype=np.int32), 3),
            (array(4, 4).T, array(4, 4)),
            (array(1, 4), array(4, 1)),
            (array(1), 1),
        ]
        for x, y in 3 * cases:
            given = [cp.asarray(one) if isinstance(one, np.ndarray) else one for one in (x, y)]
            np.testing.assert_array_equal(kernel(*given).get(), x * 2 + y)
            out = cp.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)), x.dtype)
            assert kernel(*given, out) is out
            np.testing.assert_array_equal(out.get(), x * 2 + y)
        for _ in range(2):
            with pytest.raises(ValueError, match="shape"):
                kernel(cp.zeros(8, np.float32), 3, cp.zeros(4, np.float32))
            with pytest.raises(OverflowError):
                kernel(cp.zeros(8, np.int32), 2**40)
        numbers = cp.ElementwiseKernel("T x", "float64 z", "z = x")
        for _ in range(2):
            z = cp.zeros(2)
            assert numbers(5, z).get()[0] == 5
            assert numbers(2**63, z).get()[0] == 2.0**63

    def test_arrays_are_broadcast_and_read_as_they_lie(self):
        kernel = cp.ElementwiseKernel("float32 x, float32 y", "float64 z", "z = x * 10 + y")
        x, y = array(5, 1, 6), array(4, 1)
        z = kernel(cp.asarray(x), cp.asarray(y))
        np.testing.assert_array_equal(z.get(), x * 10.0 + y)
        x = array(6, 8, 5)
        z = kernel(cp.asarray(x)[::2, ::-1].T, cp.asarray(x)[1::2].T)
        np.testing.assert_array_equal(z.get(), x[::2, ::-1].T * 10.0 + x[1::2].T)

    def test_arrays_of_many_dimensions(self):
        x = array(2, 3, 2, 3, 2, 3)
        kernel = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x + 2 * y")
        a = cp.asarray(x)
        z = kernel(a.transpose(5, 1, 3, 0, 2, 4), a.transpose(1, 5, 3, 4, 2, 0)[..., ::-1])
        np.testing.assert_array_equal(
            z.get(), x.transpose(5, 1, 3, 0, 2, 4) + 2 * x.transpose(1, 5, 3, 4, 2, 0)[..., ::-1]
        )

    def test_a_raw_array_is_indexed_by_the_operation(self):
        x = array(4, 8)
        kernel = cp.ElementwiseKernel("raw T x, int32 n_cols", "T z", "z = x[i] + x[(i + 1) % _ind.size()]", "next")
        a = cp.asarray(x)
        for given, flat in ((a, x.ravel()), (a.T, x.T.ravel())):
            z = cp.zeros(32, cp.float32)
            kernel(given, 8, z)
            np.testing.assert_array_equal(z.get(), flat + np.roll(flat, -1))
        z = kernel(a, 8, size=10)
        np.testing.assert_array_equal(z.get()[:9], x.ravel()[:9] + x.ravel()[1:10])

    def test_numbers_take_the_type_of_their_parameter(self):
        kernel = cp.ElementwiseKernel("T x, T a, float64 b", "T z", "z = a * x + b")
        x = array(7)
        z = kernel(cp.asarray(x), 3, np.float32(0.5))
        np.testing.assert_array_equal(z.get(), 3 * x + np.float32(0.5))

    def test_outputs_are_given_or_made(self):
        kernel = cp.ElementwiseKernel("T x", "T lo, T hi", "lo = min(x, (T)0); hi = max(x, (T)0);", "halves")
        x = array(9)
        lo, hi = kernel(cp.asarray(x))
        np.testing.assert_array_equal(lo.get() + hi.get(), x)
        out = cp.zeros(9, cp.float32), cp.zeros(9, cp.float32)
        assert kernel(cp.asarray(x), *out)[1] is out[1]
        single = cp.ElementwiseKernel("T x", "T y", "y = -x", return_tuple=True)
        assert isinstance(single(cp.asarray(x)), tuple)
        assert cp.ElementwiseKernel("T x", "T y", "y = -x", no_return=True)(cp.asarray(x)) is None

    def test_an_output_keeps_what_is_not_assigned(self):
        y = cp.full(6, 5, cp.int32)
        cp.ElementwiseKernel("int32 x", "int32 y", "if (x > 2) y += x;")(cp.arange(6, dtype=cp.int32), y)
        assert y.tolist() == [5, 5, 5, 8, 9, 10]

    def test_a_raw_output_is_added_to_by_all(self):
        counts = cp.zeros(4, cp.int32)
        x = array(100, dtype=np.int32) & 3
        cp.ElementwiseKernel("int32 x", "raw int32 counts", "atomicAdd(&counts[x], 1)", "count")(cp.asarray(x), counts)
        np.testing.assert_array_equal(counts.get(), np.bincount(x, minlength=4))

    def test_a_preamble_and_statements_around(self):
        kernel = cp.ElementwiseKernel(
            "T x",
            "T y",
            "y = twice(x) + offset",
            preamble="template <typename T> __device__ T twice(T v) { return v * 2; }",
            loop_prep="const int offset = 7",
            after_loop="y += 1",
        )
        x = array(5)
        np.testing.assert_array_equal(kernel(cp.asarray(x)).get(), 2 * x + 8)

    def test_no_elements(self):
        z = cp.ElementwiseKernel("T x", "T y", "y = x")(cp.zeros((0, 3), cp.float32))
        assert z.shape == (0, 3)

    def test_types_that_do_not_fit(self):
        kernel = cp.ElementwiseKernel("T x, T y, int32 k", "T z", "z = x + y", "plus")
        x, y = cp.zeros(3, cp.float32), cp.zeros(3, cp.float64)
        with pytest.raises(TypeError, match="Type is mismatched. y float64 float32"):
            kernel(x, y, 1)
        with pytest.raises(TypeError, match="plus: `k` is an array of int32, not of float32"):
            kernel(x, x, x)
        with pytest.raises(TypeError, match="Wrong number of arguments"):
            kernel(x)
        with pytest.raises(ValueError, match="could not be broadcast"):
            kernel(x, cp.zeros(2, cp.float32), 1)
        with pytest.raises(ValueError, match="`i` cannot name"):
            cp.ElementwiseKernel("T i", "T z", "z = i")

    def test_a_mistake_is_told_in_the_operation(self):
        with pytest.raises(
            wp.CompileError, match=r"`q` is not declared here[\s\S]*<ElementwiseKernel bad>[\s\S]*z = x \+ q"
        ):
            cp.ElementwiseKernel("T x", "T z", "z = x + q", "bad")(cp.zeros(3, cp.float32))

    def test_an_index_out_of_range_is_told_in_the_operation(self, monkeypatch):
        monkeypatch.setattr(wp.config, "mode", "debug")
        kernel = cp.ElementwiseKernel("raw float32 x", "float32 y", "y = x[i + 2]", "ahead")
        with pytest.raises(wp.KernelFault) as fault:
            kernel(cp.zeros(4, cp.float32), cp.zeros(4, cp.float32))
        assert (fault.value.kind, fault.value.array, fault.value.index) == ("bounds", "x", (4,))
        assert "y = x[i + 2]" in str(fault.value)


class TestReduction:
    norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")

    @pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), -1])
    @pytest.mark.parametrize("keepdims", [False, True])
    def test_axes(self, axis, keepdims):
        x = array(4, 5, 6)
        found = self.norm(cp.asarray(x), axis=axis, keepdims=keepdims)
        wanted = np.sqrt((x * x).sum(axis=axis, keepdims=keepdims))
        assert found.shape == np.shape(wanted)
        np.testing.assert_allclose(found.get(), wanted, rtol=1e-6)

    def test_many_elements(self):
        x = array(300_000)
        np.testing.assert_allclose(
            self.norm(cp.asarray(x)).item(), np.sqrt((x.astype(np.float64) ** 2).sum()), rtol=1e-5
        )
        x = array(3, 50_000)
        np.testing.assert_allclose(self.norm(cp.asarray(x), axis=1).get(), np.sqrt((x**2).sum(1)), rtol=1e-5)
        x = array(50_000, 3)
        np.testing.assert_allclose(self.norm(cp.asarray(x), axis=0).get(), np.sqrt((x**2).sum(0)), rtol=1e-5)

    def test_several_inputs(self):
        dot = cp.ReductionKernel("T x, T y, T s", "T z", "x * y * s", "a + b", "z = a", "0", "dot")
        x, y = array(6, 7, dtype=np.int32), array(7, dtype=np.int32)
        np.testing.assert_array_equal(dot(cp.asarray(x), cp.asarray(y), 2, axis=1).get(), (x * y * 2).sum(1))
        np.testing.assert_array_equal(dot(cp.asarray(x).T, cp.asarray(x.T), 1, axis=0).get(), (x * x).sum(1))

    def test_the_type_that_is_kept(self):
        x = array(1000, dtype=np.int8)
        total = cp.ReductionKernel("int8 x", "int32 y", "x", "a + b", "y = a", "0", "total")
        assert total(cp.asarray(x)).item() == x.sum(dtype=np.int64)
        mean = cp.ReductionKernel(
            "T x", "T y", "x", "a + b", "y = a / _n", "0", "m", "double", preamble="#define _n 1000"
        )
        np.testing.assert_allclose(mean(cp.asarray(x.astype(np.float32))).item(), x.mean(), rtol=1e-6)

    def test_a_struct_is_kept(self):
        preamble = """
        struct Best { float value; long long at; };
        __device__ Best best(float v, long long k) { Best b; b.value = v; b.at = k; return b; }
        __device__ Best better(Best a, Best b) { return a.value >= b.value ? a : b; }
        """
        kernel = cp.ReductionKernel(
            "float32 x", "int64 y", "best(x, _J)", "better(a, b)", "y = a.at", None, "where", "Best", preamble=preamble
        )
        x = RNG.standard_normal((5, 40), dtype=np.float32)
        np.testing.assert_array_equal(kernel(cp.asarray(x), axis=1).get(), x.argmax(1))

    def test_no_elements(self):
        assert self.norm(cp.zeros((0,), cp.float32)).item() == 0
        most = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "", "most")
        assert most(cp.asarray(array(77))).item() <= 9
        with pytest.raises(ValueError, match="no identity"):
            most(cp.zeros((0,), cp.float32))

    def test_an_output_is_given(self):
        x, out = array(4, 3), cp.zeros(3, cp.float32)
        assert self.norm(cp.asarray(x), axis=0, out=out) is out
        np.testing.assert_allclose(out.get(), np.sqrt((x * x).sum(0)), rtol=1e-6)
        with pytest.raises(ValueError, match="must be an array of shape"):
            self.norm(cp.asarray(x), axis=1, out=out)
        with pytest.raises(ValueError, match="axis 2 is out of bounds"):
            self.norm(cp.asarray(x), axis=2)


def test_a_row_of_more_than_32_bits_of_elements_is_indexed():
    x = cp.ones((600, 30, 15), dtype=cp.int8)
    total = cp.ReductionKernel("int8 x", "int32 y", "x", "a + b", "y = a", "0", "rs")(x, axis=2)
    assert int(total.min()) == int(total.max()) == 15
