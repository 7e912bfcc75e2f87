// What 'fence-sim run-gpu' does without a GPU: the kernels that it would run, and its errors.

// RUN: fence-sim run-gpu %s --sm 90 --emit-ptx | filecheck %s --check-prefixes=PTX,WHOLE
// RUN: fence-sim run-gpu %s --mcpu sm_80 --emit-ptx | filecheck %s --check-prefix=OLDER
// RUN: fence-sim run-gpu %s --sm 90 --without ld.acquire=ld.relaxed --emit-ptx | filecheck %s --check-prefixes=PTX,WEAK
// RUN: not fence-sim run-gpu %s --mcpu gfx942 --emit-ptx 2>&1 | filecheck %s --check-prefix=CDNA
// RUN: not fence-sim run-gpu %s --sm 90 --instances 1000 2>&1 | filecheck %s --check-prefix=INSTANCES
// RUN: not fence-sim run-gpu %s --sm 90 --shared --emit-ptx 2>&1 | filecheck %s --check-prefix=SHARED
// RUN: not fence-sim run-gpu %s --sm 90 --without nothing --json --emit-ptx 2>&1 | filecheck %s --check-prefix=JSON

// OLDER: .target sm_80

// PTX:       .target sm_90
// PTX:       .visible .entry stress(
// PTX:       THREAD_0:
// PTX:       st.weak.global.b32 [%at_data], 42;
// PTX:       st.release.gpu.global.b32 [%at_flag], 1;
// PTX:       bra END;
// PTX:       THREAD_1:
// The consumer gives up rather than keep its partner from being scheduled.
// PTX:       mov.b32 %passes, 4096;
// PTX-NEXT:  LABEL_bb1:
// WHOLE-NEXT: ld.acquire.gpu.global.b32 %my_r1, [%at_flag];
// WEAK-NEXT:  ld.relaxed.gpu.global.b32 %my_r1, [%at_flag];
// PTX-NEXT:  sub.u32 %passes, %passes, 1;
// PTX-NEXT:  setp.eq.u32 %p, %passes, 0;
// PTX-NEXT:  @%p bra GIVE_UP;
// PTX-NEXT:  setp.eq.s32 %p, %my_r1, 0;
// PTX-NEXT:  @%p bra LABEL_bb1;
// PTX:       ld.weak.global.b32 %my_r2, [%at_data];
// PTX:       GIVE_UP:
// PTX:       .visible .entry count(

// CDNA: run-gpu.mlir: error: 'message_passing' is in gfx942, many L2 per agent; a GPU runs {{PTX}}: pass --mcpu sm_90
// INSTANCES: fence-sim: error: instances must be a power of two, and fill the largest block
// SHARED: run-gpu.mlir: error: 'message_passing' cannot be run on a GPU: its threads are in different CTAs and share no shared memory
// JSON: {"severity": "error", "file": "{{.*}}run-gpu.mlir", "line": {{.*}}, "message": "dropping nothing: no synchronising instruction is called so; accepted: {{.*}}"}

litmus.test @message_passing {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0> runs @producer(@data, @flag)
  litmus.thread @P1 at <workgroup = 1> runs @consumer(@data, @flag, "r0")
  litmus.condition "forall (P1:r0 = 42)"
}

func.func @producer(%data: !llvm.ptr<1>, %flag: !llvm.ptr<1>) attributes {gpu.kernel} {
  %payload = arith.constant 42 : i32
  %raised = arith.constant 1 : i32
  scoped.store weak %payload, %data : i32, !llvm.ptr<1>
  scoped.store release agent %raised, %flag : i32, !llvm.ptr<1>
  func.return
}

func.func @consumer(%data: !llvm.ptr<1>, %flag: !llvm.ptr<1>, %out: !llvm.ptr<1>)
    attributes {gpu.kernel} {
  %lowered = arith.constant 0 : i32
  cf.br ^spin
^spin:
  %seen = scoped.load acquire agent %flag : !llvm.ptr<1> -> i32
  %again = arith.cmpi eq, %seen, %lowered : i32
  cf.cond_br %again, ^spin, ^done
^done:
  %payload = scoped.load weak %data : !llvm.ptr<1> -> i32
  scoped.store weak %payload, %out : i32, !llvm.ptr<1>
  func.return
}
