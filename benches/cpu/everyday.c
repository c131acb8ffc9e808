// The kernels of everyday_text.py as a C programmer writes them.

#include <math.h>
#include <stdint.h>

typedef float F;
typedef struct { F x, y; } V2;
typedef struct { F x, y, z; } V3;

static inline int clampi(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

void wave(int side, const F *restrict now, const F *restrict before, F *restrict after, F c) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            long i = (long)y * side + x;
            if (x == 0 || x == side - 1 || y == 0 || y == side - 1)
                after[i] = 0;
            else
                after[i] = 2 * now[i] - before[i] +
                           c * (now[i - 1] + now[i + 1] + now[i - side] + now[i + side] - 4 * now[i]);
        }
}

void red_black(long side, F *restrict p, const F *restrict f, int color) {
#pragma omp parallel for schedule(static)
    for (long i = 1; i < side - 1; i++)
        for (long j = 1 + (i + 1 + color) % 2; j < side - 1; j += 2) {
            F *at = p + i * side + j;
            *at = .25f * (at[-side] + at[side] + at[-1] + at[1] - f[i * side + j]);
        }
}

void bilateral(long side, const F *restrict image, F *restrict out, F near, F alike) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < side; i++)
        for (long j = 0; j < side; j++) {
            F here = image[i * side + j], sum = 0, weights = 0;
            for (int a = -2; a <= 2; a++)
                for (int b = -2; b <= 2; b++) {
                    long u = i + a, v = j + b;
                    if (u < 0 || u >= side || v < 0 || v >= side) continue;
                    F value = image[u * side + v], d = value - here;
                    F weight = expf(-(F)(a * a + b * b) * near - d * d * alike);
                    sum += weight * value;
                    weights += weight;
                }
            out[i * side + j] = sum / weights;
        }
}

void life(int side, const uint8_t *restrict cells, uint8_t *restrict out) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            int alive = 0;
            for (int a = -1; a <= 1; a++)
                for (int b = -1; b <= 1; b++)
                    if (a || b) alive += cells[(long)((i + a + side) % side) * side + (j + b + side) % side];
            out[(long)i * side + j] = alive == 3 || (alive == 2 && cells[(long)i * side + j]);
        }
}

void nearest(long n_points, const F *restrict points, const F *restrict centers, int *restrict label, int k, int n) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n_points; i++) {
        F best = 1e30f;
        int found = 0;
        for (int c = 0; c < k; c++) {
            F distance = 0;
            for (int d = 0; d < n; d++) {
                F e = points[i * n + d] - centers[c * n + d];
                distance += e * e;
            }
            if (distance < best) best = distance, found = c;
        }
        label[i] = found;
    }
}

void collide(long n, const V3 *restrict low, const V3 *restrict high, int *restrict hit) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        V3 a = low[i], b = high[i];
        int found = -1;
        for (long j = 0; j < n; j++) {
            V3 c = low[j], d = high[j];
            if (j != i && a.x <= d.x && b.x >= c.x && a.y <= d.y && b.y >= c.y && a.z <= d.z && b.z >= c.z) {
                found = j;
                break;
            }
        }
        hit[i] = found;
    }
}

void solve4(long n, const F *restrict matrix, const F *restrict right, F *restrict x) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        F m[4][4], b[4];
        for (int r = 0; r < 4; r++) {
            for (int c = 0; c < 4; c++) m[r][c] = matrix[i * 16 + r * 4 + c];
            b[r] = right[i * 4 + r];
        }
        for (int k = 0; k < 4; k++)
            for (int r = k + 1; r < 4; r++) {
                F factor = m[r][k] / m[k][k];
                for (int c = k; c < 4; c++) m[r][c] -= factor * m[k][c];
                b[r] -= factor * b[k];
            }
        for (int r = 3; r >= 0; r--) {
            F sum = b[r];
            for (int c = r + 1; c < 4; c++) sum -= m[r][c] * b[c];
            b[r] = sum / m[r][r];
        }
        for (int r = 0; r < 4; r++) x[i * 4 + r] = b[r];
    }
}

