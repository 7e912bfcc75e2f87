#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void bulk(int *out) {
  __shared__ alignas(128) int tile[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = 3 * (blockIdx.x*1024+i);
  ptx::fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x*1024, tile, sizeof tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
