"""The reach of cache policy bits and cache instructions on each generation of CDNA chips, as rows.

They are apart from the lowering's on purpose: a fault in one shows against the other. Where the
lowering does not know whether cache maintenance counts in vmcnt
(``lowering.cdna.instructions.CACHE_COUNTS``), the machine has to take it one way or the other;
where it does, tests/unit/test_chips.py holds both to one answer.
A machine configuration is a chip, tgsplit, how many L2s one agent has, and on chips whose documents
leave things open, the readings taken; the machine itself knows no chip. ``nt`` (gfx908, gfx90a,
gfx10, gfx11: ``slc``; gfx1250: ``th``) is a hint to the replacement policy and stripped before a
row is looked up. On gfx1250 the L1 is the WGP$; what is called the L2 is the one cache below it
that may be incoherent: with many L2s per agent the L2 of some shader engines (SCOPE_SE), with one
the agent's (SCOPE_DEV). Waves that share it have one ``Placement.xcd``. On gfx10 and gfx11 the L1
is the L0 of a CU, tgsplit is WGP mode, and what is called the L2 is the read-only L1 of a shader
array: every write is done after it, at the agent's L2, which is the memory of the machine. On gfx12
the L1 is the L0 of a CU, tgsplit is WGP mode, and the L2 is the agent's one.
Sources: AMDGPUUsage = LLVM 22 AMDGPUUsage, "Memory Model" of the chip; GFX125x = the same of LLVM
24, "Memory Model GFX125x"; GFX12 = the same, "Memory Model GFX12"; GFX10-11 = the same, "Memory
Model GFX10-GFX11"; CDNA4 ISA = its load and store control tables (scope from sc1 sc0: 00 wave, 01
group, 10 agent, 11 system); MI300X = the experiments of docs/cdna-machine.md. A row's evidence
is the strongest that it has.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fencewright.lowering.cdna.chips import (
    DEFAULT_CHIP,
    KNOWN_CHIPS,
    ChipRow,
    Counter,
    Generation,
)
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.evidence import Evidence
from fencewright.lowering.table import Illegal, Table, row
from fencewright.lowering.vocabulary import FastStrEnum, L2PerAgent
from fencewright.simulator.core.program import ProgramError

GFX908, GFX90A, GFX1250 = Generation.GFX908, Generation.GFX90A, Generation.GFX1250
OLD, NEW = (GFX908, GFX90A), Generation.GFX942
GFX9 = (*OLD, NEW)
GFX12, SCOPED = Generation.GFX1200, (Generation.GFX1200, GFX1250)
GFX10, GFX11 = RDNA = (Generation.GFX1030, Generation.GFX1100)
ONE, MANY = L2PerAgent.ONE, L2PerAgent.MANY

HINTS = frozenset(
    {
        "nt",
        "slc",
        "scope:SCOPE_CU",
        *(
            f"th:TH_{access}_{hint}"
            for access in ("LOAD", "STORE", "ATOMIC")
            for hint in ("RT", "NT", "HT", "LU", "WB", "RT_NT", "NT_RT", "NT_HT", "NT_WB")
        ),
    }
)
"""Modifiers that order nothing; and the scope that an access of gfx1250 has if it names none."""

RETURNS = "th:TH_ATOMIC_RETURN"
SCOPES = ("scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS")
SE, DEV, SYS = SCOPES
SCOPE_BITS = (*SCOPES, RETURNS, *(f"{each} {RETURNS}" for each in SCOPES))
GFX9_BITS = ("sc0", "sc1", "sc0 sc1", "glc")
DLC_BITS = ("dlc", "dlc glc")
BITS = ("", *GFX9_BITS, *DLC_BITS, *SCOPE_BITS)
AGENT, SYSTEM = "sc1", "sc0 sc1"


@dataclass(frozen=True, slots=True)
class AccessEffect:
    """The effect of an access on the caches.

    ``l1``: a load may hit the L1, a store updates a line present in it (else: drops it), or with
    ``brings_in`` may leave one there where none was.
    ``past_l2``: served by memory; the L2's line is written back if dirty, and dropped.
    ``returns``: an atomic with these bits returns the old value. ``acknowledged_early``: a store
    is done when the L1 has it, ``stays``: it updates a line of the L1, under the readings
    ``ACKNOWLEDGED_EARLY`` and ``STORE_STAYS``.
    """

    l1: bool
    past_l2: bool
    returns: bool = False
    acknowledged_early: bool = False
    stays: bool = False
    brings_in: bool = False


@dataclass(frozen=True, slots=True)
class CacheEffect:
    """The effect of a cache instruction.

    ``l1``: empties the CU's L1 when issued. ``marker``: goes through every queue of the CU to
    the L2 and there, line by line, with ``write_back`` writes a dirty line back, with
    ``invalidate`` drops a clean nonlocal one, without ``marker`` as it is issued. ``counts``: it
    counts, ``as_store`` with the stores where loads have another counter (``COUNTED``). ``scalar``:
    empties the scalar cache. ``deferred``: later requests of its wave may pass it, ``overtakes``:
    it may pass earlier ones that are not acknowledged, ``queued``: it is a marker, ``uncounted``:
    it does not count after all, under the readings of these names.
    """

    l1: bool = False
    marker: bool = False
    write_back: bool = False
    invalidate: bool = False
    counts: bool = False
    as_store: bool = False
    scalar: bool = False
    deferred: bool = False
    overtakes: bool = False
    queued: bool = False
    uncounted: bool = False

    @property
    def is_at_once(self) -> bool:
        """True if it drops lines of the L2 as it is issued."""
        return self.invalidate and not self.marker

    @property
    def counted_as(self) -> "CounterClass":
        """The class of its count, if it counts."""
        return CounterClass.WRITE_BACK if self.as_store else CounterClass.INVALIDATE


class Interpretation(FastStrEnum):
    """The harder reading of a point that the documents of a chip leave open."""

    LATE_INVALIDATE = "late-invalidate"
    WRITE_BACK_OVERTAKES = "write-back-overtakes"
    ACKNOWLEDGED_EARLY = "acknowledged-early"
    QUEUED_INVALIDATE = "queued-invalidate"
    UNCOUNTED_INVALIDATE = "uncounted-invalidate"
    STORE_STAYS = "store-stays"


_GFX10_11 = "GFX10-11"

READINGS: Table[str] = Table(
    "readings of what is left open",
    {"reading": Interpretation},
    [
        row("later requests of its wave may pass an invalidate of DEV or SYS until loadcnt says "
            "that it is done",
            "GFX125x: a global_inv is to be waited for, which llvm/llvm-project#175865 added; its "
            "table of cache instructions says that it is not reordered", Evidence.INFERRED,
            reading=Interpretation.LATE_INVALIDATE),
        row("a write-back may pass earlier requests of its own wave that are not acknowledged",
            "GFX125x: they are to be waited for before a global_wb, which llvm/llvm-project#175865 "
            "added; its table of cache instructions says that it is kept in order",
            Evidence.INFERRED, reading=Interpretation.WRITE_BACK_OVERTAKES),
        row("a store of SCOPE_CU counts as done when the WGP$ has it",
            "GFX125x: a cache of an access's scope can report it complete. LLVM 24 needs it not "
            "to: a "
            "release at cluster scope has no write-back", Evidence.INFERRED,
            reading=Interpretation.ACKNOWLEDGED_EARLY),
        row("a buffer_gl1_inv drops each line of the shader array's L1 after what its CU has "
            "queued for it; else it is done as it is issued",
            f"{_GFX10_11} says of no completion; buffer_inv of gfx942 travels so "
            "(llvm/llvm-project#220694)", Evidence.INFERRED,
            reading=Interpretation.QUEUED_INVALIDATE),
        row("a buffer_gl1_inv that is queued counts in no counter; else in vmcnt",
            f"{_GFX10_11}: vmcnt is of loads; LLVM SIInsertWaitcnts takes it for no access. LLVM "
            "24 "
            "needs it to count at -O0 already: the vmcnt(0) of a release is all that orders it "
            "before "
            "what the work-group is told", Evidence.INFERRED,
            reading=Interpretation.UNCOUNTED_INVALIDATE),
        row("a store updates a line that is in the L0 of its CU, where others see it before it is "
            "anywhere else; else it drops the line",
            f"{_GFX10_11} and GFX12 have the L0 write through, and do not say what stays in it. "
            "LLVM 24 needs it "
            "not to, in CU mode: a relaxed load of the work-group may find in the L0 what a "
            "release "
            "to the agent does not wait for", Evidence.INFERRED,
            reading=Interpretation.STORE_STAYS),
    ],
)  # fmt: skip
"""(reading) -> the assumed behaviour, and the text that leaves it open."""

EVERY_READING = frozenset(Interpretation)
"""The hardest machine."""

DEFAULT_READINGS = EVERY_READING - {
    Interpretation.ACKNOWLEDGED_EARLY,
    Interpretation.UNCOUNTED_INVALIDATE,
    Interpretation.STORE_STAYS,
}
"""The hardest machine on which LLVM 24 at -O0 is right wherever it is on any (docs/gfx1250.md)."""


class CounterClass(FastStrEnum):
    """The classes that counters distinguish; an atomic is a load if it returns, else a store."""

    LOAD = "load"
    STORE = "store"
    LDS = "lds"
    SCALAR = "scalar"
    INVALIDATE = "invalidate"
    WRITE_BACK = "write-back"


def access_counted(in_lds: bool, returns: bool) -> CounterClass:
    """The class of an access, which goes to LDS or not, and returns a value or not."""
    if in_lds:
        return CounterClass.LDS
    return CounterClass.LOAD if returns else CounterClass.STORE


@dataclass(frozen=True, slots=True)
class Counted:
    """The counters that an operation is in while it is outstanding.

    ``in_order``: they count it down in the order of issue. ``writes_in_order``: nothing that was
    issued before it and counts alike writes its register after it.
    """

    counters: tuple[Counter, ...]
    in_order: bool = True
    writes_in_order: bool = True

    def writes_after(self, other: "Counted") -> bool:
        """True if an operation surely writes its register after an earlier ``other`` did."""
        return self.in_order and self.writes_in_order and self == other


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The path of requests to the caches of a chip, and the effect of a dirty line of an L2.

    ``requests_in_order``: the L1 handles what a wave issues at once; else requests of a wave to
    different lines in any order. ``dirty_serves_loads``: an L2 serves a load that goes past it from
    a dirty line, which stays; else it writes the line back first, and drops it. ``memory_kinds``:
    pages can be kept coherent, or out of the L2s; else every page is taken to be neither.
    ``left_open``: what the chip's documents leave open.
    """

    requests_in_order: bool
    dirty_serves_loads: bool
    memory_kinds: bool
    left_open: frozenset[Interpretation] = frozenset()


