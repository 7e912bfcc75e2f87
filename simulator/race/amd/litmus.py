"""Litmus programs as the race detector sees them: interleavings, with every value at once.

A load may be given the value that it has to read: its wave waits until memory holds that, as if it
polled.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fencewright.lowering.cdna.kernel import DEFAULT_WAVE
from fencewright.simulator.cdna.instructions import CdnaProgram
from fencewright.simulator.cdna.rows import HINTS, CdnaConfiguration
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
        expected: Mapping[tuple[int, str], int] = MappingProxyType({}),
        detector: type[Detector] = Detector,
    ):
        self.compiled = CompiledProgram(program, configuration)
        compiled, places = self.compiled, [each.placement for each in program.threads]
        homes = [
            Home(n, place.workgroup, compiled.cu[n], compiled.l2[compiled.cu[n]])
            for n, place in enumerate(places)
        ]
        self.order, self.expected = order, expected
        self.meant = frozenset(op.number for op in compiled.by_number if self._is_meant(op))
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

    def _is_meant(self, op: Op) -> bool:
        """True of an access that is meant to meet others."""
        return self._expected(op) is not None

    def location(self, op: Op) -> str:
        """The location of an access."""
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
        return awaited is None or self.memory[self.location(op)] == awaited

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
        name = self.location(op)
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


# All interleavings


MOST_RUNS, MOST_STEPS = 2_000, 10_000
"""Interleavings of a program, and steps of one, that are executed."""


class _Chosen(LitmusExecution):
    """An interleaving by choices between the waves whose next operations others may notice.

    ``choices``: the first of them; the others are 0, and all stand in ``taken`` with their number.
    A read of a loop that would see what it saw before waits until something is written there.
    """

    def __init__(
        self, program: CdnaProgram, configuration: CdnaConfiguration, choices: Sequence[int]
    ):
        super().__init__(program, configuration, range(len(program.threads)))
        self.choices, self.taken = choices, list[tuple[int, int]]()
        self.versions = dict.fromkeys(self.memory, 0)
        self.seen: dict[int, int] = {}
        cus = self.compiled.cu
        self.shared = {wave for wave in self.order if cus.count(cus[wave]) > 1}

    def run(self) -> bool:
        """Run to the end; False where not every wave comes to it."""
        for _ in range(MOST_STEPS):
            able = [wave for wave in self.order if self._can_step(wave)]
            if not able:
                break
            private = next((each for each in able if not self._is_noticed(each)), None)
            wave = able[self._choice(len(able))] if private is None else private
            self._step(wave, self._op(wave))
        return all(self._op(wave).code is StepKind.END for wave in self.order)

    def _is_meant(self, op: Op) -> bool:
        """With bits of a scope, or a read that a loop repeats, as in ``kernels``."""
        if op.code not in _ACCESSES or (op.in_lds and op.code is StepKind.STORE):
            return False
        bits = frozenset(getattr(op.instruction, "bits", ()))
        repeats = any(
            each.code is StepKind.BRANCH and each.target <= op.pc <= each.pc
            for each in self.compiled.ops[op.wave]
        )
        return bool(bits - HINTS) or (op.code in _READS and repeats)

    def _choice(self, number: int) -> int:
        if number == 1:
            return 0
        at = len(self.taken)
        chosen = self.choices[at] if at < len(self.choices) else 0
        self.taken.append((chosen, number))
        return chosen

    def _is_noticed(self, wave: int) -> bool:
        code = self._op(wave).code
        return code in _ACCESSES or (code is StepKind.CACHE and wave in self.shared)

    def _can_step(self, wave: int) -> bool:
        op = self._op(wave)
        if op.code in _READS and self.seen.get(op.number) == self.versions[self.location(op)]:
            return False
        return super()._can_step(wave)

    def _access(self, wave: int, op: Op) -> None:
        name = self.location(op)
        old = self.memory[name]
        super()._access(wave, op)
        self.versions[name] += self.memory[name] != old
        if op.code in _READS:
            self.seen[op.number] = self.versions[name]


def races_of(program: CdnaProgram, configuration: CdnaConfiguration) -> tuple[tuple[str, ...], str]:
    """The races of a program in all interleavings, and the reason that there may be others.

    Of each two instructions one.
    """
    if configuration.row.wave_size < DEFAULT_WAVE:
        return (), f"races of {configuration.chip} are not found by execution"
    found: dict[tuple[int, int], str] = {}
    choices, problem = list[int](), ""
    for _ in range(MOST_RUNS):
        run = _Chosen(program, configuration, choices)
        try:
            if not run.run():
                problem = problem or "not every interleaving ends"
        except ProgramError as refused:
            return (), str(refused)
        for race in run.detector.races.values():
            one, two = (run.compiled.by_number[each.site] for each in (race.first, race.second))
            one, two = sorted((one, two), key=lambda op: op.number)
            sides = " and ".join(f"P{op.wave}, '{op.instruction}'" for op in (one, two))
            found.setdefault((one.number, two.number), f"{run.location(one)}: {sides}")
        # The next in order: one more where the last choice has another.
        taken = run.taken
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return tuple(found[each] for each in sorted(found)), problem
        choices = [chosen for chosen, _ in taken]
        choices[-1] += 1
    return tuple(found[each] for each in sorted(found)), f"more than {MOST_RUNS} interleavings"
