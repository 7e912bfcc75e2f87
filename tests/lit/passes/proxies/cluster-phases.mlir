// RUN: fence-opt -p insert-proxy-fences %s | filecheck %s

// What is stored to a peer before an arrival is fenced there behind the waits of that phase, before
// a copy reads or writes it, and behind no others.

llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32} : !llvm.array<1 x i64>

// The copy is of the first phase, the store of the second.
// CHECK-LABEL: func.func @two_phases
func.func @two_phases(%data: !llvm.ptr<1>, %v: i32, %n: i32) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %peer = scoped.map_shared %tile, %n : !llvm.ptr<3> -> !llvm.ptr<7>
  // CHECK-NOT: proxy_fence
  scoped.cluster_arrive release
  scoped.cluster_wait
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  scoped.mbarrier_wait acquire workgroup %full, %n : !llvm.ptr<3>, i32
  scoped.store weak %v, %peer : i32, !llvm.ptr<7>
  scoped.cluster_arrive release
  scoped.cluster_wait
  func.return
}

// The other way round it is needed, once.
// CHECK-LABEL: func.func @handed_over
func.func @handed_over(%data: !llvm.ptr<1>, %v: i32, %n: i32) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %peer = scoped.map_shared %tile, %n : !llvm.ptr<3> -> !llvm.ptr<7>
  scoped.cluster_arrive release
  scoped.cluster_wait
  scoped.store weak %v, %peer : i32, !llvm.ptr<7>
  scoped.cluster_arrive release
  // CHECK:      scoped.cluster_wait
  // CHECK:      scoped.cluster_wait
  // CHECK-NEXT: scoped.proxy_fence async spaces [shared_cluster]
  // CHECK-NEXT: scoped.bulk_copy
  scoped.cluster_wait
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  scoped.mbarrier_wait acquire workgroup %full, %n : !llvm.ptr<3>, i32
  func.return
}

// No round of the loop is the phase before it.
// CHECK-LABEL: func.func @before_a_loop
func.func @before_a_loop(%data: !llvm.ptr<1>, %v: i32, %n: i32, %again: i1) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %peer = scoped.map_shared %tile, %n : !llvm.ptr<3> -> !llvm.ptr<7>
  // CHECK-NOT: proxy_fence
  scoped.cluster_arrive release
  scoped.cluster_wait
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  scoped.mbarrier_wait acquire workgroup %full, %n : !llvm.ptr<3>, i32
  cf.br ^loop
^loop:
  scoped.store weak %v, %peer : i32, !llvm.ptr<7>
  scoped.cluster_arrive release
  scoped.cluster_wait
  cf.cond_br %again, ^loop, ^end
^end:
  func.return
}

// A round may hand over to the next one.
// CHECK-LABEL: func.func @in_a_loop
func.func @in_a_loop(%data: !llvm.ptr<1>, %v: i32, %n: i32, %again: i1) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %peer = scoped.map_shared %tile, %n : !llvm.ptr<3> -> !llvm.ptr<7>
  cf.br ^loop
^loop:
  // CHECK:      scoped.cluster_wait
  // CHECK-NEXT: scoped.proxy_fence async spaces [shared_cluster]
  // CHECK-NEXT: scoped.bulk_copy
  // CHECK-NOT:  proxy_fence
  scoped.cluster_arrive release
  scoped.cluster_wait
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  scoped.mbarrier_wait acquire workgroup %full, %n : !llvm.ptr<3>, i32
  scoped.store weak %v, %peer : i32, !llvm.ptr<7>
  scoped.cluster_arrive release
  scoped.cluster_wait
  cf.cond_br %again, ^loop, ^end
^end:
  func.return
}

// Threads of the cluster may go different ways and meet all the same.
// CHECK-LABEL: func.func @different_ways
func.func @different_ways(%data: !llvm.ptr<1>, %v: i32, %n: i32, %first: i1) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %peer = scoped.map_shared %tile, %n : !llvm.ptr<3> -> !llvm.ptr<7>
  cf.cond_br %first, ^push, ^copy
^push:
  scoped.store weak %v, %peer : i32, !llvm.ptr<7>
  scoped.cluster_arrive release
  scoped.cluster_wait
  cf.br ^end
^copy:
  // CHECK:      ^copy:
  // CHECK-NEXT: scoped.cluster_arrive release
  // CHECK-NEXT: scoped.cluster_wait
  // CHECK-NEXT: scoped.proxy_fence async spaces [shared_cluster]
  // CHECK-NEXT: scoped.bulk_copy
  scoped.cluster_arrive release
  scoped.cluster_wait
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  scoped.mbarrier_wait acquire workgroup %full, %n : !llvm.ptr<3>, i32
  cf.br ^end
^end:
  func.return
}
