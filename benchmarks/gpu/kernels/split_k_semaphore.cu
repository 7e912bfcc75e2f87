// The twin of examples/kernels/split_k_semaphore.mlir.
#include "poll.h"

extern "C" __global__ void __launch_bounds__(256)
    split_k_semaphore(unsigned *semaphores, const float *__restrict__ x,
                      const float *__restrict__ a, float *y, unsigned tiles, unsigned rounds) {
  constexpr unsigned splits = 4, rows = 8;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> semaphore(semaphores[blockIdx.x]);
  unsigned column = blockIdx.x * 256 + threadIdx.x, width = tiles * 256, turn = blockIdx.y;
  for (unsigned round = 0; round < rounds; ++round, turn += splits) {
    unsigned top = (round % 16 * splits + blockIdx.y) * rows;
    float sum = 0;
#pragma unroll
    for (unsigned k = 0; k < rows; ++k)
      sum = fmaf(x[top + k], a[(top + k) * width + column], sum);
    if (threadIdx.x == 0) {
      while (semaphore.load(poll_order) != turn) {
      }
      after_poll();
    }
    __syncthreads();
    y[column] += sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      before_release();
      semaphore.store(turn + 1, release_order);
    }
  }
}
