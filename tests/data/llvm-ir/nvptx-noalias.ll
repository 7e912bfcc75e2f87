; A pointer that does not alias: no call that does not get it is expected to change what it points to.
target triple = "nvptx64-nvidia-cuda"

; The second read must not be given what the first one saw.
define i32 @acquire(ptr addrspace(1) %flag, ptr addrspace(1) noalias captures(none) %data) {
  %before = load i32, ptr addrspace(1) %data, align 4
  %v = load atomic i32, ptr addrspace(1) %flag syncscope("device") acquire, align 4
  %after = load i32, ptr addrspace(1) %data, align 4
  %sum = add i32 %before, %after
  ret i32 %sum
}

; The first write must not be dropped for the second one.
define void @release(ptr addrspace(1) %flag, ptr addrspace(1) noalias captures(none) %data) {
  store i32 1, ptr addrspace(1) %data, align 4
  store atomic i32 1, ptr addrspace(1) %flag syncscope("device") release, align 4
  store i32 2, ptr addrspace(1) %data, align 4
  ret void
}
