// RUN: fence-opt %s | filecheck %s
// RUN: fence-opt %s | fence-opt | filecheck %s
// RUN: fence-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: fence-opt %s --print-op-generic | fence-opt | filecheck %s

// Every operation and every part of its syntax, through text and back, in both forms.

// CHECK-LABEL: func.func @loads
// GENERIC-LABEL: sym_name = "loads"
func.func @loads(%p: !llvm.ptr<1>, %l: !llvm.ptr<3>, %c: !llvm.ptr<4>, %g: !llvm.ptr) {
  // CHECK-NEXT: %0 = scoped.load weak %p : !llvm.ptr<1> -> i32
  // GENERIC: %0 = "scoped.load"(%p) <{ordering = #scoped<ordering weak>}> : (!llvm.ptr<1>) -> i32
  %0 = scoped.load weak %p : !llvm.ptr<1> -> i32
  // CHECK-NEXT: %1 = scoped.load relaxed singlethread %p : !llvm.ptr<1> -> i8
  // GENERIC: %1 = "scoped.load"(%p) <{ordering = #scoped<ordering relaxed>, scope = #scoped<scope singlethread>}>
  %1 = scoped.load relaxed singlethread %p : !llvm.ptr<1> -> i8
  // CHECK-NEXT: %2 = scoped.load acquire wavefront %l : !llvm.ptr<3> -> f32
  // GENERIC: %2 = "scoped.load"(%l) <{ordering = #scoped<ordering acquire>, scope = #scoped<scope wavefront>}>
  %2 = scoped.load acquire wavefront %l : !llvm.ptr<3> -> f32
  // CHECK-NEXT: %3 = scoped.load seq_cst system %g : !llvm.ptr -> i64
  %3 = scoped.load seq_cst system %g : !llvm.ptr -> i64
  // CHECK-NEXT: %4 = scoped.load weak %c : !llvm.ptr<4> -> vector<4xf32>
  %4 = scoped.load weak %c : !llvm.ptr<4> -> vector<4xf32>
  // CHECK-NEXT: %5 = scoped.load relaxed agent %p : !llvm.ptr<1> -> vector<2xbf16>
  %5 = scoped.load relaxed agent %p : !llvm.ptr<1> -> vector<2xbf16>
  // CHECK-NEXT: %6 = scoped.load acquire cluster %p : !llvm.ptr<1> -> !llvm.ptr<1>
  %6 = scoped.load acquire cluster %p : !llvm.ptr<1> -> !llvm.ptr<1>
  // CHECK-NEXT: %7 = scoped.load acquire agent %p spaces [global, local] av(none) {volatile, nontemporal, one_as, alignment = 4, note = "kept"} : !llvm.ptr<1> -> i32
  // GENERIC: %7 = "scoped.load"(%p) <{ordering = #scoped<ordering acquire>, scope = #scoped<scope agent>, spaces = [#scoped<address_space global>, #scoped<address_space local>], availability = #scoped<availability none>, volatile, nontemporal, one_as, alignment = 4 : i64}> {note = "kept"} : (!llvm.ptr<1>) -> i32
  %7 = scoped.load acquire agent %p spaces [global, local] av(none) {note = "kept", alignment = 4, one_as, nontemporal, volatile} : !llvm.ptr<1> -> i32
  // CHECK-NEXT: %8 = scoped.load relaxed workgroup %p av(full) : !llvm.ptr<1> -> i32
  %8 = scoped.load relaxed workgroup %p av(full) : !llvm.ptr<1> -> i32
  // CHECK-NEXT: %9 = scoped.load weak %p {nontemporal, invariant} : !llvm.ptr<1> -> i32
  // GENERIC: %9 = "scoped.load"(%p) <{ordering = #scoped<ordering weak>, nontemporal, invariant}> : (!llvm.ptr<1>) -> i32
  %9 = scoped.load weak %p {invariant, nontemporal} : !llvm.ptr<1> -> i32
  func.return
}

// CHECK-LABEL: func.func @stores
// GENERIC-LABEL: sym_name = "stores"
func.func @stores(%p: !llvm.ptr<1>, %l: !llvm.ptr<3>, %s: !llvm.ptr<5>, %v: i32, %x: f64, %m: vector<8xf16>) {
  // CHECK-NEXT: scoped.store weak %v, %p {nontemporal, alignment = 1} : i32, !llvm.ptr<1>
  // GENERIC: "scoped.store"(%v, %p) <{ordering = #scoped<ordering weak>, nontemporal, alignment = 1 : i64}> : (i32, !llvm.ptr<1>) -> ()
  scoped.store weak %v, %p {nontemporal, alignment = 1} : i32, !llvm.ptr<1>
  // CHECK-NEXT: scoped.store relaxed workgroup %x, %l : f64, !llvm.ptr<3>
  scoped.store relaxed workgroup %x, %l : f64, !llvm.ptr<3>
  // CHECK-NEXT: scoped.store release agent %v, %p spaces [global] {volatile} : i32, !llvm.ptr<1>
  scoped.store release agent %v, %p spaces [global] {volatile} : i32, !llvm.ptr<1>
  // CHECK-NEXT: scoped.store seq_cst system %p, %p : !llvm.ptr<1>, !llvm.ptr<1>
  scoped.store seq_cst system %p, %p : !llvm.ptr<1>, !llvm.ptr<1>
  // CHECK-NEXT: scoped.store weak %m, %s : vector<8xf16>, !llvm.ptr<5>
  scoped.store weak %m, %s : vector<8xf16>, !llvm.ptr<5>
  func.return
}

