// A twin of examples/kernels/mbarrier_pipeline.mlir with cuda::barrier.
#include <cuda/barrier>
#include <cuda/ptx>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr unsigned stages = 4, readers = 128, tile_vectors = 512;

extern "C" __global__ void __launch_bounds__(160)
    mbarrier_pipeline(const uint4 *in, unsigned *out, unsigned tiles) {
  __shared__ alignas(128) uint4 tile[stages][tile_vectors];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full[stages], empty[stages];
  if (threadIdx.x == 0) {
    for (unsigned stage = 0; stage < stages; ++stage) {
      init(&full[stage], 1);
      init(&empty[stage], readers);
    }
    cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x >= readers) {
    if (threadIdx.x != readers)
      return;
    const uint4 *source = in + blockIdx.x * 16 * tile_vectors;
    for (unsigned n = 0; n < tiles; ++n) {
      unsigned stage = n % stages;
      empty[stage].wait_parity((n / stages & 1) ^ 1);
      (void)cuda::device::barrier_arrive_tx(full[stage], 1, sizeof(tile[stage]));
      cuda::device::memcpy_async_tx(tile[stage], source + n % 16 * tile_vectors,
                                    cuda::aligned_size_t<16>(sizeof(tile[stage])), full[stage]);
    }
    return;
  }
  unsigned sum = 0;
  for (unsigned n = 0; n < tiles; ++n) {
    unsigned stage = n % stages;
    full[stage].wait_parity(n / stages & 1);
    unsigned part = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      uint4 v = tile[stage][j * readers + threadIdx.x];
      part += (v.x + v.y) + (v.z + v.w);
    }
    (void)empty[stage].arrive();
    sum += part;
  }
  out[blockIdx.x * readers + threadIdx.x] = sum;
}
