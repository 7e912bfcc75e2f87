// The twin of examples/kernels/look_back_scan.mlir.
#include <cuda/atomic>
#include <cuda/std/cstdint>

using State = unsigned long long;
constexpr unsigned all_lanes = 0xffffffff;
constexpr int rows = 4;

__device__ unsigned inclusive_in_warp(unsigned value, unsigned lane) {
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    unsigned other = __shfl_up_sync(all_lanes, value, distance);
    value += lane >= distance ? other : 0;
  }
  return value;
}

extern "C" __global__ void __launch_bounds__(256)
    look_back_scan(unsigned *drawn, State *states, const uint4 *__restrict__ in, uint4 *out) {
  __shared__ unsigned totals[32], tile_drawn, prefix_found;
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> next(*drawn);
    tile_drawn = next.fetch_add(1, cuda::std::memory_order_relaxed);
  }
  __syncthreads();
  unsigned tile = tile_drawn;
  uint4 v[rows];
  unsigned inclusive[rows], sums[rows];
#pragma unroll
  for (int j = 0; j < rows; ++j)
    v[j] = in[tile * 1024 + j * 256 + threadIdx.x];
#pragma unroll
  for (int j = 0; j < rows; ++j) {
    v[j].y += v[j].x;
    v[j].z += v[j].y;
    v[j].w += v[j].z;
    sums[j] = v[j].w;
    inclusive[j] = inclusive_in_warp(sums[j], lane);
    if (lane == 31)
      totals[j * 8 + warp] = inclusive[j];
  }
  __syncthreads();
  if (warp == 0) {
    unsigned own = totals[lane], scanned = inclusive_in_warp(own, lane);
    totals[lane] = scanned - own;
    unsigned sum = __shfl_sync(all_lanes, scanned, 31), prefix = 0;
    cuda::atomic_ref<State, cuda::thread_scope_device> state(states[tile]);
    if (lane == 0)
      state.store((tile == 0 ? State(2) : State(1)) << 32 | sum, cuda::std::memory_order_relaxed);
    if (tile != 0) {
      unsigned prefixes = 0;
      for (int at = int(tile) - 1 - int(lane); prefixes == 0; at -= 32) {
        State seen;
        do {
          seen = State(2) << 32;
          if (at >= 0)
            seen = cuda::atomic_ref<State, cuda::thread_scope_device>(states[at]).load(
                cuda::std::memory_order_relaxed);
        } while (__any_sync(all_lanes, seen >> 32 == 0));
        prefixes = __ballot_sync(all_lanes, seen >> 32 == 2);
        bool counts = (prefixes & ((1u << lane) - 1)) == 0;
        prefix += __reduce_add_sync(all_lanes, counts ? unsigned(seen) : 0);
      }
      if (lane == 0)
        state.store(State(2) << 32 | (prefix + sum), cuda::std::memory_order_relaxed);
    }
    if (lane == 0)
      prefix_found = prefix;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < rows; ++j) {
    unsigned before = prefix_found + totals[j * 8 + warp] + inclusive[j] - sums[j];
    uint4 result = {before + v[j].x, before + v[j].y, before + v[j].z, before + v[j].w};
    out[tile * 1024 + j * 256 + threadIdx.x] = result;
  }
}
