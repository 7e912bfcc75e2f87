#include <cuda/atomic>
extern "C" __global__ void release_counter(int *data, int *count, int *out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = blockIdx.x + 1;
    cuda::atomic_ref<int> c(*count);
    int before = c.fetch_add(1);
    if (before == (int)gridDim.x - 1) { int s = 0; for (int b = 0; b < (int)gridDim.x; b++) s += data[b]; out[0] = s; }
  }
}
