// RUN: fence-opt %s | filecheck %s
// RUN: fence-opt %s | fence-opt | filecheck %s
// RUN: fence-opt %s --print-op-generic | fence-opt | filecheck %s

// CHECK-LABEL: func.func @mbarriers
func.func @mbarriers(%bar: !llvm.ptr<3>, %peer: !llvm.ptr<7>, %parity: i32) {
  // CHECK: scoped.mbarrier_init %bar count 128 : !llvm.ptr<3>
  scoped.mbarrier_init %bar count 128 : !llvm.ptr<3>
  // CHECK-NEXT: scoped.mbarrier_expect_tx workgroup %bar bytes 64 : !llvm.ptr<3>
  scoped.mbarrier_expect_tx workgroup %bar bytes 64 : !llvm.ptr<3>
  // CHECK-NEXT: %token = scoped.mbarrier_arrive release workgroup %bar : !llvm.ptr<3> -> i64
  %token = scoped.mbarrier_arrive release workgroup %bar : !llvm.ptr<3> -> i64
  // CHECK-NEXT: scoped.mbarrier_arrive relaxed cluster %bar count 2 : !llvm.ptr<3>
  scoped.mbarrier_arrive relaxed cluster %bar count 2 : !llvm.ptr<3>
  // CHECK-NEXT: scoped.mbarrier_arrive release cluster %peer expect_tx 16 : !llvm.ptr<7>
  scoped.mbarrier_arrive release cluster %peer expect_tx 16 : !llvm.ptr<7>
  // CHECK-NEXT: scoped.mbarrier_arrive release cluster %peer spaces [local] : !llvm.ptr<7>
  scoped.mbarrier_arrive release cluster %peer spaces [local] : !llvm.ptr<7>
  // CHECK-NEXT: scoped.mbarrier_arrive drop release workgroup %bar {unit} : !llvm.ptr<3>
  scoped.mbarrier_arrive drop release workgroup %bar {unit} : !llvm.ptr<3>
  // CHECK-NEXT: scoped.mbarrier_wait acquire workgroup %bar, %token : !llvm.ptr<3>, i64
  scoped.mbarrier_wait acquire workgroup %bar, %token : !llvm.ptr<3>, i64
  // CHECK-NEXT: scoped.mbarrier_wait acquire cluster %bar, %parity spaces [shared_cluster] : !llvm.ptr<3>, i32
  scoped.mbarrier_wait acquire cluster %bar, %parity spaces [shared_cluster] : !llvm.ptr<3>, i32
  // CHECK-NEXT: %a = scoped.mbarrier_test_wait acquire workgroup %bar, %parity : !llvm.ptr<3>, i32
  %a = scoped.mbarrier_test_wait acquire workgroup %bar, %parity : !llvm.ptr<3>, i32
  // CHECK-NEXT: %b = scoped.mbarrier_try_wait relaxed cluster %bar, %parity : !llvm.ptr<3>, i32
  %b = scoped.mbarrier_try_wait relaxed cluster %bar, %parity : !llvm.ptr<3>, i32
  // CHECK-NEXT: scoped.mbarrier_inval %bar : !llvm.ptr<3>
  scoped.mbarrier_inval %bar : !llvm.ptr<3>
  func.return
}

