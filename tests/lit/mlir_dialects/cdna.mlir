// RUN: fence-opt %s | filecheck %s
// RUN: fence-opt %s | fence-opt | filecheck %s
// RUN: fence-opt %s --print-op-generic | fence-opt | filecheck %s

// Every operation of the dialect, through text and back.

// CHECK-LABEL: cdna.kernel @ops attributes
// CHECK-SAME: arguments = [#cdna<argument "p", 8, global>, #cdna<argument "n", 4, value>, #cdna<argument "l", 4, local>]
cdna.kernel @ops attributes {chip = "gfx942", tgsplit, arguments = [#cdna<argument "p", 8, global>, #cdna<argument "n", 4, value>, #cdna<argument "l", 4, local>], group_segment_size = 64 : i64, private_segment_size = 16 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 256 : i64, uses_scratch} {
// CHECK-NEXT: ^bb0(%kernarg: !cdna.sgpr<2, 0>, %lane: !cdna.vgpr<1, 0>):
^bb0(%kernarg: !cdna.sgpr<2, 0>, %lane: !cdna.vgpr<1, 0>):
  // CHECK-NEXT: %s = cdna.load s_load_dwordx2 %kernarg {offset = 8 : i64} : (!cdna.sgpr<2, 0>) -> !cdna.sgpr<2>
  %s = cdna.load s_load_dwordx2 %kernarg {offset = 8 : i64} : (!cdna.sgpr<2, 0>) -> !cdna.sgpr<2>
  // CHECK-NEXT: %p = cdna.mov %s : !cdna.sgpr<2> -> !cdna.vgpr<2>
  %p = cdna.mov %s : !cdna.sgpr<2> -> !cdna.vgpr<2>
  // CHECK-NEXT: %one = cdna.const 1 : !cdna.vgpr
  %one = cdna.const 1 : !cdna.vgpr
  // CHECK-NEXT: %all = cdna.const -1 : !cdna.sgpr<2>
  %all = cdna.const -1 : !cdna.sgpr<2>
  // CHECK-NEXT: %sum = cdna.alu v_add_u32_e32 %one, %lane : (!cdna.vgpr, !cdna.vgpr<1, 0>) -> !cdna.vgpr
  %sum = cdna.alu v_add_u32_e32 %one, %lane : (!cdna.vgpr, !cdna.vgpr<1, 0>) -> !cdna.vgpr
  // CHECK-NEXT: %field = cdna.alu v_bfe_u32 %lane {immediates = [10 : i64, 10 : i64]} : (!cdna.vgpr<1, 0>) -> !cdna.vgpr
  %field = cdna.alu v_bfe_u32 %lane {immediates = [10 : i64, 10 : i64]} : (!cdna.vgpr<1, 0>) -> !cdna.vgpr
  // CHECK-NEXT: %wide = cdna.load global_load_dwordx4 %p {modifiers = ["sc1"]} : (!cdna.vgpr<2>) -> !cdna.vgpr<4>
  %wide = cdna.load global_load_dwordx4 %p {modifiers = ["sc1"]} : (!cdna.vgpr<2>) -> !cdna.vgpr<4>
  // CHECK-NEXT: cdna.store global_store_dword %p, %sum {modifiers = ["sc0", "sc1"]} : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
  cdna.store global_store_dword %p, %sum {modifiers = ["sc0", "sc1"]} : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
  // CHECK-NEXT: cdna.atomic global_atomic_add %p, %sum : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
  cdna.atomic global_atomic_add %p, %sum : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
  // CHECK-NEXT: %old = cdna.atomic global_atomic_add %p, %sum {modifiers = ["sc0"]} : (!cdna.vgpr<2>, !cdna.vgpr) -> !cdna.vgpr
  %old = cdna.atomic global_atomic_add %p, %sum {modifiers = ["sc0"]} : (!cdna.vgpr<2>, !cdna.vgpr) -> !cdna.vgpr
  // CHECK-NEXT: %was = cdna.atomic ds_cmpst_rtn_b32 %one, %old, %sum : (!cdna.vgpr, !cdna.vgpr, !cdna.vgpr) -> !cdna.vgpr
  %was = cdna.atomic ds_cmpst_rtn_b32 %one, %old, %sum : (!cdna.vgpr, !cdna.vgpr, !cdna.vgpr) -> !cdna.vgpr
  // CHECK-NEXT: %pair = cdna.pack %old, %sum : (!cdna.vgpr, !cdna.vgpr) -> !cdna.vgpr<2>
  %pair = cdna.pack %old, %sum : (!cdna.vgpr, !cdna.vgpr) -> !cdna.vgpr<2>
  // CHECK-NEXT: %scalar = cdna.const 1 : !cdna.sgpr
  %scalar = cdna.const 1 : !cdna.sgpr
  // CHECK-NEXT: %group = cdna.pack %scalar, %scalar : (!cdna.sgpr, !cdna.sgpr) -> !cdna.sgpr<2>
  %group = cdna.pack %scalar, %scalar : (!cdna.sgpr, !cdna.sgpr) -> !cdna.sgpr<2>
  // CHECK-NEXT: %high = cdna.extract %pair {offset = 1 : i64} : !cdna.vgpr<2> -> !cdna.vgpr
  %high = cdna.extract %pair {offset = 1 : i64} : !cdna.vgpr<2> -> !cdna.vgpr
  // CHECK-NEXT: cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>, source = "why"}
  cdna.cache buffer_wbl2 {modifiers = ["sc1"], phase = #cdna<phase release>, source = "why"}
  // CHECK-NEXT: cdna.s_waitcnt vmcnt(0) lgkmcnt(2) {phase = #cdna<phase release>}
  cdna.s_waitcnt vmcnt(0) lgkmcnt(2) {phase = #cdna<phase release>}
  // CHECK-NEXT: cdna.s_waitcnt lgkmcnt(0){{$}}
  cdna.s_waitcnt lgkmcnt(0)
  // CHECK-NEXT: cdna.barrier s_barrier
  cdna.barrier s_barrier
  // CHECK-NEXT: %mask = cdna.alu v_cmp_eq_u32_e64 %old, %high : (!cdna.vgpr, !cdna.vgpr) -> !cdna.sgpr<2>
  %mask = cdna.alu v_cmp_eq_u32_e64 %old, %high : (!cdna.vgpr, !cdna.vgpr) -> !cdna.sgpr<2>
  // CHECK-NEXT: cdna.s_cbranch %mask : !cdna.sgpr<2>, ^[[A:.*]](%one : !cdna.vgpr), ^[[B:.*]]
  cdna.s_cbranch %mask : !cdna.sgpr<2>, ^a(%one : !cdna.vgpr), ^b
// CHECK: (%x: !cdna.vgpr):
^a(%x: !cdna.vgpr):
  // CHECK-NEXT: cdna.s_branch
  cdna.s_branch ^b
^b:
  // CHECK: cdna.end s_endpgm
  cdna.end s_endpgm
}
