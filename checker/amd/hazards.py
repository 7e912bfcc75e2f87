"""Registers that are used or overwritten before a load that is still in flight has been waited for.

Read from the states of ``cdna_state``. Where paths join, a register is in flight if it is on
either. Not a hazard: two loads of one kind that write the same register, as both deliver in the
order of their issue; a register that is overwritten while a store has yet to complete, as it has
read it. Sources: MI300 ISA 4.4 and 10.2.2; LLVM SIInsertWaitcnts.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from fencewright.checker.amd.state import ANYTHING, COUNT_INVALIDATES, LDS_DATA, Code, State
from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.flow import Step
from fencewright.lowering.cdna.code.operands.operands import fault_of
from fencewright.lowering.cdna.code.text import AssemblyLabel, Registers
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.unknown import after
from fencewright.lowering.vocabulary import AddressSpace

_JUMPS = (Kind.BRANCH, Kind.JUMP)


Place = tuple[int, str]
"""The line of an instruction, and a register that it uses or overwrites."""


def find_hazards(
    code: Code,
    entries: Mapping[int, State],
    places: Collection[Place] | None = None,
    unwaited: Collection[int] = (),
) -> list[Finding]:
    """The findings in one function, by line; ``entries``: the solution of ``solve`` for ``code``.

    ``places``: where alone a register may be used too early, if that is known. ``unwaited``: the
    lines of loads to LDS that nothing waits for where it would count.
    """
    return sorted(_Analysis(code, entries, places, unwaited).findings())


def places_of_hazards(code: Code, entries: Mapping[int, State]) -> set[Place]:
    """The places at which registers are used or overwritten too early."""
    return {
        (step.instruction.line, register)
        for number, entry in entries.items()
        for step, state in _steps(code, number, entry)
        if not is_unknown(step)
        for rule, register in hazards_at(state, step)
        if rule in ON_A_PATH
    }


def _steps(code: Code, number: int, entry: State) -> Iterator[tuple[Step, State]]:
    """The steps of a block, each with the state before it, which is the same object for all."""
    state = entry.copy()
    counted = iter(code.counted[number])
    changing, operation = next(counted, (None, None))
    for step in code.flow.blocks[number].steps:
        yield step, state
        if step is changing:
            state.step(code, step, operation)
            changing, operation = next(counted, (None, None))


_TEXTS: Mapping[Rule, str] = MappingProxyType(
    {
        Rule.ENTRY: "the function is called with loads in flight",
        Rule.RAW: "{register} is used while the load of line {line} that writes it is in flight",
        Rule.WAW: (
            "{register} is overwritten while the load of line {line} that writes it is in flight"
        ),
        Rule.RETURN: (
            "the function returns while the load of line {line} to {register} is in flight"
        ),
        Rule.LDS_DMA: (
            "LDS is read while the load to LDS of line {line} is in flight, perhaps to the same "
            "place"
        ),
    }
)
ON_A_PATH = (Rule.RAW, Rule.WAW)
"""The rules whose faults a path shows."""

_READS = (Kind.LOAD, Kind.RMW)


def hazards_at(state: State, step: Step) -> Iterator[tuple[Rule, str]]:
    """The hazards of an instruction in flight: the rule, and the register that is written."""
    effects, loads = step.effects, state.loads
    if ANYTHING in loads and effects.registers:
        yield Rule.ENTRY, ANYTHING
        return
    if not loads.keys().isdisjoint(effects.registers):
        for is_use, register in state.hazards(step):
            yield Rule.RAW if is_use else Rule.WAW, register
    if step.is_return:
        for register in loads:
            yield Rule.RETURN, register
    if LDS_DATA in loads and effects.kind in _READS and effects.space is AddressSpace.LOCAL:
        yield Rule.LDS_DMA, LDS_DATA


def is_unknown(step: Step) -> bool:
    """True of an instruction without a row: it may do anything."""
    return step.effects.kind is Kind.OPAQUE


def _does_something(step: Step) -> bool:
    return not step.effects.is_idle and step.effects.kind is not Kind.END


_COUNTERS = frozenset(map(str, Counter))


class _Analysis:
    def __init__(
        self,
        code: Code,
        entries: Mapping[int, State],
        places: Collection[Place] | None,
        unwaited: Collection[int],
    ):
        self.code = code
        self.unwaited = unwaited
        self.places = places
        self.flow = code.flow
        self.entries = entries
        self.found: dict[tuple[Rule, int], Finding] = {}
        self.after_unknown = frozenset[int]()
        if Kind.OPAQUE in self.flow.kinds:
            steps = [block.steps for block in self.flow.blocks]
            self.after_unknown = frozenset(map(id, after(self.flow.blocks, steps, is_unknown)))

    def findings(self) -> list[Finding]:
        """All findings, one for each load and rule."""
        for number, state in self.entries.items():
            self._report(number, state)
        self._report_unreached()
        return list(self.found.values())

    def _report(self, number: int, entry: State) -> None:
        for step, state in _steps(self.code, number, entry):
            effects = step.effects
            if effects.kind is Kind.WAIT:
                if id(step) not in self.after_unknown:
                    self._report_surplus(state, step)
            elif is_unknown(step):
                fault = fault_of(step.instruction, self.flow.chip.generation)
                text = f"{fault}: it may do anything"
                self._add(Rule.UNKNOWN, step, text, step.instruction.line)
            elif state.loads:
                self._report_uses(state, step)

    def _report_unreached(self) -> None:
        """Jumps to no label, and code that only an indirect jump may lead to."""
        blocks, entries = self.flow.blocks, self.entries
        function = self.flow.function
        labels = {each.name for each in function.body if isinstance(each, AssemblyLabel)}
        labels.add(function.name)
        for number in entries:
            last = blocks[number].steps[-1] if blocks[number].steps else None
            if last is None or last.effects.kind not in _JUMPS:
                continue
            target = last.instruction.operands[0] if last.instruction.operands else ""
            name = target.strip('"') if isinstance(target, str) else str(target)
            if not isinstance(target, Registers) and name not in labels:
                text = f"'{name}' is no label of this function: what follows there is not checked"
                self._add(Rule.UNREACHED, last, text, last.instruction.line)
        ends = [block.steps[-1] for n, block in enumerate(blocks) if n in entries and block.steps
                and not block.successors]  # fmt: skip
        if not any(each.effects.kind is Kind.JUMP and not each.is_return for each in ends):
            return
        for number, block in enumerate(blocks):
            first = next((each for each in block.steps if _does_something(each)), None)
            if number not in entries and first is not None:
                text = "no jump that is known leads here: what follows is not checked"
                self._add(Rule.UNREACHED, first, text, 0)

    def _report_uses(self, state: State, step: Step) -> None:
        for rule, register in hazards_at(state, step):
            if rule in ON_A_PATH and not self._may_be(step, register):
                continue
            line = state.loads[register].line
            wait = f"{state.needed([register])} is missing"
            self._add(
                rule, step, f"{_TEXTS[rule].format(register=register, line=line)}: {wait}", line
            )

    def _may_be(self, step: Step, register: str) -> bool:
        return self.places is None or (step.instruction.line, register) in self.places

    def _report_surplus(self, state: State, step: Step) -> None:
        for name, count in self.code.waits[step.instruction.line].items():
            counter = state.counters.get(Counter(name)) if name in _COUNTERS else None
            settles = name in COUNT_INVALIDATES and count == 0 and state.waits_for_invalidate
            if counter is not None and counter.bounds.satisfied(count) and not settles:
                text = f"{name}({count}) waits for nothing: no more can be outstanding here"
                self._add(Rule.SURPLUS_WAIT, step, text, step.instruction.line)

    def _add(self, rule: Rule, step: Step, text: str, about: int) -> None:
        """One finding for each rule and load, the first in the text; one wait is missing."""
        line = step.instruction.line
        key = (Rule.RAW if rule is Rule.WAW else rule, about)
        known = self.found.get(key)
        if known is None or line < known.line:
            # A pipeline of several buffers reads one while it loads another.
            is_pipeline = rule is Rule.LDS_DMA and about not in self.unwaited
            lesser = Level.NOTE if is_pipeline else None
            self.found[key] = Finding(line, rule, text, lesser, (about,) if about else ())
