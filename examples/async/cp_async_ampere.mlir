// Ampere's cp.async: asynchronous, but in the generic proxy. Its thread waits for its groups
// before the barrier; no proxy fence. The program has neither commit nor wait: the pass finds
// both.
//
// fence-opt --mcpu sm_80 --ptx-version 7.1 -t asm examples/async/cp_async_ampere.mlir

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64}
    : !llvm.array<1024 x i8>

func.func @cp_async_ampere(%data: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  scoped.async_copy %tile, %data size 16 : !llvm.ptr<3>, !llvm.ptr<1>
  scoped.barrier workgroup
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
