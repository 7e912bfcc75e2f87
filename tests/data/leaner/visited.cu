#include <cuda/atomic>
extern "C" __global__ void visited(const int *edges, int *seen, int *dist, int n, int level) {
  for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x) {
    int v = edges[i]; cuda::atomic_ref<int> r(seen[v]);
    if (r.load() == 0) r.store(1);
  }
}
