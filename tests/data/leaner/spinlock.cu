#include <cuda/atomic>
extern "C" __global__ void spinlock(int *word, int *x) {
  if (threadIdx.x == 0) { cuda::atomic_ref<int> r(*word); int e = 0; while (!r.compare_exchange_strong(e, 1)) e = 0; x[0] = x[0] + 1; r.store(0); }
}
