; RUN: not fence-check --run 'llc-22 -O2 -mcpu=gfx1200' --counterexamples %t.found %s | filecheck %s
; RUN: not fence-sim run %t.found/found1.mlir --mcpu gfx1200 | filecheck %s --check-prefix=SHOWN
; RUN: fence-check --run 'llc-22 -O0 -mcpu=gfx1200' %s | filecheck %s --check-prefix=RIGHT
; RUN: fence-check --run 'llc-22 -O0 -mcpu=gfx1201 -mattr=+cumode' %s | filecheck %s --check-prefix=RIGHT
; REQUIRES: llc, opt

; A barrier at the head of a loop: at -O2 LLVM 22 deletes the wait for what the round before has stored to LDS.

; CHECK:      run-gfx1200.ll:24:1: error: the store of source line 29 (code line {{[0-9]+}}: ds_store_b32 v{{[0-9]+}}, v{{[0-9]+}}) may not be complete at workgroup when the barrier of source line 24 (code line {{[0-9]+}}: s_barrier_signal -1) issues: s_wait_dscnt 0x0 is missing [release]
; CHECK-NEXT: run-gfx1200.ll:24:1: note: on the machine, two waves end with P1:r1 == 0: fence-sim run {{.*}}found1.mlir --mcpu gfx1200
; CHECK:      1 of 1 functions compared with {{.*}}run-gfx1200.ll

; SHOWN: *> P1:r1=0;

; RIGHT: 0 errors
; RIGHT: 1 of 1 functions compared

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @count(ptr addrspace(3) %place, i32 %last) {
  br label %round
round:
  %number = phi i32 [ 0, %0 ], [ %next, %round ]
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %at = getelementptr i32, ptr addrspace(3) %place, i32 %number
  %value = load i32, ptr addrspace(3) %at, align 4
  %more = add i32 %value, %last
  store i32 %more, ptr addrspace(3) %place, align 4
  %next = add i32 %number, 1
  %ends = icmp eq i32 %next, %last
  br i1 %ends, label %end, label %round
end:
  ret void
}
