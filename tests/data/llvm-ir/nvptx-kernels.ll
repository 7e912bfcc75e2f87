; Kernels that synchronise through memory, with shared pointers of 32 bits as Triton has them.
target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-p101:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@staging = internal addrspace(3) global [256 x i32] undef, align 16
@turn = internal addrspace(3) global ptr addrspace(3) undef, align 4

; A lock that the host may hold too.
define ptx_kernel void @append_under_lock(ptr addrspace(1) %lock, ptr addrspace(1) %counter, ptr addrspace(1) %log, i32 %value) #0 {
entry:
  br label %spin

spin:
  %pair = cmpxchg weak ptr addrspace(1) %lock, i32 0, i32 1 acquire monotonic, align 4
  %taken = extractvalue { i32, i1 } %pair, 1
  br i1 %taken, label %locked, label %spin

locked:
  %place = load i32, ptr addrspace(1) %counter, align 4
  %slot = getelementptr i32, ptr addrspace(1) %log, i32 %place
  store i32 %value, ptr addrspace(1) %slot, align 4
  %next = add i32 %place, 1
  store i32 %next, ptr addrspace(1) %counter, align 4
  store atomic i32 0, ptr addrspace(1) %lock release, align 4
  ret void
}

; The last block to take a ticket adds up what the others published.
define ptx_kernel void @last_block(ptr addrspace(1) noalias %partial, ptr addrspace(1) noalias %total, ptr addrspace(1) %ticket, float %sum, i32 %last) #0 {
entry:
  store float %sum, ptr addrspace(1) %partial, align 4
  %taken = atomicrmw add ptr addrspace(1) %ticket, i32 1 syncscope("device") acq_rel, align 4
  %is_last = icmp eq i32 %taken, %last
  br i1 %is_last, label %finish, label %done

finish:
  %published = load float, ptr addrspace(1) %partial, align 4
  %old = atomicrmw fadd ptr addrspace(1) %total, float %published syncscope("device") monotonic, align 4
  fence syncscope("device") seq_cst
  br label %done

done:
  ret void
}

; Every width and type in one place, on every address space that is shared.
define ptx_kernel void @types(ptr %p, ptr addrspace(3) %s, ptr addrspace(7) %d, i8 %b, i16 %h, double %x, ptr %q) #0 {
entry:
  %byte = atomicrmw umax ptr %p, i8 %b syncscope("block") seq_cst, align 1
  %short = cmpxchg ptr addrspace(3) %s, i16 %h, i16 7 syncscope("block") release acquire, align 2
  %seen = extractvalue { i16, i1 } %short, 0
  store i16 %seen, ptr %q, align 2
  %float = load atomic double, ptr addrspace(7) %d syncscope("cluster") acquire, align 8
  %sum = fadd double %float, %x
  store atomic double %sum, ptr addrspace(7) %d syncscope("cluster") release, align 8
  store atomic ptr addrspace(3) %s, ptr addrspace(3) @turn syncscope("block") release, align 4
  %pointer = load atomic ptr addrspace(3), ptr addrspace(3) @turn syncscope("block") acquire, align 4
  store i8 %byte, ptr addrspace(3) %pointer, align 1
  %vector = load atomic <2 x half>, ptr %p monotonic, align 4
  store <2 x half> %vector, ptr %q, align 4
  %wide = atomicrmw xchg ptr %q, i128 0 syncscope("device") acq_rel, align 16
  store i128 %wide, ptr %p, align 16
  ret void
}

attributes #0 = { nounwind }