MEASURED, DOCUMENTED, INFERRED = Evidence.MEASURED, Evidence.DOCUMENTED, Evidence.INFERRED

_MODES = {"tgsplit": (False, True), "l2": (ONE, MANY)}

_CDNA4 = "CDNA4 ISA load/store scope tables; AMDGPUUsage gfx942; MI300 ISA 4.4"
_LLVM_OLD = "AMDGPUUsage gfx6-gfx9 and gfx90a: glc=1 on a load misses the L1 and evicts the line"
_STAYS = "AMDGPUUsage gfx90a: stores carry no scope bit; Vega ISA 8.1.10, GLC bit"
_NO_SC = Illegal("the chip has no sc0 and sc1 bits", ("glc",))
_NO_GLC = Illegal("the chip has no glc bit", ("sc0", "sc1"))
_NO_SCOPE = Illegal("the chip has no scope and th fields", GFX9_BITS)
_SCOPE_FIELD = Illegal("the chip has a scope field in place of bits", SCOPES)
_NO_TGSPLIT = Illegal("the chip has no tgsplit mode")
_ONE_L2 = Illegal("the chip has one L2 per agent", ("one",))
_NO_DLC = Illegal("the chip has no dlc bit")
_RDNA_BITS = ("glc", "dlc", "dlc glc")


def _seen(*experiments: int) -> str:
    """The part of a source that names experiments on an MI300X, by their numbers."""
    noun = "experiment" if len(experiments) == 1 else "experiments"
    return f"; MI300X, {noun} {', '.join(map(str, experiments))}"


