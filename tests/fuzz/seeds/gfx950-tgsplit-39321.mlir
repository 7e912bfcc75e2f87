// fuzz: gfx950-tgsplit
// Seed 39321, unsound by the lowering: P0:r0=0 P0:r1=0 P1:r0=1 P2:r0=1 P2:r1=0 P3:r0=0 f=1 g=1 h=1 n0=0 n3=0 own0=0 x=7

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @g = 0 : i32
    litmus.location @x = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 1> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      scoped.store relaxed system %c1, %x : i32, !llvm.ptr<1>
      %r1 = scoped.atomic_rmw add release system %f, %c1 : !llvm.ptr<1>, i32
      litmus.observe "r1", %r1 : i32
    }
    litmus.thread @P1 at <workgroup = 1, xcd = 0, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load relaxed system %f : !llvm.ptr<1> -> i32
      scoped.fence seq_cst system
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      %1 = scoped.atomic_rmw add relaxed workgroup %g, %c1 : !llvm.ptr<1>, i32
      litmus.observe "r0", %r0 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
    litmus.thread @P2 at <workgroup = 1, xcd = 0, cu = 0, agent = 0> {
      %g = litmus.address @g : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load acquire workgroup %g : !llvm.ptr<1> -> i32
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      %r1 = scoped.load weak %x : !llvm.ptr<1> -> i32
      litmus.observe "r0", %r0 : i32
      litmus.observe "r1", %r1 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
    litmus.thread @P3 at <workgroup = 1, xcd = 0, cu = 1, agent = 0> {
    }
  }
}
