// The twin of examples/kernels/grid_barrier.mlir.
#include "poll.h"

extern "C" __global__ void __launch_bounds__(256)
    grid_barrier(unsigned *count, unsigned *slots, unsigned *out, unsigned rounds) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(*count);
  unsigned neighbour = blockIdx.x + 1 == gridDim.x ? 0 : blockIdx.x + 1;
  unsigned sum = 0, goal = gridDim.x;
  for (unsigned round = 0; round < rounds; ++round, goal += gridDim.x) {
    unsigned *slot = slots + (round & 1) * gridDim.x;
    if (threadIdx.x == 255)
      slot[blockIdx.x] = round;
    __syncthreads();
    if (threadIdx.x == 0) {
      before_release();
      counter.fetch_add(1, release_order);
      while (counter.load(poll_order) < goal) {
      }
      after_poll();
    }
    __syncthreads();
    sum += slot[neighbour];
  }
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}
