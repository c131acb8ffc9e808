// The algorithms of run.py as a C programmer writes them: a block is one round of a parallel loop, its threads are
// inner loops between barriers.

#include <stdint.h>
#include <string.h>

#define TPB 16
#define BLOCK 256

void matmul(const float *a, const float *b, float *c, int64_t n, int64_t inner, int64_t m) {
    int64_t rows = (n + TPB - 1) / TPB, cols = (m + TPB - 1) / TPB, tiles = (inner + TPB - 1) / TPB;
#pragma omp parallel for collapse(2)
    for (int64_t by = 0; by < rows; by++)
        for (int64_t bx = 0; bx < cols; bx++) {
            float sa[TPB][TPB], sb[TPB][TPB], sum[TPB][TPB];
            memset(sum, 0, sizeof sum);
            for (int64_t tile = 0; tile < tiles; tile++) {
                for (int ty = 0; ty < TPB; ty++)
                    for (int tx = 0; tx < TPB; tx++) {
                        int64_t y = by * TPB + ty, x = bx * TPB + tx, col = tile * TPB + tx, row = tile * TPB + ty;
                        sa[ty][tx] = y < n && col < inner ? a[y * inner + col] : 0;
                        sb[ty][tx] = x < m && row < inner ? b[row * m + x] : 0;
                    }
                for (int ty = 0; ty < TPB; ty++)
                    for (int k = 0; k < TPB; k++)
#pragma omp simd
                        for (int tx = 0; tx < TPB; tx++)
                            sum[ty][tx] += sa[ty][k] * sb[k][tx];
            }
            for (int ty = 0; ty < TPB; ty++)
                for (int tx = 0; tx < TPB; tx++) {
                    int64_t y = by * TPB + ty, x = bx * TPB + tx;
                    if (y < n && x < m)
                        c[y * m + x] = sum[ty][tx];
                }
        }
}

void scan(const float *data, float *out, int64_t n) {
#pragma omp parallel for
    for (int64_t block = 0; block < (n + BLOCK - 1) / BLOCK; block++) {
        float shared[BLOCK], addend[BLOCK];
        int64_t first = block * BLOCK;
        for (int t = 0; t < BLOCK; t++)
            shared[t] = first + t < n ? data[first + t] : 0;
        for (int offset = 1; offset < BLOCK; offset *= 2) {
            for (int t = 0; t < BLOCK; t++)
                addend[t] = t >= offset ? shared[t - offset] : 0;
#pragma omp simd
            for (int t = offset; t < BLOCK; t++)
                shared[t] += addend[t];
        }
        for (int t = 0; t < BLOCK; t++)
            if (first + t < n)
                out[first + t] = shared[t];
    }
}

void reduce(const float *data, float *sums, int64_t n) {
#pragma omp parallel for
    for (int64_t block = 0; block < (n + BLOCK - 1) / BLOCK; block++) {
        float shared[BLOCK];
        int64_t first = block * BLOCK;
        for (int t = 0; t < BLOCK; t++)
            shared[t] = first + t < n ? data[first + t] : 0;
        for (int s = BLOCK / 2; s > 0; s /= 2)
#pragma omp simd
            for (int t = 0; t < s; t++)
                shared[t] += shared[t + s];
        sums[block] = shared[0];
    }
}

void stencil(const float *data, float *out, int64_t n, int64_t radius) {
#pragma omp parallel for
    for (int64_t block = 0; block < (n + BLOCK - 1) / BLOCK; block++) {
        float shared[BLOCK + 32];
        int64_t first = block * BLOCK;
        for (int64_t t = 0; t < BLOCK; t++) {
            int64_t i = first + t;
            shared[t + radius] = i < n ? data[i] : 0;
            if (t < radius) {
                shared[t] = i >= radius ? data[i - radius] : 0;
                shared[t + BLOCK + radius] = i + BLOCK < n ? data[i + BLOCK] : 0;
            }
        }
        for (int64_t t = 0; t < BLOCK; t++) {
            if (first + t >= n)
                continue;
            float total = 0;
            for (int64_t j = -radius; j <= radius; j++)
                total += shared[t + radius + j];
            out[first + t] = total / (2 * radius + 1);
        }
    }
}

void histogram(const float *data, int32_t *bins, int64_t n, float lo, float hi) {
#pragma omp parallel for
    for (int64_t block = 0; block < (n + BLOCK - 1) / BLOCK; block++) {
        int32_t shared[64] = {0};
        for (int64_t i = block * BLOCK; i < (block + 1) * BLOCK && i < n; i++) {
            int bin = (int)((data[i] - lo) * 64 / (hi - lo));
            shared[bin < 0 ? 0 : bin > 63 ? 63 : bin] += 1;
        }
        for (int t = 0; t < 64; t++)
            if (shared[t])
                __atomic_fetch_add(&bins[t], shared[t], __ATOMIC_RELAXED);
    }
}

void warp_sums(const float *data, float *sums, int64_t n) {
#pragma omp parallel for
    for (int64_t block = 0; block < (n + BLOCK - 1) / BLOCK; block++) {
        float value[BLOCK], other[BLOCK];
        int64_t first = block * BLOCK;
        for (int t = 0; t < BLOCK; t++)
            value[t] = first + t < n ? data[first + t] : 0;
        for (int offset = 16; offset > 0; offset /= 2) {
            for (int t = 0; t < BLOCK; t++)
                other[t] = t % 32 + offset < 32 ? value[t + offset] : value[t];
            for (int t = 0; t < BLOCK; t++)
                value[t] += other[t];
        }
        for (int warp = 0; warp < BLOCK / 32; warp++)
            sums[block * (BLOCK / 32) + warp] = value[32 * warp];
    }
}
