// RUN: fence-opt %s | filecheck %s
// RUN: fence-opt %s | fence-opt | filecheck %s
// RUN: fence-opt %s --print-op-generic | fence-opt | filecheck %s

// A kernel of gpu, scf, cf, arith, memref and llvm operations around scoped ones.

builtin.module attributes {gpu.container_module} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    // CHECK: func.func @last_block_sums
    func.func @last_block_sums(%partial: !llvm.ptr<1>, %count: !llvm.ptr<1>, %shared: memref<64xf32, 3>, %flag: !llvm.ptr<3>, %blocks: i32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %one = arith.constant 1 : i32
      %block = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
      %thread = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %sum = memref.load %shared[%thread] : memref<64xf32, 3>
      %offset = arith.index_cast %block : index to i64
      %slot = "llvm.getelementptr"(%partial, %offset) <{elem_type = f32, rawConstantIndices = array<i32: -2147483648>, noWrapFlags = 0 : i32}> : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      // CHECK: scoped.store weak %sum, %slot : f32, !llvm.ptr<1>
      scoped.store weak %sum, %slot : f32, !llvm.ptr<1>
      // CHECK-NEXT: scoped.barrier workgroup
      scoped.barrier workgroup
      %is_first = arith.cmpi eq, %thread, %c0 : index
      scf.if %is_first {
        // CHECK: %{{.*}} = scoped.atomic_rmw add acq_rel agent %count, %one : !llvm.ptr<1>, i32
        %old = scoped.atomic_rmw add acq_rel agent %count, %one : !llvm.ptr<1>, i32
        // CHECK-NEXT: scoped.store relaxed workgroup %{{.*}}, %flag : i32, !llvm.ptr<3>
        scoped.store relaxed workgroup %old, %flag : i32, !llvm.ptr<3>
      }
      // CHECK: scoped.barrier workgroup spaces [local]
      scoped.barrier workgroup spaces [local]
      %seen = scoped.load relaxed workgroup %flag : !llvm.ptr<3> -> i32
      %next = arith.addi %seen, %one : i32
      %is_last = arith.cmpi eq, %next, %blocks : i32
      cf.cond_br %is_last, ^last, ^done
    ^last:
      // CHECK: scoped.fence acquire agent
      scoped.fence acquire agent
      %zero = arith.constant 0.0 : f32
      %total = scf.for %i = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> (f32) {
        %j = arith.index_cast %i : index to i64
        %at = "llvm.getelementptr"(%partial, %j) <{elem_type = f32, rawConstantIndices = array<i32: -2147483648>, noWrapFlags = 0 : i32}> : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        // CHECK: %{{.*}} = scoped.load weak %{{.*}} {nontemporal} : !llvm.ptr<1> -> f32
        %x = scoped.load weak %at {nontemporal} : !llvm.ptr<1> -> f32
        %next_acc = arith.addf %acc, %x : f32
        scf.yield %next_acc : f32
      }
      // CHECK: scoped.store weak %total, %partial : f32, !llvm.ptr<1>
      scoped.store weak %total, %partial : f32, !llvm.ptr<1>
      cf.br ^done
    ^done:
      func.return
    }
  }) : () -> ()
}
