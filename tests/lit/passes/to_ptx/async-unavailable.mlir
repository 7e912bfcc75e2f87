// RUN: not fence-opt --mcpu sm_80 -t asm %s 2>&1 | filecheck %s --check-prefix=AMPERE
// RUN: not fence-opt --mcpu sm_90 --ptx-version 7.8 -t asm %s 2>&1 | filecheck %s --check-prefix=OLD
// RUN: fence-opt --mcpu sm_90 --ptx-version 8.0 -t asm %s | filecheck %s
// RUN: fence-opt --mcpu sm_90 -t asm %s | filecheck %s --check-prefix=NEW

// AMPERE: error: bulk_copy local global: sm_80 with PTX {{[0-9.]+}} does not have it; accepted: sm_90 with PTX 8.0
// OLD: error: bulk_copy local global: sm_90 with PTX 7.8 does not have it; accepted: sm_90 with PTX 8.0
// CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
// NEW: cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes
func.func @copy(%tile: !llvm.ptr<3>, %full: !llvm.ptr<3>, %data: !llvm.ptr<1>)
    attributes {gpu.kernel} {
  scoped.bulk_copy %tile, %data size 128 mbarrier %full
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
  func.return
}
