// Another work-group's CUDA cores -> TMA load, through global memory (intra-GPU). The producer
// stores the data and releases a flag; here the flag is acquired and the data is copied. The
// proxy fence belongs to the work-group of the asynchronous access, behind the acquire, and is of
// global memory only.
//
// fence-opt --mcpu sm_90 -t asm examples/async/other_cta_generic_to_tma_load.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @other_cta_generic_to_tma_load(
    %data: !llvm.ptr<1>, %out: !llvm.ptr<1>, %flag: !llvm.ptr<1>
) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %parity = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  %zero = arith.constant 0 : i32
  // One thread makes the mbarrier; all wait for that.
  cf.cond_br %leader, ^make, ^made
^make:
  scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
  cf.br ^made
^made:
  scoped.barrier workgroup
  cf.cond_br %leader, ^copy, ^copy_done
^copy:
  cf.br ^spin
^spin:
  %seen = scoped.load acquire agent %flag : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %seen, %zero : i32
  cf.cond_br %again, ^spin, ^issue
^issue:
  scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
      : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  cf.br ^copy_done
^copy_done:
  scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
