// The twin of examples/kernels/mbarrier_pipeline.mlir, with libcu++'s own names for the instructions.
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;
constexpr unsigned stages = 4, readers = 128, tile_vectors = 512;

__device__ void wait(Barrier *barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, barrier, parity)) {
  }
}

extern "C" __global__ void __launch_bounds__(160)
    mbarrier_pipeline(const uint4 *in, unsigned *out, unsigned tiles) {
  __shared__ alignas(128) uint4 tile[stages][tile_vectors];
  __shared__ Barrier full[stages], empty[stages];
  if (threadIdx.x == 0) {
    for (unsigned stage = 0; stage < stages; ++stage) {
      ptx::mbarrier_init(&full[stage], 1);
      ptx::mbarrier_init(&empty[stage], unsigned{readers});
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x >= readers) {
    if (threadIdx.x != readers)
      return;
    const uint4 *source = in + blockIdx.x * 16 * tile_vectors;
    for (unsigned n = 0; n < tiles; ++n) {
      unsigned stage = n % stages;
      wait(&empty[stage], (n / stages & 1) ^ 1);
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                     &full[stage], sizeof(tile[stage]));
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[stage],
                         source + n % 16 * tile_vectors, sizeof(tile[stage]), &full[stage]);
    }
    return;
  }
  unsigned sum = 0;
  for (unsigned n = 0; n < tiles; ++n) {
    unsigned stage = n % stages;
    wait(&full[stage], n / stages & 1);
    unsigned part = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      uint4 v = tile[stage][j * readers + threadIdx.x];
      part += (v.x + v.y) + (v.z + v.w);
    }
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &empty[stage]);
    sum += part;
  }
  out[blockIdx.x * readers + threadIdx.x] = sum;
}
