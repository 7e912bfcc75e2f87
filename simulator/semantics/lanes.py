"""Instructions of the lanes of a warp together: the facts that each takes of them, and its results.

Source: PTX ISA, shfl.sync; vote.sync; match.sync; redux.sync; elect.sync; activemask.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from fencewright.lowering.ptx.code.statements import Opcode
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.simulator.semantics.formulas import update_of
from fencewright.simulator.semantics.term import Term, choose, length, operand


class Fact(FastStrEnum):
    """The first operand of a formula; the others are the members and the lane.

    SOURCE: none: the formulas are of the lane, the distance and the control, and give the lane that
    is read. BALLOT: the members whose value is not 0. SAME: those whose value is the lane's. FOLD:
    the values of all in one. MEMBERS: the members themselves.
    """

    SOURCE = "source"
    BALLOT = "ballot"
    SAME = "same"
    FOLD = "fold"
    MEMBERS = "members"


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One instruction; ``operands``: how many it has, the members last."""

    fact: Fact
    operands: int
    results: tuple[Callable[[Term, Term, Term], Term], ...]


def _source(mode: str, is_second: bool, lane: Term, by: Term, control: Term) -> Term:
    """The lane that a shuffle reads; the second result: true where that is in its segment."""
    by, segment = by & 31, control >> 8 & 31
    first, others = lane & segment, segment ^ 31
    last = first | control & 31 & others
    source = {"down": lane + by, "bfly": lane ^ by, "idx": first | by & others}.get(mode)
    inside = lane >= last + by if source is None else source <= last
    source = lane.less(by) if source is None else source
    return inside if is_second else choose(inside, source, lane)


def _first(_: Term, members: Term, lane: Term) -> Term:
    """The first lane, as elect.sync has it on every chip so far."""
    return length(members & 0 - members).less(1)


_VOTES: Mapping[str, Callable[[Term, Term, Term], Term]] = MappingProxyType(
    {
        "all": lambda yes, members, lane: yes.equals(members),
        "any": lambda yes, members, lane: yes.differs(0),
        "uni": lambda yes, members, lane: yes.equals(members) | yes.equals(0),
        "ballot": lambda yes, members, lane: yes,
    }
)
BARRIER_FOLDS: Mapping[str, Callable[[Term, Term], Term]] = MappingProxyType(
    {
        "popc": lambda yes, voters: yes,
        "and": lambda yes, voters: yes.equals(voters),
        "or": lambda yes, voters: yes.differs(0),
    }
)
"""The results of bar.red, of how many threads vote yes and how many vote. Source: PTX ISA, bar."""
_FOLDED = LaneRow(Fact.FOLD, 2, (lambda word, members, lane: word,))
_ROWS: Mapping[str, LaneRow] = MappingProxyType(
    {
        **{
            f"shfl.sync.{mode}": LaneRow(
                Fact.SOURCE, 4, (partial(_source, mode, False), partial(_source, mode, True))
            )
            for mode in ("up", "down", "bfly", "idx")
        },
        **{
            # ptxas takes both orders of the words, and CUB writes the second.
            name: LaneRow(Fact.BALLOT, 2, (formula,))
            for mode, formula in _VOTES.items()
            for name in (f"vote.sync.{mode}", f"vote.{mode}.sync")
        },
        "match.any.sync": LaneRow(Fact.SAME, 2, (lambda same, members, lane: same,)),
        "match.all.sync": LaneRow(
            Fact.SAME, 2,
            (lambda same, members, lane: choose(same.equals(members), members, 0),
             lambda same, members, lane: same.equals(members)),
        ),
        "elect.sync": LaneRow(
            Fact.MEMBERS, 1,
            (_first, lambda word, members, lane: lane.equals(_first(word, members, lane))),
        ),
        "activemask": LaneRow(Fact.MEMBERS, 0, (lambda word, members, lane: members,)),
        **{f"redux.sync.{name}": _FOLDED for name in ("add", "min", "max", "and", "or", "xor")},
    }
)  # fmt: skip
NAMES = tuple(sorted(_ROWS))
REPEATABLE = frozenset({"min", "max", "and", "or"})
"""The folds in which a value may count twice; in the others 0 changes nothing."""


def row_of(opcode: Opcode) -> LaneRow | None:
    """The row of an instruction; None without one."""
    row = _ROWS.get(".".join(each for each in opcode.words if each not in opcode.types))
    return None if row is _FOLDED and opcode.is_float else row


def terms_of(row: LaneRow) -> tuple[Term, ...]:
    """The results, of three operands: the fact, the members and the lane."""
    widths = (5, 32, 32) if row.fact is Fact.SOURCE else (32, 32, 5)
    given = [operand(at, width) for at, width in enumerate(widths)]
    return tuple(each(*given) for each in row.results)


def folding(opcode: Opcode) -> Term:
    """The two values of a fold as one: those of the atomic of its name."""
    update = update_of(opcode)
    assert update is not None, opcode.name
    return update([operand(at, 32) for at in range(2)])
