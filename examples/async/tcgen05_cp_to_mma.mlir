// tcgen05.cp -> tcgen05.mma of one thread: executed in the order in which they are issued,
// nothing between. The operand that the CUDA cores wrote takes the proxy fence as ever, and after the
// barrier tcgen05.fence::after_thread_sync, which takes no instruction.
//
// fence-opt --mcpu sm_100a -t asm examples/async/tcgen05_cp_to_mma.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>

func.func @tcgen05_cp_to_mma(
    %v: i32, %tmem: !llvm.ptr<6>, %a: i64, %b: i64, %descriptor: i32, %accumulate: i1
) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  scoped.store weak %v, %tile : i32, !llvm.ptr<3>
  scoped.barrier workgroup
  cf.cond_br %leader, ^multiply, ^multiply_done
^multiply:
  scoped.tcgen05_copy "128x256b" %tmem, %a : !llvm.ptr<6>
  scoped.tcgen05_mma "f16" %tmem, %a, %b, %descriptor, %accumulate : !llvm.ptr<6>
  cf.br ^multiply_done
^multiply_done:
  func.return
}
