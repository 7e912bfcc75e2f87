// RUN: fence-opt %s -p convert-scoped-to-cdna{mcpu=gfx942} | filecheck %s

// Branches keep their operands; a condition is a lane mask.

// A load from a uniform address serves every lane, so a spin on it is uniform.
// CHECK-LABEL: cdna.kernel @spin
func.func @spin(%flag: !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  // CHECK: cdna.s_branch ^[[LOOP:.*]]
  cf.br ^loop
// CHECK-NEXT: ^[[LOOP]]:
^loop:
  // CHECK-NEXT: %[[V:.*]] = cdna.load global_load_dword
  // CHECK-SAME: modifiers = ["sc1"], phase = #cdna<phase access>
  // CHECK-NEXT: cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase wait>
  // CHECK-NEXT: cdna.cache buffer_inv {modifiers = ["sc1"], phase = #cdna<phase acquire>
  %v = scoped.load acquire agent %flag : !llvm.ptr<1> -> i32
  // CHECK-NEXT: %[[C:.*]] = cdna.alu v_cmp_eq_u32_e64 %[[V]], %{{.*}} -> !cdna.sgpr<2>
  %c = arith.cmpi eq, %v, %one : i32
  // CHECK-NEXT: cdna.s_cbranch %[[C]] : !cdna.sgpr<2>, ^[[DONE:.*]], ^[[LOOP]]
  cf.cond_br %c, ^done, ^loop
// CHECK-NEXT: ^[[DONE]]:
^done:
  // CHECK-NEXT: cdna.end s_endpgm
  func.return
}

// CHECK-LABEL: cdna.kernel @arguments
func.func @arguments(%n: i32, %a: i64, %m: i1) {
  %zero = arith.constant 0 : i32
  // CHECK: cdna.s_branch ^[[LOOP:.*]](%{{.*}}, %{{.*}}, %{{.*}} : !cdna.vgpr, !cdna.vgpr<2>, !cdna.sgpr<2>)
  cf.br ^loop(%zero, %a, %m : i32, i64, i1)
// CHECK-NEXT: ^[[LOOP]](%{{.*}}: !cdna.vgpr, %{{.*}}: !cdna.vgpr<2>, %{{.*}}: !cdna.sgpr<2>):
^loop(%i: i32, %x: i64, %y: i1):
  %c = arith.cmpi ult, %i, %n : i32
  // CHECK: cdna.s_cbranch %{{.*}} : !cdna.sgpr<2>, ^[[LOOP]](%{{.*}}, %{{.*}}, %{{.*}} : !cdna.vgpr, !cdna.vgpr<2>, !cdna.sgpr<2>), ^
  cf.cond_br %c, ^loop(%n, %x, %c : i32, i64, i1), ^done
^done:
  func.return
}

// With one lane in the work-group nothing diverges.
// CHECK-LABEL: cdna.kernel @one_lane
// CHECK-SAME: max_workgroup_size = 1 : i64
func.func @one_lane(%p: !llvm.ptr<1>, %v: i32) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  cf.br ^try
^try:
  %old, %ok = scoped.cmpxchg relaxed relaxed agent %p, %v, %v : !llvm.ptr<1>, i32
  // CHECK: cdna.s_cbranch
  cf.cond_br %ok, ^done, ^try
^done:
  func.return
}
