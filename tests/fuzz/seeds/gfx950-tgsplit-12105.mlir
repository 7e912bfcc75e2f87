// fuzz: gfx950-tgsplit
// Seed 12105, unsound by the lowering: P0:r0=0 P1:r0=1 P1:r1=0 P2:r0=1 P2:r1=0 P2:r2=0 P2:r3=0 f=2 g=1 n2=0 o=0 x=1 y=2

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @g = 0 : i32
    litmus.location @y = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %y = litmus.address @y : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      scoped.store weak %c2, %y : i32, !llvm.ptr<1>
      scoped.fence acq_rel agent
      %r0 = scoped.atomic_rmw xchg relaxed agent %f, %c1 : !llvm.ptr<1>, i32
      litmus.observe "r0", %r0 : i32
    }
    litmus.thread @P1 at <workgroup = 1, xcd = 1, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %r0, %0 = scoped.cmpxchg seq_cst relaxed agent %f, %c1, %c2 : !llvm.ptr<1>, i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.fence seq_cst cluster
      %r1 = scoped.atomic_rmw xchg relaxed cluster %g, %c1 : !llvm.ptr<1>, i32
      litmus.observe "r0", %r0 : i32
      litmus.observe "r1", %r1 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
    litmus.thread @P2 at <workgroup = 1, xcd = 1, cu = 0, agent = 0> {
      %g = litmus.address @g : !llvm.ptr<1>
      %y = litmus.address @y : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load relaxed workgroup %g : !llvm.ptr<1> -> i32
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.fence acquire workgroup
      %r2 = scoped.load weak %y : !llvm.ptr<1> -> i32
      litmus.observe "r0", %r0 : i32
      litmus.observe "r2", %r2 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
  }
}
