// The parts of HIP that the kernels beside this file use: for AMD GPUs, and with HOST for the machine that runs the
// tests, where the threads of a work-group are coroutines and its waves have 64 lanes. No ROCm is needed.
#pragma once
#include <stdint.h>
#ifndef LANES
#define LANES 64
#endif
typedef unsigned long long u64;
template <class T> struct Four { T x, y, z, w; };
typedef Four<float> __attribute__((aligned(16))) float4;
typedef Four<int> __attribute__((aligned(16))) int4;

#ifdef HOST
#include <cmath>
#include <functional>
#include <ucontext.h>
#include <utility>
#include <vector>
#define __global__
#define __device__
#define __constant__ static
#define __shared__ static
#define __noinline__ __attribute__((noinline))
#define DYNAMIC(type, name) type *name = (type *)dynamic_words
struct Size { int x, y, z; };
static Size threadIdx, blockIdx, blockDim, gridDim;
static double dynamic_words[8192];

struct Meeting {
  int live = 0, arrived = 0, round = 0;
  void settle() { if (live && arrived == live) arrived = 0, round++; }
};
struct Fiber { ucontext_t context; std::vector<char> stack; Size index; bool done; Meeting *wave; };
static std::vector<Fiber> fibers;
static std::vector<Meeting> waves;
static Meeting group;
static ucontext_t scheduler;
static int now;
static const std::function<void()> *kernel;
static u64 slots[1024];

static void pause_thread() { swapcontext(&fibers[now].context, &scheduler); }
static void meet(Meeting &at) {
  int round = at.round;
  at.arrived++, at.settle();
  while (at.round == round) pause_thread();
}
static void run_thread() {
  (*kernel)();
  Fiber &own = fibers[now];
  own.done = true, own.wave->live--, group.live--;
  own.wave->settle(), group.settle();
  pause_thread();
}
static void run_group(int count) {
  fibers.resize(count), waves.assign((count + LANES - 1) / LANES, {}), group = {count, 0, 0};
  for (int n = 0; n < count; n++) {
    Fiber &own = fibers[n];
    own.stack.resize(1 << 16), own.done = false, own.wave = &waves[n / LANES], own.wave->live++;
    own.index = {n % blockDim.x, n / blockDim.x % blockDim.y, n / blockDim.x / blockDim.y};
    getcontext(&own.context);
    own.context.uc_stack.ss_sp = own.stack.data(), own.context.uc_stack.ss_size = own.stack.size();
    makecontext(&own.context, run_thread, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (now = 0; now < count; now++)
      if (!fibers[now].done) any = true, threadIdx = fibers[now].index, swapcontext(&scheduler, &fibers[now].context);
  }
}
static void launch(const int *sizes, const std::function<void()> &body) {
  gridDim = {sizes[0], sizes[1], sizes[2]}, blockDim = {sizes[3], sizes[4], sizes[5]}, kernel = &body;
  for (int z = 0; z < gridDim.z; z++)
    for (int y = 0; y < gridDim.y; y++)
      for (int x = 0; x < gridDim.x; x++) blockIdx = {x, y, z}, run_group(blockDim.x * blockDim.y * blockDim.z);
}
template <class... A, size_t... I> static void call(void (*f)(A...), void **given, std::index_sequence<I...>) {
  f(*(A *)given[I]...);
}
template <class... A> static void call(void (*f)(A...), void **given) { call(f, given, std::index_sequence_for<A...>()); }

static void __syncthreads() { meet(group); }
static void __threadfence() {}
static int lane_id() { return now % LANES; }
// Every lane of the wave that has not ended gives a value, and reads one of those.
template <class T> static T from_lane(T value, int lane) {
  u64 bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T)), slots[now] = bits;
  meet(*fibers[now].wave);
  bits = slots[now / LANES * LANES + (lane & (LANES - 1))];
  meet(*fibers[now].wave);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
static u64 __ballot(bool value) {
  slots[now] = value;
  meet(*fibers[now].wave);
  u64 found = 0;
  for (int n = 0; n < LANES && now / LANES * LANES + n < (int)fibers.size(); n++)
    found |= (u64)(!fibers[now / LANES * LANES + n].done && slots[now / LANES * LANES + n]) << n;
  meet(*fibers[now].wave);
  return found;
}
#define ATOMIC(name, result) \
  template <class T> static T name(T *at, std::common_type_t<T> b) { T a = *at; *at = result; return a; }
