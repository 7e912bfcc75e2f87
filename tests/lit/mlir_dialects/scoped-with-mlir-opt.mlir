// REQUIRES: mlir-opt
// RUN: fence-opt %s --print-op-generic | mlir-opt --allow-unregistered-dialect --mlir-print-op-generic | fence-opt | filecheck %s

// MLIR carries the dialect without knowing it, and nothing is lost on the way there and back.

// CHECK-LABEL: func.func @carried
func.func @carried(%p: !llvm.ptr<1>, %l: !llvm.ptr<3>, %g: !llvm.ptr, %v: i32) -> i32 {
  // CHECK-NEXT: %{{.*}} = scoped.load acquire agent %{{.*}} spaces [global, local] av(none) {volatile, nontemporal, one_as, alignment = 4, note = "kept"} : !llvm.ptr<1> -> i32
  %0 = scoped.load acquire agent %p spaces [global, local] av(none) {volatile, nontemporal, one_as, alignment = 4, note = "kept"} : !llvm.ptr<1> -> i32
  // CHECK-NEXT: %{{.*}} = scoped.load weak %{{.*}} : !llvm.ptr -> vector<4xf32>
  %1 = scoped.load weak %g : !llvm.ptr -> vector<4xf32>
  // CHECK-NEXT: scoped.store seq_cst system %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
  scoped.store seq_cst system %v, %l : i32, !llvm.ptr<3>
  // CHECK-NEXT: %{{.*}} = scoped.atomic_rmw umax acq_rel cluster %{{.*}}, %{{.*}} : !llvm.ptr<1>, i32
  %2 = scoped.atomic_rmw umax acq_rel cluster %p, %v : !llvm.ptr<1>, i32
  // CHECK-NEXT: %{{.*}}, %{{.*}} = scoped.cmpxchg seq_cst acquire agent %{{.*}}, %{{.*}}, %{{.*}} {weak} : !llvm.ptr<1>, i32
  %3, %4 = scoped.cmpxchg seq_cst acquire agent %p, %0, %2 {weak} : !llvm.ptr<1>, i32
  // CHECK-NEXT: scoped.fence acquire workgroup spaces [local]
  scoped.fence acquire workgroup spaces [local]
  // CHECK-NEXT: scoped.barrier workgroup
  scoped.barrier workgroup
  // CHECK-NEXT: scoped.barrier relaxed workgroup
  scoped.barrier relaxed workgroup
  func.return %3 : i32
}
