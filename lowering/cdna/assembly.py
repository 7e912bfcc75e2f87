"""Assembly of CDNA: the wait states that the programmer, not the hardware, has to insert.

Works on what is printed, so that it sees a pseudo instruction as the instructions it stands for.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from fencewright.lowering.cdna.chips import CHIPS, LOWERED_GENERATIONS, Counter, Generation
from fencewright.lowering.cdna.instruction_row import TO_MEMORY, Unit
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.table import Table, row
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum


class Hazard(FastStrEnum):
    """A pair of instructions that must not follow each other too closely."""

    SCALAR_READ = "vector instruction reads a scalar register that a vector instruction wrote"
    STORE_DATA = "vector instruction overwrites the data of a store of more than 64 bits"
    CLAUSE = "memory instruction overwrites a register that the one right before it reads"


_G = Generation
_LLVM = "LLVM GCNHazardRecognizer"

WAIT_STATES: Table[int] = Table(
    "wait states",
    {"hazard": Hazard, "generation": LOWERED_GENERATIONS},
    (
        row(0, f"MI200 ISA 4.5; {_LLVM}, VALUWriteSGPRVALURead: gfx940 and later",
            hazard=Hazard.SCALAR_READ, generation=(_G.GFX908, _G.GFX90A)),
        row(2, f"MI300 ISA 4.5; {_LLVM}, VALUWriteSGPRVALURead",
            hazard=Hazard.SCALAR_READ, generation=_G.GFX942),
        row(0, f"{_LLVM}: what gfx9 needs nops for, gfx12 and later wait for by themselves",
            hazard=(Hazard.SCALAR_READ, Hazard.STORE_DATA), generation=_G.GFX1250),
        row(0, "LLVM 24 AMDGPUUsage, Memory Model GFX125x: s_wait_xcnt says that nothing is "
               "replayed",
            hazard=Hazard.CLAUSE, generation=_G.GFX1250),
        row(1, f"MI200 ISA 4.5; {_LLVM}, checkVALUHazardsHelper",
            hazard=Hazard.STORE_DATA, generation=(_G.GFX908, _G.GFX90A)),
        row(2, f"MI300 ISA 4.5; {_LLVM}, checkVALUHazardsHelper",
            hazard=Hazard.STORE_DATA, generation=_G.GFX942),
        row(1, f"{_LLVM}, checkSoftClauseHazards: with XNACK, instructions in a row may be "
            "replayed; a store does not follow a load in one clause either",
            hazard=Hazard.CLAUSE, generation=(_G.GFX908, _G.GFX90A, _G.GFX942)),
    ),
)  # fmt: skip
"""(hazard, generation) -> how many wait states there must be between the two instructions."""


def hazards_of(chip: str) -> dict[Hazard, int]:
    """The wait states that ``chip`` needs for each hazard that it has."""
    generation = CHIPS[chip].generation
    needed = {hazard: WAIT_STATES[hazard, generation].value for hazard in Hazard}
    return {hazard: wait_states for hazard, wait_states in needed.items() if wait_states}


Pending = dict[str, int]
"""Register -> how many wait states must still pass before a vector instruction may touch it.

