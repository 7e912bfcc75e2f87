// Kernels of ordinary style, for waves of 64 lanes. A comment `launch:` has the launch of the kernel after it.

#include "hip.h"

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
    for (int i = 0; i < 16; i++) sum = __builtin_fmaf(as[threadIdx.y][i], bs[i][threadIdx.x], sum);
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
  unsigned *mine = data + 512 * blockIdx.x, thread = threadIdx.x;
  keys[thread] = mine[thread], keys[thread + 256] = mine[thread + 256];
  for (unsigned size = 2; size <= 512; size *= 2)
    for (unsigned stride = size / 2; stride; stride /= 2) {
      __syncthreads();
      unsigned at = 2 * thread - (thread & (stride - 1));
      bool up = !(thread & (size / 2));
      unsigned a = keys[at], b = keys[at + stride];
      if ((a > b) == up) keys[at] = b, keys[at + stride] = a;
    }
  __syncthreads();
  mine[thread] = keys[thread], mine[thread + 256] = keys[thread + 256];
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
  __shared__ float of_wave[4];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int step = 32; step; step /= 2) sum += __shfl_down(sum, step);
  if (threadIdx.x % 64 == 0) of_wave[threadIdx.x / 64] = sum;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = of_wave[0] + of_wave[1] + of_wave[2] + of_wave[3];
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
      float square = x * x + y * y + z * z + 0.01f, factor = tile[i].w / (square * __builtin_sqrtf(square));
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

// launch: bits<<<2, 64>>>(u32[128]=random(11), u32[1024])
extern "C" __global__ void bits(const unsigned *in, unsigned *out) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, a = in[at], b = in[(at + 1) % 128], *to = out + 8 * at;
  to[0] = __builtin_popcount(a), to[1] = a & b ? __builtin_clz(a & b) : 32, to[2] = __builtin_ffs(a & b);
  to[3] = __builtin_bitreverse32(a), to[4] = a << (b & 31) | (b >> 1) >> (31 - (b & 31)), to[5] = __builtin_bswap32(a ^ b);
  to[6] = (u64)a * b >> 32 ^ (unsigned)((long long)(int)a * (int)b >> 32), to[7] = (a > b ? a - b : b - a) + 3;
}

// launch: dots<<<1, 128>>>(i32[512]=random(12), i32[128])
extern "C" __global__ void dots(const int *in, int *out) {
  int sum = threadIdx.x;
  for (int i = 0; i < 4; i++) {
    int a = in[4 * threadIdx.x + i], b = in[(4 * threadIdx.x + i + 7) & 511];
    for (int n = 0; n < 4; n++) sum += (int)(signed char)(a >> 8 * n) * (signed char)(b >> 8 * n);
    for (int n = 0; n < 2; n++) sum ^= (int)(short)(a >> 16 * n) * (short)(b >> 16 * n);
  }
  out[threadIdx.x] = sum;
}

// launch: doubles<<<1, 64>>>(f64[64]=random(13), f64[320])
extern "C" __global__ void doubles(const double *in, double *out) {
  double x = in[threadIdx.x] * 4 - 2, sum = 0, *to = out + 5 * threadIdx.x;
  for (int i = 1; i < 12; i++) sum = sum * x + 1.0 / i;
  to[0] = sum, to[1] = __builtin_sqrt(x * x + 1), to[2] = x / (sum + 3), to[3] = __builtin_fma(x, sum, -x);
  to[4] = __builtin_floor(x) + __builtin_ceil(sum) + __builtin_trunc(8 * x) + __builtin_rint(sum * 3) + __builtin_fabs(x);
}

// launch: floats<<<1, 64>>>(f32[128]=random(14), f32[640])
extern "C" __global__ void floats(const float *in, float *out) {
  float a = in[threadIdx.x] - 0.5f, b = in[threadIdx.x + 64] * 3, *to = out + 10 * threadIdx.x;
  to[0] = a / b, to[1] = b / a, to[2] = __builtin_sqrtf(b), to[3] = __builtin_fmaf(a, b, a), to[4] = a * 1e-38f / (b * 1e30f);
  to[5] = __builtin_truncf(9 * a) + __builtin_rintf(7 * b), to[6] = __builtin_fminf(a, b) + __builtin_fmaxf(a, -b);
  to[7] = __builtin_copysignf(b, a), to[8] = (float)((double)a * b), to[9] = 1 / __builtin_sqrtf(b * 1e-40f);
}

