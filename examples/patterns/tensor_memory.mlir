// Tensor memory: only tcgen05 instructions reach it, and neither a proxy fence nor an ordinary fence orders
// them. A thread waits for its own loads and stores (tcgen05.wait::ld, ::st); a synchronisation of
// threads orders them if a tcgen05.fence precedes and follows it; a multiplication is done when
// its commit has arrived. The pass inserts all but the synchronisation.
//
// fence-sim run --mcpu sm_100a examples/patterns/tensor_memory.mlir

// A store of one thread and a load of another.
litmus.test @store_then_load {
  litmus.location @acc = 0 : i32 {tensor}
  litmus.thread @P0 at <workgroup = 0> {
    %acc = litmus.address @acc : !llvm.ptr<6>
    %one = arith.constant 1 : i32
    scoped.tcgen05_store %one, %acc : i32, !llvm.ptr<6>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0> {
    %acc = litmus.address @acc : !llvm.ptr<6>
    scoped.barrier workgroup
    %read = scoped.tcgen05_load %acc : !llvm.ptr<6> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// A store and a load of one thread.
litmus.test @own_store_then_load {
  litmus.location @acc = 0 : i32 {tensor}
  litmus.thread @P0 at <workgroup = 0> {
    %acc = litmus.address @acc : !llvm.ptr<6>
    %one = arith.constant 1 : i32
    scoped.tcgen05_store %one, %acc : i32, !llvm.ptr<6>
    %read = scoped.tcgen05_load %acc : !llvm.ptr<6> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P0:r0 = 1)"
}

// Two multiplications of one thread: in the order in which they are issued, nothing between.
litmus.test @mma_then_mma {
  litmus.location @a = 3 : i32 in local
  litmus.location @b = 5 : i32 in local
  litmus.location @acc = 1 : i32 {tensor}
  litmus.thread @P0 at <workgroup = 0> {
    %a = litmus.address @a : i64
    %b = litmus.address @b : i64
    %acc = litmus.address @acc : !llvm.ptr<6>
    %zero = arith.constant 0 : i32
    %no = arith.constant false
    %yes = arith.constant true
    scoped.tcgen05_mma "f16" %acc, %a, %b, %zero, %no : !llvm.ptr<6>
    scoped.tcgen05_mma "f16" %acc, %a, %b, %zero, %yes : !llvm.ptr<6>
  }
  litmus.condition "forall (acc = 30)"
}
