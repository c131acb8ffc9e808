// What a C programmer writes for the same work: the natural text, and for N-body and lattice Boltzmann a version laid
// out by hand for SIMD. Built by c.py with -O3 -march=native -fopenmp -fno-math-errno, the last flag so that square
// roots vectorize; once more with -ffast-math.

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef float F;

void saxpy(long n, F a, const F *restrict x, F *restrict y) {
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void saxpy_out(long n, F a, const F *restrict x, const F *restrict y, F *restrict z) {
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++) z[i] = a * x[i] + y[i];
}

void stencil3(long n, const F *restrict a, F *restrict b) {
#pragma omp parallel for simd schedule(static)
    for (long i = 1; i < n - 1; i++) b[i] = (a[i - 1] + a[i] + a[i + 1]) * (1 / 3.f);
}

void jacobi(long n, const F *restrict a, F *restrict b) {
#pragma omp parallel for schedule(static)
    for (long i = 1; i < n - 1; i++) {
        const F *up = a + (i - 1) * n, *mid = up + n, *down = mid + n;
        F *out = b + i * n;
#pragma omp simd
        for (long j = 1; j < n - 1; j++) out[j] = .25f * (up[j] + down[j] + mid[j - 1] + mid[j + 1]);
    }
}

void particles(long n, F *restrict x, F *restrict v, F dt, F g, F damp, F rest) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        v[3 * i + 1] += g * dt;
        for (int c = 0; c < 3; c++) {
            F vc = v[3 * i + c] * damp, xc = x[3 * i + c] + vc * dt;
            if (xc < 0) {
                xc = -xc;
                vc = -vc * rest;
            } else if (xc > 1) {
                xc = 2 - xc;
                vc = -vc * rest;
            }
            x[3 * i + c] = xc;
            v[3 * i + c] = vc;
        }
    }
}

void segments(long n, const int *restrict start, const F *restrict v, F *restrict sum) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        F s = 0;
        for (int j = start[i]; j < start[i + 1]; j++) s += v[j];
        sum[i] = s;
    }
}

void nbody(long n, const F *restrict p, const F *restrict m, F *restrict acc, F eps2) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        F px = p[3 * i], py = p[3 * i + 1], pz = p[3 * i + 2], ax = 0, ay = 0, az = 0;
        for (long j = 0; j < n; j++) {
            if (j == i) continue;
            F dx = p[3 * j] - px, dy = p[3 * j + 1] - py, dz = p[3 * j + 2] - pz;
            F r2 = dx * dx + dy * dy + dz * dz + eps2, w = m[j] / (r2 * sqrtf(r2));
            ax += dx * w;
            ay += dy * w;
            az += dz * w;
        }
        acc[3 * i] = ax;
        acc[3 * i + 1] = ay;
        acc[3 * i + 2] = az;
    }
}

// A structure of arrays, summed in any order; a body's pull on itself is 0.
void nbody_by_hand(long n, const F *restrict x, const F *restrict y, const F *restrict z, const F *restrict m,
                   F *restrict acc, F eps2) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        F px = x[i], py = y[i], pz = z[i], ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (long j = 0; j < n; j++) {
            F dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
            F r2 = dx * dx + dy * dy + dz * dz + eps2, w = m[j] / (r2 * sqrtf(r2));
            ax += dx * w;
            ay += dy * w;
            az += dz * w;
        }
        acc[3 * i] = ax;
        acc[3 * i + 1] = ay;
        acc[3 * i + 2] = az;
    }
}

// D3Q19: nineteen directions with weights, and the direction opposite to each.
enum { Q = 19 };
static const int EX[Q] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
static const int EY[Q] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
static const int EZ[Q] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
static const int OPPOSITE[Q] = {0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15, 18, 17};
#define SIXTH 1 / 18.f, 1 / 18.f, 1 / 18.f, 1 / 18.f, 1 / 18.f, 1 / 18.f
#define TWELFTH 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f
static const F W[Q] = {1 / 3.f, SIXTH, TWELFTH, TWELFTH};

