"""Mbarriers that are not listened to, or overwritten while they are in use.

Which phase a wait is for, which bytes it counts and what it orders is a question of verdicts. Here
are the hazards of one thread. Only mbarriers at one address that the text knows are looked at: a
variable, or a register that is not computed anew. Source: PTX ISA, "mbarrier.try_wait";
"mbarrier.inval".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.addresses import Overlap, Place, Places, overlap
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    MBARRIER_WAITS,
    OperandRole,
    Statement,
)
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.vocabulary import FastStrEnum

_INITS, _ENDS = "mbarrier init", "mbarrier inval"


class Misuse(FastStrEnum):
    """The kind of a misuse of an mbarrier."""

    UNUSED_RESULT = "a wait whose answer is not used"
    ALIVE = "an access to an mbarrier that is in use"


@dataclass(frozen=True, slots=True)
class Misused:
    """``at`` misuses an mbarrier; ``other``: the operation that shows it."""

    misuse: Misuse
    at: PtxInstruction
    other: PtxInstruction | None


@dataclass(frozen=True, slots=True)
class _State:
    """The mask of initialisations whose mbarriers may be in use."""

    alive: int = 0

    def join(self, other: "_State") -> "_State":
        """The mbarriers that may be alive on either path."""
        return _State(self.alive | other.alive)


def _phase(wait: Statement) -> str:
    """The operand of the phase that a wait is for; "" if there is none."""
    return next((each for role, each in wait.roles if role is OperandRole.USE), "")


class PhaseAnalysis:
    """The mbarriers of one function."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        self.instructions = self.function.instructions

    def misused(self) -> Iterator[Misused]:
        """The misuses, in the order of the text."""
        found: list[Misused] = []
        if not MBARRIER_WAITS.isdisjoint(self.function.operations):
            found += self._unheard()
        if _INITS in self.function.operations:
            found += self._overwritten()
        yield from sorted(found, key=lambda each: each.at.number)

    @cached_property
    def _number(self) -> Mapping[int, int]:
        return {each.number: n for n, each in enumerate(self.instructions)}

    @cached_property
    def _at(self) -> Sequence[Place | None]:
        return [self._place(each.statement) for each in self.instructions]

    def _place(self, statement: Statement) -> Place | None:
        name = statement.operand(OperandRole.MBARRIER) or statement.operand(OperandRole.SIGNAL)
        return self.places.of_mbarrier(name) if name else None

    def _may_be_same(self, a: int, b: int) -> bool:
        first, second = self._at[a], self._at[b]
        return first is None or second is None or overlap(first, second) is not Overlap.NO

    def _unheard(self) -> Iterator[Misused]:
        used = {name for each in self.instructions for name in each.statement.uses}
        heard, unheard = set[str](), list[PtxInstruction]()
        for each in self.instructions:
            statement = each.statement
            if statement.operation not in MBARRIER_WAITS:
                continue
            if not statement.loops and used.isdisjoint(statement.defines):
                unheard.append(each)
            elif (phase := _phase(statement)).startswith("%"):
                heard.add(phase)
        for each in unheard:
            if _phase(each.statement) not in heard:  # Else it looks ahead.
                yield Misused(Misuse.UNUSED_RESULT, each, None)

    def _overwritten(self) -> Iterator[Misused]:
        for each, state in states(self.function, _State(), self._after):
            if alive := next(self._meets(each.statement, state.alive), None):
                yield Misused(Misuse.ALIVE, each, alive)

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement, n, alive = each.statement, self._number[each.number], state.alive
        if statement.kind is Kind.OPAQUE or statement.operation == "call":
            return _State()
        if statement.operation == _INITS:
            alive |= 1 << n
        elif statement.operation == _ENDS:
            alive &= ~sum(1 << m for m in bits(alive) if self._may_be_same(m, n))
        return _State(alive)

    def _meets(self, statement: Statement, alive: int) -> Iterator[PtxInstruction]:
        if statement.kind not in ACCESSES or not alive:
            return
        for access in statement.accesses:
            place = self.places.of(access)
            if not access.writes or not place.exact or not access.address:
                continue
            for m in bits(alive):
                other = self._at[m]
                if other is not None and overlap(place, other) is Overlap.SURE:
                    yield self.instructions[m]
