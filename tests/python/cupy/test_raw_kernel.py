"""RawKernel and RawModule: C text, against NumPy."""

import numpy as np
import pytest

import gridstride as wp
import gridstride.cupy as cp
from gridstride import _native

SCALE = r"""
extern "C" __global__
void scale_values(const float* input, float* output, const float factor, const int size) {
    int index = blockDim.x * blockIdx.x + threadIdx.x;
    if (index < size) {
        output[index] = factor * input[index];
    }
}
"""


def run(body, *args, params, grid=(1,), block=(32,), shared_mem=0, before=""):
    """Runs statements as a kernel."""
    text = f'{before}\nextern "C" __global__ void k({params}) {{\n{body}\n}}'
    cp.RawKernel(text, "k")(grid, block, args, shared_mem=shared_mem)


def test_a_kernel_runs_over_a_grid():
    x = cp.arange(1000, dtype=cp.float32)
    y = cp.empty_like(x)
    cp.RawKernel(SCALE, "scale_values")((4,), (256,), (x, y, cp.float32(2.0), cp.int32(1000)))
    np.testing.assert_array_equal(y.get(), 2 * np.arange(1000, dtype=np.float32))


def test_threads_of_a_block_share_memory_and_meet():
    text = r"""
    template <typename T, int N> __global__ void sum(const T* x, T* out, int n) {
        __shared__ T s[N];
        int t = threadIdx.x;
        T acc = 0;
        for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) acc += x[i];
        s[t] = acc;
        __syncthreads();
        for (int k = N / 2; k > 0; k >>= 1) {
            if (t < k) s[t] += s[t + k];
            __syncthreads();
        }
        if (t == 0) atomicAdd(out, s[0]);
    }"""
    module = cp.RawModule(code=text, name_expressions=["sum<float, 128>", "sum<int, 64>"])
    x = np.arange(1000)
    for name, dtype, block in (("sum<float, 128>", cp.float32, 128), ("sum<int, 64>", cp.int32, 64)):
        out = cp.zeros(1, dtype)
        module.get_function(name)((3,), (block,), (cp.asarray(x.astype(dtype)), out, 1000))
        assert out.item() == x.sum()


def test_a_tiled_product():
    text = r"""
    #define T 16
    extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
        __shared__ float as[T][T], bs[T][T + 1];
        int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
        float sum = 0.0f;
        for (int m = 0; m < (n + T - 1) / T; ++m) {
            int x = threadIdx.x, y = threadIdx.y, ax = m * T + x, by = m * T + y;
            as[y][x] = (row < n && ax < n) ? a[row * n + ax] : 0.0f;
            bs[y][x] = (col < n && by < n) ? b[by * n + col] : 0.0f;
            __syncthreads();
            #pragma unroll
            for (int k = 0; k < T; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
            __syncthreads();
        }
        if (row < n && col < n) c[row * n + col] = sum;
    }"""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((50, 50), dtype=np.float32) for _ in range(2))
    c = cp.zeros((50, 50), cp.float32)
    cp.RawKernel(text, "matmul")((4, 4), (16, 16), (cp.asarray(a), cp.asarray(b), c, 50))
    np.testing.assert_allclose(c.get(), a @ b, rtol=1e-5, atol=1e-5)


def test_dynamic_shared_memory_is_cut_into_arrays():
    x = cp.arange(32, dtype=cp.float32)
    y = cp.zeros(32, cp.float32)
    body = """
    extern __shared__ float all[];
    int* flags = (int*)&all[blockDim.x];
    int t = threadIdx.x;
    all[t] = x[t];
    flags[t] = t & 1;
    __syncthreads();
    int other = blockDim.x - 1 - t;
    y[t] = flags[other] ? all[other] : -all[other];
    """
    run(body, x, y, params="const float* x, float* y", shared_mem=256)
    reverse = np.arange(32, dtype=np.float32)[::-1]
    np.testing.assert_array_equal(y.get(), np.where(reverse % 2 == 1, reverse, -reverse))


def test_lanes_of_a_warp_exchange_values():
    x = cp.arange(64, dtype=cp.int32)
    y = cp.zeros(64, cp.int32)
    body = """
    int t = threadIdx.x, v = x[t];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    v = __shfl_sync(0xffffffffu, v, 0);
    unsigned odd = __ballot_sync(0xffffffff, t & 1);
    y[t] = v + __popc(odd);
    """
    run(body, x, y, params="const int* x, int* y", block=(64,))
    np.testing.assert_array_equal(y.get(), np.repeat([496 + 16, 1520 + 16], 32))