// CHECK-LABEL: func.func @copies
func.func @copies(%tile: !llvm.ptr<3>, %bar: !llvm.ptr<3>, %data: !llvm.ptr<1>, %map: !llvm.ptr,
    %rank: i32, %x: i32, %v: i64) {
  // CHECK: %peer = scoped.map_shared %tile, %rank : !llvm.ptr<3> -> !llvm.ptr<7>
  %peer = scoped.map_shared %tile, %rank : !llvm.ptr<3> -> !llvm.ptr<7>
  // CHECK-NEXT: scoped.bulk_copy %tile, %data size 16 mbarrier %bar : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  scoped.bulk_copy %tile, %data size 16 mbarrier %bar
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: scoped.bulk_copy %data, %tile size 16 : !llvm.ptr<1>, !llvm.ptr<3>
  scoped.bulk_copy %data, %tile size 16 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: scoped.tensor_load %tile, %map[%x, %x] mbarrier %bar written agent : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32, i32
  scoped.tensor_load %tile, %map [%x, %x] mbarrier %bar written agent
    : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32, i32
  // CHECK-NEXT: scoped.tensor_store %map[%x], %tile : !llvm.ptr, !llvm.ptr<3>, i32
  scoped.tensor_store %map [%x], %tile : !llvm.ptr, !llvm.ptr<3>, i32
  // CHECK-NEXT: scoped.store_async %v, %peer mbarrier %peer : i64, !llvm.ptr<7>, !llvm.ptr<7>
  scoped.store_async %v, %peer mbarrier %peer : i64, !llvm.ptr<7>, !llvm.ptr<7>
  // CHECK-NEXT: scoped.bulk_commit_group
  scoped.bulk_commit_group
  // CHECK-NEXT: scoped.bulk_wait_group read 1
  scoped.bulk_wait_group read 1
  // CHECK-NEXT: scoped.bulk_wait_group 0
  scoped.bulk_wait_group 0
  // CHECK-NEXT: scoped.async_copy %tile, %data size 8 : !llvm.ptr<3>, !llvm.ptr<1>
  scoped.async_copy %tile, %data size 8 : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK-NEXT: scoped.async_copy %tile, %data size 16 read %x : !llvm.ptr<3>, !llvm.ptr<1>
  scoped.async_copy %tile, %data size 16 read %x : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK-NEXT: scoped.async_arrive noinc %bar : !llvm.ptr<3>
  scoped.async_arrive noinc %bar : !llvm.ptr<3>
  // CHECK-NEXT: scoped.async_commit_group
  scoped.async_commit_group
  // CHECK-NEXT: scoped.async_wait_group 0
  scoped.async_wait_group 0
  // CHECK-NEXT: scoped.tensormap_replace %tile, %v : !llvm.ptr<3>, i64
  scoped.tensormap_replace %tile, %v : !llvm.ptr<3>, i64
  // CHECK-NEXT: scoped.tensormap_copy release agent %data, %tile : !llvm.ptr<1>, !llvm.ptr<3>
  scoped.tensormap_copy release agent %data, %tile : !llvm.ptr<1>, !llvm.ptr<3>
  func.return
}

// CHECK-LABEL: func.func @tensor_cores
func.func @tensor_cores(%tmem: !llvm.ptr<6>, %bar: !llvm.ptr<3>, %a: i64, %i: i32, %p: i1) {
  // CHECK: scoped.tcgen05_mma "f16" %tmem, %a, %a, %i, %p : !llvm.ptr<6>
  scoped.tcgen05_mma "f16" %tmem, %a, %a, %i, %p : !llvm.ptr<6>
  // CHECK-NEXT: scoped.tcgen05_copy "128x256b" %tmem, %a : !llvm.ptr<6>
  scoped.tcgen05_copy "128x256b" %tmem, %a : !llvm.ptr<6>
  // CHECK-NEXT: scoped.tcgen05_commit %bar : !llvm.ptr<3>
  scoped.tcgen05_commit %bar : !llvm.ptr<3>
  // CHECK-NEXT: %v = scoped.tcgen05_load %tmem : !llvm.ptr<6> -> i32
  %v = scoped.tcgen05_load %tmem : !llvm.ptr<6> -> i32
  // CHECK-NEXT: scoped.tcgen05_store %v, %tmem : i32, !llvm.ptr<6>
  scoped.tcgen05_store %v, %tmem : i32, !llvm.ptr<6>
  // CHECK-NEXT: scoped.wgmma "m64n8k16.f32.f16.f16" "sum" registers 4 %a, %a
  scoped.wgmma "m64n8k16.f32.f16.f16" "sum" registers 4 %a, %a
  // CHECK-NEXT: scoped.wgmma_commit_group
  scoped.wgmma_commit_group
  // CHECK-NEXT: scoped.wgmma_wait_group 0
  scoped.wgmma_wait_group 0
  // CHECK-NEXT: %r = scoped.wgmma_read "sum"[3] : i32
  %r = scoped.wgmma_read "sum"[3] : i32
  func.return
}

// CHECK-LABEL: func.func @fences
func.func @fences(%map: !llvm.ptr) {
  // CHECK: scoped.cluster_arrive relaxed
  scoped.cluster_arrive relaxed
  // CHECK-NEXT: scoped.cluster_wait
  scoped.cluster_wait
  // CHECK-NEXT: scoped.proxy_fence async spaces [local]
  scoped.proxy_fence async spaces [local]
  // CHECK-NEXT: scoped.proxy_fence async{{$}}
  scoped.proxy_fence async
  // CHECK-NEXT: scoped.cluster_fence release async
  scoped.cluster_fence release async
  // CHECK-NEXT: scoped.cluster_fence acquire generic
  scoped.cluster_fence acquire generic
  // CHECK-NEXT: scoped.mbarrier_init_fence
  scoped.mbarrier_init_fence
  // CHECK-NEXT: scoped.tensormap_fence release agent{{$}}
  scoped.tensormap_fence release agent
  // CHECK-NEXT: scoped.tensormap_fence acquire system %map : !llvm.ptr
  scoped.tensormap_fence acquire system %map : !llvm.ptr
  // CHECK-NEXT: scoped.tcgen05_fence before
  scoped.tcgen05_fence before
  // CHECK-NEXT: scoped.tcgen05_fence after
  scoped.tcgen05_fence after
  // CHECK-NEXT: scoped.tcgen05_wait loads
  scoped.tcgen05_wait loads
  // CHECK-NEXT: scoped.tcgen05_wait stores
  scoped.tcgen05_wait stores
  // CHECK-NEXT: scoped.wgmma_fence
  scoped.wgmma_fence
  func.return
}

