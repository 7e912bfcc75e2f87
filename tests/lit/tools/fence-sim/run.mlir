// RUN: fence-sim run %s | filecheck %s --check-prefix=SOURCE
// RUN: fence-sim run %s --mcpu gfx942 | filecheck %s --check-prefix=CDNA
// RUN: fence-sim run %s --mcpu sm_90 --model ptx-6.0 | filecheck %s --check-prefix=PTX
// RUN: not fence-sim run %s --mcpu gfx942 --without buffer_inv | filecheck %s --check-prefix=DAMAGED
// RUN: not fence-sim run %s --mcpu gfx942 --without global_store_dword:sc1 --progress-check | filecheck %s --check-prefix=STUCK
// RUN: not fence-sim run %s --mcpu gfx942 --random 20 | filecheck %s --check-prefix=RANDOM
// RUN: not fence-sim run %s --mcpu sm_90 --random 20 | filecheck %s --check-prefix=RANDOM
// RUN: not fence-sim run %s --random 20 | filecheck %s --check-prefix=RANDOM
// RUN: not fence-sim run %s --mcpu sm_90 --state-limit 5 | filecheck %s --check-prefix=LIMIT
// RUN: not fence-sim run %s --state-limit 5 | filecheck %s --check-prefix=LIMIT
// RUN: not fence-sim run %s --mcpu gfx942 --state-limit 5 | filecheck %s --check-prefix=LIMIT
// RUN: fence-sim run %s --mcpu gfx942 --json | filecheck %s --check-prefix=JSON
// RUN: not fence-sim run %s --test nothing 2>&1 | filecheck %s --check-prefix=NO-TEST

// SOURCE:      Test message_passing (scoped)
// SOURCE-NEXT: States 1
// SOURCE-NEXT: *> P1:r0=42; data=42; flag=1;
// SOURCE-NEXT: Ok
// SOURCE-NEXT: Condition forall (P1:r0 == 42)
// SOURCE-NEXT: Observation message_passing Always 1 0
// SOURCE-NEXT: Ends always
// SOURCE-NEXT: Time message_passing {{[0-9.]+}} s

// CDNA:      Test message_passing (gfx942, many L2 per agent)
// CDNA-NEXT: States 1
// CDNA:      Ok
// CDNA:      Ends always
// CDNA:      Time message_passing {{[0-9.]+}} s, {{[0-9]+}} machine states

// PTX:      Test message_passing (PTX model 6.0)
// PTX:      Ok

// DAMAGED:      States 2
// DAMAGED-NEXT: :> P1:r0=0; data=42; flag=1;
// DAMAGED-NEXT: *> P1:r0=42; data=42; flag=1;
// DAMAGED-NEXT: No
// DAMAGED:      Observation message_passing Sometimes 1 1
// DAMAGED:      Counterexample:
// DAMAGED:      agent 0 XCD 1 CU 1: L1 takes in data=0
// DAMAGED:      global_load v{{[0-9]+}}, data hits the L1, reads 0

// STUCK: May hang: P1 at {{.*}}run.mlir:{{[0-9]+}} repeats {{.*}} and reads flag=0
// STUCK-NEXT: flag: memory 0, L2 of agent 0 XCD 0: 1 dirty

// RANDOM: Incomplete
// RANDOM: Incomplete: 20 random walks
// LIMIT:  Incomplete: limit reached after

// JSON: {"file": "{{.*}}run.mlir", "test": "message_passing", "language": "gfx942, many L2 per agent", "verdict": "holds", "condition": "forall (P1:r0 == 42)", "outcomes": [{"P1:r0": 42, "data": 42, "flag": 1}], "positive": 1, "negative": 0, {{.*}}}

// NO-TEST: run.mlir: error: no test 'nothing' in the module; its tests: message_passing

litmus.test @message_passing {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0, xcd = 0> runs @producer(@data, @flag)
  litmus.thread @P1 at <workgroup = 1, xcd = 1> runs @consumer(@data, @flag, "r0")
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
