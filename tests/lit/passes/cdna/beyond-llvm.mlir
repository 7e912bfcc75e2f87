// RUN: fence-opt %s --mcpu gfx942 -t asm | filecheck %s
// RUN: fence-opt %s --mcpu gfx942 --assume coherent-stores -t asm | filecheck %s --check-prefix=COHERENT
// RUN: fence-opt %s --mcpu gfx90a -t asm | filecheck %s --check-prefix=OLD

// What LLVM 22 does not leave out, by the numbers of docs/minimise.md; C10 is in acquire-on-success.mlir,
// C11 in hoist-write-backs.mlir, C13 in infer-address-spaces.mlir, C14 in the facts of clamp-scopes.

llvm.mlir.global external @lds() {addr_space = 3 : i32} : i32
llvm.mlir.global external @ldsflag() {addr_space = 3 : i32} : i32

// C1. The wait of an acquire fence covers the flag, not what was loaded behind it. C15. Nor does the
// invalidate of older chips wait for everything.
// CHECK-LABEL: c1:
// CHECK:      global_load_dword {{.*}} sc1
// CHECK:      global_load_dword
// CHECK-NEXT: s_waitcnt vmcnt(1){{$}}
// CHECK-NEXT: buffer_inv sc1
// OLD-LABEL:  c1:
// OLD:        s_waitcnt vmcnt(1){{$}}
// OLD-NEXT:   buffer_wbinvl1_vol
func.func @c1(%f : !llvm.ptr<1>, %w : !llvm.ptr<1>, %d : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %v = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  %x = scoped.load weak %w : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  %y = scoped.load weak %d : !llvm.ptr<1> -> i32
  %s = arith.addi %x, %y : i32
  %t = arith.addi %s, %v : i32
  scoped.store weak %t, %o : i32, !llvm.ptr<1>
  func.return
}

// C2. A seq_cst load waits for earlier atomics; a plain store is none.
// CHECK-LABEL: c2:
// CHECK:      global_store_dword
// CHECK-NEXT: global_load_dword {{.*}} sc1
func.func @c2(%x : !llvm.ptr<1>, %y : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  %v = scoped.load seq_cst agent %y : !llvm.ptr<1> -> i32
  scoped.store weak %v, %o : i32, !llvm.ptr<1>
  func.return
}

// C3. One wave's operations on LDS are in order.
// CHECK-LABEL: c3:
// CHECK:      ds_write_b32
// CHECK-NEXT: ds_write_b32
// CHECK-NEXT: s_endpgm
func.func @c3() {
  %one = arith.constant 1 : i32
  %s = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %t = llvm.mlir.addressof @ldsflag : !llvm.ptr<3>
  scoped.store weak %one, %s : i32, !llvm.ptr<3>
  scoped.store release workgroup %one, %t : i32, !llvm.ptr<3>
  func.return
}

// C4. Nothing in memory has been stored since the start of the kernel.
// CHECK-LABEL: c4:
// CHECK-NOT:  buffer_wbl2
// CHECK:      s_endpgm
func.func @c4(%f : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  %s = llvm.mlir.addressof @lds : !llvm.ptr<3>
  scoped.store weak %one, %s : i32, !llvm.ptr<3>
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  func.return
}

// C5. A store with the scope's bits leaves no dirty line.
// CHECK-LABEL: c5:
// CHECK:      global_store_dword {{.*}} sc1
// CHECK-NEXT: s_waitcnt vmcnt(0)
// CHECK-NEXT: global_store_dword {{.*}} sc1
func.func @c5(%f : !llvm.ptr<1>, %g : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store relaxed agent %one, %f : i32, !llvm.ptr<1>
  scoped.store release agent %one, %g : i32, !llvm.ptr<1>
  func.return
}

// C6. Few stores go to the agent by themselves, which is cheaper than a write-back of the L2: if they
// are promised to be coherent there once they are counted.
// CHECK-LABEL: c6:
// CHECK:      buffer_wbl2 sc1
// COHERENT-LABEL: c6:
// COHERENT:      global_store_dword {{.*}} sc1
// COHERENT-NEXT: s_waitcnt vmcnt(0)
// COHERENT-NEXT: global_store_dword {{.*}} sc1
func.func @c6(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %x : i32, !llvm.ptr<1>
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  func.return
}

// C7. A wider acquire covers those behind it.
// CHECK-LABEL: c7:
// CHECK:      buffer_inv sc1
// CHECK-NOT:  buffer_inv
// CHECK:      s_endpgm
func.func @c7(%f : !llvm.ptr<1>, %d : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  scoped.fence acquire agent
  scoped.fence acquire workgroup
  %y = scoped.load weak %d : !llvm.ptr<1> -> i32
  %s = arith.addi %v, %y : i32
  scoped.store weak %s, %o : i32, !llvm.ptr<1>
  func.return
}

// C8. Only the last round of a spin loop has to invalidate.
// CHECK-LABEL: c8:
// CHECK:      global_load_dword {{.*}} sc1
// CHECK-NOT:  buffer_inv
// CHECK:      s_cbranch
// CHECK-NEXT: buffer_inv sc1
func.func @c8(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  cf.br ^spin
^spin:
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %v, %zero : i32
  cf.cond_br %again, ^spin, ^go
^go:
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  func.return
}

// C9. No load behind the acquire finds anything in the caches.
// CHECK-LABEL: c9:
// CHECK-NOT:  buffer_inv
// CHECK:      s_endpgm
func.func @c9(%f : !llvm.ptr<1>, %g : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %w = scoped.load relaxed agent %g : !llvm.ptr<1> -> i32
  %s = arith.addi %v, %w : i32
  scoped.store weak %s, %o : i32, !llvm.ptr<1>
  func.return
}

// C12. Private memory and what never changes stay on their way past a release.
// CHECK-LABEL: c12:
// CHECK:      global_store_dword {{.*}} sc1
// CHECK-NEXT: scratch_store_dword
// CHECK-NEXT: global_load_dword
// CHECK-NEXT: s_waitcnt vmcnt(2){{$}}
// CHECK-NEXT: global_store_dword {{.*}} sc1
func.func @c12(%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %p : !llvm.ptr<5>, %z : !llvm.ptr<1>, %n : i32) {
  scoped.store relaxed agent %n, %x : i32, !llvm.ptr<1>
  scoped.store weak %n, %p : i32, !llvm.ptr<5>
  %v = scoped.load weak %z {invariant} : !llvm.ptr<1> -> i32
  scoped.store release agent %n, %f : i32, !llvm.ptr<1>
  scoped.store weak %v, %x : i32, !llvm.ptr<1>
  func.return
}

// C16. Nothing is waited for where a kernel begins and ends, but its arguments.
// CHECK-LABEL: c16:
// CHECK:      s_waitcnt lgkmcnt(0)
// CHECK-NOT:  s_waitcnt
// CHECK:      s_endpgm
func.func @c16(%x : !llvm.ptr<1>, %n : i32) {
  scoped.store weak %n, %x : i32, !llvm.ptr<1>
  func.return
}
