// RUN: fence-opt %s --mcpu sm_90 -t ptx | filecheck %s

// What whole kernels take besides scoped operations: vectors, floats, operations of a warp, and
// barriers that a warp reaches together (.aligned) or perhaps not.

// CHECK-LABEL: .entry vectors(
// CHECK:       ld.weak.global.b128 %[[V:rq[0-9]+]], [{{.*}}];
// CHECK:       mov.b128 {$s1_vector_0, $s1_vector_1}, %[[V]];
// CHECK:       mov.b64 {$s1_vector_1_0, $s1_vector_1_1}, $s1_vector_1;
// CHECK-NEXT:  mov.b32 %[[W:r[0-9]+]], $s1_vector_1_1;
// CHECK:       mov.b64 $s2_low, {%[[W]], %[[W]]};
// CHECK:       st.weak.global.b128
func.func @vectors(%p: !llvm.ptr<1>) {
  %v = scoped.load weak %p : !llvm.ptr<1> -> vector<4xi32>
  %w = vector.extract %v[3] : i32 from vector<4xi32>
  %x = vector.broadcast %w : i32 to vector<4xi32>
  scoped.store weak %x, %p : vector<4xi32>, !llvm.ptr<1>
  func.return
}

// A float constant is in a register: as a literal its bits would be taken for a number.
// CHECK-LABEL: .entry floats(
// CHECK:       mov.b32 %[[HALF:r[0-9]+]], 1056964608;
// CHECK:       mul.rn.f32 %[[A:r[0-9]+]], %{{r[0-9]+}}, %[[HALF]];
// CHECK-NEXT:  add.rn.f32 %[[B:r[0-9]+]], %[[A]], %[[HALF]];
// CHECK-NEXT:  fma.rn.f32 %{{r[0-9]+}}, %[[A]], %[[B]], %[[HALF]];
func.func @floats(%p: !llvm.ptr<1>) {
  %half = arith.constant 0.5 : f32
  %v = scoped.load weak %p : !llvm.ptr<1> -> f32
  %a = arith.mulf %v, %half : f32
  %b = arith.addf %a, %half : f32
  %c = math.fma %a, %b, %half : f32
  scoped.store weak %c, %p : f32, !llvm.ptr<1>
  func.return
}

// CHECK-LABEL: .entry warp(
// CHECK:       shfl.sync.up.b32 %[[S:r[0-9]+]], %[[V:r[0-9]+]], %[[ONE:r[0-9]+]], %[[ZERO:r[0-9]+]], %[[ALL:r[0-9]+]];
// CHECK:       vote.sync.ballot.b32 %{{r[0-9]+}}, %{{p[0-9]+}}, %[[ALL]];
// CHECK:       redux.sync.add.s32 %{{r[0-9]+}}, %{{r[0-9]+}}, %[[ALL]];
func.func @warp(%p: !llvm.ptr<1>, %v: i32) {
  %all = arith.constant -1 : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %s = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%all, %v, %one, %zero) : (i32, i32, i32, i32) -> i32
  %is = arith.cmpi eq, %s, %v : i32
  %b = llvm.call_intrinsic "llvm.nvvm.vote.ballot.sync"(%all, %is) : (i32, i1) -> i32
  %r = llvm.call_intrinsic "llvm.nvvm.redux.sync.add"(%b, %all) : (i32, i32) -> i32
  scoped.store weak %r, %p : i32, !llvm.ptr<1>
  func.return
}

// Only one thread polls, but all meet again behind it.
// CHECK-LABEL: .entry meets(
// CHECK:       barrier.sync.aligned 0;
func.func @meets(%p: !llvm.ptr<1>) {
  %zero = arith.constant 0 : i32
  %id = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %id : index to i32
  %leads = arith.cmpi eq, %thread, %zero : i32
  cf.cond_br %leads, ^poll, ^met
^poll:
  %v = scoped.load acquire agent %p : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %v, %zero : i32
  cf.cond_br %again, ^poll, ^met
^met:
  scoped.barrier workgroup
  func.return
}

// CHECK-LABEL: .entry parted(
// CHECK:       barrier.sync 0;
func.func @parted() {
  %half = arith.constant 16 : i32
  %id = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %id : index to i32
  %upper = arith.cmpi uge, %thread, %half : i32
  cf.cond_br %upper, ^barrier, ^end
^barrier:
  scoped.barrier workgroup
  cf.br ^end
^end:
  func.return
}

// Each thread makes as many rounds as it likes.
// CHECK-LABEL: .entry rounds(
// CHECK:       barrier.sync 0;
func.func @rounds(%p: !llvm.ptr<1>) {
  %zero = arith.constant 0 : i32
  cf.br ^round
^round:
  scoped.barrier workgroup
  %v = scoped.load relaxed agent %p : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %v, %zero : i32
  cf.cond_br %again, ^round, ^end
^end:
  func.return
}

// A look at an mbarrier may find one thread before and the next behind its completion.
// CHECK-LABEL: .entry looks(
// CHECK:       barrier.sync 0;
func.func @looks(%bar: !llvm.ptr<3>, %parity: i32) {
  cf.br ^round
^round:
  scoped.barrier workgroup
  %complete = scoped.mbarrier_try_wait acquire workgroup %bar, %parity : !llvm.ptr<3>, i32
  cf.cond_br %complete, ^end, ^round
^end:
  func.return
}
