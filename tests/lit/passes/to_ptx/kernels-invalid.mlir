// RUN: fence-opt %s -p 'convert-scoped-to-ptx{mcpu=sm_70}' --split-input-file --verify-diagnostics | filecheck %s

// CHECK: the intrinsic llvm.nvvm.barrier0 is not supported on the PTX path
func.func @unknown(%v: i32) {
  %0 = llvm.call_intrinsic "llvm.nvvm.barrier0"(%v) : (i32) -> i32
  func.return
}

// -----

// CHECK: llvm.nvvm.vote.ballot.sync is (i32, i1) -> i32
func.func @types(%v: i32) {
  %0 = llvm.call_intrinsic "llvm.nvvm.vote.ballot.sync"(%v, %v) : (i32, i32) -> i32
  func.return
}

// -----

// CHECK: llvm.nvvm.redux.sync.add: sm_70 does not have it; accepted: sm_80
func.func @chip(%v: i32) {
  %0 = llvm.call_intrinsic "llvm.nvvm.redux.sync.add"(%v, %v) : (i32, i32) -> i32
  func.return
}

// -----

// CHECK: vector<4xi8> is not supported on the PTX path
func.func @bytes(%p: !llvm.ptr<1>) {
  %v = scoped.load weak %p : !llvm.ptr<1> -> vector<4xi8>
  %0 = vector.extract %v[0] : i8 from vector<4xi8>
  func.return
}

// -----

// CHECK: 'arith.addf' on bf16 is not supported on the PTX path
func.func @bf16(%v: bf16) {
  %0 = arith.addf %v, %v : bf16
  func.return
}
