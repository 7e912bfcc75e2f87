// RUN: fence-opt %s --split-input-file --verify-diagnostics

// One case for each rule of the verifier: what is refused, and the reason that is given.

func.func @f(%p: !cdna.vgpr<2>, %v: !cdna.vgpr) {
  // expected-error @below {{unknown instruction 'global_store_quux'}}
  cdna.store global_store_quux %p, %v : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
  func.return
}

// -----

func.func @f(%p: !cdna.vgpr<2>, %v: !cdna.vgpr) {
  // expected-error @below {{global_atomic_add is of kind atomic, not a cdna.store}}
  cdna.store global_atomic_add %p, %v : (!cdna.vgpr<2>, !cdna.vgpr) -> ()
  func.return
}

// -----

func.func @f(%p: !cdna.vgpr<2>, %v: !cdna.vgpr) {
  // expected-error @below {{ds_cmpst_b32 has 3 operands (addr, compare, data), not 2}}
  cdna.atomic ds_cmpst_b32 %v, %v : (!cdna.vgpr, !cdna.vgpr) -> ()
  func.return
}

// -----

func.func @f(%p: !cdna.vgpr, %v: !cdna.vgpr) {
  // expected-error @below {{ds_add_rtn_u32 needs a result}}
  cdna.atomic ds_add_rtn_u32 %p, %v : (!cdna.vgpr, !cdna.vgpr) -> ()
  func.return
}

// -----

func.func @f() {
  // expected-error @below {{a wait needs a count: vmcnt(N) or lgkmcnt(N)}}
  "cdna.s_waitcnt"() : () -> ()
  func.return
}

// -----

func.func @f() {
  // expected-error @below {{vmcnt holds 0 to 63, not 64}}
  cdna.s_waitcnt vmcnt(64)
  func.return
}

// -----

func.func @f(%v: !cdna.vgpr) {
  // expected-error @below {{a vector register holds a value per lane, a scalar one does not}}
  %0 = cdna.mov %v : !cdna.vgpr -> !cdna.sgpr
  func.return
}

// -----

func.func @f(%v: !cdna.vgpr) {
  // expected-error @below {{cannot copy 1 registers to 2}}
  %0 = cdna.mov %v : !cdna.vgpr -> !cdna.vgpr<2>
  func.return
}

// -----

func.func @f(%v: !cdna.vgpr) {
  // expected-error @below {{the parts are 2 registers, the tuple 3}}
  %0 = cdna.pack %v, %v : (!cdna.vgpr, !cdna.vgpr) -> !cdna.vgpr<3>
  func.return
}

// -----

func.func @f(%v: !cdna.vgpr) {
  // expected-error @below {{the parts are registers of another file than the tuple}}
  %0 = cdna.pack %v, %v : (!cdna.vgpr, !cdna.vgpr) -> !cdna.sgpr<2>
  func.return
}

// -----

func.func @f(%v: !cdna.vgpr<2>) {
  // expected-error @below {{registers 1 to 2 are not in a tuple of 2}}
  %0 = cdna.extract %v {offset = 1 : i64} : !cdna.vgpr<2> -> !cdna.vgpr<2>
  func.return
}

// -----

// expected-error @below {{unknown chip 'gfx1100'; accepted: gfx1250, gfx1251, gfx9-4-generic, gfx908, gfx90a, gfx942, gfx950}}
cdna.kernel @k attributes {chip = "gfx1100", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 0 : i64, workitem_ids = 0 : i64, max_workgroup_size = 1024 : i64} {
  cdna.end s_endpgm
}

// -----

// expected-error @below {{gfx908 has no buffer_inv}}
cdna.kernel @k attributes {chip = "gfx908", arguments = [], group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 0 : i64, workitem_ids = 0 : i64, max_workgroup_size = 1024 : i64} {
  cdna.cache buffer_inv {modifiers = ["sc1"]}
  cdna.end s_endpgm
}

// -----

func.func @f() {
  // expected-error @below {{'cdna.cache' is machine code: it belongs in a cdna.kernel}}
  cdna.cache buffer_inv {modifiers = ["sc1"]}
  func.return
}

// -----

// expected-error @below {{'cdna.s_waitcnt' is machine code: it belongs in a cdna.kernel}}
cdna.s_waitcnt vmcnt(0)
