// Whose fence makes visible what the other threads of a work-group wrote before a barrier?
//
// In the first test every thread fences, then all come to a barrier, and one publishes. In the
// second only the one that publishes fences, after the barrier. The source and PTX allow the reader
// of the first to miss what the other thread wrote: a fence is part of a release only of its own
// thread's later store, and that thread's fence comes before the barrier, after which alone it knows
// of the other's write. What CDNA's fences become does not allow it: each thread waits for its stores
// before the barrier.

litmus.test @every_fence {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %f = litmus.address @f : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.fence acq_rel agent
    scoped.barrier workgroup
    scoped.store relaxed agent %one, %f : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store relaxed agent %one, %x : i32, !llvm.ptr<1>
    scoped.fence acq_rel agent
    scoped.barrier workgroup
  }
  litmus.thread @P2 at <workgroup = 1> {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %seen = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
    %r = scoped.load relaxed agent %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %seen : i32
    litmus.observe "r1", %r : i32
  }
  litmus.condition "exists (P2:r0 = 1 and P2:r1 = 0)"
}

litmus.test @leaders_fence {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %f = litmus.address @f : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.barrier workgroup
    scoped.fence acq_rel agent
    scoped.store relaxed agent %one, %f : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store relaxed agent %one, %x : i32, !llvm.ptr<1>
    scoped.barrier workgroup
  }
  litmus.thread @P2 at <workgroup = 1> {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %seen = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
    %r = scoped.load relaxed agent %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %seen : i32
    litmus.observe "r1", %r : i32
  }
  litmus.condition "exists (P2:r0 = 1 and P2:r1 = 0)"
}
