; RUN: fence-translate --import-llvm %s | filecheck %s
; RUN: fence-translate --llvm-to-mlir < %s | filecheck %s
; RUN: fence-translate --import-llvm %s | fence-translate --export-llvm | filecheck %s --check-prefix=BACK
; RUN: fence-translate --import-llvm %s | fence-translate --mlir-to-llvmir - | fence-translate --import-llvm | filecheck %s
; RUN: fence-translate --import-llvm %s | fence-opt | fence-opt --print-op-generic | fence-opt | filecheck %s

; Accesses, atomics and fences become scoped operations, all else is carried as text.

; CHECK: llvm_ir.top_level "target triple = \22amdgcn-amd-amdhsa\22"
target triple = "amdgcn-amd-amdhsa"

; CHECK-NEXT: llvm_ir.top_level "@flag = addrspace(1) global i32 0"
@flag = addrspace(1) global i32 0

; CHECK-NEXT: llvm_ir.func "define amdgpu_kernel void @{@}(ptr addrspace(1) noalias {0}, i32 {1}) #0" @kernel {
; CHECK-NEXT: ^entry(%p: !llvm.ptr<1>, %n: i32):
; CHECK-NEXT: llvm_ir.label "entry"
; BACK: define amdgpu_kernel void @kernel(ptr addrspace(1) noalias %p, i32 %n) #0 {
define amdgpu_kernel void @kernel(ptr addrspace(1) noalias %p, i32 %n) #0 {
entry:
; CHECK-NEXT: llvm_ir.terminator "br label {^0}"() [^loop] : () -> ()
  br label %loop
; CHECK-NEXT: ^loop:
; CHECK-NEXT: llvm_ir.label "loop"
loop:
; CHECK-NEXT: %i = llvm_ir.inst "phi i32 [ 0, %entry ], [ {0}, %loop ]"(%next) : (i32) -> i32
; BACK: %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
; CHECK-NEXT: scoped.store weak %i, %p {nontemporal, alignment = 4} : i32, !llvm.ptr<1>
; BACK-NEXT: store i32 %i, ptr addrspace(1) %p, align 4, !nontemporal !0
  store i32 %i, ptr addrspace(1) %p, align 4, !nontemporal !0
; CHECK-NEXT: scoped.fence release workgroup spaces [local] {one_as}
; BACK-NEXT: fence syncscope("workgroup-one-as") release, !mmra !1
  fence syncscope("workgroup-one-as") release, !mmra !1
; CHECK-NEXT: [[ONE:%[0-9]+]] = llvm_ir.constant "1" : i32
; CHECK-NEXT: [[FLAG:%[0-9]+]] = llvm_ir.constant "@flag" : !llvm.ptr<1>
; CHECK-NEXT: scoped.store release system [[ONE]], [[FLAG]] {volatile, alignment = 4, llvm_ir.metadata = "!tbaa !2"} : i32, !llvm.ptr<1>
; BACK-NEXT: store atomic volatile i32 1, ptr addrspace(1) @flag release, align 4, !tbaa !2
  store atomic volatile i32 1, ptr addrspace(1) @flag release, align 4, !tbaa !2
; CHECK-NEXT: %v = scoped.load seq_cst agent %p {alignment = 4} : !llvm.ptr<1> -> i32
; BACK-NEXT: %v = load atomic i32, ptr addrspace(1) %p syncscope("agent") seq_cst, align 4
  %v = load atomic i32, ptr addrspace(1) %p syncscope("agent") seq_cst, align 4
; CHECK-NEXT: %old = scoped.atomic_rmw uinc_wrap acq_rel cluster %p, %v {alignment = 4} : !llvm.ptr<1>, i32
; BACK-NEXT: %old = atomicrmw uinc_wrap ptr addrspace(1) %p, i32 %v syncscope("cluster") acq_rel, align 4
  %old = atomicrmw uinc_wrap ptr addrspace(1) %p, i32 %v syncscope("cluster") acq_rel
; CHECK-NEXT: [[OLD:%[0-9]+]], [[OK:%[0-9]+]] = scoped.cmpxchg acquire relaxed wavefront %p, %v, %old {weak, alignment = 4} : !llvm.ptr<1>, i32
; CHECK-NEXT: %pair = llvm_ir.pack [[OLD]], [[OK]] : i32 -> !llvm_ir.type<"{ i32, i1 }">
; BACK-NEXT: %pair = cmpxchg weak ptr addrspace(1) %p, i32 %v, i32 %old syncscope("wavefront") acquire monotonic, align 4
  %pair = cmpxchg weak ptr addrspace(1) %p, i32 %v, i32 %old syncscope("wavefront") acquire monotonic
; CHECK-NEXT: %ok = llvm_ir.inst "extractvalue { i32, i1 } {0}, 1"(%pair) : (!llvm_ir.type<"{ i32, i1 }">) -> i1
; BACK-NEXT: %ok = extractvalue { i32, i1 } %pair, 1
  %ok = extractvalue { i32, i1 } %pair, 1
; CHECK-NEXT: llvm_ir.inst "call void asm sideeffect \22; {{[{][{]0[}]}} $0\22, \22v\22(i32 {0})"(%n) : (i32) -> ()
; BACK-NEXT: call void asm sideeffect "; {0} $0", "v"(i32 %n)
  call void asm sideeffect "; {0} $0", "v"(i32 %n)
; CHECK-NEXT: %next = llvm_ir.inst "add i32 {0}, 1"(%i) : (i32) -> i32
  %next = add i32 %i, 1
; CHECK-NEXT: llvm_ir.terminator "br i1 {0}, label {^0}, label {^1}"(%ok) [^loop, ^exit] : (i1) -> ()
  br i1 %ok, label %loop, label %exit
exit:
  ret void
}

; CHECK: llvm_ir.top_level "attributes #0 = { nounwind }"
attributes #0 = { nounwind }
!0 = !{i32 1}
!1 = !{!"amdgpu-synchronize-as", !"local"}
!2 = !{!3, !3, i64 0}
!3 = !{!"int", !4}
!4 = !{!"root"}
