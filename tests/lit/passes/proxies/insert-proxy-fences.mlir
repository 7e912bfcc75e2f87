// RUN: fence-opt -p insert-proxy-fences %s | filecheck %s
// RUN: fence-opt -p insert-proxy-fences{fence-reads=false} %s | filecheck %s --check-prefix=WRITES
// RUN: fence-opt -p insert-proxy-fences,insert-proxy-fences %s | filecheck %s

llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32} : !llvm.array<1 x i64>

// The writer fences, before the barrier; the thread that copies waits before the next one.
// CHECK-LABEL: func.func @core_to_tma_store
func.func @core_to_tma_store(%out: !llvm.ptr<1>, %v: i32, %leader: i1) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  // CHECK:      scoped.store weak %v, %tile
  // CHECK-NEXT: scoped.proxy_fence async spaces [local]
  // CHECK-NEXT: scoped.barrier workgroup
  scoped.store weak %v, %tile : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  cf.cond_br %leader, ^copy, ^copied
^copy:
  // CHECK:      scoped.bulk_copy
  // CHECK-NEXT: scoped.bulk_commit_group
  // CHECK-NEXT: scoped.bulk_wait_group read 0
  // CHECK-NEXT: cf.br
  scoped.bulk_copy %out, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
  cf.br ^copied
^copied:
  // CHECK:      ^copied:
  // CHECK-NEXT: scoped.barrier workgroup
  // CHECK-NEXT: scoped.store weak %v, %tile
  // CHECK-NEXT: func.return
  scoped.barrier workgroup
  scoped.store weak %v, %tile : i32, !llvm.ptr<3>
  func.return
}

// Completion carries the fence. In the next round the tile that was read is overwritten.
// What is written to %out may be read by a copy from %data unless they do not alias.
// CHECK-LABEL: func.func @tma_loop
// WRITES-LABEL: func.func @tma_loop
func.func @tma_loop(%data: !llvm.ptr<1>, %out: !llvm.ptr<1> {llvm.noalias}, %n: i32, %again: i1)
    attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  cf.br ^loop
^loop:
  // CHECK:      scoped.bulk_copy
  // CHECK-NEXT: scoped.mbarrier_wait
  // CHECK-NEXT: %read = scoped.load weak %tile
  // CHECK-NEXT: scoped.store weak %read
  // CHECK-NEXT: scoped.proxy_fence async spaces [local]
  // CHECK-NEXT: scoped.barrier workgroup
  // WRITES:      scoped.store weak %read
  // WRITES-NEXT: scoped.barrier workgroup
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  scoped.mbarrier_wait acquire workgroup %full, %n : !llvm.ptr<3>, i32
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  scoped.barrier workgroup
  cf.cond_br %again, ^loop, ^end
^end:
  func.return
}
