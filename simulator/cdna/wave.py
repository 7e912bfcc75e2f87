"""Programs compiled for the CDNA machines, and the steps of a wave on its own.

Both machines (``cdna_machine``, the definition, and ``cdna_engine``) share this part: register
arithmetic, counters and waits. A wave is ``(pc, registers, queues)``; for each counter of the chip
there is a queue of its outstanding operations in issue order, each packed into one integer.

A register that a load writes must be waited for before it is used: until an ``s_waitcnt`` that
covers the load has been passed, reading it is an error of the program ("unwaited register"),
whatever the caches did, because hardware gives garbage. So is overwriting it, except by an
operation that writes its register in order after the load. At the end of a wave everything is
waited for.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from fencewright.lowering.code.dataflow import before_each
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, Scope
from fencewright.simulator.cdna.copies import with_agents
from fencewright.simulator.cdna.instructions import (
    AsyncCopy,
    AsyncWait,
    Atomic,
    BarrierInit,
    BarrierJoin,
    BarrierLeave,
    BarrierName,
    BarrierSignal,
    BarrierUnit,
    BarrierWait,
    CacheInstruction,
    CdnaInstruction,
    CdnaProgram,
    CompareSwap,
    CopyPoint,
    NamedBarrier,
    ScalarLoad,
    Segment,
    VectorAccess,
    VectorLoad,
    VectorStore,
    Wait,
    WorkgroupBarrier,
)
from fencewright.simulator.cdna.rows import (
    CacheEffect,
    CdnaConfiguration,
    Counted,
    CounterClass,
    access_counted,
)
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
    ProgramError,
    place_at,
)

Wave = tuple[int, tuple[int, ...], tuple[tuple[int, ...], ...]]
"""(pc, registers, outstanding operations of each counter of the chip, in the order of its row)."""

Entry = int
"""An operation in flight: its number, the value it carries, the value it compares with."""

ID_BITS = 12
ID_MASK = (1 << ID_BITS) - 1
COMPARE_SHIFT = ID_BITS + WORD_BITS
DONE = 1 << ID_BITS
RESULT_SHIFT = ID_BITS + 1


class StepKind(IntEnum):
    """The kind of step of an instruction."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2
    COMPARE_SWAP = 3
    SCALAR_LOAD = 4
    CACHE = 5
    BARRIER = 6
    SIGNAL = 7
    BARRIER_WAIT = 8
    BARRIER_INIT = 9
    BARRIER_JOIN = 10
    BARRIER_LEAVE = 11
    WAIT = 12
    MOVE = 13
    ARITHMETIC = 14
    BRANCH = 15
    END = 16


_NO_EFFECT = CacheEffect()
_NOT_COUNTED = Counted(())


@dataclass(slots=True, eq=False)
class Op:
    """A compiled instruction. Registers are numbers; an operand < 0 is register ``~operand``.

    ``CompiledProgram`` fills it in; nothing changes it later.

    ``number`` counts over the whole program; ``line`` is the number of the location among
    those in memory or (``in_lds``) in LDS; ``b`` of a compare-exchange is the value compared
    with. ``reads`` are the registers read. ``queues`` are the counters that it is in, ``counts``
    what a wait asks of each counter, by their places in a ``Wave``; ``barrier`` the number of a
    split barrier, and ``signals`` how many a named one now counts. ``acknowledged_early``: a store
    that is done when the L1 has it; ``brings_in``: one that may leave a line in the L1 where none
    was.
    """

    number: int
    wave: int
    pc: int
    code: StepKind
    instruction: CdnaInstruction | None
    counted: Counted = _NOT_COUNTED
    queues: tuple[int, ...] = ()
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
    counts: tuple[int | None, ...] = ()
    flat: bool = False
    acknowledged_early: bool = False
    brings_in: bool = False
    barrier: int = -1
    signals: int | None = None
    target: int = -1
    unless: bool = False

    def written(self, old: int, entry: Entry) -> int | None:
        """The value that the operation writes over ``old``; None: nothing."""
        value = (entry >> ID_BITS) & WORD_MASK
        if self.code is StepKind.STORE:
            return value
        if self.code is StepKind.COMPARE_SWAP:
            return value if old == entry >> COMPARE_SHIFT else None
        return None if self.function is None else self.function(old, value) & WORD_MASK

    def __str__(self) -> str:
        return f"P{self.wave}: {self.instruction if self.instruction else 'end'}"


