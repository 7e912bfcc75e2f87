// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942 minimise=true stores=through}" -t asm | filecheck %s
// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942 minimise=true}" -t asm | filecheck %s --check-prefix=BACK

// The data goes past the L2 by itself: the release only waits.
// CHECK-LABEL: publish:
// CHECK:      global_store_dword {{.*}} off sc1
// CHECK-NEXT: s_waitcnt vmcnt(0)
// CHECK-NEXT: global_store_dword {{.*}} off sc1
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
