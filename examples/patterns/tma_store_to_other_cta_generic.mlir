// TMA store -> another work-group's CUDA cores, through global memory. The release of the flag takes
// the copy with it only when the copy is done: wait_group, not wait_group.read, before it. The
// reader needs no proxy fence: the completion had one.
//
// fence-sim run --mcpu sm_90 examples/patterns/tma_store_to_other_cta_generic.mlir

litmus.test @tma_store_to_other_cta_generic {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.location @tile = 1 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.bulk_copy %data, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    %old = scoped.atomic_rmw add release agent %flag, %one : !llvm.ptr<1>, i32
  }
  litmus.thread @P1 at <workgroup = 1> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load acquire agent %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}
