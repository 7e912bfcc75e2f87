"""Evidence for each rule of the CDNA machine, with observations on an MI300X.

The rules are those of ``machine``, by number; rows of ``rows`` carry their evidence themselves.
Where the machine allows more than was seen, ``weaker`` says what and why it stays so: it never
allows less. ``tests/litmus/test_cdna_experiments.py`` holds the machine to every experiment.
"""

from dataclasses import dataclass

from fencewright.lowering.evidence import Evidence

MEASURED, DOCUMENTED, INFERRED = Evidence.MEASURED, Evidence.DOCUMENTED, Evidence.INFERRED


@dataclass(frozen=True, slots=True)
class Experiment:
    """A program that was run on hardware: each CU of an MI300X polls the stores of one CU.

    ``rules`` are the numbers of the machine's rules that it speaks of.
    """

    number: int
    title: str
    writer: str
    reader: str
    seen: str
    rules: tuple[int, ...]


EXPERIMENTS_SOURCE = (
    "MrRoy09/AMD-CDNA3-Cache-MicroBenchmarking, commit 90676cc (2026-02-14): an MI300X, its memory "
    "its own, one agent of 8 XCDs and 304 CUs"
)

EXPERIMENTS = (
    Experiment(
        1, "plain store, plain load", "`global_store`", "`global_load`, polled",
        "no other CU ever sees the store; one work-group of the writer's XCD did", (1, 2, 4),
    ),
    Experiment(
        2, "nt loads", "`global_store`", "`global_load nt`, polled",
        "all 38 CUs of the writer's XCD see it within two polls; of each other XCD 0 or 1 of 38 in "
        "200,000 polls, as long as the writer's XCD is busy", (2, 4, 5, 7),
    ),
    Experiment(
        3, "sc1 store", "`global_store sc1`", "`global_load nt`, polled",
        "all 304 CUs see it: the store invalidates the line in the other L2s", (4,),
    ),
    Experiment(
        4, "write-back", "`global_store`; `buffer_wbl2 sc1`", "`global_load nt`, polled",
        "all 304 CUs see it", (3, 4),
    ),
    Experiment(
        5, "sc1 load", "`global_store`", "`global_load sc1`, polled",
        "the 38 CUs of the writer's XCD see it, of the others 0 to 2: the loads of the first "
        "leave the line dirty, and those of the others do not reach it", (4,),
    ),
    Experiment(
        6, "invalidate", "`global_store`", "`buffer_inv sc1`; `global_load`, polled",
        "38 CUs see it, 266 stay stale: an invalidate writes nothing back", (2, 3, 4),
    ),
    Experiment(
        7, "write-back and invalidate", "`global_store`; `buffer_wbl2 sc1`",
        "`buffer_inv sc1`; `global_load`, polled", "all 304 CUs see it", (2, 3, 4),
    ),
    Experiment(
        8, "what a store leaves in the L1", "", "`global_store`; `global_load`; `global_load`",
        "127 cycles for a load after a load, 208 after a store, 116 for the next: a store brings "
        "no "
        "line into the L1", (2,),
    ),
    Experiment(
        9, "what serves an sc1 load", "",
        "`global_load` with each of the bits, of a line that is in "
        "the L2", "1,212 cycles from memory, 112 from the L1; 224 with nt and with sc1, 212 after "
        "`buffer_inv sc1`: the L2 serves them all", (2, 4),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MachineRule:
    """A part of a numbered rule, how well it is known, and from where.

    ``weaker``: what the machine allows beyond what was seen, and why.
    """

    number: int
    rule: str
    evidence: Evidence
    source: str
    weaker: str = ""


RULES = (
    MachineRule(
        1,
        "A wave issues in order; vmcnt counts loads, stores, atomics and cache instructions, and "
        "retires in order.", DOCUMENTED, "MI300 ISA 4.4; llvm/llvm-project#178316, #220694",
        "Flat accesses are counted as they return: MI300 ISA 10.2.2 says that they may return out "
        "of order.",
    ),
    MachineRule(
        1, "lgkmcnt counts LDS operations, in order, and scalar loads, out of order.", DOCUMENTED,
        "MI300 ISA 4.4",
    ),
    MachineRule(
        1, "A full counter (vmcnt 63, lgkmcnt 15) holds up what it would count.", INFERRED,
        "MI300 ISA 4.4 has the widths; a counter that went on would count wrongly",
        "A scalar load of several words counts once; hardware counts it twice, and is held up "
        "sooner.",
    ),
    MachineRule(
        2, "Loads without sc1 may hit the L1; nothing keeps it coherent.", MEASURED,
        "experiments 1, 6, 9; CDNA4 ISA, load control",
        "An nt load may hit too, though it missed in experiments 2 to 4, as the CDNA4 ISA's table "
        "says. It stays: nt is a hint about reuse, and no code should be right because of it.",
    ),
    MachineRule(
        2, "A store writes through: it updates a line that is in the L1, and brings none in.",
        MEASURED, "experiment 8; CDNA4 ISA, store control",
        "Whatever else may bring the line in, by rule 5.",
    ),
    MachineRule(
        2, "An invalidate empties the L1 when it is issued.", MEASURED, "experiments 6 and 7",
    ),
    MachineRule(
        3,
        "From each CU to its L2 there is a queue for each line, in order; different lines in any "
        "order.", DOCUMENTED, "AMDGPUUsage gfx942: channels of the L2 are independent, a queue for "
        "each CU and channel",
        "Lines of one channel would keep their order; which lines share one is a matter of "
        "addresses, which litmus tests do not have.",
    ),
    MachineRule(
        3,
        "A write-back, and an invalidate of the L2, wait for what the CU has queued before them, "
        "and count in vmcnt until they are done.", DOCUMENTED,
        "AMDGPUUsage gfx942; llvm/llvm-project#178316",
    ),
    MachineRule(
        3, "The L1 takes no line in while a store of its CU to that line is queued.", INFERRED,
        "a wave reads its own stores",
    ),
    MachineRule(
        4, "A plain store leaves a dirty line in its L2, which no other L2 sees.", MEASURED,
        "experiments 2, 5 and 6",
    ),
    MachineRule(
        4, "Stores and atomics past the L2 (sc1 with many L2s) are done at memory, and leave no "
        "dirty line.", MEASURED, "experiment 3, for stores; CDNA4 ISA, store control, for atomics",
    ),
    MachineRule(
        4, "A load past the L2 finds a dirty line of its own L2 and leaves it dirty; it does not "
        "reach one of another L2.", MEASURED, "experiments 5 and 9",
        "A clean line is dropped and memory read, as the CDNA4 ISA says (coherent bypass). "
        "Experiment 9 found it served by the L2. For local memory that is the same value, because "
        "probes keep the line as memory is; other memory was not measured.",
    ),
    MachineRule(
        4, "A write that reaches memory drops clean copies of local memory in the other L2s "
        "(probes).", MEASURED, "experiments 3, 4 and 7",
        "Memory is nonlocal unless a test says otherwise: no probe, and an invalidate has to drop "
        "the line. The experiments had local memory; another GPU's, or the host's, has no probes "
        "(AMDGPUUsage gfx942, MTYPE NC), and code does not know which it gets.",
    ),
    MachineRule(
        4, "buffer_wbl2 sc1 writes dirty lines back and keeps them clean.", MEASURED,
        "experiments 4 and 7",
    ),
    MachineRule(
        4, "buffer_inv sc1 drops clean nonlocal lines of the L2, and neither dirty nor local ones.",
        MEASURED, "experiments 6 and 9, for local and dirty lines; AMDGPUUsage gfx942 for nonlocal",
    ),
    MachineRule(
        5,
        "Any clean line may vanish, any line may be fetched, any dirty line may be written back, "
        "at any time.", INFERRED, "capacity, false sharing, prefetches",
        "In experiments 2 and 5 hardly a line was written back in 200,000 polls. It stays: a busy "
        "cache evicts. The progress mode is the other extreme: a line may have been there before "
        "the first instruction, and what is there stays, a dirty line for "
        "ever, as it did there; an execution has to be right in the first and to end in the "
        "second.",
    ),
    MachineRule(
        6, "The scalar cache is kept coherent by nothing; s_dcache_inv empties it.", DOCUMENTED,
        "MI300 ISA 8.2; AMDGPUUsage gfx942: invalidated between dispatches",
        "One for each CU; hardware has one for a few CUs, which others' invalidates empty too.",
    ),
    MachineRule(
        6, "It may hold lines before the first instruction; in the progress mode it does.",
        INFERRED, "another CU's work-group may have brought them in; llvm/llvm-project#219991",
    ),
    MachineRule(
        7, "In the end every dirty line is written back, those of two L2s in either order.",
        MEASURED, "experiment 2: when the work-groups of an XCD have ended, the others see",
    ),
    MachineRule(
        7,
        "LDS operations of a wave are performed in order; flat ones pass them and are passed, but "
        "at one location.", DOCUMENTED, "MI300 ISA 4.4, 10.2.2, 11.1",
    ),
    MachineRule(
        7,
        "s_barrier waits for every wave of the work-group that has not ended, and for no memory.",
        DOCUMENTED, "MI300 ISA 4.3; LLVM FeatureBackOffBarrier",
        "On gfx908, too, which has to have waited: the lowering puts the wait there.",
    ),
)  # fmt: skip
"""By number; 7 is the part of the machine's text outside the numbered rules."""

OLDER_RULES = (
    MachineRule(
        2,
        "A store, whatever its scope, updates a line that is in the L1, and may leave one there "
        "where "
        "none was.", DOCUMENTED,
        "AMDGPUUsage gfx6-gfx9 and gfx90a: stores carry no scope bit; Vega ISA "
        "8.1.10, GLC bit: a store that writes all of a line leaves it valid in the L1",
        "With glc=1 a store leaves nothing of its own, says the same section; the machine has it "
        "update a line that is there.",
    ),
    MachineRule(
        2, "A mate's load may find it there before the store is in the L2.", INFERRED,
        "AMDGPUUsage "
        "gfx6-gfx9 and gfx90a: the waves of a work-group share the L1, and need nothing for "
        "coherence. On gfx10 in CU mode, of which the manual says the same, it was seen to fail: "
        "another wave saw a store that its own release could not wait for "
        "(llvm/llvm-project#160501, #161638)",
    ),
    MachineRule(
        3, "What the mate stores after that to another line may be in the L2 first.", DOCUMENTED,
        "AMDGPUUsage gfx6-gfx9 and gfx90a: the L2 has independent channels, each CU a request "
        "queue for each of them; vmcnt counts the stores of its own wave alone",
    ),
)  # fmt: skip
"""The rules that differ, or weigh more, on gfx908 and gfx90a."""

_GFX125X = "LLVM 24 AMDGPUUsage, Memory Model GFX125x"

GFX1250_RULES = (
    MachineRule(
        1, "Loads, returning atomics and global_inv count in loadcnt; stores, other atomics and "
        "global_wb in storecnt; LDS operations in dscnt. Each counter counts down in the order of "
        "issue, and none waits for another.", DOCUMENTED, _GFX125X,
    ),
    MachineRule(
        1, "Vector registers are written in any order: one that is still to come is waited for "
        "before it is written again.", DOCUMENTED, f"{_GFX125X}; llvm/llvm-project#105549",
    ),
    MachineRule(
        1, "A flat access is done when the counter of where it went says so.", INFERRED,
        f"{_GFX125X}: it counts in dscnt and in one of the others",
        "What the other counter says of it is not taken to mean anything.",
    ),
    MachineRule(
        2,
        "An access goes past every cache of a lesser scope than its own; one of its scope may "
        "serve "
        "it. The WGP$ is of SCOPE_CU, and atomics are never performed in it.", DOCUMENTED, _GFX125X,
        "One level below the WGP$ may be incoherent at a time: the L2s of shader engines, or with "
        "one L2 per agent the agents'.",
    ),
    MachineRule(
        2, "A store of SCOPE_CU updates a line that is in the WGP$, a wider one drops it.",
        INFERRED,
        f"{_GFX125X} has the WGP$ write through, and does not say what stays in it",
    ),
    MachineRule(
        3, "From each WGP$ there is a queue for each line, as from any L1.", INFERRED,
        f"{_GFX125X} has one queue for all lines",
        "The same text lets accesses to different addresses be processed in any order, which is "
        "harder.",
    ),
    MachineRule(
        4, "A load past the L2 writes back what it finds dirty there, and drops the line.",
        INFERRED,
        f"{_GFX125X}: what was loaded is visible to narrower loads from then on",
    ),
    MachineRule(
        4, "global_wb writes back dirty lines of caches of a lesser scope, global_inv drops clean "
        "ones, and dirty ones stay.", DOCUMENTED, _GFX125X,
    ),
    MachineRule(
        7,
        "The WGP$ takes the requests of a wave to one line in order, those to different lines in "
        "any "
        "order; an invalidate is passed by nothing that comes after it.", DOCUMENTED, _GFX125X,
        "The readings below say what may pass an invalidate, or be passed by a write-back, all the "
        "same.",
    ),
    MachineRule(
        8, "A store is done when the level that its scope names has it.", DOCUMENTED, _GFX125X,
        "One of SCOPE_CU is done at the L2, unless the reading acknowledged-early has it done at "
        "the WGP$.",
    ),
    MachineRule(
        8,
        "Barriers are a signal and a wait. One of the work-group counts its waves, one of the "
        "cluster one wave of each work-group, one with a name the signals that it was initialised "
        "for; a wait passes when its phase is complete, and orders no memory.",
        DOCUMENTED, "LLVM 24 AMDGPUExecutionSynchronization",
        "What is undefined at a named barrier is an error: a signal before it is initialised, a "
        "wait by a wave that has not joined it last.",
    ),
    MachineRule(
        8,
        "An asynchronous copy is carried out beside the wave, from its issue on: it loads, stores, "
        "and "
        "is done. Only its counter sees its end; barriers and other accesses are not ordered with "
        "it.",
        DOCUMENTED, f"{_GFX125X}, ASYNCcnt: asynchronous operations are outside the model",
        "Copies to LDS count down in the order of issue, and so do those from it, but not with "
        "each other. Up to eight of a wave may be under way. One by a descriptor, of which a tile "
        "is one word, counts in tensorcnt.",
    ),
)  # fmt: skip
"""Rules that differ on gfx1250; 7 and 8 are the rules of ``requests``.

Not in the machine are translation (xcnt), the bit nv, monitor loads, scratch, and waves that
share a scalar cache with others.
"""

_GFX10_11 = "LLVM 24 AMDGPUUsage, Memory Model GFX10-GFX11"

RDNA_RULES = (
    MachineRule(
        1, "Loads and atomics that return count in vmcnt, stores and other atomics in vscnt, LDS "
        "operations and scalar loads in lgkmcnt. Those of memory, and those of LDS, count down in "
        "the "
        "order of issue, and no counter waits for another.", DOCUMENTED, _GFX10_11,
    ),
    MachineRule(
        1, "A flat access is done when the counter of where it went says so, in no order.",
        INFERRED,
        f"{_GFX10_11}: it counts in lgkmcnt and in one of the others",
        "What the other counter says of it is not taken to mean anything.",
    ),
    MachineRule(
        2, "The L1 is the L0 of a CU, which handles what its waves issue in order. In CU mode a "
        "work-group is on one CU, in WGP mode on one or on two.", INFERRED,
        f"{_GFX10_11}: in CU mode an acquire of the work-group waits for nothing, which is wrong "
        "otherwise",
    ),
    MachineRule(
        2, "glc misses the L0. glc dlc on gfx10, glc on gfx11 misses the L1 of the shader array as "
        "well.", DOCUMENTED, _GFX10_11,
        "Of dlc alone nothing is said: it is taken to miss nothing.",
    ),
    MachineRule(
        3, "From each L0 there is a queue for each line, in order; different lines in any order.",
        DOCUMENTED, f"{_GFX10_11}: a queue for each quadrant of the L1",
        "Lines of one quadrant would keep their order.",
    ),
    MachineRule(
        3,
        "buffer_gl0_inv empties the L0 when it is issued. buffer_gl1_inv drops each line of the L1 "
        "of the shader array; when, the readings below say.", INFERRED,
        f"{_GFX10_11} says of no completion",
    ),
    MachineRule(
        4,
        "What is called the L2 is the L1 of a shader array, which is never dirty; memory is the L2 "
        "of the agent. Stores and atomics are done there, whatever their bits, and drop the line.",
        INFERRED, f"{_GFX10_11}: stores carry no scope, and a release writes nothing back",
        "That a store leaves nothing in the L1 of its shader array is not said.",
    ),
    MachineRule(
        4, "All agents meet at memory: agent scope and system scope are one.", DOCUMENTED,
        f"{_GFX10_11}: the L2 is coherent with other agents, or bypassed",
    ),
)  # fmt: skip
"""Rules that differ on gfx10 and gfx11.

Not in the machine are the MALL, which is coherent, scratch, and waves that share a scalar cache
with others.
"""

_GFX12 = "LLVM 24 AMDGPUUsage, Memory Model GFX12"

GFX12_RULES = (
    MachineRule(
        1, "Loads, atomics that return and global_inv count in loadcnt, stores, other atomics and "
        "global_wb in storecnt, LDS operations in dscnt, scalar loads in kmcnt. Those of the first "
        "three "
        "count down in the order of issue, but registers are written in any order.", DOCUMENTED,
        f"{_GFX12}; llvm/llvm-project#105549",
        "Image instructions, which count in samplecnt and bvhcnt, are not in the machine.",
    ),
    MachineRule(
        2,
        "The L1 is the L0 of a CU, which handles what its waves issue in order, and writes "
        "through. In "
        "CU mode a work-group is on one CU, in WGP mode on one or on two. SCOPE_SE and wider miss "
        "it.",
        DOCUMENTED, _GFX12,
    ),
    MachineRule(
        4,
        "The L2 is the agent's one; a shader array's L1 before it is a buffer, and holds nothing. "
        "SCOPE_SYS passes it. What it has of other agents' memory may be old.", INFERRED,
        f"{_GFX12}: a release to the system has a global_wb, an acquire a global_inv of SCOPE_SYS",
        "Pages that the L2 keeps coherent, or out, would need neither.",
    ),
    MachineRule(
        5,
        "global_inv is not reordered with the wave's accesses, nor is global_wb. Below SCOPE_SYS a "
        "global_wb writes nothing back.", DOCUMENTED, _GFX12,
    ),
)  # fmt: skip
"""The rules that differ on gfx12: gfx1200 and gfx1201."""
