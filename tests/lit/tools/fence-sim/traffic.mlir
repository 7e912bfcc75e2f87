// RUN: fence-sim traffic %s --mcpu gfx942 --grid 16 --block 64 --arg bytes:8192 --arg i32:16 | filecheck %s --check-prefix=CDNA
// RUN: fence-sim traffic %s --mcpu sm_90 --grid 16 --block 64 --arg bytes:8192 --arg i32:16 | filecheck %s --check-prefix=PTX
// RUN: fence-sim traffic %s --mcpu sm_90 --grid 16 --block 64 --arg bytes:8192 --arg i32:16 --sample 4 | filecheck %s --check-prefix=SAMPLE
// RUN: fence-sim traffic %s --mcpu gfx942 --grid 16 --block 64 --arg bytes:8192 --arg i32:16 --partition CPX | filecheck %s --check-prefix=CPX
// RUN: fence-sim traffic %s --mcpu gfx942 --grid 16 --block 64 --arg bytes:8192 --arg i32:16 --json | filecheck %s --check-prefix=JSON
// RUN: fence-opt %s --mcpu gfx942 | fence-sim traffic - --mcpu gfx942 --grid 16 --block 64 --arg bytes:8192 --arg i32:16 | filecheck %s --check-prefix=LOWERED
// RUN: fence-opt %s --mcpu sm_90 | fence-sim traffic - --mcpu sm_90 --grid 16 --block 64 --arg bytes:8192 --arg i32:16 | filecheck %s --check-prefix=PTX-LOWERED

// Every wave writes the words of two lines, releases, and sets the flag of its work-group.

func.func @publish(%data: !llvm.ptr<1>, %flags: !llvm.ptr<1>) attributes {gpu.kernel} {
  %one = arith.constant 1 : i32
  %threads = arith.constant 64 : i32
  %thread_index = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %thread = arith.index_cast %thread_index : index to i32
  %group_index = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %group = arith.index_cast %group_index : index to i32
  %first = arith.muli %group, %threads : i32
  %i = arith.addi %first, %thread : i32
  %place = llvm.getelementptr %data[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %flag = llvm.getelementptr %flags[%group] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  scoped.store weak %one, %place : i32, !llvm.ptr<1>
  scoped.store release agent %one, %flag : i32, !llvm.ptr<1>
  func.return
}

// A write-back for each wave: two on each of eight dies. Each die writes its own lines.
// CDNA:      publish on gfx942 (mi300x, 8 XCDs of 38 CUs): 16 work-groups of 64 threads
// CDNA:      {{.*}}traffic.mlir:22:3  global_store_dword {{.*}}, off {{ *}}16 {{ *}}64 {{ *}}100% {{.*}}50%
// CDNA:      {{.*}}traffic.mlir:23:3  global_store_dword {{.*}} sc1 {{ *}}16 {{ *}}16 {{ *}}6.25%
// CDNA:      {{.*}}traffic.mlir:23:3  buffer_wbl2 sc1 {{ *}}16  - {{ *}}32 lines (4,096 bytes) {{.*}}230 to 480 ns: 2 write-backs in series on one die
// CDNA:      {{.*}}traffic.mlir:23:3  s_waitcnt vmcnt(0) {{ *}}16  16 stores to global memory (at most 1 of a wave)
// CDNA:      L2 - last-level cache {{.*}}4,608
// CDNA:      occupancy  {{.*}} of each CU
// CDNA:      time {{.*}}(a range, inferred; without launch, arithmetic, bank conflicts and what accesses wait for others)
// CDNA:      TCC_WRITEBACK {{ *}}32  inferred

// PTX:      publish on sm_90 (h200, 132 SMs): 16 work-groups of 64 threads
// PTX:      {{.*}}traffic.mlir:22:3  st.weak.global.b32 {{ *}}32 {{ *}}128 {{ *}}100% {{ *}}- {{ *}}100%
// PTX:      {{.*}}traffic.mlir:23:3  {{.*}}32 stores to global memory (at most 1 of a wave) {{.*}}314 to 946 ns: one execution
// PTX:      L2 - memory {{ *}}0 {{ *}}0
// PTX:      l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum {{ *}}160  measured

// SAMPLE: 4 of 16 work-groups

// One L2 needs no write-back.
// CPX:     publish on gfx942 (mi300x, 38 CUs)
// CPX-NOT: buffer_wbl2

// JSON: {"kernel": "publish", "target": "gfx942", "device": "mi300x", "grid": [16, 1, 1], "block": [64, 1, 1]
// JSON-SAME: "written_lines": 32, "written_bytes": 4096

// LOWERED: buffer_wbl2 sc1 {{.*}}32 lines (4,096 bytes)

// PTX-LOWERED: l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum {{ *}}160  measured
