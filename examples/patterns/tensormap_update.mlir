// A tensor map that is changed on the device. The copy in shared memory is changed, copied to global
// memory and released; the thread that uses it acquires it in the tensor-map proxy. That fence is
// inserted: a kernel boundary would not order this proxy either.
//
// A map is a word that says which tensor it describes: 0 is @before, 1 is @after.
//
// fence-sim run --mcpu sm_90a examples/patterns/tensormap_update.mlir

litmus.test @tensormap_update {
  litmus.location @before = 1 : i32
  litmus.location @after = 2 : i32
  litmus.location @map = 0 : i32 {describes = [@before, @after]}
  litmus.location @draft = 0 : i32 in local
  litmus.location @box = 0 : i32 in local {bytes = 128 : i64}
  litmus.mbarrier @full
  litmus.thread @P0 at <workgroup = 0> {
    %map = litmus.address @map : !llvm.ptr<1>
    %generic = litmus.address @map : !llvm.ptr
    %draft = litmus.address @draft : !llvm.ptr<3>
    %box = litmus.address @box : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    %address = arith.constant 1 : i64
    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.tensormap_replace %draft, %address : !llvm.ptr<3>, i64
    scoped.barrier wavefront
    scoped.tensormap_copy release agent %map, %draft : !llvm.ptr<1>, !llvm.ptr<3>
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.tensor_load %box, %generic[%parity, %parity] mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32, i32
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %box : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P0:r0 = 2)"
}
