; RUN: not fence-check --run 'llc-22 -O2 -mcpu=gfx942' --code %t.s --counterexamples %t.found %s | filecheck %s
; RUN: not fence-sim run %t.found/found1.mlir --mcpu gfx942 | filecheck %s --check-prefix=SHOWN
; RUN: fence-check --run 'llc-22 -O0 -mcpu=gfx942' %s | filecheck %s --check-prefix=RIGHT
; RUN: not fence-check --run 'cat -O2' %s 2>&1 | filecheck %s --check-prefix=COMMAND
; REQUIRES: llc, opt

; LLVM 22 deletes the wait after a write-back where it believes that nothing is in flight
; (llvm/llvm-project#178316).

; CHECK:      run.ll:28:1: error: the store of source line 24 (code line {{[0-9]+}}: global_store_dword v0, v{{[0-9]+}}, s[{{.*}}]) may not be complete at agent when the relaxed agent store of source line 28 (code line {{[0-9]+}}: global_store_dword v0, v{{[0-9]+}}, s[{{.*}}] sc1) issues: s_waitcnt vmcnt(0) after the write-back of line {{[0-9]+}} is missing, which the release agent fence of source line 27 requires [release]
; CHECK-NEXT: run.ll:28:1: note: on the machine, two waves end with P1:r1 == 0 and P1:r0 == 1: fence-sim run {{.*}}found1.mlir --mcpu gfx942
; CHECK:      1 of 1 functions compared with {{.*}}run.ll

; SHOWN: *> P1:r0=1; P1:r1=0; data=1; flag=1;
; SHOWN: P0: buffer_wbl2 sc1 issued

; RIGHT: 0 errors
; RIGHT: 1 of 1 functions compared

; COMMAND: fence-check: error: --run takes an llc and its options, as 'llc-22 -O2', not 'cat -O2'

target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @publish(ptr addrspace(1) %result, ptr addrspace(1) %limit, ptr addrspace(1) %ready) {
  store i32 7, ptr addrspace(1) %result
  %bound = load volatile i32, ptr addrspace(1) %limit
  %twice = shl i32 %bound, 1
  fence syncscope("agent") release
  store atomic i32 %twice, ptr addrspace(1) %ready syncscope("agent") monotonic, align 4
  ret void
}
