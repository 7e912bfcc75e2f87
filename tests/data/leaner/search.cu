#include <cuda/atomic>
extern "C" __global__ void search(const int *in, int *found, int n, int wanted) {
  cuda::atomic_ref<int> f(*found);
  for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n && f.load() == 0; i += gridDim.x*blockDim.x)
    if (in[i] == wanted) f.store(1);
}
