// One work-group writes data and raises a flag; another waits for the flag and reads the data.
// The release store and the acquire load are what makes the data arrive before the flag.

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
