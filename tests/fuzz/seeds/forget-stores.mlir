// fuzz: gfx942+uncached-memory+no-clusters
// Seed 60, of merge-fences; found with this broken: forget_stores

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32 {kind = "uncached"}
    litmus.location @x = 0 : i32 {kind = "uncached"}
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      scoped.fence seq_cst system
      scoped.store weak %c1, %x : i32, !llvm.ptr<1>
      scoped.fence release agent
      %0 = scoped.atomic_rmw xchg relaxed agent %f, %c1 : !llvm.ptr<1>, i32
    }
    litmus.thread @P1 at <workgroup = 1, xcd = 1, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load relaxed system %f : !llvm.ptr<1> -> i32
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.fence acq_rel system
      %r1 = scoped.load weak %x : !llvm.ptr<1> -> i32
      litmus.observe "r0", %r0 : i32
      litmus.observe "r1", %r1 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
  }
}