@dataclass(frozen=True, slots=True)
class SplitBarrierGroup:
    """The waves of a split barrier. ``party_of``: on whose behalf each of them arrives.

    Where a copy meets its wave, and at a named barrier, nobody is left out for having ended.
    """

    unit: BarrierName
    waves: tuple[int, ...]
    party_of: tuple[int, ...]

    @classmethod
    def of(
        cls,
        program: CdnaProgram,
        wave: int,
        unit: BarrierName,
        agents: Container[int] = (),
    ) -> "SplitBarrierGroup":
        """The barrier that ``wave`` calls ``unit``; ``agents`` have no part in those of waves.

        Raises ``ProgramError`` where its work-group is in no cluster.
        """
        if isinstance(unit, CopyPoint):
            return cls(unit, (unit.wave, unit.agent), (0, 1))
        places = [thread.placement for thread in program.threads]
        scope = Scope.CLUSTER if unit is BarrierUnit.WORKGROUP else Scope.WORKGROUP
        if scope is Scope.CLUSTER and places[wave].cluster is None:
            raise ProgramError(f"P{wave} is in no cluster, whose barrier is {unit}")
        mates = [n for n, place in enumerate(places) if place.shares(places[wave], scope)]
        waves = [n for n in mates if n not in agents]
        groups = [places[n].instance(Scope.WORKGROUP) for n in waves]
        parties = waves if scope is Scope.WORKGROUP else [groups.index(each) for each in groups]
        return cls(unit, tuple(waves), tuple(parties))


