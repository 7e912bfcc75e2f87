// Block and warp algorithms of CUB.

#include <cub/block/block_shuffle.cuh>
#include <cub/cub.cuh>

// launch: block_scan_raking<<<2, 128>>>(i32[1024]=random(1, 1000), i32[1024])
extern "C" __global__ void block_scan_raking(const int *in, int *out) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING>;
  __shared__ typename Scan::TempStorage storage;
  int items[4], at = 512 * blockIdx.x + 4 * threadIdx.x;
  for (int i = 0; i < 4; i++) items[i] = in[at + i];
  Scan(storage).ExclusiveSum(items, items);
  for (int i = 0; i < 4; i++) out[at + i] = items[i];
}

// launch: block_scan_memoized<<<2, 128>>>(i32[1024]=random(2, 1000), i32[1024])
extern "C" __global__ void block_scan_memoized(const int *in, int *out) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING_MEMOIZE>;
  __shared__ typename Scan::TempStorage storage;
  int items[4], total, at = 512 * blockIdx.x + 4 * threadIdx.x;
  for (int i = 0; i < 4; i++) items[i] = in[at + i];
  Scan(storage).InclusiveSum(items, items, total);
  for (int i = 0; i < 4; i++) out[at + i] = items[i] ^ total;
}

// launch: block_scan_warps<<<2, 128>>>(f32[256]=random(3), f32[256])
extern "C" __global__ void block_scan_warps(const float *in, float *out) {
  using Scan = cub::BlockScan<float, 128, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  float value = in[128 * blockIdx.x + threadIdx.x];
  Scan(storage).InclusiveScan(value, value, cuda::maximum<>{});
  out[128 * blockIdx.x + threadIdx.x] = value;
}

// launch: block_reduce_warps<<<3, 128>>>(f32[384]=random(4), f32[3])
extern "C" __global__ void block_reduce_warps(const float *in, float *out) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = Reduce(storage).Sum(in[128 * blockIdx.x + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// launch: block_reduce_raking<<<3, 128>>>(f64[384]=random(5), f64[3])
extern "C" __global__ void block_reduce_raking(const double *in, double *out) {
  using Reduce = cub::BlockReduce<double, 128, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename Reduce::TempStorage storage;
  double sum = Reduce(storage).Sum(in[128 * blockIdx.x + threadIdx.x], 100);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// launch: block_radix_sort<<<2, 64>>>(u32[512]=random(6), u32[512])
extern "C" __global__ void block_radix_sort(const unsigned *in, unsigned *out) {
  using Sort = cub::BlockRadixSort<unsigned, 64, 4>;
  __shared__ typename Sort::TempStorage storage;
  unsigned items[4];
  int at = 256 * blockIdx.x + 4 * threadIdx.x;
  for (int i = 0; i < 4; i++) items[i] = in[at + i];
  Sort(storage).Sort(items);
  for (int i = 0; i < 4; i++) out[at + i] = items[i];
}

// launch: block_radix_pairs<<<1, 64>>>(f32[128]=random(7), i32[128]=iota, f32[128], i32[128])
extern "C" __global__ void block_radix_pairs(const float *keys, const int *values, float *sorted, int *moved) {
  using Sort = cub::BlockRadixSort<float, 64, 2, int>;
  __shared__ typename Sort::TempStorage storage;
  float key[2];
  int value[2];
  for (int i = 0; i < 2; i++) key[i] = keys[2 * threadIdx.x + i] - 0.5f, value[i] = values[2 * threadIdx.x + i];
  Sort(storage).SortDescendingBlockedToStriped(key, value);
  for (int i = 0; i < 2; i++) sorted[64 * i + threadIdx.x] = key[i], moved[64 * i + threadIdx.x] = value[i];
}

// launch: block_merge_sort<<<1, 64>>>(i32[256]=random(8), i32[256])
extern "C" __global__ void block_merge_sort(const int *in, int *out) {
  using Sort = cub::BlockMergeSort<int, 64, 4>;
  __shared__ typename Sort::TempStorage storage;
  int items[4];
  for (int i = 0; i < 4; i++) items[i] = in[4 * threadIdx.x + i];
  Sort(storage).Sort(items, [](int a, int b) { return a < b; });
  for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = items[i];
}

// launch: block_exchange<<<1, 64>>>(i32[256]=random(9), i32[256])
extern "C" __global__ void block_exchange(const int *in, int *out) {
  using Exchange = cub::BlockExchange<int, 64, 4>;
  __shared__ typename Exchange::TempStorage storage;
  int items[4];
  for (int i = 0; i < 4; i++) items[i] = in[64 * i + threadIdx.x];
  Exchange(storage).StripedToBlocked(items, items);
  for (int i = 0; i < 4; i++) items[i] = items[i] * 3 + i;
  __syncthreads();
  Exchange(storage).BlockedToStriped(items, items);
  for (int i = 0; i < 4; i++) out[64 * i + threadIdx.x] = items[i];
}

// launch: block_histogram_atomic<<<1, 64>>>(u8[256]=random(10), i32[256])
extern "C" __global__ void block_histogram_atomic(const unsigned char *in, int *out) {
  using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 256, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ int bins[256];
  unsigned char items[4];
  for (int i = 0; i < 4; i++) items[i] = in[4 * threadIdx.x + i];
  Histogram(storage).Histogram(items, bins);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) out[i] = bins[i];
}

// launch: block_histogram_sort<<<1, 64>>>(u8[256]=random(11, 40), i32[256])
extern "C" __global__ void block_histogram_sort(const unsigned char *in, int *out) {
  using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 256, cub::BLOCK_HISTO_SORT>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ int bins[256];
  unsigned char items[4];
  for (int i = 0; i < 4; i++) items[i] = in[4 * threadIdx.x + i];
  Histogram(storage).Histogram(items, bins);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) out[i] = bins[i];
}

// launch: block_discontinuity<<<1, 64>>>(i32[256]=random(12, 3), i32[256])
extern "C" __global__ void block_discontinuity(const int *in, int *out) {
  using Discontinuity = cub::BlockDiscontinuity<int, 64>;
  __shared__ typename Discontinuity::TempStorage storage;
  int items[4], heads[4], tails[4];
  for (int i = 0; i < 4; i++) items[i] = in[4 * threadIdx.x + i];
  Discontinuity(storage).FlagHeadsAndTails(heads, tails, items, cuda::std::not_equal_to<>{});
  for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = 2 * heads[i] + tails[i];
}

// launch: block_difference<<<1, 64>>>(i32[256]=random(13), i32[256])
extern "C" __global__ void block_difference(const int *in, int *out) {
  using Difference = cub::BlockAdjacentDifference<int, 64>;
  __shared__ typename Difference::TempStorage storage;
  int items[4], differences[4];
  for (int i = 0; i < 4; i++) items[i] = in[4 * threadIdx.x + i];
  Difference(storage).SubtractLeft(items, differences, cuda::std::minus<>{});
  for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = differences[i];
}

// launch: block_load_store<<<2, 64>>>(i32[512]=random(14), i32[512])
extern "C" __global__ void block_load_store(const int *in, int *out) {
  using Load = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } storage;
  int items[4];
  Load(storage.load).Load(in + 256 * blockIdx.x, items, 256 - 9 * blockIdx.x, 7);
  __syncthreads();
  for (int i = 0; i < 4; i++) items[i] += threadIdx.x * i;
  Store(storage.store).Store(out + 256 * blockIdx.x, items);
}

