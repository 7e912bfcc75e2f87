"""Litmus programs as the race detector sees them: one interleaving, with every value at once.

A load may be given the value that it has to read: its wave waits until memory holds that, as if it
polled.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from fencewright.simulator.cdna.instructions import CdnaProgram
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.cdna.wave import CompiledProgram, Op, StepKind
from fencewright.simulator.core.program import ProgramError
from fencewright.simulator.race.amd.detector import Detector, Side
from fencewright.simulator.race.amd.facts import Home
from fencewright.simulator.race.amd.rules import Access, Cache, Path
from fencewright.simulator.race.amd.shadow import Shadow

_READS = (StepKind.LOAD, StepKind.SCALAR_LOAD, StepKind.ATOMIC, StepKind.COMPARE_SWAP)
_WRITES = (StepKind.STORE, StepKind.ATOMIC, StepKind.COMPARE_SWAP)
_ACCESSES = frozenset({*_READS, *_WRITES})


class LitmusExecution:
    """One interleaving of a program: the first wave of ``order`` that can go on does.

    ``expected``: by wave and register what its load has to read. ``detector`` has the races;
    their sites are the numbers of operations. Raises ``ProgramError`` at what is not executed.
    """

    def __init__(
        self,
        program: CdnaProgram,
        configuration: CdnaConfiguration,
        order: Sequence[int],
        expected: Mapping[tuple[int, str], int],
        detector: type[Detector] = Detector,
    ):
        self.compiled = CompiledProgram(program, configuration)
        compiled, places = self.compiled, [each.placement for each in program.threads]
        homes = [
            Home(n, place.workgroup, compiled.cu[n], compiled.l2[compiled.cu[n]])
            for n, place in enumerate(places)
        ]
        self.order, self.expected = order, expected
        self.meant = frozenset(
            op.number for op in compiled.by_number if self._expected(op) is not None
        )
        self.detector = detector(
            homes, 1, self.meant.__contains__,
            requests_in_order=compiled.hierarchy.requests_in_order,
        )  # fmt: skip
        self.memory = {each.name: each.initial for each in program.locations}
        self.shadows = {each.name: Shadow(each.name) for each in program.locations}
        self.registers: list[dict[int, int]] = [{} for _ in places]
        self.pc = [0] * len(places)
        self.at_barrier: set[int] = set()
        self.signals: Counter[tuple[int, int]] = Counter()
        self.waits: Counter[tuple[int, int]] = Counter()

    def run(self) -> bool:
        """Run to the end; False where waves wait for values that never come."""
        while (wave := next(filter(self._can_step, self.order), None)) is not None:
            self._step(wave, self._op(wave))
        return all(self._op(wave).code is StepKind.END for wave in self.order)

    def _op(self, wave: int) -> Op:
        return self.compiled.ops[wave][self.pc[wave]]

    def _expected(self, op: Op) -> int | None:
        if op.dst < 0:
            return None
        return self.expected.get((op.wave, self.compiled.registers[op.wave][op.dst]))

    def _location(self, op: Op) -> str:
        return (self.compiled.lds if op.in_lds else self.compiled.lines)[op.line].name

    def _can_step(self, wave: int) -> bool:
        op = self._op(wave)
        if op.code is StepKind.END or wave in self.at_barrier:
            return False
        if op.code is StepKind.BARRIER_WAIT:
            phase = self.waits[op.barrier, wave]
            mates = self.compiled.barriers[op.barrier].waves
            return all(
                self.signals[op.barrier, each] > phase or self._op(each).code is StepKind.END
                for each in mates
            )
        awaited = self._expected(op)
        return awaited is None or self.memory[self._location(op)] == awaited

    def _step(self, wave: int, op: Op) -> None:
        self.pc[wave] += 1
        match op.code:
            case code if code in _ACCESSES:
                self._access(wave, op)
            case StepKind.CACHE:
                self.detector.cache(wave, Cache(op.effect, op.counted if op.queues else None))
            case StepKind.WAIT:
                counts = zip(self.compiled.counters, op.counts, strict=True)
                self.detector.wait(wave, [(c, n) for c, n in counts if n is not None])
            case StepKind.BARRIER:
                self._barrier(wave)
            case StepKind.SIGNAL:
                self.detector.signal(wave, (op.barrier, self.signals[op.barrier, wave]))
                self.signals[op.barrier, wave] += 1
            case StepKind.BARRIER_WAIT:
                self.detector.meet(wave, (op.barrier, self.waits[op.barrier, wave]))
                self.waits[op.barrier, wave] += 1
            case StepKind.MOVE | StepKind.ARITHMETIC:
                value = self._value(wave, op.a)
                if op.function is not None:
                    value = op.function(value, self._value(wave, op.b))
                self.registers[wave][op.dst] = value
            case StepKind.BRANCH:
                if bool(self._value(wave, op.a)) is not op.unless:
                    self.pc[wave] = op.target
            case _:
                raise ProgramError(f"{op}: the race detector does not execute it")

    def _barrier(self, wave: int) -> None:
        self.at_barrier.add(wave)
        (mates,) = (each for each in self.compiled.groups.values() if wave in each)
        there = [each for each in mates if each in self.at_barrier]
        if all(self._op(each).code is StepKind.END or each in there for each in mates):
            self.at_barrier.difference_update(there)
            self.detector.barrier(there)

    def _value(self, wave: int, operand: int) -> int:
        return self.registers[wave].get(~operand, 0) if operand < 0 else operand

    def _access(self, wave: int, op: Op) -> None:
        name = self._location(op)
        self.detector.access(wave, access_of(op), op.number, [Side(self.shadows[name], (0,))])
        old = self.memory[name]
        if op.dst >= 0:
            self.registers[wave][op.dst] = old
        value = self._value(wave, op.a)
        match op.code:
            case StepKind.STORE:
                self.memory[name] = value
            case StepKind.ATOMIC if op.function is not None:
                self.memory[name] = op.function(old, value)
            case StepKind.COMPARE_SWAP if old == self._value(wave, op.b):
                self.memory[name] = value
            case _:
                pass


def access_of(op: Op) -> Access:
    """The rule of a compiled access."""
    path = Path.LDS if op.in_lds else Path.VECTOR
    path = Path.SCALAR if op.code is StepKind.SCALAR_LOAD else path
    return Access(path, op.code in _READS, op.code in _WRITES, op.counted, op.l1, op.past_l2)
