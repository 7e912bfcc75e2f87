// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942 stores=back}" -t asm --remarks --verify-diagnostics -o %t
// RUN: fence-opt %s -p "cdna-pipeline{mcpu=gfx942 stores=back}" -t asm --remarks-output %t.yaml -o %t
// RUN: filecheck %s --input-file %t.yaml --check-prefix=YAML

// Kernels of examples/kernels-cdna, each remark where it belongs. Remarks that nothing expects
// are no errors.

// A write-back that stays, and what would let it go; it begins early.
// expected-remark @below {{memory operations of 'mp_producer' cost 108 (estimated), as written 108 (estimated)}}
func.func @mp_producer(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %n : i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^loop(%zero : i32)
^loop(%i : i32):
  %far = llvm.getelementptr %d[300] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  scoped.store weak %i, %d : i32, !llvm.ptr<1>
  scoped.store weak %one, %far : i32, !llvm.ptr<1>
  %next = arith.addi %i, %one : i32
  // expected-remark @+4 {{'store release agent' becomes 'buffer_wbl2 sc1', 's_waitcnt vmcnt(0) lgkmcnt(0)', 'global_store_dword sc1'; costs 106 (estimated)}}
  // expected-remark-re @+3 {{'buffer_wbl2 sc1' kept: 'global_store_dword' at line {{[0-9]+}} leaves a dirty line (256 bytes a wave); it takes a wave (of up to 16 in a work-group) 115 to 240 ns, one after another on an XCD; an agent with one L2 (--l2-per-agent one) needs none; stores that go through leave nothing dirty (--assume coherent-stores); less would do if no L2 keeps the global memory that the kernel accesses (MTYPE UC) (--assume uncached-memory); costs 96 (estimated)}}
  // expected-remark-re @+2 {{'buffer_wbl2 sc1' moved: it begins right behind 'global_store_dword' at line {{[0-9]+}}, while other work is done}}
  // expected-remark @+1 {{'s_waitcnt vmcnt(0) lgkmcnt(0)' changed to 's_waitcnt vmcnt(0)'}}
  scoped.store release agent %next, %f : i32, !llvm.ptr<1>
  %more = arith.cmpi ult, %next, %n : i32
  cf.cond_br %more, ^loop(%next : i32), ^done
^done:
  func.return
}

// An invalidate leaves the loop.
func.func @mp_consumer_acquire_load(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %one = arith.constant 1 : i32
  cf.br ^spin
^spin:
  // expected-remark-re @below {{'buffer_inv sc1' moved: only the way to line {{[0-9]+}} needs it}}
  %seen = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %set = arith.cmpi eq, %seen, %one : i32
  cf.cond_br %set, ^done, ^spin
^done:
  %x = scoped.load weak %d : !llvm.ptr<1> -> i32
  scoped.store weak %x, %o : i32, !llvm.ptr<1>
  func.return
}

// The acquire of a compare-exchange is paid for once it has succeeded.
func.func @spin_lock(%d : !llvm.ptr<1>, %l : !llvm.ptr<1>) attributes {gpu.kernel, gpu.known_block_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^try
^try:
  // expected-remark @+3 {{'cmpxchg acquire relaxed agent' changed to 'cmpxchg relaxed relaxed agent': an acquire fence on the way of its success does the rest}}
  // expected-remark @+2 {{'cmpxchg relaxed relaxed agent', 'fence acquire agent' become 'global_atomic_cmpswap sc0'}}
  // expected-remark-re @+1 {{'buffer_inv sc1' kept: 'global_load_dword' at line {{[0-9]+}} may find a stale line; loads with scope bits of their own do not need it; costs 24 (estimated)}}
  %old, %taken = scoped.cmpxchg acquire relaxed agent %l, %zero, %one : !llvm.ptr<1>, i32
  cf.cond_br %taken, ^in, ^try
^in:
  %a = scoped.load weak %d : !llvm.ptr<1> -> i32
  %b = arith.addi %a, %one : i32
  scoped.store weak %b, %d : i32, !llvm.ptr<1>
  scoped.store release agent %zero, %l : i32, !llvm.ptr<1>
  func.return
}

// One fence does the work of two; the store of the flag is written through already.
// expected-remark @below {{memory operations of 'two_release_fences' cost 117 (estimated), as written 317 (estimated)}}
func.func @two_release_fences(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %v : i32) {
  scoped.store weak %v, %d : i32, !llvm.ptr<1>
  scoped.fence release agent
  // expected-remark-re @below {{'fence release agent' removed: 'fence release agent' at line {{[0-9]+}} does its work; saves 104 (estimated) [passed: merge-fences]}}
  scoped.fence release agent
  scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>
  // expected-remark-re @+1 {{'buffer_wbl2 sc1' removed: nothing is dirty since 'buffer_wbl2 sc1' at line {{[0-9]+}}; saves 96 (estimated)}}
  scoped.store release agent %v, %f : i32, !llvm.ptr<1>
  func.return
}

