// Each thread raises its own flag and looks at the other's. Only a fence that is sequentially
// consistent keeps both from missing the other.

litmus.test @store_buffering {
  litmus.location @x = 0 : i32
  litmus.location @y = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %y = litmus.address @y : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store relaxed agent %one, %x : i32, !llvm.ptr<1>
    scoped.fence seq_cst agent
    %seen = scoped.load relaxed agent %y : !llvm.ptr<1> -> i32
    litmus.observe "r0", %seen : i32
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !llvm.ptr<1>
    %y = litmus.address @y : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store relaxed agent %one, %y : i32, !llvm.ptr<1>
    scoped.fence seq_cst agent
    %seen = scoped.load relaxed agent %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %seen : i32
  }
  litmus.condition "~exists (P0:r0 = 0 and P1:r0 = 0)"
}
