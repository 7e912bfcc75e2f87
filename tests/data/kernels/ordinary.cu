// Kernels of ordinary style. A comment `launch:` has the launch of the kernel after it.

#include <cstdint>

// launch: transpose<<<(3, 2), (32, 8)>>>(f32[6144]=random(1), f32[6144], 96, 64)
extern "C" __global__ void transpose(const float *in, float *out, int width, int height) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// launch: product<<<(2, 2), (16, 16)>>>(f32[1536]=random(1), f32[1536]=random(2), f32[1024], 48, 32)
extern "C" __global__ void product(const float *a, const float *b, float *c, int k, int n) {
  __shared__ float as[16][16], bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < k; tile += 16) {
    as[threadIdx.y][threadIdx.x] = a[row * k + tile + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum = fmaf(as[threadIdx.y][i], bs[i][threadIdx.x], sum);
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// launch: histogram<<<4, 128>>>(u8[4096]=random(3), i32[256], 4096)
extern "C" __global__ void histogram(const unsigned char *in, int *bins, int n) {
  __shared__ int own[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}

// launch: stencil<<<(2, 4), (32, 8)>>>(f32[2244]=random(4), f32[2244], 66, 34)
extern "C" __global__ void stencil(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
  if (x >= width - 1 || y >= height - 1) return;
  const float *here = in + y * width + x;
  out[y * width + x] = 0.5f * here[0] + 0.125f * (here[-1] + here[1] + here[-width] + here[width]);
}

// launch: bitonic<<<2, 256>>>(u32[1024]=random(5))
extern "C" __global__ void bitonic(unsigned *data) {
  __shared__ unsigned keys[512];
  unsigned *mine = data + 512 * blockIdx.x;
  keys[threadIdx.x] = mine[threadIdx.x], keys[threadIdx.x + 256] = mine[threadIdx.x + 256];
  for (unsigned size = 2; size <= 512; size *= 2)
    for (unsigned stride = size / 2; stride; stride /= 2) {
      __syncthreads();
      unsigned at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      bool up = !(threadIdx.x & (size / 2));
      unsigned a = keys[at], b = keys[at + stride];
      if ((a > b) == up) keys[at] = b, keys[at + stride] = a;
    }
  __syncthreads();
  mine[threadIdx.x] = keys[threadIdx.x], mine[threadIdx.x + 256] = keys[threadIdx.x + 256];
}

// launch: sums<<<3, 256>>>(i32[768]=random(6, 1000), i32[768])
extern "C" __global__ void sums(const int *in, int *out) {
  __shared__ int both[2][256];
  int now = 0, at = threadIdx.x, all = blockIdx.x * 256 + at;
  both[0][at] = in[all];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2, now ^= 1) {
    both[now ^ 1][at] = both[now][at] + (at >= step ? both[now][at - step] : 0);
    __syncthreads();
  }
  out[all] = both[now][at];
}

// launch: reduction<<<4, 256>>>(f32[5000]=random(7), f32[4], 5000)
extern "C" __global__ void reduction(const float *in, float *out, int n) {
  __shared__ float of_warp[8];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < 8 ? of_warp[threadIdx.x] : 0;
  for (int step = 4; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// launch: collatz<<<2, 128>>>(i32[256])
extern "C" __global__ void collatz(int *steps) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, n = at + 1;
  int count = 0;
  while (n != 1) n = n % 2 ? 3 * n + 1 : n / 2, count++;
  steps[at] = count;
}

// launch: mandelbrot<<<(2, 4), (32, 4)>>>(i32[1024], 64, 60)
extern "C" __global__ void mandelbrot(int *out, int width, int limit) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  float cx = px * (3.0f / 64) - 2.1f, cy = py * (2.4f / 16) - 1.2f, x = 0, y = 0;
  int n = 0;
  for (; n < limit && x * x + y * y < 4; n++) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy, x = next;
  }
  out[py * width + px] = n;
}

// launch: bodies<<<2, 64>>>(f32[512]=random(8), f32[384], 128)
extern "C" __global__ void bodies(const float4 *in, float *out, int n) {
  __shared__ float4 tile[64];
  int at = blockIdx.x * 64 + threadIdx.x;
  float4 me = in[at];
  float ax = 0, ay = 0, az = 0;
  for (int begin = 0; begin < n; begin += 64) {
    tile[threadIdx.x] = in[begin + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 64; i++) {
      float x = tile[i].x - me.x, y = tile[i].y - me.y, z = tile[i].z - me.z;
      float square = x * x + y * y + z * z + 0.01f, factor = tile[i].w / (square * sqrtf(square));
      ax += x * factor, ay += y * factor, az += z * factor;
    }
    __syncthreads();
  }
  out[3 * at] = ax, out[3 * at + 1] = ay, out[3 * at + 2] = az;
}

// launch: crc<<<2, 64>>>(u8[2048]=random(9), u32[128])
extern "C" __global__ void crc(const unsigned char *in, unsigned *out) {
  __shared__ unsigned table[256];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
    unsigned word = i;
    for (int bit = 0; bit < 8; bit++) word = word & 1 ? word >> 1 ^ 0xEDB88320u : word >> 1;
    table[i] = word;
  }
  __syncthreads();
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, word = ~0u;
  for (int i = 0; i < 16; i++) word = word >> 8 ^ table[(word ^ in[16 * at + i]) & 255];
  out[at] = ~word;
}