// CHECK-LABEL: func.func @rmws
// GENERIC-LABEL: sym_name = "rmws"
func.func @rmws(%p: !llvm.ptr<1>, %d: !llvm.ptr<7>, %v: i32, %x: f32, %h: vector<2xf16>) {
  // CHECK-NEXT: %0 = scoped.atomic_rmw add acq_rel system %p, %v : !llvm.ptr<1>, i32
  // GENERIC: %0 = "scoped.atomic_rmw"(%p, %v) <{ordering = #scoped<ordering acq_rel>, kind = #scoped<rmw_kind add>, scope = #scoped<scope system>}> : (!llvm.ptr<1>, i32) -> i32
  %0 = scoped.atomic_rmw add acq_rel system %p, %v : !llvm.ptr<1>, i32
  // CHECK-NEXT: %1 = scoped.atomic_rmw xchg acquire agent %p, %x : !llvm.ptr<1>, f32
  %1 = scoped.atomic_rmw xchg acquire agent %p, %x : !llvm.ptr<1>, f32
  // CHECK-NEXT: %2 = scoped.atomic_rmw xchg relaxed agent %p, %p : !llvm.ptr<1>, !llvm.ptr<1>
  %2 = scoped.atomic_rmw xchg relaxed agent %p, %p : !llvm.ptr<1>, !llvm.ptr<1>
  // CHECK-NEXT: %3 = scoped.atomic_rmw fadd relaxed agent %p, %h : !llvm.ptr<1>, vector<2xf16>
  %3 = scoped.atomic_rmw fadd relaxed agent %p, %h : !llvm.ptr<1>, vector<2xf16>
  // CHECK-NEXT: %4 = scoped.atomic_rmw uinc_wrap release cluster %d, %v {volatile, one_as} : !llvm.ptr<7>, i32
  %4 = scoped.atomic_rmw uinc_wrap release cluster %d, %v {volatile, one_as} : !llvm.ptr<7>, i32
  func.return
}

// CHECK-LABEL: func.func @cmpxchgs
// GENERIC-LABEL: sym_name = "cmpxchgs"
func.func @cmpxchgs(%p: !llvm.ptr<1>, %c: i32, %n: i32) {
  // CHECK-NEXT: %o, %ok = scoped.cmpxchg acq_rel relaxed agent %p, %c, %n : !llvm.ptr<1>, i32
  // GENERIC: %o, %ok = "scoped.cmpxchg"(%p, %c, %n) <{ordering = #scoped<ordering acq_rel>, failure_ordering = #scoped<ordering relaxed>, scope = #scoped<scope agent>}> : (!llvm.ptr<1>, i32, i32) -> (i32, i1)
  %o, %ok = scoped.cmpxchg acq_rel relaxed agent %p, %c, %n : !llvm.ptr<1>, i32
  // CHECK-NEXT: %0, %1 = scoped.cmpxchg release acquire system %p, %p, %p av(none) {weak, alignment = 8} : !llvm.ptr<1>, !llvm.ptr<1>
  %0, %1 = scoped.cmpxchg release acquire system %p, %p, %p av(none) {weak, alignment = 8} : !llvm.ptr<1>, !llvm.ptr<1>
  func.return
}

// CHECK-LABEL: func.func @fences_and_barriers
// GENERIC-LABEL: sym_name = "fences_and_barriers"
func.func @fences_and_barriers() {
  // CHECK-NEXT: scoped.fence release agent
  // GENERIC: "scoped.fence"() <{ordering = #scoped<ordering release>, scope = #scoped<scope agent>}> : () -> ()
  scoped.fence release agent
  // CHECK-NEXT: scoped.fence acquire workgroup spaces [local]
  scoped.fence acquire workgroup spaces [local]
  // CHECK-NEXT: scoped.fence acq_rel wavefront av(none) {one_as}
  scoped.fence acq_rel wavefront av(none) {one_as}
  // CHECK-NEXT: scoped.fence seq_cst system {note = 1 : i8}
  scoped.fence seq_cst system {note = 1 : i8}
  // CHECK-NEXT: scoped.barrier workgroup
  // GENERIC: "scoped.barrier"() <{ordering = #scoped<ordering acq_rel>, scope = #scoped<scope workgroup>}> : () -> ()
  scoped.barrier workgroup
  // CHECK-NEXT: scoped.barrier cluster
  scoped.barrier acq_rel cluster
  // CHECK-NEXT: scoped.barrier workgroup spaces [local] {one_as}
  scoped.barrier workgroup spaces [local] {one_as}
  // CHECK-NEXT: scoped.barrier relaxed workgroup
  // GENERIC: "scoped.barrier"() <{ordering = #scoped<ordering relaxed>, scope = #scoped<scope workgroup>}> : () -> ()
  scoped.barrier relaxed workgroup
  func.return
}

// Values may be used above their definition, and attributes stand on their own.

// CHECK-LABEL: func.func @forward_and_standalone
func.func @forward_and_standalone() attributes {a = #scoped<ordering acquire>, b = #scoped<scope agent>, c = #scoped<address_space shared_cluster>, d = #scoped<rmw_kind fadd>, e = #scoped<availability none>} {
  cf.br ^bb1
^bb2:
  // CHECK: scoped.store weak %v, %p : i32, !llvm.ptr<1>
  scoped.store weak %v, %p : i32, !llvm.ptr<1>
  func.return
^bb1:
  %p = llvm.mlir.zero : !llvm.ptr<1>
  %v = arith.constant 1 : i32
  cf.br ^bb2
}
