// Every block writes its sum, and the one that takes the last ticket adds them up.
#include <cuda/atomic>

constexpr int BLOCKS = 4, THREADS = 64;

__device__ int sum_of_block(const int *values, int *part) {
  part[threadIdx.x] = values[blockIdx.x * THREADS + threadIdx.x];
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  return part[0];
}

__global__ void last_block(const int *values, int *sums, int *ticket, int *total) {
  __shared__ int part[THREADS];
  __shared__ bool is_last;
  int sum = sum_of_block(values, part);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(ticket, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int all = 0;
    for (int block = 0; block < gridDim.x; ++block) all += sums[block];
    *total = all;
  }
}

__global__ void last_block_right(const int *values, int *sums, int *ticket, int *total) {
  __shared__ int part[THREADS];
  __shared__ bool is_last;
  int sum = sum_of_block(values, part);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    cuda::atomic_ref<int, cuda::thread_scope_device> counter(*ticket);
    is_last = counter.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int all = 0;
    for (int block = 0; block < gridDim.x; ++block) all += sums[block];
    *total = all;
  }
}

int main() {
  int *values, *sums, *ticket, *total;
  cudaMalloc(&values, BLOCKS * THREADS * sizeof(int));
  cudaMalloc(&sums, BLOCKS * sizeof(int));
  cudaMalloc(&ticket, sizeof(int));
  cudaMalloc(&total, sizeof(int));
  cudaMemset(ticket, 0, sizeof(int));
  last_block<<<BLOCKS, THREADS>>>(values, sums, ticket, total);
  last_block_right<<<BLOCKS, THREADS>>>(values, sums, ticket, total);
}
