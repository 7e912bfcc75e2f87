"""Registers that are used or overwritten before a load that is still in flight has been waited for.

A forward dataflow over the blocks of a function, on the scoreboard of
``lowering.cdna.scoreboard``: its tokens are the registers that loads write. Where paths join, a
register is in flight if it is on either. Not a hazard: two loads of one kind that write the same
register, as both deliver in the order of their issue; a register that is overwritten while a
store has yet to complete, as it has read it. Sources: MI300 ISA 4.4 and 10.2.2; LLVM
SIInsertWaitcnts.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from fencewright.checker.cdna_flow import Block, Flow, Step
from fencewright.checker.cdna_operands import Effects, InstructionKind
from fencewright.checker.cdna_rows import wait_counts
from fencewright.checker.cdna_text import Registers
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.scoreboard import LIMITS, ORDERED, CounterEventKind, CounterState
from fencewright.lowering.vocabulary import AddressSpace, Word


class Rule(Word):
    """What is wrong: the stable names of findings."""

    RAW = "hazard-raw"
    WAW = "hazard-waw"
    ENTRY = "hazard-entry"
    RETURN = "hazard-return"
    LDS_DMA = "lds-dma"
    SURPLUS_WAIT = "surplus-wait"
    UNKNOWN = "unknown-instruction"
    UNREACHED = "unreached-code"


class Level(Word):
    """How sure and how bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


