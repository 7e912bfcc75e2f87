// RUN: fence-opt %s -p "lower-scoped-llvm-ir{mcpu=gfx942}" -t llvm | filecheck %s
// RUN: fence-opt %s -p "lower-scoped-llvm-ir{mcpu=gfx942}" -t llvm | fence-opt --import-llvm
// RUN: not fence-opt %s -t llvm 2>&1 | filecheck %s --check-prefix=EARLY

// A barrier has no instruction of LLVM's: all of it is assembly that every wave has to meet at.

// EARLY: lower-barrier.mlir:15:3: error: scoped.barrier cannot be written as LLVM IR: LLVM IR has no barrier; lower it first with lower-scoped-llvm-ir

// CHECK: fence syncscope("singlethread") release
// CHECK-NEXT: call void asm sideeffect "{{.*}}s_barrier{{.*}}", "~{memory}"() #[[CONVERGENT:[0-9]+]]
// CHECK-NEXT: fence syncscope("singlethread") acquire
// CHECK: attributes #[[CONVERGENT]] = { convergent }

llvm_ir.func "define void @{@}()" @f {
  scoped.barrier workgroup
  llvm_ir.terminator "ret void"() : () -> ()
}
