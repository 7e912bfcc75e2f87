// Ampere's cp.async: asynchronous, but in the generic proxy. Its thread waits for its groups before
// the barrier; no proxy fence. The program has neither commit nor wait: the pass finds both.
//
// fence-sim run --mcpu sm_80 examples/patterns/cp_async_ampere.mlir

litmus.test @cp_async_ampere {
  litmus.location @data = 42 : i32
  litmus.location @tile = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.async_copy %tile, %data size 16 : !llvm.ptr<3>, !llvm.ptr<1>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.barrier workgroup
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 42)"
}
