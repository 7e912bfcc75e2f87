// Between GPUs, by multicast addresses (NVLink SHARP): a store to one reaches the memory of each GPU, a
// load gives the sum of the values. Flags are raised in the same way, with a release; each GPU
// waits for its own, by its own address.
//
// fence-sim run --mcpu sm_90 examples/patterns/multicast.mlir

litmus.test @multicast_store {
  litmus.location @data0 = 0 : i32
  litmus.location @data1 = 0 : i32
  litmus.location @flag0 = 0 : i32
  litmus.location @flag1 = 0 : i32
  litmus.multicast @data = [@data0, @data1]
  litmus.multicast @flags = [@flag0, @flag1]
  litmus.thread @P0 at <workgroup = 0, agent = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flags = litmus.address @flags : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.multimem_store weak %one, %data : i32, !llvm.ptr<1>
    scoped.multimem_reduce add release system %one, %flags : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 0, agent = 1> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flag = litmus.address @flag1 : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load acquire system %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    %sum = scoped.multimem_load add weak %data : !llvm.ptr<1> -> i32
    litmus.observe "r0", %sum : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 2)"
}

// A multicast address is another one than that of the memory by itself: between the two stands an alias fence.
litmus.test @multicast_alias {
  litmus.location @data0 = 0 : i32
  litmus.location @data1 = 0 : i32
  litmus.multicast @data = [@data0, @data1] {aliased}
  litmus.thread @P0 at <workgroup = 0, agent = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %own = litmus.address @data0 : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.multimem_store weak %one, %data : i32, !llvm.ptr<1>
    scoped.alias_fence
    %read = scoped.load weak %own : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
  }
  litmus.condition "forall (P0:r0 = 1)"
}

// A flag that is read by a multicast address, as the sum of all: the other GPU's store is then copied by TMA,
// for which the reader fences after its acquire.
litmus.test @multicast_flag_to_tma {
  litmus.location @data = 0 : i32
  litmus.location @flag0 = 0 : i32
  litmus.location @flag1 = 0 : i32
  litmus.location @tile = 0 : i32 in local
  litmus.mbarrier @full count 1
  litmus.multicast @flags = [@flag0, @flag1]
  litmus.thread @P0 at <workgroup = 0, agent = 0> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flags = litmus.address @flags : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    %full = litmus.address @full : !llvm.ptr<3>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.multimem_load add acquire system %flags : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.bulk_copy %tile, %data size 128 mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
    scoped.mbarrier_wait acquire workgroup %full, %zero : !llvm.ptr<3>, i32
    %read = scoped.load weak %tile : !llvm.ptr<3> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.thread @P1 at <workgroup = 0, agent = 1> {
    %data = litmus.address @data : !llvm.ptr<1>
    %flags = litmus.address @flags : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %data : i32, !llvm.ptr<1>
    scoped.multimem_reduce add release system %one, %flags : i32, !llvm.ptr<1>
  }
  litmus.condition "forall (P0:r0 = 1)"
}

// A flag that is raised by a multicast address after a TMA store: the thread waits for the store to be done first.
litmus.test @tma_store_to_multicast_flag {
  litmus.location @out = 0 : i32
  litmus.location @flag0 = 0 : i32
  litmus.location @flag1 = 0 : i32
  litmus.location @tile = 1 : i32 in local
  litmus.multicast @flags = [@flag0, @flag1]
  litmus.thread @P0 at <workgroup = 0, agent = 0> {
    %out = litmus.address @out : !llvm.ptr<1>
    %flags = litmus.address @flags : !llvm.ptr<1>
    %tile = litmus.address @tile : !llvm.ptr<3>
    %one = arith.constant 1 : i32
    scoped.bulk_copy %out, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    scoped.multimem_reduce add release system %one, %flags : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 at <workgroup = 0, agent = 1> {
    %out = litmus.address @out : !llvm.ptr<1>
    %flag = litmus.address @flag1 : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^spin
  ^spin:
    %seen = scoped.load acquire system %flag : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %again, ^spin, ^go
  ^go:
    %read = scoped.load weak %out : !llvm.ptr<1> -> i32
    litmus.observe "r0", %read : i32
    litmus.end
  }
  litmus.condition "forall (P1:r0 = 1)"
}
