// RUN: fence-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: fence-opt %s --split-input-file --verify-diagnostics --print-op-generic | filecheck %s --check-prefix=GENERIC

// Without annotations the flag prints what went wrong and goes on, as in xdsl-opt.

// CHECK: property 'value' expected in operation 'arith.constant'
// CHECK: func.func @after
// GENERIC: sym_name = "after"

func.func @before() {
  %0 = "arith.constant"() : () -> i32
  func.return
}

// -----

func.func @after() {
  func.return
}
