; The write-back of a release has to be waited for, even where nothing else is in flight.
target triple = "amdgcn-amd-amdhsa"

; LLVM 22 believes that no vector memory operation is outstanding once %v has arrived, so
; that at -O1 and above it drops the vmcnt(0) after buffer_wbl2: the flag can overtake the data.
define amdgpu_kernel void @lost_wait_real(ptr addrspace(1) %data, ptr addrspace(1) %other, ptr addrspace(1) %flag, ptr addrspace(3) %lds) {
  store i32 1, ptr addrspace(1) %data
  %v = load i32, ptr addrspace(1) %other
  store i32 %v, ptr addrspace(3) %lds
  fence syncscope("agent") release
  store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") monotonic, align 4
  ret void
}

; The same behind a release store.
define amdgpu_kernel void @lost_wait_store(ptr addrspace(1) %data, ptr addrspace(1) %other, ptr addrspace(1) %flag, ptr addrspace(3) %lds) {
  store i32 1, ptr addrspace(1) %data
  %v = load i32, ptr addrspace(1) %other
  store i32 %v, ptr addrspace(3) %lds
  store atomic i32 1, ptr addrspace(1) %flag release, align 4
  ret void
}
