// RUN: fence-opt %s -p merge-fences | filecheck %s
// RUN: fence-opt %s -p merge-fences,merge-fences | filecheck %s

// The wider one stays.
// CHECK-LABEL: func.func @wider
// CHECK:      scoped.store weak
// CHECK-NEXT: scoped.fence release agent
// CHECK-NEXT: scoped.store relaxed
func.func @wider(%d : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel} {
  scoped.store weak %v, %d : i32, !llvm.ptr<1>
  scoped.fence release workgroup
  scoped.fence release agent
  scoped.fence release workgroup
  scoped.store relaxed agent %v, %d : i32, !llvm.ptr<1>
  func.return
}

// One fence in place of two; what one has taken in the next one has to release.
// CHECK-LABEL: func.func @halves
// CHECK:      scoped.load relaxed
// CHECK-NEXT: scoped.fence acq_rel agent
// CHECK-NEXT: scoped.store relaxed
// CHECK-NEXT: scoped.load relaxed
// CHECK-NEXT: scoped.fence acquire agent
// CHECK-NEXT: scoped.fence release agent
// CHECK-NEXT: scoped.store relaxed
func.func @halves(%f : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel} {
  %a = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  scoped.fence acq_rel agent
  scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>
  %b = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  scoped.fence release agent
  scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>
  func.return
}

// Behind an acquire load of a kernel there is nothing left to acquire; a function's caller may
// have read a flag.
// CHECK-LABEL: func.func @kernel
// CHECK:      scoped.load acquire
// CHECK-NEXT: func.return
// CHECK-LABEL: func.func @function
// CHECK:      scoped.load acquire
// CHECK-NEXT: scoped.fence acquire
func.func @kernel(%f : !llvm.ptr<1>) attributes {gpu.kernel} {
  %a = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  func.return
}
func.func @function(%f : !llvm.ptr<1>) -> i32 {
  %a = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  func.return %a : i32
}

// Dominated: on all ways, or not.
// CHECK-LABEL: func.func @dominated
// CHECK:      ^b:
// CHECK-NEXT: scoped.store relaxed
// CHECK-LABEL: func.func @not_dominated
// CHECK:      ^b:
// CHECK-NEXT: scoped.fence release agent
func.func @dominated(%f : !llvm.ptr<1>, %v : i32, %c : i1) attributes {gpu.kernel} {
  scoped.fence release agent
  cf.cond_br %c, ^a, ^b
^a:
  cf.br ^b
^b:
  scoped.fence release agent
  scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>
  func.return
}
func.func @not_dominated(%f : !llvm.ptr<1>, %v : i32, %c : i1) attributes {gpu.kernel} {
  scoped.fence release agent
  cf.cond_br %c, ^a, ^b
^a:
  scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>
  cf.br ^b
^b:
  scoped.fence release agent
  scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>
  func.return
}

// Fences of some address spaces and calls prove nothing to others; seq_cst does what a release does.
// CHECK-LABEL: func.func @stay
// CHECK:      scoped.fence release agent spaces [local]
// CHECK-NEXT: scoped.fence release agent av(none)
// CHECK-NEXT: scoped.fence release agent
// CHECK-NEXT: func.call
// CHECK-NEXT: scoped.fence release agent
// CHECK-NEXT: scoped.store
// CHECK-NEXT: scoped.fence seq_cst agent
// CHECK-NEXT: func.return
func.func @stay(%f : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel} {
  scoped.fence release agent spaces [local]
  scoped.fence release agent av(none)
  scoped.fence release agent
  func.call @g() : () -> ()
  scoped.fence release agent
  scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>
  scoped.fence release agent
  scoped.fence seq_cst agent
  func.return
}
func.func private @g() -> ()
