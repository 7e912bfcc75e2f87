// RUN: fence-opt %s -p insert-waits,allocate-registers | filecheck %s
// RUN: fence-opt %s -p insert-waits,allocate-registers,allocate-registers | filecheck %s

// Pairs start at even registers; the scalar load does not overwrite its address; what the
// entry block is given stays.
// CHECK-LABEL: cdna.kernel @straight
// CHECK-SAME: {{vgprs = 5 : i64, sgprs = 4 : i64|sgprs = 4 : i64, vgprs = 5 : i64}}
// CHECK:      ^bb0(%kernarg: !cdna.sgpr<2, 0>, %w: !cdna.vgpr<1, 0>):
// CHECK-NEXT: cdna.load s_load_dwordx2 %kernarg {offset = 0 : i64} : (!cdna.sgpr<2, 0>) -> !cdna.sgpr<2, 2>
// CHECK:      cdna.mov %p : !cdna.sgpr<2, 2> -> !cdna.vgpr<2, 2>
// CHECK-NEXT: cdna.load global_load_dword %a : (!cdna.vgpr<2, 2>) -> !cdna.vgpr<1, 1>
// A result that nobody reads arrives all the same: the register is taken to the next wait.
// CHECK-NEXT: cdna.load global_load_dword %a : (!cdna.vgpr<2, 2>) -> !cdna.vgpr<1, 4>
// CHECK-NEXT: cdna.s_waitcnt vmcnt(1)
// CHECK-NEXT: cdna.alu v_add_u32_e32 %x, %w : (!cdna.vgpr<1, 1>, !cdna.vgpr<1, 0>) -> !cdna.vgpr<1, 0>
cdna.kernel @straight attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%kernarg : !cdna.sgpr<2, 0>, %w : !cdna.vgpr<1, 0>):
  %p = cdna.load s_load_dwordx2 %kernarg {offset = 0 : i64} : (!cdna.sgpr<2, 0>) -> !cdna.sgpr<2>
  %a = cdna.mov %p : !cdna.sgpr<2> -> !cdna.vgpr<2>
  %x = cdna.load global_load_dword %a : (!cdna.vgpr<2>) -> !cdna.vgpr
  %y = cdna.load global_load_dword %a : (!cdna.vgpr<2>) -> !cdna.vgpr
  %z = cdna.alu v_add_u32_e32 %x, %w : (!cdna.vgpr, !cdna.vgpr<1, 0>) -> !cdna.vgpr
  cdna.store global_store_dword %a, %z : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
  cdna.end s_endpgm
}

// A loop that exchanges its arguments: the edge gets a block of its own, and a free register
// breaks the cycle. On entry nothing is copied.
// CHECK-LABEL: cdna.kernel @swap
// CHECK:      ^bb0(%a: !cdna.vgpr<1, 0>, %b: !cdna.vgpr<1, 1>, %s: !cdna.sgpr<2, 0>):
// CHECK-NEXT: cdna.s_branch ^[[LOOP:.*]](%a, %b : !cdna.vgpr<1, 0>, !cdna.vgpr<1, 1>)
// CHECK:      cdna.s_cbranch %s : !cdna.sgpr<2, 0>, ^[[EDGE:.*]], ^{{.*}}
// CHECK-NEXT: ^[[EDGE]]:
// CHECK-NEXT: %[[T:.*]] = cdna.mov %[[Y:.*]] : !cdna.vgpr<1, 1> -> !cdna.vgpr<1, 2>
// CHECK-NEXT: %[[B:.*]] = cdna.mov %[[X:.*]] : !cdna.vgpr<1, 0> -> !cdna.vgpr<1, 1>
// CHECK-NEXT: %[[A:.*]] = cdna.mov %[[T]] : !cdna.vgpr<1, 2> -> !cdna.vgpr<1, 0>
// CHECK-NEXT: cdna.s_branch ^[[LOOP]](%[[A]], %[[B]] : !cdna.vgpr<1, 0>, !cdna.vgpr<1, 1>)
cdna.kernel @swap attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<1, 0>, %b : !cdna.vgpr<1, 1>, %s : !cdna.sgpr<2, 0>):
  cdna.s_branch ^bb1(%a, %b : !cdna.vgpr<1, 0>, !cdna.vgpr<1, 1>)
^bb1(%x : !cdna.vgpr, %y : !cdna.vgpr):
  cdna.s_cbranch %s : !cdna.sgpr<2, 0>, ^bb1(%y, %x : !cdna.vgpr, !cdna.vgpr), ^bb2
^bb2:
  cdna.end s_endpgm
}
