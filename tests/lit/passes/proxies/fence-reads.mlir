// RUN: fence-opt %s --mcpu sm_90 -t asm | filecheck %s --check-prefixes=CHECK,MODEL
// RUN: fence-opt %s -p 'ptx-pipeline{mcpu=sm_90 fence-reads=false}' -t asm | filecheck %s --check-prefixes=CHECK,WITHOUT

// The tile that was read is overwritten by the next round's copy: the memory model wants a proxy
// fence between, many main loops go without.

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<32 x i32>
llvm.mlir.global internal @full() {addr_space = 3 : i32} : i64

// CHECK-LABEL: .visible .entry tma_loop(
// CHECK: ld.weak.shared.b32
// CHECK-NEXT: st.weak.global.b32
// MODEL-NEXT: fence.proxy.async.shared::cta;
// WITHOUT-NOT: fence.proxy
// CHECK: barrier.sync
func.func @tma_loop(%data: !llvm.ptr<1>, %out: !llvm.ptr<1> {llvm.noalias}, %n: i32, %again: i1)
    attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  cf.br ^loop
^loop:
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  scoped.mbarrier_wait acquire workgroup %full, %n : !llvm.ptr<3>, i32
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  scoped.barrier workgroup
  cf.cond_br %again, ^loop, ^end
^end:
  func.return
}
