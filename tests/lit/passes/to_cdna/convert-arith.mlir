// RUN: fence-opt %s -p convert-scoped-to-cdna{mcpu=gfx942} | filecheck %s
// RUN: fence-opt %s -p convert-scoped-to-cdna{mcpu=gfx90a} | filecheck %s --check-prefix=GFX90A

// An operation becomes one instruction where there is one; 64 bits are a register pair.

// CHECK-LABEL: cdna.kernel @integers
// GFX90A-LABEL: cdna.kernel @integers
func.func @integers(%a: i32, %b: i64, %m: i1) {
  // CHECK: %[[A:.*]] = cdna.mov %{{.*}} : !cdna.sgpr -> !cdna.vgpr
  // CHECK-NEXT: %[[B:.*]] = cdna.mov %{{.*}} : !cdna.sgpr<2> -> !cdna.vgpr<2>
  // CHECK: %[[M:.*]] = cdna.alu v_cmp_ne_u32_e64
  // CHECK-NEXT: cdna.alu v_add_u32_e32 %[[A]], %[[A]] : (!cdna.vgpr, !cdna.vgpr) -> !cdna.vgpr
  %0 = arith.addi %a, %a : i32
  // CHECK-NEXT: cdna.alu v_lshl_add_u64 %[[B]], %[[B]]
  // GFX90A: cdna.alu v_add_u64
  %1 = arith.addi %b, %b : i64
  // CHECK-NEXT: cdna.alu s_xor_b64 %[[M]], %[[M]] : (!cdna.sgpr<2>, !cdna.sgpr<2>) -> !cdna.sgpr<2>
  %2 = arith.addi %m, %m : i1
  // CHECK-NEXT: cdna.alu v_sub_u64 %[[B]], %[[B]]
  %3 = arith.subi %b, %b : i64
  // CHECK-NEXT: cdna.alu v_mul_lo_u32 %[[A]], %[[A]]
  %4 = arith.muli %a, %a : i32
  // CHECK-NEXT: cdna.alu v_mul_u64 %[[B]], %[[B]]
  %5 = arith.muli %b, %b : i64
  // CHECK-NEXT: cdna.alu v_and_b64 %[[B]], %[[B]]
  %6 = arith.andi %b, %b : i64
  // CHECK-NEXT: %[[LOW:.*]] = cdna.extract %[[B]] {offset = 0 : i64}
  // CHECK-NEXT: cdna.alu v_ashrrev_i64 %[[B]], %[[LOW]] : (!cdna.vgpr<2>, !cdna.vgpr) -> !cdna.vgpr<2>
  %7 = arith.shrsi %b, %b : i64
  // CHECK-NEXT: cdna.alu v_cmp_lt_i64_e64 %[[B]], %[[B]] : (!cdna.vgpr<2>, !cdna.vgpr<2>) -> !cdna.sgpr<2>
  %8 = arith.cmpi slt, %b, %b : i64
  // CHECK-NEXT: cdna.alu v_cndmask_b32_e64 %[[M]], %[[A]], %[[A]]
  %9 = arith.select %m, %a, %a : i32
  // CHECK-NEXT: cdna.alu v_cndmask_b64 %[[M]], %[[B]], %[[B]]
  %10 = arith.select %m, %b, %b : i64
  // CHECK-NEXT: cdna.alu v_sext_b32_b64 %[[A]]
  %11 = arith.extsi %a : i32 to i64
  // CHECK-NEXT: cdna.alu v_zext_mask_b32 %[[M]]
  %12 = arith.extui %m : i1 to i32
  // CHECK-NEXT: %[[T:.*]] = cdna.extract %[[B]] {offset = 0 : i64}
  %13 = arith.trunci %b : i64 to i16
  // A narrow integer has anything in the bits above it until they matter.
  // CHECK-NEXT: %[[S:.*]] = cdna.alu v_bfe_i32 %[[T]] {immediates = [0 : i64, 16 : i64]}
  // CHECK-NEXT: %[[S2:.*]] = cdna.alu v_bfe_i32 %[[T]] {immediates = [0 : i64, 16 : i64]}
  // CHECK-NEXT: cdna.alu v_cmp_gt_i32_e64 %[[S]], %[[S2]]
  %14 = arith.cmpi sgt, %13, %13 : i16
  func.return
}

// CHECK-LABEL: cdna.kernel @pointers
func.func @pointers(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %i: i32) {
  // CHECK: %[[WIDE:.*]] = cdna.alu v_sext_b32_b64
  // CHECK-NEXT: %[[SHIFT:.*]] = cdna.const 2 : !cdna.vgpr
  // CHECK-NEXT: %[[OFFSET:.*]] = cdna.alu v_lshlrev_b64 %[[WIDE]], %[[SHIFT]]
  // CHECK-NEXT: cdna.alu v_lshl_add_u64 %{{.*}}, %[[OFFSET]]
  %0 = llvm.getelementptr %g[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  // CHECK-NEXT: %[[TWELVE:.*]] = cdna.const 12 : !cdna.vgpr
  // CHECK-NEXT: cdna.alu v_add_u32_e32 %{{.*}}, %[[TWELVE]]
  %1 = llvm.getelementptr %l[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  func.return
}
