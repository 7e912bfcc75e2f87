// RUN: fence-opt %s | fence-opt | filecheck %s
// RUN: fence-opt %s --print-op-generic | fence-opt | filecheck %s
// RUN: fence-opt %s -p canonicalize,cse,dce | filecheck %s --check-prefix=OPT

// The operations of the dialect and their syntax; what may touch memory survives clean-up.

// CHECK: llvm_ir.top_level "declare void @g()"
llvm_ir.top_level "declare void @g()"

// CHECK: llvm_ir.func "define void @{@}(ptr {0}, i32 {1})" @f {
// CHECK-NEXT: ^entry(%p: !llvm.ptr, %v: i32):
llvm_ir.func "define void @{@}(ptr {0}, i32 {1})" @f {
^entry(%p : !llvm.ptr, %v : i32):
  // CHECK-NEXT: llvm_ir.label "entry"
  llvm_ir.label "entry"
  // CHECK-NEXT: %c = llvm_ir.constant "-1" : i32
  // OPT-NOT: llvm_ir.constant
  %c = llvm_ir.constant "-1" : i32
  // CHECK-NEXT: %unused = llvm_ir.inst "add i32 {0}, {1}"(%v, %c) : (i32, i32) -> i32
  // OPT-NOT: add i32
  %unused = llvm_ir.inst "add i32 {0}, {1}"(%v, %c) : (i32, i32) -> i32
  // CHECK-NEXT: %kept = llvm_ir.inst "call i32 @h(i32 {0})"(%v) {note} : (i32) -> i32
  // OPT: call i32 @h
  %kept = llvm_ir.inst "call i32 @h(i32 {0})"(%v) {note} : (i32) -> i32
  // CHECK-NEXT: llvm_ir.inst "call void @g()"() : () -> ()
  // OPT: call void @g
  llvm_ir.inst "call void @g()"() : () -> ()
  // CHECK-NEXT: llvm_ir.clobber
  // OPT: llvm_ir.clobber
  llvm_ir.clobber
  // CHECK-NEXT: %later = llvm_ir.inst "freeze i32 {0}"(%x) : (i32) -> i32
  %later = llvm_ir.inst "freeze i32 {0}"(%x) : (i32) -> i32
  // CHECK-NEXT: %x = llvm_ir.inst "freeze { i32, { i8 } } {0}"(%later) : (i32) -> i32
  %x = llvm_ir.inst "freeze { i32, { i8 } } {0}"(%later) : (i32) -> i32
  // CHECK-NEXT: %r = llvm_ir.terminator "invoke i32 @h() to label {^0} unwind label {^1}"() [^next, ^next] {note} : () -> i32
  %r = llvm_ir.terminator "invoke i32 @h() to label {^0} unwind label {^1}"() [^next, ^next] {note} : () -> i32
^next:
  // CHECK: llvm_ir.terminator "ret void"() : () -> ()
  llvm_ir.terminator "ret void"() : () -> ()
}
