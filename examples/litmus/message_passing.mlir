// The kernels of message passing, one work-group each, on two XCDs of one GPU: can the consumer
// see the flag and miss the data? Without the invalidate that the acquire became, it can:
//   fence-sim run message_passing.mlir --mcpu gfx942 --without buffer_inv

litmus.test @message_passing {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0, xcd = 0> runs @producer(@data, @flag)
  litmus.thread @P1 at <workgroup = 1, xcd = 1> runs @consumer(@data, @flag, "r0")
  litmus.condition "forall (P1:r0 = 42)"
}

func.func @producer(%data: !llvm.ptr<1>, %flag: !llvm.ptr<1>) attributes {gpu.kernel} {
  %payload = arith.constant 42 : i32
  %raised = arith.constant 1 : i32
  scoped.store weak %payload, %data : i32, !llvm.ptr<1>
  scoped.store release agent %raised, %flag : i32, !llvm.ptr<1>
  func.return
}

func.func @consumer(%data: !llvm.ptr<1>, %flag: !llvm.ptr<1>, %out: !llvm.ptr<1>)
    attributes {gpu.kernel} {
  %lowered = arith.constant 0 : i32
  cf.br ^spin
^spin:
  %seen = scoped.load acquire agent %flag : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %seen, %lowered : i32
  cf.cond_br %again, ^spin, ^done
^done:
  %payload = scoped.load weak %data : !llvm.ptr<1> -> i32
  scoped.store weak %payload, %out : i32, !llvm.ptr<1>
  func.return
}
