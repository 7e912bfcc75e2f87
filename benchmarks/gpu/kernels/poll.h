// How a twin waits: an acquire in the poll or, with FENCE_AFTER_POLL, a fence behind a relaxed one.
#pragma once
#include <cuda/atomic>

#ifdef FENCE_AFTER_POLL
constexpr auto poll_order = cuda::std::memory_order_relaxed;
__device__ inline void after_poll() {
  cuda::atomic_thread_fence(cuda::std::memory_order_acquire, cuda::thread_scope_device);
}
#else
constexpr auto poll_order = cuda::std::memory_order_acquire;
__device__ inline void after_poll() {}
#endif
