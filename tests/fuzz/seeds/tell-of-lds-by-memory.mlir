// fuzz: gfx942-through
// Seed 6, of loosen-waits; found with this broken: tell_of_lds_by_memory

builtin.module {
  litmus.test @t {
    litmus.location @x_lds = 0 : i32 in local {workgroup = 0 : i32}
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %x_lds = litmus.address @x_lds : !llvm.ptr<3>
      %c1 = arith.constant 1 : i32
      scoped.store weak %c1, %x_lds {volatile} : i32, !llvm.ptr<3>
      scoped.barrier workgroup
    }
    litmus.thread @P1 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %x_lds = litmus.address @x_lds : !llvm.ptr<3>
      scoped.barrier workgroup
      %r1 = scoped.load weak %x_lds : !llvm.ptr<3> -> i32
      litmus.observe "r1", %r1 : i32
    }
    litmus.thread @P2 at <workgroup = 9, xcd = 1, cu = 1, agent = 0> {
    }
  }
}
