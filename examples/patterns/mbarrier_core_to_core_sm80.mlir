// CUDA core -> CUDA core through an mbarrier, as on Ampere: arrivals release, the wait for the phase
// that the arrival's token names acquires. One proxy, no fence.
//
// fence-sim run --mcpu sm_80 examples/patterns/mbarrier_core_to_core_sm80.mlir

litmus.test @mbarrier_core_to_core_sm80 {
  litmus.location @mine = 0 : i32 in local
  litmus.location @yours = 0 : i32 in local
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0> {
    %mine = litmus.address @mine : !llvm.ptr<3>
    %yours = litmus.address @yours : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.mbarrier_init %full count 2 : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.store weak %one, %mine : i32, !llvm.ptr<3>
    %token = scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3> -> i64
    scoped.mbarrier_wait acquire workgroup %full, %token : !llvm.ptr<3>, i64
    %read = scoped.load weak %yours : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.thread @P1 at <workgroup = 0> {
    %mine = litmus.address @mine : !llvm.ptr<3>
    %yours = litmus.address @yours : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %two = arith.constant 2 : i32
    scoped.barrier workgroup
    scoped.store weak %two, %yours : i32, !llvm.ptr<3>
    %token = scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3> -> i64
    scoped.mbarrier_wait acquire workgroup %full, %token : !llvm.ptr<3>, i64
    %read = scoped.load weak %mine : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P0:r0 = 2 and P1:r0 = 1)"
}
