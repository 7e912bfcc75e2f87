#include <cuda_pipeline.h>
extern "C" __global__ void pipeline(const int *in, int *out) {
  __shared__ int tile[256]; int i = blockIdx.x*256+threadIdx.x;
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[i], 4); __pipeline_commit(); __pipeline_wait_prior(0);
  __syncthreads(); __pipeline_wait_prior(0); __syncthreads();
  out[i] = tile[255-threadIdx.x];
  __syncthreads();
}
