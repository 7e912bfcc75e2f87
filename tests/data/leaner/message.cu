#include <cuda/atomic>
extern "C" __global__ void message(int *data, int *flag, int *out) {
  cuda::atomic_ref<int> f(*flag);
  if (blockIdx.x == 0 && threadIdx.x == 0) { data[0] = 42; f.store(1); }
  else if (threadIdx.x == 0) { while (f.load() == 0) {} out[blockIdx.x] = data[0]; }
}
