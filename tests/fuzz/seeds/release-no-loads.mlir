// fuzz: gfx942@one-l2
// Seed 8, of loosen-waits; found with this broken: release_no_loads

builtin.module {
  litmus.test @t {
    litmus.location @g = 0 : i32
    litmus.location @x = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
    }
    litmus.thread @P1 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %g = litmus.address @g : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %c4 = arith.constant 4 : i32
      scoped.store weak %c4, %x : i32, !llvm.ptr<1>
      %0 = scoped.atomic_rmw xchg acq_rel system %g, %c1 : !llvm.ptr<1>, i32
    }
    litmus.thread @P2 at <workgroup = 1, xcd = 1, cu = 0, agent = 1> {
      %g = litmus.address @g : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load seq_cst system %g : !llvm.ptr<1> -> i32
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
