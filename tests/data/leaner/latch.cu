#include <cuda/latch>
extern "C" __global__ void latch(cuda::latch<cuda::thread_scope_system> *l, int *data, int *out) {
  int i = blockIdx.x*blockDim.x+threadIdx.x; data[i] = i; __syncthreads();
  if (threadIdx.x == 0) l->arrive_and_wait();
  __syncthreads(); out[i] = data[(i+blockDim.x) % (gridDim.x*blockDim.x)];
}