class CompiledProgram:
    """A CDNA program with names resolved to numbers, for one configuration.

    ``ops[wave][pc]``; ``by_number[number]``; ``lines`` and ``lds`` the locations; ``cu`` of each
    wave, ``l2`` of each CU, ``groups`` of waves. Raises ``ProgramError`` for what no such chip
    could run.
    """

    def __init__(self, program: CdnaProgram, configuration: CdnaConfiguration):
        expanded = with_agents(program)
        program = expanded.program
        self.program = program
        self.agents = expanded.agents
        self.configuration = configuration
        self.counters = tuple(configuration.row.counters)
        self.hierarchy = configuration.hierarchy
        self.lines = [
            each if self.hierarchy.memory_kinds else replace(each, kind=MemoryKind.NONLOCAL)
            for each in program.locations
            if each.space is AddressSpace.GLOBAL
        ]
        self.lds = [each for each in program.locations if each.space is AddressSpace.LOCAL]
        self._line_number = {each.name: i for i, each in enumerate(self.lines)}
        self._lds_number = {each.name: i for i, each in enumerate(self.lds)}
        self._check_locations()
        self._place()
        self.by_number: list[Op] = []
        self.barriers: list[SplitBarrierGroup] = []
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
        mode = self.configuration.row.split_mode
        if self.lds and self.configuration.tgsplit and not (mode is not None and mode.lds):
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
        mode = self.configuration.row.split_name
        self.groups: dict[int, list[int]] = {}
        for wave, place in enumerate(places):
            self.groups.setdefault(place.workgroup, []).append(wave)
        for name, waves in self.groups.items():
            if len({places[wave].agent for wave in waves}) > 1:
                raise ProgramError(f"work-group {name} is spread over agents")
            if len({places[wave].xcd for wave in waves}) > 1:
                raise ProgramError(f"work-group {name} is spread over XCDs")
            if len({self.cu[wave] for wave in waves}) > 1 and not self.configuration.tgsplit:
                raise ProgramError(f"work-group {name} is spread over CUs, which needs {mode}")
        clusters = {(p.agent, p.cluster) for p in places if p.cluster is not None}
        for agent, cluster in clusters if self.configuration.row.clusters else ():
            mates = [p for p in places if (p.agent, p.cluster) == (agent, cluster)]
            if len({p.xcd for p in mates}) > 1:
                raise ProgramError(f"cluster {cluster} is spread over XCDs")
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

    def place(self, op: Op) -> SourceLocation | None:
        """The source position of an instruction; None if not known."""
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
        op = Op(len(self.by_number), wave, pc, StepKind.END, instruction)
        try:
            self._fill(op, instruction, labels)
        except ProgramError as error:
            raise ProgramError(f"{self.program.name} P{wave}: {instruction}: {error}") from None
        op.reads = tuple({~each for each in (op.a, op.b) if each < 0})
        self.by_number.append(op)
        return op

    def _fill(self, op: Op, instruction: CdnaInstruction, labels: dict[str, int]) -> None:
        wave = op.wave
        match instruction:
            case VectorLoad() | VectorStore() | Atomic() | CompareSwap():
                self._vector(op, instruction)
            case ScalarLoad():
                self._access(op, instruction)
                op.code = StepKind.SCALAR_LOAD
                self._note_counters(op, CounterClass.SCALAR)
            case CacheInstruction(mnemonic, bits):
                op.code = StepKind.CACHE
                op.effect = self.configuration.cache_effect(mnemonic, bits)
                if op.effect.counts:
                    self._note_counters(op, op.effect.counted_as)
            case WorkgroupBarrier():
                op.code = StepKind.BARRIER
            case Wait():
                op.code = StepKind.WAIT
                op.counts = self._counts(instruction)
            case BarrierSignal(unit, first, count):
                op.code, op.signals = StepKind.SIGNAL, count
                op.dst = self._register(wave, first)
                op.barrier = self._barrier(wave, unit)
            case BarrierWait(unit):
                op.code = StepKind.BARRIER_WAIT
                op.barrier = self._barrier(wave, unit)
            case BarrierInit(unit, count):
                op.code, op.signals = StepKind.BARRIER_INIT, count
                op.barrier = self._barrier(wave, unit)
            case BarrierJoin(unit):
                op.code = StepKind.BARRIER_JOIN
                op.barrier = self._barrier(wave, unit)
            case BarrierLeave():
                op.code = StepKind.BARRIER_LEAVE
            case Move(dst, value):
                op.code = StepKind.MOVE
                op.dst, op.a = self._register(wave, dst), self._operand(wave, value)
            case Arithmetic(kind, dst, a, b):
                op.code = StepKind.ARITHMETIC
                op.dst = self._register(wave, dst)
                op.a, op.b = self._operand(wave, a), self._operand(wave, b)
                op.function = ARITHMETIC[kind]
            case Branch(target, condition, unless):
                if target not in labels:
                    raise ProgramError(f"no label '{target}'; known are {', '.join(labels)}")
                op.code = StepKind.BRANCH
                op.target, op.unless = labels[target], unless
                op.a = 1 if condition is None else self._operand(wave, condition)
            case Label() | AsyncCopy() | AsyncWait():
                raise AssertionError("labels are resolved before")

    def _vector(self, op: Op, instruction: VectorAccess) -> None:
        self._access(op, instruction)
        if instruction.segment is Segment.LDS:
            if not op.in_lds:
                raise ProgramError(f"{instruction.location} is not in LDS")
            self._note_counters(op, CounterClass.LDS)
            return
        op.flat = instruction.segment is Segment.FLAT
        if op.in_lds and not op.flat:
            raise ProgramError(f"{instruction.location} is in LDS: use a ds_ or flat access")
        returns = op.code is StepKind.LOAD or op.dst >= 0
        self._note_counters(op, access_counted(op.in_lds, returns))
        effect = self.configuration.access_effect(_ACCESS[op.code], instruction.bits)
        if isinstance(instruction, Atomic | CompareSwap) and effect.returns is not bool(
            instruction.dst
        ):
            raise ProgramError("the bit that asks for the old value and the register go together")
        if op.in_lds:
            return
        op.l1 = effect.l1
        op.past_l2 = effect.past_l2 or self.lines[op.line].kind is MemoryKind.UNCACHED
        op.acknowledged_early = effect.acknowledged_early
        op.brings_in = effect.brings_in

    def _note_counters(self, op: Op, operation: CounterClass) -> None:
        """Note the counters that ``op`` is in."""
        op.counted = self.configuration.counted(operation, op.flat)
        op.queues = tuple(map(self.counters.index, op.counted.counters))

    def _barrier(self, wave: int, unit: BarrierName) -> int:
        """The number of the split barrier that a wave means by ``unit``."""
        if isinstance(unit, NamedBarrier):
            self._check_named(unit)
        made = SplitBarrierGroup.of(self.program, wave, unit, self.agents)
        if made not in self.barriers:
            self.barriers.append(made)
        return self.barriers.index(made)

    def _check_named(self, barrier: NamedBarrier) -> None:
        chip = self.configuration.row
        if chip.named_barriers is None:
            raise ProgramError(f"{chip.name} has no named barriers")
        if not 1 <= barrier.number <= chip.named_barriers.count:
            raise ProgramError(
                f"named barriers of {chip.name} are 1 to {chip.named_barriers.count}"
            )

    def _counts(self, wait: Wait) -> tuple[int | None, ...]:
        """The bounds that a wait sets on each counter of the chip."""
        requested = wait.counts()
        missing = requested.keys() - set(self.counters)
        if missing:
            raise ProgramError(
                f"{self.configuration.chip} has no {min(missing)}; "
                f"it has {', '.join(self.counters)}"
            )
        return tuple(map(requested.get, self.counters))

    def _access(self, op: Op, instruction: VectorAccess | ScalarLoad) -> None:
        """Note the location, operands and arithmetic of an access."""
        location = self.program.location(instruction.location)
        in_lds = location.space is AddressSpace.LOCAL
        if in_lds and self.program.threads[op.wave].placement.workgroup != location.workgroup:
            raise ProgramError(f"{location.name} is LDS of work-group {location.workgroup}")
        if in_lds and isinstance(instruction, ScalarLoad):
            raise ProgramError(f"{location.name} is in LDS, which scalar loads do not reach")
        number = (self._lds_number if in_lds else self._line_number)[location.name]
        op.line, op.in_lds = number, in_lds
        wave = op.wave
        match instruction:
            case VectorLoad() | ScalarLoad():
                op.code = StepKind.LOAD
            case VectorStore():
                op.code = StepKind.STORE
                op.a = self._operand(wave, instruction.value)
                return
            case Atomic():
                if instruction.kind not in RMW:
                    raise ProgramError(f"{instruction.kind} is not integer arithmetic")
                op.code = StepKind.ATOMIC
                op.function = RMW[instruction.kind]
                op.a = self._operand(wave, instruction.value)
            case CompareSwap():
                op.code = StepKind.COMPARE_SWAP
                op.a = self._operand(wave, instruction.new)
                op.b = self._operand(wave, instruction.compare)
        op.dst = self._register(wave, instruction.dst)


