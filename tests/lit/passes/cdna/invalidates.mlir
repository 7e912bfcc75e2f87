// RUN: fence-opt %s -p "convert-scoped-to-cdna{mcpu=gfx942},drop-invalidates,sink-invalidates" | filecheck %s

// A spin loop invalidates as it ends.
// CHECK-LABEL: cdna.kernel @spin
// CHECK:      cdna.load global_load_dword {{.*}} {modifiers = ["sc1"]
// CHECK-NOT:  buffer_inv
// CHECK:      cdna.s_cbranch
// CHECK:      cdna.cache buffer_inv {modifiers = ["sc1"]
// CHECK-NEXT: cdna.load global_load_dword
func.func @spin(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
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

// A loop whose every round loads keeps its invalidate.
// CHECK-LABEL: cdna.kernel @every_round
// CHECK:      ^bb1:
// CHECK:      cdna.cache buffer_inv
// CHECK:      cdna.load global_load_dword {{%[0-9a-z_]+}} :
func.func @every_round(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %zero = arith.constant 0 : i32
  cf.br ^spin
^spin:
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  %again = arith.cmpi eq, %v, %zero : i32
  cf.cond_br %again, ^spin, ^go
^go:
  func.return
}

// Needed on one way only, to a block with other ways to it: a block of its own on that edge.
// CHECK-LABEL: cdna.kernel @edge
// CHECK:      cdna.s_cbranch {{.*}}, ^bb1, ^bb3
// CHECK:      ^bb1:
// CHECK-NEXT: cdna.load global_load_dword {{.*}} {modifiers = ["sc1"]
// CHECK-NOT:  buffer_inv
// CHECK:      cdna.s_cbranch {{.*}}, ^bb2, ^bb4
// CHECK:      ^bb2:
// CHECK-NEXT: cdna.cache buffer_inv
// CHECK-NEXT: cdna.s_branch ^bb3
func.func @edge(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>, %n : i32) {
  %zero = arith.constant 0 : i32
  %first = arith.cmpi eq, %n, %zero : i32
  cf.cond_br %first, ^look, ^read
^look:
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %ready = arith.cmpi eq, %v, %zero : i32
  cf.cond_br %ready, ^read, ^done
^read:
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  cf.br ^done
^done:
  func.return
}

// A mate of the work-group acquires without invalidating, behind the barrier.
// CHECK-LABEL: cdna.kernel @for_a_mate
// CHECK:      cdna.cache buffer_inv
// CHECK:      cdna.barrier s_barrier
func.func @for_a_mate(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  scoped.barrier workgroup
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  func.return
}

// Behind the barrier everyone invalidates.
// CHECK-LABEL: cdna.kernel @for_nobody
// CHECK-NOT:  buffer_inv
// CHECK:      cdna.barrier s_barrier
// CHECK-NEXT: cdna.s_waitcnt vmcnt(0) lgkmcnt(0) {phase = #cdna<phase wait>
// CHECK-NEXT: cdna.cache buffer_inv
func.func @for_nobody(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  scoped.barrier workgroup
  scoped.fence acquire agent
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  func.return
}

// All waves are at the last barrier together: what is loaded after the first one is not older.
// CHECK-LABEL: cdna.kernel @last_of_two_barriers
// CHECK:      cdna.barrier s_barrier
// CHECK-NOT:  buffer_inv
// CHECK:      cdna.barrier s_barrier
// CHECK-NEXT: cdna.end
func.func @last_of_two_barriers(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  scoped.barrier workgroup
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  scoped.barrier workgroup
  func.return
}

// A wave may be in another round of the loop, before the load, when this one is at the last barrier.
// CHECK-LABEL: cdna.kernel @after_a_loop
// CHECK:      ^bb2:
// CHECK:      cdna.cache buffer_inv
// CHECK:      cdna.barrier s_barrier
// CHECK-NEXT: cdna.end
func.func @after_a_loop(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %zero = arith.constant 0 : i32
  cf.br ^round
^round:
  scoped.barrier workgroup
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  %again = arith.cmpi eq, %x, %zero : i32
  cf.cond_br %again, ^round, ^last
^last:
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  scoped.barrier workgroup
  func.return
}

// Nothing cacheable is loaded before the end; at system scope the next kernel may count on it.
// CHECK-LABEL: cdna.kernel @at_the_end
// CHECK-NOT:  buffer_inv {modifiers = ["sc1"]
// CHECK:      cdna.cache buffer_inv {modifiers = ["sc0", "sc1"]
// CHECK-NEXT: cdna.end
func.func @at_the_end(%f : !llvm.ptr<1>) {
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %w = scoped.load acquire system %f : !llvm.ptr<1> -> i32
  func.return
}

// What never changes is not stale.
// CHECK-LABEL: cdna.kernel @never_changes
// CHECK-NOT:  buffer_inv
// CHECK:      cdna.end
func.func @never_changes(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>) {
  %v = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %x = scoped.load weak %d {invariant} : !llvm.ptr<1> -> i32
  scoped.store weak %x, %f : i32, !llvm.ptr<1>
  func.return
}
