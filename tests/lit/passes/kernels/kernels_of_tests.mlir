// RUN: fence-opt %s --mcpu gfx942 | filecheck %s

// A function that a litmus test runs is a kernel, though it is not marked where others are.

// CHECK: cdna.kernel @weak
// CHECK: cdna.kernel @marked
func.func @weak(%p: !llvm.ptr<1>) {
  func.return
}
func.func @marked(%p: !llvm.ptr<1>) attributes {gpu.kernel} {
  func.return
}
litmus.test @t {
  litmus.location @x = 0 : i32
  litmus.thread @P0 at <workgroup = 0> runs @weak(@x)
  litmus.thread @P1 at <workgroup = 1> runs @marked(@x)
  litmus.condition "forall (true)"
}
