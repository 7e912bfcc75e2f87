// RUN: not fence-opt --mcpu gfx90a --compat llvm --verify-lowering %s 2>&1 | filecheck %s

// LLVM's load of the work-group hits the line of the L1 that a mate's store has just updated.

litmus.test @wrc {
  litmus.location @x = 0 : i32
  litmus.location @y = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store relaxed agent %one, %x : i32, !llvm.ptr<1>
    litmus.end
  }
  litmus.thread @P1 at <workgroup = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    %y = litmus.address @y : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    %r0 = scoped.load relaxed workgroup %x : !llvm.ptr<1> -> i32
    scoped.store release agent %one, %y : i32, !llvm.ptr<1>
    litmus.observe "r0", %r0 : i32
    litmus.end
  }
  litmus.thread @P2 at <workgroup = 1, cu = 1> {
    %x = litmus.address @x : !llvm.ptr<1>
    %y = litmus.address @y : !llvm.ptr<1>
    %r0 = scoped.load acquire agent %y : !llvm.ptr<1> -> i32
    %r1 = scoped.load relaxed agent %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %r0 : i32
    litmus.observe "r1", %r1 : i32
    litmus.end
  }
  litmus.condition "~exists (P1:r0 = 1 and P2:r0 = 1 and P2:r1 = 0)"
}

// CHECK:      error: the lowering of 'wrc' can end with P1:r0=1 P2:r0=1 P2:r1=0
// CHECK-NEXT: note: P1 reads x = 1 (line 18) from its L1, which P0's store of x (line 11) has updated before it reaches the L2, where P2 still reads x = 0 (line 27).
// CHECK-NOT:  interleaving
