// RUN: fence-opt %s | fence-opt | filecheck %s
// RUN: fence-opt %s --print-op-generic | fence-opt | filecheck %s

// Every operation of the dialect prints what it parses, in the custom and the generic syntax.

// CHECK:      ptx.variable @buffer size 64 align 16
ptx.variable @buffer size 64 align 16
// CHECK-NEXT: ptx.variable @dynamic size 0 align 8 {note}
ptx.variable @dynamic size 0 align 8 {note}

// CHECK-NEXT: ptx.kernel @k attributes {target = "sm_90", version = "8.6", parameters = array<i64: 64, 8>, block_size = array<i32: 32, 1, 1>} {
ptx.kernel @k attributes {target = "sm_90", version = "8.6", parameters = array<i64: 64, 8>, block_size = array<i32: 32, 1, 1>} {
  // CHECK-NEXT: %{{.*}} = ptx.param 0 : !ptx.reg<b64>
  %p = ptx.param 0 : !ptx.reg<b64>
  // CHECK-NEXT: %{{.*}} = ptx.param 1 : !ptx.reg<b16>
  %b = ptx.param 1 : !ptx.reg<b16>
  // CHECK-NEXT: %{{.*}} = ptx.const -5 : !ptx.reg<b32>
  %c = ptx.const -5 : !ptx.reg<b32>
  // CHECK-NEXT: %{{.*}} = ptx.special "tid.x" : !ptx.reg<b32>
  %t = ptx.special "tid.x" : !ptx.reg<b32>
  // CHECK-NEXT: %{{.*}} = ptx.addressof @buffer : !ptx.reg<b64>
  %s = ptx.addressof @buffer : !ptx.reg<b64>
  // CHECK-NEXT: %{{.*}} = ptx.local size 8 align 8 : !ptx.reg<b64>
  %l = ptx.local size 8 align 8 : !ptx.reg<b64>
  // CHECK-NEXT: %{{.*}} = ptx.alu "add.s32"(%{{.*}}, %{{.*}}) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<b32>
  %x = ptx.alu "add.s32"(%c, %t) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<b32>
  // CHECK-NEXT: %{{.*}} = ptx.alu "setp.lt.s32"(%{{.*}}, %{{.*}}) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<pred>
  %y = ptx.alu "setp.lt.s32"(%x, %t) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<pred>
  // CHECK-NEXT: ptx.fence "fence.sc.gpu" {phase = #ptx<phase release>, source = "here"}
  ptx.fence "fence.sc.gpu" {phase = #ptx<phase release>, source = "here"}
  // CHECK-NEXT: %{{.*}} = ptx.load "ld.acquire.gpu.global.b32" %{{.*}} : !ptx.reg<b64> -> !ptx.reg<b32>
  %v = ptx.load "ld.acquire.gpu.global.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>
  // CHECK-NEXT: ptx.store "st.weak.shared.b8" %{{.*}}, %{{.*}} : !ptx.reg<b64>, !ptx.reg<b16>
  ptx.store "st.weak.shared.b8" %s, %b : !ptx.reg<b64>, !ptx.reg<b16>
  // CHECK-NEXT: %{{.*}} = ptx.atomic "atom.relaxed.gpu.global.add.u32" %{{.*}}, %{{.*}} : (!ptx.reg<b64>, !ptx.reg<b32>) -> !ptx.reg<b32>
  %o = ptx.atomic "atom.relaxed.gpu.global.add.u32" %p, %v : (!ptx.reg<b64>, !ptx.reg<b32>) -> !ptx.reg<b32>
  // CHECK-NEXT: ptx.atomic "atom.acquire.gpu.global.cas.b32" %{{.*}}, %{{.*}}, %{{.*}} {remarks = ["wide"]} : (!ptx.reg<b64>, !ptx.reg<b32>, !ptx.reg<b32>) -> ()
  ptx.atomic "atom.acquire.gpu.global.cas.b32" %p, %v, %o {remarks = ["wide"]} : (!ptx.reg<b64>, !ptx.reg<b32>, !ptx.reg<b32>) -> ()
  // CHECK-NEXT: ptx.atomic "red.relaxed.gpu.global.add.u32" %{{.*}}, %{{.*}} : (!ptx.reg<b64>, !ptx.reg<b32>) -> ()
  ptx.atomic "red.relaxed.gpu.global.add.u32" %p, %v : (!ptx.reg<b64>, !ptx.reg<b32>) -> ()
  // CHECK-NEXT: %{{.*}} = ptx.sequence ["a"](%{{.*}}) [".reg .b32 {n}", "neg.s32 {n}, {a}", "mov.b32 {dst}, {n}"] : (!ptx.reg<b32>) -> !ptx.reg<b32>
  %n = ptx.sequence ["a"](%v) [".reg .b32 {n}", "neg.s32 {n}, {a}", "mov.b32 {dst}, {n}"] : (!ptx.reg<b32>) -> !ptx.reg<b32>
  // CHECK-NEXT: ptx.barrier "barrier.sync 0"
  ptx.barrier "barrier.sync 0"
  // CHECK-NEXT: ptx.cond_bra %{{.*}}, ^{{.*}}(%{{.*}}, %{{.*}} : !ptx.reg<b32>, !ptx.reg<b64>), ^{{.*}}
  ptx.cond_bra %y, ^next(%n, %p : !ptx.reg<b32>, !ptx.reg<b64>), ^end
^next(%i: !ptx.reg<b32>, %q: !ptx.reg<b64>):
  // CHECK: ptx.bra ^{{.*}}
  ptx.bra ^end
^end:
  // CHECK: ptx.ret
  ptx.ret
}
