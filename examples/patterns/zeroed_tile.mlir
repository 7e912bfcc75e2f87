// CUDA core -> TMA store, of zeros: st.bulk is a weak store in the generic proxy, of many bytes, so that the
// copy unit takes the same fence as after an ordinary store.
//
// fence-sim run --mcpu sm_100 examples/patterns/zeroed_tile.mlir

litmus.test @zeroed_tile {
  litmus.location @out = 1 : i32
  litmus.location @tile = 1 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %out = litmus.address @out : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.bulk_copy %out, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    %read = scoped.load weak %out : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.store_bulk %tile size 128 : !llvm.ptr<3>
    scoped.barrier workgroup
  }
  litmus.condition "forall (P0:r0 = 0)"
}
