; RUN: fence-opt %s --mcpu sm_90 -t "llvm{comments=false}" | filecheck %s

; 16-bit floats go as integers of their width; a vector is updated as a whole.

target triple = "nvptx64-nvidia-cuda"

define half @half(ptr addrspace(1) %p, half %v) {
; CHECK-LABEL: define half @half(
; CHECK: atom.acq_rel.gpu.global.add.noftz.f16 $0, [$1], $2;", "=&h,l,h,~{memory}"
  %r = atomicrmw fadd ptr addrspace(1) %p, half %v syncscope("device") acq_rel
  ret half %r
}

define bfloat @bfloat(ptr addrspace(1) %p, bfloat %v) {
; CHECK-LABEL: define bfloat @bfloat(
; CHECK: atom.release.gpu.global.add.noftz.bf16 $0, [$1], $2;
  %r = atomicrmw fadd ptr addrspace(1) %p, bfloat %v syncscope("device") release
  ret bfloat %r
}

define <2 x half> @halves(ptr addrspace(1) %p, <2 x half> %v) {
; CHECK-LABEL: define <2 x half> @halves(
; CHECK: add.rn.f16x2 {{.*}}atom.relaxed.gpu.global.cas.b32
  %r = atomicrmw fadd ptr addrspace(1) %p, <2 x half> %v syncscope("device") monotonic
  ret <2 x half> %r
}

define <2 x bfloat> @bfloats(ptr addrspace(1) %p, <2 x bfloat> %v) {
; CHECK-LABEL: define <2 x bfloat> @bfloats(
; CHECK: fma.rn.bf16x2 {{.*}}atom.relaxed.gpu.global.cas.b32
  %r = atomicrmw fadd ptr addrspace(1) %p, <2 x bfloat> %v syncscope("device") monotonic
  ret <2 x bfloat> %r
}
