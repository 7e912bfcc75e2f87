// RUN: fence-opt %s --verify-lowering --mcpu gfx942 -o /dev/null
// RUN: fence-opt %s --verify-lowering --mcpu sm_90 -o /dev/null
// RUN: not fence-opt %s --verify-lowering -p 'outline-litmus-threads,convert-scoped-to-cdna{mcpu=gfx942},drop-instructions{mnemonic=buffer_inv},insert-waits' -o /dev/null 2>&1 | filecheck %s --check-prefixes=CHECK,INV
// RUN: not fence-opt %s --verify-lowering -p 'outline-litmus-threads,convert-scoped-to-cdna{mcpu=gfx942},drop-instructions{mnemonic=buffer_wbl2},insert-waits' -o /dev/null 2>&1 | filecheck %s --check-prefixes=CHECK,WB
// RUN: not fence-opt %s --verify-lowering -p 'outline-litmus-threads,convert-scoped-to-cdna{mcpu=gfx942},drop-instructions{mnemonic=s_waitcnt},insert-waits' -o /dev/null 2>&1 | filecheck %s
// RUN: not fence-opt %s --verify-lowering -p 'outline-litmus-threads,convert-scoped-to-cdna{mcpu=gfx942},drop-instructions{mnemonic=buffer_inv modifiers=sc1},insert-waits' -o /dev/null 2>&1 | filecheck %s
// RUN: fence-opt %s --verify-lowering -p 'cdna-pipeline{mcpu=gfx942 stores=through}' -o /dev/null
// RUN: not fence-opt %s --verify-lowering -p 'cdna-pipeline{mcpu=gfx942 stores=through},drop-instructions{mnemonic=global_store_dword modifiers=sc1}' -o /dev/null 2>&1 | filecheck %s
// RUN: not fence-opt %s --verify-lowering -p 'ptx-pipeline{mcpu=sm_90 opt-level=0},drop-instructions{mnemonic="fence.acq_rel.gpu"}' -o /dev/null 2>&1 | filecheck %s --check-prefixes=CHECK,FENCE
// RUN: not fence-opt %s --verify-lowering -p 'ptx-pipeline{mcpu=sm_90 opt-level=0},drop-instructions{mnemonic="fence.acq_rel.gpu" replace="fence.acq_rel.cta"}' -o /dev/null 2>&1 | filecheck %s
// RUN: not fence-opt %s --verify-lowering -p 'ptx-pipeline{mcpu=sm_90 opt-level=0},drop-instructions{mnemonic="ld.relaxed.gpu" replace="ld.relaxed.cta"}' -o /dev/null 2>&1 | filecheck %s
// RUN: not fence-opt %s --verify-lowering -p 'cdna-pipeline{mcpu=gfx942 stores=back},drop-instructions{mnemonic=nonsense}' -o /dev/null 2>&1 | filecheck %s --check-prefix=NONSENSE
// RUN: not fence-opt %s --verify-lowering -p 'cdna-pipeline{mcpu=gfx942 stores=back},drop-instructions{mnemonic=buffer_inv modifiers=sc0}' -o /dev/null 2>&1 | filecheck %s --check-prefix=NO-BITS

// A lowering that is damaged on purpose is caught, with the steps to an outcome that the source
// forbids: an instruction is left out, or narrowed.

// CHECK: verify-lowering-damaged.mlir:{{[0-9]+}}:1: error: the lowering of 'fences' can end with P1:r0=1 P1:r1=0 x=1 f=1, which the source forbids
// INV: note: P1 reads x = 0 from its L2, which has kept the line since before P0's store of x (line {{[0-9]+}}) reached memory; nothing invalidates it there between line {{[0-9]+}} and line {{[0-9]+}}.
// INV: note: {{[0-9]+}} agent 0 XCD 1 CU 1: L1 takes in x=0
// WB: note: P1 reads x = 0, while P0's store of x (line {{[0-9]+}}) is still dirty in the L2 of agent 0 XCD 0; nothing writes it back between
// WB: note: {{[0-9]+}} P0: s_waitcnt vmcnt(0)
// FENCE: note: P1 sees f = 1 (line {{[0-9]+}}), but reads x = 0 (line {{[0-9]+}}), which P0's store of x (line {{[0-9]+}}) had overwritten: P0's store of f (line {{[0-9]+}}) is relaxed and releases nothing, and no release fence stands between
// FENCE: note: {{[0-9]+}} P1 R x = 0 ld.weak
// CHECK: note:
// NONSENSE: error: dropping nonsense: no synchronising instruction is called so; accepted: buffer_inv, buffer_wbl2, {{.*}}
// NO-BITS: error: dropping buffer_inv:sc0: no instruction has these bits; accepted: buffer_inv:sc1, buffer_wbl2:sc1, {{.*}}global_store_dword:sc1
litmus.test @fences {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %x : i32, !llvm.ptr<1>
    scoped.fence acq_rel agent
    scoped.store relaxed agent %one, %f : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 {
    %x = litmus.address @x : !llvm.ptr<1>
    %f = litmus.address @f : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    %flag = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
    scoped.fence acq_rel agent
    %raised = arith.cmpi ne, %flag, %zero : i32
    cf.cond_br %raised, ^read, ^skip
  ^read:
    %data = scoped.load weak %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %flag : i32
    litmus.observe "r1", %data : i32
    litmus.end
  ^skip:
    litmus.end
  }
}
