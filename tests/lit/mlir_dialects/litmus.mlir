// RUN: fence-opt %s | fence-opt | filecheck %s
// RUN: fence-opt %s --print-op-generic | fence-opt | filecheck %s

// CHECK-LABEL: litmus.test @message_passing {
litmus.test @message_passing {
  // CHECK-NEXT: litmus.location @x = 0 : i32
  litmus.location @x = 0 : i32
  // CHECK-NEXT: litmus.location @f = -1 : i32 {kind = "uncached"}
  litmus.location @f = -1 : i32 {kind = "uncached"}
  // CHECK-NEXT: litmus.location @s = 2 : i32 in local {workgroup = 1 : i64}
  litmus.location @s = 2 : i32 in local {workgroup = 1 : i64}
  // A thread that says nothing of its placement; the end of its one block is left out.
  // CHECK-NEXT: litmus.thread @P0 {
  // CHECK-NEXT:   %x = litmus.address @x : !llvm.ptr<1>
  // CHECK-NEXT:   %one = arith.constant 1 : i32
  // CHECK-NEXT:   scoped.store release agent %one, %x : i32, !llvm.ptr<1>
  // CHECK-NEXT: }
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store release agent %one, %x : i32, !llvm.ptr<1>
  }
  // CHECK-NEXT: litmus.thread @P1 at <workgroup = 1, xcd = 2, cu = 3, agent = 4> {
  litmus.thread @P1 at <xcd = 2, workgroup = 1, agent = 4, cu = 3> {
    %x = litmus.address @x : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^again
  // CHECK: ^again:
  ^again:
    %v = scoped.load acquire agent %x : !llvm.ptr<1> -> i32
    %wait = arith.cmpi eq, %v, %zero : i32
    cf.cond_br %wait, ^again, ^done
  // CHECK: litmus.observe "r0", %v : i32
  // CHECK-NEXT: litmus.end
  ^done:
    litmus.observe "r0", %v : i32
    litmus.end
  }
  // CHECK: litmus.thread @P2 at <workgroup = 1> runs @kernel(@x, "r7")
  litmus.thread @P2 at <workgroup = 1> runs @kernel(@x, "r7")
  // CHECK-NEXT: litmus.condition "exists (P1:r0 = 1 and not (P2:r7 = 1 or f != 0))"
  litmus.condition "exists (P1:r0 = 1 and not (P2:r7 = 1 or f != 0))"
}

// CHECK-LABEL: litmus.test @other lowers @message_passing {
litmus.test @other lowers @message_passing {
  // CHECK-NEXT: litmus.thread @P0 at <workgroup = 0, cluster = 0> {
  // CHECK-NEXT: }
  litmus.thread @P0 at <workgroup = 0, cluster = 0> {
  }
}

func.func @kernel(%x: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {
  %v = scoped.load weak %x : !llvm.ptr<1> -> i32
  scoped.store weak %v, %out : i32, !llvm.ptr<1>
  func.return
}

// CHECK-LABEL: litmus.test @asynchronous {
litmus.test @asynchronous {
  // CHECK-NEXT: litmus.location @x = 1 : i32
  litmus.location @x = 1 : i32
  // CHECK-NEXT: litmus.location @map = 0 : i32 {describes = [@x]}
  litmus.location @map = 0 : i32 {describes = [@x]}
  // CHECK-NEXT: litmus.location @tile = 0 : i32 in local {workgroup = 1 : i64, variable = @t, bytes = 128 : i64}
  litmus.location @tile = 0 : i32 in local {workgroup = 1 : i64, variable = @t, bytes = 128 : i64}
  // CHECK-NEXT: litmus.location @acc = 0 : i32 {tensor}
  litmus.location @acc = 0 : i32 {tensor}
  // CHECK-NEXT: litmus.mbarrier @full
  litmus.mbarrier @full
  // CHECK-NEXT: litmus.mbarrier @empty count 2 {workgroup = 1 : i64}
  litmus.mbarrier @empty count 2 {workgroup = 1 : i64}
  // CHECK-NEXT: litmus.location @there = 0 : i32
  litmus.location @there = 0 : i32
  // CHECK-NEXT: litmus.multicast @both = [@there] {aliased}
  litmus.multicast @both = [@there] {aliased}
}
