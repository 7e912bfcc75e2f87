// RUN: %mailbox-opt %s -p convert-mailbox | %filecheck %s
// RUN: %mailbox-opt %s -p convert-mailbox,ptx-pipeline{mcpu=sm_90} -t ptx | %filecheck %s --check-prefix=PTX
// RUN: %mailbox-opt %s -p convert-mailbox,cdna-pipeline{mcpu=gfx942} -t asm | %filecheck %s --check-prefix=ASM

// CHECK-LABEL: @post
// CHECK-NEXT: scoped.store relaxed agent %{{.*}}, %{{.*}} : i32
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT: scoped.store release agent %[[ONE]]
// PTX-LABEL: .entry post(
// PTX: st.relaxed.gpu.global.b32
// PTX-NEXT: st.release.gpu.global.b32
// ASM-LABEL: post:
// ASM: global_store_dword
// ASM: s_waitcnt vmcnt(0)
// ASM-NEXT: global_store_dword
func.func @post(%value: i32, %slot: !llvm.ptr<1>, %flag: !llvm.ptr<1>) {
  mailbox.post %value to %slot, %flag : i32, !llvm.ptr<1>, !llvm.ptr<1>
  func.return
}

// CHECK-LABEL: @peek
// CHECK-NEXT: scoped.load acquire agent
// CHECK-NEXT: scoped.load relaxed agent
// PTX-LABEL: .entry peek(
// PTX: ld.acquire.gpu.global.b32
// PTX-NEXT: ld.relaxed.gpu.global.b32
// ASM-LABEL: peek:
// ASM: global_load_dword {{.*}} sc1
// ASM-NEXT: s_waitcnt vmcnt(0)
// ASM-NEXT: global_load_dword {{.*}} sc1
func.func @peek(%slot: !llvm.ptr<1>, %flag: !llvm.ptr<1>, %out: !llvm.ptr<1>) {
  %raised, %value = mailbox.peek %slot, %flag : !llvm.ptr<1>, !llvm.ptr<1> -> i32, i32
  %sum = arith.addi %raised, %value : i32
  scoped.store weak %sum, %out : i32, !llvm.ptr<1>
  func.return
}
