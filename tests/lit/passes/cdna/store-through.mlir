// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942 stores=through}" -t asm | filecheck %s
// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942 stores=back}" -t asm | filecheck %s --check-prefix=BACK

// RUN: fence-opt %s --mcpu gfx942 -t asm | filecheck %s --check-prefix=BACK
// RUN: fence-opt %s --mcpu gfx942 --assume coherent-stores -t asm | filecheck %s --check-prefix=AUTO
// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942 stores=auto}" -t asm | filecheck %s --check-prefix=AUTO
// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942 facts=coherent-stores stores=back}" -t asm | filecheck %s --check-prefix=BACK
// RUN: not fence-opt %s --mcpu gfx90a --assume coherent-stores 2>&1 | filecheck %s --check-prefix=OLD

// OLD: error: {{.*}}fact 'coherent-stores': gfx90a has no use for it

// The data goes past the L2 by itself: the release only waits.
// CHECK-LABEL: publish:
// CHECK:      global_store_dword {{.*}} off sc1
// CHECK-NEXT: s_waitcnt vmcnt(0)
// CHECK-NEXT: global_store_dword {{.*}} off sc1
// AUTO-LABEL: publish:
// AUTO:      global_store_dword {{.*}} off sc1
// AUTO-NEXT: s_waitcnt vmcnt(0)
// BACK-LABEL: publish:
// BACK:      global_store_dword {{.*}} off{{$}}
// BACK-NEXT: buffer_wbl2 sc1
// BACK-NEXT: s_waitcnt vmcnt(0)
// BACK-NEXT: global_store_dword {{.*}} off sc1
func.func @publish(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %d : i32, !llvm.ptr<1>
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  func.return
}

// Stores to LDS have no policy bits, and what reaches the system already stays so.
// CHECK-LABEL: others:
// CHECK:      global_store_dword {{.*}} off sc0 sc1
// CHECK:      global_store_dword {{.*}} off sc1 nt
func.func @others(%d : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %d {volatile} : i32, !llvm.ptr<1>
  scoped.store weak %one, %d {nontemporal} : i32, !llvm.ptr<1>
  func.return
}

// By itself, a loop that only fills lines keeps its stores; one that releases each round does not.
// AUTO-LABEL: fills:
// AUTO:      global_store_dword {{.*}} off{{$}}
// AUTO:      buffer_wbl2 sc1
// AUTO:      s_endpgm
func.func @fills(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %n : i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^loop(%zero : i32)
^loop(%i : i32):
  %at = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %i, %at : i32, !llvm.ptr<1>
  %next = arith.addi %i, %one : i32
  %more = arith.cmpi ult, %next, %n : i32
  cf.cond_br %more, ^loop(%next : i32), ^end
^end:
  scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  func.return
}

// AUTO-LABEL: produces:
// AUTO:      global_store_dword {{.*}} off sc1
// AUTO-NOT:  buffer_wbl2
// AUTO:      s_endpgm
func.func @produces(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %n : i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^loop(%zero : i32)
^loop(%i : i32):
  %at = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %i, %at : i32, !llvm.ptr<1>
  %next = arith.addi %i, %one : i32
  scoped.store release agent %next, %f : i32, !llvm.ptr<1>
  %more = arith.cmpi ult, %next, %n : i32
  cf.cond_br %more, ^loop(%next : i32), ^end
^end:
  func.return
}

// Nor does a kernel that releases nothing.
// AUTO-LABEL: releases_nothing:
// AUTO:      global_store_dword {{.*}} off{{$}}
// AUTO:      s_endpgm
func.func @releases_nothing(%d : !llvm.ptr<1>, %n : i32) {
  scoped.store weak %n, %d : i32, !llvm.ptr<1>
  func.return
}
