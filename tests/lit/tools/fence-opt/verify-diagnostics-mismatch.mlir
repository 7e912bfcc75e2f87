// RUN: not fence-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// Each way in which an annotation and what happens can differ is an error.

// CHECK: mismatch.mlir:10:1: error: unexpected error: operation 'a.b' is not registered
// CHECK: mismatch.mlir:14:1: error: unexpected error: operation 'c.d' is not registered
// CHECK: mismatch.mlir:13:1: error: expected error "operation 'x.y' is not registered" was not produced
// CHECK: mismatch.mlir:18:1: error: expected remark "nothing happens here" was not produced

a.b

// -----
// expected-error @+1 {{operation 'x.y' is not registered}}
c.d

// -----

// expected-remark @below {{nothing happens here}}
func.func @fine() {
  func.return
}
