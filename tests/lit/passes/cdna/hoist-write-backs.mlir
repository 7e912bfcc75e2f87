// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},drop-write-backs,hoist-write-backs" | filecheck %s
// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},drop-write-backs,hoist-write-backs,hoist-write-backs" | filecheck %s
// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},minimise-caches{stores=back}" | filecheck %s
// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942 stores=back}" -t asm | filecheck %s --check-prefix=ASM

llvm.mlir.global external @lds() {addr_space = 3 : i32} : i32

// LDS, arithmetic and what never changes are done meanwhile; the wait covers none of what came later.
// CHECK-LABEL: cdna.kernel @overlap
// CHECK:      cdna.store global_store_dword
// CHECK-NEXT: cdna.cache buffer_wbl2 {modifiers = ["sc1"]
// CHECK-NEXT: cdna.load global_load_dword {{.*invariant.*}}
// CHECK:      cdna.load ds_read_b32
// CHECK-NOT:  cache buffer_wbl2
// CHECK:      cdna.s_waitcnt vmcnt(0) lgkmcnt(0) {phase = #cdna<phase release>
// ASM-LABEL:  overlap:
// ASM:        global_store_dword
// ASM-NEXT:   buffer_wbl2 sc1
// ASM-NEXT:   global_load_dword
// ASM:        ds_read_b32
// ASM-NOT:    buffer_wbl2
// ASM:        s_waitcnt vmcnt(1) lgkmcnt(0)
// ASM-NEXT:   global_store_dword {{.*}} sc1
func.func @overlap(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %z : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  %l = llvm.mlir.addressof @lds : !llvm.ptr<3>
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %v = scoped.load weak %z {invariant} : !llvm.ptr<1> -> i32
  %w = scoped.load weak %l : !llvm.ptr<3> -> i32
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  %s = arith.addi %v, %w : i32
  scoped.store weak %s, %o : i32, !llvm.ptr<1>
  func.return
}

// Past a diamond, in which nothing is stored, to where both ways come from.
// CHECK-LABEL: cdna.kernel @diamond
// CHECK:      cdna.store global_store_dword
// CHECK-NEXT: cdna.cache buffer_wbl2
// CHECK-NOT:  cache buffer_wbl2
// CHECK:      cdna.end
func.func @diamond(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %n : i32) {
  %one = arith.constant 1 : i32
  %l = llvm.mlir.addressof @lds : !llvm.ptr<3>
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %is = arith.cmpi eq, %n, %one : i32
  cf.cond_br %is, ^a, ^b
^a:
  scoped.store weak %one, %l : i32, !llvm.ptr<3>
  cf.br ^join
^b:
  scoped.store weak %n, %l : i32, !llvm.ptr<3>
  cf.br ^join
^join:
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  func.return
}

// A way that releases nothing gets none.
// CHECK-LABEL: cdna.kernel @one_way
// CHECK:      cdna.store global_store_dword
// CHECK-NOT:  cache buffer_wbl2
// CHECK:      cdna.s_cbranch
// CHECK:      cdna.cache buffer_wbl2
// CHECK-NEXT: cdna.store ds_write_b32
// CHECK-NOT:  cache buffer_wbl2
// CHECK:      cdna.end
func.func @one_way(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %n : i32) {
  %one = arith.constant 1 : i32
  %l = llvm.mlir.addressof @lds : !llvm.ptr<3>
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %is = arith.cmpi eq, %n, %one : i32
  cf.cond_br %is, ^release, ^end
^release:
  scoped.store weak %one, %l : i32, !llvm.ptr<3>
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  cf.br ^end
^end:
  func.return
}

// Out of a loop that only raises flags.
// CHECK-LABEL: cdna.kernel @flags
// CHECK:      cdna.store global_store_dword
// CHECK-NEXT: cdna.cache buffer_wbl2
// CHECK:      cdna.s_branch
// CHECK-NOT:  cache buffer_wbl2
// CHECK:      cdna.end
func.func @flags(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %n : i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  cf.br ^loop(%zero : i32)
^loop(%i : i32):
  %at = llvm.getelementptr %f[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store release agent %one, %at : i32, !llvm.ptr<1>
  %next = arith.addi %i, %one : i32
  %more = arith.cmpi ult, %next, %n : i32
  cf.cond_br %more, ^loop(%next : i32), ^end
^end:
  func.return
}

// Not past what a mate may have handed on: a barrier, a flag that has not come yet.
// CHECK-LABEL: cdna.kernel @taken_in
// CHECK:      cdna.store global_store_dword
// CHECK-NOT:  cache buffer_wbl2
// CHECK:      cdna.barrier
// CHECK-NEXT: cdna.cache buffer_wbl2
// CHECK-NEXT: cdna.load ds_read_b32
// CHECK:      cdna.end
func.func @taken_in(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  %l = llvm.mlir.addressof @lds : !llvm.ptr<3>
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  scoped.barrier workgroup
  %w = scoped.load weak %l : !llvm.ptr<3> -> i32
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  scoped.store weak %w, %o : i32, !llvm.ptr<1>
  func.return
}

// CHECK-LABEL: cdna.kernel @read_on_its_way
// CHECK:      cdna.store global_store_dword
// CHECK:      cdna.load global_load_dword {{.*}}["sc0"]
// CHECK-NOT:  cache buffer_wbl2
// CHECK:      cdna.s_waitcnt
// CHECK:      cdna.cache buffer_wbl2
func.func @read_on_its_way(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %g : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %v = scoped.load relaxed workgroup %g : !llvm.ptr<1> -> i32
  scoped.fence acquire workgroup
  scoped.store release agent %v, %f : i32, !llvm.ptr<1>
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  scoped.store release workgroup %one, %g : i32, !llvm.ptr<1>
  func.return
}

// Nor behind a branch, which waits for what it hands on.
// CHECK-LABEL: cdna.kernel @handed_on
// CHECK:      cdna.load global_load_dword {{.*}}["sc0"]
// CHECK-NOT:  cache buffer_wbl2
// CHECK:      cdna.s_branch
// CHECK:      cdna.cache buffer_wbl2
// CHECK:      cdna.end
func.func @handed_on(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %g : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  %l = llvm.mlir.addressof @lds : !llvm.ptr<3>
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %v = scoped.load relaxed workgroup %g : !llvm.ptr<1> -> i32
  cf.br ^next(%v : i32)
^next(%w : i32):
  scoped.store weak %w, %l : i32, !llvm.ptr<3>
  scoped.store release agent %w, %f : i32, !llvm.ptr<1>
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  scoped.store release workgroup %one, %g : i32, !llvm.ptr<1>
  func.return
}
