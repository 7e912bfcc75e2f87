// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},drop-last-waits" | filecheck %s
// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},drop-last-waits,drop-last-waits" | filecheck %s
// RUN: fence-opt %s --mcpu gfx942 -t asm | filecheck %s --check-prefix ASM
// RUN: fence-opt %s --mcpu gfx1250 -t asm | filecheck %s --check-prefix SPLIT

// What is in flight when a wave ends completes without it.
// CHECK-LABEL: cdna.kernel @load_last
// CHECK:      cdna.load global_load_dword
// CHECK-NEXT: cdna.end
// ASM-LABEL: load_last:
// ASM:      global_load_dword
// ASM-NEXT: s_endpgm
// SPLIT-LABEL: load_last:
// SPLIT:      global_load_b32
// SPLIT-NEXT: s_endpgm
func.func @load_last(%p : !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = scoped.load acquire workgroup %p : !llvm.ptr<1> -> i32
  func.return
}

// CHECK-LABEL: cdna.kernel @update_last
// ASM-LABEL: update_last:
// ASM:      global_atomic_add
// ASM-NEXT: s_endpgm
// SPLIT-LABEL: update_last:
// SPLIT:      global_atomic_add_u32
// SPLIT-NEXT: s_endpgm
func.func @update_last(%p : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel} {
  %o = scoped.atomic_rmw add acq_rel agent %p, %v : !llvm.ptr<1>, i32
  func.return
}

// CHECK-LABEL: cdna.kernel @fence_last
// ASM-LABEL: fence_last:
// ASM:      global_store_dword
// ASM-NEXT: s_endpgm
// SPLIT-LABEL: fence_last:
// SPLIT:      global_store_b32
// SPLIT-NEXT: s_endpgm
func.func @fence_last(%p : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel} {
  scoped.store relaxed agent %v, %p : i32, !llvm.ptr<1>
  scoped.fence seq_cst agent
  func.return
}

// A weak access comes after it: the acquire orders it.
// CHECK-LABEL: cdna.kernel @load_after
// CHECK:      cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase wait>
// CHECK:      cdna.load global_load_dword
func.func @load_after(%p : !llvm.ptr<1>, %q : !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = scoped.load acquire workgroup %p : !llvm.ptr<1> -> i32
  %x = scoped.load weak %q : !llvm.ptr<1> -> i32
  func.return
}

// Nobody else sees private memory.
// CHECK-LABEL: cdna.kernel @private_after
// CHECK-NOT:  {phase = #cdna<phase wait>
// CHECK:      cdna.end
func.func @private_after(%p : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel} {
  %one = arith.constant 1 : i32
  %q = llvm.alloca %one x i32 : (i32) -> !llvm.ptr<5>
  %x = scoped.load acquire workgroup %p : !llvm.ptr<1> -> i32
  scoped.store weak %v, %q : i32, !llvm.ptr<5>
  func.return
}

// On one of two ways something comes after it.
// CHECK-LABEL: cdna.kernel @one_way
// CHECK:      cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase wait>
func.func @one_way(%p : !llvm.ptr<1>, %q : !llvm.ptr<1>, %n : i32) attributes {gpu.kernel} {
  %one = arith.constant 1 : i32
  %is = arith.cmpi eq, %n, %one : i32
  %v = scoped.load acquire workgroup %p : !llvm.ptr<1> -> i32
  cf.cond_br %is, ^store, ^end
^store:
  scoped.store weak %one, %q : i32, !llvm.ptr<1>
  cf.br ^end
^end:
  func.return
}

// In a loop it comes before the next round.
// CHECK-LABEL: cdna.kernel @round
// CHECK:      cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase wait>
func.func @round(%p : !llvm.ptr<1>, %n : i32) attributes {gpu.kernel} {
  cf.br ^loop
^loop:
  %v = scoped.load acquire workgroup %p : !llvm.ptr<1> -> i32
  %is = arith.cmpi eq, %v, %n : i32
  cf.cond_br %is, ^end, ^loop
^end:
  func.return
}

// A barrier comes after it.
// CHECK-LABEL: cdna.kernel @barrier_after
// CHECK:      cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase wait>
// CHECK:      cdna.barrier
func.func @barrier_after(%p : !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = scoped.load acquire workgroup %p : !llvm.ptr<1> -> i32
  scoped.barrier relaxed workgroup
  func.return
}

// An invalidate comes after it, for kernels that come later.
// CHECK-LABEL: cdna.kernel @invalidate_after
// CHECK:      cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase wait>
// CHECK-NEXT: cdna.cache buffer_inv
func.func @invalidate_after(%p : !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = scoped.load acquire system %p : !llvm.ptr<1> -> i32
  func.return
}

// A write-back that is not waited for would be for nothing.
// CHECK-LABEL: cdna.kernel @write_back_before
// CHECK:      cdna.cache buffer_wbl2
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) {{.*}}phase = #cdna<phase release>
func.func @write_back_before(%p : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel} {
  scoped.store weak %v, %p : i32, !llvm.ptr<1>
  scoped.fence release agent
  func.return
}
