// One thread of a wavefront starts the copy, all wait for it. The election orders nothing: what makes the
// tile visible is the mbarrier. A prefetch is a hint, and orders nothing either.
//
// fence-sim run --mcpu sm_90 examples/patterns/election.mlir

litmus.test @elected_copy {
  litmus.location @data = 1 : i32
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    scoped.prefetch %data size 128 : !llvm.ptr<1>
    %leader = scoped.elect : i1
    cf.cond_br %leader, ^copy, ^go
  ^copy:
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.bulk_copy %tile, %data size 128 mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
    cf.br ^go
  ^go:
    litmus.end
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// Bytes that a thread says are there, without a copy: complete_tx ends the phase, and orders nothing.
// What it wrote is released by its arrival.
litmus.test @completed_by_hand {
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.mbarrier_expect_tx workgroup %full bytes 16 : !llvm.ptr<3>
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3>
    scoped.mbarrier_complete_tx workgroup %full bytes 16 : !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// What was written after the arrival is not released by the complete_tx that ends the phase.
litmus.test @completed_too_late {
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.mbarrier_arrive release workgroup %full expect_tx 16 : !llvm.ptr<3>
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.mbarrier_complete_tx workgroup %full bytes 16 : !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "exists (P1:r0 = 0)"
}
