// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},loosen-waits" | filecheck %s
// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},loosen-waits,loosen-waits" | filecheck %s

llvm.mlir.global external @lds() {addr_space = 3 : i32} : i32
llvm.mlir.global external @ldsflag() {addr_space = 3 : i32} : i32

// An acquire fence covers the flag, not the two loads issued after it.
// CHECK-LABEL: cdna.kernel @prefetch
// CHECK:      cdna.s_waitcnt vmcnt(2) {phase = #cdna<phase wait>
// CHECK-NEXT: cdna.cache buffer_inv
func.func @prefetch(%f : !llvm.ptr<1>, %w : !llvm.ptr<1>, %d : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %v = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  %x0 = scoped.load weak %w : !llvm.ptr<1> -> i32
  %x1 = scoped.load weak %w : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  %y = scoped.load weak %d : !llvm.ptr<1> -> i32
  %s0 = arith.addi %x0, %x1 : i32
  %s1 = arith.addi %s0, %y : i32
  %s2 = arith.addi %s1, %v : i32
  scoped.store weak %s2, %o : i32, !llvm.ptr<1>
  func.return
}

// A seq_cst load waits for earlier atomics: there is none.
// CHECK-LABEL: cdna.kernel @plain_store
// CHECK:      cdna.store global_store_dword
// CHECK-NEXT: cdna.load global_load_dword
func.func @plain_store(%x : !llvm.ptr<1>, %y : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %v = scoped.load seq_cst agent %y : !llvm.ptr<1> -> i32
  func.return
}

// On one way there is one.
// CHECK-LABEL: cdna.kernel @one_way
// CHECK:      ^bb2:
// CHECK-NEXT: cdna.store global_store_dword
// CHECK-NEXT: cdna.s_waitcnt vmcnt(1) {phase = #cdna<phase wait>
// CHECK-NEXT: cdna.load global_load_dword
func.func @one_way(%x : !llvm.ptr<1>, %y : !llvm.ptr<1>, %n : i32) {
  %one = arith.constant 1 : i32
  %is = arith.cmpi eq, %n, %one : i32
  cf.cond_br %is, ^store, ^load
^store:
  scoped.store relaxed agent %one, %x : i32, !llvm.ptr<1>
  cf.br ^load
^load:
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %v = scoped.load seq_cst agent %y : !llvm.ptr<1> -> i32
  func.return
}

// A volatile access is waited for whatever it is followed by.
// CHECK-LABEL: cdna.kernel @volatile
// CHECK:      cdna.load global_load_dword {{.*}}["sc0", "sc1"]
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) {phase = #cdna<phase wait>
func.func @volatile(%x : !llvm.ptr<1>) {
  %v = scoped.load weak %x {volatile} : !llvm.ptr<1> -> i32
  func.return
}

// A flag in LDS is in order with data in LDS.
// CHECK-LABEL: cdna.kernel @in_lds
// CHECK:      cdna.store ds_write_b32
// CHECK-NEXT: cdna.store ds_write_b32
func.func @in_lds() {
  %one = arith.constant 1 : i32
  %s = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %t = llvm.mlir.addressof @ldsflag : !llvm.ptr<3>
  scoped.store weak %one, %s : i32, !llvm.ptr<3>
  scoped.store release workgroup %one, %t : i32, !llvm.ptr<3>
  func.return
}

// A flag in memory behind it is not.
// CHECK-LABEL: cdna.kernel @in_lds_and_memory
// CHECK:      cdna.store ds_write_b32
// CHECK-NEXT: cdna.s_waitcnt lgkmcnt(0) {phase = #cdna<phase release>
// CHECK-NEXT: cdna.store ds_write_b32
// CHECK-NEXT: cdna.store global_store_dword
func.func @in_lds_and_memory(%f : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  %s = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %t = llvm.mlir.addressof @ldsflag : !llvm.ptr<3>
  scoped.store weak %one, %s : i32, !llvm.ptr<3>
  scoped.fence release workgroup
  scoped.store relaxed workgroup %one, %t : i32, !llvm.ptr<3>
  scoped.store relaxed workgroup %one, %f : i32, !llvm.ptr<1>
  func.return
}

// What was loaded from where nobody stores stays on its way past a release, as private memory does.
// CHECK-LABEL: cdna.kernel @never_changes
// CHECK:      cdna.store global_store_dword
// CHECK-NEXT: cdna.load global_load_dword {{.*invariant.*}}
// CHECK-NEXT: cdna.s_waitcnt vmcnt(1) {phase = #cdna<phase release>
// CHECK-NEXT: cdna.store global_store_dword
func.func @never_changes(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %z : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %v = scoped.load weak %z {invariant} : !llvm.ptr<1> -> i32
  scoped.store release workgroup %one, %f : i32, !llvm.ptr<1>
  scoped.store weak %v, %o : i32, !llvm.ptr<1>
  func.return
}
