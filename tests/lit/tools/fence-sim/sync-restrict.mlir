// RUN: fence-sim run %s --mcpu sm_90 | filecheck %s
// RUN: not fence-sim run %s --mcpu sm_90 --without fence.release | filecheck %s --check-prefix=NO
// RUN: not fence-sim run %s --mcpu sm_90 --without fence.acquire | filecheck %s --check-prefix=NO
// RUN: not fence-sim run %s --mcpu sm_90 --without fence.acquire.sync_restrict::shared::cluster.cluster | filecheck %s --check-prefix=NO
// RUN: fence-sim convert %s --mcpu sm_90 | filecheck %s --check-prefix=COLUMNS

// Fences of shared memory alone, and where that is. Without the guard the source races.

// CHECK: Test message_passing (PTX model 7.5)
// CHECK: Ok
// NO:    No

// COLUMNS:      x@cta 0,gpu 0;
// COLUMNS-NEXT: f@cta 0,gpu 0;
// COLUMNS:      fence.release.sync_restrict::shared::cta.cluster
// COLUMNS-SAME: fence.acquire.sync_restrict::shared::cluster.cluster

litmus.test @message_passing {
  litmus.location @x = 0 : i32 in local {workgroup = 0 : i64}
  litmus.location @f = 0 : i32 in local {workgroup = 0 : i64}
  litmus.thread @P0 at <workgroup = 0> {
    %x = litmus.address @x : !llvm.ptr<3>
    %f = litmus.address @f : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %x : i32, !llvm.ptr<3>
    scoped.fence release agent spaces [local]
    scoped.store relaxed agent %one, %f : i32, !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %x = litmus.address @x : !llvm.ptr<3>
    %f = litmus.address @f : !llvm.ptr<3>
    %r0 = scoped.load relaxed agent %f : !llvm.ptr<3> -> i32
    scoped.fence acquire agent spaces [local]
    %zero = arith.constant 0 : i32
    %raised = arith.cmpi ne, %r0, %zero : i32
    cf.cond_br %raised, ^read, ^skip
  ^read:
    %r1 = scoped.load weak %x : !llvm.ptr<3> -> i32
    litmus.observe "r0", %r0 : i32
    litmus.observe "r1", %r1 : i32
    litmus.end
  ^skip:
    litmus.end
  }
  litmus.condition "~exists (P1:r0 == 1 /\\ P1:r1 == 0)"
}
