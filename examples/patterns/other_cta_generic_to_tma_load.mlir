// Another work-group's CUDA cores -> TMA load, through global memory. The producer stores the data
// and releases a flag; the consumer acquires the flag and copies. The proxy fence belongs to the
// work-group of the asynchronous access, after the acquire, and is of global memory only.
//
// fence-sim run --mcpu sm_90 examples/patterns/other_cta_generic_to_tma_load.mlir

litmus.test @other_cta_generic_to_tma_load {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.location @tile = 0 : i32 in local {workgroup = 1 : i32}
  litmus.mbarrier @full {workgroup = 1 : i32}
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.store release agent %one, %flag : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 1> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    cf.br ^spin
  ^spin:
    %seen = scoped.load acquire agent %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %parity : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.bulk_copy %tile, %data size 128 mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}
