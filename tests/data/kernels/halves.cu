// Kernels of f16 and bf16.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// launch: product_f16<<<(2, 2), (16, 16)>>>(f16[1024]=random(1), f16[1024]=random(2), f16[1024])
extern "C" __global__ void product_f16(const __half *a, const __half *b, __half *c) {
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < 32; i++) sum = fmaf(__half2float(a[row * 32 + i]), __half2float(b[i * 32 + column]), sum);
  c[row * 32 + column] = __float2half(sum);
}

// launch: product_bf16<<<(2, 2), (16, 16)>>>(bf16[1024]=random(3), bf16[1024]=random(4), bf16[1024])
extern "C" __global__ void product_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c) {
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < 32; i++) sum += __bfloat162float(a[row * 32 + i]) * __bfloat162float(b[i * 32 + column]);
  c[row * 32 + column] = __float2bfloat16(sum);
}

// launch: pairs_f16<<<1, 64>>>(f16[256]=random(5), f16[1024])
extern "C" __global__ void pairs_f16(const __half2 *in, __half2 *out) {
  __half2 a = in[threadIdx.x], b = in[threadIdx.x + 64], *to = out + 8 * threadIdx.x;
  to[0] = __hadd2(a, b), to[1] = __hsub2(a, b), to[2] = __hmul2(a, b), to[3] = __hfma2(a, b, a);
  to[4] = __hmax2(a, b), to[5] = __hmin2(a, __hneg2(b)), to[6] = __hfma2_relu(a, __hneg2(b), a), to[7] = __hgt2(a, b);
}

// launch: pairs_bf16<<<1, 64>>>(bf16[256]=random(6), bf16[1024])
extern "C" __global__ void pairs_bf16(const __nv_bfloat162 *in, __nv_bfloat162 *out) {
  __nv_bfloat162 a = in[threadIdx.x], b = in[threadIdx.x + 64], *to = out + 8 * threadIdx.x;
  to[0] = __hadd2(a, b), to[1] = __hsub2(a, b), to[2] = __hmul2(a, b), to[3] = __hfma2(a, b, a);
  to[4] = __hmax2(a, b), to[5] = __hmin2(a, __hneg2(b)), to[6] = __hadd2_sat(a, b), to[7] = __hle2(a, b);
}

// launch: half_conversions<<<1, 64>>>(f32[64]=random(7), i32[512])
extern "C" __global__ void half_conversions(const float *in, int *out) {
  float x = (in[threadIdx.x] - 0.5f) * 400;
  __half h = __float2half_rn(x);
  int *to = out + 8 * threadIdx.x;
  to[0] = __half_as_ushort(__float2half_rz(x)), to[1] = __half_as_ushort(__float2half_ru(x));
  to[2] = __half2int_rn(h), to[3] = __half2short_rz(h), to[4] = __half_as_ushort(__int2half_rn((int)(x * 99)));
  to[5] = __bfloat16_as_ushort(__float2bfloat16_rz(x)), to[6] = __bfloat16_as_ushort(__float2bfloat16_rn(x));
  to[7] = __half_as_ushort(hfloor(h)) + (__half_as_ushort(htrunc(h)) << 8) + __half_as_ushort(__habs(h));
}

// launch: softmax_scale<<<2, 64>>>(f16[1024]=random(8), f32[128])
extern "C" __global__ void softmax_scale(const __half2 *in, float *out) {
  float largest = -1e30f, sum = 0;
  const __half2 *row = in + (blockIdx.x * 64 + threadIdx.x) * 4;
  for (int i = 0; i < 4; i++) {
    float2 both = __half22float2(row[i]);
    largest = fmaxf(largest, fmaxf(both.x, both.y));
  }
  for (int i = 0; i < 4; i++) {
    float2 both = __half22float2(row[i]);
    sum += 1 / (1 + largest - both.x) + 1 / (1 + largest - both.y);
  }
  out[blockIdx.x * 64 + threadIdx.x] = largest / sum;
}

// launch: half_atomics<<<2, 32>>>(f16[64]=random(9, 8), f16[4], bf16[4])
extern "C" __global__ void half_atomics(const __half *in, __half2 *sums, __nv_bfloat162 *others) {
  float value = rintf(__half2float(in[blockIdx.x * 32 + threadIdx.x]));
  atomicAdd(&sums[threadIdx.x & 1], __floats2half2_rn(value, 1));
  atomicAdd(&others[threadIdx.x & 1], __floats2bfloat162_rn(1, value > 4));
}
