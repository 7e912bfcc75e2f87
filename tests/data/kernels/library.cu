// libcu++ and cooperative groups.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/optional>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// launch: arrive_and_wait<<<2, 64>>>(i32[128]=random(1), i32[128])
extern "C" __global__ void arrive_and_wait(const int *in, int *out) {
  __shared__ int words[64];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  int value = in[64 * blockIdx.x + threadIdx.x];
  for (int i = 0; i < 4; i++) {
    words[threadIdx.x] = value;
    barrier.arrive_and_wait();
    value += words[(threadIdx.x + 9) & 63] / 3;
    auto token = barrier.arrive();
    value ^= i;
    barrier.wait(cuda::std::move(token));
  }
  out[64 * blockIdx.x + threadIdx.x] = value;
}

// launch: semaphore<<<1, 64>>>(i32[4])
extern "C" __global__ void semaphore(int *out) {
  __shared__ cuda::counting_semaphore<cuda::thread_scope_block, 4> free_places;
  __shared__ int most, inside;
  if (threadIdx.x == 0) new (&free_places) cuda::counting_semaphore<cuda::thread_scope_block, 4>(4), most = inside = 0;
  __syncthreads();
  if (threadIdx.x % 8 == 0) {
    free_places.acquire();
    int now = atomicAdd(&inside, 1) + 1;
    atomicMax(&most, now);
    atomicAdd(&out[1], threadIdx.x);
    atomicSub(&inside, 1);
    free_places.release();
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = most <= 4, out[2] = inside;
}

// launch: latch<<<1, 96>>>(i32[32])
extern "C" __global__ void latch(int *out) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ __align__(alignof(Latch)) char room[sizeof(Latch)];
  __shared__ int words[64];
  Latch &done = *reinterpret_cast<Latch *>(room);
  if (threadIdx.x == 0) new (&done) Latch(64);
  __syncthreads();
  if (threadIdx.x < 64) {
    words[threadIdx.x] = threadIdx.x * threadIdx.x;
    done.count_down();
  } else {
    done.wait();
    out[threadIdx.x - 64] = words[threadIdx.x - 64] + words[2 * (threadIdx.x - 64) + 1];
  }
}

// launch: atomic_ref<<<3, 64>>>(i32[192]=random(2), u32[4], u64[2], f32[1], u8[4])
extern "C" __global__ void atomic_ref(const int *in, unsigned *words, unsigned long long *wide, float *floats, unsigned char *bytes) {
  int value = in[64 * blockIdx.x + threadIdx.x];
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> first(words[0]), second(words[1]), third(words[2]);
  cuda::atomic_ref<unsigned long long> big(wide[0]);
  cuda::atomic_ref<float, cuda::thread_scope_device> sum(*floats);
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device> byte(bytes[threadIdx.x & 3]);
  first.fetch_add(value, cuda::memory_order_relaxed), second.fetch_max(value), third.fetch_xor(value, cuda::memory_order_acq_rel);
  big.fetch_add((unsigned long long)(unsigned)value << 8), sum.fetch_add((value & 7) * 0.5f), byte.fetch_add(value & 15);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> fourth(words[3]);
  unsigned seen = fourth.load();
  while (!fourth.compare_exchange_weak(seen, seen * 3 + 1)) {}
}

// launch: wait_and_notify<<<2, 32>>>(i32[1], i32[8])
extern "C" __global__ void wait_and_notify(int *flag, int *data) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 4; i++) data[i] = 10 * i + 1;
    ready.store(1, cuda::memory_order_release), ready.notify_all();
  } else {
    ready.wait(0, cuda::memory_order_acquire);
    for (int i = 0; i < 4; i++) data[4 + i] = data[i] * 2;
  }
}