// launch: life<<<(2, 2), (16, 16)>>>(u8[1024]=random(10, 2), u8[1024])
extern "C" __global__ void life(const unsigned char *in, unsigned char *out) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, near = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) near += in[((y + dy) & 31) * 32 + ((x + dx) & 31)];
  out[y * 32 + x] = near == 3 || (near == 2 && in[y * 32 + x]);
}

// launch: bits<<<2, 64>>>(u32[128]=random(11), u32[1152])
extern "C" __global__ void bits(const unsigned *in, unsigned *out) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, a = in[at], b = in[(at + 1) % 128], *to = out + 9 * at;
  to[0] = __popc(a), to[1] = __clz(a & b), to[2] = __ffs(a & b), to[3] = __brev(a);
  to[4] = __funnelshift_l(a, b, a & 63), to[5] = __funnelshift_rc(a, b, b & 63);
  to[6] = __byte_perm(a, b, b), to[7] = __umulhi(a, b) ^ __mulhi((int)a, (int)b);
  to[8] = __usad(a, b, 3) + __uhadd(a, b) - __urhadd(b, a);
}

// launch: dots<<<1, 128>>>(i32[512]=random(12), i32[128])
extern "C" __global__ void dots(const int *in, int *out) {
  int sum = threadIdx.x;
  for (int i = 0; i < 4; i++) {
    int word = in[4 * threadIdx.x + i];
    sum = __dp4a(word, in[(4 * threadIdx.x + i + 7) & 511], sum);
    sum += __dp2a_lo(word, word >> 3, i) ^ (int)__dp4a((unsigned)word, 0x01020304u, 7u);
  }
  out[threadIdx.x] = sum;
}

// launch: doubles<<<1, 64>>>(f64[64]=random(13), f64[320])
extern "C" __global__ void doubles(const double *in, double *out) {
  double x = in[threadIdx.x] * 4 - 2, sum = 0, *to = out + 5 * threadIdx.x;
  for (int i = 1; i < 12; i++) sum = sum * x + 1.0 / i;
  to[0] = sum, to[1] = sqrt(x * x + 1), to[2] = x / (sum + 3), to[3] = fma(x, sum, -x);
  to[4] = floor(x) + ceil(sum) + trunc(8 * x) + rint(sum * 3) + fmod(sum, 0.75) + fabs(x);
}