def test_control_flow_and_integers_are_those_of_c():
    out = cp.zeros(12, cp.int64)
    body = """
    int i = 0, n = 0;
    while (true) { if (++i > 10) break; if (i % 3 == 0) continue; n += i; }
    y[0] = n;
    do { n -= 7; } while (n > 0);
    y[1] = n;
    for (unsigned u = 3; u > 0; u--) y[2] = y[2] * 10 + u;
    for (int a = 10, b = 0; a > b; a--, b += 2) y[3] = a * 100 + b;
    y[4] = -7 / 2; y[5] = -7 % 3; y[6] = 1u - 2; y[7] = (char)200; y[8] = 7 >> 1 << 2;
    switch (y[5]) { case -1: y[9] = 5; case 4: y[9] += 1; break; default: y[9] = 99; }
    y[10] = 5 > 3 > 1; y[11] = (i = 4, i + 1) * sizeof(double);
    """
    run(body, out, params="long long* y", block=(1,))
    assert out.tolist() == [37, -5, 321, 706, -3, -1, 4294967295, -56, 12, 6, 0, 40]


def test_device_functions_take_pointers_references_and_structs():
    before = """
    struct Body { float3 at; float mass; int tags[2]; };
    __device__ __forceinline__ float3 scaled(float3 v, float s) { return make_float3(v.x * s, v.y * s, v.z * s); }
    static __device__ void swap(float& a, float& b) { float t = a; a = b; b = t; }
    template <typename T> __device__ T total(const T* p, int n) { T s = 0; while (n--) s += *p++; return s; }
    __constant__ float weights[3] = {1.0f, 2.0f, 0.5f};
    """
    dtype = np.dtype([("at", np.float32, 3), ("mass", np.float32), ("tags", np.int32, 2)], align=True)
    y = cp.zeros(6, cp.float32)
    body = """
    float3 v = scaled(b.at, b.mass);
    float x[4] = {v.x, v.y, v.z};
    swap(x[0], x[2]);
    y[0] = x[0]; y[1] = x[1]; y[2] = x[2];
    y[3] = total(x, 4); y[4] = total<float>(x + 1, 2) * weights[1]; y[5] = b.tags[1] + weights[2];
    """
    record = np.zeros((), dtype)
    record["at"], record["mass"], record["tags"] = (1, 2, 3), 2, (7, 9)
    run(body, record, y, params="Body b, float* y", block=(1,), before=before)
    assert y.tolist() == [6, 4, 2, 12, 12, 9.5]


def test_variables_of_the_device_are_set_from_the_host():
    text = """
    __constant__ float k[2]; __device__ int count = 5;
    extern "C" __global__ void f(float* y) { y[threadIdx.x] = k[threadIdx.x] * 2; atomicAdd(&count, 1); }"""
    module = cp.RawModule(code=text)
    pointer = module.get_global("k")
    cp.ndarray(2, cp.float32, pointer)[...] = cp.asarray([1.5, 4.0], dtype=cp.float32)
    y = cp.zeros(2, cp.float32)
    module.get_function("f")((1,), (2,), (y,))
    assert y.tolist() == [3.0, 8.0]
    assert cp.ndarray(1, cp.int32, module.get_global("count")).item() == 7


def test_math_and_bits():
    x = cp.asarray([0.3, 1.7, 2.5], dtype=cp.float32)
    y = cp.zeros((6, 3), cp.float64)
    body = """
    int i = threadIdx.x; float v = x[i], s, c;
    sincosf(v, &s, &c);
    y[i] = s * s + c * c; y[3 + i] = __expf(v) + rsqrtf(v); y[6 + i] = fmaxf(v, 2) + min(i, 1) + pow(v, 2);
    y[9 + i] = __float_as_int(v); y[12 + i] = hypotf(v, 1.0f) + erff(v); y[15 + i] = __clz(i + 1) + __brev(1u << i) % 7;
    """
    run(body, x, y, params="const float* x, double* y", block=(3,))
    v, i = x.get(), np.arange(3)
    f64 = v.astype(np.float64)
    np.testing.assert_allclose(y.get()[0], 1, rtol=1e-6)
    np.testing.assert_allclose(y.get()[1], np.exp(f64) + 1 / np.sqrt(f64), rtol=1e-6)
    np.testing.assert_allclose(y.get()[2], np.maximum(f64, 2) + np.minimum(i, 1) + f64**2, rtol=1e-6)
    np.testing.assert_array_equal(y.get()[3], v.view(np.int32))
    erf = np.array([0.32862676, 0.98379046, 0.99959305])
    np.testing.assert_allclose(y.get()[4], np.hypot(f64, 1) + erf, rtol=1e-6)
    np.testing.assert_array_equal(y.get()[5], [31 + (1 << 31) % 7, 30 + (1 << 30) % 7, 30 + (1 << 29) % 7])


