; RUN: fence-opt %s -p acquire-on-success -t "llvm{comments=false}" | filecheck %s
; RUN: fence-opt %s --mcpu gfx942 -t "llvm{comments=false}" | filecheck %s --check-prefix=ASM

target triple = "amdgcn-amd-amdhsa"

; A failed attempt acquires nothing, whatever it loads next.
; CHECK-LABEL: @member
; CHECK:      cmpxchg {{.*}} syncscope("agent") monotonic monotonic
; CHECK:      go:
; CHECK-NEXT: fence syncscope("agent") acquire
; CHECK-NOT:  fence
; CHECK:      ret void
; ASM-LABEL:  @member
; ASM:        %old = extractvalue { i32, i1 } %r, 0
; ASM-NEXT:   call void asm sideeffect "", "v,~{memory}"(i32 %old)
; ASM:        go:
; ASM-NEXT:   asm sideeffect "buffer_inv sc1"
; ASM-NOT:    asm
; ASM:        ret void
define amdgpu_kernel void @member(ptr addrspace(1) %l, ptr addrspace(1) %d, ptr addrspace(1) %o) {
  %r = cmpxchg ptr addrspace(1) %l, i32 0, i32 1 syncscope("agent") acquire monotonic
  %ok = extractvalue { i32, i1 } %r, 1
  br i1 %ok, label %go, label %failed
go:
  %x = load i32, ptr addrspace(1) %d
  store i32 %x, ptr addrspace(1) %o
  ret void
failed:
  %y = load i32, ptr addrspace(1) %o
  store i32 %y, ptr addrspace(1) %d
  ret void
}

; Turned round; what releases still does.
; CHECK-LABEL: @turned_round
; CHECK:      cmpxchg {{.*}} syncscope("agent") release monotonic
; CHECK:      go:
; CHECK-NEXT: fence syncscope("agent") acquire
define amdgpu_kernel void @turned_round(ptr addrspace(1) %l, ptr addrspace(1) %d, ptr addrspace(1) %o) {
  %r = cmpxchg ptr addrspace(1) %l, i32 0, i32 1 syncscope("agent") acq_rel monotonic
  %ok = extractvalue { i32, i1 } %r, 1
  %not = xor i1 %ok, true
  br i1 %not, label %failed, label %go
go:
  %x = load i32, ptr addrspace(1) %d
  store i32 %x, ptr addrspace(1) %o
  ret void
failed:
  ret void
}

; By the old value, against a constant and a value; the way of success is split, and its phi follows.
; CHECK-LABEL: @old_value
; CHECK:      cmpxchg {{.*}}, i32 0, i32 1 syncscope("agent") monotonic monotonic
; CHECK:      br i1 %failed, label %spin, label %edge
; CHECK:      edge:
; CHECK-NEXT: fence syncscope("agent") acquire
; CHECK-NEXT: br label %next
; CHECK:      next:
; CHECK-NEXT: phi i32 [ %old, %edge ], [ 7, %entry ]
; CHECK:      cmpxchg {{.*}}, i32 %n, i32 1 syncscope("agent") monotonic monotonic
; CHECK:      go:
; CHECK-NEXT: fence syncscope("agent") acquire
define amdgpu_kernel void @old_value(ptr addrspace(1) %l, ptr addrspace(1) %d, i32 %n, i1 %skip) {
entry:
  br i1 %skip, label %next, label %spin
spin:
  %r = cmpxchg ptr addrspace(1) %l, i32 0, i32 1 syncscope("agent") acquire monotonic
  %old = extractvalue { i32, i1 } %r, 0
  %failed = icmp ne i32 %old, 0
  br i1 %failed, label %spin, label %next
next:
  %k = phi i32 [ %old, %spin ], [ 7, %entry ]
  %s = cmpxchg ptr addrspace(1) %l, i32 %n, i32 1 syncscope("agent") acquire monotonic
  %was = extractvalue { i32, i1 } %s, 0
  %same = icmp eq i32 %n, %was
  br i1 %same, label %go, label %stop
go:
  store i32 %k, ptr addrspace(1) %d
  ret void
stop:
  ret void
}

; Left alone: a weak one may fail with the value that it expected, an acquire on failure, another
; constant, a load on the way to the branch.
; CHECK-LABEL: @left_alone
; CHECK:      cmpxchg weak {{.*}} acquire monotonic
; CHECK:      cmpxchg {{.*}} acquire acquire
; CHECK:      cmpxchg {{.*}} acquire monotonic
; CHECK:      cmpxchg {{.*}} acquire monotonic
; CHECK-NOT:  fence
define amdgpu_kernel void @left_alone(ptr addrspace(1) %l, ptr addrspace(1) %d) {
  %r = cmpxchg weak ptr addrspace(1) %l, i32 0, i32 1 syncscope("agent") acquire monotonic
  %old = extractvalue { i32, i1 } %r, 0
  %is = icmp eq i32 %old, 0
  br i1 %is, label %a, label %end
a:
  %s = cmpxchg ptr addrspace(1) %l, i32 0, i32 1 syncscope("agent") acquire acquire
  %ok = extractvalue { i32, i1 } %s, 1
  br i1 %ok, label %b, label %end
b:
  %t = cmpxchg ptr addrspace(1) %l, i32 0, i32 1 syncscope("agent") acquire monotonic
  %was = extractvalue { i32, i1 } %t, 0
  %two = icmp eq i32 %was, 2
  br i1 %two, label %c, label %end
c:
  %u = cmpxchg ptr addrspace(1) %l, i32 0, i32 1 syncscope("agent") acquire monotonic
  %x = load i32, ptr addrspace(1) %d
  %good = extractvalue { i32, i1 } %u, 1
  br i1 %good, label %use, label %end
use:
  store i32 %x, ptr addrspace(1) %d
  ret void
end:
  ret void
}