// launch: rounding<<<1, 64>>>(f32[128]=random(14), f32[640])
extern "C" __global__ void rounding(const float *in, float *out) {
  float a = in[threadIdx.x] - 0.5f, b = in[threadIdx.x + 64] * 3, *to = out + 10 * threadIdx.x;
  to[0] = __fadd_rz(a, b), to[1] = __fadd_ru(a, b), to[2] = __fmul_rd(a, b), to[3] = __fmaf_ru(a, b, a);
  to[4] = __fdiv_rd(a, b), to[5] = __fsqrt_ru(b), to[6] = __frcp_rz(b), to[7] = truncf(9 * a) + rintf(7 * b);
  to[8] = __double2float_rz((double)a * b), to[9] = fminf(a, b) + fmaxf(a, -b) + copysignf(b, a);
}

// launch: conversions<<<1, 64>>>(f32[64]=random(15), i32[640])
extern "C" __global__ void conversions(const float *in, int *out) {
  float x = (in[threadIdx.x] - 0.5f) * 3000, *as_float = (float *)out;
  int *to = out + 10 * threadIdx.x;
  to[0] = __float2int_rn(x), to[1] = __float2int_rz(x), to[2] = __float2int_ru(x), to[3] = __float2int_rd(x);
  to[4] = (int)__float2uint_rz(x), to[5] = (signed char)(int)x, to[6] = (unsigned short)(int)x;
  to[7] = (int)(long long)(x * 1e7f), to[8] = (int)((double)x * 1e6);
  as_float[10 * threadIdx.x + 9] = __int2float_rz((int)(x * 12345.0f) * 3) + __ll2float_rd((long long)x * 77777777777LL);
}

// launch: wide_integers<<<1, 64>>>(u64[64]=random(16), u64[320])
extern "C" __global__ void wide_integers(const unsigned long long *in, unsigned long long *out) {
  unsigned long long a = in[threadIdx.x], b = in[(threadIdx.x + 1) & 63] >> 20 | 1, *to = out + 5 * threadIdx.x;
  unsigned __int128 whole = (unsigned __int128)a * a + b;
  to[0] = (unsigned long long)(whole >> 64), to[1] = (unsigned long long)whole + a / b;
  to[2] = a % b + (unsigned long long)((long long)a / (long long)b), to[3] = __umul64hi(a, b) ^ __brevll(a);
  to[4] = __popcll(a) + __clzll(b) + __ffsll((long long)a) + (a << (b & 63)) + ((long long)a >> (b & 31));
}

// launch: spin_lock<<<4, 32>>>(i32[1], i32[3])
extern "C" __global__ void spin_lock(int *lock, int *data) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      volatile int *words = data;
      words[0] = words[0] + 1, words[1] = words[1] + threadIdx.x, words[2] = words[2] ^ (int)(threadIdx.x * blockIdx.x);
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// launch: ticket_lock<<<4, 32>>>(u32[2], i32[2])
extern "C" __global__ void ticket_lock(unsigned *turns, int *data) {
  if (threadIdx.x % 32) return;
  unsigned mine = atomicAdd(&turns[0], 1);
  while (*(volatile unsigned *)&turns[1] != mine) {}
  __threadfence();
  volatile int *words = data;
  words[0] = words[0] + 3, words[1] = words[1] + blockIdx.x;
  __threadfence();
  atomicAdd(&turns[1], 1);
}

__device__ unsigned blocks_done;

// launch: last_block<<<6, 64>>>(i32[1000]=random(17, 5000), i32[6], i32[1], 1000)
extern "C" __global__ void last_block(const int *in, volatile int *parts, int *out, int n) {
  __shared__ bool is_last;
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  int sum = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += in[i];
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = total;
    __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last || threadIdx.x) return;
  int all = 0;
  for (int i = 0; i < gridDim.x; i++) all += parts[i];
  *out = all;
}

// launch: grid_barrier<<<4, 64>>>(u32[1], i32[256]=random(18, 100), i32[256])
extern "C" __global__ void grid_barrier(unsigned *arrived, int *data, int *out) {
  int at = blockIdx.x * 64 + threadIdx.x;
  for (int round = 0; round < 3; round++) {
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += ((volatile int *)data)[(at + 64 * i + round) & 255];
    for (int phase = 0; phase < 2; phase++) {
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < 4 * (2 * round + phase + 1)) {}
      }
      __syncthreads();
      __threadfence();
      if (phase == 0) ((volatile int *)data)[at] = sum;
    }
  }
  out[at] = ((volatile int *)data)[(at * 7) & 255];
}

