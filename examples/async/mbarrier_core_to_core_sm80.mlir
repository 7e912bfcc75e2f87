// CUDA core -> CUDA core through an mbarrier, as on Ampere: arrivals release, the wait for the
// phase that the arrival's token names acquires. One proxy, no fence.
//
// fence-opt --mcpu sm_80 --ptx-version 7.1 -t asm examples/async/mbarrier_core_to_core_sm80.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @mbarrier_core_to_core_sm80(%out: !llvm.ptr<1>, %v: i32) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  // One thread makes the mbarrier; all wait for that.
  cf.cond_br %leader, ^make, ^made
^make:
  scoped.mbarrier_init %full count 128 : !llvm.ptr<3>
  cf.br ^made
^made:
  scoped.barrier workgroup
  scoped.store weak %v, %tile : i32, !llvm.ptr<3>
  %token = scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3> -> i64
  scoped.mbarrier_wait acquire workgroup %full, %token : !llvm.ptr<3>, i64
  %other = llvm.getelementptr %tile[4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %read = scoped.load weak %other : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