// launch: halves<<<1, 64>>>(f32[128]=random(15), f32[384])
extern "C" __global__ void halves(const float *in, float *out) {
  _Float16 a = (_Float16)(in[threadIdx.x] * 8 - 4), b = (_Float16)in[threadIdx.x + 64];
  float *to = out + 6 * threadIdx.x;
  to[0] = a * b, to[1] = a + b, to[2] = a - b * a, to[3] = (float)(_Float16)(in[threadIdx.x] * 1e-6f);
  to[4] = a < b ? (float)a : 7.0f, to[5] = (float)(_Float16)__builtin_fmaf(in[threadIdx.x], 70000, a);
}

// launch: conversions<<<1, 64>>>(f32[64]=random(16), i32[512])
extern "C" __global__ void conversions(const float *in, int *out) {
  float x = (in[threadIdx.x] - 0.5f) * 3000, *as_float = (float *)out;
  int *to = out + 8 * threadIdx.x;
  to[0] = (int)x, to[1] = (int)__builtin_rintf(x), to[2] = (int)(unsigned)(x + 1500), to[3] = (signed char)(int)x;
  to[4] = (unsigned short)(int)x, to[5] = (int)(long long)(x * 1e7f), to[6] = (int)((double)x * 1e6);
  as_float[8 * threadIdx.x + 7] = (float)((long long)x * 77777777777LL) + (float)(u64)(unsigned)to[1] + (float)(int)to[0];
}

// launch: wide_integers<<<1, 64>>>(u64[64]=random(17), u64[320])
extern "C" __global__ void wide_integers(const u64 *in, u64 *out) {
  u64 a = in[threadIdx.x], b = in[(threadIdx.x + 1) & 63] >> 20 | 1, *to = out + 5 * threadIdx.x;
  unsigned __int128 whole = (unsigned __int128)a * a + b;
  to[0] = (u64)(whole >> 64), to[1] = (u64)whole + a / b, to[2] = a % b + (u64)((long long)a / (long long)b);
  to[3] = __builtin_bitreverse64(a) ^ (u64)((long long)a % (long long)(b >> 7 | 3));
  to[4] = __builtin_popcountll(a) + __builtin_clzll(b) + __builtin_ctzll(a | 1ull << 63) + (a << (b & 63)) + ((long long)a >> (b & 31));
}

// launch: spin_lock<<<4, 128>>>(i32[1], i32[3])
extern "C" __global__ void spin_lock(int *lock, int *data) {
  // Lanes of one wave that wait for each other are not for this hardware.
  if (threadIdx.x % 64 != 9) return;
  while (atomicCAS(lock, 0, 1)) {}
  __threadfence();
  volatile int *words = data;
  words[0] = words[0] + 1, words[1] = words[1] + threadIdx.x, words[2] = words[2] ^ (int)(threadIdx.x * blockIdx.x);
  __threadfence();
  atomicExch(lock, 0);
}

__device__ unsigned blocks_done;

// launch: last_block<<<6, 64>>>(i32[1000]=random(18, 5000), i32[6], i32[1], 1000)
extern "C" __global__ void last_block(const int *in, volatile int *parts, int *out, int n) {
  __shared__ int is_last, total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  int sum = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += in[i];
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = total;
    __threadfence();
    is_last = (int)atomicAdd(&blocks_done, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last || threadIdx.x) return;
  int all = 0;
  for (int i = 0; i < gridDim.x; i++) all += parts[i];
  *out = all, blocks_done = 0;
}