// launch: look_back<<<5, 64>>>(u64[5], i32[320]=random(19, 1000), i32[320])
extern "C" __global__ void look_back(volatile unsigned long long *states, const int *in, int *out) {
  __shared__ int of_warp[2], before;
  int at = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x % 32, sum = in[at];
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) sum += of_warp[0];
  if (threadIdx.x == 63) {
    int prefix = 0;
    if (blockIdx.x) {
      states[blockIdx.x] = 1ull << 32 | (unsigned)sum;
      for (int tile = blockIdx.x - 1; tile >= 0;) {
        unsigned long long state = states[tile];
        if (!(state >> 32)) continue;
        prefix += (int)state;
        if (state >> 32 == 2) break;
        tile--;
      }
    }
    before = prefix;
    states[blockIdx.x] = 2ull << 32 | (unsigned)(prefix + sum);
  }
  __syncthreads();
  out[at] = before + sum;
}

// launch: compaction<<<1, 256>>>(i32[256]=random(20), i32[256], i32[1])
extern "C" __global__ void compaction(const int *in, int *out, int *count) {
  __shared__ int of_warp[8];
  int value = in[threadIdx.x], lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned chosen = __ballot_sync(~0u, value % 3 == 0);
  if (lane == 0) of_warp[warp] = __popc(chosen);
  __syncthreads();
  int begin = 0;
  for (int i = 0; i < warp; i++) begin += of_warp[i];
  if (chosen >> lane & 1) out[begin + __popc(chosen & ((1u << lane) - 1))] = value;
  if (threadIdx.x == 255) *count = begin + __popc(chosen);
}

// launch: votes<<<1, 64>>>(i32[64]=random(21, 7), u32[512])
extern "C" __global__ void votes(const int *in, unsigned *out) {
  int value = in[threadIdx.x], all;
  unsigned *to = out + 8 * threadIdx.x;
  to[0] = __match_any_sync(~0u, value), to[1] = __match_all_sync(~0u, value / 8, &all), to[2] = all;
  to[3] = __reduce_add_sync(~0u, value) ^ __reduce_max_sync(~0u, value), to[4] = __reduce_xor_sync(~0u, value);
  to[5] = __any_sync(~0u, value == 3) + 2 * __all_sync(~0u, value < 6), to[6] = __shfl_xor_sync(~0u, value, 5);
  if (value > 2) to[7] = __reduce_min_sync(__activemask(), value);
}

// launch: radix_split<<<1, 256>>>(u32[256]=random(22), u32[256])
extern "C" __global__ void radix_split(const unsigned *in, unsigned *out) {
  __shared__ unsigned keys[256];
  __shared__ int ones[256];
  int at = threadIdx.x;
  keys[at] = in[at] & 0xFFF;
  for (int bit = 0; bit < 12; bit++) {
    __syncthreads();
    unsigned key = keys[at];
    int set = key >> bit & 1;
    ones[at] = set;
    for (int step = 1; step < 256; step *= 2) {
      __syncthreads();
      int other = at >= step ? ones[at - step] : 0;
      __syncthreads();
      ones[at] += other;
    }
    __syncthreads();
    int zeros = 256 - ones[255], to = set ? zeros + ones[at] - 1 : at - ones[at];
    keys[to] = key;
  }
  __syncthreads();
  out[at] = keys[at];
}

// launch: sparse<<<1, 64>>>(i32[65]=iota, i32[512]=random(23, 64), f32[512]=random(24), f32[64]=random(25), f32[64])
extern "C" __global__ void sparse(const int *rows, const int *columns, const float *values, const float *x, float *y) {
  int row = threadIdx.x, begin = rows[row] * rows[row] / 8 % 400, end = begin + row % 9 + rows[row + 1] % 5;
  float sum = 0;
  for (int i = begin; i < end; i++) sum += values[i] * x[columns[i]];
  y[row] = sum;
}

