// RUN: fence-sim run %s --test old --mcpu gfx90a | filecheck %s --check-prefix=OLD
// RUN: not fence-sim run %s --test broken --mcpu gfx90a | filecheck %s --check-prefix=BROKEN
// RUN: not fence-sim run %s --test old 2>&1 | filecheck %s --check-prefix=DEFAULT
// RUN: not fence-sim run %s --test old --mcpu gfx942 2>&1 | filecheck %s --check-prefix=DEFAULT
// RUN: not fence-sim run %s --test invalidates --mcpu gfx942 2>&1 | filecheck %s --check-prefix=LACKS
// RUN: not fence-sim run %s --test returns --mcpu gfx90a 2>&1 | filecheck %s --check-prefix=RETURNS
// RUN: not fence-sim run %s --test old --mcpu gfx90a --l2-per-agent many 2>&1 | filecheck %s --check-prefix=MANY
// RUN: not fence-sim run %s --test old --mcpu gfx90a -O0 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not fence-sim run %s --test old --mcpu sm_90 2>&1 | filecheck %s --check-prefix=PTX
// RUN: not fence-sim run %s --test old --mcpu gfx90a --model ptx-6.0 2>&1 | filecheck %s --check-prefix=MODEL
// RUN: fence-sim run %s --test mode --mcpu gfx950 --mattr=+tgsplit --l2-per-agent one | filecheck %s --check-prefix=MODE
// RUN: fence-sim run %s --test mode | filecheck %s --check-prefix=NO-MODE
// RUN: not fence-sim run %s --test ptx --mcpu sm_90 2>&1 | filecheck %s --check-prefix=IS-PTX
// RUN: not fence-sim run %s --test ptx --l2-per-agent one 2>&1 | filecheck %s --check-prefix=IS-PTX
// RUN: fence-sim run %s --test ptx --model ptx-6.0 | filecheck %s --check-prefix=PTX-MODEL

// Threads in machine code run on the chip, and in the mode, that the command line names.

// OLD:     Test old (gfx90a, one L2 per agent)
// OLD-NOT: P1:r0=1; P1:r1=0;
// OLD:     Ok

// BROKEN: Test broken (gfx90a, one L2 per agent)
// BROKEN: *> P1:r0=1; P1:r1=0;
// BROKEN: No

// DEFAULT: machine-code-chip.mlir:53:5: error: gfx942: load glc: the chip has no glc bit; accepted: sc0, sc1
// LACKS: machine-code-chip.mlir:92:5: error: gfx942 has no buffer_wbinvl1_vol; gfx908, gfx90a have it
// RETURNS: machine-code-chip.mlir:101:5: error: the bit that asks for the old value and the register go together
// MANY: machine-code-chip.mlir:38:1: error: gfx90a: load: the chip has one L2 per agent; accepted: one
// LEVEL: -O has no effect: the test is in CDNA instructions already
// PTX: --mcpu has no effect: the test is in CDNA instructions already, which sm_90 does not have
// MODEL: --model has no effect: the test is in CDNA instructions already
// MODE: Test mode (gfx950 tgsplit, one L2 per agent)
// NO-MODE: Test mode (gfx942, many L2 per agent)
// IS-PTX: has no effect: the test is PTX already, for every chip
// PTX-MODEL: Test ptx (PTX model 6.0)
litmus.test @old {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %x = litmus.address @x : !cdna.vgpr<2, 0>
    %f = litmus.address @f : !cdna.vgpr<2, 2>
    %one = cdna.const 1 : !cdna.vgpr<1, 4>
    cdna.store global_store_dword %x, %one : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 4>) -> ()
    cdna.s_waitcnt vmcnt(0)
    cdna.store global_store_dword %f, %one : (!cdna.vgpr<2, 2>, !cdna.vgpr<1, 4>) -> ()
    cdna.end s_endpgm
  }
  litmus.thread @P1 at <workgroup = 1> {
    %x = litmus.address @x : !cdna.vgpr<2, 0>
    %f = litmus.address @f : !cdna.vgpr<2, 2>
    %flag = cdna.load global_load_dword %f {modifiers = ["glc"]} : (!cdna.vgpr<2, 2>) -> !cdna.vgpr<1, 4>
    cdna.s_waitcnt vmcnt(0)
    cdna.cache buffer_wbinvl1_vol
    %data = cdna.load global_load_dword %x : (!cdna.vgpr<2, 0>) -> !cdna.vgpr<1, 5>
    cdna.s_waitcnt vmcnt(0)
    litmus.observe "r0", %flag : !cdna.vgpr<1, 4>
    litmus.observe "r1", %data : !cdna.vgpr<1, 5>
    cdna.end s_endpgm
  }
  litmus.condition "~exists (P1:r0 = 1 and P1:r1 = 0)"
}
litmus.test @broken {
  litmus.location @x = 0 : i32
  litmus.location @f = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %x = litmus.address @x : !cdna.vgpr<2, 0>
    %f = litmus.address @f : !cdna.vgpr<2, 2>
    %one = cdna.const 1 : !cdna.vgpr<1, 4>
    cdna.store global_store_dword %x, %one : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 4>) -> ()
    cdna.s_waitcnt vmcnt(0)
    cdna.store global_store_dword %f, %one : (!cdna.vgpr<2, 2>, !cdna.vgpr<1, 4>) -> ()
    cdna.end s_endpgm
  }
  litmus.thread @P1 at <workgroup = 1> {
    %x = litmus.address @x : !cdna.vgpr<2, 0>
    %f = litmus.address @f : !cdna.vgpr<2, 2>
    %flag = cdna.load global_load_dword %f {modifiers = ["glc"]} : (!cdna.vgpr<2, 2>) -> !cdna.vgpr<1, 4>
    cdna.s_waitcnt vmcnt(0)
    %data = cdna.load global_load_dword %x : (!cdna.vgpr<2, 0>) -> !cdna.vgpr<1, 5>
    cdna.s_waitcnt vmcnt(0)
    litmus.observe "r0", %flag : !cdna.vgpr<1, 4>
    litmus.observe "r1", %data : !cdna.vgpr<1, 5>
    cdna.end s_endpgm
  }
  litmus.condition "~exists (P1:r0 = 1 and P1:r1 = 0)"
}
litmus.test @invalidates {
  litmus.location @x = 0 : i32
  litmus.thread @P0 {
    cdna.cache buffer_wbinvl1_vol
    cdna.end s_endpgm
  }
}
litmus.test @returns {
  litmus.location @x = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !cdna.vgpr<2, 0>
    %one = cdna.const 1 : !cdna.vgpr<1, 4>
    %old = cdna.atomic global_atomic_add %x, %one : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 4>) -> !cdna.vgpr<1, 5>
    cdna.end s_endpgm
  }
}
litmus.test @mode {
  litmus.location @x = 0 : i32
  litmus.thread @P0 {
    %x = litmus.address @x : !cdna.vgpr<2, 0>
    %one = cdna.const 1 : !cdna.vgpr<1, 4>
    cdna.store global_store_dword %x, %one {modifiers = ["sc0", "sc1"]} : (!cdna.vgpr<2, 0>, !cdna.vgpr<1, 4>) -> ()
    cdna.end s_endpgm
  }
}
litmus.test @ptx {
  litmus.location @x = 0 : i32
  litmus.thread @P0 {
    ptx.ret
  }
}
