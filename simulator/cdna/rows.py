"""What cache policy bits and cache instructions reach on each generation of CDNA chips, as rows.

They are apart from the lowering's on purpose: a fault in one shows against the other. Where the
lowering does not know whether cache maintenance counts in vmcnt
(``lowering.cdna.instructions.CACHE_COUNTS``), the machine has to take it one way or the other;
where it does, tests/unit/test_chips.py holds both to one answer.
A machine configuration is a chip, tgsplit, and how many L2s one agent has; the machine
itself knows no chip. ``nt`` (gfx908, gfx90a: ``slc``) is a hint to the replacement policy
and stripped before a row is looked up.
Sources: AMDGPUUsage = LLVM 22 AMDGPUUsage, "Memory Model" of the chip; CDNA4 ISA = its load
and store control tables (scope from sc1 sc0: 00 wave, 01 group, 10 agent, 11 system); MI300X =
the experiments of ``evidence``. A row's evidence is the strongest that it has.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from fencewright.lowering.cdna.chips import CHIPS, DEFAULT_CHIP, Generation
from fencewright.lowering.evidence import Evidence
from fencewright.lowering.table import Illegal, Row, Table, row
from fencewright.lowering.vocabulary import L2PerAgent, Word
from fencewright.simulator.core.program import ProgramError

GFX908, GFX90A = Generation.GFX908, Generation.GFX90A
OLD, NEW = (GFX908, GFX90A), Generation.GFX942
ONE, MANY = L2PerAgent.ONE, L2PerAgent.MANY

HINTS = frozenset({"nt", "slc"})
BITS = ("", "sc0", "sc1", "sc0 sc1", "glc")
SC_BITS, AGENT, SYSTEM = ("", "sc0", "sc1", "sc0 sc1"), "sc1", "sc0 sc1"


class VectorAccessKind(Word):
    """The kinds of vector-memory access whose bits differ."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


@dataclass(frozen=True, slots=True)
class AccessEffect:
    """What an access does to the caches.

    ``l1``: a load may hit the L1, a store updates a line present in it (else: drops it).
    ``past_l2``: served by memory; the L2's line is written back if dirty, and dropped.
    ``returns``: an atomic with these bits returns the old value.
    """

    l1: bool
    past_l2: bool
    returns: bool = False


@dataclass(frozen=True, slots=True)
class CacheEffect:
    """What a cache instruction does.

    ``l1``: empties the CU's L1 when issued. ``marker``: goes through every queue of the CU to
    the L2 and there, line by line, with ``write_back`` writes a dirty line back, with
    ``invalidate`` drops a clean nonlocal one. ``counts``: increments vmcnt. ``scalar``:
    empties the scalar cache.
    """

    l1: bool = False
    marker: bool = False
    write_back: bool = False
    invalidate: bool = False
    counts: bool = False
    scalar: bool = False


MEASURED, DOCUMENTED, INFERRED = Evidence.MEASURED, Evidence.DOCUMENTED, Evidence.INFERRED

_MODES = {"tgsplit": (False, True), "l2": (ONE, MANY)}

_CDNA4 = "CDNA4 ISA load/store scope tables; AMDGPUUsage gfx942; MI300 ISA 4.4"
_LLVM_OLD = "AMDGPUUsage gfx6-gfx9 and gfx90a: glc=1 on a load misses the L1 and evicts the line"
_NO_SC = Illegal("the chip has no sc0 and sc1 bits", ("glc",))
_NO_GLC = Illegal("the chip has no glc bit", ("sc0", "sc1"))
_ONE_L2 = Illegal("the chip has one L2 per agent", ("one",))
_OTHER_MACHINE = Illegal("this machine is of the gfx9 chips; simulator.wgp has that of gfx1250")
_SCOPES = "LLVM 24 AMDGPUUsage, Memory Model GFX125x: other caches, and scopes in place of bits"


def _seen(*experiments: int) -> str:
    """The part of a source that names experiments on an MI300X, by their numbers."""
    noun = "experiment" if len(experiments) == 1 else "experiments"
    return f"; MI300X, {noun} {', '.join(map(str, experiments))}"


L, S, A = VectorAccessKind.LOAD, VectorAccessKind.STORE, VectorAccessKind.ATOMIC

ACCESS: Table[AccessEffect | Illegal] = Table(
    "cache policy",
    {"generation": Generation, "access": VectorAccessKind, "bits": BITS, **_MODES},
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
        row(AccessEffect(True, False), "AMDGPUUsage gfx90a: stores carry no scope bit", DOCUMENTED,
            generation=OLD, access=S, bits=("", "glc"), l2=ONE),
        row(AccessEffect(False, False), "AMDGPUUsage gfx90a: atomics are performed at the L2",
            DOCUMENTED, generation=OLD, access=A, bits="", l2=ONE),
        row(AccessEffect(False, False, True),
            "AMDGPUUsage gfx90a: glc=1 on an atomic returns the old value", DOCUMENTED,
            generation=OLD, access=A, bits="glc", l2=ONE),
        row(_NO_SC, "MI200 ISA", DOCUMENTED, generation=OLD, bits=("sc0", "sc1", "sc0 sc1"),
            l2=ONE),
        row(_ONE_L2, "AMDGPUUsage gfx90a: one L2 per agent", DOCUMENTED, generation=OLD, l2=MANY),
        row(_OTHER_MACHINE, _SCOPES, DOCUMENTED, generation=Generation.GFX1250),
    ],
)  # fmt: skip
"""(generation, access, bits, tgsplit, l2) -> what the access does to the caches, or why it is none."""