__device__ static int root_of(const volatile int *parent, int at) {
  while (parent[at] != at) at = parent[at];
  return at;
}

// launch: components<<<1, 128>>>(i32[128]=iota, i32[160]=random(26, 128))
extern "C" __global__ void components(int *parent, const int *edges) {
  bool done = threadIdx.x >= 80;
  int a = done ? 0 : edges[2 * threadIdx.x], b = done ? 0 : edges[2 * threadIdx.x + 1];
  while (!done) {
    a = root_of(parent, a), b = root_of(parent, b);
    if (a < b) { int other = a; a = b, b = other; }
    done = a == b || atomicCAS(&parent[a], a, b) == a;
  }
  __syncthreads();
  int root = root_of(parent, threadIdx.x);
  __syncthreads();
  parent[threadIdx.x] = root;
}

__constant__ float weights[9] = {0.0625f, 0.125f, 0.0625f, 0.125f, 0.25f, 0.125f, 0.0625f, 0.125f, 0.0625f};

// launch: convolution<<<(2, 2), (16, 16)>>>(f32[1156]=random(27), f32[1024])
extern "C" __global__ void convolution(const float *in, float *out) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int i = 0; i < 9; i++) sum += weights[i] * in[(y + i / 3) * 34 + x + i % 3];
  out[y * 32 + x] = sum;
}

// launch: elimination<<<1, (16, 16)>>>(f32[256]=random(28))
extern "C" __global__ void elimination(float *matrix) {
  __shared__ float a[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  a[y][x] = matrix[y * 16 + x] + (x == y ? 16 : 0);
  for (int k = 0; k < 15; k++) {
    __syncthreads();
    if (x == k && y > k) a[y][k] /= a[k][k];
    __syncthreads();
    if (x > k && y > k) a[y][x] -= a[y][k] * a[k][x];
  }
  __syncthreads();
  matrix[y * 16 + x] = a[y][x];
}

// launch: walsh<<<2, 128, 1024>>>(i32[512]=random(29, 200))
extern "C" __global__ void walsh(int *data) {
  extern __shared__ int words[];
  int *mine = data + 256 * blockIdx.x;
  for (int i = threadIdx.x; i < 256; i += 128) words[i] = mine[i];
  for (int stride = 1; stride < 256; stride *= 2) {
    __syncthreads();
    int at = 2 * threadIdx.x - (threadIdx.x & (stride - 1)), a = words[at], b = words[at + stride];
    words[at] = a + b, words[at + stride] = a - b;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 128) mine[i] = words[i];
}

// launch: atomics<<<3, 64>>>(i32[192]=random(30), u32[12]=ones, u64[4]=ones, f32[2], f64[1])
extern "C" __global__ void atomics(const int *in, unsigned *words, unsigned long long *wide, float *floats, double *fine) {
  int value = in[blockIdx.x * 64 + threadIdx.x];
  atomicAdd(&words[0], value), atomicSub(&words[1], value), atomicMin((int *)&words[2], value), atomicMax(&words[3], value);
  atomicAnd(&words[4], value | 7), atomicOr(&words[5], value & 0xF0), atomicXor(&words[6], value);
  atomicInc(&words[7], 10), atomicDec(&words[8], 17);
  atomicMax(&wide[0], (unsigned long long)value << 20), atomicAdd(&wide[1], value), atomicXor(&wide[2], (unsigned long long)value << 13);
  atomicAdd(&floats[0], (value & 15) * 0.25f), atomicAdd(fine, (value & 255) * 0.5);
  for (unsigned seen = words[9], expected; true;) {
    expected = seen;
    seen = atomicCAS(&words[9], expected, expected * 5 + 1);
    if (seen == expected) break;
  }
}

// launch: local_array<<<1, 64>>>(i32[64]=random(31), i32[64])
extern "C" __global__ void local_array(const int *in, int *out) {
  int own[32];
  unsigned value = in[threadIdx.x];
  for (int i = 0; i < 32; i++) own[i] = i * i;
  for (int i = 0; i < 40; i++) value = value * 1103515245u + 12345u, own[value >> 27] ^= value;
  int sum = 0;
  for (int i = 0; i < 32; i++) sum = sum * 31 + own[(i * 5) & 31];
  out[threadIdx.x] = sum;
}

__device__ __noinline__ int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

// launch: recursion<<<1, 12>>>(i32[12])
extern "C" __global__ void recursion(int *out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x / 3); }

