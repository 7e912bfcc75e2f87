// RUN: fence-opt %s -p canonicalize,cse --print-ir-after-all 2>&1 | filecheck %s
// RUN: fence-opt %s -p canonicalize,cse --mlir-print-ir-after-all 2>&1 | filecheck %s
// RUN: fence-opt %s -p canonicalize,cse --print-between-passes | filecheck %s --check-prefix=BETWEEN
// RUN: fence-opt %s --print-debuginfo | filecheck %s --check-prefix=DEBUG

// CHECK: // -----// IR Dump After CanonicalizePass (canonicalize) //----- //
// CHECK: func.func @f
// CHECK: // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// CHECK: func.func @f
// BETWEEN: IR after canonicalize:
// BETWEEN-NOT: IR after cse:
// DEBUG: arith.addi %a, %a : i32 loc({{.*}}print-ir.mlir":16:3)

func.func @f(%a: i32) -> i32 {
  // The location is where the operation begins.
  %0 = arith.addi %a, %a : i32
  func.return %0 : i32
}
