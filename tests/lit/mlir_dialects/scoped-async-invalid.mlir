// RUN: fence-opt --split-input-file --verify-diagnostics %s

func.func @scope(%bar: !llvm.ptr<3>) {
  // expected-error @below {{an mbarrier is reached from its cluster only, not at agent scope; accepted: workgroup, cluster}}
  scoped.mbarrier_arrive release agent %bar : !llvm.ptr<3>
  func.return
}

// -----

func.func @token(%bar: !llvm.ptr<7>) {
  // expected-error @below {{arriving at a peer's mbarrier gives no token}}
  %t = scoped.mbarrier_arrive release cluster %bar : !llvm.ptr<7> -> i64
  func.return
}

// -----

func.func @direction(%tile: !llvm.ptr<3>, %data: !llvm.ptr<1>) {
  // expected-error @below {{there is no such copy; accepted: !llvm.ptr<3> from !llvm.ptr<1> with an mbarrier in !llvm.ptr<3>}}
  scoped.bulk_copy %tile, %data size 16 : !llvm.ptr<3>, !llvm.ptr<1>
  func.return
}

// -----

func.func @coordinates(%tile: !llvm.ptr<3>, %map: !llvm.ptr, %x: i32) {
  // expected-error @below {{a tensor has 1 to 5 coordinates, not 6}}
  scoped.tensor_store %map [%x, %x, %x, %x, %x, %x], %tile
    : !llvm.ptr, !llvm.ptr<3>, i32, i32, i32, i32, i32, i32
  func.return
}

// -----

func.func @tensor_memory(%p: !llvm.ptr<1>) {
  // expected-error @below {{pointer must be !llvm.ptr<6>, not !llvm.ptr<1>}}
  %v = scoped.tcgen05_load %p : !llvm.ptr<1> -> i32
  func.return
}