// launch: table_of_jumps<<<1, 64>>>(i32[64]=random(32), i32[64])
extern "C" __global__ void table_of_jumps(const int *in, int *out) {
  int value = in[threadIdx.x];
  for (int i = 0; i < 6; i++)
    switch (value & 7) {
      case 0: value = value * 3 + 1; break;
      case 1: value ^= value >> 5; break;
      case 2: value = ~value; break;
      case 3: value += 0x1234567; break;
      case 4: value = __brev(value); break;
      case 5: value = value / 3; break;
      case 6: value = value << 1 | 1; break;
      default: value = value % 1000003;
    }
  out[threadIdx.x] = value;
}

// launch: named_barriers<<<1, 128>>>(i32[64]=random(33), i32[64])
extern "C" __global__ void named_barriers(const int *in, int *out) {
  __shared__ int slot[64];
  int at = threadIdx.x % 64;
  for (int i = 0; i < 4; i++) {
    if (threadIdx.x < 64) {
      if (i) asm volatile("bar.sync 2, 128;" ::: "memory");
      slot[at] = in[(at + i) & 63] * (i + 1);
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 128;" ::: "memory");
      out[at] += slot[at ^ 1];
      if (i < 3) asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
  }
}

// launch: carries<<<1, 32>>>(u32[256]=random(34), u32[160])
extern "C" __global__ void carries(const unsigned *in, unsigned *out) {
  const unsigned *a = in + 4 * threadIdx.x, *b = a + 128;
  unsigned c[5];
  asm("add.cc.u32 %0, %5, %9; addc.cc.u32 %1, %6, %10; addc.cc.u32 %2, %7, %11; addc.cc.u32 %3, %8, %12; addc.u32 %4, 0, 0;"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3]), "=r"(c[4])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
  for (int i = 0; i < 5; i++) out[5 * threadIdx.x + i] = c[i];
}

// launch: generic<<<2, 64>>>(i32[128]=random(35), i32[128])
extern "C" __global__ void generic(const int *in, int *out) {
  __shared__ int tile[64];
  int own[4] = {1, 2, 3, 4}, at = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x] = in[at];
  __syncthreads();
  const int *from[3] = {in + at, tile + (threadIdx.x ^ 3), own + (threadIdx.x & 3)};
  int sum = 0;
  for (int i = 0; i < 3; i++) sum = sum * 7 + *from[(threadIdx.x + i) % 3];
  out[at] = sum + (__isShared(from[threadIdx.x % 3]) ? 1000 : 0);
}

// launch: warp_matrix<<<1, 32>>>(f64[32]=random(36), f64[64])
extern "C" __global__ void warp_matrix(const double *in, double *out) {
  double value = in[threadIdx.x], sum = 0;
  long long other = threadIdx.x * 0x100000001LL;
  for (int i = 0; i < 32; i++) sum = fma(__shfl_sync(~0u, value, i), __shfl_sync(~0u, value, threadIdx.x ^ i), sum);
  out[threadIdx.x] = sum, out[32 + threadIdx.x] = (double)__shfl_up_sync(~0u, other, 3, 16);
}

// launch: exits<<<1, 96>>>(i32[96], 70)
extern "C" __global__ void exits(int *out, int n) {
  __shared__ int words[96];
  words[threadIdx.x] = threadIdx.x * 3;
  if (threadIdx.x >= n) return;
  __syncthreads();
  int sum = 0;
  for (int i = threadIdx.x; i < n && i < threadIdx.x + 5; i++) sum += words[i % 64];
  if (sum % 4 == 1) { out[threadIdx.x] = -sum; return; }
  __syncwarp(__activemask());
  out[threadIdx.x] = sum;
}