void march(long side, F *restrict depth, int most) {
#pragma omp parallel for schedule(dynamic, 8)
    for (long i = 0; i < side; i++)
        for (long j = 0; j < side; j++) {
            F scale = 2.f / side, x = j * scale - 1, y = 1 - i * scale, z = 1.5f;
            F l = 1 / sqrtf(x * x + y * y + z * z), t = 0;
            x *= l, y *= l, z *= l;
            for (int k = 0; k < most; k++) {
                F px = x * t, py = .5f + y * t, pz = -3 + z * t;
                F sphere = sqrtf(px * px + py * py + pz * pz) - 1, floor = py + 1;
                F distance = sphere < floor ? sphere : floor;
                if (distance < .001f || t > 20) break;
                t += distance;
            }
            depth[i * side + j] = t;
        }
}

void prefix(long n_rows, const F *restrict rows, F *restrict out, int n) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n_rows; i++) {
        F sum = 0;
        for (int k = 0; k < n; k++) {
            sum += rows[i * n + k];
            out[i * n + k] = sum;
        }
    }
}

void pcg(long n, uint32_t *restrict out, int rounds) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        uint32_t state = i;
        for (int k = 0; k < rounds; k++) {
            state = state * 747796405u + 2891336453u;
            uint32_t word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
            state = (word >> 22) ^ word;
        }
        out[i] = state;
    }
}

void butterfly(long n, V2 *restrict x, const V2 *restrict twiddle, int half, int stride) {
#pragma omp parallel for schedule(static)
    for (long block = 0; block < n / half; block++)
        for (int k = 0; k < half; k++) {
            V2 *a = x + block * 2 * half + k, *b = a + half, w = twiddle[k * stride], u = *a, v = *b;
            v = (V2){v.x * w.x - v.y * w.y, v.x * w.y + v.y * w.x};
            *a = (V2){u.x + v.x, u.y + v.y};
            *b = (V2){u.x - v.x, u.y - v.y};
        }
}

void resize(long size, const uint8_t *restrict image, uint8_t *restrict out, F ratio, int side) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < size; i++)
        for (long j = 0; j < size; j++) {
            F x = (j + .5f) * ratio - .5f, y = (i + .5f) * ratio - .5f;
            int u = clampi((int)floorf(x), 0, side - 2), v = clampi((int)floorf(y), 0, side - 2);
            F s = x - u, t = y - v;
            for (int c = 0; c < 3; c++) {
                const uint8_t *p = image + ((long)v * side + u) * 3 + c, *q = p + side * 3;
                F value = (1 - t) * ((1 - s) * p[0] + s * p[3]) + t * ((1 - s) * q[0] + s * q[3]) + .5f;
                out[(i * size + j) * 3 + c] = value < 0 ? 0 : value > 255 ? 255 : value;
            }
        }
}

void threshold(long side, const uint8_t *restrict image, uint8_t *restrict out, int low, int gain) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < side * side; i++) out[i] = clampi((image[i] - low) * gain / 16, 0, 255);
}

void gray(long side, const uint8_t *restrict image, uint8_t *restrict out) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < side * side; i++)
        out[i] = (77 * image[i * 3] + 150 * image[i * 3 + 1] + 29 * image[i * 3 + 2]) >> 8;
}

static inline uint32_t mixed(uint32_t x) {
    uint32_t state = x * 747796405u + 2891336453u;
    uint32_t word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

void darts(long n_threads, int *restrict count, int seed, int n) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n_threads; i++) {
        uint32_t state = mixed((uint32_t)seed + mixed(i));
        int inside = 0;
        for (int k = 0; k < n; k++) {
            state = mixed(state);
            F x = (state >> 8) * (1.f / 16777216);
            state = mixed(state);
            F y = (state >> 8) * (1.f / 16777216);
            inside += x * x + y * y < 1;
        }
        count[i] = inside;
    }
}