void lattice(int n, const F *restrict f, F *restrict g, F omega, F lid) {
    long cells = (long)n * n * n;
#pragma omp parallel for collapse(2) schedule(static)
    for (int x = 0; x < n; x++)
        for (int y = 0; y < n; y++)
            for (int z = 0; z < n; z++) {
                F c[Q], rho = 0, ux = 0, uy = 0, uz = 0;
                long here = ((long)x * n + y) * n + z;
#pragma GCC unroll 19
                for (int q = 0; q < Q; q++) {
                    int sx = x - EX[q], sy = y - EY[q], sz = z - EZ[q];
                    F v;
                    if (sx >= 0 && sx < n && sy >= 0 && sy < n && sz >= 0 && sz < n) {
                        v = f[q * cells + ((long)sx * n + sy) * n + sz];
                    } else {
                        v = f[OPPOSITE[q] * cells + here];
                        if (sy >= n) v += 6 * W[q] * EX[q] * lid;
                    }
                    c[q] = v;
                    rho += v;
                    ux += EX[q] * v;
                    uy += EY[q] * v;
                    uz += EZ[q] * v;
                }
                ux /= rho;
                uy /= rho;
                uz /= rho;
                F square = 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma GCC unroll 19
                for (int q = 0; q < Q; q++) {
                    F eu = EX[q] * ux + EY[q] * uy + EZ[q] * uz;
                    F rest = W[q] * rho * (1 + 3 * eu + 4.5f * eu * eu - square);
                    g[q * cells + here] = c[q] + omega * (rest - c[q]);
                }
            }
}

// Row by row: nineteen rows into a buffer that stays in the cache, walls seen to, then SIMD.
void lattice_by_hand(int n, const F *restrict f, F *restrict g, F omega, F lid) {
    long cells = (long)n * n * n;
#pragma omp parallel
    {
        F(*c)[512] = aligned_alloc(64, Q * 512 * sizeof(F));
#pragma omp for collapse(2) schedule(static)
        for (int x = 0; x < n; x++)
            for (int y = 0; y < n; y++) {
                long row = ((long)x * n + y) * n;
                for (int q = 0; q < Q; q++) {
                    int sx = x - EX[q], sy = y - EY[q], e = EZ[q];
                    const F *back = f + OPPOSITE[q] * cells + row, *from = f + q * cells + ((long)sx * n + sy) * n;
                    F *to = c[q], wall = sy >= n ? 6 * W[q] * EX[q] * lid : 0;
                    if (sx < 0 || sx >= n || sy < 0 || sy >= n) {
                        for (int z = 0; z < n; z++) to[z] = back[z] + wall;
                    } else if (e == 0) {
                        memcpy(to, from, n * sizeof(F));
                    } else if (e > 0) {
                        memcpy(to + 1, from, (n - 1) * sizeof(F));
                        to[0] = back[0];
                    } else {
                        memcpy(to, from + 1, (n - 1) * sizeof(F));
                        to[n - 1] = back[n - 1];
                    }
                }
#pragma omp simd
                for (int z = 0; z < n; z++) {
                    F rho = 0, ux = 0, uy = 0, uz = 0;
#pragma GCC unroll 19
                    for (int q = 0; q < Q; q++) {
                        F v = c[q][z];
                        rho += v;
                        ux += EX[q] * v;
                        uy += EY[q] * v;
                        uz += EZ[q] * v;
                    }
                    F inverse = 1 / rho;
                    ux *= inverse;
                    uy *= inverse;
                    uz *= inverse;
                    F square = 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma GCC unroll 19
                    for (int q = 0; q < Q; q++) {
                        F eu = EX[q] * ux + EY[q] * uy + EZ[q] * uz, v = c[q][z];
                        c[q][z] = v + omega * (W[q] * rho * (1 + 3 * eu + 4.5f * eu * eu - square) - v);
                    }
                }
                for (int q = 0; q < Q; q++) memcpy(g + q * cells + row, c[q], n * sizeof(F));
            }
        free(c);
    }
}
