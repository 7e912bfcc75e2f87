// RUN: fence-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{the header has no place for the symbol: write {@}}}
llvm_ir.func "define void @f()" @f {
  llvm_ir.terminator "ret void"() : () -> ()
}

// -----

// expected-error@+1 {{the text has places for 1 arguments, but 0 are given}}
llvm_ir.func "define void @{@}(ptr {0})" @f {
  llvm_ir.terminator "ret void"() : () -> ()
}

// -----

llvm_ir.func "define void @{@}()" @f {
  // expected-error@+1 {{the text has places for 2 operands, but 0 are given}}
  llvm_ir.inst "add i32 {0}, {1}"() : () -> ()
  llvm_ir.terminator "ret void"() : () -> ()
}

// -----

llvm_ir.func "define void @{@}()" @f {
^entry:
  // expected-error@+1 {{the text has places for 0 successors, but 1 are given}}
  llvm_ir.terminator "br label %loop"() [^loop] : () -> ()
^loop:
  llvm_ir.terminator "ret void"() : () -> ()
}

// -----

llvm_ir.func "define void @{@}()" @f {
  llvm_ir.inst "call void @g()"() : () -> ()
  // expected-error@+1 {{a label is the first operation of its block}}
  llvm_ir.label "late"
  llvm_ir.terminator "ret void"() : () -> ()
}

// -----

llvm_ir.func "define void @{@}()" @f {
  // expected-error@+1 {{expected the types of operands and result}}
  llvm_ir.inst "call void @g()"() : i32
  llvm_ir.terminator "ret void"() : () -> ()
}

// -----

// expected-error @below {{llvm_ir.lowered_for says what for, as {target = "gfx942", features = ["tgsplit"]}}}
llvm_ir.func "define void @{@}()" @lowered_for_nothing {
  llvm_ir.terminator "ret void"() : () -> ()
} {llvm_ir.lowered_for = {target = "gfx942", features = 3}}

// -----

// expected-error @below {{llvm_ir.lowered_for says what for}}
llvm_ir.func "define void @{@}()" @lowered_for_no_target {
  llvm_ir.terminator "ret void"() : () -> ()
} {llvm_ir.lowered_for = {features = []}}
