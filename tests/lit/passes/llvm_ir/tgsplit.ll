; RUN: fence-opt %s --import-llvm --mcpu gfx942 --mattr=+tgsplit -O0 -t "llvm{comments=false}" | filecheck %s
; RUN: fence-opt %s --import-llvm --mcpu gfx942 --mattr=+tgsplit -t "llvm{comments=false}" | filecheck %s
; RUN: fence-opt %s --import-llvm --mcpu gfx942 -t "llvm{comments=false}" | filecheck %s --check-prefix=OFF

; LLVM has to compile for the mode that the code is for, and has it from each function.

; CHECK:      define void @plain(ptr addrspace(1) %p) [[PLAIN:#[0-9]+]] {
; Of several groups the last one that says something holds.
; CHECK:      define void @grouped(ptr addrspace(1) %p) [[OTHER:#[0-9]+]] [[GROUPED:#[0-9]+]] {
; CHECK:      declare void @elsewhere() [[OTHER]]{{$}}
; CHECK:      attributes [[OTHER]] = { nounwind "target-features"="+sramecc" }
; CHECK-NEXT: attributes [[PLAIN]] = { "target-features"="+tgsplit" }
; CHECK-NEXT: attributes [[GROUPED]] = { "target-features"="+sramecc,+tgsplit" }
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
