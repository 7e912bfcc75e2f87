// Reductions by other units: the copy unit adds a tile to global memory or to a peer's shared memory, and
// a thread adds to a peer's shared memory without waiting. Each element is relaxed by itself, so that
// several may add to one place; who reads the sum waits as for a copy.
//
// fence-sim run --mcpu sm_90 examples/patterns/reductions.mlir

// TMA: two threads add their tiles to one sum. Each fences what it wrote and waits for its own group.
litmus.test @tma_reduce_to_global {
  litmus.location @sum = 0 : i32
  litmus.location @tile0 = 0 : i32 in local
  litmus.location @tile1 = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %sum = litmus.address @sum : !llvm.ptr<1>
    %tile = litmus.address @tile0 : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.bulk_reduce add i32 %sum, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    scoped.bulk_commit_group
    scoped.bulk_wait_group 0
    scoped.barrier workgroup
    %read = scoped.load weak %sum : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.thread @P1 at <workgroup = 0> {
    %sum = litmus.address @sum : !llvm.ptr<1>
    %tile = litmus.address @tile1 : !llvm.ptr<3>
    %two = arith.constant 2 : i32
    scoped.store weak %two, %tile : i32, !llvm.ptr<3>
    scoped.bulk_reduce add i32 %sum, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    scoped.bulk_commit_group
    scoped.bulk_wait_group 0
    scoped.barrier workgroup
  }
  litmus.condition "forall (P0:r0 = 3)"
}

// The same to a peer's shared memory: it completes on the peer's mbarrier, which expects the bytes.
litmus.test @tma_reduce_to_peer {
  litmus.location @sum = 4 : i32 in local
  litmus.location @tile = 0 : i32 in local {workgroup = 1 : i32}
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %sum = litmus.address @sum : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %sum : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %sum = litmus.address @sum : !llvm.ptr<7>
    %full = litmus.address @full : !llvm.ptr<7>
    %tile = litmus.address @tile : !llvm.ptr<3>
    %nine = arith.constant 9 : i32
    scoped.store weak %nine, %tile : i32, !llvm.ptr<3>
    scoped.bulk_reduce umax i32 %sum, %tile size 128 mbarrier %full
        : !llvm.ptr<7>, !llvm.ptr<3>, !llvm.ptr<7>
  }
  litmus.condition "forall (P0:r0 = 9)"
}

// red.async: a thread adds a word to a peer's shared memory, in the generic proxy.
litmus.test @red_async_to_peer {
  litmus.location @sum = 4 : i32 in local
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %sum = litmus.address @sum : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_arrive release workgroup %full expect_tx 4 : !llvm.ptr<3>
    scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %sum : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %sum = litmus.address @sum : !llvm.ptr<7>
    %full = litmus.address @full : !llvm.ptr<7>
    %three = arith.constant 3 : i32
    scoped.reduce_async add %three, %sum mbarrier %full : i32, !llvm.ptr<7>, !llvm.ptr<7>
  }
  litmus.condition "forall (P0:r0 = 7)"
}
