// RUN: fence-opt %s --verify-lowering --mcpu gfx908 -o /dev/null 2>&1 | filecheck %s
// RUN: fence-opt %s --verify-lowering --mcpu gfx90a -o /dev/null 2>&1 | filecheck %s
// RUN: fence-opt %s --verify-lowering --mcpu gfx942 -o /dev/null 2>&1 | filecheck %s
// RUN: fence-opt %s --verify-lowering --mcpu gfx942 --l2-per-agent one -o /dev/null 2>&1 | filecheck %s
// RUN: fence-opt %s --verify-lowering --mcpu gfx950 -o /dev/null 2>&1 | filecheck %s
// RUN: fence-opt %s --verify-lowering -O0 --mcpu gfx942 -o /dev/null 2>&1 | filecheck %s
// RUN: fence-opt %s --verify-lowering --mcpu sm_70 -o /dev/null 2>&1 | filecheck %s
// RUN: fence-opt %s --verify-lowering --mcpu sm_90 -o /dev/null 2>&1 | filecheck %s
// RUN: fence-opt %s --verify-lowering -O0 --mcpu sm_90 -o /dev/null 2>&1 | filecheck %s

// Every outcome of the lowered test is one of the source, on every target.

// CHECK: verify-lowering.mlir:{{[0-9]+}}:1: remark: the lowering of 'message_passing' reaches 2 of the 2 outcomes that the source allows, and no other
litmus.test @message_passing {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %x : i32, !llvm.ptr<1>
    scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    %flag = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
    %raised = arith.cmpi ne, %flag, %zero : i32
    cf.cond_br %raised, ^read, ^skip
  ^read:
    %data = scoped.load weak %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %flag : i32
    litmus.observe "r1", %data : i32
    litmus.end
  ^skip:
    litmus.end
  }
}

// Work-group scope, LDS and a read-modify-write.
// CHECK: verify-lowering.mlir:{{[0-9]+}}:1: remark: the lowering of 'tickets' reaches 2 of the 2 outcomes that the source allows, and no other
litmus.test @tickets {
  litmus.location @next = 0 : i32 in local {workgroup = 0 : i64}
  litmus.thread @P0 at <workgroup = 0> {
    %next = litmus.address @next : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    %ticket = scoped.atomic_rmw add acq_rel workgroup %next, %one : !llvm.ptr<3>, i32
    litmus.observe "r0", %ticket : i32
  }
  litmus.thread @P1 at <workgroup = 0> {
    %next = litmus.address @next : !llvm.ptr<3>
    %two = arith.constant 2 : i32
    %ticket = scoped.atomic_rmw sub acq_rel workgroup %next, %two : !llvm.ptr<3>, i32
    litmus.observe "r0", %ticket : i32
  }
}

// A kernel that two threads run.
// CHECK: verify-lowering.mlir:{{[0-9]+}}:1: remark: the lowering of 'lock' reaches 1 of the 1 outcomes that the source allows, and no other
litmus.test @lock {
  litmus.location @count = 5 : i32
  litmus.location @lock = 0 : i32
  litmus.thread @P0 runs @add_under_lock(@count, @lock)
  litmus.thread @P1 runs @add_under_lock(@count, @lock)
}

func.func @add_under_lock(%count: !llvm.ptr<1>, %lock: !llvm.ptr<1>)
    attributes {gpu.kernel, gpu.known_block_size = array<i32: 1, 1, 1>} {
  %free = arith.constant 0 : i32
  %taken = arith.constant 1 : i32
  cf.br ^spin
^spin:
  %old, %won = scoped.cmpxchg acquire relaxed agent %lock, %free, %taken : !llvm.ptr<1>, i32
  cf.cond_br %won, ^critical, ^spin
^critical:
  %before = scoped.load weak %count : !llvm.ptr<1> -> i32
  %after = arith.addi %before, %taken : i32
  scoped.store weak %after, %count : i32, !llvm.ptr<1>
  scoped.store release agent %free, %lock : i32, !llvm.ptr<1>
  func.return
}
