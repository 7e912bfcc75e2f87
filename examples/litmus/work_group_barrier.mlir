// One wave writes LDS and global memory, another of the same work-group publishes both after the
// barrier: a release covers what other waves wrote before it, as far as the barrier ordered it.

litmus.test @published_by_another_wave {
  litmus.location @payload = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0, xcd = 0, cu = 0> {
    %payload = litmus.address @payload : !llvm.ptr<1>
    %value = arith.constant 7 : i32
    scoped.store weak %value, %payload : i32, !llvm.ptr<1>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0, xcd = 0, cu = 0> {
    %flag = litmus.address @flag : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.barrier workgroup
    scoped.store release agent %one, %flag : i32, !llvm.ptr<1>
  }
  litmus.thread @P2 at <workgroup = 1, xcd = 1> {
    %payload = litmus.address @payload : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    %seen = scoped.load acquire agent %flag : !llvm.ptr<1> -> i32
    %ready = arith.cmpi ne, %seen, %zero : i32
    cf.cond_br %ready, ^read, ^skip
  ^read:
    %value = scoped.load weak %payload : !llvm.ptr<1> -> i32
    litmus.observe "r0", %seen : i32
    litmus.observe "r1", %value : i32
    litmus.end
  ^skip:
    litmus.end
  }
  litmus.condition "~exists (P2:r0 = 1 and P2:r1 = 0)"
}

litmus.test @local_memory {
  litmus.location @tile = 0 : i32 in local {workgroup = 0 : i64}
  litmus.thread @P0 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    %value = arith.constant 5 : i32
    scoped.store weak %value, %tile : i32, !llvm.ptr<3>
    scoped.barrier workgroup
  }
  litmus.thread @P1 at <workgroup = 0> {
    %tile = litmus.address @tile : !llvm.ptr<3>
    scoped.barrier workgroup
    %value = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %value : i32
  }
  litmus.condition "forall (P1:r0 = 5)"
}
