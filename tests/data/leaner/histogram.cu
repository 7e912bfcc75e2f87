#include <cuda/atomic>
extern "C" __global__ void histogram(const int *in, int *bins, int n) {
  for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x) {
    cuda::atomic_ref<int> r(bins[in[i] & 255]); r.fetch_add(1);
  }
}
