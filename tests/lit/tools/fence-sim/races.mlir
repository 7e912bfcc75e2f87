// RUN: fence-opt %s --mcpu gfx942 -o %t.mlir
// RUN: fence-sim run %t.mlir --races | filecheck %s --check-prefix=ORDERED
// RUN: sed -e "s#cdna.cache buffer_inv.*##" %t.mlir > %t.stale.mlir
// RUN: not fence-sim run %t.stale.mlir --races | filecheck %s --check-prefix=RACE
// RUN: sed -e "s#cdna.cache buffer_wbl2.*##" %t.mlir > %t.dirty.mlir
// RUN: not fence-sim run %t.dirty.mlir --races --json | filecheck %s --check-prefix=JSON
// RUN: fence-opt %s --mcpu gfx1250 -o %t.gfx1250.mlir
// RUN: fence-sim run %t.gfx1250.mlir --races | filecheck %s --check-prefix=WAVE32
// RUN: fence-sim run %S/../../../litmus/ptx/WRC+rel+acq.litmus --races | filecheck %s --check-prefix=ORDERED

// Machine code without a source has the races that its interleavings show.

// ORDERED: Flag no data-race
// RACE: Flag data-race data: P0, 'global_store data, 42' and P1, 'global_load v0, data'
// JSON: "data_race": "race", "data_races": ["data: P0, 'global_store data, 42'
// WAVE32: Flag not decided: races of gfx1250 are not found by execution

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
