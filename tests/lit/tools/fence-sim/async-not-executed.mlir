// RUN: not fence-sim run %s --test arrives 2>&1 | filecheck %s --check-prefix=ARRIVE
// RUN: not fence-sim run %s --test arrives --mcpu gfx942 2>&1 | filecheck %s --check-prefix=ARRIVE
// RUN: not fence-sim run %s --test arrives --mcpu sm_90 2>&1 | filecheck %s --check-prefix=ARRIVE
// RUN: not fence-sim run %s --test copies --mcpu sm_90 2>&1 | filecheck %s --check-prefix=COPY
// RUN: not fence-sim run %s --test fences --mcpu sm_90 2>&1 | filecheck %s --check-prefix=FENCE
// RUN: not fence-sim run %s --test lowered 2>&1 | filecheck %s --check-prefix=LOWERED
// RUN: not fence-sim graph %s --test arrives -o - 2>&1 | filecheck %s --check-prefix=ARRIVE

// What no model executes is refused at its line, with what can be done.

// ARRIVE: async-not-executed.mlir:20:5: error: the simulator does not execute 'scoped.mbarrier_arrive' yet; PTX tests in columns (.litmus) know mbarriers and bulk copies
// COPY: async-not-executed.mlir:46:3: error: the simulator does not execute 'scoped.bulk_copy' yet; PTX tests in columns
// FENCE: async-not-executed.mlir:33:5: error: the simulator does not execute 'fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster' yet; PTX tests in columns
// LOWERED: async-not-executed.mlir:40:5: error: the simulator does not execute 'mbarrier.arrive.release.cta.shared::cta.b64' yet; PTX tests in columns

litmus.test @arrives {
  litmus.location @bar = 1 : i32 in local {workgroup = 0 : i64}
  litmus.thread @P0 at <workgroup = 0> {
    %bar = litmus.address @bar : !llvm.ptr<3>
    scoped.mbarrier_arrive release workgroup %bar : !llvm.ptr<3>
  }
}

litmus.test @copies {
  litmus.location @x = 0 : i32
  litmus.location @y = 0 : i32 in local {workgroup = 0 : i64}
  litmus.thread @P0 at <workgroup = 0> runs @copy(@x, @y)
}

litmus.test @fences {
  litmus.location @x = 0 : i32
  litmus.thread @P0 {
    scoped.cluster_fence release async
  }
}
litmus.test @lowered {
  litmus.location @bar = 1 : i32 in local {workgroup = 0 : i64}
  litmus.thread @P0 at <workgroup = 0> {
    %bar = litmus.address @bar : !ptx.reg<b64>
    ptx.sequence ["mbarrier"](%bar) ["mbarrier.arrive.release.cta.shared::cta.b64 _, [{mbarrier}]"] {phase = #ptx<phase release>, source = "PTX ISA"} : (!ptx.reg<b64>) -> ()
    ptx.ret
  }
}

func.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<3>) attributes {gpu.kernel} {
  scoped.bulk_copy %x, %y size 16 : !llvm.ptr<1>, !llvm.ptr<3>
  scoped.bulk_commit_group
  func.return
}
