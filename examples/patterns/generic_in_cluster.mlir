// CUDA core -> CUDA core within a cluster, beside cluster_barrier_dsmem, cluster_remote_arrive and
// cluster_st_async: fences of the cluster, and global memory under each of them.
//
// fence-sim run --mcpu sm_90 examples/patterns/generic_in_cluster.mlir

// fence.cluster with a flag, of a peer's shared memory.
litmus.test @fence_cluster_shared {
  litmus.location @tile = 0 : i32 in local {workgroup = 1 : i32}
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<7>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<7>
    scoped.fence release cluster
    scoped.store relaxed cluster %one, %flag : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load relaxed cluster %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    scoped.fence acquire cluster
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// fence.cluster with a flag, of global memory.
litmus.test @fence_cluster_global {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.fence release cluster
    scoped.store relaxed cluster %one, %flag : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load relaxed cluster %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    scoped.fence acquire cluster
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// The cluster barrier, of global memory.
litmus.test @cluster_barrier_global {
  litmus.location @data = 0 : i32
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.cluster_arrive release
    scoped.cluster_wait
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    scoped.cluster_arrive release
    scoped.cluster_wait
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// An mbarrier of the reader's, arrived at from a peer, of global memory.
litmus.test @mbarrier_cluster_global {
  litmus.location @data = 0 : i32
  litmus.mbarrier @full count 1 {workgroup = 1 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<7>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.mbarrier_arrive release cluster %full : !llvm.ptr<7>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait acquire cluster %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// The same at the scope of the CTA, which is too narrow.
litmus.test @mbarrier_cluster_too_narrow {
  litmus.location @data = 0 : i32
  litmus.mbarrier @full count 1 {workgroup = 1 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<7>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<7>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "exists (P1:r0 = 0)"
}

// fence.gpu with a flag, of a peer's shared memory: __threadfence().
litmus.test @fence_gpu_shared {
  litmus.location @tile = 0 : i32 in local {workgroup = 1 : i32}
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<7>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<7>
    scoped.fence release agent
    scoped.store relaxed agent %one, %flag : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load relaxed agent %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    scoped.fence acquire agent
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}


// fence.gpu with a flag, of global memory: wider than it need be.
litmus.test @fence_gpu_in_cluster {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.fence release agent
    scoped.store relaxed agent %one, %flag : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load relaxed agent %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    scoped.fence acquire agent
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// A relaxed mbarrier with fences of the cluster around it.
litmus.test @mbarrier_cluster_fences {
  litmus.location @data = 0 : i32
  litmus.mbarrier @full count 1 {workgroup = 1 : i32}
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<7>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.fence release cluster
    scoped.mbarrier_arrive relaxed cluster %full : !llvm.ptr<7>
  }
  litmus.thread @P1 at <workgroup = 1, cluster = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait relaxed cluster %full, %parity : !llvm.ptr<3>, i32
    scoped.fence acquire cluster
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}
