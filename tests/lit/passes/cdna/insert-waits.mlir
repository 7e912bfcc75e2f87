// RUN: fence-opt %s -p insert-waits | filecheck %s
// RUN: fence-opt %s -p insert-waits,insert-waits | filecheck %s

// Vector memory retires in order, loads and stores mixed: each use waits for what is older.
// CHECK-LABEL: cdna.kernel @in_order
// CHECK:      %p = cdna.load s_load_dwordx2
// CHECK-NEXT: cdna.s_waitcnt lgkmcnt(0)
// CHECK-NEXT: %a = cdna.mov %p
// CHECK-NEXT: %x = cdna.load global_load_dword
// CHECK-NEXT: %y = cdna.load global_load_dword
// CHECK-NEXT: cdna.store global_store_dword %a, %w
// CHECK-NEXT: cdna.s_waitcnt vmcnt(2)
// CHECK-NEXT: cdna.store global_store_dword %a, %x
// CHECK-NEXT: cdna.s_waitcnt vmcnt(2)
// CHECK-NEXT: cdna.store global_store_dword %a, %y
// CHECK-NEXT: cdna.end
cdna.kernel @in_order attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%kernarg : !cdna.sgpr<2, 0>, %w : !cdna.vgpr<1, 0>):
  %p = cdna.load s_load_dwordx2 %kernarg {offset = 0 : i64} : (!cdna.sgpr<2, 0>) -> !cdna.sgpr<2>
  %a = cdna.mov %p : !cdna.sgpr<2> -> !cdna.vgpr<2>
  %x = cdna.load global_load_dword %a : (!cdna.vgpr<2>) -> !cdna.vgpr
  %y = cdna.load global_load_dword %a : (!cdna.vgpr<2>) -> !cdna.vgpr
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2>, !cdna.vgpr<1, 0>) -> ()
  cdna.store global_store_dword %a, %x : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
  cdna.store global_store_dword %a, %y : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
  cdna.end s_endpgm
}

// A write-back counts (LLVM 22 drops this wait); a second wait has nothing to wait for; a wait
// with nothing before it neither, and an invalidate alone is nothing.
// CHECK-LABEL: cdna.kernel @ordering
// CHECK:      ^bb0
// CHECK-NEXT: cdna.cache buffer_wbl2
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
// CHECK-NEXT: cdna.cache buffer_inv
// CHECK-NEXT: cdna.store
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
// CHECK-NEXT: cdna.barrier
// CHECK-NEXT: cdna.end
cdna.kernel @ordering attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>):
  cdna.s_waitcnt vmcnt(0) lgkmcnt(0) {phase = #cdna<phase wait>}
  cdna.cache buffer_wbl2 {modifiers = ["sc1"]}
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.s_waitcnt vmcnt(0) lgkmcnt(0) {phase = #cdna<phase release>}
  cdna.cache buffer_inv {modifiers = ["sc1"]}
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase wait>}
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.barrier s_barrier
  cdna.end s_endpgm
}

// A flat access counts in both, and while it is pending only 0 is safe. The data wait is
// merged into the ordering wait next to it.
// CHECK-LABEL: cdna.kernel @flat
// CHECK:      %g = cdna.load global_load_dword
// CHECK-NEXT: %f = cdna.load flat_load_dword
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0){{$}}
// CHECK-NEXT: cdna.alu v_add_u32_e32 %g
// CHECK-NEXT: cdna.s_waitcnt lgkmcnt(0) {phase = #cdna<phase wait>}
// CHECK-NEXT: cdna.alu v_add_u32_e32 %f
// CHECK-NEXT: %d = cdna.load ds_read_b32
// CHECK-NEXT: %e = cdna.load ds_read_b32
// CHECK-NEXT: cdna.s_waitcnt lgkmcnt(1){{$}}
// CHECK-NEXT: cdna.alu v_add_u32_e32 %d
// CHECK-NEXT: cdna.load s_load_dword
// CHECK-NEXT: cdna.s_waitcnt lgkmcnt(0){{$}}
// CHECK-NEXT: cdna.alu v_add_u32_e32 %e
cdna.kernel @flat attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>, %s : !cdna.sgpr<2, 0>):
  %g = cdna.load global_load_dword %a : (!cdna.vgpr<2, 0>) -> !cdna.vgpr
  %f = cdna.load flat_load_dword %a : (!cdna.vgpr<2, 0>) -> !cdna.vgpr
  %0 = cdna.alu v_add_u32_e32 %g, %w : (!cdna.vgpr, !cdna.vgpr<1, 2>) -> !cdna.vgpr
  cdna.s_waitcnt lgkmcnt(0) {phase = #cdna<phase wait>}
  %1 = cdna.alu v_add_u32_e32 %f, %w : (!cdna.vgpr, !cdna.vgpr<1, 2>) -> !cdna.vgpr
  %d = cdna.load ds_read_b32 %w : (!cdna.vgpr<1, 2>) -> !cdna.vgpr
  %e = cdna.load ds_read_b32 %w : (!cdna.vgpr<1, 2>) -> !cdna.vgpr
  %2 = cdna.alu v_add_u32_e32 %d, %w : (!cdna.vgpr, !cdna.vgpr<1, 2>) -> !cdna.vgpr
  %k = cdna.load s_load_dword %s {offset = 0 : i64} : (!cdna.sgpr<2, 0>) -> !cdna.sgpr
  %3 = cdna.alu v_add_u32_e32 %e, %w : (!cdna.vgpr, !cdna.vgpr<1, 2>) -> !cdna.vgpr
  cdna.end s_endpgm
}

// Where paths join, the fewest younger operations on any of them count.
// CHECK-LABEL: cdna.kernel @join
// CHECK:      ^bb3:
// CHECK-NEXT: cdna.s_waitcnt vmcnt(1){{$}}
// CHECK-NEXT: cdna.alu v_add_u32_e32 %g
cdna.kernel @join attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>, %s : !cdna.sgpr<2, 0>):
  %g = cdna.load global_load_dword %a : (!cdna.vgpr<2, 0>) -> !cdna.vgpr
  cdna.s_cbranch %s : !cdna.sgpr<2, 0>, ^bb1, ^bb2
^bb1:
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.s_branch ^bb3
^bb2:
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.s_branch ^bb3
^bb3:
  %0 = cdna.alu v_add_u32_e32 %g, %w : (!cdna.vgpr, !cdna.vgpr<1, 2>) -> !cdna.vgpr
  cdna.end s_endpgm
}

// The wait at the head of a loop stays although nothing is outstanding when it is first reached.
// CHECK-LABEL: cdna.kernel @loop
// CHECK:      ^bb1:
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
// CHECK-NEXT: cdna.store
cdna.kernel @loop attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>, %s : !cdna.sgpr<2, 0>):
  cdna.s_branch ^bb1
^bb1:
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.s_cbranch %s : !cdna.sgpr<2, 0>, ^bb1, ^bb2
^bb2:
  cdna.end s_endpgm
}
