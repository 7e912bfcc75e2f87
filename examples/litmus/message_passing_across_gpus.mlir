// Message passing from one GPU to another: system scope is what orders it. An AMD GPU before gfx942
// sees what another one writes in uncached memory alone.
//   fence-sim run-gpu message_passing_across_gpus.mlir --gpus 2

litmus.test @message_passing_across {
  litmus.location @data = 0 : i32 {kind = "uncached"}
  litmus.location @flag = 0 : i32 {kind = "uncached"}
  litmus.thread @P0 at <workgroup = 0, agent = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %v = arith.constant 42 : i32
    %one = arith.constant 1 : i32
    scoped.store weak %v, %data : i32, !llvm.ptr<1>
    scoped.store release system %one, %flag : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 1, agent = 1> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^wait
  ^wait:
    %f = scoped.load acquire system %flag : !llvm.ptr<1> -> i32
    %unset = arith.cmpi eq, %f, %zero : i32
    cf.cond_br %unset, ^wait, ^seen
  ^seen:
    %r = scoped.load weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %r : i32
  }
  litmus.condition "forall (P1:r0 == 42)"
}
