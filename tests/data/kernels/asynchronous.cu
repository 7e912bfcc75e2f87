// Asynchronous copies, mbarriers, clusters.

#include <cooperative_groups.h>
#include <cstdint>
#include <cuda_pipeline_primitives.h>

namespace cg = cooperative_groups;

__device__ static unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ static void init(uint64_t *barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

__device__ static void arrive_expect(uint64_t *barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

__device__ static void arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ static void wait(uint64_t *barrier, unsigned parity) {
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
}

__device__ static void load(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}

// launch: copied_tiles<<<2, 64>>>(i32[1024]=random(1), i32[1024])
extern "C" __global__ void copied_tiles(const int *in, int *out) {
  __shared__ __align__(16) int stages[2][64];
  const int *from = in + 512 * blockIdx.x;
  __pipeline_memcpy_async(&stages[0][threadIdx.x], from + threadIdx.x, 4);
  __pipeline_commit();
  for (int i = 0; i < 8; i++) {
    if (i + 1 < 8) __pipeline_memcpy_async(&stages[(i + 1) & 1][threadIdx.x], from + 64 * (i + 1) + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[512 * blockIdx.x + 64 * i + threadIdx.x] = stages[i & 1][63 - threadIdx.x] + i;
    __syncthreads();
  }
}

// launch: wide_copies<<<1, 32>>>(i32[128]=random(2), i32[128])
extern "C" __global__ void wide_copies(const int *in, int *out) {
  __shared__ __align__(16) int tile[128];
  unsigned size = threadIdx.x % 4 == 3 ? 8 : 16;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(tile + 4 * threadIdx.x)), "l"(in + 4 * threadIdx.x), "r"(size) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 4; i++) out[32 * i + threadIdx.x] = tile[(32 * i + threadIdx.x) ^ 5];
}

// launch: barrier_of_copies<<<1, 64>>>(i32[256]=random(3), i32[64])
extern "C" __global__ void barrier_of_copies(const int *in, int *out) {
  __shared__ __align__(16) int tile[256];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) init(&full, 64);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(tile + 4 * threadIdx.x)), "l"(in + 4 * threadIdx.x) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&full)) : "memory");
  wait(&full, 0);
  int sum = 0;
  for (int i = 0; i < 4; i++) sum = sum * 3 + tile[(4 * threadIdx.x + 37 * i) & 255];
  out[threadIdx.x] = sum;
}

// launch: bulk_pipeline<<<2, 96>>>(i32[2048]=random(4), i32[128])
extern "C" __global__ void bulk_pipeline(const int *in, int *out) {
  __shared__ __align__(128) int stages[2][256];
  __shared__ uint64_t full[2], empty[2];
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; i++) init(&full[i], 1), init(&empty[i], 64);
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0)
      for (int i = 0; i < 4; i++) {
        wait(&empty[i & 1], (i >> 1 & 1) ^ 1);
        arrive_expect(&full[i & 1], 1024);
        load(stages[i & 1], in + 1024 * blockIdx.x + 256 * i, 1024, &full[i & 1]);
      }
    return;
  }
  int at = threadIdx.x - 32, sum = 0;
  for (int i = 0; i < 4; i++) {
    wait(&full[i & 1], i >> 1 & 1);
    for (int j = 0; j < 4; j++) sum = sum * 5 + stages[i & 1][(at + 64 * j + 3 * i) & 255];
    arrive(&empty[i & 1]);
  }
  out[64 * blockIdx.x + at] = sum;
}

// launch: bulk_store<<<2, 64>>>(i32[512]=random(5), i32[512])
extern "C" __global__ void bulk_store(const int *in, int *out) {
  __shared__ __align__(128) int tile[256];
  for (int i = threadIdx.x; i < 256; i += 64) tile[i] = in[256 * blockIdx.x + (i * 7 & 255)] * 3;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x) return;
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(out + 256 * blockIdx.x), "r"(shared_address(tile)) : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

