// RUN: fence-opt %S/../../../../examples/message_passing.mlir --mcpu sm_90 -t asm | filecheck %s --check-prefix=PTX
// RUN: fence-opt %S/../../../../examples/message_passing.mlir --mcpu gfx942 -t asm | filecheck %s --check-prefix=CDNA
// RUN: fence-opt %S/../../../../examples/message_passing.mlir --mcpu sm_90 -t "asm{explain=true}" | filecheck %s --check-prefix=WHY

// One program for both: the chip chooses the pipeline and the format.

// PTX:       .target sm_90
// PTX-LABEL: .visible .entry producer(
// PTX:       st.weak.global.b32 [%rd1], 42;
// PTX-NEXT:  st.release.gpu.global.b32 [%rd2], 1;
// PTX-LABEL: .visible .entry consumer(
// PTX:       $L_bb1:
// PTX-NEXT:  ld.acquire.gpu.global.b32 %r1, [%rd2];
// PTX:       bra $L_bb1;
// PTX-NEXT:  ld.weak.global.b32

// CDNA: amdgcn-amd-amdhsa--gfx942
// CDNA: global_store_dword {{.*}} off sc1

// WHY:     st.weak.global.b32 [%rd1], 42;{{$}}
// WHY:     st.release.gpu.global.b32 [%rd2], 1; // access: NVIDIA PTX Writer's Guide, Atomics ABI
