; A pointer that does not alias: no call that does not get it is expected to change what it points to.
target triple = "amdgcn-amd-amdhsa"

; The data must not be read through the scalar cache, which no acquire invalidates.
define amdgpu_kernel void @acquire_fence(ptr addrspace(1) %flag, ptr addrspace(1) noalias %data, ptr addrspace(1) noalias %out) {
  %v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") monotonic, align 4
  fence syncscope("agent") acquire
  %x = load i32, ptr addrspace(1) %data
  %y = add i32 %x, %v
  store i32 %y, ptr addrspace(1) %out
  ret void
}
