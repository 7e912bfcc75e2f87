; RUN: not fence-translate --import-llvm %s -o %t.mlir 2>&1 | filecheck %s
; RUN: not fence-translate --import-llvm %S/missing.ll 2>&1 | filecheck %s --check-prefix=MISSING
; RUN: not fence-translate --import-llvm < /dev/null 2>&1 | filecheck %s --check-prefix=EMPTY
; RUN: not fence-translate --export-llvm %s 2>&1 | filecheck %s --check-prefix=NOT-MLIR

; One line that names the place in the user's file, also for what LLVM itself accepts.

; MISSING: missing.ll: error: No such file or directory
; EMPTY: <stdin>: error: the input is empty
; NOT-MLIR: llvm-ir-import-invalid.ll:1:1: error:

define void @f(ptr %p) {
; CHECK: llvm-ir-import-invalid.ll:14:3: error: cannot carry 'store atomic i32 0, ptr %p syncscope("vendor") release, align 4': unknown syncscope "vendor"; known: {{.*}}"agent-one-as"
  store atomic i32 0, ptr %p syncscope("vendor") release, align 4
  ret void
}
; CHECK-NOT: {{.}}
