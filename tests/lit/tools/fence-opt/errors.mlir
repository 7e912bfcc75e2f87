// RUN: not fence-opt %s 2>&1 | filecheck %s
// RUN: not fence-opt < %s 2>&1 | filecheck %s --check-prefix=STDIN
// RUN: not fence-opt - < %s 2>&1 | filecheck %s --check-prefix=STDIN

// An error names the file, line and column of the operation.

// CHECK: errors.mlir:11:3: error: operation 'nothing.at_all' is not registered
// STDIN: <stdin>:11:3: error: operation 'nothing.at_all' is not registered

func.func @f() {
  nothing.at_all
}
