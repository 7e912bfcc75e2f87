// RUN: not fence-sim run %s --test copies 2>&1 | filecheck %s --check-prefix=SOURCE
// RUN: not fence-sim run %s --test copies --mcpu gfx942 2>&1 | filecheck %s --check-prefix=CDNA
// RUN: fence-sim run %s --test copies --mcpu sm_90 2>&1 | filecheck %s --check-prefix=COPIES
// RUN: fence-sim run %s --test copies --mcpu sm_90 -O0 2>&1 | filecheck %s --check-prefix=COPIES
// RUN: not fence-sim run %s --test copies --mcpu sm_90 --without fence.proxy.async.shared::cta 2>&1 | filecheck %s --check-prefix=DAMAGED
// RUN: fence-sim run %s --test kernels --mcpu sm_90 2>&1 | filecheck %s --check-prefix=KERNELS
// RUN: fence-sim run %s --test ptx 2>&1 | filecheck %s --check-prefix=SEQUENCE
// RUN: not fence-sim run %s --test unknown_peer --mcpu sm_90 2>&1 | filecheck %s --check-prefix=PEER
// RUN: fence-sim run %s --test pushes --mcpu sm_90 2>&1 | filecheck %s --check-prefix=PUSHES

// Asynchronous operations are executed as PTX: as lowered, or where they are PTX already.

// SOURCE: async.mlir:[[# @LINE + 20]]:5: error: 'scoped.bulk_copy' is executed as PTX, not as written: lower it with --mcpu sm_90 or newer
// CDNA: error: 'scoped.{{.*}}' is not supported on the CDNA path
// COPIES: Test copies (PTX model 7.5)
// COPIES: *> out=1;
// COPIES: Ok
// DAMAGED: :> out=0;
// DAMAGED: No
// KERNELS: *> P0:r0=2; P1:r0=1;
// KERNELS: Ok
// SEQUENCE: *> P1:r0=1;
// PUSHES: *> tile=1;
// PEER: error: the test has no location that is 'tile' in work-group 1

litmus.test @copies {
  litmus.location @out = 0 : i32
  litmus.location @tile = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %out = litmus.address @out : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.bulk_copy %out, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.barrier workgroup
  }
  litmus.condition "forall (out = 1)"
}

// Two work-groups run one kernel, with variables in LDS of its own.
litmus.test @kernels {
  litmus.location @tile0 = 0 : i32 in local {variable = @tile}
  litmus.location @tile1 = 0 : i32 in local {workgroup = 1 : i64, variable = @tile}
  litmus.mbarrier @full0 count 1 {variable = @full}
  litmus.mbarrier @full1 count 1 {workgroup = 1 : i64, variable = @full}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> runs @exchange(1 : i32, 1 : i32, "r0")
  litmus.thread @P1 at <workgroup = 1, cluster = 0> runs @exchange(0 : i32, 2 : i32, "r0")
  litmus.condition "forall (P0:r0 = 2 and P1:r0 = 1)"
}

litmus.test @pushes {
  litmus.location @tile = 0 : i32 in local {workgroup = 1 : i64}
  litmus.mbarrier @full count 1 {workgroup = 1 : i64}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<7>
    %full = litmus.address @full : !llvm.ptr<7>
    %one = arith.constant 1 : i32
    scoped.store_async %one, %tile mbarrier %full : i32, !llvm.ptr<7>, !llvm.ptr<7>
    scoped.named_barrier arrive 1 threads 64
  }
  litmus.condition "forall (tile = 1)"
}

litmus.test @ptx {
  litmus.location @x = 0 : i32 in local
  litmus.mbarrier @bar count 1
  litmus.thread @P0 at <workgroup = 0> {
    %x = litmus.address @x : !ptx.reg<b64>
    %bar = litmus.address @bar : !ptx.reg<b64>
    %one = ptx.const 1 : !ptx.reg<b32>
    ptx.store "st.weak.shared.b32" %x, %one : !ptx.reg<b64>, !ptx.reg<b32>
    ptx.sequence ["mbarrier"](%bar) ["mbarrier.arrive.release.cta.shared::cta.b64 _, [{mbarrier}]"] {source = "PTX ISA"} : (!ptx.reg<b64>) -> ()
    ptx.ret
  }
  litmus.thread @P1 at <workgroup = 0> {
    %x = litmus.address @x : !ptx.reg<b64>
    %bar = litmus.address @bar : !ptx.reg<b64>
    %zero = ptx.const 0 : !ptx.reg<b32>
    ptx.sequence ["phase", "mbarrier"](%zero, %bar) ["mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 {dst}, [{mbarrier}], {phase}"] {source = "PTX ISA"} : (!ptx.reg<b32>, !ptx.reg<b64>) -> !ptx.reg<pred>
    ptx.sequence ["phase", "mbarrier"](%zero, %bar) [".reg .pred {complete}", "{wait}:", "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 {complete}, [{mbarrier}], {phase}", "@!{complete} bra {wait}"] {source = "PTX ISA"} : (!ptx.reg<b32>, !ptx.reg<b64>) -> ()
    %read = ptx.load "ld.weak.shared.b32" %x : !ptx.reg<b64> -> !ptx.reg<b32>
    litmus.observe "r0", %read : !ptx.reg<b32>
    ptx.ret
  }
  litmus.condition "forall (P1:r0 = 1)"
}

litmus.test @unknown_peer {
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0, cluster = 0> runs @exchange(1 : i32, 1 : i32, "r0")
}

llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<4 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32} : !llvm.array<1 x i64>

func.func @exchange(%peer: i32, %mine: i32, %out: !llvm.ptr<1>) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %peer_tile = scoped.map_shared %tile, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  %peer_full = scoped.map_shared %full, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
  %c0 = arith.constant 0 : index
  %parity = arith.constant 0 : i32
  %tid = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %leader = arith.cmpi eq, %tid, %c0 : index
  cf.cond_br %leader, ^push, ^pushed
^push:
  scoped.store weak %mine, %peer_tile : i32, !llvm.ptr<7>
  scoped.mbarrier_arrive release cluster %peer_full : !llvm.ptr<7>
  cf.br ^pushed
^pushed:
  scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
