// fuzz: gfx942-tgsplit-through
// Seed 59297, unsound by sink-invalidates, when it moved an invalidate past the wait that others count on

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @g = 0 : i32
    litmus.location @x = 0 : i32
    litmus.location @y = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %y = litmus.address @y : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      scoped.store relaxed system %c1, %x : i32, !llvm.ptr<1>
      scoped.store weak %c2, %y : i32, !llvm.ptr<1>
      scoped.fence release agent
      scoped.store relaxed agent %c1, %f : i32, !llvm.ptr<1>
    }
    litmus.thread @P1 at <workgroup = 1, xcd = 1, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
      scoped.fence seq_cst agent
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.fence acquire workgroup spaces [global]
      scoped.fence seq_cst wavefront
      scoped.fence seq_cst workgroup
      scoped.store relaxed workgroup %c1, %g : i32, !llvm.ptr<1>
      scoped.fence acquire wavefront
      litmus.observe "r0", %r0 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
    litmus.thread @P2 at <workgroup = 1, xcd = 1, cu = 0, agent = 0> {
      %g = litmus.address @g : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %y = litmus.address @y : !llvm.ptr<1>
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c7 = arith.constant 7 : i32
      %c8 = arith.constant 8 : i32
      %r0 = scoped.atomic_rmw add acquire workgroup %g, %c0 : !llvm.ptr<1>, i32
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.store weak %c7, %y : i32, !llvm.ptr<1>
      %r1 = scoped.load weak %x : !llvm.ptr<1> -> i32
      scoped.store weak %c8, %x : i32, !llvm.ptr<1>
      litmus.observe "r0", %r0 : i32
      litmus.observe "r1", %r1 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
  }
}
