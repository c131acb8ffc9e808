// The benchmarks' kernels in CUDA C++ as one writes it by hand, for speed. `peer_cupy.py` compiles and launches them.
// Launches fit the data: whole blocks, no tails.

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void saxpy(float a, const float4* __restrict__ x, const float4* __restrict__ y, float4* o) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  float4 p = x[i], q = y[i];
  o[i] = make_float4(a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w);
}

extern "C" __global__ void five(const float* a, const float* b, float* c, float s, int n) {
  int i = INDEX;
  if (i < 1) c[i] = a[i] + s * b[i] + (float)n;
}

extern "C" __global__ void jacobi(const float* __restrict__ u, float* v, int n) {
  int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < n - 1 && y < n - 1) {
    size_t i = (size_t)y * n + x;
    v[i] = 0.25f * (u[i - n] + u[i + n] + u[i - 1] + u[i + 1]);
  }
}

// Four cells of a row a thread.
extern "C" __global__ void jacobi4(const float* __restrict__ u, float* v, int n) {
  int x = 4 * INDEX, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y == 0 || y == n - 1) return;
  size_t i = (size_t)y * n + x;
  float4 up = *(const float4*)(u + i - n), me = *(const float4*)(u + i), down = *(const float4*)(u + i + n);
  float left = x > 0 ? u[i - 1] : 0.f, right = x < n - 4 ? u[i + 4] : 0.f;
  float4 o = make_float4(0.25f * (up.x + down.x + left + me.y), 0.25f * (up.y + down.y + me.x + me.z),
                         0.25f * (up.z + down.z + me.y + me.w), 0.25f * (up.w + down.w + me.z + right));
  if (x > 0 && x < n - 4) {
    *(float4*)(v + i) = o;
  } else {
    if (x > 0) v[i] = o.x;
    v[i + 1] = o.y, v[i + 2] = o.z;
    if (x < n - 4) v[i + 3] = o.w;
  }
}