_ACCESS = {
    StepKind.LOAD: Kind.LOAD,
    StepKind.STORE: Kind.STORE,
    StepKind.ATOMIC: Kind.RMW,
    StepKind.COMPARE_SWAP: Kind.RMW,
}


class Futures:
    """Accesses that each wave may still issue, from each of its instructions on, as bits.

    One bit for each location in memory, and ``cache_bit`` for cache instructions. ``mates`` are the
    other waves on the CU of each wave.
    """

    def __init__(self, compiled: CompiledProgram):
        self.cache_bit = 1 << len(compiled.lines)
        self.by_pc = [self._of(ops) for ops in compiled.ops]
        self.mates = [
            [mate for mate in range(len(compiled.ops)) if mate != wave and compiled.cu[mate] == cu]
            for wave, cu in enumerate(compiled.cu)
        ]

    def of_mates(self, wave: int, future: Sequence[int]) -> int:
        """The accesses that the mates of ``wave`` may still issue, from ``future`` of each wave."""
        coming = 0
        for mate in self.mates[wave]:
            coming |= future[mate]
        return coming

    def _of(self, ops: list[Op]) -> list[int]:
        following = [
            ()
            if op.code is StepKind.END
            else (op.pc + 1, op.target)
            if op.code is StepKind.BRANCH
            else (op.pc + 1,)
            for op in ops
        ]

        def before(pc: int, after: int) -> int:
            op = ops[pc]
            own = self.cache_bit if op.code is StepKind.CACHE else 0
            return after | own | (1 << op.line if op.line >= 0 and not op.in_lds else 0)

        return before_each(following, 0, 0, before)[:-1]


