#include <cuda/atomic>
extern "C" __global__ void chained(int *data, int *flag) {
  if (threadIdx.x == 0) {
    cuda::atomic_ref<int> mine(flag[blockIdx.x]);
    int before = 0;
    if (blockIdx.x) { cuda::atomic_ref<int> prev(flag[blockIdx.x-1]); while (prev.load() == 0) {} before = data[blockIdx.x-1]; }
    data[blockIdx.x] = before + 1; mine.store(1);
  }
}
