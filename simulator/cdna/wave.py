"""Programs compiled for the CDNA machines, and what a wave does on its own.

Both machines (``cdna_machine``, the definition, and ``cdna_engine``) share this part: register
arithmetic, counters and waits. A wave is ``(pc, registers, vm, lgkm)``; ``vm`` and ``lgkm`` are
its outstanding operations in issue order, each packed into one integer.

A register that a load writes must be waited for before it is used: until an ``s_waitcnt`` that
covers the load has been passed, reading it is an error of the program ("unwaited register"),
whatever the caches did, because hardware gives garbage. So is overwriting it, except by an
operation that returns in order after the load. At the end of a wave everything is waited for.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum

from fencewright.lowering.cdna.chips import CHIPS, Counter
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent
from fencewright.simulator.cdna.instructions import (
    Atomic,
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    CompareSwap,
    LdsAccess,
    LdsAtomic,
    LdsCompareSwap,
    LdsLoad,
    LdsStore,
    ScalarLoad,
    VectorAccess,
    VectorLoad,
    VectorStore,
    Wait,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.rows import CacheEffect, CdnaConfiguration, VectorAccessKind
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.program import (
    ARITHMETIC,
    RMW,
    WORD_BITS,
    WORD_MASK,
    Arithmetic,
    Branch,
    Label,
    MemoryKind,
    Move,
    Operand,
    Place,
    ProgramError,
    place_at,
)

Wave = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""(pc, registers, outstanding in vmcnt, outstanding in lgkmcnt)."""

Entry = int
"""An operation in flight: its number, the value it carries, the value it compares with."""

ID_BITS = 12
ID_MASK = (1 << ID_BITS) - 1
COMPARE_SHIFT = ID_BITS + WORD_BITS
DONE = 1 << ID_BITS
RESULT_SHIFT = ID_BITS + 1