_GFX125X = "GFX125x"
_GFX12 = "GFX12"
_SERVES = (
    "GFX125x: an access goes past every cache of a lesser scope; a cache of its scope may serve a "
    "read, absorb a write, do a read-modify-write"
)
_RETURNING = tuple(each for each in SCOPE_BITS if each.endswith(RETURNS))

ACCESS_KINDS = L, S, A = (Kind.LOAD, Kind.STORE, Kind.RMW)
"""The kinds of vector-memory access whose bits differ."""

ACCESS: Table[AccessEffect | Illegal] = Table(
    "cache policy",
    {"generation": Generation, "access": ACCESS_KINDS, "bits": BITS, **_MODES},
    [
        # gfx942, gfx950: loads
        row(AccessEffect(l1=True, past_l2=False), _CDNA4 + _seen(1, 2), MEASURED, generation=NEW,
            access=L, bits=""),
        row(AccessEffect(l1=True, past_l2=False), _CDNA4, DOCUMENTED, generation=NEW, access=L,
            bits="sc0", tgsplit=False),
        row(AccessEffect(l1=False, past_l2=False),
            _CDNA4 + ": group scope misses the L1 in tgsplit", DOCUMENTED, generation=NEW,
            access=L, bits="sc0", tgsplit=True),
        row(AccessEffect(False, past_l2=False), _CDNA4, DOCUMENTED, generation=NEW, access=L,
            bits=AGENT, l2=ONE),
        row(AccessEffect(False, past_l2=True), _CDNA4 + _seen(5), MEASURED, generation=NEW,
            access=L, bits=AGENT, l2=MANY),
        row(AccessEffect(False, past_l2=True), _CDNA4, DOCUMENTED, generation=NEW, access=L,
            bits=SYSTEM),
        # gfx942, gfx950: stores
        row(AccessEffect(True, past_l2=False), _CDNA4 + _seen(1, 2, 8), MEASURED, generation=NEW,
            access=S, bits=""),
        row(AccessEffect(True, past_l2=False), _CDNA4, DOCUMENTED, generation=NEW, access=S,
            bits="sc0"),
        row(AccessEffect(False, past_l2=False), _CDNA4, DOCUMENTED, generation=NEW, access=S,
            bits=AGENT, l2=ONE),
        row(AccessEffect(False, past_l2=True), _CDNA4 + _seen(3), MEASURED, generation=NEW,
            access=S, bits=AGENT, l2=MANY),
        row(AccessEffect(False, past_l2=True), _CDNA4, DOCUMENTED, generation=NEW, access=S,
            bits=SYSTEM),
        # gfx942, gfx950: atomics; sc0 asks for the old value, sc1 is system scope, else agent
        row(AccessEffect(False, False), _CDNA4, DOCUMENTED, generation=NEW, access=A, bits="",
            l2=ONE),
        row(AccessEffect(False, True), _CDNA4, DOCUMENTED, generation=NEW, access=A, bits="",
            l2=MANY),
        row(AccessEffect(False, False, True), _CDNA4, DOCUMENTED, generation=NEW, access=A,
            bits="sc0", l2=ONE),
        row(AccessEffect(False, True, True), _CDNA4, DOCUMENTED, generation=NEW, access=A,
            bits="sc0", l2=MANY),
        row(AccessEffect(False, True), _CDNA4, DOCUMENTED, generation=NEW, access=A, bits="sc1"),
        row(AccessEffect(False, True, True), _CDNA4, DOCUMENTED, generation=NEW, access=A,
            bits=SYSTEM),
        row(_NO_GLC, "MI300 ISA: sc0, sc1 and nt replace glc and slc", DOCUMENTED, generation=NEW,
            bits="glc"),
        # gfx908, gfx90a: one L2, the agent's point of coherence
        row(AccessEffect(True, False), _LLVM_OLD, DOCUMENTED, generation=OLD, access=L, bits="",
            l2=ONE),
        row(AccessEffect(False, False), _LLVM_OLD, DOCUMENTED, generation=OLD, access=L,
            bits="glc", l2=ONE),
        row(AccessEffect(True, False, brings_in=True),
            f"{_STAYS}, which a store that writes all of a "
            "line leaves in the L1", DOCUMENTED, generation=OLD, access=S, bits="", l2=ONE),
        row(AccessEffect(True, False),
            f"{_STAYS}; with glc a store leaves no line of its own in the L1. "
            "That it drops one that is there is not said", DOCUMENTED, generation=OLD, access=S,
            bits="glc", l2=ONE),
        row(AccessEffect(False, False), "AMDGPUUsage gfx90a: atomics are performed at the L2",
            DOCUMENTED, generation=OLD, access=A, bits="", l2=ONE),
        row(AccessEffect(False, False, True),
            "AMDGPUUsage gfx90a: glc=1 on an atomic returns the old value", DOCUMENTED,
            generation=OLD, access=A, bits="glc", l2=ONE),
        row(_NO_SC, "MI200 ISA", DOCUMENTED, generation=OLD, bits=("sc0", "sc1", "sc0 sc1"),
            l2=ONE),
        row(_ONE_L2, "AMDGPUUsage gfx90a: one L2 per agent", DOCUMENTED, generation=OLD,
            bits=("", *GFX9_BITS), l2=MANY),
        row(_NO_SCOPE, "MI300 ISA; MI200 ISA", DOCUMENTED, generation=GFX9, bits=SCOPE_BITS),
        row(_NO_DLC, "MI300 ISA; MI200 ISA", DOCUMENTED, generation=GFX9, bits=DLC_BITS),
        # gfx10, gfx11: glc misses the L0, the shader array's L1 is missed with dlc as well (gfx10)
        row(AccessEffect(l1=True, past_l2=False), _GFX10_11, DOCUMENTED, generation=RDNA, access=L,
            bits=""),
        row(AccessEffect(l1=True, past_l2=False), f"{_GFX10_11} has dlc with glc alone", INFERRED,
            generation=RDNA, access=L, bits="dlc"),
        row(AccessEffect(l1=False, past_l2=False), _GFX10_11, DOCUMENTED, generation=GFX10,
            access=L, bits="glc"),
        row(AccessEffect(l1=False, past_l2=True), _GFX10_11, DOCUMENTED, generation=GFX10,
            access=L, bits="dlc glc"),
        row(AccessEffect(l1=False, past_l2=True), f"{_GFX10_11}: without dlc LLVM's loads would be "
            "wrong at agent scope otherwise", INFERRED, generation=GFX11, access=L,
            bits=("glc", "dlc glc")),
        row(AccessEffect(l1=True, past_l2=True, stays=True),
            f"{_GFX10_11}: stores carry no scope, and complete at the L2; the L1 of a shader array "
            "is "
            "read-only, and taken to drop the line", INFERRED, generation=RDNA, access=S,
            bits=("", *_RDNA_BITS)),
        row(AccessEffect(False, past_l2=True), f"{_GFX10_11}: atomics are performed at the L2",
            DOCUMENTED, generation=RDNA, access=A, bits=("", "dlc")),
        row(AccessEffect(False, True, True),
            f"{_GFX10_11}: glc=1 on an atomic returns the old value", DOCUMENTED, generation=RDNA,
            access=A, bits=("glc", "dlc glc")),
        row(Illegal("the chip has no sc0 and sc1 bits", ("glc", "dlc")), _GFX10_11, DOCUMENTED,
            generation=RDNA, bits=("sc0", "sc1", "sc0 sc1")),
        row(Illegal("the chip has no scope and th fields", ("glc", "dlc")), _GFX10_11, DOCUMENTED,
            generation=RDNA, bits=SCOPE_BITS),
        # gfx12: one L2 per agent; a shader array's buffer before it holds nothing
        row(AccessEffect(l1=True, past_l2=False), f"{_GFX12}: may hit the L0", DOCUMENTED,
            generation=GFX12, access=L, bits="", l2=ONE),
        row(AccessEffect(l1=False, past_l2=False), f"{_GFX12}: passes the L0", DOCUMENTED,
            generation=GFX12, access=L, bits=(SE, DEV), l2=ONE),
        row(AccessEffect(False, past_l2=True), f"{_GFX12}: passes all caches", DOCUMENTED,
            generation=GFX12, access=L, bits=SYS, l2=ONE),
        row(AccessEffect(l1=True, past_l2=False, stays=True),
            f"{_GFX12}: the L0 writes through; what stays in it is not said", INFERRED,
            generation=GFX12, access=S, bits="", l2=ONE),
        row(AccessEffect(False, past_l2=False), _GFX12, DOCUMENTED, generation=GFX12, access=S,
            bits=(SE, DEV), l2=ONE),
        row(AccessEffect(False, past_l2=True), _GFX12, DOCUMENTED, generation=GFX12, access=S,
            bits=SYS, l2=ONE),
        row(AccessEffect(False, False), f"{_GFX12}: performed in the L2", DOCUMENTED,
            generation=GFX12, access=A, bits=("", SE, DEV), l2=ONE),
        row(AccessEffect(False, True), _GFX12, DOCUMENTED, generation=GFX12, access=A, bits=SYS,
            l2=ONE),
        row(AccessEffect(False, False, True), f"{_GFX12}: performed in the L2", DOCUMENTED,
            generation=GFX12, access=A, bits=(RETURNS, f"{SE} {RETURNS}", f"{DEV} {RETURNS}"),
            l2=ONE),
        row(AccessEffect(False, True, True), _GFX12, DOCUMENTED, generation=GFX12, access=A,
            bits=f"{SYS} {RETURNS}", l2=ONE),
        row(Illegal("only an atomic returns an old value", SCOPES), _GFX12, DOCUMENTED,
            generation=GFX12, access=(L, S), bits=_RETURNING, l2=ONE),
        row(_SCOPE_FIELD, _GFX12, DOCUMENTED, generation=GFX12, bits=(*GFX9_BITS, *DLC_BITS),
            l2=ONE),
        row(_ONE_L2, _GFX12, DOCUMENTED, generation=GFX12, l2=MANY),
        # gfx1250: loads
        row(AccessEffect(l1=True, past_l2=False), _SERVES, DOCUMENTED, generation=GFX1250,
            access=L, bits="", tgsplit=False),
        row(AccessEffect(l1=False, past_l2=False), _SERVES, DOCUMENTED, generation=GFX1250,
            access=L, bits=SE, tgsplit=False),
        row(AccessEffect(False, past_l2=False), _SERVES, DOCUMENTED, generation=GFX1250,
            access=L, bits=DEV, tgsplit=False, l2=ONE),
        row(AccessEffect(False, past_l2=True), _SERVES, DOCUMENTED, generation=GFX1250, access=L,
            bits=DEV, tgsplit=False, l2=MANY),
        row(AccessEffect(False, past_l2=True), _SERVES, DOCUMENTED, generation=GFX1250, access=L,
            bits=SYS, tgsplit=False),
        # gfx1250: stores
        row(AccessEffect(True, False, acknowledged_early=True), _SERVES, DOCUMENTED,
            generation=GFX1250, access=S, bits="", tgsplit=False),
        row(AccessEffect(False, past_l2=False), _SERVES, DOCUMENTED, generation=GFX1250,
            access=S, bits=SE, tgsplit=False),
        row(AccessEffect(False, past_l2=False), _SERVES, DOCUMENTED, generation=GFX1250,
            access=S, bits=DEV, tgsplit=False, l2=ONE),
        row(AccessEffect(False, past_l2=True), _SERVES, DOCUMENTED, generation=GFX1250, access=S,
            bits=DEV, tgsplit=False, l2=MANY),
        row(AccessEffect(False, past_l2=True), _SERVES, DOCUMENTED, generation=GFX1250, access=S,
            bits=SYS, tgsplit=False),
        # gfx1250: atomics, never in the WGP$, which holds clean data only
        row(AccessEffect(False, False), _SERVES, DOCUMENTED, generation=GFX1250, access=A,
            bits=("", SE), tgsplit=False),
        row(AccessEffect(False, False), _SERVES, DOCUMENTED, generation=GFX1250, access=A,
            bits=DEV, tgsplit=False, l2=ONE),
        row(AccessEffect(False, True), _SERVES, DOCUMENTED, generation=GFX1250, access=A,
            bits=DEV, tgsplit=False, l2=MANY),
        row(AccessEffect(False, True), _SERVES, DOCUMENTED, generation=GFX1250, access=A, bits=SYS,
            tgsplit=False),
        row(AccessEffect(False, False, True), _SERVES, DOCUMENTED, generation=GFX1250, access=A,
            bits=(RETURNS, f"{SE} {RETURNS}"), tgsplit=False),
        row(AccessEffect(False, False, True), _SERVES, DOCUMENTED, generation=GFX1250, access=A,
            bits=f"{DEV} {RETURNS}", tgsplit=False, l2=ONE),
        row(AccessEffect(False, True, True), _SERVES, DOCUMENTED, generation=GFX1250, access=A,
            bits=f"{DEV} {RETURNS}", tgsplit=False, l2=MANY),
        row(AccessEffect(False, True, True), _SERVES, DOCUMENTED, generation=GFX1250, access=A,
            bits=f"{SYS} {RETURNS}", tgsplit=False),
        row(Illegal("only an atomic returns an old value", SCOPES), _SERVES, DOCUMENTED,
            generation=GFX1250, access=(L, S), bits=_RETURNING, tgsplit=False),
        row(_SCOPE_FIELD, _GFX125X, DOCUMENTED, generation=GFX1250,
            bits=(*GFX9_BITS, *DLC_BITS), tgsplit=False),
        row(_NO_TGSPLIT, _GFX125X, DOCUMENTED, generation=GFX1250, tgsplit=True),
    ],
)  # fmt: skip
"""(generation, access, bits, tgsplit, l2) -> the effect on the caches, or the reason that there is
none."""

