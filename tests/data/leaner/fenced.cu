extern "C" __global__ void fenced(const int *data, int *out) {
  __shared__ int s[256]; int i = blockIdx.x*256+threadIdx.x; s[threadIdx.x] = data[i]; __threadfence(); __syncthreads(); out[i] = s[255-threadIdx.x];
}