class WaveRules:
    """The steps of waves on their own: steps without memory, issue, completion, waits (rule 1)."""

    def __init__(self, compiled: CompiledProgram):
        self.compiled = compiled
        self.by_number = compiled.by_number
        self.most = tuple(compiled.configuration.row.counters.values())

    def initial(self, wave: int) -> Wave:
        """The wave at its first instruction, registers 0, nothing outstanding."""
        return 0, (0,) * len(self.compiled.registers[wave]), ((),) * len(self.most)

    def error(self, state: Wave, op: Op) -> str | None:
        """The error in an execution of ``op`` now, because a result was not waited for."""
        for queue in state[2]:
            for each in queue:
                other = self.by_number[each & ID_MASK]
                if other.dst < 0:
                    continue
                if other.dst in op.reads:
                    return self._unwaited("read", other, op)
                if other.dst == op.dst and not op.counted.writes_after(other.counted):
                    return self._unwaited("overwritten", other, op)
        return None

    def _unwaited(self, verb: str, load: Op, op: Op) -> str:
        name = self.compiled.registers[op.wave][load.dst]
        return (
            f"P{op.wave}: unwaited register {name} {verb} by instruction {op.pc} "
            f"({op.instruction}): no s_waitcnt covers instruction {load.pc} ({load.instruction})"
        )

    def entry(self, state: Wave, op: Op) -> Entry:
        """``op`` with the values of its operands, as it goes into a queue."""
        regs = state[1]
        value = regs[~op.a] if op.a < 0 else op.a
        compare = regs[~op.b] if op.b < 0 else op.b
        return op.number | value << ID_BITS | compare << COMPARE_SHIFT

    def is_held_up(self, state: Wave, op: Op) -> bool:
        """True if a counter that ``op`` increments is full. Source: MI300 ISA 4.4."""
        queues = state[2]
        return any(
            len(queues[at]) >= self.most[at] and self._count(queues[at]) >= self.most[at]
            for at in op.queues
        )

    def can_step(self, state: Wave, op: Op) -> bool:
        """True if a wave-local instruction can execute now: everything but a wait always can."""
        if op.code is not StepKind.WAIT:
            return True
        return all(map(self._reached, state[2], op.counts))

    def step(self, state: Wave, op: Op) -> Wave:
        """Executes a wave-local instruction: wait, move, arithmetic, branch."""
        pc, regs, queues = state
        if op.code is StepKind.WAIT:
            left = queues
            for at, count in enumerate(op.counts):
                if count is not None and len(queues[at]) > count:
                    regs, kept = self._retire(regs, queues[at], count)
                    left = (*left[:at], kept, *left[at + 1 :])
            return pc + 1, regs, left
        value = regs[~op.a] if op.a < 0 else op.a
        if op.code is StepKind.BRANCH:
            return (op.target if bool(value) is not op.unless else pc + 1), regs, queues
        if op.function is not None:
            value = op.function(value, regs[~op.b] if op.b < 0 else op.b)
        return pc + 1, (*regs[: op.dst], value, *regs[op.dst + 1 :]), queues

    def issue(self, state: Wave, op: Op) -> Wave:
        """The wave after ``op``, which is now outstanding in its counters."""
        pc, regs, queues = state
        for at in op.queues:
            queues = (*queues[:at], (*queues[at], op.number), *queues[at + 1 :])
        return pc + 1, regs, queues

    def complete(self, state: Wave, number: int, result: int) -> Wave:
        """The oldest outstanding operation ``number`` is done, with ``result``."""
        pc, regs, queues = state
        done = number | DONE | result << RESULT_SHIFT
        for at in self.by_number[number].queues:
            queues = (*queues[:at], self._mark(queues[at], number, done), *queues[at + 1 :])
        return pc, regs, queues

    def finish(self, state: Wave) -> Wave:
        """A wave at its end keeps only outstanding operations that can still change a register."""
        pc, regs, outstanding = state
        queues = tuple(map(self._results, outstanding))
        if not all(each & DONE for queue in queues for each in queue):
            return pc, regs, queues
        for queue in queues:
            regs, _ = self._retire(regs, queue, 0)
        return pc, regs, ((),) * len(queues)

    def outstanding(self, state: Wave, number: int) -> int:
        """The number of times that operation ``number`` is outstanding."""
        queues = state[2]
        return sum(each == number for at in self.by_number[number].queues for each in queues[at])

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
        return all(self.by_number[each & ID_MASK].counted.in_order for each in pending)

    def _reached(self, pending: tuple[int, ...], count: int | None) -> bool:
        """True if a counter is at most ``count``. In order: whatever is younger counts as well."""
        return count is None or len(pending) <= count or self._count(pending) <= count

    def _count(self, pending: tuple[int, ...]) -> int:
        """The value of a counter. In order: whatever is younger than one outstanding counts."""
        if self._in_order(pending):
            done = next((n for n, each in enumerate(pending) if not each & DONE), len(pending))
            return len(pending) - done
        return sum(not each & DONE for each in pending)

    def _retire(
        self, regs: tuple[int, ...], pending: tuple[int, ...], count: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Results that a wait to ``count`` has made readable go into their registers.

        Out of order (flat or scalar among them), only a wait to 0 says which are done.
        """
        if count and not self._in_order(pending):
            return regs, pending
        last = len(pending) - count
        changed = list(regs)
        for each in pending[:last]:
            dst = self.by_number[each & ID_MASK].dst
            if dst >= 0:
                changed[dst] = each >> RESULT_SHIFT
        return tuple(changed), pending[last:]
