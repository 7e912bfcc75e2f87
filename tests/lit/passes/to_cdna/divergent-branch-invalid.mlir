// RUN: fence-opt %s -p convert-scoped-to-cdna{mcpu=gfx942} --split-input-file --verify-diagnostics

// A wave branches as a whole, so a condition that may differ between its lanes is refused.

func.func @thread_id(%p: !llvm.ptr<1>) {
  %id = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
  %zero = arith.constant 0 : index
  %c = arith.cmpi eq, %id, %zero : index
  // expected-error @below {{the condition may differ between the lanes of a wave, it depends on 'gpu.thread_id'}}
  cf.cond_br %c, ^a, ^a
^a:
  func.return
}

// -----

func.func @cmpxchg(%p: !llvm.ptr<1>, %v: i32) {
  cf.br ^try
^try:
  %old, %ok = scoped.cmpxchg acq_rel acquire agent %p, %v, %v : !llvm.ptr<1>, i32
  // expected-error @below {{it depends on 'scoped.cmpxchg'; the CDNA path branches as a whole wave only: compare the wave's number, the thread id shifted right by 6, and select what lanes do differently (with one lane in the work-group, say so: gpu.known_block_size = array<i32: 1, 1, 1>); LLVM IR has no such limit: fence-opt --import-llvm}}
  cf.cond_br %ok, ^done, ^try
^done:
  func.return
}

// -----

func.func @through_a_block_argument(%p: !llvm.ptr, %n: i32) {
  %v = scoped.load weak %p : !llvm.ptr -> i32
  cf.br ^loop(%v : i32)
^loop(%i: i32):
  %c = arith.cmpi ult, %i, %n : i32
  // expected-error @below {{it depends on 'scoped.load'}}
  cf.cond_br %c, ^loop(%n : i32), ^done
^done:
  func.return
}
