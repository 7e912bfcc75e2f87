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

// -----

func.func @reduction_direction(%tile: !llvm.ptr<3>, %data: !llvm.ptr<1>) {
  // expected-error @below {{there is no such reduction; accepted: !llvm.ptr<7> from !llvm.ptr<3> with an mbarrier in !llvm.ptr<7>; !llvm.ptr<1> from !llvm.ptr<3>}}
  scoped.bulk_reduce add i32 %tile, %data size 16 : !llvm.ptr<3>, !llvm.ptr<1>
  func.return
}

// -----

func.func @reduction_size(%tile: !llvm.ptr<3>, %data: !llvm.ptr<1>) {
  // expected-error @below {{size must be a multiple of 16 bytes, not 8}}
  scoped.bulk_reduce add i32 %data, %tile size 8 : !llvm.ptr<1>, !llvm.ptr<3>
  func.return
}

// -----

func.func @zeros(%tile: !llvm.ptr<3>) {
  // expected-error @below {{size must be a multiple of 8 up to 16777216, not 12}}
  scoped.store_bulk %tile size 12 : !llvm.ptr<3>
  func.return
}

// -----

func.func @prefetched(%data: !llvm.ptr<1>) {
  // expected-error @below {{size must be a multiple of 16 bytes, not 8}}
  scoped.prefetch %data size 8 : !llvm.ptr<1>
  func.return
}

// -----

func.func @prefetched_space(%data: !llvm.ptr<3>) {
  // expected-error @below {{pointer must be !llvm.ptr<1>, not !llvm.ptr<3>}}
  scoped.prefetch %data : !llvm.ptr<3>
  func.return
}

// -----

func.func @async_reduction(%p: !llvm.ptr<7>, %v: i16) {
  // expected-error @below {{the value must be i32 or i64, not i16}}
  scoped.reduce_async add %v, %p mbarrier %p : i16, !llvm.ptr<7>, !llvm.ptr<7>
  func.return
}

// -----

func.func @multicast_load(%p: !llvm.ptr<1>) {
  // expected-error @below {{'scoped.multimem_load' cannot be release; accepted: weak, relaxed, acquire}}
  %v = scoped.multimem_load add release system %p : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @multicast_reduction(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'scoped.multimem_reduce' cannot be weak; accepted: relaxed, release}}
  scoped.multimem_reduce add weak %v, %p : i32, !llvm.ptr<1>
  func.return
}

// -----

func.func @multicast_value(%p: !llvm.ptr<1>, %v: i16) {
  // expected-error @below {{the value must be i32, i64, f32 or f64, not i16}}
  scoped.multimem_store weak %v, %p : i16, !llvm.ptr<1>
  func.return
}

// -----

func.func @multicast_scope(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{expected scope: one of singlethread}}
  scoped.multimem_store relaxed %v, %p : i32, !llvm.ptr<1>
  func.return
}
