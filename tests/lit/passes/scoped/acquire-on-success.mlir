// RUN: fence-opt %s -p acquire-on-success | filecheck %s
// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942}" -t asm | filecheck %s --check-prefix=ASM

// What a failed attempt loads needs no invalidate.
// CHECK-LABEL: func.func @busy
// CHECK:      scoped.cmpxchg relaxed relaxed agent
// CHECK-NEXT: cf.cond_br %ok, ^[[HELD:[a-z0-9]+]], ^[[BUSY:[a-z0-9]+]]
// CHECK:      ^[[BUSY]]:
// CHECK-NEXT: scoped.load weak
// CHECK:      ^[[HELD]]:
// CHECK-NEXT: scoped.fence acquire agent
// CHECK-NEXT: scoped.load weak
// ASM-LABEL:  busy:
// ASM:        global_atomic_cmpswap
// ASM-NEXT:   s_waitcnt vmcnt(0)
// ASM-NOT:    buffer_inv
// ASM:        global_load_dword
// ASM:        s_branch
// ASM:        buffer_inv sc1
// ASM-NEXT:   global_load_dword
// ASM-NOT:    buffer_inv
// ASM:        s_endpgm
func.func @busy(%d : !llvm.ptr<1>, %l : !llvm.ptr<1>, %t : !llvm.ptr<1>) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^try
^try:
  %old, %ok = scoped.cmpxchg acquire relaxed agent %l, %zero, %one : !llvm.ptr<1>, i32
  cf.cond_br %ok, ^held, ^busy
^busy:
  %x = scoped.load weak %t : !llvm.ptr<1> -> i32
  scoped.store weak %x, %t : i32, !llvm.ptr<1>
  cf.br ^try
^held:
  %y = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %y, %d : i32, !llvm.ptr<1>
  scoped.store release agent %zero, %l : i32, !llvm.ptr<1>
  func.return
}

// By the old value, the other way round, to a block with other ways to it.
// CHECK-LABEL: func.func @by_value
// CHECK:      scoped.cmpxchg release relaxed agent
// CHECK-NEXT: arith.cmpi ne, %old, %zero
// CHECK-NEXT: cf.cond_br {{%.*}}, ^[[FAILED:[a-z0-9]+]]({{%.*}} : i32), ^[[EDGE:[a-z0-9]+]]
// CHECK:      ^[[EDGE]]:
// CHECK-NEXT: scoped.fence acquire agent
// CHECK-NEXT: cf.br ^[[READ:[a-z0-9]+]](%one : i32)
// CHECK:      ^[[READ]](
func.func @by_value(%d : !llvm.ptr<1>, %l : !llvm.ptr<1>, %n : i32) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %skip = arith.cmpi eq, %n, %one : i32
  cf.cond_br %skip, ^read(%zero : i32), ^try
^try:
  %old, %ok = scoped.cmpxchg acq_rel relaxed agent %l, %zero, %one : !llvm.ptr<1>, i32
  %no = arith.cmpi ne, %old, %zero : i32
  cf.cond_br %no, ^failed(%old : i32), ^read(%one : i32)
^read(%v : i32):
  %y = scoped.load weak %d : !llvm.ptr<1> -> i32
  %sum = arith.addi %y, %v : i32
  scoped.store weak %sum, %d : i32, !llvm.ptr<1>
  cf.br ^failed(%v : i32)
^failed(%w : i32):
  scoped.store weak %w, %l : i32, !llvm.ptr<1>
  func.return
}

// Not: a failure that acquires, a load before the branch, a weak one judged by the value,
// seq_cst, an order of some address spaces, LDS.
// CHECK-LABEL: func.func @others
// CHECK:     scoped.cmpxchg acquire acquire agent
// CHECK:     scoped.cmpxchg acquire relaxed agent
// CHECK:     scoped.cmpxchg acquire relaxed agent {{.*}} {weak}
// CHECK:     scoped.cmpxchg seq_cst relaxed agent
// CHECK:     scoped.cmpxchg acquire relaxed agent {{.*}} {one_as}
// CHECK:     scoped.cmpxchg acquire relaxed workgroup
// CHECK-NOT: scoped.fence
func.func @others(%d : !llvm.ptr<1>, %l : !llvm.ptr<1>, %s : !llvm.ptr<3>) attributes {gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %o1, %k1 = scoped.cmpxchg acquire acquire agent %l, %zero, %one : !llvm.ptr<1>, i32
  cf.cond_br %k1, ^b1, ^end
^b1:
  %o2, %k2 = scoped.cmpxchg acquire relaxed agent %l, %zero, %one : !llvm.ptr<1>, i32
  %x2 = scoped.load weak %d : !llvm.ptr<1> -> i32
  cf.cond_br %k2, ^b2, ^end
^b2:
  %o3, %k3 = scoped.cmpxchg acquire relaxed agent %l, %zero, %one {weak} : !llvm.ptr<1>, i32
  %same = arith.cmpi eq, %o3, %zero : i32
  cf.cond_br %same, ^b3, ^end
^b3:
  %o4, %k4 = scoped.cmpxchg seq_cst relaxed agent %l, %zero, %one : !llvm.ptr<1>, i32
  cf.cond_br %k4, ^b4, ^end
^b4:
  %o5, %k5 = scoped.cmpxchg acquire relaxed agent %l, %zero, %one {one_as} : !llvm.ptr<1>, i32
  cf.cond_br %k5, ^b5, ^end
^b5:
  %o6, %k6 = scoped.cmpxchg acquire relaxed workgroup %s, %zero, %one : !llvm.ptr<3>, i32
  cf.cond_br %k6, ^b6, ^end
^b6:
  scoped.store weak %x2, %d : i32, !llvm.ptr<1>
  func.return
^end:
  func.return
}