_WB, _INV, _VOL, _L1, _INV2, _DC, _GWB, _GINV, _GL0, _GL1 = MNEMONICS = (
    "buffer_wbl2",
    "buffer_inv",
    "buffer_wbinvl1_vol",
    "buffer_wbinvl1",
    "buffer_invl2",
    "s_dcache_inv",
    "global_wb",
    "global_inv",
    "buffer_gl0_inv",
    "buffer_gl1_inv",
)
_GFX9_CACHE, _GFX1250_CACHE, _RDNA_CACHE = MNEMONICS[:6], MNEMONICS[6:8], MNEMONICS[8:]
_COUNTED = "AMDGPUUsage gfx942; llvm/llvm-project#178316: buffer_wbl2 increments vmcnt"
_INV_COUNTED = "AMDGPUUsage gfx942; llvm/llvm-project#220694: buffer_inv increments vmcnt"
_ABSENT = "LLVM 22 assembler: no such instruction or bits on this chip"
_QUEUED = CacheEffect(marker=True, counts=True)
_WRITE_BACK = CacheEffect(marker=True, write_back=True, counts=True)
_INVALIDATE_L1 = CacheEffect(l1=True, counts=True)
_INVALIDATE = CacheEffect(l1=True, marker=True, invalidate=True, counts=True)

