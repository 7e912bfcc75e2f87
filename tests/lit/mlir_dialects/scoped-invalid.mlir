// RUN: fence-opt %s --split-input-file --verify-diagnostics

// One case for each rule of the verifier: what is refused, and the reason that is given.

// Orderings that make no sense on an operation.

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a load cannot release, it writes nothing; accepted: relaxed, acquire, seq_cst}}
  %0 = scoped.load release agent %p : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a load cannot release, it writes nothing; accepted: relaxed, acquire, seq_cst}}
  %0 = scoped.load acq_rel agent %p : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a store cannot acquire, it reads nothing; accepted: relaxed, release, seq_cst}}
  scoped.store acquire agent %v, %p : i32, !llvm.ptr<1>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a store cannot acquire, it reads nothing; accepted: relaxed, release, seq_cst}}
  scoped.store acq_rel agent %v, %p : i32, !llvm.ptr<1>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a read-modify-write is atomic, so it cannot be weak}}
  %0 = scoped.atomic_rmw add weak %p, %v : !llvm.ptr<1>, i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a read-modify-write is atomic, so it cannot be weak}}
  %0, %1 = scoped.cmpxchg weak relaxed %p, %v, %v : !llvm.ptr<1>, i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a fence weaker than acquire orders nothing; accepted: acquire, release, acq_rel, seq_cst}}
  scoped.fence relaxed agent
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a fence weaker than acquire orders nothing}}
  scoped.fence weak
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a barrier either orders memory both ways or not at all; accepted: acq_rel, relaxed}}
  scoped.barrier weak
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a barrier either orders memory both ways or not at all; accepted: acq_rel, relaxed}}
  scoped.barrier acquire workgroup
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a barrier either orders memory both ways or not at all; accepted: acq_rel, relaxed}}
  scoped.barrier release workgroup
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{a barrier either orders memory both ways or not at all; accepted: acq_rel, relaxed}}
  scoped.barrier seq_cst workgroup
  func.return
}

// -----

// Failure orderings of a compare-exchange.

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{its failure ordering cannot release; accepted: relaxed, acquire, seq_cst}}
  %0, %1 = scoped.cmpxchg seq_cst release agent %p, %v, %v : !llvm.ptr<1>, i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{its failure ordering cannot release; accepted: relaxed, acquire, seq_cst}}
  %0, %1 = scoped.cmpxchg seq_cst acq_rel agent %p, %v, %v : !llvm.ptr<1>, i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{its failure ordering cannot be weak}}
  %0, %1 = scoped.cmpxchg seq_cst weak agent %p, %v, %v : !llvm.ptr<1>, i32
  func.return
}

// -----

// A scope belongs to every ordered operation and to no weak one.

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{acquire load needs a scope; accepted: singlethread, wavefront, workgroup, cluster, agent, system}}
  %0 = scoped.load acquire %p : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{relaxed store needs a scope}}
  scoped.store relaxed %v, %p : i32, !llvm.ptr<1>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{seq_cst fence needs a scope}}
  "scoped.fence"() <{ordering = #scoped<ordering seq_cst>}> : () -> ()
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{relaxed barrier needs a scope}}
  "scoped.barrier"() <{ordering = #scoped<ordering relaxed>}> : () -> ()
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{weak load synchronises with no other thread, so it takes no scope; leave it out or use relaxed}}
  %0 = scoped.load weak agent %p : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{weak store synchronises with no other thread}}
  scoped.store weak system %v, %p : i32, !llvm.ptr<1>
  func.return
}

// -----

