// tcgen05.cp -> tcgen05.mma of one thread: executed in the order in which they are issued, nothing
// between. The operand that the CUDA cores wrote takes the proxy fence as ever, and after the barrier
// tcgen05.fence::after_thread_sync.
//
// fence-sim run --mcpu sm_100a examples/patterns/tcgen05_cp_to_mma.mlir

litmus.test @tcgen05_cp_to_mma {
  litmus.location @a = 0 : i32 in local
  litmus.location @b = 5 : i32 in local
  litmus.location @sum = 0 : i32 {tensor}
  litmus.thread @P0 at <workgroup = 0> {
    %a = litmus.address @a : !llvm.ptr<3>
    %three = arith.constant 3 : i32
    scoped.store weak %three, %a : i32, !llvm.ptr<3>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0> {
    %a = litmus.address @a : i64
    %b = litmus.address @b : i64
    %sum = litmus.address @sum : !llvm.ptr<6>
    %zero = arith.constant 0 : i32
    %yes = arith.constant true
    scoped.barrier workgroup
    scoped.tcgen05_copy "128x256b" %sum, %a : !llvm.ptr<6>
    scoped.tcgen05_mma "f16" %sum, %a, %b, %zero, %yes : !llvm.ptr<6>
  }
  litmus.condition "forall (sum = 18)"
}
