// Two relaxed stores of one wave in their order, and a wave of another XCD that acquires the second.

litmus.test @relaxed {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0, xcd = 0> runs @producer(@data, @flag)
  litmus.thread @P1 at <workgroup = 1, xcd = 1> runs @consumer(@data, @flag, "r0")
  litmus.condition "exists (P1:r0 = 0)"
}

func.func @producer(%data: !llvm.ptr<1>, %flag: !llvm.ptr<1>) attributes {gpu.kernel} {
  %one = arith.constant 1 : i32
  scoped.store relaxed agent %one, %data : i32, !llvm.ptr<1>
  scoped.store relaxed agent %one, %flag : i32, !llvm.ptr<1>
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
  %read = scoped.load relaxed agent %data : !llvm.ptr<1> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