// What is said about ordered memory needs something that orders.

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{weak load orders nothing, so 'one_as' has no meaning on it}}
  %0 = scoped.load weak %p {one_as} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{weak load orders nothing, so 'spaces' has no meaning on it}}
  %0 = scoped.load weak %p spaces [global] : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{weak store orders nothing, so 'av' has no meaning on it}}
  scoped.store weak %v, %p av(none) : i32, !llvm.ptr<1>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{relaxed barrier orders nothing, so 'spaces' has no meaning on it}}
  scoped.barrier relaxed workgroup spaces [local]
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{relaxed barrier orders nothing, so 'one_as' has no meaning on it}}
  scoped.barrier relaxed workgroup {one_as}
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{relaxed barrier orders nothing, so 'av' has no meaning on it}}
  scoped.barrier relaxed workgroup av(none)
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{an empty list of address spaces orders nothing; leave it out}}
  scoped.fence acquire agent spaces []
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{address space local is listed twice}}
  scoped.fence acquire agent spaces [local, global, local]
  func.return
}

// -----

// Pointers and address spaces.

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{operand 'pointer' at position 0 does not verify}}
  %0 = scoped.load weak %v : i32 -> i32
  func.return
}

// -----

func.func @f(%q: !llvm.ptr<2>) {
  // expected-error @below {{address space 2 is not supported; known are 0 (generic), 1 (global), 3 (local), 4 (constant), 5 (private), 7 (shared_cluster)}}
  %0 = scoped.load weak %q : !llvm.ptr<2> -> i32
  func.return
}

// -----

func.func @f(%q: !llvm.ptr<4>) {
  // expected-error @below {{constant memory never changes, so a load from it must be weak}}
  %0 = scoped.load relaxed agent %q : !llvm.ptr<4> -> i32
  func.return
}

// -----

func.func @f(%q: !llvm.ptr<4>, %v: i32) {
  // expected-error @below {{constant memory cannot be written}}
  scoped.store weak %v, %q : i32, !llvm.ptr<4>
  func.return
}

// -----

func.func @f(%q: !llvm.ptr<4>, %v: i32) {
  // expected-error @below {{constant memory cannot be written}}
  %0 = scoped.atomic_rmw add relaxed agent %q, %v : !llvm.ptr<4>, i32
  func.return
}

// -----

func.func @f(%q: !llvm.ptr<4>, %v: i32) {
  // expected-error @below {{constant memory cannot be written}}
  %0, %1 = scoped.cmpxchg relaxed relaxed agent %q, %v, %v : !llvm.ptr<4>, i32
  func.return
}

// -----