// CHECK-LABEL: func.func @named_barriers
func.func @named_barriers() {
  // CHECK-NEXT: scoped.named_barrier arrive 1 threads 64
  scoped.named_barrier arrive 1 threads 64
  // CHECK-NEXT: scoped.named_barrier sync 1 threads 64
  scoped.named_barrier sync 1 threads 64
  func.return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%tile: !llvm.ptr<3>, %peer: !llvm.ptr<7>, %bar: !llvm.ptr<7>,
    %data: !llvm.ptr<1>, %map: !llvm.ptr, %v: i32, %w: i64, %x: f32) {
  // CHECK: scoped.bulk_reduce add i32 %data, %tile size 32 : !llvm.ptr<1>, !llvm.ptr<3>
  scoped.bulk_reduce add i32 %data, %tile size 32 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: scoped.bulk_reduce fadd bf16 %data, %tile size 32 : !llvm.ptr<1>, !llvm.ptr<3>
  scoped.bulk_reduce fadd bf16 %data, %tile size 32 : !llvm.ptr<1>, !llvm.ptr<3>
  // CHECK-NEXT: scoped.bulk_reduce umax i32 %peer, %tile size 16 mbarrier %bar : !llvm.ptr<7>, !llvm.ptr<3>, !llvm.ptr<7>
  scoped.bulk_reduce umax i32 %peer, %tile size 16 mbarrier %bar : !llvm.ptr<7>, !llvm.ptr<3>, !llvm.ptr<7>
  // CHECK-NEXT: scoped.tensor_store %map[%v], %tile reduce add : !llvm.ptr, !llvm.ptr<3>, i32
  scoped.tensor_store %map[%v], %tile reduce add : !llvm.ptr, !llvm.ptr<3>, i32
  // CHECK-NEXT: scoped.reduce_async uinc_wrap %v, %peer mbarrier %bar : i32, !llvm.ptr<7>, !llvm.ptr<7>
  scoped.reduce_async uinc_wrap %v, %peer mbarrier %bar : i32, !llvm.ptr<7>, !llvm.ptr<7>
  // CHECK-NEXT: scoped.reduce_async add %w, %peer mbarrier %bar : i64, !llvm.ptr<7>, !llvm.ptr<7>
  scoped.reduce_async add %w, %peer mbarrier %bar : i64, !llvm.ptr<7>, !llvm.ptr<7>
  // CHECK-NEXT: scoped.mbarrier_complete_tx cluster %bar bytes 16 : !llvm.ptr<7>
  scoped.mbarrier_complete_tx cluster %bar bytes 16 : !llvm.ptr<7>
  // CHECK-NEXT: scoped.store_bulk %tile size 128 : !llvm.ptr<3>
  scoped.store_bulk %tile size 128 : !llvm.ptr<3>
  // CHECK-NEXT: scoped.prefetch %data : !llvm.ptr<1>
  scoped.prefetch %data : !llvm.ptr<1>
  // CHECK-NEXT: scoped.prefetch %data size 16 : !llvm.ptr<1>
  scoped.prefetch %data size 16 : !llvm.ptr<1>
  // CHECK-NEXT: %leader = scoped.elect : i1
  %leader = scoped.elect : i1
  // CHECK-NEXT: %sum = scoped.multimem_load fadd acquire system %data : !llvm.ptr<1> -> f32
  %sum = scoped.multimem_load fadd acquire system %data : !llvm.ptr<1> -> f32
  // CHECK-NEXT: %least = scoped.multimem_load umin weak %data : !llvm.ptr<1> -> i32
  %least = scoped.multimem_load umin weak %data : !llvm.ptr<1> -> i32
  // CHECK-NEXT: scoped.multimem_store release agent %x, %data : f32, !llvm.ptr<1>
  scoped.multimem_store release agent %x, %data : f32, !llvm.ptr<1>
  // CHECK-NEXT: scoped.multimem_store weak %v, %data : i32, !llvm.ptr<1>
  scoped.multimem_store weak %v, %data : i32, !llvm.ptr<1>
  // CHECK-NEXT: scoped.multimem_reduce add relaxed system %w, %data : i64, !llvm.ptr<1>
  scoped.multimem_reduce add relaxed system %w, %data : i64, !llvm.ptr<1>
  // CHECK-NEXT: scoped.alias_fence
  scoped.alias_fence
  func.return
}
