"""Candidates for repairs of AMD assembly: for each rule what can be written, the smallest first.

Waits, invalidates and write-backs are those that the rows of the chip have. None is believed: the
judgement of the edited text decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from fencewright.checker.findings.finding import Rule
from fencewright.checker.repair.edits import Repair, Spot, after, before, delete, replace
from fencewright.checker.repair.search import Fault
from fencewright.lowering.cdna.chip import Code
from fencewright.lowering.cdna.chips import KNOWN_CHIPS, ChipRow
from fencewright.lowering.cdna.code.counterexample_peer import invalidates_of, write_backs_of
from fencewright.lowering.cdna.code.text import Assembly, AssemblyInstruction, Function
from fencewright.lowering.cdna.code.waits import wait_counts
from fencewright.lowering.cdna.counters.waits import counters_of, read_wait, wait_lines
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import FastStrEnum, L2PerAgent, Scope

_SCOPES = (Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM)
_NEAR = 12
"""Places for each text that are tried before other texts are."""


class Part(FastStrEnum):
    """The statements that a candidate puts into the code."""

    WAIT = "a wait for one counter"
    INVALIDATE = "an invalidate"
    WRITE_BACK = "a write-back"
    BARRIER = "a barrier"
    SCALAR_INVALIDATE = "an invalidate of the scalar cache"


_P = Part
_WHOLE_BARRIER = ("s_barrier",)
_SPLIT_BARRIER = ("s_barrier_signal -1", "s_barrier_wait -1")
_HAZARD = ((_P.WAIT,),)
_RELEASE = (
    (_P.WAIT,),
    (_P.WRITE_BACK,),
    (_P.WRITE_BACK, _P.WAIT),
    (_P.WAIT, _P.WRITE_BACK, _P.WAIT),
)
_ACQUIRE = ((_P.WAIT,), (_P.INVALIDATE,), (_P.WAIT, _P.INVALIDATE), (_P.INVALIDATE, _P.WAIT))

ROWS: Mapping[Rule, tuple[tuple[Part, ...], ...]] = MappingProxyType(
    {
        Rule.RAW: _HAZARD,
        Rule.WAW: _HAZARD,
        Rule.ENTRY: _HAZARD,
        Rule.RETURN: _HAZARD,
        Rule.TRANSLATION: _HAZARD,
        Rule.LDS_DMA: _HAZARD,
        Rule.LDS_DMA_BARRIER: _HAZARD,
        Rule.LDS_BARRIER: _HAZARD,
        Rule.CUMULATIVE: _HAZARD,
        Rule.CUMULATIVE_ACQUIRE: _HAZARD,
        Rule.WRITE_BACK_UNWAITED: _HAZARD,
        Rule.RELEASE: _RELEASE,
        Rule.SEQ_CST: _RELEASE,
        Rule.UNORDERED_SIGNAL: _RELEASE,
        Rule.ACQUIRE: _ACQUIRE,
        Rule.UNORDERED_WAIT: _ACQUIRE,
        Rule.SCALAR_STALE: ((_P.SCALAR_INVALIDATE,),),
        Rule.LOST_BARRIER: ((_P.BARRIER,), (_P.WAIT, _P.BARRIER)),
        Rule.MISSING_BARRIER: ((_P.BARRIER,), (_P.WAIT, _P.BARRIER)),
    }
)
"""The parts of a candidate, by the rule that it repairs, the smallest first."""

_BITS = (
    "glc",
    "sc0",
    "sc1",
    "sc0 sc1",
    "glc dlc",
    *(f"scope:SCOPE_{s}" for s in ("SE", "DEV", "SYS")),
)
"""The scopes that an access may carry; the assembler's form of the chip decides which fit."""
SCOPE_BITS = frozenset(word for bits in _BITS for word in bits.split())
_SCOPED = frozenset({Rule.COHERENCE, Rule.SPIN})
_SURPLUS = frozenset(
    {Rule.SURPLUS_BARRIER, Rule.SURPLUS_WAIT, Rule.SURPLUS_WRITE_BACK, Rule.SURPLUS_INVALIDATE}
)


@dataclass(frozen=True, slots=True)
class AmdCode:
    """A function in its text."""

    chip: ChipRow
    instructions: tuple[AssemblyInstruction, ...]
    spots: Mapping[int, Spot]

    def places(self, first: int, last: int) -> list[Spot]:
        """The statements before which something can be put: those between two lines first, the
        nearest to the last before the others."""
        return sorted(self.spots.values(), key=lambda spot: _distance(spot.line, first, last))

    def texts(self, part: Part, scopes: Sequence[Scope] = _SCOPES) -> list[tuple[str, ...]]:
        """The instructions for a part on the chip, the cheapest first."""
        match part:
            case Part.WAIT:
                counts = (WaitCounts(**{name: 0}) for name in self.chip.counters)
                return [wait_lines(each, self.chip.splits_counters) for each in counts]
            case Part.INVALIDATE:
                return self._maintained(
                    invalidates_of(self.chip, scope, split=split)
                    for scope, split in product(scopes, (False, True))
                )
            case Part.WRITE_BACK:
                return self._maintained(
                    write_backs_of(self.chip, scope, L2PerAgent.MANY, split=split)
                    for scope, split in product(scopes, (False, True))
                )
            case Part.BARRIER:
                # No chip that splits counters has s_barrier: lowering/cdna/instructions.py.
                return [_SPLIT_BARRIER if self.chip.splits_counters else _WHOLE_BARRIER]
            case Part.SCALAR_INVALIDATE:
                return [("s_dcache_inv",)]

    def _maintained(self, codes: Iterator[Code]) -> list[tuple[str, ...]]:
        found = dict.fromkeys(tuple(self._lines(code)) for code in codes)
        return [each for each in found if each]

    def _lines(self, code: Code) -> Iterator[str]:
        for each in code:
            if isinstance(each, WaitCounts):
                yield from wait_lines(each, self.chip.splits_counters)
            else:
                yield " ".join((each.mnemonic, *each.modifiers))


