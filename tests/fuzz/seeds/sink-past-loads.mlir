// fuzz: gfx942-tgsplit
// Seed 4, of sink-invalidates; found with this broken: sink_past_loads

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @x = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      scoped.store relaxed agent %c2, %x : i32, !llvm.ptr<1>
      scoped.fence acq_rel workgroup
      scoped.store relaxed workgroup %c1, %f : i32, !llvm.ptr<1>
    }
    litmus.thread @P1 at <workgroup = 0, xcd = 0, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load acquire workgroup %f : !llvm.ptr<1> -> i32
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
