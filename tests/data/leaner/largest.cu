#include <cuda/atomic>
extern "C" __global__ void largest(const int *in, int *result, int n) {
  cuda::atomic_ref<int> r(*result);
  for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x) r.fetch_max(in[i]);
}
