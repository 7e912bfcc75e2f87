// CUDA core -> CUDA core within a CTA: everything that orders plain stores and loads there, of shared
// and of global memory. One proxy, so that nothing is inserted.
//
// fence-sim run --mcpu sm_90 examples/patterns/generic_in_cta.mlir

// __syncthreads(), of shared memory.
litmus.test @barrier_shared {
  litmus.location @tile = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.barrier workgroup
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// __syncthreads(), of global memory.
litmus.test @barrier_global {
  litmus.location @data = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    scoped.barrier workgroup
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// A named barrier: the producer's warp arrives, the consumer's waits, a third warp has no part.
litmus.test @named_barrier {
  litmus.location @tile = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.named_barrier arrive 1 threads 64
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.named_barrier sync 1 threads 64
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// An mbarrier: arrivals release and waits acquire if nothing else is said.
litmus.test @mbarrier_shared {
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// The same of global memory: the mbarrier lies in shared memory, what it orders lies anywhere.
litmus.test @mbarrier_global {
  litmus.location @data = 0 : i32
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// A relaxed mbarrier orders what is executed and no memory: the reader may see what was there before.
litmus.test @mbarrier_relaxed {
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.mbarrier_arrive relaxed workgroup %full : !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait relaxed workgroup %full, %parity : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "exists (P1:r0 = 0)"
}

// A relaxed mbarrier with fences around it.
litmus.test @mbarrier_relaxed_fences {
  litmus.location @data = 0 : i32
  litmus.mbarrier @full count 1
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.fence release workgroup
    scoped.mbarrier_arrive relaxed workgroup %full : !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %full = litmus.address @full : !llvm.ptr<3>
    %parity = arith.constant 0 : i32
    scoped.mbarrier_wait relaxed workgroup %full, %parity : !llvm.ptr<3>, i32
    scoped.fence acquire workgroup
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// fence.cta with a flag: the fences order memory, the flag says when.
litmus.test @fence_cta {
  litmus.location @tile = 0 : i32 in local
  litmus.location @flag = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %flag = litmus.address @flag : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %tile : i32, !llvm.ptr<3>
    scoped.fence release workgroup
    scoped.store relaxed workgroup %one, %flag : i32, !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %flag = litmus.address @flag : !llvm.ptr<3>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load relaxed workgroup %flag : !llvm.ptr<3> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    scoped.fence acquire workgroup
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// The same of global memory: __threadfence_block().
litmus.test @fence_cta_global {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32 in local
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.fence release workgroup
    scoped.store relaxed workgroup %one, %flag : i32, !llvm.ptr<3>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<3>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load relaxed workgroup %flag : !llvm.ptr<3> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    scoped.fence acquire workgroup
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}
