// The twin of examples/kernels/spin_lock.mlir.
#include "poll.h"

extern "C" __global__ void __launch_bounds__(128)
    spin_lock(unsigned *lock, unsigned *data, unsigned rounds) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*lock);
  for (unsigned round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) {
      while (flag.exchange(1, poll_order) != 0) {
      }
      after_poll();
    }
    __syncthreads();
    data[threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      before_release();
      flag.store(0, release_order);
    }
  }
}
