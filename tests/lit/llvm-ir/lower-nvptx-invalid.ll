; RUN: not fence-opt %s --mcpu sm_90 -t llvm 2>&1 | filecheck %s

; One line that names the place in the user's file.

target triple = "nvptx64-nvidia-cuda"

define void @f(ptr %p, half %x) {
; CHECK: lower-nvptx-invalid.ll:9:3: error: {{.*}}16 bits may be f16 or bf16
  %v = atomicrmw fadd ptr %p, half %x seq_cst, align 2
  ret void
}