def test_options_define_macros():
    y = cp.zeros(1, cp.int32)
    cp.RawKernel("__global__ void k(int* y) { y[0] = N + M; }", "k", ("-DN=4", "-D", "M=(2 * 3)"))((1,), (1,), (y,))
    assert y.item() == 10


class TestArgumentsThatDoNotFit:
    kernel = cp.RawKernel(SCALE, "scale_values")

    def launch(self, *args):
        self.kernel((1,), (32,), args)

    def test_an_array_of_another_dtype(self):
        x, y = cp.zeros(4, cp.float64), cp.zeros(4, cp.float32)
        with pytest.raises(TypeError, match=r"argument 1 `input`: `const float\*` does not point into .* float64"):
            self.launch(x, y, 1.0, 4)

    def test_a_number_of_another_type(self):
        x, y = cp.zeros(4, cp.float32), cp.zeros(4, cp.float32)
        with pytest.raises(TypeError, match=r"argument 3 `factor`: `float` takes float32, not numpy.float64"):
            self.launch(x, y, np.float64(1.0), 4)
        with pytest.raises(TypeError, match=r"argument 4 `size`: `int` takes an integer"):
            self.launch(x, y, 1.0, 4.5)
        with pytest.raises(OverflowError, match="argument 4 `size`: 4294967296"):
            self.launch(x, y, 1.0, 1 << 32)

    def test_an_array_with_gaps(self):
        x, y = cp.zeros(8, cp.float32)[::2], cp.zeros(4, cp.float32)
        with pytest.raises(ValueError, match="does not know the strides"):
            self.launch(x, y, 1.0, 4)

    def test_a_transposed_view(self):
        x = cp.zeros((3, 4), cp.float32)
        with pytest.warns(UserWarning, match="transposed"):
            self.launch(x.T, x, 1.0, 4)

    def test_an_array_of_the_host(self):
        with pytest.raises(TypeError, match=r"takes an array of cupy.*cupy.asarray"):
            self.launch(np.zeros(4, np.float32), cp.zeros(4, cp.float32), 1.0, 4)

    def test_too_few(self):
        with pytest.raises(TypeError, match="takes 4 arguments, got 1"):
            self.launch(cp.zeros(4, cp.float32))


def test_an_access_out_of_range_is_told_with_the_line_of_the_text(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "debug")
    x = cp.zeros(8, cp.float32)
    with pytest.raises(wp.KernelFault) as fault:
        run("    int i = threadIdx.x;\n    x[i + 1] = 0;", x, params="float* x", block=(8,))
    assert (fault.value.kind, fault.value.array, fault.value.index, fault.value.shape) == ("bounds", "x", (8,), (8,))
    assert "x[i + 1] = 0;" in str(fault.value)


def test_mistakes_are_told_at_the_first_use():
    kernel = cp.RawKernel('extern "C" __global__ void k(float* x) { x[0] = undefined; }', "k")
    with pytest.raises(wp.CompileError, match="`undefined` is not declared here"):
        kernel((1,), (1,), (cp.zeros(1, cp.float32),))


def test_code_for_a_gpu_is_what_the_text_says():
    text = r"""
    extern "C" __global__ void k(const float* x, float* y, int n) {
        __shared__ float s[128];
        int t = threadIdx.x;
        s[t] = x[blockIdx.x * 128 + t];
        __syncthreads();
        float v = __shfl_down_sync(0xffffffff, s[127 - t], 1);
        if (t < n) atomicAdd(y, v);
    }"""
    kernel = cp.RawKernel(text, "k")
    types = [param.type for param in kernel._parameters]
    ptx = _native.ir(kernel._kernel, types, {**kernel._compile_options(), "arch": "90"}, "ptx")
    at = 0
    for fragment in (".shared", "bar.sync", "shfl.sync.down.b32", "global.add.f32"):
        at = ptx.index(fragment, at)


