// RUN: fence-opt %s --mcpu gfx942 | filecheck %s --check-prefixes=IR,CDNA
// RUN: fence-opt %s --mcpu sm_90 | filecheck %s --check-prefixes=IR,PTX
// RUN: fence-opt %s --mcpu gfx942 -t asm | filecheck %s --check-prefix=ASM
// RUN: fence-opt %s --mcpu sm_90 -t ptx | filecheck %s --check-prefix=TEXT

// Functions of the host, and declarations, stay as they are beside kernels; no assembly has them.

// IR: func.func private @external(i32)
// IR: func.func @main(%{{.*}}) {
// IR-NEXT: func.call @external
// IR: func.func @answer() -> i32
// CDNA: cdna.kernel @k
// PTX: ptx.kernel @k
// ASM-NOT: main
// ASM: k:
// ASM: global_store_dword
// ASM-NOT: answer
// TEXT-NOT: main
// TEXT: .entry k(
// TEXT: st.release.gpu
// TEXT-NOT: answer
func.func private @external(i32) -> ()
func.func @main(%x: i32) {
  func.call @external(%x) : (i32) -> ()
  func.return
}
func.func @answer() -> i32 {
  %c = arith.constant 42 : i32
  func.return %c : i32
}
func.func @k(%p: !llvm.ptr<1>, %x: i32) attributes {gpu.kernel} {
  scoped.store release agent %x, %p : i32, !llvm.ptr<1>
  func.return
}
