// RUN: fence-opt %s --mcpu sm_90 -t asm | filecheck %s --check-prefixes=CHECK,SM90
// RUN: fence-opt %s --mcpu sm_90 --ptx-version 8.0 -t asm | filecheck %s --check-prefixes=CHECK,PTX80
// RUN: fence-opt %s --mcpu sm_100a -t asm | filecheck %s --check-prefixes=CHECK,SM100A
// RUN: fence-opt %s --mcpu sm_70 -t asm | filecheck %s --check-prefixes=CHECK,SM70

// The default version is the lowest in which the chip has all that it has.

// SM90:        .version 8.6
// SM90-NEXT:   .target sm_90
// PTX80:       .version 8.0
// PTX80-NEXT:  .target sm_90
// SM100A:      .version 8.6
// SM100A-NEXT: .target sm_100a
// SM70:        .version 8.4
// SM70-NEXT:   .target sm_70
// CHECK-NEXT:  .address_size 64
// CHECK-EMPTY:
// CHECK-NEXT:  .shared .align 16 .b8 words[32];
// CHECK-NEXT:  .extern .shared .align 8 .b8 dynamic[];
// CHECK-EMPTY:
// CHECK-NEXT:  .visible .entry k()
// CHECK-NEXT:  .reqntid 64, 2, 1
// CHECK-NEXT:  {
// CHECK-NEXT:    ret;
// CHECK-NEXT:  }
llvm.mlir.global internal @words() {addr_space = 3 : i32} : !llvm.array<8 x i32>
llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<0 x i64>
func.func @k() attributes {gpu.known_block_size = array<i32: 64, 2>} {
  func.return
}