class StepKind(IntEnum):
    """What kind of step an instruction is."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2
    COMPARE_SWAP = 3
    SCALAR_LOAD = 4
    CACHE = 5
    BARRIER = 6
    WAIT = 7
    MOVE = 8
    ARITHMETIC = 9
    BRANCH = 10
    END = 11


class CounterPath(IntEnum):
    """Which counters an operation is in, and in what company it returns in order."""

    NONE = 0
    VECTOR = 1
    LDS = 2
    SCALAR = 3
    FLAT = 4


_NO_EFFECT = CacheEffect()


@dataclass(frozen=True, slots=True)
class Op:
    """A compiled instruction. Registers are numbers; an operand < 0 is register ``~operand``.

    ``number`` counts over the whole program; ``line`` is the number of the location among
    those in memory or (``in_lds``) in LDS; ``b`` of a compare-exchange is the value compared
    with. ``reads`` are the registers read.
    """

    number: int
    wave: int
    pc: int
    code: StepKind
    instruction: CdnaInstruction | None
    path: CounterPath = CounterPath.NONE
    line: int = -1
    in_lds: bool = False
    dst: int = -1
    a: int = 0
    b: int = 0
    reads: tuple[int, ...] = ()
    l1: bool = False
    past_l2: bool = False
    effect: CacheEffect = _NO_EFFECT
    function: Callable[[int, int], int] | None = None
    vmcnt: int | None = None
    lgkmcnt: int | None = None
    target: int = -1
    unless: bool = False

    def written(self, old: int, entry: Entry) -> int | None:
        """What the operation writes over ``old``; None: nothing."""
        value = (entry >> ID_BITS) & WORD_MASK
        if self.code is StepKind.STORE:
            return value
        if self.code is StepKind.COMPARE_SWAP:
            return value if old == entry >> COMPARE_SHIFT else None
        return None if self.function is None else self.function(old, value) & WORD_MASK

    def __str__(self) -> str:
        return f"P{self.wave}: {self.instruction if self.instruction else 'end'}"


class CompiledProgram:
    """A CDNA program with names resolved to numbers, for one configuration.

    ``ops[wave][pc]``; ``by_number[number]``; ``lines`` and ``lds`` the locations; ``cu`` of each
    wave, ``l2`` of each CU, ``groups`` of waves. Raises ``ProgramError`` for what no such chip
    could run.
    """

    def __init__(self, program: CdnaProgram, configuration: CdnaConfiguration):
        self.program = program
        self.configuration = configuration
        self.lines = [each for each in program.locations if each.space is AddressSpace.GLOBAL]
        self.lds = [each for each in program.locations if each.space is AddressSpace.LOCAL]
        self._line_number = {each.name: i for i, each in enumerate(self.lines)}
        self._lds_number = {each.name: i for i, each in enumerate(self.lds)}
        self._check_locations()
        self._place()
        self.by_number: list[Op] = []
        self.registers: list[list[str]] = []
        self.ops = [self._compile_wave(wave) for wave in range(len(program.threads))]
        if len(self.by_number) > ID_MASK:
            raise ProgramError(f"{program.name}: more than {ID_MASK} instructions")
        self.observables = program.observables()
        self._check_observables()

    def _check_locations(self) -> None:
        names = [each.name for each in self.program.locations]
        if len(set(names)) != len(names):
            raise ProgramError(f"{self.program.name}: two locations have one name in {names}")
        for each in self.program.locations:
            if each.space not in (AddressSpace.GLOBAL, AddressSpace.LOCAL):
                raise ProgramError(
                    f"{each.name}: a location is in global or local, not {each.space}"
                )
            if not 0 <= each.initial <= WORD_MASK:
                raise ProgramError(f"{each.name}: initial value must fit {WORD_BITS} unsigned bits")
        if self.lds and self.configuration.tgsplit:
            raise ProgramError(f"{self.lds[0].name}: there is no LDS in tgsplit mode")

    def _place(self) -> None:
        """Numbers CUs, L2s and work-groups, and checks that the waves fit on them."""
        places = [thread.placement for thread in self.program.threads]
        cus = sorted({(p.agent, p.xcd, p.cu) for p in places})
        one = self.configuration.l2_per_agent is L2PerAgent.ONE
        l2_names = sorted({(agent, 0 if one else xcd) for agent, xcd, _ in cus})
        self.cu_names = cus
        self.l2_names = l2_names
        self.cu = [cus.index((p.agent, p.xcd, p.cu)) for p in places]
        self.l2 = [l2_names.index((agent, 0 if one else xcd)) for agent, xcd, _ in cus]
        self.groups: dict[int, list[int]] = {}
        for wave, place in enumerate(places):
            self.groups.setdefault(place.workgroup, []).append(wave)
        for name, waves in self.groups.items():
            if len({places[wave].agent for wave in waves}) > 1:
                raise ProgramError(f"work-group {name} is spread over agents")
            if len({places[wave].xcd for wave in waves}) > 1:
                raise ProgramError(f"work-group {name} is spread over XCDs")
            if len({self.cu[wave] for wave in waves}) > 1 and not self.configuration.tgsplit:
                raise ProgramError(f"work-group {name} is spread over CUs, which needs tgsplit")
        if one and len({(agent, xcd) for agent, xcd, _ in cus}) > len(l2_names):
            raise ProgramError("one L2 per agent means one XCD per agent: place all on xcd 0")

    def _check_observables(self) -> None:
        for each in self.observables:
            if isinstance(each, Register):
                known = each.thread < len(self.registers)
                if not known or each.name not in self.registers[each.thread]:
                    raise ProgramError(f"{self.program.name}: no register {each}")
            else:
                self.program.location(each.location)

    def _compile_wave(self, wave: int) -> list[Op]:
        code = self.program.threads[wave].instructions
        kept = [each for each in code if not isinstance(each, Label)]
        labels: dict[str, int] = {}
        for each in code:
            if isinstance(each, Label):
                if each.name in labels:
                    raise ProgramError(f"P{wave}: label '{each.name}' stands twice")
                labels[each.name] = sum(
                    not isinstance(other, Label) for other in code[: code.index(each)]
                )
        self.registers.append([])
        ops = [self._compile(wave, pc, each, labels) for pc, each in enumerate(kept)]
        end = Op(len(self.by_number), wave, len(kept), StepKind.END, None)
        self.by_number.append(end)
        return [*ops, end]

    def place(self, op: Op) -> Place | None:
        """Where an instruction was written; None if that is not known."""
        thread = self.program.threads[op.wave]
        executed = [n for n, each in enumerate(thread.instructions) if not isinstance(each, Label)]
        return place_at(thread.places, executed[op.pc]) if op.pc < len(executed) else None

    def _register(self, wave: int, name: str | None) -> int:
        if name is None:
            return -1
        names = self.registers[wave]
        if name not in names:
            names.append(name)
        return names.index(name)

    def _operand(self, wave: int, operand: Operand) -> int:
        if isinstance(operand, str):
            return ~self._register(wave, operand)
        if not -(1 << (WORD_BITS - 1)) <= operand <= WORD_MASK:
            raise ProgramError(f"P{wave}: constant {operand} does not fit {WORD_BITS} bits")
        return operand & WORD_MASK

    def _compile(
        self, wave: int, pc: int, instruction: CdnaInstruction, labels: dict[str, int]
    ) -> Op:
        blank = Op(len(self.by_number), wave, pc, StepKind.END, instruction)
        try:
            op = self._fill(blank, instruction, labels)
        except ProgramError as error:
            raise ProgramError(f"{self.program.name} P{wave}: {instruction}: {error}") from None
        op = replace(op, reads=tuple({~each for each in (op.a, op.b) if each < 0}))
        self.by_number.append(op)
        return op

    def _fill(self, op: Op, instruction: CdnaInstruction, labels: dict[str, int]) -> Op:
        wave = op.wave
        match instruction:
            case VectorLoad() | VectorStore() | Atomic() | CompareSwap():
                return self._vector(op, instruction)
            case LdsLoad() | LdsStore() | LdsAtomic() | LdsCompareSwap():
                return replace(self._access(op, instruction), path=CounterPath.LDS)
            case ScalarLoad():
                op = self._access(op, instruction)
                return replace(op, code=StepKind.SCALAR_LOAD, path=CounterPath.SCALAR)
            case CacheInstruction(mnemonic, bits):
                effect = self.configuration.cache_effect(mnemonic, bits)
                path = CounterPath.VECTOR if effect.counts else CounterPath.NONE
                return replace(op, code=StepKind.CACHE, effect=effect, path=path)
            case WorkgroupBarrier():
                return replace(op, code=StepKind.BARRIER)
            case Wait(vmcnt, lgkmcnt):
                return replace(op, code=StepKind.WAIT, vmcnt=vmcnt, lgkmcnt=lgkmcnt)
            case Move(dst, value):
                dst, value = self._register(wave, dst), self._operand(wave, value)
                return replace(op, code=StepKind.MOVE, dst=dst, a=value)
            case Arithmetic(kind, dst, a, b):
                dst = self._register(wave, dst)
                a, b = self._operand(wave, a), self._operand(wave, b)
                return replace(
                    op, code=StepKind.ARITHMETIC, dst=dst, a=a, b=b, function=ARITHMETIC[kind]
                )
            case Branch(target, condition, unless):
                if target not in labels:
                    raise ProgramError(f"no label '{target}'; known are {', '.join(labels)}")
                always = condition is None
                a = 1 if always else self._operand(wave, condition)
                return replace(op, code=StepKind.BRANCH, target=labels[target], a=a, unless=unless)
            case Label():
                raise AssertionError("labels are resolved before")

    def _vector(self, op: Op, instruction: VectorAccess) -> Op:
        op = self._access(op, instruction)
        if instruction.flat:
            op = replace(op, path=CounterPath.FLAT)
        elif op.in_lds:
            raise ProgramError(f"{instruction.location} is in LDS: use a ds_ or flat access")
        else:
            op = replace(op, path=CounterPath.VECTOR)
        effect = self.configuration.access_effect(_ACCESS[op.code], instruction.bits)
        if isinstance(instruction, Atomic | CompareSwap) and effect.returns is not bool(
            instruction.dst
        ):
            raise ProgramError("the bit that asks for the old value and the register go together")
        if op.in_lds:
            return op
        past_l2 = effect.past_l2 or self.lines[op.line].kind is MemoryKind.UNCACHED
        return replace(op, l1=effect.l1, past_l2=past_l2)

    def _access(self, op: Op, instruction: VectorAccess | LdsAccess | ScalarLoad) -> Op:
        """The location, operands and arithmetic of an access."""
        location = self.program.location(instruction.location)
        in_lds = location.space is AddressSpace.LOCAL
        if in_lds and self.program.threads[op.wave].placement.workgroup != location.workgroup:
            raise ProgramError(f"{location.name} is LDS of work-group {location.workgroup}")
        if not in_lds and isinstance(instruction, LdsAccess):
            raise ProgramError(f"{location.name} is not in LDS")
        if in_lds and isinstance(instruction, ScalarLoad):
            raise ProgramError(f"{location.name} is in LDS, which scalar loads do not reach")
        number = (self._lds_number if in_lds else self._line_number)[location.name]
        op = replace(op, line=number, in_lds=in_lds)
        wave = op.wave
        match instruction:
            case VectorLoad() | LdsLoad() | ScalarLoad():
                return replace(op, code=StepKind.LOAD, dst=self._register(wave, instruction.dst))
            case VectorStore() | LdsStore():
                return replace(op, code=StepKind.STORE, a=self._operand(wave, instruction.value))
            case Atomic() | LdsAtomic():
                if instruction.kind not in RMW:
                    raise ProgramError(f"{instruction.kind} is not integer arithmetic")
                return replace(
                    op,
                    code=StepKind.ATOMIC,
                    function=RMW[instruction.kind],
                    a=self._operand(wave, instruction.value),
                    dst=self._register(wave, instruction.dst),
                )
            case CompareSwap() | LdsCompareSwap():
                return replace(
                    op,
                    code=StepKind.COMPARE_SWAP,
                    a=self._operand(wave, instruction.new),
                    b=self._operand(wave, instruction.compare),
                    dst=self._register(wave, instruction.dst),
                )


_ACCESS = {
    StepKind.LOAD: VectorAccessKind.LOAD,
    StepKind.STORE: VectorAccessKind.STORE,
    StepKind.ATOMIC: VectorAccessKind.ATOMIC,
    StepKind.COMPARE_SWAP: VectorAccessKind.ATOMIC,
}


class WaveRules:
    """What waves do on their own: steps without memory, issue, completion, waits (rule 1)."""

    def __init__(self, compiled: CompiledProgram):
        self.compiled = compiled
        self.by_number = compiled.by_number
        counters = CHIPS[compiled.configuration.chip].counters
        self.most_vm = counters[Counter.VMCNT]
        self.most_lgkm = counters[Counter.LGKMCNT]

    def initial(self, wave: int) -> Wave:
        """The wave at its first instruction, registers 0, nothing outstanding."""
        return 0, (0,) * len(self.compiled.registers[wave]), (), ()

    def error(self, state: Wave, op: Op) -> str | None:
        """What is wrong with executing ``op`` now, because a result was not waited for."""
        _, _, vm, lgkm = state
        if not vm and not lgkm:
            return None
        pending = [self.by_number[each & ID_MASK] for each in (*vm, *lgkm)]
        for other in pending:
            if other.dst < 0:
                continue
            if other.dst in op.reads:
                return self._unwaited("read", other, op)
            if other.dst == op.dst and not (other.path is op.path and op.path in _IN_ORDER):
                return self._unwaited("overwritten", other, op)
        return None

    def _unwaited(self, verb: str, load: Op, op: Op) -> str:
        name = self.compiled.registers[op.wave][load.dst]
        return (
            f"P{op.wave}: unwaited register {name} {verb} by instruction {op.pc} ({op.instruction}):"
            f" no s_waitcnt covers instruction {load.pc} ({load.instruction})"
        )

    def entry(self, state: Wave, op: Op) -> Entry:
        """``op`` with the values of its operands, as it goes into a queue."""
        regs = state[1]
        value = regs[~op.a] if op.a < 0 else op.a
        compare = regs[~op.b] if op.b < 0 else op.b
        return op.number | value << ID_BITS | compare << COMPARE_SHIFT

    def is_held_up(self, state: Wave, op: Op) -> bool:
        """Whether a counter that ``op`` increments is full. Source: MI300 ISA 4.4."""
        _, _, vm, lgkm = state
        if len(vm) < self.most_vm and len(lgkm) < self.most_lgkm:
            return False
        return (op.path in _IN_VMCNT and self._count(vm) >= self.most_vm) or (
            op.path in _IN_LGKMCNT and self._count(lgkm) >= self.most_lgkm
        )

    def can_step(self, state: Wave, op: Op) -> bool:
        """Whether a wave-local instruction can execute now: everything but a wait always can."""
        if op.code is not StepKind.WAIT:
            return True
        return self._reached(state[2], op.vmcnt) and self._reached(state[3], op.lgkmcnt)

    def step(self, state: Wave, op: Op) -> Wave:
        """Executes a wave-local instruction: wait, move, arithmetic, branch."""
        pc, regs, vm, lgkm = state
        if op.code is StepKind.WAIT:
            regs, vm = self._retire(regs, vm, op.vmcnt)
            regs, lgkm = self._retire(regs, lgkm, op.lgkmcnt)
            return pc + 1, regs, vm, lgkm
        value = regs[~op.a] if op.a < 0 else op.a
        if op.code is StepKind.BRANCH:
            return (op.target if bool(value) is not op.unless else pc + 1), regs, vm, lgkm
        if op.function is not None:
            value = op.function(value, regs[~op.b] if op.b < 0 else op.b)
        return pc + 1, (*regs[: op.dst], value, *regs[op.dst + 1 :]), vm, lgkm

    def issue(self, state: Wave, op: Op) -> Wave:
        """The wave after ``op``, which is now outstanding in its counters."""
        pc, regs, vm, lgkm = state
        if op.path in _IN_VMCNT:
            vm = (*vm, op.number)
        if op.path in _IN_LGKMCNT:
            lgkm = (*lgkm, op.number)
        return pc + 1, regs, vm, lgkm

    def complete(self, state: Wave, number: int, result: int) -> Wave:
        """The oldest outstanding operation ``number`` is done, with ``result``."""
        pc, regs, vm, lgkm = state
        done = number | DONE | result << RESULT_SHIFT
        return pc, regs, self._mark(vm, number, done), self._mark(lgkm, number, done)

    def finish(self, state: Wave) -> Wave:
        """A wave at its end keeps of what is outstanding only what can still change a register."""
        pc, regs, vm, lgkm = state
        vm, lgkm = self._results(vm), self._results(lgkm)
        if all(each & DONE for each in (*vm, *lgkm)):
            regs, _ = self._retire(regs, vm, 0)
            regs, _ = self._retire(regs, lgkm, 0)
            return pc, regs, (), ()
        return pc, regs, vm, lgkm

    def outstanding(self, state: Wave, number: int) -> int:
        """How often operation ``number`` is outstanding."""
        return sum(each == number for each in state[2])

    def _results(self, pending: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(each for each in pending if self.by_number[each & ID_MASK].dst >= 0)

    def _mark(self, pending: tuple[int, ...], number: int, done: int) -> tuple[int, ...]:
        if number not in pending:
            return pending
        at = pending.index(number)
        pending = (*pending[:at], done, *pending[at + 1 :])
        first = 0
        while first < len(pending) and self._is_over(pending[first]):
            first += 1
        return pending[first:]

    def _is_over(self, packed: int) -> bool:
        return bool(packed & DONE) and self.by_number[packed & ID_MASK].dst < 0

    def _in_order(self, pending: Iterable[int]) -> bool:
        return all(self.by_number[each & ID_MASK].path in _IN_ORDER for each in pending)

    def _reached(self, pending: tuple[int, ...], count: int | None) -> bool:
        """Whether a counter is at most ``count``. In order: whatever is younger counts as well."""
        return count is None or len(pending) <= count or self._count(pending) <= count

    def _count(self, pending: tuple[int, ...]) -> int:
        """What a counter stands at. In order: whatever is younger than one outstanding counts."""
        if self._in_order(pending):
            done = next((n for n, each in enumerate(pending) if not each & DONE), len(pending))
            return len(pending) - done
        return sum(not each & DONE for each in pending)

    def _retire(
        self, regs: tuple[int, ...], pending: tuple[int, ...], count: int | None
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Results that a wait to ``count`` has made readable go into their registers.

        Out of order (flat or scalar among them), only a wait to 0 says which are done.
        """
        if count is None or len(pending) <= count:
            return regs, pending
        if count and not self._in_order(pending):
            return regs, pending
        last = len(pending) - count
        changed = list(regs)
        for each in pending[:last]:
            dst = self.by_number[each & ID_MASK].dst
            if dst >= 0:
                changed[dst] = each >> RESULT_SHIFT
        return tuple(changed), pending[last:]


_IN_ORDER = (CounterPath.VECTOR, CounterPath.LDS)
_IN_VMCNT = (CounterPath.VECTOR, CounterPath.FLAT)
_IN_LGKMCNT = (CounterPath.LDS, CounterPath.SCALAR, CounterPath.FLAT)