_MAINTAINS = "GFX125x: of caches of a lesser scope, global_wb writes back, global_inv drops lines"
_NOTHING_BELOW = CacheEffect(counts=True)
_PUSH_IN_ORDER = CacheEffect(marker=True, counts=True, as_store=True)
_PUSH = replace(_PUSH_IN_ORDER, overtakes=True)
_PUSH_BACK = replace(_PUSH, write_back=True)

CACHE: Table[CacheEffect | Illegal] = Table(
    "cache instruction",
    {"generation": Generation, "mnemonic": MNEMONICS, "bits": BITS, **_MODES},
    [
        row(CacheEffect(counts=True), _COUNTED, DOCUMENTED, generation=NEW, mnemonic=_WB,
            bits=("", "sc0")),
        row(_QUEUED,
            _COUNTED + "; it travels to the agent's one L2, which has nothing to write back",
            INFERRED, generation=NEW, mnemonic=_WB, bits=AGENT, l2=ONE),
        row(_WRITE_BACK, _COUNTED + _seen(4, 7), MEASURED, generation=NEW, mnemonic=_WB,
            bits=AGENT, l2=MANY),
        row(_WRITE_BACK, _COUNTED, DOCUMENTED, generation=NEW, mnemonic=_WB, bits=SYSTEM),
        row(CacheEffect(counts=True), _INV_COUNTED, DOCUMENTED, generation=NEW, mnemonic=_INV,
            bits=""),
        row(CacheEffect(counts=True), _INV_COUNTED, DOCUMENTED, generation=NEW, mnemonic=_INV,
            bits="sc0", tgsplit=False),
        row(_INVALIDATE_L1, _INV_COUNTED, DOCUMENTED, generation=NEW, mnemonic=_INV, bits="sc0",
            tgsplit=True),
        row(_INVALIDATE_L1, _INV_COUNTED, DOCUMENTED, generation=NEW, mnemonic=_INV, bits=AGENT,
            l2=ONE),
        row(_INVALIDATE, _INV_COUNTED + _seen(6, 7), MEASURED, generation=NEW, mnemonic=_INV,
            bits=AGENT, l2=MANY),
        row(_INVALIDATE, _INV_COUNTED, DOCUMENTED, generation=NEW, mnemonic=_INV, bits=SYSTEM),
        row(CacheEffect(l1=True),
            "AMDGPUUsage gfx6-gfx9, gfx90a; LLVM SIInsertWaitcnts counts no L1 invalidate",
            DOCUMENTED, generation=OLD, mnemonic=(_VOL, _L1), bits="", l2=ONE),
        row(_WRITE_BACK, "AMDGPUUsage gfx90a: system scope; llvm/llvm-project#178316", DOCUMENTED,
            generation=GFX90A, mnemonic=_WB, bits="", l2=ONE),
        row(CacheEffect(marker=True, invalidate=True, counts=True),
            "AMDGPUUsage gfx90a: invalidates L2 lines of MTYPE NC; taken to count in vmcnt as "
            "buffer_inv does (llvm/llvm-project#220694), since otherwise nothing could order it "
            "before a release to another CU", INFERRED, generation=GFX90A, mnemonic=_INV2, bits="",
            l2=ONE),
        row(CacheEffect(scalar=True), "MI300 ISA 8.2", DOCUMENTED, generation=NEW, mnemonic=_DC,
            bits=""),
        row(CacheEffect(scalar=True), "MI200 ISA 7.2", DOCUMENTED, generation=OLD, mnemonic=_DC,
            bits="", l2=ONE),
        # what does not exist
        row(Illegal("not on this chip"), _ABSENT, DOCUMENTED, generation=NEW,
            mnemonic=(_VOL, _L1, _INV2), bits=("", *GFX9_BITS)),
        row(Illegal("no glc on it"), _ABSENT, DOCUMENTED, generation=NEW,
            mnemonic=(_WB, _INV, _DC), bits="glc"),
        row(Illegal("it takes no bits"), _ABSENT, DOCUMENTED, generation=NEW, mnemonic=_DC,
            bits=("sc0", "sc1", "sc0 sc1")),
        row(Illegal("not on this chip"), _ABSENT, DOCUMENTED, generation=OLD, mnemonic=_INV,
            bits=("", *GFX9_BITS), l2=ONE),
        row(Illegal("not on this chip"), _ABSENT, DOCUMENTED, generation=GFX908,
            mnemonic=(_WB, _INV2), bits=("", *GFX9_BITS), l2=ONE),
        row(Illegal("it takes no bits"), _ABSENT, DOCUMENTED, generation=OLD,
            mnemonic=(_VOL, _L1, _DC), bits=("sc0", "sc1", "sc0 sc1", "glc"), l2=ONE),
        row(Illegal("it takes no bits"), _ABSENT, DOCUMENTED, generation=GFX90A,
            mnemonic=(_WB, _INV2), bits=("sc0", "sc1", "sc0 sc1", "glc"), l2=ONE),
        row(_ONE_L2, "AMDGPUUsage gfx90a: one L2 per agent", DOCUMENTED, generation=OLD,
            mnemonic=_GFX9_CACHE, bits=("", *GFX9_BITS), l2=MANY),
        row(_NO_SCOPE, "MI300 ISA; MI200 ISA", DOCUMENTED, generation=GFX9, mnemonic=_GFX9_CACHE,
            bits=SCOPE_BITS),
        row(Illegal("not on this chip"), _ABSENT, DOCUMENTED, generation=GFX9,
            mnemonic=(*_GFX1250_CACHE, *_RDNA_CACHE)),
        row(_NO_DLC, "MI300 ISA; MI200 ISA", DOCUMENTED, generation=GFX9, mnemonic=_GFX9_CACHE,
            bits=DLC_BITS),
        # gfx10, gfx11
        row(CacheEffect(l1=True),
            f"{_GFX10_11}: the L0; LLVM SIInsertWaitcnts counts none of these",
            DOCUMENTED, generation=RDNA, mnemonic=_GL0, bits=""),
        row(CacheEffect(marker=True, invalidate=True, counts=True, queued=True, uncounted=True),
            f"{_GFX10_11}: the L1 of the shader array; of its completion nothing is said", INFERRED,
            generation=RDNA, mnemonic=_GL1, bits=""),
        row(CacheEffect(scalar=True), "RDNA2 ISA and RDNA3 ISA, scalar memory", DOCUMENTED,
            generation=RDNA, mnemonic=_DC, bits=""),
        row(Illegal("it takes no bits"), _ABSENT, DOCUMENTED, generation=RDNA,
            mnemonic=(*_RDNA_CACHE, _DC), bits=BITS[1:]),
        row(Illegal("not on this chip"), _ABSENT, DOCUMENTED, generation=RDNA,
            mnemonic=(*_GFX9_CACHE[:-1], *_GFX1250_CACHE)),
        # gfx12
        row(replace(_NOTHING_BELOW, as_store=True), f"{_GFX12}: SCOPE_CU has nothing below",
            DOCUMENTED, generation=GFX12, mnemonic=_GWB, bits="", l2=ONE),
        row(_PUSH_IN_ORDER, f"{_GFX12}: can be left out below SCOPE_SYS", DOCUMENTED,
            generation=GFX12, mnemonic=_GWB, bits=(SE, DEV), l2=ONE),
        row(replace(_PUSH_IN_ORDER, write_back=True), _GFX12, DOCUMENTED, generation=GFX12,
            mnemonic=_GWB, bits=SYS, l2=ONE),
        row(_NOTHING_BELOW, f"{_GFX12}: SCOPE_CU has nothing below", DOCUMENTED, generation=GFX12,
            mnemonic=_GINV, bits="", l2=ONE),
        row(_INVALIDATE_L1, f"{_GFX12}: the L0; it is not reordered with the wave's accesses",
            DOCUMENTED, generation=GFX12, mnemonic=_GINV, bits=(SE, DEV), l2=ONE),
        row(_INVALIDATE, f"{_GFX12}: caches of a lesser scope", DOCUMENTED, generation=GFX12,
            mnemonic=_GINV, bits=SYS, l2=ONE),
        row(Illegal("cache maintenance returns nothing", SCOPES), _GFX12, DOCUMENTED,
            generation=GFX12, mnemonic=_GFX1250_CACHE, bits=_RETURNING, l2=ONE),
        row(_SCOPE_FIELD, _GFX12, DOCUMENTED, generation=GFX12, mnemonic=_GFX1250_CACHE,
            bits=(*GFX9_BITS, *DLC_BITS), l2=ONE),
        row(_ONE_L2, _GFX12, DOCUMENTED, generation=GFX12, mnemonic=_GFX1250_CACHE, l2=MANY),
        row(Illegal("not on this chip"), _ABSENT, DOCUMENTED, generation=GFX12,
            mnemonic=(*_GFX9_CACHE, *_RDNA_CACHE)),
        # gfx1250
        row(replace(_NOTHING_BELOW, as_store=True), _MAINTAINS, DOCUMENTED, generation=GFX1250,
            mnemonic=_GWB, bits="", tgsplit=False),
        row(_NOTHING_BELOW, _MAINTAINS, DOCUMENTED, generation=GFX1250, mnemonic=_GINV, bits="",
            tgsplit=False),
        row(_PUSH, f"{_MAINTAINS}, and makes what went before at a lesser scope reach its scope",
            DOCUMENTED, generation=GFX1250, mnemonic=_GWB, bits=SE, tgsplit=False),
        row(_PUSH, _MAINTAINS, DOCUMENTED, generation=GFX1250, mnemonic=_GWB, bits=DEV,
            tgsplit=False, l2=ONE),
        row(_PUSH_BACK, _MAINTAINS, DOCUMENTED, generation=GFX1250, mnemonic=_GWB, bits=DEV,
            tgsplit=False, l2=MANY),
        row(_PUSH_BACK, _MAINTAINS, DOCUMENTED, generation=GFX1250, mnemonic=_GWB, bits=SYS,
            tgsplit=False),
        row(_INVALIDATE_L1, f"{_MAINTAINS}; LLVM 24 waits for none of SCOPE_SE", DOCUMENTED,
            generation=GFX1250, mnemonic=_GINV, bits=SE, tgsplit=False),
        row(replace(_INVALIDATE_L1, deferred=True), _MAINTAINS, DOCUMENTED, generation=GFX1250,
            mnemonic=_GINV, bits=DEV, tgsplit=False, l2=ONE),
        row(replace(_INVALIDATE, deferred=True), _MAINTAINS, DOCUMENTED, generation=GFX1250,
            mnemonic=_GINV, bits=DEV, tgsplit=False, l2=MANY),
        row(replace(_INVALIDATE, deferred=True), _MAINTAINS, DOCUMENTED, generation=GFX1250,
            mnemonic=_GINV, bits=SYS, tgsplit=False),
        row(Illegal("cache maintenance returns nothing", SCOPES), _GFX125X, DOCUMENTED,
            generation=GFX1250, mnemonic=_GFX1250_CACHE, bits=_RETURNING, tgsplit=False),
        row(_SCOPE_FIELD, _GFX125X, DOCUMENTED, generation=GFX1250, mnemonic=_GFX1250_CACHE,
            bits=(*GFX9_BITS, *DLC_BITS), tgsplit=False),
        row(_NO_TGSPLIT, _GFX125X, DOCUMENTED, generation=GFX1250, mnemonic=_GFX1250_CACHE,
            tgsplit=True),
        row(Illegal("not on this chip"), "LLVM 24 assembler: no such instruction", DOCUMENTED,
            generation=GFX1250, mnemonic=(*_GFX9_CACHE, *_RDNA_CACHE)),
    ],
)  # fmt: skip
"""(generation, mnemonic, bits, tgsplit, l2) -> the instruction's effect, or the reason that there
is none."""


