; RUN: fence-opt %s --import-llvm --mcpu gfx942 --mattr=+tgsplit -O0 -t llvm | filecheck %s
; RUN: fence-opt %s --import-llvm --mcpu gfx942 --mattr=+tgsplit -t llvm | filecheck %s
; RUN: fence-opt %s --import-llvm --mcpu gfx942 -t llvm | filecheck %s --check-prefix=OFF

; LLVM has to compile for the mode that the code is for, and has it from each function.

; CHECK:      define void @plain(ptr addrspace(1) %p) [[PLAIN:#[0-9]+]] {
; CHECK:      define void @grouped(ptr addrspace(1) %p) [[GROUPED:#[0-9]+]] {
; CHECK:      declare void @elsewhere() [[OTHER:#[0-9]+]]
; CHECK:      attributes [[PLAIN]] = { "target-features"="+tgsplit" }
; CHECK-NEXT: attributes [[GROUPED]] = { nounwind "target-features"="+sramecc,+tgsplit" }
; CHECK-NEXT: attributes [[OTHER]] = { nounwind "target-features"="+sramecc" }
; OFF-NOT:    +tgsplit

target triple = "amdgcn-amd-amdhsa"

define void @plain(ptr addrspace(1) %p) {
  store atomic i32 1, ptr addrspace(1) %p syncscope("workgroup") release, align 4
  ret void
}

define void @grouped(ptr addrspace(1) %p) #0 {
  store atomic i32 1, ptr addrspace(1) %p syncscope("workgroup") release, align 4
  ret void
}

declare void @elsewhere() #0

attributes #0 = { nounwind "target-features"="+sramecc" }
