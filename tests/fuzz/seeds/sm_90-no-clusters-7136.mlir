// fuzz: sm_90+no-clusters
// Seed 7136, unsound by merge-ptx-fences: P1:r0=1 P2:r0=1 P3:r0=1 f=1 g=1 h=1 x=1

builtin.module {
  litmus.test @t {
    litmus.location @f = 0 : i32
    litmus.location @g = 0 : i32
    litmus.location @h = 0 : i32
    litmus.location @x = 0 : i32
    litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0, agent = 0> {
      %f = litmus.address @f : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      scoped.store weak %c1, %x : i32, !llvm.ptr<1>
      scoped.fence acq_rel system
      %0 = scoped.atomic_rmw add relaxed system %f, %c1 : !llvm.ptr<1>, i32
    }
    litmus.thread @P1 at <workgroup = 1, xcd = 0, cu = 1, agent = 1> {
      %f = litmus.address @f : !llvm.ptr<1>
      %g = litmus.address @g : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load relaxed system %f : !llvm.ptr<1> -> i32
      scoped.fence seq_cst wavefront
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.fence acquire system
      scoped.fence release workgroup
      scoped.store relaxed workgroup %c1, %g : i32, !llvm.ptr<1>
      litmus.observe "r0", %r0 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
    litmus.thread @P2 at <workgroup = 1, xcd = 0, cu = 1, agent = 1> {
      %g = litmus.address @g : !llvm.ptr<1>
      %h = litmus.address @h : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %r0 = scoped.load acquire workgroup %g : !llvm.ptr<1> -> i32
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.store release system %c1, %h : i32, !llvm.ptr<1>
      litmus.observe "r0", %r0 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
    litmus.thread @P3 at <workgroup = 2, xcd = 0, cu = 2, agent = 0> {
      %h = litmus.address @h : !llvm.ptr<1>
      %x = litmus.address @x : !llvm.ptr<1>
      %c1 = arith.constant 1 : i32
      %c10 = arith.constant 10 : i32
      %r0 = scoped.load seq_cst system %h : !llvm.ptr<1> -> i32
      %0 = arith.cmpi eq, %r0, %c1 : i32
      cf.cond_br %0, ^bb1, ^bb2
    ^bb1:
      scoped.store weak %c10, %x : i32, !llvm.ptr<1>
      litmus.observe "r0", %r0 : i32
      litmus.end
    ^bb2:
      litmus.observe "r0", %r0 : i32
      litmus.end
    }
  }
}
