#include <cuda/atomic>
extern "C" __global__ void compact(const int *in, int *out, int *count, int n) {
  cuda::atomic_ref<int> c(*count);
  for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x)
    if ((in[i] & 15) == 3) c.fetch_add(1);
  (void)out;
}