_ISA_4_4 = "MI300 ISA 4.4; MI200 ISA 4.4; MI100 ISA 4.4"
_VECTOR, _LGKM = (Counter.VMCNT,), (Counter.LGKMCNT,)
_O = CounterClass

COUNTED: Table[Counted] = Table(
    "counters",
    {"generation": Generation, "operation": CounterClass, "flat": (False, True)},
    [
        row(Counted(_VECTOR), _ISA_4_4, DOCUMENTED, generation=GFX9,
            operation=(_O.LOAD, _O.STORE), flat=False),
        row(Counted((*_VECTOR, *_LGKM), in_order=False), "MI300 ISA 10.2.2", DOCUMENTED,
            generation=GFX9, operation=(_O.LOAD, _O.STORE, _O.LDS), flat=True),
        row(Counted(_VECTOR), _COUNTED, DOCUMENTED, generation=GFX9,
            operation=(_O.INVALIDATE, _O.WRITE_BACK)),
        row(Counted(_LGKM), _ISA_4_4, DOCUMENTED, generation=GFX9, operation=_O.LDS,
            flat=False),
        row(Counted(_LGKM, in_order=False), _ISA_4_4, DOCUMENTED, generation=GFX9,
            operation=_O.SCALAR),
        row(Counted(_VECTOR), f"{_GFX10_11}: vmcnt of loads and atomics that return, in order",
            DOCUMENTED, generation=RDNA, operation=(_O.LOAD, _O.INVALIDATE), flat=False),
        row(Counted((Counter.VSCNT,)), f"{_GFX10_11}: vscnt of stores and other atomics, in order",
            DOCUMENTED, generation=RDNA, operation=(_O.STORE, _O.WRITE_BACK), flat=False),
        row(Counted(_LGKM), f"{_GFX10_11}: in order", DOCUMENTED, generation=RDNA,
            operation=_O.LDS, flat=False),
        row(Counted(_VECTOR, in_order=False), "RDNA2 ISA and RDNA3 ISA: flat, out of order",
            DOCUMENTED, generation=RDNA, operation=(_O.LOAD, _O.INVALIDATE), flat=True),
        row(Counted((Counter.VSCNT,), in_order=False),
            "RDNA2 ISA and RDNA3 ISA: flat, out of order",
            DOCUMENTED, generation=RDNA, operation=(_O.STORE, _O.WRITE_BACK), flat=True),
        row(Counted(_LGKM, in_order=False), "RDNA2 ISA and RDNA3 ISA: flat, out of order",
            DOCUMENTED, generation=RDNA, operation=_O.LDS, flat=True),
        row(Counted(_LGKM, in_order=False), "RDNA2 ISA and RDNA3 ISA, scalar memory", DOCUMENTED,
            generation=RDNA, operation=_O.SCALAR),
        row(Counted((Counter.LOADCNT,), writes_in_order=False),
            "GFX12, GFX125x: in order of issue, vector registers out of order", DOCUMENTED,
            generation=SCOPED, operation=(_O.LOAD, _O.INVALIDATE)),
        row(Counted((Counter.STORECNT,)), "GFX12, GFX125x: in order of issue", DOCUMENTED,
            generation=SCOPED, operation=(_O.STORE, _O.WRITE_BACK)),
        row(Counted((Counter.DSCNT,), writes_in_order=False), "GFX12, GFX125x: in order",
            DOCUMENTED,
            generation=SCOPED, operation=_O.LDS),
        row(Counted((Counter.KMCNT,), in_order=False), "LLVM SIInsertWaitcnts", INFERRED,
            generation=SCOPED, operation=_O.SCALAR),
    ],
)  # fmt: skip
"""(generation, operation, flat) -> the counters that it is in; ``CacheEffect.counts`` says whether.

Where a flat access goes decides which operation it is; on gfx10 to gfx12 the counter of the
other space is taken to say nothing of it.
"""

