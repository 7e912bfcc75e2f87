// RUN: fence-opt %s --mcpu gfx90a -t asm | filecheck %s --check-prefix BUFFER
// RUN: fence-opt %s --mcpu gfx908 -t asm | filecheck %s --check-prefix BUFFER
// RUN: fence-opt %s --mcpu gfx942 -t asm | filecheck %s --check-prefix SCRATCH

// Where private memory is a buffer, elements of four bytes of all lanes lie side by side: what is
// wider takes several accesses. None of them may write the address of the next.

// BUFFER-LABEL: wide:
// BUFFER:      buffer_store_dword [[LO:v[0-9]+]], [[A:v[0-9]+]], s[0:3], 0 offen
// BUFFER-NEXT: buffer_store_dword {{v[0-9]+}}, [[A]], s[0:3], 0 offen offset:4
// BUFFER:      buffer_load_dword {{v[0-9]+}}, [[A]], s[0:3], 0 offen
// BUFFER:      buffer_load_dword {{v[0-9]+}}, [[A]], s[0:3], 0 offen offset:4
// BUFFER:      buffer_load_dword {{v[0-9]+}}, [[A]], s[0:3], 0 offen
// BUFFER:      buffer_load_dword {{v[0-9]+}}, [[A]], s[0:3], 0 offen offset:4
// BUFFER-NOT:  dwordx2 v{{.*}} offen
// SCRATCH-LABEL: wide:
// SCRATCH:     scratch_store_dwordx2
// SCRATCH:     scratch_load_dwordx2
// SCRATCH:     scratch_load_dwordx2
// SCRATCH:     scratch_store_dwordx2
func.func @wide(%p: !llvm.ptr<1>, %v: i64) attributes {gpu.kernel} {
  %n = arith.constant 1 : i32
  %a = llvm.alloca %n x i64 : (i32) -> !llvm.ptr<5>
  scoped.store weak %v, %a : i64, !llvm.ptr<5>
  %x = scoped.load weak %a : !llvm.ptr<5> -> i64
  %old = scoped.atomic_rmw add acq_rel agent %a, %x : !llvm.ptr<5>, i64
  scoped.store weak %old, %p : i64, !llvm.ptr<1>
  func.return
}

// Nor does it where the address is read for the last time.
// BUFFER-LABEL: last_use:
// BUFFER:      buffer_load_dword {{v[0-9]+}}, [[A:v[0-9]+]], s[0:3], 0 offen
// BUFFER-NEXT: buffer_load_dword {{v[0-9]+}}, [[A]], s[0:3], 0 offen offset:4
func.func @last_use(%p: !llvm.ptr<1>, %i: i32) attributes {gpu.kernel} {
  %n = arith.constant 4 : i32
  %a = llvm.alloca %n x i64 : (i32) -> !llvm.ptr<5>
  %b = llvm.getelementptr %a[%i] : (!llvm.ptr<5>, i32) -> !llvm.ptr<5>, i64
  %x = scoped.load weak %b : !llvm.ptr<5> -> i64
  scoped.store weak %x, %p : i64, !llvm.ptr<1>
  func.return
}

// The volatile load keeps its bits though it is atomic: no other thread can tell that it is not.
// BUFFER-LABEL: wide_volatile:
// BUFFER:      buffer_load_dword {{v[0-9]+}}, {{v[0-9]+}}, s[0:3], 0 offen glc
// BUFFER:      buffer_load_dword {{v[0-9]+}}, {{v[0-9]+}}, s[0:3], 0 offen offset:4 glc
// BUFFER:      s_waitcnt vmcnt(0)
// SCRATCH-LABEL: wide_volatile:
// SCRATCH:     scratch_load_dwordx2 {{.*}}, off sc0 sc1
func.func @wide_volatile(%p: !llvm.ptr<1>) attributes {gpu.kernel} {
  %n = arith.constant 1 : i32
  %a = llvm.alloca %n x i64 : (i32) -> !llvm.ptr<5>
  %x = scoped.load relaxed agent %a {volatile} : !llvm.ptr<5> -> i64
  scoped.store weak %x, %p : i64, !llvm.ptr<1>
  func.return
}
