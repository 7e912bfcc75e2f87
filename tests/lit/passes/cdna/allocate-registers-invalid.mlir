// RUN: not fence-opt %s -p allocate-registers --split-input-file 2>&1 | filecheck %s

// Six tuples of 16 fit into 102 registers.
// CHECK: kernel 'too_many' needs 16 more of the 102 scalar registers that gfx942 has for it at 1024 lanes per work-group, and none are free at cdna.const; registers are never spilled: split the kernel, use smaller work-groups, or compile it by way of LLVM IR, which spills
cdna.kernel @too_many attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0:
  %0 = cdna.const 0 : !cdna.sgpr<16>
  %1 = cdna.const 1 : !cdna.sgpr<16>
  %2 = cdna.const 2 : !cdna.sgpr<16>
  %3 = cdna.const 3 : !cdna.sgpr<16>
  %4 = cdna.const 4 : !cdna.sgpr<16>
  %5 = cdna.const 5 : !cdna.sgpr<16>
  %6 = cdna.const 6 : !cdna.sgpr<16>
  %v0 = cdna.mov %0 : !cdna.sgpr<16> -> !cdna.vgpr<16>
  %v1 = cdna.mov %1 : !cdna.sgpr<16> -> !cdna.vgpr<16>
  %v2 = cdna.mov %2 : !cdna.sgpr<16> -> !cdna.vgpr<16>
  %v3 = cdna.mov %3 : !cdna.sgpr<16> -> !cdna.vgpr<16>
  %v4 = cdna.mov %4 : !cdna.sgpr<16> -> !cdna.vgpr<16>
  %v5 = cdna.mov %5 : !cdna.sgpr<16> -> !cdna.vgpr<16>
  %v6 = cdna.mov %6 : !cdna.sgpr<16> -> !cdna.vgpr<16>
  cdna.end s_endpgm
}

// -----

// CHECK: v5 is given to two values of 'twice' at a time
cdna.kernel @twice attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 1 : i64, workitem_ids = 1 : i64, max_workgroup_size = 1024 : i64} {
^bb0:
  %0 = cdna.const 1 : !cdna.vgpr<1, 5>
  %1 = cdna.const 2 : !cdna.vgpr<1, 5>
  %2 = cdna.const 2 : !cdna.vgpr
  %3 = cdna.alu v_add_u32_e32 %0, %1 : (!cdna.vgpr<1, 5>, !cdna.vgpr<1, 5>) -> !cdna.vgpr
  cdna.end s_endpgm
}
