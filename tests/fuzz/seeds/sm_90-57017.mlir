// fuzz: sm_90+no-clusters
// Seed 57017, unsound by the lowering, while the language had an exchange hand on what it took in itself

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @g = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<0>
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load relaxed system %g : !llvm.ptr<1> -> i32
      scoped.fence acq_rel cluster av(none)
      %r1 = scoped.atomic_rmw xchg relaxed system %f, %c1 : !llvm.ptr<0>, i32
      litmus.observe "r0", %r0 : i32
      litmus.observe "r1", %r1 : i32
    }
    litmus.thread @P1 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load acquire system %g : !llvm.ptr<1> -> i32
      %r1 = scoped.atomic_rmw add seq_cst system %g, %c1 : !llvm.ptr<1>, i32
      litmus.observe "r0", %r0 : i32
      litmus.observe "r1", %r1 : i32
    }
    litmus.thread @P2 at <workgroup = 1, xcd = 1, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load acquire system %f : !llvm.ptr<1> -> i32
      %r1 = scoped.atomic_rmw or release system %g, %c1 : !llvm.ptr<1>, i32
      scoped.fence acq_rel cluster av(none)
      litmus.observe "r0", %r0 : i32
      litmus.observe "r1", %r1 : i32
    }
    litmus.thread @P3 at <workgroup = 1, xcd = 1, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %g = litmus.address @g : !llvm.ptr<1>
      %c2 = arith.constant 2 : i32
      %r0 = scoped.load seq_cst system %f : !llvm.ptr<1> -> i32
      scoped.store relaxed system %c2, %g : i32, !llvm.ptr<1>
      litmus.observe "r0", %r0 : i32
    }
  }
}
