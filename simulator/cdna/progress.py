"""Progress on the CDNA machine: every fair execution ends, with no help from the caches.

Caches do nothing of their own here: no line is fetched, evicted or written back unless an
instruction asks. Then a flag store that stays dirty in one L2, or a spin load that keeps
hitting a stale line, goes on for ever; with spontaneous activity both would look fine. Lines may
be there from before the first instruction, so that a load may hit a stale one that nobody fetched.
"""

from collections.abc import Hashable, Iterable, Sequence

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.simulator.cdna.instructions import BarrierUnit, CdnaProgram
from fencewright.simulator.cdna.machine import CdnaMachine, PlainLine
from fencewright.simulator.cdna.progress_engine import ProgressEngine, is_reducible
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.system import MachineEvent, MachineEventKind, State
from fencewright.simulator.cdna.wave import CompiledProgram, Op, StepKind, WaveRules
from fencewright.simulator.core.exploration import DEFAULT_LIMIT, Component, stuck_components
from fencewright.simulator.core.program import Label, place_at
from fencewright.simulator.core.progress import Hang, WaitingThread


def stuck(
    program: CdnaProgram,
    configuration: CdnaConfiguration | None = None,
    limit: int = DEFAULT_LIMIT,
    line_rules: type[PlainLine] = PlainLine,
    wave_rules: type[WaveRules] = WaveRules,
) -> tuple[Hang, ...]:
    """Every hang of a fair execution of ``program``, by its waves' steps; () if each one ends.

    Raises ``LimitReached`` when ``limit`` states are not enough to know.
    """
    machine = CdnaMachine(program, configuration, False, line_rules, wave_rules)
    if is_straight(machine.compiled):
        return ()
    starts: Iterable[State] = [machine.initial()]
    if is_reducible(machine.compiled):
        engine = ProgressEngine(program, configuration, line_rules, wave_rules)
        stays = [each for found in engine.stays(limit) for each in engine.orbits.all(found)]
        starts = {machine.copied(engine, each) for each in stays}
    found: dict[tuple[WaitingThread, ...], Hang] = {}
    for each in stuck_components(machine, event_process, limit, starts):
        hang = _explained(machine, each)
        found[hang.threads] = min(hang, found.get(hang.threads, hang), key=str)
    return tuple(found.values())


def is_straight(compiled: CompiledProgram) -> bool:
    """True if no wave can repeat anything, or wait but for a counter or where all its mates come or
    end.

    Then every fair execution ends: each access is performed some time, so that every counter comes
    down, and at the one barrier that there may be, a wave that has ended is not waited for.
    """
    barriers: set[StepKind] = set()
    for ops in compiled.ops:
        if any(op.code is StepKind.BRANCH and op.target <= op.pc for op in ops):
            return False
        at_barriers = [op for op in ops if op.code in _AT_BARRIERS]
        if not _waits_where_it_signals(compiled, ops, at_barriers):
            return False
        barriers.update(op.code for op in at_barriers if op.code is not StepKind.SIGNAL)
    return len(barriers) <= 1


_AT_BARRIERS = range(StepKind.BARRIER, StepKind.BARRIER_LEAVE + 1)


def _waits_where_it_signals(
    compiled: CompiledProgram, ops: Sequence[Op], at_barriers: Iterable[Op]
) -> bool:
    """True where each of ``at_barriers`` is an s_barrier, or a half of one: signal and wait with
    nothing between.

    Of the split ones only that of a work-group's waves, where each signals for itself alone.
    """
    targets = {op.target for op in ops if op.code is StepKind.BRANCH}
    for op in at_barriers:
        if op.code is StepKind.BARRIER:
            continue
        first = op.pc if op.code is StepKind.SIGNAL else op.pc - 1
        if first < 0 or first + 1 in targets:
            return False
        halves = ops[first], ops[first + 1]
        codes = tuple(half.code for half in halves)
        if codes != (StepKind.SIGNAL, StepKind.BARRIER_WAIT):
            return False
        if {compiled.barriers[half.barrier].unit for half in halves} != {BarrierUnit.WAVE}:
            return False
    return True


def event_process(event: MachineEvent) -> Hashable:
    """The process that takes a step, for fairness: a wave, a line in one place, a barrier."""
    if event.kind in (
        MachineEventKind.ISSUE,
        MachineEventKind.HIT,
        MachineEventKind.LOCAL,
        MachineEventKind.BARRIER,
    ):
        return event.place
    if event.kind in (MachineEventKind.REQUEST, MachineEventKind.PHASE):
        return (event.kind, event.line, event.place)
    return (event.in_lds, event.line, event.place)


def _explained(machine: CdnaMachine, component: Component[State, MachineEvent]) -> Hang:
    state = component.states[0]
    by_number = machine.compiled.by_number
    numbers = sorted({event.number for event in component.events if event.number >= 0})
    reads: dict[int, set[tuple[str, int]]] = {}
    lines: set[int] = set()
    for event in component.events:
        if event.read is None:
            continue
        op = by_number[event.number]
        where = machine.compiled.lds if event.in_lds else machine.compiled.lines
        reads.setdefault(op.wave, set()).add((where[op.line].name, event.read))
        if not event.in_lds:
            lines.add(op.line)
    waves = [
        WaitingThread(
            wave,
            tuple(str(by_number[n].instruction) for n in numbers if by_number[n].wave == wave),
            tuple(sorted(reads.get(wave, ()))),
            _place(machine, state, wave, numbers),
        )
        for wave in range(machine.waves)
        if not machine.has_ended(state, wave)
    ]
    return Hang(tuple(waves), tuple(_described(machine, component, line) for line in sorted(lines)))


def _described(machine: CdnaMachine, component: Component[State, MachineEvent], line: int) -> str:
    """A location where least is going on."""
    texts = {machine.describe_line(state, line) for state in component.states}
    return min(texts, key=lambda text: (len(text), text))


def _place(
    machine: CdnaMachine, state: State, wave: int, numbers: list[int]
) -> SourceLocation | None:
    """The source position of the first of the operations ``numbers`` of a wave, or of its next."""
    thread = machine.compiled.program.threads[wave]
    executed = [n for n, each in enumerate(thread.instructions) if not isinstance(each, Label)]
    repeated = [op.pc for n in numbers if (op := machine.compiled.by_number[n]).wave == wave]
    for pc in repeated or [machine.position(state, wave).op.pc]:
        if pc < len(executed) and (place := place_at(thread.places, executed[pc])) is not None:
            return place
    return None
