// fuzz: gfx942
// Seed 0, of loosen-waits; found with this broken: wait_for_one_less

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @g = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      scoped.store seq_cst agent %c1, %f : i32, !llvm.ptr<1>
      %r0 = scoped.load seq_cst agent %g : !llvm.ptr<1> -> i32
      litmus.observe "r0", %r0 : i32
    }
    litmus.thread @P1 at <workgroup = 1, xcd = 0, cu = 1, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      scoped.store seq_cst agent %c1, %g : i32, !llvm.ptr<1>
      %r0 = scoped.load seq_cst agent %f : !llvm.ptr<1> -> i32
      litmus.observe "r0", %r0 : i32
    }
  }
}
