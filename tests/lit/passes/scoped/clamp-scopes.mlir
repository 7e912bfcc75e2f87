// RUN: fence-opt %s -p clamp-scopes --mcpu gfx942 | filecheck %s
// RUN: fence-opt %s -p clamp-scopes --mcpu gfx942 --assume no-clusters | filecheck %s --check-prefix=ALONE
// RUN: fence-opt %s -p clamp-scopes --mcpu gfx942 --assume no-clusters,single-wave-workgroup | filecheck %s --check-prefix=WAVE
// RUN: fence-opt %s -p clamp-scopes --mcpu sm_90 --assume no-clusters,single-wave-workgroup | filecheck %s --check-prefix=PTX
// RUN: not fence-opt %s -p clamp-scopes --mcpu sm_90 --assume uncached-memory 2>&1 | filecheck %s --check-prefix=USELESS
// RUN: not fence-opt %s --mcpu gfx942 --assume quick 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not fence-opt %s --mcpu gfx942 -O0 --assume no-clusters 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not fence-opt %s -p merge-fences --assume no-clusters 2>&1 | filecheck %s --check-prefix=UNUSED

// Scopes become as narrow as what is known of the launch allows.

// USELESS: error: fact 'uncached-memory': sm_90 has no use for it; accepted: cuda-atomics, no-clusters, single-wave-workgroup, unordered-elements
// UNKNOWN: error: pass 'cdna-pipeline': fact 'quick': unknown fact; accepted: coherent-stores, cumulative-write-backs, no-clusters, single-wave-workgroup, uncached-memory
// LEVEL: error: pass 'cdna-pipeline': facts no-clusters: nothing is taken away at opt-level=0, whatever is known; accepted: opt-level=2
// UNUSED: error: --assume has no effect: nothing in 'merge-fences' takes it

// CHECK-LABEL: @of_unknown_size
// CHECK: scoped.fence release workgroup
// CHECK: scoped.barrier workgroup
// CHECK: scoped.load acquire cluster
// CHECK: scoped.fence acquire agent
// ALONE-LABEL: @of_unknown_size
// ALONE: scoped.fence release workgroup
// ALONE: scoped.load acquire workgroup
// ALONE: scoped.fence acquire agent
// WAVE-LABEL: @of_unknown_size
// WAVE: scoped.fence release wavefront
// WAVE: scoped.barrier wavefront
// WAVE: scoped.load acquire wavefront
// WAVE: scoped.fence acquire agent
// PTX-LABEL: @of_unknown_size
// PTX: scoped.fence release workgroup
// PTX: scoped.barrier wavefront
// PTX: scoped.load acquire workgroup
func.func @of_unknown_size(%p: !llvm.ptr<1>) {
  scoped.fence release workgroup
  scoped.barrier workgroup
  %v = scoped.load acquire cluster %p : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  func.return
}

// CHECK-LABEL: @of_one_wave
// CHECK: scoped.fence release wavefront
func.func @of_one_wave() attributes {gpu.known_block_size = array<i32: 8, 8, 1>} {
  scoped.fence release workgroup
  func.return
}

// CHECK-LABEL: @of_two_waves
// CHECK: scoped.fence release workgroup
func.func @of_two_waves() attributes {gpu.known_block_size = array<i32: 65, 1, 1>} {
  scoped.fence release workgroup
  func.return
}
