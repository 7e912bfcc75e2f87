// Each value becomes an average of itself, twice, and its neighbours, by a tile in shared memory.

extern "C" __global__ void smooth(const float *in, float *out, int n) {
  __shared__ float tile[66];
  int at = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x + 1] = in[at];
  if (threadIdx.x == 0) tile[0] = at > 0 ? in[at - 1] : 0;
  if (threadIdx.x == 63) tile[65] = at + 1 < n ? in[at + 1] : 0;
  __syncthreads();
  out[at] = (tile[threadIdx.x] + 2 * tile[threadIdx.x + 1] + tile[threadIdx.x + 2]) / 4;
}

void launch(const float *in, float *out) { smooth<<<4, 64>>>(in, out, 256); }
