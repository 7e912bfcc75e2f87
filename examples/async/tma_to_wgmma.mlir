// TMA -> wgmma. Both are in the async proxy: the mbarrier is enough, and wgmma.fence is there for
// the registers only.
//
// Launch: work-groups of 128 threads; %a and %b describe the matrices in the tile (PTX ISA, wgmma,
// "Matrix Descriptor Format").
//
// fence-opt --mcpu sm_90a -t asm examples/async/tma_to_wgmma.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @tma_to_wgmma(
    %data: !llvm.ptr<1>, %out: !llvm.ptr<1>, %a: i64, %b: i64
) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %parity = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  // One thread makes the mbarrier; all wait for that.
  cf.cond_br %leader, ^make, ^made
^make:
  scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
  cf.br ^made
^made:
  scoped.barrier workgroup
  cf.cond_br %leader, ^copy, ^copy_done
^copy:
  scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
      : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  cf.br ^copy_done
^copy_done:
  scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
  scoped.wgmma "m64n8k16.f32.f16.f16" "sum" registers 4 %a, %b
  %sum = scoped.wgmma_read "sum"[0] : i32
  scoped.store weak %sum, %out : i32, !llvm.ptr<1>
  func.return
}
