; RUN: not fence-opt %s 2>&1 | filecheck %s
; RUN: fence-opt %s --verify-diagnostics

; CHECK: import-llvm-invalid.ll:7:8: error:

define void @f(ptr %p) {
  %v = lod atomic i32, ptr %p acquire, align 4 ; expected-error {{expected instruction opcode}}
  ret void
}
