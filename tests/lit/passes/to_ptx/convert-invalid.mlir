// RUN: fence-opt %s --mcpu sm_80 --split-input-file --verify-diagnostics
// RUN: not fence-opt %s -p convert-scoped-to-ptx{mcpu=gfx942} 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not fence-opt %s --mcpu sm_60 2>&1 | filecheck %s --check-prefix=OLD
// RUN: not fence-opt %s --mcpu sm_90 --ptx-version 7.0 2>&1 | filecheck %s --check-prefix=VERSION
// RUN: not fence-opt %s --mcpu sm_90 --l2-per-agent one 2>&1 | filecheck %s --check-prefix=CDNA

// TARGET: target gfx942: not a PTX target; accepted: sm_70, sm_72, sm_75, sm_80
// OLD: target sm_60: unknown target; PTX has a memory consistency model from sm_70 on
// VERSION: PTX 7.0 does not assemble for sm_90; accepted: sm_90 with PTX 7.8, up to 9.5
// CDNA: --l2-per-agent has no effect

// expected-error@+1 {{'helper' is not a kernel (public without results, or marked gpu.kernel), and the PTX path has no calls; LLVM IR has no such limit: fence-opt --import-llvm}}
func.func private @helper(%a: i32) {
  func.return
}

// -----

// expected-error@+1 {{a function without a body cannot be called or lowered; LLVM IR has no such limit: fence-opt --import-llvm}}
func.func @declared(%a: i32)

// -----

func.func @unknown_operation(%a: i32, %b: i32) {
  // expected-error@+1 {{'arith.divui' is not supported on the PTX path; LLVM IR has no such limit: fence-opt --import-llvm}}
  %0 = arith.divui %a, %b : i32
  func.return
}

// -----

// expected-error@+1 {{a value of vector<3xi32> is not supported on the PTX path; LLVM IR has no such limit: fence-opt --import-llvm}}
func.func @unknown_type(%a: vector<3xi32>) {
  func.return
}

// -----

func.func @wide(%a: i128) {
  // expected-error@+1 {{'arith.addi' on i128 is not supported on the PTX path}}
  %0 = arith.addi %a, %a : i128
  func.return
}

// -----

func.func @predicates(%a: i1) {
  // expected-error@+1 {{i1 compares with eq and ne only on the PTX path}}
  %0 = arith.cmpi ult, %a, %a : i1
  func.return
}

// -----

func.func @halves(%p: !llvm.ptr<1>, %v: vector<4xf16>) {
  // expected-error@+1 {{'scoped.atomic_rmw' fadd on vector<4xf16> is not supported on the PTX path}}
  %0 = scoped.atomic_rmw fadd relaxed agent %p, %v : !llvm.ptr<1>, vector<4xf16>
  func.return
}

// -----

func.func @unaligned(%p: !llvm.ptr<1>) {
  // expected-error@+1 {{an access of 32 bits that is aligned to 1 bytes only is not supported on the PTX path}}
  %0 = scoped.load weak %p {alignment = 1} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @no_such_atomic(%p: !llvm.ptr<1>, %v: i128) {
  // expected-error@+1 {{sm_80 has no 128-bit atomic in this PTX version; accepted: sm_90}}
  %0 = scoped.atomic_rmw xchg relaxed agent %p, %v : !llvm.ptr<1>, i128
  func.return
}

// -----

// expected-error@+1 {{a global variable outside LDS (addr_space 3) is not supported}}
llvm.mlir.global internal @g() {addr_space = 1 : i32} : i32

// -----

// expected-error@+1 {{a variable in LDS starts undefined: leave out its initial value, store it}}
llvm.mlir.global internal @initialised(5 : i32) {addr_space = 3 : i32} : i32

// -----

func.func @many_indices(%p: !llvm.ptr<1>, %i: i32) {
  // expected-error@+1 {{a getelementptr of more than one index is not supported}}
  %0 = llvm.getelementptr %p[%i, 1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<2 x i32>
  func.return
}

// -----

func.func @variable_size(%n: i32) {
  // expected-error@+1 {{an alloca needs a constant size and a pointer to private memory}}
  %0 = llvm.alloca %n x i32 {alignment = 4 : i64} : (i32) -> !llvm.ptr<5>
  func.return
}

// -----

// expected-error@+1 {{'a.b' is not a name in PTX}}
func.func @"a.b"() {
  func.return
}

// -----

func.func @kernel() {
  func.return
}
llvm.func @other(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{the PTX path lowers func.func and gpu.func of one module, no llvm.func; LLVM IR has no such limit}}
  scoped.store release agent %v, %p : i32, !llvm.ptr<1>
  llvm.return
}

// -----

builtin.module {
  builtin.module @inner {
    func.func @kernel() {
      // expected-error @below {{the PTX path lowers func.func and gpu.func of one module, no builtin.module}}
      scoped.fence release agent
      func.return
    }
  }
}
