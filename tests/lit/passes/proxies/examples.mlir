// RUN: fence-opt --mcpu sm_90 -t asm %S/../../../../examples/async/core_to_tma_store.mlir | filecheck %s --check-prefix=STORE
// RUN: fence-opt --mcpu sm_100a -t asm %S/../../../../examples/async/tcgen05_to_core.mlir | filecheck %s --check-prefix=TENSOR
// RUN: fence-opt --mcpu sm_90 -t asm %S/../../../../examples/async/other_cta_generic_to_tma_load.mlir | filecheck %s --check-prefix=GPU

// STORE:      st.weak.shared.b32
// STORE-NEXT: fence.proxy.async.shared::cta;
// STORE:      barrier.sync{{[.a-z]*}} 0;
// STORE:      cp.async.bulk.global.shared::cta.bulk_group
// STORE-NEXT: cp.async.bulk.commit_group;
// STORE-NEXT: cp.async.bulk.wait_group.read 0;
// STORE:      barrier.sync{{[.a-z]*}} 0;

// TENSOR:      mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64
// TENSOR-NEXT: bra
// TENSOR-NEXT: tcgen05.fence::after_thread_sync;
// TENSOR:      tcgen05.ld.sync.aligned.32x32b.x1.b32
// TENSOR-NEXT: tcgen05.wait::ld.sync.aligned;

// GPU:      ld.acquire.gpu.global.b32
// GPU:      fence.proxy.async.global;
// GPU-NEXT: cp.async.bulk.shared::cta.global