_WB, _INV, _VOL, _L1, _INV2, _DC = MNEMONICS = (
    "buffer_wbl2",
    "buffer_inv",
    "buffer_wbinvl1_vol",
    "buffer_wbinvl1",
    "buffer_invl2",
    "s_dcache_inv",
)
_COUNTED = "AMDGPUUsage gfx942; llvm/llvm-project#178316: buffer_wbl2 increments vmcnt"
_INV_COUNTED = "AMDGPUUsage gfx942; llvm/llvm-project#220694: buffer_inv increments vmcnt"
_ABSENT = "LLVM 22 assembler: no such instruction or bits on this chip"
_QUEUED = CacheEffect(marker=True, counts=True)
_WRITE_BACK = CacheEffect(marker=True, write_back=True, counts=True)
_INVALIDATE_L1 = CacheEffect(l1=True, counts=True)
_INVALIDATE = CacheEffect(l1=True, marker=True, invalidate=True, counts=True)

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
            mnemonic=(_VOL, _L1, _INV2)),
        row(Illegal("no glc on it"), _ABSENT, DOCUMENTED, generation=NEW,
            mnemonic=(_WB, _INV, _DC), bits="glc"),
        row(Illegal("it takes no bits"), _ABSENT, DOCUMENTED, generation=NEW, mnemonic=_DC,
            bits=("sc0", "sc1", "sc0 sc1")),
        row(Illegal("not on this chip"), _ABSENT, DOCUMENTED, generation=OLD, mnemonic=_INV,
            l2=ONE),
        row(Illegal("not on this chip"), _ABSENT, DOCUMENTED, generation=GFX908,
            mnemonic=(_WB, _INV2), l2=ONE),
        row(Illegal("it takes no bits"), _ABSENT, DOCUMENTED, generation=OLD,
            mnemonic=(_VOL, _L1, _DC), bits=("sc0", "sc1", "sc0 sc1", "glc"), l2=ONE),
        row(Illegal("it takes no bits"), _ABSENT, DOCUMENTED, generation=GFX90A,
            mnemonic=(_WB, _INV2), bits=("sc0", "sc1", "sc0 sc1", "glc"), l2=ONE),
        row(_ONE_L2, "AMDGPUUsage gfx90a: one L2 per agent", DOCUMENTED, generation=OLD, l2=MANY),
        row(_OTHER_MACHINE, _SCOPES, DOCUMENTED, generation=Generation.GFX1250),
    ],
)  # fmt: skip
"""(generation, mnemonic, bits, tgsplit, l2) -> what the instruction does, or why it is none."""


Effect = TypeVar("Effect", AccessEffect, CacheEffect)


@dataclass(frozen=True, slots=True)
class CdnaConfiguration:
    """A chip in a mode; without ``l2_per_agent``, the one that is harder on the chip.

    ``access`` and ``cache`` replace rows, for machines that are broken on purpose.
    """

    chip: str = DEFAULT_CHIP
    tgsplit: bool = False
    l2_per_agent: L2PerAgent | None = None
    access: Table[AccessEffect | Illegal] = field(default=ACCESS, repr=False)
    cache: Table[CacheEffect | Illegal] = field(default=CACHE, repr=False)

    def __post_init__(self) -> None:
        if self.chip not in CHIPS:
            raise ProgramError(f"unknown chip '{self.chip}'; known are {', '.join(CHIPS)}")
        if self.l2_per_agent is None:
            object.__setattr__(self, "l2_per_agent", CHIPS[self.chip].l2_per_agent)

    def access_effect(self, access: VectorAccessKind, bits: Iterable[str]) -> AccessEffect:
        """What an access with ``bits`` does; raises ``ProgramError`` if the chip has none such."""
        key = (CHIPS[self.chip].generation, access, _policy(bits), self.tgsplit, self.l2_per_agent)
        return self._legal(self.access, key)

    def cache_effect(self, mnemonic: str, bits: Iterable[str]) -> CacheEffect:
        """What a cache instruction does; raises ``ProgramError`` if the chip has none such."""
        if mnemonic not in MNEMONICS:
            raise ProgramError(f"unknown cache instruction '{mnemonic}'; known are {MNEMONICS}")
        key = (
            CHIPS[self.chip].generation,
            mnemonic,
            _policy(bits),
            self.tgsplit,
            self.l2_per_agent,
        )
        return self._legal(self.cache, key)

    def _legal(self, table: Table[Effect | Illegal], key: tuple[Hashable, ...]) -> Effect:
        value = table[key].value
        if isinstance(value, Illegal):
            asked = " ".join(str(part) for part in key[1:3] if part)
            accepted = f"; accepted: {', '.join(value.accepted)}" if value.accepted else ""
            raise ProgramError(f"{self.chip}: {asked}: {value.reason}{accepted}")
        return value


def _policy(bits: Iterable[str]) -> str:
    policy = " ".join(sorted(set(bits) - HINTS))
    if policy not in BITS:
        raise ProgramError(f"unknown cache policy bits '{policy}'; known are {BITS[1:]}")
    return policy


def broken(
    table: Table[Effect | Illegal], effect: Effect, **where: Hashable
) -> Table[Effect | Illegal]:
    """``table`` with ``effect`` in every legal row that ``where`` names: a machine to be caught."""
    columns = tuple(table.columns)
    rows: list[Row[Effect | Illegal]] = []
    for key, old in table.items():
        place = dict(zip(columns, key, strict=True))
        hit = all(place[column] == value for column, value in where.items())
        value = effect if hit and not isinstance(old.value, Illegal) else old.value
        rows.append(Row({c: (v,) for c, v in place.items()}, value, "broken on purpose"))
    return Table(table.name, table.columns, rows)
