// RUN: fence-opt %s --mcpu sm_90a -t asm --remarks -o %t 2>&1 | filecheck %s
// RUN: fence-opt %s --mcpu sm_80 -t asm --remarks -o %t 2>&1 | filecheck %s --check-prefix=SM80

// Measured prices are cycles; on a chip that nobody measured they are estimates of the same ratios.

// CHECK: ptx.mlir:11:1: remark: memory operations of 'publish' cost {{[0-9]+}} (estimated), as written {{[0-9]+}} (estimated) [analysis: costs]
// CHECK: ptx.mlir:13:3: remark: 'fence release agent' becomes 'fence.release.gpu'; costs 263 cycles [analysis: convert-scoped-to-ptx]
// CHECK: ptx.mlir:15:3: remark: 'fence release agent' removed: 'fence release agent' at line 13 does its work; saves 263 cycles [passed: merge-fences]
// SM80: ptx.mlir:13:3: remark: 'fence release agent' becomes 'fence.acq_rel.gpu'; costs 272 (estimated)
// SM80: ptx.mlir:13:3: remark: 'fence release agent' kept: fence.acquire and fence.release are of sm_90 with PTX 8.6 on; costs 272 (estimated) [missed: convert-scoped-to-ptx]
func.func @publish(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %v : i32) {
  scoped.store weak %v, %d : i32, !llvm.ptr<1>
  scoped.fence release agent
  // Nothing happens in between.
  scoped.fence release agent
  scoped.store relaxed agent %v, %d : i32, !llvm.ptr<1>
  scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>
  func.return
}

// A read-modify-write whose result nobody reads is a reduction, unless a fence may acquire by it.
// CHECK: ptx.mlir:{{[0-9]+}}:3: remark: 'atomic_rmw add release agent' becomes 'red.release.gpu.global.add.u32'; costs 573 cycles
// CHECK-NEXT: remark: 'atomic_rmw add release agent' changed to 'red.release.gpu.global.add.u32': nobody reads its result, and no acquire fence comes behind it; saves 193 cycles [passed: convert-scoped-to-ptx]
func.func @count(%f : !llvm.ptr<1>, %v : i32) {
  %old = scoped.atomic_rmw add release agent %f, %v : !llvm.ptr<1>, i32
  func.return
}
// CHECK: remark: 'atomic_rmw add release agent' becomes 'atom.release.gpu.global.add.u32'; costs 766 cycles
// CHECK-NEXT: remark: 'atomic_rmw add release agent' kept: 'fence acquire agent' at line {{[0-9]+}} may acquire by what it reads, so it is no 'red'; costs 766 cycles [missed: convert-scoped-to-ptx]
func.func @count_and_read(%f : !llvm.ptr<1>, %d : !llvm.ptr<1>, %v : i32) {
  %old = scoped.atomic_rmw add release agent %f, %v : !llvm.ptr<1>, i32
  scoped.fence acquire agent
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %f : i32, !llvm.ptr<1>
  func.return
}

// PTX has no wavefront scope.
// CHECK: remark: 'fence release wavefront': PTX has no wavefront scope: widened to .cta [analysis: convert-scoped-to-ptx]
func.func @narrow(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %v : i32) {
  scoped.store weak %v, %d : i32, !llvm.ptr<1>
  scoped.fence release wavefront
  scoped.store relaxed wavefront %v, %f : i32, !llvm.ptr<1>
  scoped.store relaxed wavefront %v, %d : i32, !llvm.ptr<1>
  func.return
}

// A fence goes into the load in front of it where that is cheaper.
// SM80: ptx.mlir:52:3: remark: 'fence acquire agent' removed: together they cost less as 'load acquire agent' at line 51 [passed: fold-fences]
func.func @read(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>) attributes {gpu.kernel} {
  %x = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  %y = scoped.load weak %d : !llvm.ptr<1> -> i32
  %z = arith.addi %x, %y : i32
  scoped.store weak %z, %d : i32, !llvm.ptr<1>
  func.return
}

// The fence before a store has released already.
// CHECK: remark: 'st.release.gpu.global.b32' changed to 'st.relaxed.gpu.global.b32': 'fence.sc.gpu' at line 63 next to it does the rest; saves 571 (estimated) [passed: merge-ptx-fences]
func.func @sequential(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %v : i32) {
  scoped.store weak %v, %d : i32, !llvm.ptr<1>
  scoped.fence seq_cst agent
  scoped.store release agent %v, %f : i32, !llvm.ptr<1>
  func.return
}