// Tiles of bodies in shared memory.
extern "C" __global__ void nbody(const float4* __restrict__ p, float4* acc, int n, float eps) {
  __shared__ float4 sh[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 me = p[i];
  float ax = 0, ay = 0, az = 0;
  for (int t = 0; t < n; t += 256) {
    sh[threadIdx.x] = p[t + threadIdx.x];
    __syncthreads();
#pragma unroll 32
    for (int j = 0; j < 256; j++) {
      float dx = sh[j].x - me.x, dy = sh[j].y - me.y, dz = sh[j].z - me.z;
      float inv = rsqrtf(dx * dx + dy * dy + dz * dz + eps), s = sh[j].w * inv * inv * inv;
      ax += s * dx, ay += s * dy, az += s * dz;
    }
    __syncthreads();
  }
  acc[i] = make_float4(ax, ay, az, 0);
}

// Sixteen lanes a segment.
extern "C" __global__ void segment_sum(const float* __restrict__ x, const int* __restrict__ offsets, float* o) {
  int i = INDEX / 16, lane = threadIdx.x % 16;
  float t = 0;
  for (int j = offsets[i] + lane; j < offsets[i + 1]; j += 16) t += x[j];
  for (int d = 8; d; d /= 2) t += __shfl_down_sync(~0u, t, d, 16);
  if (lane == 0) o[i] = t;
}

// A block counts in shared memory.
extern "C" __global__ void histogram(const float4* __restrict__ x, int n, int* bins) {
  __shared__ int counts[256];
  counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = INDEX; i < n / 4; i += gridDim.x * blockDim.x) {
    float4 v = x[i];
    atomicAdd(&counts[min(max((int)(v.x * 256.f), 0), 255)], 1);
    atomicAdd(&counts[min(max((int)(v.y * 256.f), 0), 255)], 1);
    atomicAdd(&counts[min(max((int)(v.z * 256.f), 0), 255)], 1);
    atomicAdd(&counts[min(max((int)(v.w * 256.f), 0), 255)], 1);
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}

// Eight lanes a row.
extern "C" __global__ void spmv(const int* __restrict__ rows, const int* __restrict__ cols,
                                const float* __restrict__ values, const float* __restrict__ x, float* y) {
  int i = INDEX / 8, lane = threadIdx.x % 8;
  float t = 0;
  for (int j = rows[i] + lane; j < rows[i + 1]; j += 8) t += values[j] * x[cols[j]];
  for (int d = 4; d; d /= 2) t += __shfl_down_sync(~0u, t, d, 8);
  if (lane == 0) y[i] = t;
}

// A thread walks 16 layers and keeps three of them in registers.
extern "C" __global__ void diffuse(const float* __restrict__ u, const float* __restrict__ k, float* v, int n) {
  int x = INDEX, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * 16;
  if (x == 0 || y == 0 || x == n - 1 || y == n - 1) return;
  size_t layer = (size_t)n * n, i = z * layer + (size_t)y * n + x;
  float below = z > 0 ? u[i - layer] : 0.f, c = u[i];
#pragma unroll 4
  for (int d = 0; d < 16; d++, i += layer) {
    float above = z + d < n - 1 ? u[i + layer] : 0.f;
    if (z + d > 0 && z + d < n - 1) {
      float s = below + above + u[i - n] + u[i + n] + u[i - 1] + u[i + 1];
      v[i] = c + k[i] * (s - 6.f * c);
    }
    below = c, c = above;
  }
}

extern "C" __global__ void cloth(const float3* __restrict__ x, const float3* __restrict__ v, float3* o, int n,
                                 float dt) {
  int j = INDEX, i = blockIdx.y * blockDim.y + threadIdx.y, at = i * n + j;
  float3 p = x[at], w = v[at], f = make_float3(-w.x * 0.1f, -9.8f - w.y * 0.1f, -w.z * 0.1f);
#pragma unroll
  for (int d = 0; d < 4; d++) {
    int a = i + (d == 0) - (d == 1), b = j + (d == 2) - (d == 3);
    if (a < 0 || a >= n || b < 0 || b >= n) continue;
    float3 q = x[a * n + b], r = make_float3(q.x - p.x, q.y - p.y, q.z - p.z);
    float length = sqrtf(r.x * r.x + r.y * r.y + r.z * r.z) + 1.0e-6f, s = 100.f * (length - 1.f) / length;
    f.x += r.x * s, f.y += r.y * s, f.z += r.z * s;
  }
  o[at] = make_float3(p.x + (w.x + f.x * dt) * dt, p.y + (w.y + f.y * dt) * dt, p.z + (w.z + f.z * dt) * dt);
}

// A thread a pair.
extern "C" __global__ void bitonic(int* keys, int j, int k) {
  unsigned t = INDEX, i = 2 * (t & ~(j - 1)) | (t & (j - 1));
  int a = keys[i], b = keys[i + j], low = min(a, b), high = max(a, b);
  bool up = (i & k) == 0;
  keys[i] = up ? low : high, keys[i + j] = up ? high : low;
}

extern "C" __global__ void mandelbrot(int* out, int n, int limit) {
  int j = INDEX, i = blockIdx.y * blockDim.y + threadIdx.y;
  float cx = -2.f + 3.f * j / n, cy = -1.5f + 3.f * i / n, x = 0, y = 0;
  int m = 0;
  while (x * x + y * y < 4.f && m < limit) {
    float t = x * x - y * y + cx;
    y = 2.f * x * y + cy, x = t, m++;
  }
  out[i * n + j] = m;
}

extern "C" __global__ void spin(float4* q, const float3* __restrict__ w, float dt) {
  int i = INDEX;
  float4 r = q[i];
  float3 v = w[i];
  float h = 0.5f * dt;
  float4 d = make_float4(v.x * r.w + v.y * r.z - v.z * r.y, v.y * r.w + v.z * r.x - v.x * r.z,
                         v.z * r.w + v.x * r.y - v.y * r.x, -v.x * r.x - v.y * r.y - v.z * r.z);
  r = make_float4(r.x + d.x * h, r.y + d.y * h, r.z + d.z * h, r.w + d.w * h);
  float s = 1.f / sqrtf(r.x * r.x + r.y * r.y + r.z * r.z + r.w * r.w);
  q[i] = make_float4(r.x * s, r.y * s, r.z * s, r.w * s);
}

extern "C" __global__ void density(const float3* __restrict__ x, const int* __restrict__ cells, float* rho, int n,
                                   int per_cell) {
  int i = INDEX, first = cells[i];
  float3 p = x[i];
  float t = 0;
  for (int c = 0; c < 27; c++)
    for (int j = 0; j < per_cell; j++) {
      float3 q = x[(first + c * per_cell + j) % n];
      float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z, d2 = dx * dx + dy * dy + dz * dz;
      if (d2 < 1.f) {
        float w = 1.f - d2;
        t += w * w * w;
      }
    }
  rho[i] = t;
}
