// Kernels as people write them, some with a fault (_bad): judged without a launch.

#include "hip.h"

#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ __launch_bounds__(256) void reduce(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x; float v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += in[i];
  s[t] = v; __syncthreads();
  for (int d = 128; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ __launch_bounds__(256) void reduce_bad(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x; float v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += in[i];
  s[t] = v; __syncthreads();
  for (int d = 128; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; }
  if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ __launch_bounds__(256) void transpose(const float* in, float* out, int w, int h) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;
  if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ __launch_bounds__(256) void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float acc = 0;
  for (int k = 0; k < n; k += 16) {
    as[ty][tx] = a[row * n + k + tx]; bs[ty][tx] = b[(k + ty) * n + col];
    __syncthreads();
    for (int j = 0; j < 16; ++j) acc += as[ty][j] * bs[j][tx];
    __syncthreads();
  }
  c[row * n + col] = acc;
}
extern "C" __global__ void hist(const int* in, int* bins, int n) {
  __shared__ int h[64];
  if (threadIdx.x < 64) h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[in[i] & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], h[threadIdx.x]);
}
extern "C" __global__ __launch_bounds__(256) void scan(const int* in, int* out) {
  __shared__ int s[2][256];
  int t = threadIdx.x, p = 0; s[0][t] = in[blockIdx.x * 256 + t]; __syncthreads();
  for (int d = 1; d < 256; d <<= 1) {
    s[p ^ 1][t] = s[p][t] + (t >= d ? s[p][t - d] : 0); p ^= 1; __syncthreads();
  }
  out[blockIdx.x * 256 + t] = s[p][t];
}
extern "C" __global__ void stencil(const float* in, float* out, int n) {
  __shared__ float s[258];
  int g = blockIdx.x * 256 + threadIdx.x, l = threadIdx.x + 1;
  s[l] = in[g];
  if (threadIdx.x == 0) { s[0] = g ? in[g - 1] : 0; s[257] = g + 256 < n ? in[g + 256] : 0; }
  __syncthreads();
  out[g] = s[l - 1] + s[l] + s[l + 1];
}
extern "C" __global__ void stencil_bad(const float* in, float* out, int n) {
  __shared__ float s[258];
  int g = blockIdx.x * 256 + threadIdx.x, l = threadIdx.x + 1;
  s[l] = in[g];
  if (threadIdx.x == 0) { s[0] = g ? in[g - 1] : 0; s[257] = g + 256 < n ? in[g + 256] : 0; }
  out[g] = s[l - 1] + s[l] + s[l + 1];
}
extern "C" __global__ void gather(const int* idx, const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[idx[i]];
}
extern "C" __global__ void message(int* data, int* flag, int* out) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      data[0] = 42;
      __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
  } else if (threadIdx.x == 0) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
    out[blockIdx.x] = data[0];
  }
}
extern "C" __global__ void message_bad(int* data, int* flag, int* out) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      data[0] = 42;
      __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
  } else if (threadIdx.x == 0) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
    out[blockIdx.x] = data[0];
  }
}
extern "C" __global__ void __launch_bounds__(256) shared_volatile(int* out) {
  __shared__ volatile int s[256]; int t = threadIdx.x;
  s[t] = t; __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t == 0) out[blockIdx.x] = s[32];
}
extern "C" __global__ void __launch_bounds__(256) shared_volatile_bad(int* out) {
  __shared__ volatile int s[256]; int t = threadIdx.x;
  s[t] = t;
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t == 0) out[blockIdx.x] = s[32];
}
extern "C" __global__ void nontemporal(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) __builtin_nontemporal_store(__builtin_nontemporal_load(in + i) * 2, out + i);
}