// launch: look_back<<<5, 64>>>(u64[5], i32[320]=random(19, 1000), i32[320])
extern "C" __global__ void look_back(volatile u64 *states, const int *in, int *out) {
  __shared__ int before;
  int at = blockIdx.x * 64 + threadIdx.x, sum = in[at];
  for (int step = 1; step < 64; step *= 2) {
    int other = __shfl_up(sum, step);
    if ((int)threadIdx.x >= step) sum += other;
  }
  if (threadIdx.x == 63) {
    int prefix = 0;
    if (blockIdx.x) {
      states[blockIdx.x] = 1ull << 32 | (unsigned)sum;
      for (int tile = blockIdx.x - 1; tile >= 0;) {
        u64 state = states[tile];
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
  __shared__ int of_wave[4];
  int value = in[threadIdx.x], lane = threadIdx.x % 64, wave = threadIdx.x / 64;
  u64 chosen = __ballot(value % 3 == 0);
  if (lane == 0) of_wave[wave] = __builtin_popcountll(chosen);
  __syncthreads();
  int begin = 0;
  for (int i = 0; i < wave; i++) begin += of_wave[i];
  if (chosen >> lane & 1) out[begin + __builtin_popcountll(chosen & ((1ull << lane) - 1))] = value;
  if (threadIdx.x == 255) *count = begin + __builtin_popcountll(chosen);
}

// launch: votes<<<1, 128>>>(i32[128]=random(21, 7), u64[512])
extern "C" __global__ void votes(const int *in, u64 *out) {
  int value = in[threadIdx.x];
  u64 *to = out + 4 * threadIdx.x, same = 0;
  for (int n = 0; n < 7; n++) {
    u64 have = __ballot(value == n);
    if (value == n) same = have;
  }
  to[0] = same, to[1] = __any(value == 3) + 2 * !__any(value == 6), to[2] = __shfl_xor(value, 37);
  to[3] = __shfl((long long)value * 0x123456789LL, value * 9);
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
  DYNAMIC(int, words);
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

// launch: atomics<<<3, 64>>>(i32[192]=random(30), u32[8]=ones, u64[3]=ones, f32[1], f64[1])
extern "C" __global__ void atomics(const int *in, unsigned *words, u64 *wide, float *single, double *fine) {
  int value = in[blockIdx.x * 64 + threadIdx.x];
  atomicAdd(&words[0], value), atomicSub(&words[1], value), atomicMin((int *)&words[2], value), atomicMax(&words[3], value);
  atomicAnd(&words[4], value | 7), atomicOr(&words[5], value & 0xF0), atomicXor(&words[6], value);
  atomicMax(&wide[0], (u64)value << 20), atomicAdd(&wide[1], value), atomicXor(&wide[2], (u64)value << 13);
  atomicAdd(single, (value & 15) * 0.25f), atomicAdd(fine, (value & 255) * 0.5);
  for (unsigned seen = words[7], expected; true;) {
    expected = seen;
    seen = atomicCAS(&words[7], expected, expected * 5 + 1);
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

// launch: chosen_register<<<2, 64>>>(i32[128]=random(32), i32[128], 5)
extern "C" __global__ void chosen_register(const int *in, int *out, int by) {
  int own[16], sum = 0;
  for (int i = 0; i < 16; i++) own[i] = in[(threadIdx.x + i * 3) & 127] + i;
  for (int i = 0; i < 12; i++) {
    int at = (i * by + blockIdx.x) & 15;
    sum = sum * 31 + own[at], own[(at + by) & 15] = sum;
  }
  for (int i = 0; i < 16; i++) sum ^= own[i] * (i + 1);
  out[blockIdx.x * 64 + threadIdx.x] = sum;
}

__device__ __noinline__ int steps_of(int m, int n) { return m == 0 ? n + 1 : n == 0 ? m * 7 : (m * 13 + n) % 101; }

// launch: calls<<<1, 64>>>(i32[64])
extern "C" __global__ void calls(int *out) {
  int sum = 0;
  for (int i = 0; i < 5; i++) sum = sum * 3 + steps_of(threadIdx.x % 4, (threadIdx.x + i) % 3);
  out[threadIdx.x] = sum;
}

// launch: table_of_jumps<<<1, 64>>>(i32[64]=random(33), i32[64])
extern "C" __global__ void table_of_jumps(const int *in, int *out) {
  int value = in[threadIdx.x];
  for (int i = 0; i < 6; i++)
    switch (value & 7) {
      case 0: value = (int)((unsigned)value * 3 + 1); break;
      case 1: value ^= value >> 5; break;
      case 2: value = ~value; break;
      case 3: value = (int)((unsigned)value + 0x1234567); break;
      case 4: value = __builtin_bitreverse32(value); break;
      case 5: value = value / 3; break;
      case 6: value = value << 1 | 1; break;
      default: value = value % 1000003;
    }
  out[threadIdx.x] = value;
}

struct Parameters { int scale, shift; float factor; };

// launch: by_value<<<1, 64>>>(i32[64]=random(36, 1000), f32[64], b8[12]=3)
extern "C" __global__ void by_value(const int *in, float *out, Parameters given) {
  int value = in[threadIdx.x] * given.scale >> (given.shift & 7);
  out[threadIdx.x] = value * (given.factor > 0 ? 0.5f : 2.0f);
}

__constant__ unsigned rounds[8] = {0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5};
__device__ static unsigned turned(unsigned word, int by) { return word >> by | word << (32 - by); }

// launch: hash<<<1, 64>>>(u32[1024]=random(37), u32[512])
extern "C" __global__ void hash(const unsigned *in, unsigned *out) {
  unsigned words[16], s[8];
  for (int i = 0; i < 16; i++) words[i] = in[16 * threadIdx.x + i];
  for (int i = 0; i < 8; i++) s[i] = rounds[i] ^ i;
  for (int i = 0; i < 32; i++) {
    unsigned w0 = words[(i + 1) & 15], w1 = words[(i + 14) & 15];
    words[i & 15] += (turned(w0, 7) ^ turned(w0, 18) ^ w0 >> 3) + words[(i + 9) & 15] + (turned(w1, 17) ^ turned(w1, 19) ^ w1 >> 10);
    unsigned one = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + rounds[i & 7] + words[i & 15];
    unsigned two = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    for (int j = 7; j; j--) s[j] = s[j - 1];
    s[4] += one, s[0] = one + two;
  }
  for (int i = 0; i < 8; i++) out[8 * threadIdx.x + i] = s[i];
}

// launch: fourier<<<1, 64>>>(f32[128]=random(38), f32[128], f32[64]=random(39))
extern "C" __global__ void fourier(const float *in, float *out, const float *turns) {
  __shared__ float re[64], im[64];
  int at = threadIdx.x, to = 0;
  for (int i = 0; i < 6; i++) to = to << 1 | (at >> i & 1);
  re[to] = in[2 * at], im[to] = in[2 * at + 1];
  for (int half = 1; half < 64; half *= 2) {
    __syncthreads();
    int place = at % half, low = at / (2 * half) * 2 * half + place, high = low + half;
    float c = turns[place * (32 / half)], s = turns[place * (32 / half) + 32];
    float x = re[high] * c - im[high] * s, y = re[high] * s + im[high] * c, a = re[low], b = im[low];
    bool upper = at / half % 2;
    __syncthreads();
    re[at] = upper ? a - x : a + x, im[at] = upper ? b - y : b + y;
  }
  __syncthreads();
  out[2 * at] = re[at], out[2 * at + 1] = im[at];
}

// launch: quicksort<<<1, 16>>>(i32[512]=random(40, 10000))
extern "C" __global__ void quicksort(int *data) {
  int *own = data + 32 * threadIdx.x, stack[24], top = 0;
  stack[top++] = 0, stack[top++] = 31;
  while (top) {
    int high = stack[--top], low = stack[--top], pivot = own[(low + high) / 2], i = low, j = high;
    while (i <= j) {
      while (own[i] < pivot) i++;
      while (own[j] > pivot) j--;
      if (i <= j) { int other = own[i]; own[i++] = own[j], own[j--] = other; }
    }
    if (low < j && top < 22) stack[top++] = low, stack[top++] = j;
    if (i < high && top < 22) stack[top++] = i, stack[top++] = high;
  }
}

// launch: edit_distance<<<1, 64>>>(u8[1024]=random(41, 4), u8[1024]=random(42, 4), i32[64])
extern "C" __global__ void edit_distance(const unsigned char *a, const unsigned char *b, int *out) {
  int row[17];
  for (int j = 0; j <= 16; j++) row[j] = j;
  for (int i = 1; i <= 16; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= 16; j++) {
      int change = diagonal + (a[16 * threadIdx.x + i - 1] != b[16 * threadIdx.x + j - 1]);
      diagonal = row[j];
      int least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
      row[j] = change < least ? change : least;
    }
  }
  out[threadIdx.x] = row[16];
}

// launch: softmax_of_powers<<<4, 64>>>(f32[1024]=random(43), f32[1024])
extern "C" __global__ void softmax_of_powers(const float *in, float *out) {
  const float *row = in + 256 * blockIdx.x;
  float most = -1e30f, sum = 0, own[4];
  for (int i = 0; i < 4; i++) own[i] = row[threadIdx.x + 64 * i], most = __builtin_fmaxf(most, own[i]);
  for (int step = 32; step; step /= 2) most = __builtin_fmaxf(most, __shfl_xor(most, step));
  for (int i = 0; i < 4; i++) {
    float x = own[i] - most;
    own[i] = 1 / (1 - x + x * x * 0.5f), sum += own[i];
  }
  for (int step = 32; step; step /= 2) sum += __shfl_xor(sum, step);
  for (int i = 0; i < 4; i++) out[256 * blockIdx.x + threadIdx.x + 64 * i] = own[i] / sum;
}

// launch: layer_norm<<<3, 128>>>(f32[384]=random(44), f32[384])
extern "C" __global__ void layer_norm(const float *in, float *out) {
  __shared__ float parts[2][2];
  float x = in[128 * blockIdx.x + threadIdx.x], sum = x, squares = x * x;
  for (int step = 1; step < 64; step *= 2) sum += __shfl_xor(sum, step), squares += __shfl_xor(squares, step);
  if (threadIdx.x % 64 == 0) parts[threadIdx.x / 64][0] = sum, parts[threadIdx.x / 64][1] = squares;
  __syncthreads();
  float mean = (parts[0][0] + parts[1][0]) / 128, variance = (parts[0][1] + parts[1][1]) / 128 - mean * mean;
  out[128 * blockIdx.x + threadIdx.x] = (x - mean) / __builtin_sqrtf(variance + 1e-5f);
}

// launch: copy_wide<<<2, 128>>>(i32[1024]=random(45), i32[1024])
extern "C" __global__ void copy_wide(const int4 *in, int4 *out) {
  __shared__ int4 tile[128];
  int4 value = in[blockIdx.x * 128 + threadIdx.x];
  tile[threadIdx.x ^ 5] = {value.w, value.z, value.y, value.x};
  __syncthreads();
  value = tile[127 - threadIdx.x];
  out[blockIdx.x * 128 + threadIdx.x] = {value.x + 1, value.y * 2, value.z ^ 3, value.w - 4};
}

// launch: shortest_paths<<<1, (16, 16)>>>(i32[256]=random(46, 100))
extern "C" __global__ void shortest_paths(int *length) {
  __shared__ int d[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  d[y][x] = x == y ? 0 : length[16 * y + x] + 1;
  for (int k = 0; k < 16; k++) {
    __syncthreads();
    int through = d[y][k] + d[k][x];
    __syncthreads();
    if (through < d[y][x]) d[y][x] = through;
  }
  __syncthreads();
  length[16 * y + x] = d[y][x];
}

// launch: exits<<<1, 192>>>(i32[192], 130)
extern "C" __global__ void exits(int *out, int n) {
  __shared__ int words[192];
  words[threadIdx.x] = threadIdx.x * 3;
  if ((int)threadIdx.x >= n) return;
  __syncthreads();
  int sum = 0;
  for (int i = threadIdx.x; i < n && i < (int)threadIdx.x + 5; i++) sum += words[i % 64];
  if (sum % 4 == 1) { out[threadIdx.x] = -sum; return; }
  out[threadIdx.x] = sum;
}

// launch: random_walks<<<2, 64>>>(u64[128]=random(47), i32[64])
extern "C" __global__ void random_walks(u64 *states, int *visits) {
  int at = blockIdx.x * 64 + threadIdx.x, place = at & 63;
  u64 state = states[at] | 1;
  for (int i = 0; i < 20; i++) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    place = (place + (int)(state * 2685821657736338717ull >> 61) - 3) & 63;
    atomicAdd(&visits[place], 1);
  }
  states[at] = state;
}