``s3`` stands for reading a scalar register, ``v3`` for writing a vector register."""

Names = tuple[str, ...]
"""The registers of one operand, one by one: ``("v4", "v5")``; none for a number."""

VCC = ("vcc",)


def _is_scalar(register: str) -> bool:
    return register[0] == "s" or register == "vcc"


@dataclass(frozen=True, slots=True)
class HazardEffect:
    """The properties of an instruction on which its hazards depend.

    ``clause``: the kind of memory instruction that it is, which ``stores`` or loads, with the
    registers ``written`` and ``read``. Of a vector instruction ``touched``
    are the vector registers that it writes and the scalar ones that it reads, ``scalars`` the
    scalar ones that it writes. ``wide_data``: the vector registers of a wide store. ``sets``: all
    registers that it writes.
    """

    clause: str = ""
    stores: bool = False
    written: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()
    touched: Names = ()
    scalars: Names = ()
    wide_data: Names = ()
    sets: frozenset[str] = frozenset()


NO_EFFECT = HazardEffect()
_IN_CLAUSES = frozenset(
    {AddressSpace.GLOBAL, AddressSpace.GENERIC, AddressSpace.PRIVATE, AddressSpace.CONSTANT}
)
_WIDE = 2
"""The registers of store data beyond which the store is a wide one."""


@lru_cache(maxsize=1 << 12)
def effect_of(
    kind: Kind,
    unit: Unit | None,
    space: AddressSpace | None,
    returns: bool,
    operands: tuple[Names, ...],
) -> HazardEffect:
    """The effect of an instruction with these operands, in the order of its text.

    ``kind``, ``unit``, ``space`` and ``returns`` are those of its row.
    """
    if unit is Unit.VALU:
        # A carry is the second result.
        results = 2 if operands[1:2] == (VCC,) else 1
        written = [register for operand in operands[:results] for register in operand]
        read = [register for operand in operands[results:] for register in operand]
        vectors = [register for register in written if not _is_scalar(register)]
        return HazardEffect(
            touched=(*vectors, *filter(_is_scalar, read)),
            scalars=tuple(filter(_is_scalar, written)),
            sets=frozenset(written),
        )
    if unit is Unit.SALU:
        return HazardEffect(sets=frozenset(operands[0]))
    is_load = kind is Kind.LOAD
    results = int(is_load or returns)
    sets = frozenset(register for operand in operands[:results] for register in operand)
    if kind not in TO_MEMORY:
        return NO_EFFECT
    if space not in _IN_CLAUSES:
        return HazardEffect(sets=sets)
    stores = not is_load
    vectors = [operand for operand in operands if operand and not _is_scalar(operand[0])]
    wide = stores and max(map(len, vectors), default=0) > _WIDE
    return HazardEffect(
        clause="scalar" if space is AddressSpace.CONSTANT else "vector",
        stores=stores,
        written=sets,
        sets=sets,
        read=frozenset(register for operand in operands[results:] for register in operand),
        wide_data=tuple(register for operand in vectors for register in operand) if wide else (),
    )


class Printed(NamedTuple):
    """An instruction as text, with the properties that its hazards depend on."""

    text: str
    effect: HazardEffect = NO_EFFECT


@dataclass(slots=True)
class _Clause:
    """Memory instructions of one kind that follow each other directly."""

    kind: str = ""
    written: set[str] = field(default_factory=set[str])
    read: set[str] = field(default_factory=set[str])

    def wait_states_before(self, line: HazardEffect) -> int:
        """The wait states that must come before the instruction, which joins the clause."""
        if line.clause != self.kind:
            self._start(line.clause)
        if not line.clause:
            return 0
        breaks = bool(self.written) and (
            line.stores or not (self.written | line.written).isdisjoint(self.read | line.read)
        )
        if breaks:
            self._start(line.clause)
        self.written |= line.written
        self.read |= line.read
        return int(breaks)

    def _start(self, kind: str) -> None:
        self.kind = kind
        self.written, self.read = set(), set()


@dataclass(slots=True)
class _Scan:
    """One walk over the instructions of a block."""

    hazards: dict[Hazard, int]
    pending: Pending
    clause: _Clause = field(default_factory=_Clause)

    def wait_states_before(self, line: HazardEffect) -> int:
        """The number of wait states that the instruction needs; counts it as issued."""
        breaks = self.clause.wait_states_before(line)
        wait = breaks if Hazard.CLAUSE in self.hazards else 0
        if self.pending:
            if line.touched:
                wait = max([self.pending.get(register, 0) for register in line.touched])
            self._pass(wait + 1)
        if line.wide_data and Hazard.STORE_DATA in self.hazards:
            self.pending |= dict.fromkeys(line.wide_data, self.hazards[Hazard.STORE_DATA])
        if line.scalars and Hazard.SCALAR_READ in self.hazards:
            self.pending |= dict.fromkeys(line.scalars, self.hazards[Hazard.SCALAR_READ])
        return wait

    def _pass(self, wait_states: int) -> None:
        self.pending = {r: n - wait_states for r, n in self.pending.items() if n > wait_states}


_END = "s_endpgm"
_TRANSLATED = "s_wait_xcnt 0x0"
_WAITS_FOR_ALL = re.compile(r"s_wait_\w+ 0x0$")
"""A wait for all of a counter, which is one for all translations as well."""


class _Translations:
    """The registers of accesses that may not have been translated: XNACK may replay them.

    Source: LLVM 24 AMDGPUUsage, Memory Model GFX125x, xcnt: a wait for N of another counter also
    waits for N translations.
    """

    def __init__(self, pending: Iterable[str] = ()):
        self.pending = set(pending)

    def wait_before(self, line: Printed) -> bool:
        """True where the line overwrites such a register and has to wait; counts it as issued."""
        waits = not self.pending.isdisjoint(line.effect.sets)
        if waits or _WAITS_FOR_ALL.match(line.text):
            self.pending.clear()
        self.pending |= line.effect.read
        return waits


def insert_translation_waits(blocks: Sequence[Sequence[Printed]]) -> list[list[Printed]]:
    """The blocks' instructions with ``s_wait_xcnt`` before a register of an access is overwritten.

    What is pending at the end of any block that does not end the wave is taken to be so at the
    start of every other.
    """
    entering: set[str] = set()
    for block in blocks:
        if block and block[-1].text == _END:
            continue
        scan = _Translations()
        for line in block:
            scan.wait_before(line)
        entering |= scan.pending
    result: list[list[Printed]] = []
    for number, block in enumerate(blocks):
        scan = _Translations(entering if number else ())
        lines: list[Printed] = []
        for line in block:
            if scan.wait_before(line):
                lines.append(Printed(_TRANSLATED))
            lines.append(line)
        result.append(lines)
    return result


def insert_wait_states(blocks: Sequence[Sequence[Printed]], chip: str) -> list[list[str]]:
    """The blocks' instructions with ``s_nop`` or ``s_wait_xcnt`` where ``chip`` needs it.

    What is pending at the end of any block is taken to be so at the start of every other.
    """
    hazards = hazards_of(chip)
    if Counter.XCNT in CHIPS[chip].counters:
        blocks = insert_translation_waits(blocks)
    entering: Pending = {}
    # A kernel of one block is entered once, with nothing pending.
    for block in blocks if len(blocks) > 1 else ():
        scan = _Scan(hazards, {})
        for line in block:
            scan.wait_states_before(line.effect)
        for register, wait_states in scan.pending.items():
            entering[register] = max(wait_states, entering.get(register, 0))
    result: list[list[str]] = []
    clause = _Clause()
    for number, block in enumerate(blocks):
        # A clause goes on where control falls through; a branch would have ended it.
        scan = _Scan(hazards, dict(entering) if number else {}, clause)
        lines: list[str] = []
        for line in block:
            wait_states = scan.wait_states_before(line.effect)
            if wait_states:
                lines.append(f"s_nop {wait_states - 1}")
            lines.append(line.text)
        result.append(lines)
    return result