// launch: bulk_sum<<<4, 64>>>(i32[256]=random(6, 1000), i32[64])
extern "C" __global__ void bulk_sum(const int *in, int *out) {
  __shared__ __align__(128) int tile[64];
  tile[threadIdx.x] = in[64 * blockIdx.x + threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x) return;
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 256;" ::"l"(out), "r"(shared_address(tile)) : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

// launch: phases<<<1, 128>>>(i32[128]=random(7), i32[128])
extern "C" __global__ void phases(const int *in, int *out) {
  __shared__ int words[128];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) init(&barrier, 128);
  __syncthreads();
  int value = in[threadIdx.x];
  for (int i = 0; i < 6; i++) {
    words[threadIdx.x] = value;
    arrive(&barrier), wait(&barrier, 2 * i & 1);
    value += words[(threadIdx.x + 17 * i + 1) & 127] >> 1;
    arrive(&barrier), wait(&barrier, 2 * i + 1 & 1);
  }
  out[threadIdx.x] = value;
}

// launch: cluster_histogram<<<4, 64, 0, 4>>>(u8[1024]=random(8), i32[256])
extern "C" __global__ void cluster_histogram(const unsigned char *in, int *out) {
  __shared__ int bins[64];
  cg::cluster_group cluster = cg::this_cluster();
  bins[threadIdx.x] = 0;
  cluster.sync();
  for (int i = threadIdx.x; i < 256; i += 64) {
    int value = in[256 * cluster.block_rank() + i];
    atomicAdd(cluster.map_shared_rank(&bins[value & 63], value >> 6), 1);
  }
  cluster.sync();
  out[64 * cluster.block_rank() + threadIdx.x] = bins[threadIdx.x];
}

// launch: cluster_ring<<<8, 32, 0, 4>>>(i32[256]=random(9), i32[256])
extern "C" __global__ void cluster_ring(const int *in, int *out) {
  __shared__ int slot[2][32];
  cg::cluster_group cluster = cg::this_cluster();
  int at = 32 * blockIdx.x + threadIdx.x, value = in[at], next = (cluster.block_rank() + 1) % cluster.num_blocks();
  cluster.sync();
  for (int i = 0; i < 5; i++) {
    cluster.map_shared_rank(slot[i & 1], next)[threadIdx.x] = value;
    cluster.sync();
    value = value * 3 + slot[i & 1][31 - threadIdx.x];
  }
  out[at] = value;
}

// launch: cluster_copy<<<4, 32, 0, 2>>>(i32[512]=random(10), i32[512])
extern "C" __global__ void cluster_copy(const int *in, int *out) {
  __shared__ __align__(128) int mine[128], theirs[128];
  __shared__ uint64_t full;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) init(&full, 1), arrive_expect(&full, 512);
  for (int i = threadIdx.x; i < 128; i += 32) mine[i] = in[128 * blockIdx.x + i] ^ i;
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
  cluster.sync();
  if (threadIdx.x == 0) {
    unsigned to, barrier, other = cluster.block_rank() ^ 1;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(theirs)), "r"(other));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier) : "r"(shared_address(&full)), "r"(other));
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(to), "r"(shared_address(mine)), "r"(barrier) : "memory");
  }
  wait(&full, 0);
  for (int i = threadIdx.x; i < 128; i += 32) out[128 * blockIdx.x + i] = theirs[i] + 1;
  cluster.sync();
}

// launch: remote_arrival<<<4, 64, 0, 4>>>(i32[4])
extern "C" __global__ void remote_arrival(int *out) {
  __shared__ uint64_t barrier;
  __shared__ int count;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) init(&barrier, 4), count = 0;
  cluster.sync();
  if (threadIdx.x < 4) {
    atomicAdd(cluster.map_shared_rank(&count, threadIdx.x), 1 << 4 * cluster.block_rank());
    unsigned remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(&barrier)), "r"(threadIdx.x));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
  }
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(&barrier)) : "memory");
  if (threadIdx.x == 0) out[blockIdx.x] = count;
  cluster.sync();
}

// launch: elected<<<2, 64>>>(i32[64]=random(11), i32[12])
extern "C" __global__ void elected(const int *in, int *out) {
  unsigned chosen, leader;
  int value = in[threadIdx.x];
  asm volatile("{ .reg .pred p; elect.sync %1|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen), "=r"(leader));
  int largest = __reduce_max_sync(~0u, value);
  if (chosen) out[3 * (2 * blockIdx.x + threadIdx.x / 32)] = largest, out[3 * (2 * blockIdx.x + threadIdx.x / 32) + 1] = __popc(value) * 0 + 1;
  if (threadIdx.x % 32 == leader && chosen) out[3 * (2 * blockIdx.x + threadIdx.x / 32) + 2] = 7;
}
