; RUN: not fence-opt %s --mcpu sm_90 -t llvm 2>&1 | filecheck %s

; One line that names the place in the user's file.

target triple = "nvptx64-nvidia-cuda"

define void @f(ptr %p, <4 x half> %x) {
; CHECK: lower-nvptx-invalid.ll:9:3: error: {{.*}}no atomic arithmetic on vector<4xf16>; accepted: half, bfloat
  %v = atomicrmw fadd ptr %p, <4 x half> %x seq_cst, align 8
  ret void
}
