// RUN: not fence-opt %s --split-input-file -t ptx 2>&1 | filecheck %s --check-prefix=PTX
// RUN: not fence-opt %s --split-input-file -t asm 2>&1 | filecheck %s --check-prefix=ASM

// PTX: there is no ptx.kernel; name a chip with --mcpu, as --mcpu gfx942, or run convert-scoped-to-ptx first
// ASM: there is no cdna.kernel and no ptx.kernel; name a chip with --mcpu, as --mcpu gfx942, or run convert-scoped-to-cdna or convert-scoped-to-ptx first
func.func @not_converted() {
  func.return
}

// -----

// PTX: one PTX file is for one target, not for sm_80 with PTX 8.0, sm_90 with PTX 8.0
// ASM: one PTX file is for one target, not for sm_80 with PTX 8.0, sm_90 with PTX 8.0
ptx.kernel @a attributes {target = "sm_90", version = "8.0", parameters = array<i64>} {
  ptx.ret
}
ptx.kernel @b attributes {target = "sm_80", version = "8.0", parameters = array<i64>} {
  ptx.ret
}

// -----

// ASM: one assembly file is for one chip, not for CDNA and PTX
ptx.kernel @a attributes {target = "sm_90", version = "8.0", parameters = array<i64>} {
  ptx.ret
}
cdna.kernel @b attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 0 : i64, workitem_ids = 0 : i64, max_workgroup_size = 64 : i64} {
  cdna.end s_endpgm
}

// -----

// PTX: there is no ptx.kernel, nor any function to make one of
// ASM: there is no cdna.kernel and no ptx.kernel, nor any function to make one of
llvm.mlir.global external @shared() {addr_space = 3 : i32} : i32

// -----

// PTX: LLVM IR has no ptx.kernel; write it with -t llvm, and compile that with LLVM
// ASM: LLVM IR has no cdna.kernel and no ptx.kernel; write it with -t llvm, and compile that with LLVM
llvm_ir.top_level "declare void @g()"

// -----

// PTX: error: this llvm.func is no kernel, and assembly has kernels alone: lower it or leave it out
// ASM: error: this llvm.func is no kernel, and assembly has kernels alone: lower it or leave it out
ptx.kernel @a attributes {target = "sm_90", version = "8.0", parameters = array<i64>} {
  ptx.ret
}
llvm.func @host() {
  llvm.return
}

// -----

// ASM: error: this builtin.module is no kernel, and assembly has kernels alone: lower it or leave it out
cdna.kernel @b attributes {chip = "gfx942", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 0 : i64, workitem_ids = 0 : i64, max_workgroup_size = 64 : i64} {
  cdna.end s_endpgm
}
builtin.module @inner {
  func.func @lost() {
    func.return
  }
}