// Types of values.

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{memory cannot be accessed as index; accepted: i8, i16, i32, i64, i128, f16, bf16, f32, f64, !llvm.ptr and vectors of them}}
  %0 = scoped.load weak %p : !llvm.ptr<1> -> index
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{memory cannot be accessed as i1}}
  %0 = scoped.load weak %p : !llvm.ptr<1> -> i1
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{memory cannot be accessed as i24}}
  %0 = scoped.load weak %p : !llvm.ptr<1> -> i24
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{memory cannot be accessed as si32}}
  %0 = scoped.load weak %p : !llvm.ptr<1> -> si32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{memory cannot be accessed as f80}}
  %0 = scoped.load weak %p : !llvm.ptr<1> -> f80
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{memory cannot be accessed as memref<4xi32>}}
  %0 = scoped.load weak %p : !llvm.ptr<1> -> memref<4xi32>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{memory cannot be accessed as vector<2x2xi32>: a vector has one fixed dimension}}
  %0 = scoped.load weak %p : !llvm.ptr<1> -> vector<2x2xi32>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{memory cannot be accessed as vector<[4]xi32>: a vector has one fixed dimension}}
  %0 = scoped.load weak %p : !llvm.ptr<1> -> vector<[4]xi32>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{memory cannot be accessed as i1}}
  %0 = scoped.load weak %p : !llvm.ptr<1> -> vector<4xi1>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{vector<3xi32> cannot be accessed atomically, its width must be one of 8, 16, 32, 64, 128 bits; make the access weak or split it}}
  %0 = scoped.load relaxed agent %p : !llvm.ptr<1> -> vector<3xi32>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %w: vector<2x!llvm.ptr>) {
  // expected-error @below {{cannot be accessed atomically}}
  scoped.store release agent %w, %p : vector<2x!llvm.ptr>, !llvm.ptr<1>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %x: f32) {
  // expected-error @below {{add needs an integer, not f32}}
  %0 = scoped.atomic_rmw add relaxed agent %p, %x : !llvm.ptr<1>, f32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{and needs an integer, not !llvm.ptr<1>}}
  %0 = scoped.atomic_rmw and relaxed agent %p, %p : !llvm.ptr<1>, !llvm.ptr<1>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %x: vector<2xi16>) {
  // expected-error @below {{umin needs an integer, not vector<2xi16>}}
  %0 = scoped.atomic_rmw umin relaxed agent %p, %x : !llvm.ptr<1>, vector<2xi16>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{fadd needs a float or floats, not i32}}
  %0 = scoped.atomic_rmw fadd relaxed agent %p, %v : !llvm.ptr<1>, i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %x: vector<2xi16>) {
  // expected-error @below {{fmax needs a float or floats, not vector<2xi16>}}
  %0 = scoped.atomic_rmw fmax relaxed agent %p, %x : !llvm.ptr<1>, vector<2xi16>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %x: vector<3xf16>) {
  // expected-error @below {{vector<3xf16> cannot be accessed atomically}}
  %0 = scoped.atomic_rmw fadd relaxed agent %p, %x : !llvm.ptr<1>, vector<3xf16>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %x: vector<2xf16>) {
  // expected-error @below {{xchg needs an integer, a float or a pointer, not vector<2xf16>; bitcast it}}
  %0 = scoped.atomic_rmw xchg relaxed agent %p, %x : !llvm.ptr<1>, vector<2xf16>
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{the result is what was in memory, i32, not i64}}
  %0 = "scoped.atomic_rmw"(%p, %v) <{ordering = #scoped<ordering relaxed>, scope = #scoped<scope agent>, kind = #scoped<rmw_kind add>}> : (!llvm.ptr<1>, i32) -> i64
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %x: f32) {
  // expected-error @below {{it needs an integer or a pointer, not f32; bitcast it}}
  %0, %1 = scoped.cmpxchg relaxed relaxed agent %p, %x, %x : !llvm.ptr<1>, f32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32, %w: i64) {
  // expected-error @below {{compare, new and old value must have one type, not i32, i64 and i32}}
  %0, %1 = "scoped.cmpxchg"(%p, %v, %w) <{ordering = #scoped<ordering relaxed>, failure_ordering = #scoped<ordering relaxed>, scope = #scoped<scope agent>}> : (!llvm.ptr<1>, i32, i64) -> (i32, i1)
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{compare, new and old value must have one type, not i32, i32 and i64}}
  %0, %1 = "scoped.cmpxchg"(%p, %v, %v) <{ordering = #scoped<ordering relaxed>, failure_ordering = #scoped<ordering relaxed>, scope = #scoped<scope agent>}> : (!llvm.ptr<1>, i32, i32) -> (i64, i1)
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{result 'success' at position 1 does not verify}}
  %0, %1 = "scoped.cmpxchg"(%p, %v, %v) <{ordering = #scoped<ordering relaxed>, failure_ordering = #scoped<ordering relaxed>, scope = #scoped<scope agent>}> : (!llvm.ptr<1>, i32, i32) -> (i32, i32)
  func.return
}

// -----

// Alignment.

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{alignment must be a power of two, not 0}}
  %0 = scoped.load weak %p {alignment = 0} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{alignment must be a power of two, not 3}}
  %0 = scoped.load weak %p {alignment = 3} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{alignment must be a power of two, not -4}}
  %0 = scoped.load weak %p {alignment = -4} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{an atomic access of 32 bits needs an alignment of at least 4, not 2}}
  %0 = scoped.load relaxed agent %p {alignment = 2} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{alignment must be an i64, not i32}}
  %0 = scoped.load weak %p {alignment = 4 : i32} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>) {
  // expected-error @below {{what never changes needs no order: an invariant load is weak and not volatile}}
  %0 = scoped.load relaxed agent %p {invariant} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>) {
  // expected-error @below {{what never changes needs no order: an invariant load is weak and not volatile}}
  %0 = scoped.load weak %p {volatile, invariant} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'invariant' has no meaning on store}}
  scoped.store weak %v, %p {invariant} : i32, !llvm.ptr<1>
  func.return
}

