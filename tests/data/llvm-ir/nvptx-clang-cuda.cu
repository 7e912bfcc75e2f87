// Ten kernels with synchronisation as CUDA programs have it. nvptx-clang-cuda.ll is what clang 22.1.8 makes of them:
// clang-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_90 -O2 -S -emit-llvm, with the headers of CUDA 13.
#include <cuda_runtime.h>

// The last block to finish sums what all blocks have summed: __threadfence and a counter.
__global__ void reduce_last_block(const float* in, float* partial, float* out, unsigned* count, int n) {
  __shared__ float part[256];
  __shared__ bool last;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = part[0];
    __threadfence();
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    float sum = 0.0f;
    for (int b = 0; b < gridDim.x; ++b) sum += ((volatile float*)partial)[b];
    *out = sum;
  }
}

// A spin lock of atomicCAS and atomicExch around a list.
__global__ void append_under_lock(int* lock, int* list, int* length, int value) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    list[*length] = value + blockIdx.x;
    *length += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

// A ticket lock with scoped atomics.
__global__ void ticket_lock(unsigned* next, unsigned* serving, int* data) {
  if (threadIdx.x == 0) {
    unsigned mine = __scoped_atomic_fetch_add(next, 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    while (__scoped_atomic_load_n(serving, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) != mine) {}
    *data += 1;
    __scoped_atomic_store_n(serving, mine + 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
  }
}

// Prefix sums by looking back at the blocks before: flags and values through volatile.
__global__ void look_back(const int* in, int* out, volatile int* sums, volatile int* flags, int n) {
  __shared__ int before;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n ? in[i] : 0;
  if (threadIdx.x == 0) {
    int sum = 0;
    if (blockIdx.x > 0) {
      while (flags[blockIdx.x - 1] == 0) {}
      __threadfence();
      sum = sums[blockIdx.x - 1];
    }
    before = sum;
    sums[blockIdx.x] = sum + value;
    __threadfence();
    flags[blockIdx.x] = 1;
  }
  __syncthreads();
  if (i < n) out[i] = value + before;
}

// A barrier of the whole grid.
__global__ void grid_barrier(unsigned* arrived, volatile unsigned* phase, float* data, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      if (atomicAdd(arrived, 1u) == gridDim.x * (r + 1) - 1) {
        *phase = r + 1;
      } else {
        while (*phase < r + 1) {}
      }
      __threadfence();
    }
    __syncthreads();
  }
}

// A histogram: counts in shared memory, then in global memory.
__global__ void histogram(const unsigned char* __restrict__ in, unsigned* __restrict__ bins, int n) {
  __shared__ unsigned local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// Producer and consumer with C++'s orders.
__global__ void pipe(int* ring, unsigned* head, unsigned* tail, int* out, int n) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      while (i - __scoped_atomic_load_n(tail, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) >= 16) {}
      ring[i % 16] = i;
      __scoped_atomic_store_n(head, i + 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    }
  } else if (threadIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      while (__scoped_atomic_load_n(head, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) <= i) {}
      out[i] = ring[i % 16];
      __scoped_atomic_store_n(tail, i + 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    }
  }
}

// A deque from which others steal: seq_cst throughout (Chase and Lev).
__global__ void steal(int* tasks, int* top, int* bottom, int* taken) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    int b = __atomic_load_n(bottom, __ATOMIC_RELAXED) - 1;
    __atomic_store_n(bottom, b, __ATOMIC_SEQ_CST);
    __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_DEVICE);
    int t = __atomic_load_n(top, __ATOMIC_SEQ_CST);
    if (t < b) taken[0] = tasks[b];
  } else {
    int t = __atomic_load_n(top, __ATOMIC_SEQ_CST);
    __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_DEVICE);
    int b = __atomic_load_n(bottom, __ATOMIC_SEQ_CST);
    int expected = t;
    if (t < b && __atomic_compare_exchange_n(top, &expected, t + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      taken[blockIdx.x] = tasks[t];
  }
}

// A matrix product whose sums over k are split among blocks.
__global__ void split_k(const float* __restrict__ a, const float* __restrict__ b, float* c, int n, int k) {
  __shared__ float ta[16][16], tb[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float sum = 0.0f;
  for (int t = blockIdx.z * 16; t < k; t += gridDim.z * 16) {
    ta[y][x] = a[row * k + t + x];
    tb[y][x] = b[(t + y) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  atomicAdd(&c[row * n + col], sum);
}

// One round of breadth-first search.
__global__ void frontier(const int* starts, const int* edges, int* depth, int* next, unsigned* size, int level, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || depth[v] != level) return;
  for (int e = starts[v]; e < starts[v + 1]; ++e) {
    int w = edges[e];
    if (atomicCAS(&depth[w], -1, level + 1) == -1) next[atomicAdd(size, 1u)] = w;
  }
}
