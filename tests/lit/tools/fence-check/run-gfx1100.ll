; RUN: not fence-check --run 'llc-22 -O2 -mcpu=gfx1100' --counterexamples %t.found %s | filecheck %s
; RUN: not fence-sim run %t.found/found1.mlir --mcpu gfx1100 | filecheck %s --check-prefix=SHOWN
; RUN: fence-check --run 'llc-22 -O0 -mcpu=gfx1100' %s | filecheck %s --check-prefix=RIGHT
; RUN: fence-check --run 'llc-22 -O2 -mcpu=gfx1100 -mattr=+cumode' %s | filecheck %s --check-prefix=RIGHT
; REQUIRES: llc, opt

; One wave acquires from the agent for its work-group. In WGP mode LLVM deletes the wait for the invalidate.

; CHECK:      run-gfx1100.ll:23:1: error: the relaxed agent load of source line 20 (code line {{[0-9]+}}: global_load_b32 v{{[0-9]+}}, v0, s[{{.*}}] glc) may be passed on to the work-group by the barrier of source line 23 (code line {{[0-9]+}}: s_barrier) before what it acquires at agent holds for others of it: s_waitcnt vmcnt(0) after the invalidate of line {{[0-9]+}} is missing, which the acquire agent fence of source line 21 requires [cumulative-acquire]
; CHECK-NEXT: run-gfx1100.ll:23:1: note: on the machine, three waves end with P0:r2 == 1 and P1:r1 == 0: fence-sim run {{.*}}found1.mlir --mcpu gfx1100
; CHECK:      1 of 1 functions compared with {{.*}}run-gfx1100.ll

; SHOWN: *> P0:r2=1; P1:r1=0;

; RIGHT: 0 errors
; RIGHT: 1 of 1 functions compared

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @consume(ptr addrspace(1) %data, ptr addrspace(1) %flag, ptr addrspace(1) %out) {
  %seen = load atomic i32, ptr addrspace(1) %flag syncscope("agent") monotonic, align 4
  fence syncscope("agent") acquire
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %value = load i32, ptr addrspace(1) %data, align 4
  %sum = add i32 %value, %seen
  store i32 %sum, ptr addrspace(1) %out, align 4
  ret void
}
