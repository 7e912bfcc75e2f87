// One work-group of a cluster hands data to another: under a flag, and at the cluster's barrier.
// For gfx1250: fence-sim run examples/clusters.mlir --mcpu gfx1250 --readings every

litmus.test @cluster_flag {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %c1 = arith.constant 1 : i32
    scoped.store weak %c1, %x : i32, !llvm.ptr<1>
    scoped.store release cluster %c1, %f : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %c0 = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %r0 = scoped.load acquire cluster %f : !llvm.ptr<1> -> i32
    %seen = arith.cmpi ne, %r0, %c0 : i32
    cf.cond_br %seen, ^read, ^spin
  ^read:
    %r1 = scoped.load weak %x : !llvm.ptr<1> -> i32
    litmus.observe "r1", %r1 : i32
    litmus.end
  }
  litmus.condition "forall (P1:r1 = 1)"
}

litmus.test @cluster_barrier {
  litmus.location @x = 0 : i32
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    %c1 = arith.constant 1 : i32
    scoped.store weak %c1, %x : i32, !llvm.ptr<1>
    scoped.barrier acq_rel cluster
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    scoped.barrier acq_rel cluster
    %r0 = scoped.load weak %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %r0 : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}
