// What each kernel of gangs.ir does, as a C programmer writes it: loops over the arrays, one thread.
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct { int64_t extents[4]; } Bounds;
#define KERNEL(name) void name(const uint64_t *args, const Bounds *bounds, int64_t begin, int64_t end, void *fault)

static float f(uint64_t word) { float x; uint32_t bits = (uint32_t)word; memcpy(&x, &bits, 4); return x; }

KERNEL(saxpy) {
    float a = f(args[0]);
    const float *restrict x = (const float *)args[1];
    float *restrict y = (float *)args[4];
    for (int64_t i = begin; i < end; i++) y[i] = a * x[i] + y[i];
}

KERNEL(stencil) {
    const float *restrict x = (const float *)args[1];
    float *restrict y = (float *)args[4];
    for (int64_t i = begin + 1; i < end - 1; i++) y[i] = (x[i - 1] + x[i] + x[i + 1]) * (1.0f / 3.0f);
}

KERNEL(jacobi) {
    int64_t n = bounds->extents[0];
    const float *restrict a = (const float *)args[1];
    float *restrict b = (float *)args[6];
    for (int64_t i = 1; i < n - 1; i++)
        for (int64_t j = 1; j < n - 1; j++)
            b[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}

KERNEL(particles) {
    float *restrict x = (float *)args[0], *restrict v = (float *)args[3];
    float dt = f(args[6]), g = f(args[7]), damp = f(args[8]), rest = f(args[9]);
    for (int64_t i = begin; i < end; i++)
        for (int c = 0; c < 3; c++) {
            float vi = (v[3 * i + c] + (c == 1 ? g * dt : 0.0f)) * damp;
            float xi = x[3 * i + c] + vi * dt;
            if (xi < 0.0f) { xi = -xi; vi = -vi * rest; }
            else if (xi > 1.0f) { xi = 2.0f - xi; vi = -vi * rest; }
            x[3 * i + c] = xi;
            v[3 * i + c] = vi;
        }
}

// Structure of arrays and blocks of 16, so that the compiler vectorizes over the bodies.
KERNEL(nbody) {
    static float px[16384], py[16384], pz[16384];
    int64_t n = (int64_t)args[0];
    const float *p = (const float *)args[1];
    float *out = (float *)args[4];
    float eps = f(args[7]);
    for (int64_t i = 0; i < n; i++) { px[i] = p[3 * i]; py[i] = p[3 * i + 1]; pz[i] = p[3 * i + 2]; }
    for (int64_t i = begin; i < end; i += 16) {
        float ax[16] = {0}, ay[16] = {0}, az[16] = {0};
        for (int64_t j = 0; j < n; j++) {
            float x = px[j], y = py[j], z = pz[j];
            #pragma omp simd simdlen(16)
            for (int k = 0; k < 16; k++) {
                float dx = x - px[i + k], dy = y - py[i + k], dz = z - pz[i + k];
                float r2 = dx * dx + dy * dy + dz * dz + eps;
                float w = j == i + k ? 0.0f : 1.0f / (r2 * sqrtf(r2));
                ax[k] += dx * w; ay[k] += dy * w; az[k] += dz * w;
            }
        }
        for (int k = 0; k < 16 && i + k < end; k++) {
            out[3 * (i + k)] = ax[k]; out[3 * (i + k) + 1] = ay[k]; out[3 * (i + k) + 2] = az[k];
        }
    }
}
