// RUN: fence-opt %s -p infer-address-spaces | filecheck %s
// RUN: fence-opt %s --mcpu gfx942 -t asm | filecheck %s --check-prefix=ASM
// RUN: fence-opt %s -O0 --mcpu gfx942 -t asm | filecheck %s --check-prefix=FLAT

// C13. What the host passes is global: nothing waits for LDS because of it, and waits count.
// CHECK-LABEL: func.func @arguments(%f: !llvm.ptr<1>, %d: !llvm.ptr<1>)
// CHECK:      llvm.getelementptr %d[%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
// CHECK-NOT:  !llvm.ptr,
// CHECK-NOT:  !llvm.ptr)
// CHECK:      func.return
// ASM-LABEL:  arguments:
// ASM:        global_load_dword {{.*}} sc1
// ASM:        global_load_dword
// ASM-NEXT:   s_waitcnt vmcnt(1){{$}}
// ASM-NEXT:   buffer_inv sc1
// ASM-NOT:    flat_
// ASM:        s_endpgm
// FLAT-LABEL: arguments:
// FLAT:       flat_load_dword {{.*}} sc1
// FLAT:       flat_load_dword
// FLAT-NEXT:  s_waitcnt vmcnt(0) lgkmcnt(0)
func.func @arguments(%f : !llvm.ptr, %d : !llvm.ptr) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %v = scoped.load relaxed agent %f : !llvm.ptr -> i32
  %x = scoped.load weak %d : !llvm.ptr -> i32
  scoped.fence acquire agent
  cf.br ^loop(%zero, %d : i32, !llvm.ptr)
^loop(%i : i32, %p : !llvm.ptr):
  %at = llvm.getelementptr %d[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  %w = scoped.load weak %p : !llvm.ptr -> i32
  %s = arith.addi %x, %w : i32
  scoped.store weak %s, %f : i32, !llvm.ptr
  %next = arith.addi %i, %one : i32
  %more = arith.cmpi ult, %next, %one : i32
  cf.cond_br %more, ^loop(%next, %at : i32, !llvm.ptr), ^end
^end:
  func.return
}

// A pointer made of an integer may be of anything, and so what a branch may take it for.
// CHECK-LABEL: func.func @made
// CHECK:       ^{{.*}}(%p: !llvm.ptr):
// CHECK-NEXT:  scoped.store weak %n, %p : i32, !llvm.ptr{{$}}
// ASM-LABEL:   made:
// ASM:         flat_store_dword
func.func @made(%d : !llvm.ptr, %a : i64, %n : i32) {
  %q = llvm.inttoptr %a : i64 to !llvm.ptr
  %is = arith.cmpi eq, %n, %n : i32
  cf.cond_br %is, ^store(%d : !llvm.ptr), ^store(%q : !llvm.ptr)
^store(%p : !llvm.ptr):
  scoped.store weak %n, %p : i32, !llvm.ptr
  func.return
}

// What is stored itself stays of its type.
// CHECK-LABEL: func.func @stored(%d: !llvm.ptr<1>, %e: !llvm.ptr)
func.func @stored(%d : !llvm.ptr, %e : !llvm.ptr) {
  scoped.store weak %e, %d : !llvm.ptr, !llvm.ptr
  func.return
}

// In a litmus test the address may be one of LDS.
// CHECK-LABEL: func.func @thread(%s: !llvm.ptr)
func.func @thread(%s : !llvm.ptr) attributes {gpu.kernel, gpu.known_block_size = array<i32: 1, 1, 1>} {
  %one = arith.constant 1 : i32
  scoped.store weak %one, %s : i32, !llvm.ptr
  func.return
}

litmus.test @lds {
  litmus.location @s = 0 : i32 in local
  litmus.thread @P0 runs @thread(@s)
}