// What is not merged, and why.
func.func @apart(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %v : i32) {
  scoped.fence seq_cst agent
  %x = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  // expected-remark-re @below {{'fence seq_cst agent' kept: 'load relaxed agent' at line {{[0-9]+}} stands between it and 'fence seq_cst agent' at line {{[0-9]+}}}}
  scoped.fence seq_cst agent
  scoped.store weak %x, %d : i32, !llvm.ptr<1>
  func.return
}

// Nothing is dirty as a kernel begins, and nobody looks into the caches before it ends.
func.func @dekker(%x : !llvm.ptr<1>, %y : !llvm.ptr<1>, %v : i32) {
  // expected-remark @below {{'buffer_wbl2 sc1' removed: nothing is dirty since the kernel began; saves 96 (estimated)}}
  scoped.store seq_cst agent %v, %x : i32, !llvm.ptr<1>
  // expected-remark @+3 {{'buffer_inv sc1' removed: nobody looks into those caches before the kernel ends; saves 24 (estimated)}}
  // expected-remark-re @+2 {{'s_waitcnt vmcnt(0) lgkmcnt(0)' changed to 's_waitcnt vmcnt(0)': 'global_store_dword sc1' at line {{[0-9]+}} has to be complete, no access to LDS has}}
  // expected-remark-re @+1 {{'s_waitcnt vmcnt(0)' kept: 'global_load_dword sc1' at line {{[0-9]+}} has to be complete; costs 8 (estimated)}}
  %r = scoped.load seq_cst agent %y : !llvm.ptr<1> -> i32
  scoped.store relaxed agent %r, %x : i32, !llvm.ptr<1>
  func.return
}

// Loads that prefetch stay on their way.
func.func @fence_after_prefetch(%d : !llvm.ptr<1>, %f : !llvm.ptr<1>, %o : !llvm.ptr<1>) {
  %seen = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32
  %far = llvm.getelementptr %d[300] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %a = scoped.load weak %d : !llvm.ptr<1> -> i32
  %b = scoped.load weak %far : !llvm.ptr<1> -> i32
  // expected-remark-re @below {{'s_waitcnt vmcnt(0) lgkmcnt(0)' changed to 's_waitcnt vmcnt(2)': 'global_load_dword sc1' at line {{[0-9]+}} has to be complete, what was issued behind it has not; saves 4 (estimated)}}
  scoped.fence acquire agent
  %c = scoped.load weak %far : !llvm.ptr<1> -> i32
  %ab = arith.addi %a, %b : i32
  %abc = arith.addi %ab, %c : i32
  %sum = arith.addi %abc, %seen : i32
  scoped.store weak %sum, %o : i32, !llvm.ptr<1>
  func.return
}

// A work-group of one wave has nobody to wait for; one of which nothing is known might.
func.func @one_wave(%d : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel, gpu.known_block_size = array<i32: 64, 1, 1>} {
  scoped.store weak %v, %d : i32, !llvm.ptr<1>
  // expected-remark @below {{'barrier acq_rel workgroup' changed to 'barrier acq_rel wavefront': no work-group has more than one wavefront}}
  scoped.barrier workgroup
  func.return
}
func.func @some_waves(%d : !llvm.ptr<1>, %v : i32) {
  scoped.store weak %v, %d : i32, !llvm.ptr<1>
  // expected-remark @below {{'barrier acq_rel workgroup' kept: less would do if no work-group has more than one wavefront (--assume single-wave-workgroup)}}
  scoped.barrier workgroup
  func.return
}

// YAML:      Pass:            'merge-fences'
// YAML-NEXT: Name:            'FenceMerged'
// YAML-NEXT: DebugLoc:        { File: '{{.*}}expected.mlir', Line: {{[0-9]+}}, Column: 3 }
// YAML-NEXT: Function:        'two_release_fences'
// YAML-NEXT: Args:
// YAML-NEXT:   - String:          ''''
// YAML-NEXT:   - Operation:       'fence release agent'
// YAML-NEXT:   - String:          ''' removed: '''
// YAML-NEXT:   - By:              'fence release agent'
// YAML-NEXT:   - String:          ''''
// YAML-NEXT:   - Line:            ' at line {{[0-9]+}}'
// YAML-NEXT:     DebugLoc:        { File: '{{.*}}expected.mlir', Line: {{[0-9]+}}, Column: 3 }
// YAML-NEXT:   - String:          ' does its work; saves '
// YAML-NEXT:   - Saved:           '104'
// YAML-NEXT:   - String:          ' (estimated)'
// YAML-NEXT: ...
