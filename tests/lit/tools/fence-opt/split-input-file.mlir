// RUN: not fence-opt %s --split-input-file 2>&1 | filecheck %s
// RUN: fence-opt %s --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix=OUT

// Each chunk is a module of its own, and every chunk's error is reported.

// CHECK: split-input-file.mlir:13:3: error: operation 'a.b' is not registered
// CHECK: split-input-file.mlir:18:3: error: operation 'c.d' is not registered
// OUT: func.func @f
// OUT: // {{-----}}
// OUT: func.func @f

func.func @f() {
  "a.b"() : () -> ()
  func.return
}
// -----
func.func @f() {
  "c.d"() : () -> ()
  func.return
}
