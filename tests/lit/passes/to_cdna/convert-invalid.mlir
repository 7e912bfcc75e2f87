// RUN: fence-opt %s -p convert-scoped-to-cdna{mcpu=gfx942} --split-input-file --verify-diagnostics

// What the CDNA path does not accept: one error at the operation, which says what does.

func.func @division(%a: i32) {
  // expected-error @below {{'arith.divui' is not supported on the CDNA path; LLVM IR has no such limit: fence-opt --import-llvm}}
  %0 = arith.divui %a, %a : i32
  func.return
}

// -----

// expected-error @below {{'f' is not a kernel (public without results, or marked gpu.kernel), and the CDNA path has no calls}}
func.func @f(%v: i32) -> i32 {
  func.return %v : i32
}

// -----

func.func @narrow_rmw(%p: !llvm.ptr<1>, %v: i16) {
  // expected-error @below {{accepted: i32, i64}}
  %old = scoped.atomic_rmw add relaxed agent %p, %v : !llvm.ptr<1>, i16
  func.return
}

// -----

func.func @wide_min(%a: i64) {
  // expected-error @below {{'arith.minui' on i64 is not supported on the CDNA path}}
  %0 = arith.minui %a, %a : i64
  func.return
}

// -----

func.func @block_dim() {
  // expected-error @below {{the work-group size is not known; give the kernel gpu.known_block_size}}
  %0 = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
  func.return
}

// -----

// expected-error @below {{a global variable outside LDS (addr_space 3) is not supported}}
llvm.mlir.global internal @g() {addr_space = 1 : i32} : i32

// -----

// expected-error @+1 {{a value of !llvm.ptr<6> is not supported on the CDNA path}}
func.func @tensor_memory(%t: !llvm.ptr<6>) attributes {gpu.kernel} {
  func.return
}

// -----

func.func @kernel() {
  func.return
}
llvm.func @other(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{the CDNA path lowers func.func and gpu.func of one module, no llvm.func; LLVM IR has no such limit}}
  scoped.store release agent %v, %p : i32, !llvm.ptr<1>
  llvm.return
}

// -----

builtin.module {
  builtin.module @inner {
    func.func @kernel() {
      // expected-error @below {{the CDNA path lowers func.func and gpu.func of one module, no builtin.module}}
      scoped.fence release agent
      func.return
    }
  }
}
