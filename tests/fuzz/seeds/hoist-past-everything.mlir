// fuzz: gfx950
// Seed 1, of hoist-write-backs; found with this broken: hoist_past_everything

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @x = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      scoped.store weak %c1, %x : i32, !llvm.ptr<1>
      scoped.fence acq_rel system
      scoped.store relaxed system %c1, %f : i32, !llvm.ptr<1>
    }
    litmus.thread @P1 at <workgroup = 1, xcd = 1, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %c4 = arith.constant 4 : i32
      %r0 = scoped.load seq_cst agent %f : !llvm.ptr<1> -> i32
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.store weak %c4, %x : i32, !llvm.ptr<1>
      litmus.observe "r0", %r0 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
  }
}
