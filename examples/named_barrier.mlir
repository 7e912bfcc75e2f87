// gfx1250: one wave fills a tile in LDS and goes on, another waits for it at barrier 1, which the two share.
// Both waves' kernels set the barrier up. Without the wait before the signal the tile may not be there, with
// a count of 96 lanes the reader waits for ever:
//   fence-sim run named_barrier.mlir --mcpu gfx1250 --without s_wait_dscnt

litmus.test @named_barrier {
  litmus.location @tile = 0 : i32 in local {workgroup = 0 : i64}
  litmus.thread @P0 at <workgroup = 0> runs @fills(@tile)
  litmus.thread @P1 at <workgroup = 0> runs @reads(@tile, "r0")
  litmus.condition "forall (P1:r0 = 42)"
}

func.func @fills(%tile: !llvm.ptr<3>) attributes {gpu.kernel} {
  %value = arith.constant 42 : i32
  scoped.store weak %value, %tile : i32, !llvm.ptr<3>
  scoped.named_barrier arrive 1 threads 64
  func.return
}

func.func @reads(%tile: !llvm.ptr<3>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {
  scoped.named_barrier sync 1 threads 64
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