// -----

// Properties and discardable attributes.

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'nontemporal' has no meaning on atomic_rmw}}
  %0 = scoped.atomic_rmw add relaxed agent %p, %v {nontemporal} : !llvm.ptr<1>, i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'weak' has no meaning on load}}
  %0 = scoped.load weak %p {weak} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'volatile' has no meaning on fence}}
  scoped.fence acquire agent {volatile}
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{property 'ordering' expected in operation 'scoped.load'}}
  %0 = "scoped.load"(%p) : (!llvm.ptr<1>) -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'volatile' takes no value}}
  %0 = scoped.load weak %p {volatile = 1 : i32} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{1 : i32 should be of base attribute unit}}
  %0 = "scoped.load"(%p) <{ordering = #scoped<ordering weak>, volatile = 1 : i32}> : (!llvm.ptr<1>) -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'scope' is not written in the dictionary}}
  %0 = scoped.load weak %p {scope = #scoped<scope agent>} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'ordering' is not written in the dictionary}}
  %0 = scoped.load weak %p {ordering = 1 : i32} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'spaces' is not written in the dictionary}}
  %0 = scoped.load weak %p {spaces = []} : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{'availability' is not written in the dictionary}}
  %0 = scoped.load weak %p {availability = 2 : i32} : !llvm.ptr<1> -> i32
  func.return
}

// -----

// Words that are none.

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{unknown ordering 'aquire'; expected one of weak, relaxed, acquire, release, acq_rel, seq_cst}}
  %0 = scoped.load aquire agent %p : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{expected ordering: one of weak, relaxed, acquire, release, acq_rel, seq_cst}}
  %0 = scoped.load %p : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{unknown scope 'gpu'; expected one of singlethread, wavefront, workgroup, cluster, agent, system}}
  %0 = scoped.load acquire gpu %p : !llvm.ptr<1> -> i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{unknown failure ordering 'monotonic'; expected one of weak, relaxed, acquire, release, acq_rel, seq_cst}}
  %0, %1 = scoped.cmpxchg acquire monotonic agent %p, %v, %v : !llvm.ptr<1>, i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{unknown read-modify-write kind 'inc'; expected one of xchg, add, sub, and, nand, or, xor, max, min, umax, umin, fadd, fsub, fmax, fmin, uinc_wrap, udec_wrap}}
  %0 = scoped.atomic_rmw inc relaxed agent %p, %v : !llvm.ptr<1>, i32
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{unknown scope 'cta'; expected one of singlethread, wavefront, workgroup, cluster, agent, system}}
  scoped.fence acquire cta
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{expected scope: one of singlethread, wavefront, workgroup, cluster, agent, system}}
  scoped.fence acquire {one_as}
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{unknown scope 'wave'; expected one of singlethread, wavefront, workgroup, cluster, agent, system}}
  scoped.barrier wave
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{expected scope: one of singlethread, wavefront, workgroup, cluster, agent, system}}
  scoped.barrier {one_as}
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{unknown address space 'lds'; expected one of generic, global, local, constant, private, shared_cluster}}
  scoped.fence acquire agent spaces [lds]
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{unknown availability 'partial'; expected one of full, none}}
  scoped.fence acquire agent av(partial)
  func.return
}

// -----

func.func @f(%p: !llvm.ptr<1>, %v: i32) {
  // expected-error @below {{unknown ordering 'strong'; expected one of weak, relaxed, acquire, release, acq_rel, seq_cst}}
  "scoped.fence"() <{ordering = #scoped<ordering strong>, scope = #scoped<scope agent>}> : () -> ()
  func.return
}
