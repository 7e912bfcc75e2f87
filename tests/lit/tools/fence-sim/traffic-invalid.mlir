// RUN: not fence-sim traffic %s --mcpu sm_90 --kernel beyond --grid 2 --block 64 --arg bytes:256 2>&1 | filecheck %s --check-prefix=BEYOND --match-full-lines
// RUN: not fence-sim traffic %s --mcpu sm_90 --kernel indirect --grid 1 --block 32 --arg bytes:128 --arg bytes:128 2>&1 | filecheck %s --check-prefix=DATA --match-full-lines
// RUN: fence-sim traffic %s --mcpu sm_90 --kernel indirect --grid 1 --block 32 --arg i32:32 --arg bytes:128 | filecheck %s --check-prefix=ZEROS
// RUN: not fence-sim traffic %s --mcpu sm_90 --kernel endless --grid 1 --block 32 --arg i32:1 --limit 20000 2>&1 | filecheck %s --check-prefix=ENDLESS --match-full-lines
// RUN: not fence-sim traffic %s --mcpu sm_90 --grid 1 --block 32 --arg i32:1 2>&1 | filecheck %s --check-prefix=SEVERAL --match-full-lines
// RUN: not fence-sim traffic %s --mcpu gfx942 --kernel beyond --grid 1 --block 2048 --arg bytes:9999 2>&1 | filecheck %s --check-prefix=THREADS --match-full-lines
// RUN: fence-opt %s --mcpu sm_90 | not fence-sim traffic - --mcpu sm_80 --kernel beyond --grid 1 --block 64 --arg bytes:256 2>&1 | filecheck %s --check-prefix=CHIP --match-full-lines

// BEYOND: {{.*}}traffic-invalid.mlir:[[# @LINE + 13]]:3: error: out of bounds: 4 bytes at byte 256 of argument 0, which has 256 bytes; give it 260 or more (st.weak.global.b32), thread 0 of block 1
// THREADS: {{.*}}error: a block of 2048 threads: 1024 are the most
// CHIP: <stdin>: error: beyond is for sm_90: pass --mcpu sm_90
func.func @beyond(%data: !llvm.ptr<1>) attributes {gpu.kernel} {
  %one = arith.constant 1 : i32
  %threads = arith.constant 64 : i32
  %thread_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %thread_index : index to i32
  %group_index = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %group = arith.index_cast %group_index : index to i32
  %first = arith.muli %group, %threads : i32
  %i = arith.addi %first, %thread : i32
  %place = llvm.getelementptr %data[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %one, %place : i32, !llvm.ptr<1>
  func.return
}

// An address that comes of a buffer of which only the size is given.
// DATA: {{.*}}traffic-invalid.mlir:[[# @LINE + 6]]:3: error: an address comes of what 'argument 0' holds, of which only the size is given; give it an array, of zeros if that is what it holds (ld.weak.global.b32), thread 0 of block 0
// ZEROS: indirect on sm_90
func.func @indirect(%index: !llvm.ptr<1>, %data: !llvm.ptr<1>) attributes {gpu.kernel} {
  %thread_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %thread_index : index to i32
  %where = llvm.getelementptr %index[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %i = scoped.load weak %where : !llvm.ptr<1> -> i32
  %place = llvm.getelementptr %data[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %thread, %place : i32, !llvm.ptr<1>
  func.return
}

// ENDLESS: {{.*}}traffic-invalid.mlir:{{.*}}: error: hang: wave 0 of work-group 0 polls at ld.relaxed.gpu.global.b32 ({{.*}}); nothing changes any more
// SEVERAL: {{.*}}traffic-invalid.mlir: error: has several kernels: pass --kernel NAME, of beyond, indirect, endless
func.func @endless(%flag: !llvm.ptr<1>) attributes {gpu.kernel} {
  %zero = arith.constant 0 : i32
  cf.br ^again
^again:
  %v = scoped.load relaxed agent %flag : !llvm.ptr<1> -> i32
  %waits = arith.cmpi eq, %v, %zero : i32
  cf.cond_br %waits, ^again, ^end
^end:
  func.return
}
