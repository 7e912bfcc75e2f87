// A tensor map that is changed on the device. One thread changes the copy in shared memory; the
// wavefront copies it to global memory and releases it; the thread that uses it acquires it in
// the tensor-map proxy: that fence is inserted.
//
// Launch: work-groups of one wavefront, since each copies the map; a map in the first 128 bytes of
// the tile; %map_out and %map are the same place.
//
// fence-opt --mcpu sm_90a -t asm examples/async/tensormap_update.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64}
    : !llvm.array<1 x i64>

func.func @tensormap_update(
    %map_out: !llvm.ptr<1>, %map: !llvm.ptr, %address: i64, %x: i32, %y: i32
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
  %box = llvm.getelementptr %tile[256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  cf.cond_br %leader, ^change, ^change_done
^change:
  scoped.tensormap_replace %tile, %address : !llvm.ptr<3>, i64
  cf.br ^change_done
^change_done:
  scoped.barrier wavefront
  scoped.tensormap_copy release agent %map_out, %tile : !llvm.ptr<1>, !llvm.ptr<3>
  cf.cond_br %leader, ^copy, ^copy_done
^copy:
  scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
  scoped.tensor_load %box, %map[%x, %y] mbarrier %full
      : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32, i32
  cf.br ^copy_done
^copy_done:
  scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
  func.return
}
