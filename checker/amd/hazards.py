"""Registers that are used or overwritten before a load that is still in flight has been waited for.

Read from the states of ``cdna_state``. Where paths join, a register is in flight if it is on
either. Not a hazard: two loads of one kind that write the same register, as both deliver in the
order of their issue; a register that is overwritten while a store has yet to complete, as it has
read it. Sources: MI300 ISA 4.4 and 10.2.2; LLVM SIInsertWaitcnts.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

from fencewright.checker.amd.guarantees import Guarantees
from fencewright.checker.amd.state import (
    ANYTHING,
    COUNT_INVALIDATES,
    LDS_DATA,
    Code,
    State,
    leave,
)
from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.flow import Step
from fencewright.lowering.cdna.code.operands.operands import fault_of
from fencewright.lowering.cdna.code.text import AssemblyLabel, Registers
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.unknown import after
from fencewright.lowering.vocabulary import AddressSpace

_JUMPS = (Kind.BRANCH, Kind.JUMP)
_WAYS_OUT = (Kind.JUMP, Kind.END)


Place = tuple[int, str]
"""The line of an instruction, and a register that it uses or overwrites."""


def find_hazards(code: Code, entries: Mapping[int, State]) -> list[Finding]:
    """The findings in one function, by line; ``entries``: the solution of ``solve`` for ``code``.

    Nothing is known of waits for loads to LDS.
    """
    hazards = Hazards(code)
    for number, entry in entries.items():
        leave(code, number, entry, hazards.through)
    return hazards.findings()


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


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault at a step: of the load of a line, and of a register, if it is one of both."""

    rule: Rule
    step: Step
    text: str
    about: int
    register: str = ""

    @property
    def place(self) -> Place:
        """The line of the instruction, and the register."""
        return self.step.instruction.line, self.register


class Hazards:
    """The hazards of a function by its states, block by block.

    A block may be passed more than once: its hazards are those of the last time. ``guarantees``
    take facts from the same states.
    """

    def __init__(self, code: Code, guarantees: Guarantees | None = None):
        self.code = code
        self.flow = code.flow
        self._guarantees = guarantees
        self._faults: dict[int, list[_Fault]] = {}
        """By block that control can reach."""
        self._outside_loads = code.flow.is_called or Kind.COPY in code.flow.kinds
        self._after_unknown = frozenset[int]()
        if Kind.OPAQUE in self.flow.kinds:
            steps = [block.steps for block in self.flow.blocks]
            self._after_unknown = frozenset(map(id, after(self.flow.blocks, steps, is_unknown)))

    def through(self, number: int, state: State) -> None:
        """Execute a block and find its hazards."""
        code, guarantees, loads = self.code, self._guarantees, state.loads
        faults = self._faults[number] = list[_Fault]()
        if guarantees is not None:
            guarantees.begin(number)
        counted = iter(code.counted[number])
        changing, operation = next(counted, (None, None))
        for step in code.flow.blocks[number].steps:
            effects = step.effects
            if loads and not (
                loads.keys().isdisjoint(effects.registers)
                and not self._outside_loads
                and effects.kind not in _WAYS_OUT
            ):
                faults += self._uses(state, step)
            if step is changing:
                if effects.kind is Kind.WAIT:
                    faults += self._surplus(state, step)
                elif effects.kind is Kind.OPAQUE:
                    fault = fault_of(step.instruction, self.flow.chip.generation)
                    text = f"{fault}: it may do anything"
                    faults.append(_Fault(Rule.UNKNOWN, step, text, step.instruction.line))
                if guarantees is not None:
                    guarantees.see(step, operation, state)
                state.step(code, step, operation)
                changing, operation = next(counted, (None, None))

    def places(self) -> set[Place]:
        """The places at which registers are used or overwritten too early."""
        faults = chain.from_iterable(self._faults.values())
        return {fault.place for fault in faults if fault.rule in ON_A_PATH}

    def findings(
        self, places: Collection[Place] | None = None, unwaited: Collection[int] = ()
    ) -> list[Finding]:
        """All findings by line, one for each load and rule: the first in the text.

        ``places``: where alone a register may be used too early, if that is known. ``unwaited``:
        the lines of loads to LDS that nothing waits for where it would count.
        """
        found: dict[tuple[Rule, int], Finding] = {}
        for fault in (*chain.from_iterable(self._faults.values()), *self._unreached()):
            rule, about, line = fault.rule, fault.about, fault.step.instruction.line
            if rule in ON_A_PATH and places is not None and fault.place not in places:
                continue
            key = (Rule.RAW if rule is Rule.WAW else rule, about)  # One wait is missing.
            known = found.get(key)
            if known is None or line < known.line:
                # A pipeline of several buffers reads one while it loads another.
                is_pipeline = rule is Rule.LDS_DMA and about not in unwaited
                lesser = Level.NOTE if is_pipeline else None
                found[key] = Finding(line, rule, fault.text, lesser, (about,) if about else ())
        return sorted(found.values())

    def _unreached(self) -> Iterator[_Fault]:
        """Jumps to no label, and code that only an indirect jump may lead to."""
        blocks, entries = self.flow.blocks, self._faults
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
                yield _Fault(Rule.UNREACHED, last, text, last.instruction.line)
        ends = [block.steps[-1] for n, block in enumerate(blocks) if n in entries and block.steps
                and not block.successors]  # fmt: skip
        if not any(each.effects.kind is Kind.JUMP and not each.is_return for each in ends):
            return
        for number, block in enumerate(blocks):
            first = next((each for each in block.steps if _does_something(each)), None)
            if number not in entries and first is not None:
                text = "no jump that is known leads here: what follows is not checked"
                yield _Fault(Rule.UNREACHED, first, text, 0)

    def _uses(self, state: State, step: Step) -> Iterator[_Fault]:
        """The registers in flight that a step uses, or overwrites."""
        if step.effects.kind in (Kind.WAIT, Kind.OPAQUE):
            return
        for rule, register in hazards_at(state, step):
            line = state.loads[register].line
            wait = f"{state.needed([register])} is missing"
            text = f"{_TEXTS[rule].format(register=register, line=line)}: {wait}"
            yield _Fault(rule, step, text, line, register)

    def _surplus(self, state: State, step: Step) -> Iterator[_Fault]:
        """The counters that a step waits for though nothing can be outstanding on them."""
        for name, count in self.code.waits[step.instruction.line].items():
            counter = state.counters.get(Counter(name)) if name in _COUNTERS else None
            if counter is None or not counter.bounds.satisfied(count):
                continue
            settles = name in COUNT_INVALIDATES and count == 0 and state.waits_for_invalidate
            if not settles and id(step) not in self._after_unknown:
                text = f"{name}({count}) waits for nothing: no more can be outstanding here"
                yield _Fault(Rule.SURPLUS_WAIT, step, text, step.instruction.line)
