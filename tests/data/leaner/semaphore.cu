#include <cuda/semaphore>
extern "C" __global__ void semaphore(cuda::binary_semaphore<cuda::thread_scope_system> *s, int *x) {
  if (threadIdx.x == 0) { s->acquire(); x[0] = x[0] + 1; s->release(); }
}
