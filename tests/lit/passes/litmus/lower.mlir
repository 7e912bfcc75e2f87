// RUN: fence-opt %s -p outline-litmus-threads | filecheck %s --check-prefix=OUTLINE
// RUN: fence-opt %s -O0 --mcpu gfx942 | filecheck %s --check-prefixes=TARGET,CDNA
// RUN: fence-opt %s --mcpu sm_90 | filecheck %s --check-prefixes=TARGET,PTX
// RUN: fence-opt %s -O0 --mcpu gfx942 -t asm | filecheck %s --check-prefix=ASM

// A thread's body becomes a kernel, which is lowered as every other; the test itself stays.

// OUTLINE-LABEL: litmus.test @"MP+agent" {
// TARGET-LABEL: litmus.test @"MP+agent" {
litmus.test @"MP+agent" {
  // TARGET-NEXT: litmus.location @x = 0 : i32
  litmus.location @x = 0 : i32
  // TARGET-NEXT: litmus.location @f = 0 : i32
  litmus.location @f = 0 : i32
  // OUTLINE: litmus.thread @P0 at <workgroup = 0, xcd = 0> runs @MP_agent_P0(@x, @f)
  // TARGET-NEXT: litmus.thread @P0 at <workgroup = 0, xcd = 0> runs @MP_agent_P0(@x, @f)
  litmus.thread @P0 at <workgroup = 0, xcd = 0> {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %x : i32, !llvm.ptr<1>
    scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  }
  // OUTLINE-NEXT: litmus.thread @P1 at <workgroup = 1, xcd = 1> runs @MP_agent_P1(@f, @x, "r0", "r1")
  // TARGET-NEXT: litmus.thread @P1 at <workgroup = 1, xcd = 1> runs @MP_agent_P1(@f, @x, "r0", "r1")
  litmus.thread @P1 at <workgroup = 1, xcd = 1> {
    %f = litmus.address @f : !llvm.ptr<1>
    %x = litmus.address @x : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    %flag = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
    %raised = arith.cmpi ne, %flag, %zero : i32
    cf.cond_br %raised, ^read, ^skip
  ^read:
    %data = scoped.load weak %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %raised : i1
    litmus.observe "r1", %data : i32
    litmus.end
  ^skip:
    litmus.end
  }
  // TARGET-NEXT: litmus.condition
  litmus.condition "~exists (P1:r0 = 1 and P1:r1 = 0)"
}

// OUTLINE-LABEL: func.func @MP_agent_P0(%x: !llvm.ptr<1>, %f: !llvm.ptr<1>) attributes {gpu.kernel, gpu.known_block_size = array<i32: 1, 1, 1>} {
// OUTLINE-NEXT:    %one = arith.constant 1 : i32
// OUTLINE-NEXT:    scoped.store weak %one, %x : i32, !llvm.ptr<1>
// OUTLINE-NEXT:    scoped.store release agent %one, %f : i32, !llvm.ptr<1>
// OUTLINE-NEXT:    func.return
// CDNA-LABEL: cdna.kernel @MP_agent_P0
// CDNA: cdna.cache buffer_wbl2
// PTX-LABEL: ptx.kernel @MP_agent_P0
// PTX: ptx.store "st.release.gpu.global.b32"
// ASM-LABEL: MP_agent_P0:
// ASM: buffer_wbl2 sc1

// What is observed is stored last of all, so that nothing that the test is about waits for it.
// OUTLINE-LABEL: func.func @MP_agent_P1(%f: !llvm.ptr<1>, %x: !llvm.ptr<1>, %r0: !llvm.ptr<1>, %r1: !llvm.ptr<1>)
// OUTLINE: %data = scoped.load weak %x : !llvm.ptr<1> -> i32
// OUTLINE-NEXT: %[[RAISED:.*]] = arith.extui %raised : i1 to i32
// OUTLINE-NEXT: scoped.store weak %[[RAISED]], %r0 : i32, !llvm.ptr<1>
// OUTLINE-NEXT: scoped.store weak %data, %r1 : i32, !llvm.ptr<1>
// OUTLINE-NEXT: func.return
// CDNA-LABEL: cdna.kernel @MP_agent_P1
// CDNA: cdna.cache buffer_inv
// PTX-LABEL: ptx.kernel @MP_agent_P1
// PTX: ptx.load "ld.acquire.gpu.global.b32"