template <class T> static T atomicCAS(T *at, std::common_type_t<T> seen, std::common_type_t<T> b) {
  T a = *at;
  if (a == seen) *at = b;
  return a;
}
ATOMIC(atomicExch, b) ATOMIC(atomicAdd, a + b) ATOMIC(atomicSub, a - b) ATOMIC(atomicMin, a < b ? a : b)
ATOMIC(atomicMax, a > b ? a : b) ATOMIC(atomicAnd, a & b) ATOMIC(atomicOr, a | b) ATOMIC(atomicXor, a ^ b)

#else
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __noinline__ __attribute__((noinline))
#define DYNAMIC(type, name) extern __shared__ type name[]
struct ThreadIndex {
  __declspec(property(get = get_x)) int x;
  __declspec(property(get = get_y)) int y;
  __declspec(property(get = get_z)) int z;
  __device__ int get_x() const { return __builtin_amdgcn_workitem_id_x(); }
  __device__ int get_y() const { return __builtin_amdgcn_workitem_id_y(); }
  __device__ int get_z() const { return __builtin_amdgcn_workitem_id_z(); }
};
struct BlockIndex {
  __declspec(property(get = get_x)) int x;
  __declspec(property(get = get_y)) int y;
  __declspec(property(get = get_z)) int z;
  __device__ int get_x() const { return __builtin_amdgcn_workgroup_id_x(); }
  __device__ int get_y() const { return __builtin_amdgcn_workgroup_id_y(); }
  __device__ int get_z() const { return __builtin_amdgcn_workgroup_id_z(); }
};
struct BlockSize {
  __declspec(property(get = get_x)) int x;
  __declspec(property(get = get_y)) int y;
  __device__ int get_x() const { return __builtin_amdgcn_workgroup_size_x(); }
  __device__ int get_y() const { return __builtin_amdgcn_workgroup_size_y(); }
};
struct GridSize {
  __declspec(property(get = get_x)) int x;
  __declspec(property(get = get_y)) int y;
  __device__ int get_x() const { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }
  __device__ int get_y() const { return __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(); }
};
extern const __device__ __attribute__((weak)) ThreadIndex threadIdx;
extern const __device__ __attribute__((weak)) BlockIndex blockIdx;
extern const __device__ __attribute__((weak)) BlockSize blockDim;
extern const __device__ __attribute__((weak)) GridSize gridDim;

__device__ static inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ static inline void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__device__ static inline int lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
__device__ static inline u64 __ballot(bool value) { return __builtin_amdgcn_ballot_w64(value); }
template <class T> __device__ static inline T from_lane(T value, int lane) {
  int words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof(T));
  for (int n = 0; n < (int)sizeof(T) / 4; n++) words[n] = __builtin_amdgcn_ds_bpermute(lane << 2, words[n]);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
template <class T> struct Same { typedef T type; };
#define ATOMIC(name, builtin) \
  template <class T> __device__ static inline T name(T *at, typename Same<T>::type b) { \
    return builtin(at, b, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
  }
template <class T> __device__ static inline T atomicCAS(T *at, typename Same<T>::type seen, typename Same<T>::type b) {
  __hip_atomic_compare_exchange_strong(at, &seen, b, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return seen;
}
ATOMIC(atomicExch, __hip_atomic_exchange) ATOMIC(atomicAdd, __hip_atomic_fetch_add)
ATOMIC(atomicMin, __hip_atomic_fetch_min) ATOMIC(atomicMax, __hip_atomic_fetch_max)
ATOMIC(atomicAnd, __hip_atomic_fetch_and) ATOMIC(atomicOr, __hip_atomic_fetch_or)
ATOMIC(atomicXor, __hip_atomic_fetch_xor)
template <class T> __device__ static inline T atomicSub(T *at, typename Same<T>::type b) { return atomicAdd(at, -b); }
#endif

template <class T> __device__ static inline T __shfl(T value, int lane) { return from_lane(value, lane & 63); }
template <class T> __device__ static inline T __shfl_xor(T value, int by) { return from_lane(value, lane_id() ^ by); }
template <class T> __device__ static inline T __shfl_up(T value, int by) {
  return from_lane(value, lane_id() < by ? lane_id() : lane_id() - by);
}
template <class T> __device__ static inline T __shfl_down(T value, int by) {
  return from_lane(value, lane_id() + by > 63 ? lane_id() : lane_id() + by);
}
__device__ static inline int __any(bool value) { return __ballot(value) != 0; }