// launch: block_run_lengths<<<1, 32>>>(i32[64]=random(15), u32[64]=random(16, 5), i32[256])
extern "C" __global__ void block_run_lengths(const int *values, const unsigned *lengths, int *out) {
  using Decode = cub::BlockRunLengthDecode<int, 32, 2, 4>;
  __shared__ typename Decode::TempStorage storage;
  int value[2], items[4];
  unsigned length[2], size;
  for (int i = 0; i < 2; i++) value[i] = values[2 * threadIdx.x + i], length[i] = lengths[2 * threadIdx.x + i] + 1;
  Decode decode(storage, value, length, size);
  for (unsigned begin = 0; begin < size && begin < 256; begin += 128) {
    __syncthreads();
    decode.RunLengthDecode(items, begin);
    for (int i = 0; i < 4; i++)
      if (begin + 4 * threadIdx.x + i < size) out[begin + 4 * threadIdx.x + i] = items[i];
  }
}

// launch: block_shuffle<<<1, 64>>>(i32[128]=random(17), i32[128])
extern "C" __global__ void block_shuffle(const int *in, int *out) {
  using Shuffle = cub::BlockShuffle<int, 64>;
  __shared__ typename Shuffle::TempStorage storage;
  int items[2] = {in[2 * threadIdx.x], in[2 * threadIdx.x + 1]}, moved[2] = {-1, -1};
  Shuffle(storage).Up(items, moved);
  out[2 * threadIdx.x] = moved[0], out[2 * threadIdx.x + 1] = moved[1];
}

// launch: warp_scan<<<1, 64>>>(i32[64]=random(18, 1000), i32[128])
extern "C" __global__ void warp_scan(const int *in, int *out) {
  using Scan = cub::WarpScan<int, 16>;
  __shared__ typename Scan::TempStorage storage[4];
  int value = in[threadIdx.x], inclusive, exclusive;
  Scan(storage[threadIdx.x / 16]).Scan(value, inclusive, exclusive, 3, cuda::std::plus<>{});
  out[2 * threadIdx.x] = inclusive, out[2 * threadIdx.x + 1] = exclusive;
}

// launch: warp_reduce<<<1, 64>>>(i32[64]=random(19, 1000), i32[64])
extern "C" __global__ void warp_reduce(const int *in, int *out) {
  using Reduce = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage storage[2];
  int value = in[threadIdx.x], sum = Reduce(storage[threadIdx.x / 32]).HeadSegmentedSum(value, value % 5 == 0);
  out[threadIdx.x] = value % 5 == 0 || threadIdx.x % 32 == 0 ? sum : 0;
}

// launch: warp_merge_sort<<<1, 64>>>(i32[256]=random(20), i32[256])
extern "C" __global__ void warp_merge_sort(const int *in, int *out) {
  using Sort = cub::WarpMergeSort<int, 4, 32>;
  __shared__ typename Sort::TempStorage storage[2];
  int items[4];
  for (int i = 0; i < 4; i++) items[i] = in[4 * threadIdx.x + i];
  Sort(storage[threadIdx.x / 32]).Sort(items, [](int a, int b) { return a > b; });
  for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = items[i];
}

// launch: warp_exchange<<<1, 32>>>(i32[128]=random(21), i32[128])
extern "C" __global__ void warp_exchange(const int *in, int *out) {
  using Exchange = cub::WarpExchange<int, 4, 32>;
  __shared__ typename Exchange::TempStorage storage;
  int items[4], ranks[4];
  for (int i = 0; i < 4; i++) items[i] = in[32 * i + threadIdx.x], ranks[i] = (37 * (4 * threadIdx.x + i) + 5) & 127;
  Exchange(storage).ScatterToStriped(items, ranks);
  for (int i = 0; i < 4; i++) out[32 * i + threadIdx.x] = items[i];
}
