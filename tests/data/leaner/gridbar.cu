#include <cuda/atomic>
extern "C" __global__ void gridbar(int *data, int *count, int *out) {
  int i = blockIdx.x*blockDim.x+threadIdx.x; data[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) { cuda::atomic_ref<int> c(*count); c.fetch_add(1); while (c.load() < (int)gridDim.x) {} }
  __syncthreads();
  out[i] = data[(i+blockDim.x) % (gridDim.x*blockDim.x)];
}
