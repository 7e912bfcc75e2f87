// Algorithms of CUB for a whole device: its agents, in kernels whose blocks prepare what they share.

#include <cub/cub.cuh>

__device__ static void all_blocks(unsigned *arrived) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (*(volatile unsigned *)arrived < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
}

using ScanPolicy = cub::AgentScanPolicy<64, 4, int, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT, cub::BLOCK_STORE_WARP_TRANSPOSE, cub::BLOCK_SCAN_WARP_SCANS>;
using States = cub::ScanTileState<int>;

template <typename InitialValue>
__device__ static void scan(unsigned *arrived, unsigned long long *states, const int *in, int *out, int n, InitialValue initial) {
  using Agent = cub::detail::scan::AgentScan<ScanPolicy, const int *, int *, cuda::std::plus<>, InitialValue, int, int>;
  __shared__ typename Agent::TempStorage storage;
  States tiles;
  tiles.Init(gridDim.x, states, 8 * (gridDim.x + 32));
  tiles.InitializeStatus(gridDim.x);
  all_blocks(arrived);
  Agent(storage, in, out, cuda::std::plus<>{}, initial).ConsumeRange(n, tiles, 0);
}

// launch: device_scan_exclusive<<<6, 64>>>(u32[1], u64[64], i32[1500]=random(1, 1000), i32[1500], 1500)
extern "C" __global__ void device_scan_exclusive(unsigned *arrived, unsigned long long *states, const int *in, int *out, int n) {
  scan<int>(arrived, states, in, out, n, 5);
}

// launch: device_scan_inclusive<<<6, 64>>>(u32[1], u64[64], i32[1536]=random(2, 1000), i32[1536], 1536)
extern "C" __global__ void device_scan_inclusive(unsigned *arrived, unsigned long long *states, const int *in, int *out, int n) {
  scan<cub::NullType>(arrived, states, in, out, n, cub::NullType{});
}

// launch: device_reduce<<<4, 64>>>(u32[1], f32[4], f32[1], f32[3000]=random(3), 3000)
extern "C" __global__ void device_reduce(unsigned *arrived, float *parts, float *out, const float *in, int n) {
  using Policy = cub::AgentReducePolicy<64, 4, float, 4, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::LOAD_LDG>;
  using Agent = cub::detail::reduce::AgentReduce<Policy, const float *, float *, int, cuda::std::plus<>, float>;
  __shared__ typename Agent::TempStorage storage;
  cub::GridEvenShare<int> share;
  share.DispatchInit(n, gridDim.x, 256);
  share.template BlockInit<256, cub::GRID_MAPPING_RAKE>();
  float sum = Agent(storage, in, cuda::std::plus<>{}).ConsumeRange(share.block_offset, share.block_end);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
  all_blocks(arrived);
  if (blockIdx.x) return;
  const volatile float *others = parts;
  if (threadIdx.x == 0) *out = others[0] + others[1] + others[2] + others[3];
}

// launch: device_reduce_max<<<5, 64>>>(i32[1], i64[2000]=random(4), 2000)
extern "C" __global__ void device_reduce_max(int *out, const long long *in, int n) {
  using Policy = cub::AgentReducePolicy<64, 2, long long, 2, cub::BLOCK_REDUCE_RAKING, cub::LOAD_DEFAULT>;
  using Agent = cub::detail::reduce::AgentReduce<Policy, const long long *, long long *, int, cuda::maximum<>, long long>;
  __shared__ typename Agent::TempStorage storage;
  int begin = 400 * blockIdx.x;
  long long most = Agent(storage, in, cuda::maximum<>{}).ConsumeRange(begin, begin + 400 < n ? begin + 400 : n);
  if (threadIdx.x == 0) atomicMax(out, (int)(most >> 33));
}

// launch: device_sort_count<<<3, 64>>>(u32[768]=random(5), u32[1024])
extern "C" __global__ void device_sort_count(const unsigned *in, unsigned *bins) {
  using Rank = cub::BlockRadixRank<64, 4, false>;
  __shared__ typename Rank::TempStorage storage;
  unsigned keys[4];
  int ranks[4];
  for (int i = 0; i < 4; i++) keys[i] = in[256 * blockIdx.x + 4 * threadIdx.x + i];
  Rank(storage).RankKeys(keys, ranks, cub::BFEDigitExtractor<unsigned>(8, 4));
  for (int i = 0; i < 4; i++) bins[256 * blockIdx.x + ranks[i]] = keys[i], atomicAdd(&bins[768 + (keys[i] >> 8 & 15)], 1);
}

// launch: device_queue<<<4, 64>>>(u32[3], i32[1024]=random(6), i32[256])
extern "C" __global__ void device_queue(unsigned *room, const int *in, int *out) {
  __shared__ unsigned begin;
  cub::GridQueue<unsigned> queue(room);
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) begin = queue.Drain(64);
    __syncthreads();
    if (begin >= 1024) return;
    atomicAdd(&out[(begin + threadIdx.x) & 255], in[begin + threadIdx.x]);
  }
}

// launch: device_select<<<4, 64>>>(u32[1], u64[64], i32[1024]=random(7), i32[1024], i32[1])
extern "C" __global__ void device_select(unsigned *arrived, unsigned long long *states, const int *in, int *out, int *count) {
  using Scan = cub::BlockScan<int, 64>;
  using Prefix = cub::TilePrefixCallbackOp<int, cuda::std::plus<>, States>;
  __shared__ typename Scan::TempStorage scan_storage;
  __shared__ typename Prefix::TempStorage prefix_storage;
  States tiles;
  tiles.Init(gridDim.x, states, 8 * (gridDim.x + 32));
  tiles.InitializeStatus(gridDim.x);
  all_blocks(arrived);
  int items[4], flags[4], places[4];
  for (int i = 0; i < 4; i++) items[i] = in[256 * blockIdx.x + 4 * threadIdx.x + i], flags[i] = items[i] % 3 == 1;
  if (blockIdx.x == 0) {
    int total;
    Scan(scan_storage).ExclusiveSum(flags, places, total);
    if (threadIdx.x == 0) tiles.SetInclusive(0, total);
  } else {
    Prefix prefix(tiles, prefix_storage, cuda::std::plus<>{}, blockIdx.x);
    Scan(scan_storage).ExclusiveSum(flags, places, prefix);
  }
  for (int i = 0; i < 4; i++)
    if (flags[i]) out[places[i]] = items[i];
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 63) *count = places[3] + flags[3];
}
