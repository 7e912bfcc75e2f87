// How a twin synchronises: an acquire in the poll and a release in what is polled for; with
// FENCE_AFTER_POLL a fence after a relaxed poll; with FULL_FENCES one in front of a relaxed
// release as well.
#pragma once
#include <cuda/atomic>

__device__ inline void fence(cuda::std::memory_order order) {
  cuda::atomic_thread_fence(order, cuda::thread_scope_device);
}

#if defined(FULL_FENCES)
constexpr auto poll_order = cuda::std::memory_order_relaxed;
constexpr auto release_order = cuda::std::memory_order_relaxed;
__device__ inline void after_poll() { fence(cuda::std::memory_order_acq_rel); }
__device__ inline void before_release() { fence(cuda::std::memory_order_acq_rel); }
#elif defined(FENCE_AFTER_POLL)
constexpr auto poll_order = cuda::std::memory_order_relaxed;
constexpr auto release_order = cuda::std::memory_order_release;
__device__ inline void after_poll() { fence(cuda::std::memory_order_acquire); }
__device__ inline void before_release() {}
#else
constexpr auto poll_order = cuda::std::memory_order_acquire;
constexpr auto release_order = cuda::std::memory_order_release;
__device__ inline void after_poll() {}
__device__ inline void before_release() {}
#endif
