// Kernels for AMD chips in pairs: NAME_right, and NAME_wrong, which lacks one thing.
// The arguments: data, 512 numbers, flag, 64 zeros, and out, 512 zeros.

#include "hip.h"

#define DEVICE static inline __attribute__((device, always_inline))
#define KERNEL extern "C" __global__ void
#define SCOPE __HIP_MEMORY_SCOPE_AGENT
#define X threadIdx.x
#define GROUP blockIdx.x

// A message from one work-group to another.
template <int STORE, int LOAD> DEVICE void message(int *data, int *flag, int *out) {
  if (GROUP == 0) {
    data[X] = X;
    __syncthreads();
    if (X == 0) __hip_atomic_store(flag, 1, STORE, SCOPE);
  } else {
    if (X == 0) while (!__hip_atomic_load(flag, LOAD, SCOPE)) {}
    __syncthreads();
    out[X + 128 * (GROUP - 1)] = data[X];
  }
}
KERNEL message_right(int *data, int *flag, int *out) { message<__ATOMIC_RELEASE, __ATOMIC_ACQUIRE>(data, flag, out); }
KERNEL release_wrong(int *data, int *flag, int *out) { message<__ATOMIC_RELAXED, __ATOMIC_ACQUIRE>(data, flag, out); }
KERNEL acquire_wrong(int *data, int *flag, int *out) { message<__ATOMIC_RELEASE, __ATOMIC_RELAXED>(data, flag, out); }

// Fences in place of the orders, of a scope.
#define FENCED(NAME, FENCE) \
  KERNEL NAME(int *data, int *flag, int *out) { \
    if (GROUP == 0) { \
      if (X == 0) { data[0] = 1; __builtin_amdgcn_fence(__ATOMIC_RELEASE, FENCE); __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, SCOPE); } \
    } else if (X == 0) { \
      while (!__hip_atomic_load(flag, __ATOMIC_RELAXED, SCOPE)) {} \
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, FENCE); \
      out[GROUP] = data[0]; \
    } \
  }
FENCED(fence_right, "agent")
FENCED(fence_scope_wrong, "workgroup")

// An exchange through LDS.
#define EXCHANGE(NAME, FIRST, LAST) \
  KERNEL NAME(int *data, int *flag, int *out) { \
    __shared__ int tile[128]; \
    int sum = 0; \
    for (int round = 0; round < 2; ++round) { \
      tile[X] = data[X + 128 * round]; \
      FIRST; \
      sum += tile[127 - X]; \
      LAST; \
    } \
    out[X] = sum; \
  }
EXCHANGE(exchange_right, __syncthreads(), __syncthreads())
EXCHANGE(exchange_first_wrong, (void)0, __syncthreads())
EXCHANGE(exchange_last_wrong, __syncthreads(), (void)0)

// A reduction in LDS.
#define REDUCTION(NAME, BETWEEN) \
  KERNEL NAME(int *data, int *flag, int *out) { \
    __shared__ int part[256]; \
    part[X] = data[X]; \
    __syncthreads(); \
    for (int half = 128; half > 0; half /= 2) { \
      if (X < half) part[X] += part[X + half]; \
      BETWEEN; \
    } \
    if (X == 0) out[0] = part[0]; \
  }
REDUCTION(reduction_right, __syncthreads())
REDUCTION(reduction_wrong, (void)0)

// A sum of all work-groups by the last of them.
template <int ORDER> DEVICE void last(int *data, int *flag, int *out) {
  __shared__ int is_last;
  if (X == 0) {
    out[GROUP] = GROUP;
    is_last = __hip_atomic_fetch_add(flag, 1, ORDER, SCOPE) == 3;
  }
  __syncthreads();
  if (is_last && X == 0) data[0] = out[0] + out[1] + out[2] + out[3];
}
KERNEL last_right(int *data, int *flag, int *out) { last<__ATOMIC_ACQ_REL>(data, flag, out); }
KERNEL last_release_wrong(int *data, int *flag, int *out) { last<__ATOMIC_ACQUIRE>(data, flag, out); }
KERNEL last_acquire_wrong(int *data, int *flag, int *out) { last<__ATOMIC_RELEASE>(data, flag, out); }