HIERARCHY: Table[Hierarchy] = Table(
    "hierarchy",
    {"generation": Generation},
    [
        row(Hierarchy(requests_in_order=True, dirty_serves_loads=True, memory_kinds=True),
            "MI300 ISA 4.4, 9" + _seen(5, 9), MEASURED, generation=GFX9),
        row(Hierarchy(requests_in_order=True, dirty_serves_loads=False, memory_kinds=False,
                left_open=frozenset({Interpretation.QUEUED_INVALIDATE,
                                     Interpretation.UNCOUNTED_INVALIDATE,
                                     Interpretation.STORE_STAYS})),
            f"{_GFX10_11}: in CU mode nothing is waited for between a work-group's acquire and "
            "what comes "
            "after it; a queue from each L0 for each quadrant of the L1", INFERRED,
            generation=RDNA),
        row(Hierarchy(requests_in_order=True, dirty_serves_loads=False, memory_kinds=False,
                left_open=frozenset({Interpretation.STORE_STAYS})),
            f"{_GFX12}: in CU mode nothing is waited for between a work-group's acquire and what "
            "comes after "
            "it; global_inv and global_wb are not reordered", INFERRED, generation=GFX12),
        row(Hierarchy(requests_in_order=False, dirty_serves_loads=False, memory_kinds=False,
                left_open=frozenset({Interpretation.LATE_INVALIDATE,
                                     Interpretation.WRITE_BACK_OVERTAKES,
                                     Interpretation.ACKNOWLEDGED_EARLY})),
            "GFX125x: only accesses of a wave to the same address are processed in program order; "
            "a "
            "wider access goes past a cache, a page can be incoherent between L2s", DOCUMENTED,
            generation=GFX1250),
    ],
)  # fmt: skip
"""(generation,) -> how requests come to its caches."""


