// The twin of examples/kernels/ticket_lock.mlir.
#include "poll.h"

extern "C" __global__ void __launch_bounds__(128)
    ticket_lock(unsigned *next, unsigned *serving, unsigned *data, unsigned rounds) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> tickets(*next);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> served(*serving);
  for (unsigned round = 0; round < rounds; ++round) {
    unsigned ticket = 0;
    if (threadIdx.x == 0) {
      ticket = tickets.fetch_add(1, cuda::std::memory_order_relaxed);
      while (served.load(poll_order) != ticket) {
      }
      after_poll();
    }
    __syncthreads();
    data[threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      before_release();
      served.store(ticket + 1, release_order);
    }
  }
}