// A lock between work-groups.
template <int TAKE, int GIVE> DEVICE void locked(int *data, int *flag, int *out) {
  if (X != 0) return;
  int free = 0;
  while (!__hip_atomic_compare_exchange_strong(flag, &free, 1, TAKE, __ATOMIC_RELAXED, SCOPE)) free = 0;
  data[0] += 1;
  __hip_atomic_store(flag, 0, GIVE, SCOPE);
}
KERNEL lock_right(int *data, int *flag, int *out) { locked<__ATOMIC_ACQUIRE, __ATOMIC_RELEASE>(data, flag, out); }
KERNEL lock_take_wrong(int *data, int *flag, int *out) { locked<__ATOMIC_RELAXED, __ATOMIC_RELEASE>(data, flag, out); }
KERNEL lock_give_wrong(int *data, int *flag, int *out) { locked<__ATOMIC_ACQUIRE, __ATOMIC_RELAXED>(data, flag, out); }

// A count, a maximum, places by number, and places by data.
KERNEL count_right(int *data, int *flag, int *out) { __hip_atomic_fetch_add(flag, 1, __ATOMIC_RELAXED, SCOPE); }
KERNEL count_wrong(int *data, int *flag, int *out) { flag[0] = flag[0] + 1; }
KERNEL maximum_wrong(int *data, int *flag, int *out) {
  int mine = data[X + 128 * GROUP];
  if (flag[0] < mine) __hip_atomic_fetch_max(flag, mine, __ATOMIC_RELAXED, SCOPE);
}
KERNEL maximum_right(int *data, int *flag, int *out) {
  int mine = data[X + 128 * GROUP];
  if (__hip_atomic_load(flag, __ATOMIC_RELAXED, SCOPE) < mine) __hip_atomic_fetch_max(flag, mine, __ATOMIC_RELAXED, SCOPE);
}
KERNEL place_right(int *data, int *flag, int *out) {
  out[__hip_atomic_fetch_add(flag, 1, __ATOMIC_RELAXED, SCOPE)] = X;
}
KERNEL place_wrong(int *data, int *flag, int *out) { out[data[X + 128 * GROUP] % 64] = X + 1000 * GROUP; }
KERNEL neighbour_wrong(int *data, int *flag, int *out) {
  int at = X + 128 * GROUP;
  data[at] = data[(at + 1) % 512] + 1;
}
KERNEL neighbour_right(int *data, int *flag, int *out) {
  int at = X + 128 * GROUP;
  out[at] = data[(at + 1) % 512] + 1;
}

// A barrier of the grid, twice.
template <int ARRIVE, int LEAVE> DEVICE void meet(int *count, int wanted) {
  __syncthreads();
  if (X == 0) {
    __hip_atomic_fetch_add(count, 1, ARRIVE, SCOPE);
    while (__hip_atomic_load(count, LEAVE, SCOPE) < wanted) {}
  }
  __syncthreads();
}
template <int ARRIVE, int LEAVE> DEVICE void rounds(int *data, int *flag, int *out) {
  int at = X + 128 * GROUP;
  data[at] = at;
  meet<ARRIVE, LEAVE>(flag, 4);
  int sum = data[(at + 128) % 512];
  meet<ARRIVE, LEAVE>(flag, 8);
  data[at] = sum;
}
KERNEL grid_right(int *data, int *flag, int *out) { rounds<__ATOMIC_RELEASE, __ATOMIC_ACQUIRE>(data, flag, out); }
KERNEL grid_arrive_wrong(int *data, int *flag, int *out) { rounds<__ATOMIC_RELAXED, __ATOMIC_ACQUIRE>(data, flag, out); }
KERNEL grid_leave_wrong(int *data, int *flag, int *out) { rounds<__ATOMIC_RELEASE, __ATOMIC_RELAXED>(data, flag, out); }
