// RUN: fence-opt %s --mcpu sm_90 -t asm | filecheck %s --check-prefixes=CHECK,NEW
// RUN: fence-opt %s --mcpu sm_80 -t asm | filecheck %s --check-prefixes=CHECK,OLD

// 16-bit floats are added by an atom where there is one; a pair is updated as a whole, which
// PTX's packed atom does not promise.

// CHECK-LABEL: .entry half(
func.func @half(%p: !llvm.ptr<1>, %v: f16) attributes {gpu.kernel} {
  // CHECK: red.relaxed.gpu.global.add.noftz.f16 [
  %0 = scoped.atomic_rmw fadd relaxed agent %p, %v : !llvm.ptr<1>, f16
  func.return
}

// CHECK-LABEL: .entry bfloat(
func.func @bfloat(%p: !llvm.ptr<1>, %v: bf16) attributes {gpu.kernel} {
  // NEW: red.relaxed.gpu.global.add.noftz.bf16 [
  // OLD: fma.rn.bf16
  // OLD-NEXT: atom.relaxed.gpu.global.cas.b16
  %0 = scoped.atomic_rmw fadd relaxed agent %p, %v : !llvm.ptr<1>, bf16
  func.return
}

// CHECK-LABEL: .entry halves(
func.func @halves(%p: !llvm.ptr<1>, %v: vector<2xf16>) attributes {gpu.kernel} {
  // CHECK: add.rn.f16x2
  // CHECK-NEXT: atom.acquire.sys.global.cas.b32
  %0 = scoped.atomic_rmw fadd acquire system %p, %v : !llvm.ptr<1>, vector<2xf16>
  func.return
}

// CHECK-LABEL: .entry greatest(
func.func @greatest(%p: !llvm.ptr<3>, %v: vector<2xbf16>) attributes {gpu.kernel} {
  // CHECK: max.bf16x2
  // CHECK-NEXT: atom.relaxed.cta.shared.cas.b32
  %0 = scoped.atomic_rmw fmax relaxed workgroup %p, %v : !llvm.ptr<3>, vector<2xbf16>
  func.return
}
