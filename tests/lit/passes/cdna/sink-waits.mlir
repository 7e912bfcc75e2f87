// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},sink-waits" | filecheck %s
// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},sink-waits,loosen-waits" | filecheck %s --check-prefix=LOOSE

// Past arithmetic, private memory and what never changes, to the flag. It covers none of them.
// CHECK-LABEL: cdna.kernel @to_the_flag
// CHECK:      cdna.cache buffer_wbl2
// CHECK-NEXT: cdna.alu v_add_u32
// CHECK-NOT:  s_waitcnt
// CHECK:      cdna.store scratch_store_dword
// CHECK-NEXT: cdna.load global_load_dword {{.*invariant.*}}
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) lgkmcnt(0) {phase = #cdna<phase release>
// CHECK-NEXT: cdna.store global_store_dword
// LOOSE-LABEL: cdna.kernel @to_the_flag
// LOOSE:      cdna.load global_load_dword {{.*invariant.*}}
// LOOSE-NEXT: cdna.s_waitcnt vmcnt(2) {phase = #cdna<phase release>
// LOOSE-NEXT: cdna.store global_store_dword
func.func @to_the_flag(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %z : !llvm.ptr<1>, %p : !llvm.ptr<5>, %n : i32) {
  scoped.store weak %n, %x : i32, !llvm.ptr<1>
  scoped.fence release agent
  %m = arith.addi %n, %n : i32
  scoped.store weak %m, %p : i32, !llvm.ptr<5>
  %v = scoped.load weak %z {invariant} : !llvm.ptr<1> -> i32
  scoped.store relaxed agent %m, %f : i32, !llvm.ptr<1>
  scoped.store weak %v, %x : i32, !llvm.ptr<1>
  func.return
}

// Not past accesses that others can tell of, nor past what has to wait for data.
// CHECK-LABEL: cdna.kernel @stays
// CHECK:      cdna.s_waitcnt vmcnt(0) lgkmcnt(0) {phase = #cdna<phase release>
// CHECK-NEXT: cdna.alu v_add_u32
// CHECK:      cdna.s_waitcnt vmcnt(0) lgkmcnt(0) {phase = #cdna<phase release>
// CHECK-NEXT: cdna.store ds_write_b32
func.func @stays(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %s : !llvm.ptr<3>, %n : i32) {
  %v = scoped.load weak %x : !llvm.ptr<1> -> i32
  scoped.fence release agent
  %m = arith.addi %v, %n : i32
  scoped.store relaxed agent %m, %f : i32, !llvm.ptr<1>
  scoped.fence release agent
  scoped.store weak %n, %s : i32, !llvm.ptr<3>
  scoped.store relaxed agent %n, %f : i32, !llvm.ptr<1>
  func.return
}