// launch: pipeline<<<2, 64>>>(i32[1024]=random(3), i32[128])
extern "C" __global__ void pipeline(const int *in, int *out) {
  __shared__ int stages[2][64];
  auto pipe = cuda::make_pipeline();
  const int *from = in + 512 * blockIdx.x + threadIdx.x;
  pipe.producer_acquire();
  cuda::memcpy_async(&stages[0][threadIdx.x], from, sizeof(int), pipe);
  pipe.producer_commit();
  int sum = 0;
  for (int i = 0; i < 8; i++) {
    if (i < 7) {
      pipe.producer_acquire();
      cuda::memcpy_async(&stages[(i + 1) & 1][threadIdx.x], from + 64 * (i + 1), sizeof(int), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    __syncthreads();
    sum = sum * 7 + stages[i & 1][threadIdx.x ^ 21];
    __syncthreads();
    pipe.consumer_release();
  }
  out[64 * blockIdx.x + threadIdx.x] = sum;
}

// launch: shared_pipeline<<<1, 128>>>(i32[512]=random(4), i32[128])
extern "C" __global__ void shared_pipeline(const int *in, int *out) {
  __shared__ int stages[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    pipe.producer_acquire();
    cuda::memcpy_async(&stages[i & 1][threadIdx.x], in + 128 * i + threadIdx.x, sizeof(int), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    sum = sum * 3 + stages[i & 1][(threadIdx.x + 40) & 127];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// launch: copy_to_barrier<<<1, 64>>>(i32[256]=random(5), i32[64])
extern "C" __global__ void copy_to_barrier(const int *in, int *out) {
  __shared__ __align__(16) int tile[256];
  __shared__ Barrier barrier;
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, 64);
  block.sync();
  cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(1024), barrier);
  barrier.arrive_and_wait();
  out[threadIdx.x] = tile[threadIdx.x] + tile[255 - threadIdx.x] * 2;
}

// launch: group_copy<<<2, 64>>>(i32[512]=random(6), i32[512])
extern "C" __global__ void group_copy(const int *in, int *out) {
  __shared__ int tile[256];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in + 256 * blockIdx.x, 1024);
  cg::wait(block);
  for (int i = threadIdx.x; i < 256; i += 64) out[256 * blockIdx.x + i] = tile[i ^ 77];
}

// launch: tiles<<<2, 64>>>(i32[128]=random(7, 5000), i32[512])
extern "C" __global__ void tiles(const int *in, int *out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int at = 64 * blockIdx.x + threadIdx.x, value = in[at], *to = out + 4 * at;
  to[0] = cg::reduce(tile, value, cg::plus<int>()), to[1] = cg::inclusive_scan(tile, value);
  to[2] = cg::exclusive_scan(tile, value, cg::bit_xor<int>()), to[3] = tile.shfl_down(value, 2) + tile.ballot(value & 1) * 16 + tile.meta_group_rank();
}

// launch: coalesced<<<1, 64>>>(i32[64]=random(8, 50), i32[192], i32[1])
extern "C" __global__ void coalesced(const int *in, int *out, int *total) {
  int value = in[threadIdx.x], *to = out + 3 * threadIdx.x;
  if (value % 3) {
    auto here = cg::coalesced_threads();
    to[0] = here.size() * 100 + here.thread_rank(), to[1] = here.shfl(value, 0) + cg::reduce(here, value, cg::greater<int>());
    if (here.thread_rank() == 0) atomicAdd(total, (int)here.size());
  }
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto same = cg::labeled_partition(warp, value % 4);
  to[2] = same.size() * 10000 + same.thread_rank() * 100 + cg::reduce(same, value % 7, cg::plus<int>());
}

// launch: binary<<<1, 32>>>(i32[32]=random(9), i32[64])
extern "C" __global__ void binary(const int *in, int *out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int value = in[threadIdx.x];
  auto half = cg::binary_partition(warp, value & 4);
  out[2 * threadIdx.x] = half.size() * 64 + half.thread_rank(), out[2 * threadIdx.x + 1] = warp.match_any(value & 12) ^ warp.any(value == 3);
}

// launch: values<<<1, 32>>>(f32[64]=random(10), f32[96])
extern "C" __global__ void values(const float *in, float *out) {
  cuda::std::complex<float> z(in[threadIdx.x], in[threadIdx.x + 32]), w = z;
  cuda::std::array<float, 4> powers{};
  cuda::std::optional<float> first;
  for (int i = 0; i < 4; i++) {
    w = w * z + cuda::std::complex<float>(0.25f, -0.5f), powers[i] = w.real();
    if (!first && w.imag() < 0) first = w.imag();
  }
  out[3 * threadIdx.x] = w.real() + powers[1], out[3 * threadIdx.x + 1] = w.imag() - powers[2];
  out[3 * threadIdx.x + 2] = first.value_or(3.0f) + cuda::std::popcount((unsigned)threadIdx.x) + cuda::std::bit_width(threadIdx.x);
}