def _distance(line: int, first: int, last: int) -> tuple[int, int]:
    if first < line <= last:
        return 0, last - line
    return (1, line - last) if line > last else (2, first - line)


def code_of(function: Function, text: str) -> AmdCode:
    """A function with the spots of its instructions in the text that it was read from."""
    lines = text.split("\n")
    spots: dict[int, Spot] = {}
    for each in function.instructions:
        line = lines[each.line - 1] if each.line <= len(lines) else ""
        column = line.find(each.mnemonic)
        # Two instructions of a line have one place only: such a line is left as it is.
        if column >= 0 and each.line not in spots:
            spots[each.line] = Spot(each.line, column + 1, _without_comment(line[column:]))
    return AmdCode(KNOWN_CHIPS[function.chip], function.instructions, spots)


def _without_comment(text: str) -> str:
    return text.partition(";")[0].partition("//")[0].rstrip()


def candidates_of(assembly: Assembly, text: str, fault: Fault) -> Iterator[Repair]:
    """The candidates for the repair of a finding in AMD assembly."""
    function = assembly.functions.get(fault.function)
    rule = Rule(fault.rule)
    if function is None or not function.instructions:
        return
    code = code_of(function, text)
    if rule in _SURPLUS and code.spots.keys() >= {fault.line, *fault.about}:
        yield from _gone(code, fault)
    if rule in _SCOPED:
        yield from _with_bits(code, (fault.line, *fault.about))
    parts = ROWS.get(rule, ())
    if parts:
        yield from _fewer_in_flight(code, rule)
        yield from _wider(code, parts)
        yield from _put(code, rule, parts, fault)


def _gone(code: AmdCode, fault: Fault) -> Iterator[Repair]:
    """The instruction left out with its other parts, of a wait the part that can go."""
    spot = code.spots[fault.line]
    (each,) = (each for each in code.instructions if each.line == fault.line)
    left = _other_counts(each, code.chip, fault.part) if fault.part else ""
    others = (delete(code.spots[line]) for line in fault.about)
    yield (replace(spot, left) if left else delete(spot), *others)


def _other_counts(wait: AssemblyInstruction, chip: ChipRow, part: str) -> str:
    """A wait without one of its counters; "" if it has no other."""
    if not counters_of(wait.mnemonic):
        words = [each for each in (*wait.operands, *wait.modifiers) if each != "&"]
        counts = wait_counts(words, chip.generation)
        rest = " ".join(f"{name}({n})" for name, n in counts.items() if name != part)
        return f"{wait.mnemonic} {rest}" if rest else ""
    operand = wait.operands[-1]
    counts = read_wait(wait.mnemonic, operand) if isinstance(operand, int) else None
    left = counts.only(counters_of(wait.mnemonic) - {part}) if counts is not None else WaitCounts()
    return "\n".join(wait_lines(left, splits_counters=True)) if left else ""


def _with_bits(code: AmdCode, lines: Sequence[int]) -> Iterator[Repair]:
    for line in lines:
        for bits in _BITS if line in code.spots else ():
            spot = code.spots[line]
            words = [word for word in spot.text.split() if word not in ("glc", "sc0", "sc1", "dlc")]
            yield (replace(spot, " ".join((*words, bits))),)


def _fewer_in_flight(code: AmdCode, rule: Rule) -> Iterator[Repair]:
    """A wait that is there with a lower count, where the rule is about registers."""
    if rule not in (Rule.RAW, Rule.WAW):
        return
    for spot in code.spots.values():
        head, _, tail = spot.text.rpartition("(")
        count = tail.rstrip(")")
        if spot.text.startswith("s_waitcnt ") and " " not in head.strip()[10:] and count.isdigit():
            for less in range(int(count) - 1, -1, -1):
                yield (replace(spot, f"{head}({less})"),)


def _wider(code: AmdCode, forms: Sequence[tuple[Part, ...]]) -> Iterator[Repair]:
    """A write-back or an invalidate that is there, of another scope."""
    for part in (Part.WRITE_BACK, Part.INVALIDATE):
        texts = code.texts(part) if (part,) in forms else []
        single = [text for (text,) in (each for each in texts if len(each) == 1)]
        for spot in code.spots.values():
            others = (each for each in single if each.split()[0] == spot.text.split()[0])
            yield from ((replace(spot, each),) for each in others if each != spot.text)


def _put(
    code: AmdCode, rule: Rule, forms: Sequence[tuple[Part, ...]], fault: Fault
) -> Iterator[Repair]:
    """The parts put before a statement: between the accesses first, near to the finding next."""
    lines = [line for line in (*fault.about, fault.line) if line]
    first, last = (min(lines), fault.line) if lines else (0, 0)
    places = code.places(first, last)
    if rule is Rule.CUMULATIVE and fault.about:
        # Other waves cannot be waited for once the barrier is behind them.
        places = [spot for spot in places if spot.line <= max(fault.about)]
    between = min(sum(first < spot.line <= last for spot in places), _NEAR)
    for near in (places[:between], places[between:_NEAR], places[_NEAR:]):
        for form in forms:
            for texts in product(*map(code.texts, form)):
                statements = tuple(line for text in texts for line in text)
                for spot in near:
                    yield (before(spot, *statements),)
                    if spot.line in fault.about and rule is not Rule.CUMULATIVE:
                        yield (after(spot, *statements),)
