// fuzz: gfx942-tgsplit-one-l2
// Seed 49216, unsound by the lowering: P1:r0=1 P2:r0=1 P2:r1=0 P2:r2=7 f=1 g=1 n0=0 own2=7 x=1

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @g = 0 : i32
    litmus.location @x = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      scoped.store weak %c1, %x : i32, !llvm.ptr<1>
      scoped.store release agent %c1, %f : i32, !llvm.ptr<1>
    }
    litmus.thread @P1 at <workgroup = 1, xcd = 1, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load relaxed system %f : !llvm.ptr<1> -> i32
      scoped.fence seq_cst system
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      %1 = scoped.atomic_rmw add relaxed system %g, %c1 : !llvm.ptr<1>, i32
      litmus.observe "r0", %r0 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
    litmus.thread @P2 at <workgroup = 3, xcd = 0, cu = 0, agent = 1> {
      %g = litmus.address @g : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load acquire system %g : !llvm.ptr<1> -> i32
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
  }
}
