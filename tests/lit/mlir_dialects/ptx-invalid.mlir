// RUN: fence-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{unknown target 'sm_60'; accepted: sm_70, sm_72, sm_75}}
ptx.kernel @k attributes {target = "sm_60", version = "6.0", parameters = array<i64>} {
  ptx.ret
}

// -----

// expected-error@+1 {{'six' is not a PTX version like 8.6}}
ptx.kernel @k attributes {target = "sm_90", version = "six", parameters = array<i64>} {
  ptx.ret
}

// -----

// expected-error@+1 {{'a.b' is not a name in PTX; accepted: letters, digits, _ and $, not beginning with a digit}}
ptx.variable @"a.b" size 8 align 8

// -----

// expected-error@+1 {{there is no parameter 1}}
ptx.kernel @k attributes {target = "sm_90", version = "8.6", parameters = array<i64: 64>} {
  %p = ptx.param 1 : !ptx.reg<b64>
  ptx.ret
}

// -----

// expected-error@+1 {{parameter 0 of 64 bits goes to b64, not to b32}}
ptx.kernel @k attributes {target = "sm_90", version = "8.6", parameters = array<i64: 64>} {
  %p = ptx.param 0 : !ptx.reg<b32>
  ptx.ret
}

// -----

// expected-error@+1 {{'arith.constant' is not a PTX instruction}}
ptx.kernel @k attributes {target = "sm_90", version = "8.6", parameters = array<i64>} {
  %c = arith.constant 1 : i32
  ptx.ret
}

// -----

%c = ptx.const 1 : !ptx.reg<b32>
// expected-error@+1 {{unknown instruction 'madd.s32'}}
%x = ptx.alu "madd.s32"(%c, %c) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<b32>

// -----

%c = ptx.const 1 : !ptx.reg<b32>
// expected-error@+1 {{add.s64 takes b64, b64, not b32, b32}}
%x = ptx.alu "add.s64"(%c, %c) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<b64>

// -----

%c = ptx.const 1 : !ptx.reg<b32>
// expected-error@+1 {{setp.eq.b32 gives pred, not b32}}
%x = ptx.alu "setp.eq.b32"(%c, %c) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<b32>

// -----

%c = ptx.const 1 : !ptx.reg<b32>
// expected-error@+1 {{ld.weak.global.b8 takes b64, not b32}}
%x = ptx.load "ld.weak.global.b8" %c : !ptx.reg<b32> -> !ptx.reg<b16>

// -----

%p = ptx.const 0 : !ptx.reg<b64>
// expected-error@+1 {{st.weak.global.b32 is of kind store, not a ptx.load}}
%x = ptx.load "st.weak.global.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>

// -----

// expected-error@+1 {{there are no constants of 128 bits}}
%c = ptx.const 1 : !ptx.reg<b128>

// -----

// expected-error@+1 {{unknown special register 'laneid'; accepted: tid.x}}
%c = ptx.special "laneid" : !ptx.reg<b32>

// -----

%c = ptx.const 1 : !ptx.reg<b32>
// expected-error@+1 {{2 places for 1 operands: one each}}
ptx.sequence ["a", "b"](%c) ["neg.s32 {a}, {b}"] : (!ptx.reg<b32>) -> ()

// -----

%c = ptx.const 1 : !ptx.reg<b32>
// expected-error@+1 {{no line writes {dst}}}
%d = ptx.sequence ["a"](%c) ["neg.s32 {b}, {a}"] : (!ptx.reg<b32>) -> !ptx.reg<b32>

// -----

// expected-error@+1 {{unknown kind of register 'b8'; expected one of pred, b16, b32, b64, b128}}
%c = ptx.const 1 : !ptx.reg<b8>

// -----

ptx.kernel @k attributes {target = "sm_90", version = "8.6", parameters = array<i64>} {
  %c = ptx.const 1 : !ptx.reg<b32>
  // expected-error@+1 {{the operands of a branch must be of the block's arguments' types}}
  ptx.bra ^next(%c : !ptx.reg<b32>)
^next(%x: !ptx.reg<b64>):
  ptx.ret
}

// -----

%p = ptx.const 1 : !ptx.reg<b64>
// expected-error@+1 {{ld.global.v2.b32 is of 2 registers, a ptx.load of one: write a ptx.sequence}}
%v = ptx.load "ld.global.v2.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>

// -----

%p = ptx.const 1 : !ptx.reg<b64>
// expected-error@+1 {{ld.nonsense.global.b32 is no form of ld (.nonsense does not belong)}}
%v = ptx.load "ld.nonsense.global.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>

// -----

%p = ptx.const 1 : !ptx.reg<b64>
// expected-error@+1 {{ld.global.global.b32 is no form of ld (a second .global)}}
%v = ptx.load "ld.global.global.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>

// -----

%p = ptx.const 1 : !ptx.reg<b64>
// expected-error@+1 {{ld.acquire.b32 is no form of ld}}
%v = ptx.load "ld.acquire.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>

// -----

// expected-error@+1 {{fence.acq_rel is no form of fence (a scope is missing)}}
ptx.fence "fence.acq_rel"

// -----

%p = ptx.const 1 : !ptx.reg<b64>
// expected-error@+1 {{takes b64, b64, not b64}}
%v = ptx.load "ld.global.L2::cache_hint.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>

// -----

// expected-error@+1 {{bar.arrive takes 2 constants after its name}}
ptx.barrier "bar.arrive 0"

// -----

// expected-error@+1 {{barrier.sync 16: there are the barriers 0 to 15}}
ptx.barrier "barrier.sync 16"

// -----

// expected-error@+1 {{barrier.sync 0, 31: 31 threads are no multiple of a warp, 32}}
ptx.barrier "barrier.sync 0, 31"

// -----

// expected-error@+1 {{barrier.sync.cta 0 is no form of barrier (.cta does not belong)}}
ptx.barrier "barrier.sync.cta 0"

// -----

%p = ptx.const 1 : !ptx.reg<b64>
// expected-error@+1 {{'ld.weak.sharde.b32 {v}, [{a}]': ld.weak.sharde.b32 is no form of ld (.sharde does not belong)}}
ptx.sequence ["a"](%p) ["ld.weak.sharde.b32 {v}, [{a}]"] : (!ptx.reg<b64>) -> ()