def left_open(chip: str) -> frozenset[Interpretation]:
    """The points that the documents of a chip leave open and that the machine has readings of."""
    if chip not in KNOWN_CHIPS:
        return frozenset()
    return HIERARCHY[KNOWN_CHIPS[chip].generation,].value.left_open


def has_readings(chip: str) -> bool:
    """True if the documents of a chip leave anything open that the machine has readings of."""
    return bool(left_open(chip))


Effect = TypeVar("Effect", AccessEffect, CacheEffect)


@dataclass(frozen=True, slots=True)
class CdnaConfiguration:
    """A chip in a mode; without ``l2_per_agent``, the one that is harder on the chip.

    ``readings`` are those taken, of which only what the chip's documents leave open stays.
    ``access`` and ``cache`` replace rows, for machines that are broken on purpose.
    """

    chip: str = DEFAULT_CHIP
    tgsplit: bool = False
    l2_per_agent: L2PerAgent | None = None
    readings: frozenset[Interpretation] = DEFAULT_READINGS
    access: Table[AccessEffect | Illegal] = field(default=ACCESS, repr=False)
    cache: Table[CacheEffect | Illegal] = field(default=CACHE, repr=False)

    def __post_init__(self) -> None:
        if self.chip not in KNOWN_CHIPS:
            raise ProgramError(f"unknown chip '{self.chip}'; known are {', '.join(KNOWN_CHIPS)}")
        object.__setattr__(self, "readings", self.readings & self.hierarchy.left_open)
        if self.l2_per_agent is None:
            object.__setattr__(self, "l2_per_agent", self.row.l2_per_agent)

    @property
    def row(self) -> ChipRow:
        """The row of the chip."""
        return KNOWN_CHIPS[self.chip]

    @property
    def name(self) -> str:
        """The chip, its mode, and the readings where they are not those by default."""
        mode = f" {self.row.split_name}" if self.tgsplit else ""
        readings = f", {text}" if (text := self.readings_text) else ""
        return f"{self.chip}{mode}, {self.l2_per_agent} {self.row.caches.l2} per agent{readings}"

    @property
    def readings_text(self) -> str:
        """The name of a machine with these readings; empty for those by default."""
        open_ = self.hierarchy.left_open
        named = {
            frozenset[Interpretation](): "no reading",
            open_: "every reading",
            DEFAULT_READINGS & open_: "",
        }
        return named.get(self.readings, f"readings {', '.join(sorted(self.readings))}")

    @property
    def hierarchy(self) -> Hierarchy:
        """The path of requests to the chip's caches."""
        return HIERARCHY[self.row.generation,].value

    def access_effect(self, access: Kind, bits: Iterable[str]) -> AccessEffect:
        """The effect of an access with ``bits``; raises ``ProgramError`` if the chip has none."""
        key = (self.row.generation, access, _policy(bits), self.tgsplit, self.l2_per_agent)
        effect = self._legal(self.access, key)
        if effect.acknowledged_early and Interpretation.ACKNOWLEDGED_EARLY not in self.readings:
            return replace(effect, acknowledged_early=False)
        if effect.stays and Interpretation.STORE_STAYS not in self.readings:
            return replace(effect, l1=False, stays=False)
        return effect

    def cache_effect(self, mnemonic: str, bits: Iterable[str]) -> CacheEffect:
        """The effect of a cache instruction; raises ``ProgramError`` if the chip has none."""
        if mnemonic not in MNEMONICS:
            raise ProgramError(f"unknown cache instruction '{mnemonic}'; known are {MNEMONICS}")
        key = (self.row.generation, mnemonic, _policy(bits), self.tgsplit, self.l2_per_agent)
        effect = self._legal(self.cache, key)
        if effect.deferred and Interpretation.LATE_INVALIDATE not in self.readings:
            return replace(effect, deferred=False)
        if effect.overtakes and Interpretation.WRITE_BACK_OVERTAKES not in self.readings:
            return replace(effect, overtakes=False)
        if effect.queued and Interpretation.QUEUED_INVALIDATE not in self.readings:
            return replace(effect, marker=False, queued=False, uncounted=False)
        if effect.uncounted:
            return replace(effect, counts=Interpretation.UNCOUNTED_INVALIDATE not in self.readings)
        return effect

    def counted(self, operation: CounterClass, flat: bool) -> Counted:
        """The counters that an operation is in."""
        return COUNTED[self.row.generation, operation, flat].value

    def _legal(self, table: Table[Effect | Illegal], key: tuple[Hashable, ...]) -> Effect:
        value = table[key].value
        if isinstance(value, Illegal):
            requested = " ".join(str(part) for part in key[1:3] if part)
            accepted = f"; accepted: {', '.join(value.accepted)}" if value.accepted else ""
            raise ProgramError(f"{self.chip}: {requested}: {value.reason}{accepted}")
        return value


def _policy(bits: Iterable[str]) -> str:
    policy = " ".join(sorted(set(bits) - HINTS))
    if policy not in BITS:
        raise ProgramError(f"unknown cache policy bits '{policy}'; known are {BITS[1:]}")
    return policy
