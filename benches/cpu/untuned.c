// The kernels of untuned_text.py as a C programmer writes them.

#include <math.h>
#include <stdlib.h>

typedef float F;
typedef struct { F x, y, z; } V3;
typedef struct { F x, y, z, w; } Q4;

static inline int clampi(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

// Particles are sorted by cell; `start` says where each cell's begin.
void sph(long n, const V3 *restrict x, const int *restrict start, F *restrict density, int side, F h) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        V3 p = x[i];
        int cx = (int)(p.x * side), cy = (int)(p.y * side), cz = (int)(p.z * side);
        F sum = 0;
        for (int a = -1; a <= 1; a++)
            for (int b = -1; b <= 1; b++)
                for (int c = -1; c <= 1; c++) {
                    int u = cx + a, v = cy + b, w = cz + c;
                    if (u < 0 || u >= side || v < 0 || v >= side || w < 0 || w >= side) continue;
                    int cell = (u * side + v) * side + w;
                    for (int j = start[cell]; j < start[cell + 1]; j++) {
                        F dx = x[j].x - p.x, dy = x[j].y - p.y, dz = x[j].z - p.z;
                        F q = h * h - (dx * dx + dy * dy + dz * dz);
                        if (q > 0) sum += q * q * q;
                    }
                }
        density[i] = sum;
    }
}

void spmv(long n, const int *restrict start, const int *restrict column, const F *restrict value, const F *restrict x,
          F *restrict y) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        F sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}

void mandelbrot(long side, int *restrict count, int most) {
#pragma omp parallel for schedule(dynamic, 8)
    for (long i = 0; i < side; i++)
        for (long j = 0; j < side; j++) {
            F cx = -2 + 3 * (F)j / side, cy = -1.5f + 3 * (F)i / side, x = 0, y = 0;
            int k = 0;
            while (k < most && x * x + y * y < 4) {
                F t = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = t;
                k++;
            }
            count[i * side + j] = k;
        }
}

void warp(long side, const F *restrict image, F *restrict out, F cosine, F sine) {
    F middle = .5f * side;
#pragma omp parallel for schedule(static)
    for (long i = 0; i < side; i++)
        for (long j = 0; j < side; j++) {
            F u = i - middle, v = j - middle;
            F x = cosine * u - sine * v + middle, y = sine * u + cosine * v + middle, value = 0;
            F fx = floorf(x), fy = floorf(y);
            int a = (int)fx, b = (int)fy;
            if (a >= 0 && a < side - 1 && b >= 0 && b < side - 1) {
                F s = x - fx, t = y - fy;
                const F *p = image + a * side + b;
                value = (1 - s) * ((1 - t) * p[0] + t * p[1]) + s * ((1 - t) * p[side] + t * p[side + 1]);
            }
            out[i * side + j] = value;
        }
}

void fdtd(int n, F *restrict ex, F *restrict ey, F *restrict ez, const F *restrict hx, const F *restrict hy,
          const F *restrict hz, F c) {
    long row = n, plane = (long)n * n;
#pragma omp parallel for collapse(2) schedule(static)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) {
                long at = i * plane + j * row + k;
                if (i > 0 && j > 0 && k > 0) {
                    ex[at] += c * ((hz[at] - hz[at - row]) - (hy[at] - hy[at - 1]));
                    ey[at] += c * ((hx[at] - hx[at - 1]) - (hz[at] - hz[at - plane]));
                    ez[at] += c * ((hy[at] - hy[at - plane]) - (hx[at] - hx[at - row]));
                }
            }
}

void springs(long n, const V3 *restrict x, const int *restrict first, const int *restrict second,
             const F *restrict length, V3 *restrict force, F stiffness) {
#pragma omp parallel for schedule(static)
    for (long s = 0; s < n; s++) {
        int i = first[s], j = second[s];
        F dx = x[j].x - x[i].x, dy = x[j].y - x[i].y, dz = x[j].z - x[i].z;
        F l = sqrtf(dx * dx + dy * dy + dz * dz), k = stiffness * (l - length[s]) / l;
        V3 f = {dx * k, dy * k, dz * k};
#pragma omp atomic
        force[i].x += f.x;
#pragma omp atomic
        force[i].y += f.y;
#pragma omp atomic
        force[i].z += f.z;
#pragma omp atomic
        force[j].x -= f.x;
#pragma omp atomic
        force[j].y -= f.y;
#pragma omp atomic
        force[j].z -= f.z;
    }
}

void rotations(long n, Q4 *restrict q, const V3 *restrict omega, F dt) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        Q4 r = q[i];
        V3 o = omega[i];
        F h = .5f * dt;
        Q4 s = {r.x + h * (o.x * r.w + o.y * r.z - o.z * r.y), r.y + h * (o.y * r.w + o.z * r.x - o.x * r.z),
                r.z + h * (o.z * r.w + o.x * r.y - o.y * r.x), r.w - h * (o.x * r.x + o.y * r.y + o.z * r.z)};
        F l = 1 / sqrtf(s.x * s.x + s.y * s.y + s.z * s.z + s.w * s.w);
        q[i] = (Q4){s.x * l, s.y * l, s.z * l, s.w * l};
    }
}

void histogram(long n, const F *restrict x, int *restrict count, int bins) {
#pragma omp parallel for reduction(+ : count[:bins]) schedule(static)
    for (long i = 0; i < n; i++) count[clampi((int)(x[i] * bins), 0, bins - 1)]++;
}

// The first sphere in the way of each ray, or -1.
void shadow(long n, const V3 *restrict from, const V3 *restrict to, const V3 *restrict center,
            const F *restrict radius, int spheres, int *restrict hit) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        V3 o = from[i], d = to[i];
        int found = -1;
        for (int s = 0; s < spheres; s++) {
            F x = o.x - center[s].x, y = o.y - center[s].y, z = o.z - center[s].z;
            F b = x * d.x + y * d.y + z * d.z, c = x * x + y * y + z * z - radius[s] * radius[s], e = b * b - c;
            if (e > 0 && -b - sqrtf(e) > 0) {
                found = s;
                break;
            }
        }
        hit[i] = found;
    }
}

#define M 32
void tridiagonal(long n, const F *restrict low, const F *restrict mid, const F *restrict high,
                 const F *restrict right, F *restrict x) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        F c[M], d[M];
        const F *a = low + i * M, *b = mid + i * M, *e = high + i * M, *r = right + i * M;
        c[0] = e[0] / b[0];
        d[0] = r[0] / b[0];
        for (int k = 1; k < M; k++) {
            F m = 1 / (b[k] - a[k] * c[k - 1]);
            c[k] = e[k] * m;
            d[k] = (r[k] - a[k] * d[k - 1]) * m;
        }
        F *out = x + i * M;
        out[M - 1] = d[M - 1];
        for (int k = M - 2; k >= 0; k--) out[k] = d[k] - c[k] * out[k + 1];
    }
}

void convolution(long side, const F *restrict image, const F *restrict weight, F *restrict out) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < side; i++)
        for (long j = 0; j < side; j++) {
            F sum = 0;
            for (int a = -2; a <= 2; a++)
                for (int b = -2; b <= 2; b++)
                    sum += weight[(a + 2) * 5 + b + 2] *
                           image[clampi(i + a, 0, side - 1) * side + clampi(j + b, 0, side - 1)];
            out[i * side + j] = sum;
        }
}
