// RUN: fence-opt %s -p drop-write-backs | filecheck %s
// RUN: fence-opt %s -p drop-write-backs,drop-write-backs | filecheck %s

// A plain store is dirty; a store with sc1 is not, and at the start nothing is. Waits stay.
// CHECK-LABEL: cdna.kernel @own_stores
// CHECK:      ^bb0
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
// CHECK-NEXT: cdna.store global_store_dword %a, %w {modifiers = ["sc1"]
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
// CHECK-NEXT: cdna.store global_store_dword %a, %w :
// CHECK-NEXT: cdna.cache buffer_wbl2
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
// CHECK-NEXT: cdna.end
cdna.kernel @own_stores attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>):
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.store global_store_dword %a, %w {modifiers = ["sc1"], phase = #cdna<phase access>} : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.end s_endpgm
}

// At system scope an earlier kernel may have left something at the agent; narrower write-backs
// behind the wide one go.
// CHECK-LABEL: cdna.kernel @system
// CHECK:      ^bb0
// CHECK-NEXT: cdna.cache buffer_wbl2 {modifiers = ["sc0", "sc1"]
// CHECK-NEXT: cdna.end
cdna.kernel @system attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>):
  cdna.cache buffer_wbl2 {modifiers = ["sc0", "sc1"], phase = #cdna<phase release>}
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.cache buffer_wbl2 {modifiers = ["sc0", "sc1"], phase = #cdna<phase release>}
  cdna.end s_endpgm
}

// All waves are at the second barrier together, and have written back what was dirty at the first.
// CHECK-LABEL: cdna.kernel @second_barrier
// CHECK:      cdna.barrier s_barrier
// CHECK-NEXT: cdna.cache buffer_wbl2
// CHECK-NEXT: cdna.s_waitcnt
// CHECK-NEXT: cdna.barrier s_barrier
// CHECK-NEXT: cdna.end
cdna.kernel @second_barrier attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>):
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.barrier s_barrier {phase = #cdna<phase access>}
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.barrier s_barrier {phase = #cdna<phase access>}
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.end s_endpgm
}

// What the other waves of the work-group hand on by the barrier is dirty.
// CHECK-LABEL: cdna.kernel @barrier
// CHECK:      cdna.barrier s_barrier
// CHECK-NEXT: cdna.cache buffer_wbl2
cdna.kernel @barrier attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>):
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.barrier s_barrier
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.end s_endpgm
}

// Every wave has written back before the barrier.
// CHECK-LABEL: cdna.kernel @barrier_behind_release
// CHECK:      cdna.barrier s_barrier
// CHECK-NOT:  buffer_wbl2
// CHECK:      cdna.end
cdna.kernel @barrier_behind_release attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>):
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.barrier s_barrier
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.end s_endpgm
}

// A loop that stores keeps its write-back: the first round is clean, the second is not.
// CHECK-LABEL: cdna.kernel @loop
// CHECK:      ^bb1:
// CHECK-NEXT: cdna.cache buffer_wbl2
cdna.kernel @loop attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0(%a : !cdna.vgpr<2, 0>, %w : !cdna.vgpr<1, 2>, %c : !cdna.sgpr<2, 0>):
  cdna.s_branch ^bb1
^bb1:
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>}
  cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase release>}
  cdna.store global_store_dword %a, %w : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 2>) -> ()
  cdna.s_cbranch %c : !cdna.sgpr<2, 0>, ^bb1, ^bb2
^bb2:
  cdna.end s_endpgm
}
