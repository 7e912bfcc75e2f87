// CUDA core -> CUDA core anywhere on the GPU: through global memory, with a fence or a release and an
// acquire at gpu scope.
//
// fence-sim run --mcpu sm_90 examples/patterns/generic_on_gpu.mlir

// fence.gpu with a flag: __threadfence().
litmus.test @fence_gpu {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.fence release agent
    scoped.store relaxed agent %one, %flag : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 1> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load relaxed agent %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    scoped.fence acquire agent
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}

// A release and an acquire of the flag itself.
litmus.test @release_acquire_gpu {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.store release agent %one, %flag : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 1> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load acquire agent %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    %read = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}
