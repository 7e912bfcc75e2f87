// Whose fence makes visible what other threads wrote before a barrier, by the model of each language.
// RUN: not fence-sim run %S/../../../../examples/litmus/fences_before_a_barrier.mlir | filecheck %s --check-prefixes=FENCES
// RUN: not fence-sim run %S/../../../../examples/litmus/fences_before_a_barrier.mlir --mcpu sm_90 | filecheck %s --check-prefixes=FENCES
// RUN: not fence-sim run %S/../../../../examples/litmus/fences_before_a_barrier.mlir --mcpu gfx942 | filecheck %s --check-prefixes=WRITES
// RUN: fence-sim run %S/../../../../examples/litmus/fences_before_a_barrier.mlir --mcpu gfx942 --without s_waitcnt | filecheck %s --check-prefixes=BROKEN

// FENCES: Observation every_fence Sometimes
// FENCES: Observation leaders_fence Never
// WRITES: Observation every_fence Never
// WRITES: Observation leaders_fence Never
// BROKEN: Observation every_fence Sometimes
// BROKEN: Observation leaders_fence Sometimes