def test_arrays_begin_with_lists_that_leave_elements_or_braces_out():
    lists = {"{{1, -2}, {3}}": [1, -2, 3, 0], "{1, -2, 3}": [1, -2, 3, 0], "{{}, {4, 5}}": [0, 0, 4, 5]}
    for text, expected in lists.items():
        out = cp.zeros(8, cp.float32)
        body = f"float m[2][2] = {text}; for (int i = 0; i < 4; i++) o[i] = m[i / 2][i % 2];"
        body += "for (int i = 0; i < 4; i++) o[i + 4] = g[i / 2][i % 2];"
        run(body, out, params="float* o", block=(1,), before=f"__constant__ float g[2][2] = {text};")
        assert out.tolist() == expected * 2


def test_characters_have_escapes():
    out = cp.zeros(8, cp.int32)
    characters = ["\\n", "\\x7f", "\\177", "\\a", "\\v", "\\'", "\\\\", "\\0"]
    body = "".join(f"o[{index}] = '{text}';" for index, text in enumerate(characters))
    run(body, out, params="int* o", block=(1,))
    assert out.tolist() == [10, 127, 127, 7, 11, 39, 92, 0]
    with pytest.raises(RuntimeError, match="C has no such escape"):
        run("o[0] = '\\q';", out, params="int* o")


def test_variables_of_the_device_begin_with_every_bit():
    before = """
    __device__ long long whole[2] = {9007199254740993LL, -1};
    __constant__ unsigned long long all = ~0ull;
    __constant__ unsigned char low = 300;
    __device__ float third = 1.0f / 3;
    """
    out, real = cp.zeros(4, cp.uint64), cp.zeros(1, cp.float32)
    body = "o[0] = whole[0]; o[1] = whole[1]; o[2] = all; o[3] = low; r[0] = third;"
    run(body, out, real, params="unsigned long long* o, float* r", block=(1,), before=before)
    assert out.tolist() == [2**53 + 1, 2**64 - 1, 2**64 - 1, 44]
    assert real.item() == np.float32(1) / np.float32(3)


def test_launches_of_one_shape_take_arguments_of_every_kind_in_turn():
    """A launch like the last one goes a short way; what is another must be noticed."""
    text = r"""extern "C" __global__ void k(float* x, long long n, float by) {
        int i = threadIdx.x; if (i < n) x[i] += by;
    }"""
    kernel = cp.RawKernel(text, "k")
    x = cp.zeros(4, np.float32)
    n_added = np.zeros(4, np.float32)
    for n, by in [
        (4, 1.0),
        (np.int32(3), 1.0),
        (np.int64(2), np.float32(1.0)),
        (np.uint8(1), 1),
        (True, 1.0),
        (4, 2.0),
    ]:
        for _ in range(3):
            kernel((1,), (4,), (x, n, by))
            n_added[: int(n)] += float(by)
    np.testing.assert_array_equal(x.get(), n_added)
    for wrong in [(x, 1.5, 1.0), (x, np.float32(1), 1.0), (x, 4, np.float64(1)), (cp.zeros(4), 4, 1.0), (x, 4)]:
        with pytest.raises(TypeError):
            kernel((1,), (4,), wrong)
    with pytest.raises(OverflowError):
        kernel((1,), (4,), (x, np.uint64(2**63), 1.0))


def test_a_pointer_leads_to_an_array_of_any_dimensions():
    text = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] += threadIdx.x; }'
    kernel = cp.RawKernel(text, "k")
    for shape in [(6,), (2, 3), (1, 6, 1), (3, 2), (6,)]:
        x = cp.zeros(shape, np.float32)
        for _ in range(2):
            kernel((1,), (6,), (x,))
        np.testing.assert_array_equal(x.get().ravel(), 2 * np.arange(6, dtype=np.float32))
    whole = cp.zeros((2, 6), np.float32)
    with pytest.raises(ValueError, match="gaps"):
        kernel((1,), (6,), (whole[:, ::2],))


def test_shapes_that_are_none_are_refused_by_the_kernels_name():
    kernel = cp.RawKernel('extern "C" __global__ void k(float* x) { }', "k")
    x = cp.zeros(1, np.float32)
    for grid, block, error in [
        ((1,), (2048,), "`k`"),
        ((0,), (1,), "grid"),
        (("a",), (1,), "grid"),
        ([0], [1], "grid"),
    ]:
        with pytest.raises((TypeError, ValueError), match=error):
            kernel(grid, block, (x,))
    kernel([1], [1], [x])
