// RUN: fence-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{operation 'a.b' is not registered}}
a.b

// -----

func.func @verifier() -> i32 {
  // expected-error @+1 {{property 'value' expected}}
  %0 = "arith.constant"() : () -> i32
  func.return %0 : i32
}

// -----

func.func @regex() {
  "func.call"() : () -> () // expected-error-re {{'callee' expected in {{op[a-z]+}} 'func.call'}}
  func.return
}

// -----

a.b
// expected-error @above {{not registered}}
