// RUN: fence-opt %s --split-input-file --verify-diagnostics

// One case for each rule of the verifier: what is refused, and the reason that is given.

litmus.test @placement {
  // expected-error @below {{expected one of workgroup, xcd, cu, agent, cluster, each once}}
  litmus.thread @P0 at <wave = 0> {
  }
}

// -----

litmus.test @placement_twice {
  // expected-error @below {{expected one of workgroup, xcd, cu, agent, cluster, each once}}
  litmus.thread @P0 at <xcd = 0, xcd = 1> {
  }
}

// -----

litmus.test @wide {
  // expected-error @below {{a location holds an i32, not i64}}
  litmus.location @x = 0 : i64
}

// -----

litmus.test @private {
  // expected-error @below {{a location is in global or local, not private}}
  litmus.location @x = 0 : i32 in private
}

// -----

litmus.test @kind {
  // expected-error @below {{unknown memory kind 'coherent'; accepted: local, nonlocal, uncached}}
  litmus.location @x = 0 : i32 {kind = "coherent"}
}

// -----

litmus.test @workgroup {
  // expected-error @below {{only a location in local belongs to a work-group}}
  litmus.location @x = 0 : i32 {workgroup = 0 : i64}
}

// -----

// expected-error @below {{threads are called P0, P1 and so on, not P1}}
litmus.test @names {
  litmus.thread @P1 {
  }
}

// -----

// expected-error @below {{either every thread or none says in which cluster it runs}}
litmus.test @clusters {
  litmus.thread @P0 at <cluster = 0> {
  }
  litmus.thread @P1 {
  }
}

// -----

// expected-error @below {{no location 'y'}}
litmus.test @location {
  litmus.location @x = 0 : i32
  litmus.thread @P0 {
    %y = litmus.address @y : !llvm.ptr<1>
  }
}

// -----

// expected-error @below {{P0: no location 'y'}}
litmus.test @argument {
  litmus.thread @P0 runs @kernel(@y)
}
func.func private @kernel()

// -----

litmus.test @value {
  // expected-error @below {{a kernel runs on locations, registers and numbers, @x, "r0" or 2 : i32, not unit}}
  litmus.thread @P0 runs @kernel(unit)
}
func.func private @kernel()

// -----

litmus.test @register {
  litmus.thread @P0 {
    %v = arith.constant 0 : i32
    // expected-error @below {{registers are called r0, r1 and so on, not 'old'}}
    litmus.observe "old", %v : i32
  }
}

// -----

litmus.test @register_argument {
  // expected-error @below {{registers are called r0, r1 and so on, not 'out'}}
  litmus.thread @P0 runs @kernel("out")
}
func.func private @kernel()

// -----

litmus.test @twice {
  // expected-error @below {{register 'r0' is observed twice}}
  litmus.thread @P0 {
    %v = arith.constant 0 : i32
    litmus.observe "r0", %v : i32
    litmus.observe "r0", %v : i32
  }
}

// -----

litmus.test @early {
  litmus.thread @P0 {
    %v = arith.constant 0 : i32
    // expected-error @below {{a register is observed in a block that ends the thread; pass the value there}}
    litmus.observe "r0", %v : i32
    cf.br ^end
  ^end:
    litmus.end
  }
}

// -----

litmus.test @syntax {
  // expected-error @below {{condition, character 15: expected a comparison, found '1'}}
  litmus.condition "exists (P0:r0 1)"
}

// -----

// expected-error @below {{the condition names P0:r1, which nothing in the test sets}}
litmus.test @unknown_register {
  litmus.thread @P0 {
    %v = arith.constant 0 : i32
    litmus.observe "r0", %v : i32
  }
  litmus.condition "exists (P0:r1 = 1)"
}

// -----

// expected-error @below {{the condition names y, which nothing in the test sets}}
litmus.test @unknown_location {
  litmus.location @x = 0 : i32
  litmus.condition "forall (y = 1)"
}

// -----

// expected-error @below {{a test has one condition at most}}
litmus.test @conditions {
  litmus.location @x = 0 : i32
  litmus.condition "forall (x = 1)"
  litmus.condition "forall (x = 0)"
}

// -----

// expected-error @below {{'arith.constant' in a test; accepted: litmus.location, .mbarrier, .multicast, .thread and .condition}}
litmus.test @stray {
  %v = arith.constant 0 : i32
}

// -----

// expected-error @below {{'litmus.location' expects parent op 'litmus.test'}}
litmus.location @x = 0 : i32

// -----

litmus.test @mbarrier_count {
  // expected-error @below {{count must be at least 1, not 0}}
  litmus.mbarrier @b count 0
}

// -----

litmus.test @tensor_and_local {
  // expected-error @below {{a location is in tensor memory or in an address space, not both}}
  litmus.location @t = 0 : i32 in local {tensor}
}

// -----

litmus.test @global_variable {
  // expected-error @below {{only a location in local is a variable of kernels}}
  litmus.location @x = 0 : i32 {variable = @tile}
}

// -----

// expected-error @below {{no location 'y'}}
litmus.test @no_tensor {
  litmus.location @map = 0 : i32 {describes = [@y]}
}

// -----

// expected-error @below {{no location 'y'}}
litmus.test @multicast_of_nothing {
  litmus.location @x = 0 : i32
  litmus.multicast @all = [@x, @y]
  litmus.thread @P0 {
  }
}

// -----

litmus.test @multicast_of_none {
  // expected-error @below {{a multicast address stands for at least one location}}
  litmus.multicast @all = []
}
