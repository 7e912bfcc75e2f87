// fuzz: gfx950-tgsplit
// Seed 30, of merge-fences; found with this broken: forget_loads

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @x = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %r1, %0 = scoped.cmpxchg relaxed relaxed cluster %f, %c0, %c1 : !llvm.ptr<1>, i32
      %1 = arith.cmpi eq, %r1, %c0 : i32
      cf.cond_br %1, ^bb1, ^bb2
    ^bb1:
      scoped.fence acq_rel cluster
      %r2 = scoped.load weak %x : !llvm.ptr<1> -> i32
      scoped.fence seq_cst cluster
      litmus.observe "r1", %r1 : i32
      litmus.observe "r2", %r2 : i32
      litmus.end
    ^bb2:
      litmus.observe "r1", %r1 : i32
      litmus.end
    }
    litmus.thread @P1 at <workgroup = 0, xcd = 0, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c4 = arith.constant 4 : i32
      %r0, %0 = scoped.cmpxchg acquire relaxed workgroup %f, %c0, %c1 : !llvm.ptr<1>, i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.store weak %c4, %x : i32, !llvm.ptr<1>
      scoped.fence release workgroup
      %1 = scoped.atomic_rmw xchg relaxed workgroup %f, %c0 : !llvm.ptr<1>, i32
      litmus.observe "r0", %r0 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
  }
}