LEVELS = {
    Rule.RAW: Level.ERROR,
    Rule.WAW: Level.ERROR,
    Rule.ENTRY: Level.ERROR,
    Rule.RETURN: Level.ERROR,
    # Which of the LDS a load writes is not known, nor which the read is of.
    Rule.LDS_DMA: Level.NOTE,
    Rule.SURPLUS_WAIT: Level.NOTE,
    Rule.UNKNOWN: Level.WARNING,
    Rule.UNREACHED: Level.WARNING,
}


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding, at a line of the assembly."""

    line: int
    rule: Rule
    message: str

    @property
    def level(self) -> Level:
        """The level of its rule."""
        return LEVELS[self.rule]


_VECTOR, _FLAT = CounterEventKind.VECTOR, CounterEventKind.FLAT
_LDS, _SCALAR = CounterEventKind.LDS, CounterEventKind.SCALAR
_ANYTHING = "*"
"""Stands for every register, where a function is called with loads in flight."""
_LDS_DATA = "lds"
"""Stands for what loads write to LDS."""
_ALL_KINDS = int(_VECTOR | _LDS | _FLAT | _SCALAR)


@dataclass(frozen=True, slots=True)
class _Load:
    """The last load that writes a register: its line, and all kinds of those in flight."""

    line: int
    kinds: int


class _State:
    """What may be in flight at one place; ``loads`` by the register that they write."""

    __slots__ = ("lgkmcnt", "loads", "vmcnt")

    def __init__(self, is_called: bool = False) -> None:
        self.vmcnt = CounterState(LIMITS[Counter.VMCNT])
        self.lgkmcnt = CounterState(LIMITS[Counter.LGKMCNT])
        self.loads: dict[str, _Load] = {}
        if is_called:
            for counter in (self.vmcnt, self.lgkmcnt):
                counter.stamps[_ANYTHING] = 0
                counter.owed, counter.kinds = counter.limit, _ALL_KINDS
            self.loads[_ANYTHING] = _Load(0, _ALL_KINDS)

    def copy(self) -> "_State":
        """The same state with its clocks at zero."""
        made = _State.__new__(_State)
        made.vmcnt, made.lgkmcnt = self.vmcnt.copy(), self.lgkmcnt.copy()
        made.loads = dict(self.loads)
        return made

    def join(self, other: "_State") -> bool:
        """Become what holds on either path; whether that is news."""
        news = self.vmcnt.join(other.vmcnt)
        news = self.lgkmcnt.join(other.lgkmcnt) or news
        for register, load in other.loads.items():
            mine = self.loads.get(register)
            if mine is None:
                self.loads[register] = load
                news = True
            elif load.kinds & ~mine.kinds or load.line < mine.line:
                kinds, line = mine.kinds | load.kinds, min(mine.line, load.line)
                self.loads[register] = _Load(line, kinds)
                news = True
        return news

    def counter(self, counter: Counter) -> CounterState:
        """The state of one counter."""
        return self.vmcnt if counter is Counter.VMCNT else self.lgkmcnt

    def issue(self, step: Step) -> None:
        """An instruction that counts."""
        effects = step.effects
        results = effects.defines
        if effects.kind is InstructionKind.MEMORY_TO_LDS:
            results = (*results, _LDS_DATA)
        kinds = 0
        for event in effects.events:
            self.counter(event.counter).issue(event, results)
            kinds |= event.kind
        for register in results:
            before = self.loads.get(register)
            more = before.kinds if before else 0
            self.loads[register] = _Load(step.instruction.line, kinds | more)

    def wait(self, counts: dict[str, int]) -> None:
        """An ``s_waitcnt``."""
        self._wait(self.vmcnt, counts.get("vmcnt"), self.lgkmcnt, done=_VECTOR, left=_LDS)
        self._wait(
            self.lgkmcnt, counts.get("lgkmcnt"), self.vmcnt, done=_LDS | _SCALAR, left=_VECTOR
        )

    def _wait(
        self, mine: CounterState, count: int | None, other: CounterState, *, done: int, left: int
    ) -> None:
        """A wait on one counter: of kind ``left`` are flat accesses that it has seen the end of."""
        if count is None:
            return
        for token in mine.wait(count):
            register = str(token)
            load = self.loads[register]
            if register not in other.stamps:
                del self.loads[register]
                continue
            kinds = load.kinds & ~(done | _FLAT) | (left if load.kinds & _FLAT else 0)
            self.loads[register] = _Load(load.line, kinds)
        if count == 0 and other.kinds & _FLAT and _ANYTHING not in other.stamps:
            other.kinds = other.kinds & ~_FLAT | left

    def deliver_all(self) -> None:
        """Nothing is in flight."""
        self.wait({"vmcnt": 0, "lgkmcnt": 0})

    def hazards(self, effects: Effects) -> Iterator[tuple[Rule, str]]:
        """The registers in flight that an instruction uses, or overwrites out of order."""
        for register in effects.uses:
            if register in self.loads:
                yield Rule.RAW, register
        kind = effects.events[0].kind if len(effects.events) == 1 else None
        in_order = kind is not None and ORDERED[kind]
        for register in effects.defines:
            load = self.loads.get(register)
            if load is not None and not (in_order and load.kinds == kind):
                yield Rule.WAW, register

    def needed(self, registers: Iterable[str]) -> str:
        """The ``s_waitcnt`` that delivers registers."""
        tokens = tuple(registers)
        fields = ((c, self.counter(c).need(*tokens)) for c in (Counter.VMCNT, Counter.LGKMCNT))
        return " ".join(f"{counter}({count})" for counter, count in fields if count is not None)


_COUNTED = (InstructionKind.WAIT, InstructionKind.CALL, InstructionKind.UNKNOWN)


_NOTHING = InstructionKind.NOTHING


def find_hazards(flow: Flow) -> list[Finding]:
    """The findings in one function, by line.

    Raises ``AssemblyError`` at an ``s_waitcnt`` that cannot be read.
    """
    return sorted(_Analysis(flow).findings())


class _Analysis:
    def __init__(self, flow: Flow):
        self.flow = flow
        self.waits = {
            step.instruction.line: self._counts(step)
            for block in flow.blocks
            for step in block.steps
            if step.effects.kind is InstructionKind.WAIT
        }
        self.found: dict[tuple[Rule, int], Finding] = {}

    def _counts(self, step: Step) -> dict[str, int]:
        instruction = step.instruction
        words = (*instruction.operands, *instruction.modifiers)
        try:
            return wait_counts(
                each for each in words if not isinstance(each, Registers) and each != "&"
            )
        except ValueError as problem:
            error = f"{problem}: {instruction.text}"
            raise self.flow.function.error(instruction.line, error) from None

    def findings(self) -> list[Finding]:
        """All findings, one for each load and rule."""
        entries = self._entries()
        for number, state in entries.items():
            self._report(self.flow.blocks[number], state)
        self._report_unreached(entries)
        return list(self.found.values())

    def _entries(self) -> dict[int, _State]:
        """What may be in flight where each block begins."""
        blocks = self.flow.blocks
        if not blocks:
            return {}
        counted = [
            [step for step in block.steps if step.effects.events or step.effects.kind in _COUNTED]
            for block in blocks
        ]
        entries = {0: _State(self.flow.is_called)}
        work = [0]
        queued = {0}
        while work:
            number = heappop(work)
            queued.discard(number)
            state = entries[number].copy()
            for step in counted[number]:
                self._transfer(state, step)
            leaving = state.copy()
            for target in blocks[number].successors:
                known = entries.get(target)
                if known is None:
                    entries[target] = leaving.copy()
                elif not known.join(leaving):
                    continue
                if target not in queued:
                    queued.add(target)
                    heappush(work, target)
        return entries

    def _transfer(self, state: _State, step: Step) -> None:
        match step.effects.kind:
            case InstructionKind.WAIT:
                state.wait(self.waits[step.instruction.line])
            case InstructionKind.CALL | InstructionKind.UNKNOWN:
                # A function waits for everything where it begins and where it returns.
                state.deliver_all()
            case _:
                state.issue(step)

    def _report(self, block: Block, entry: _State) -> None:
        state = entry.copy()
        for step in block.steps:
            effects = step.effects
            if effects.kind is InstructionKind.WAIT:
                self._report_surplus(state, step)
            elif effects.kind is InstructionKind.UNKNOWN:
                text = f"'{step.instruction.mnemonic}' is not known: it may do anything"
                self._add(Rule.UNKNOWN, step, text, step.instruction.line)
            elif state.loads:
                self._report_uses(state, step)
            if effects.events or effects.kind in _COUNTED:
                self._transfer(state, step)

    def _report_unreached(self, entries: Container[int]) -> None:
        """Where an indirect jump may lead, and nothing else does: nothing there was checked."""
        blocks = self.flow.blocks
        ends = [block.steps[-1] for n, block in enumerate(blocks) if n in entries and block.steps
                and not block.successors]  # fmt: skip
        if not any(
            each.effects.kind is InstructionKind.JUMP and not each.is_return for each in ends
        ):
            return
        for number, block in enumerate(blocks):
            first = next((each for each in block.steps if each.effects.kind is not _NOTHING), None)
            if number not in entries and first is not None:
                text = "no jump that is known leads here: what follows is not checked"
                self._add(Rule.UNREACHED, first, text, 0)

    def _report_uses(self, state: _State, step: Step) -> None:
        effects, loads = step.effects, state.loads
        if _ANYTHING in loads and effects.registers:
            needed = state.needed([_ANYTHING])
            text = f"the function is called with loads in flight: s_waitcnt {needed} is missing"
            self._add(Rule.ENTRY, step, text, 0)
            return
        if not loads.keys().isdisjoint(effects.registers):
            for rule, register in state.hazards(effects):
                line, verb = loads[register].line, "used" if rule is Rule.RAW else "overwritten"
                text = (
                    f"{register} is {verb} while the load of line {line} that writes it is in "
                    f"flight: s_waitcnt {state.needed([register])} is missing"
                )
                self._add(rule, step, text, line)
        if step.is_return:
            for register, load in loads.items():
                text = (
                    f"the function returns while the load of line {load.line} to {register} is "
                    f"in flight: s_waitcnt {state.needed([register])} is missing"
                )
                self._add(Rule.RETURN, step, text, load.line)
        reads = effects.kind in (InstructionKind.LOAD, InstructionKind.ATOMIC)
        if _LDS_DATA in loads and reads and effects.space is AddressSpace.LOCAL:
            text = (
                f"LDS is read while the load of line {loads[_LDS_DATA].line} to LDS is in flight: "
                f"s_waitcnt {state.needed([_LDS_DATA])} is missing if both are of one place"
            )
            self._add(Rule.LDS_DMA, step, text, loads[_LDS_DATA].line)

    def _report_surplus(self, state: _State, step: Step) -> None:
        for name, count in self.waits[step.instruction.line].items():
            if name == "expcnt":
                continue
            counter = state.vmcnt if name == "vmcnt" else state.lgkmcnt
            if counter.satisfied(count):
                text = f"{name}({count}) waits for nothing: no more can be outstanding here"
                self._add(Rule.SURPLUS_WAIT, step, text, step.instruction.line)

    def _add(self, rule: Rule, step: Step, text: str, about: int) -> None:
        """One finding for each rule and load, the first in the text; one wait is missing."""
        line = step.instruction.line
        key = (Rule.RAW if rule is Rule.WAW else rule, about)
        known = self.found.get(key)
        if known is None or line < known.line:
            self.found[key] = Finding(line, rule, text)
