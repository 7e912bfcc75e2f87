// CUDA core -> TMA store. Written in the generic proxy, copied in the async proxy: the writer fences
// before the barrier. The thread that issues the copy waits until the tile has been read before
// the next barrier lets it be overwritten. The program has neither: the pass finds both.
//
// fence-sim run --mcpu sm_90 examples/patterns/core_to_tma_store.mlir

litmus.test @core_to_tma_store {
  litmus.location @out = 0 : i32
  litmus.location @tile = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %out = litmus.address @out : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.bulk_copy %out, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.barrier workgroup
    scoped.store weak %two, %tile : i32, !llvm.ptr<3>
  }
  litmus.condition "forall (out = 1)"
}
