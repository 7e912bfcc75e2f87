// gfx1250: one wave has a tile copied to LDS and meets the other, which reads it. The barrier does not wait
// for the copy; without its own wait the tile may not be there:
//   fence-sim run asynchronous_copy.mlir --mcpu gfx1250 --without s_wait_asynccnt

litmus.test @asynchronous_copy {
  litmus.location @data = 42 : i32
  litmus.location @tile = 0 : i32 in local {workgroup = 0 : i64}
  litmus.thread @P0 at <workgroup = 0> runs @copies(@data, @tile)
  litmus.thread @P1 at <workgroup = 0> runs @reads(@tile, "r0")
  litmus.condition "forall (P1:r0 = 42)"
}

func.func @copies(%data: !llvm.ptr<1>, %tile: !llvm.ptr<3>) attributes {gpu.kernel} {
  scoped.async_copy %tile, %data size 4 : !llvm.ptr<3>, !llvm.ptr<1>
  scoped.async_commit_group
  scoped.async_wait_group 0
  scoped.barrier workgroup
  func.return
}

func.func @reads(%tile: !llvm.ptr<3>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {
  scoped.barrier workgroup
  %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
  scoped.store weak %read, %out : i32, !llvm.ptr<1>
  func.return
}
