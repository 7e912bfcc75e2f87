// RUN: fence-opt %s --mcpu gfx942 -t asm --remarks --verify-diagnostics -o %t
// RUN: fence-opt %s --mcpu gfx942 -t asm --remarks-output %t.yaml -o %t
// RUN: filecheck %s --input-file %t.yaml --check-prefix=YAML

// Plain accesses are remarked on as well: they all have a counter.

// YAML:      --- !Passed
// YAML-NEXT: Pass:            'infer-address-spaces'
// YAML-NEXT: Name:            'AddressSpaceInferred'
// YAML:        - FromSpace:       'generic'
// YAML-NEXT:   - String:          ' to '
// YAML-NEXT:   - ToSpace:         'global'
func.func @from_the_host(%d : !llvm.ptr, %f : !llvm.ptr, %v : i32) attributes {gpu.kernel} {
  %far = llvm.getelementptr %d[4] : (!llvm.ptr) -> !llvm.ptr, i32
  // expected-remark @below {{'store weak' changed from generic to global memory: its pointer comes of the kernel's arguments alone, and the host knows no other memory; it is waited for by vmcnt alone, a flat access by lgkmcnt too}}
  scoped.store weak %v, %far : i32, !llvm.ptr
  // expected-remark @below {{'store release agent' changed from generic to global memory: its pointer comes of the kernel's arguments alone}}
  scoped.store release agent %v, %f : i32, !llvm.ptr
  func.return
}

func.func @from_memory(%table : !llvm.ptr<1>, %out : !llvm.ptr<1>) attributes {gpu.kernel} {
  %q = scoped.load weak %table : !llvm.ptr<1> -> !llvm.ptr
  %next = llvm.getelementptr %q[1] : (!llvm.ptr) -> !llvm.ptr, i32
  // expected-remark-re @below {{'load weak' kept: its pointer stays generic: 'load weak' at line {{[0-9]+}} makes it}}
  %x = scoped.load weak %q : !llvm.ptr -> i32
  // expected-remark-re @below {{'load weak' kept: its pointer stays generic: 'load weak' at line {{[0-9]+}} makes what it is computed of}}
  %y = scoped.load weak %next : !llvm.ptr -> i32
  scoped.store weak %x, %out : i32, !llvm.ptr<1>
  scoped.store weak %y, %out : i32, !llvm.ptr<1>
  func.return
}

func.func @taken_elsewhere(%d : !llvm.ptr, %slot : !llvm.ptr<1>, %v : i32) attributes {gpu.kernel} {
  scoped.store weak %d, %slot : !llvm.ptr, !llvm.ptr<1>
  // expected-remark-re @below {{'store weak' kept: its pointer stays generic: 'store weak' at line {{[0-9]+}} may hand it on, or one of the same memory}}
  scoped.store weak %v, %d : i32, !llvm.ptr
  func.return
}
