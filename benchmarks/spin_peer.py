"""The CDNA machine beside SPIN: the plain machine in Promela, the same outcomes, states and time.

``python benchmarks/spin_peer.py`` prints the table. The model is made of the program and of the
rows of the chip, line for line as ``simulator/cdna/machine.py`` has the rules: a process for each
wave, each queue, and the caches' own activity.
"""

import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import Result
from simulator_tests import FENCED, ticket_lock

from fencewright.lowering.vocabulary import RmwKind
from fencewright.simulator.cdna.instructions import Atomic
from fencewright.simulator.cdna.machine import CdnaMachine
from fencewright.simulator.cdna.symmetry import SymmetricEngine
from fencewright.simulator.cdna.system import LineTopology
from fencewright.simulator.cdna.wave import Op, StepKind
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.exploration import Exploration, System, explore
from fencewright.simulator.core.program import WORD_MASK, Arithmetic, ArithmeticKind, MemoryKind
from fencewright.simulator.litmus_run import CdnaTest
from fencewright.tools.inputs.litmus.lowered import Lowering, read_string

_TESTS = {"MP": FENCED["MP"], "SB4": FENCED["SB4"], "ticket lock, 2 x 1": ticket_lock(2, 1)}
_STATE_LIMIT = 200_000
_MEBIBYTES = 1_500
_MINUTES = 10
"""That SPIN may take for a search."""

_ROOM = 8
"""Operations that a queue has room for: more than any wave here has outstanding."""

_ARITHMETIC = {
    ArithmeticKind.ADD: "+", ArithmeticKind.SUB: "-", ArithmeticKind.EQ: "==",
    ArithmeticKind.NE: "!=",
}  # fmt: skip
_RMW = {RmwKind.ADD: "old + v", RmwKind.XCHG: "v"}


class Promela:
    """The text of a model of one program on the plain machine."""

    def __init__(self, machine: CdnaMachine):
        self.compiled = machine.compiled
        self.topologies: list[LineTopology] = machine.topologies
        if self.compiled.lds or self.compiled.barriers or not self.compiled.lines:
            raise ValueError("only programs with global memory alone")
        if any(each.kind is not MemoryKind.NONLOCAL for each in self.compiled.lines):
            raise ValueError("only nonlocal memory")

    def text(self) -> str:
        """The whole model."""
        parts = [*self._globals()]
        for wave in range(len(self.compiled.ops)):
            parts += self._wave(wave)
        for topology in self.topologies:
            for at in range(len(topology.cus)):
                parts += self._queue(topology, at)
        parts += self._activity()
        parts += self._observer()
        return "\n".join([*parts, ""])

    def _globals(self) -> Iterator[str]:
        for topology in self.topologies:
            line = topology.line
            yield f"int mem{line} = {topology.location.initial};"
            for at in range(len(topology.l2s)):
                yield f"int v2_{line}_{at}; bool p2_{line}_{at}; bool d2_{line}_{at};"
            for at in range(len(topology.l1s)):
                yield f"int v1_{line}_{at}; bool p1_{line}_{at};"
            for at in range(len(topology.cus)):
                yield f"chan q{line}_{at} = [{_ROOM}] of {{ byte, int }}; byte b{line}_{at};"
        for wave, names in enumerate(self.compiled.registers):
            yield f"byte pend{wave}; bool ended{wave};"
            for number in range(len(names)):
                yield f"int r{wave}_{number};"

    # Waves

    def _value(self, wave: int, operand: int) -> str:
        return f"r{wave}_{~operand}" if operand < 0 else str(operand)

    def _wave(self, wave: int) -> Iterator[str]:
        yield f"active proctype wave{wave}() {{"
        for op in self.compiled.ops[wave]:
            step = self._step(op)
            # SPIN lets no one jump to a d_step, but to a choice that has one.
            yield f"L{op.pc}: {f'if :: {step} fi' if step.startswith('d_step') else step};"
        yield "}"

    def _step(self, op: Op) -> str:
        wave = op.wave
        a = self._value(wave, op.a)
        match op.code:
            case StepKind.LOAD | StepKind.STORE | StepKind.ATOMIC:
                return self._issue(op, a)
            case StepKind.CACHE:
                return self._cache(op)
            case StepKind.WAIT:
                if any(op.counts[1:]) or op.counts[0] not in (0, None):
                    raise ValueError("only waits for everything")
                return "skip" if op.counts[0] is None else f"(pend{wave} == 0)"
            case StepKind.MOVE:
                return f"r{wave}_{op.dst} = {a}"
            case StepKind.ARITHMETIC:
                assert isinstance(op.instruction, Arithmetic)
                sign = _ARITHMETIC[op.instruction.kind]
                return f"r{wave}_{op.dst} = ({a} {sign} {self._value(wave, op.b)})"
            case StepKind.BRANCH:
                taken, other = ("else", f"({a} != 0)") if op.unless else (f"({a} != 0)", "else")
                return f"if :: {taken} -> goto L{op.target} :: {other} fi"
            case StepKind.END:
                return f"d_step {{ (pend{wave} == 0); ended{wave} = true }}"
            case _:
                raise ValueError(f"no {op.instruction} in the model")

    def _issue(self, op: Op, value: str) -> str:
        """Rule 2."""
        topology, cu = self.topologies[op.line], self.compiled.cu[op.wave]
        at = topology.queue_of_cu[cu]
        blocks = f" b{op.line}_{at}++;" if op.number in topology.blocking else ""
        queued = f"q{op.line}_{at}!{op.number},{value}; pend{op.wave}++;{blocks}"
        l1 = topology.l1_of_cu.get(cu)
        if l1 is None:
            return f"d_step {{ {queued} }}"
        name = f"{op.line}_{l1}"
        if op.code is StepKind.LOAD and op.l1:
            hit = f"r{op.wave}_{op.dst} = v1_{name}" if op.dst >= 0 else "skip"
            return f"d_step {{ if :: p1_{name} -> {hit} :: else -> {queued} fi }}"
        if op.code is StepKind.STORE and op.l1:
            stored = f"if :: p1_{name} -> v1_{name} = {value} :: else fi;"
        else:
            stored = f"p1_{name} = false; v1_{name} = 0;"
        return f"d_step {{ {stored} {queued} }}"

    def _cache(self, op: Op) -> str:
        """Rules 2 and 3: the L1 now, the rest through every queue."""
        cu, parts = self.compiled.cu[op.wave], ["skip"]
        for topology in self.topologies:
            line = topology.line
            if op.effect.l1 and cu in topology.l1_of_cu:
                name = f"{line}_{topology.l1_of_cu[cu]}"
                parts.append(f"p1_{name} = false; v1_{name} = 0")
            if op.effect.marker and cu in topology.queue_of_cu:
                at = topology.queue_of_cu[cu]
                parts.append(f"q{line}_{at}!{op.number},0; pend{op.wave}++")
                if op.number in topology.blocking:
                    parts.append(f"b{line}_{at}++")
        return f"d_step {{ {'; '.join(parts)} }}"

    # Queues and caches

    def _queue(self, topology: LineTopology, at: int) -> Iterator[str]:
        """Rule 4: what reaches the L2."""
        line, cu = topology.line, topology.cus[at]
        name = f"{line}_{topology.l2_of_queue[at]}"
        yield f"active proctype queue{line}_{at}() {{ int v; int old; int held;"
        yield "end: do"
        for op in self.compiled.by_number:
            if self.compiled.cu[op.wave] != cu or not self._enters(op, line):
                continue
            blocks = f" b{line}_{at}--;" if op.number in topology.blocking else ""
            yield f":: d_step {{ q{line}_{at}?{op.number},v;{blocks} {self._performed(op, name)}"
            yield f"   pend{op.wave}--; v = 0; old = 0; held = 0 }}"
        yield "od }"

    def _enters(self, op: Op, line: int) -> bool:
        if op.code is StepKind.CACHE:
            return op.effect.marker
        return op.line == line and op.code <= StepKind.ATOMIC

    def _performed(self, op: Op, name: str) -> str:
        line = name.partition("_")[0]
        back = (
            f"if :: p2_{name} && d2_{name} -> mem{line} = v2_{name}; d2_{name} = false :: else fi;"
        )
        drop = f"p2_{name} = false; v2_{name} = 0;"
        if op.code is StepKind.CACHE:
            clean = f"if :: p2_{name} && !d2_{name} -> {drop} :: else fi;"
            return (back if op.effect.write_back else "") + (clean if op.effect.invalidate else "")
        result = f"r{op.wave}_{op.dst} = old;" if op.dst >= 0 else ""
        new = ""
        if op.code is StepKind.STORE:
            new = "v"
        elif isinstance(op.instruction, Atomic):
            new = _RMW[op.instruction.kind]
        at_l2 = f"if :: !p2_{name} -> v2_{name} = mem{line}; p2_{name} = true :: else fi; "
        at_l2 += f"old = v2_{name}; {result}"
        at_l2 += f" v2_{name} = {new}; d2_{name} = true;" if new else ""
        past = f"{back} old = mem{line}; {result} {drop}" + (f" mem{line} = {new};" if new else "")
        if not op.past_l2:
            return at_l2
        if op.code is StepKind.LOAD and self.compiled.hierarchy.dirty_serves_loads:
            return f"if :: p2_{name} && d2_{name} -> {at_l2} :: else -> {past} fi;"
        return past

    def _activity(self) -> Iterator[str]:
        """Rule 5."""
        yield "active proctype activity() { end: do"
        for topology in self.topologies:
            line = topology.line
            for at in range(len(topology.l2s)):
                n = f"{line}_{at}"
                yield f":: d_step {{ !p2_{n} -> p2_{n} = true; v2_{n} = mem{line} }}"
                yield f":: d_step {{ p2_{n} && d2_{n} -> mem{line} = v2_{n}; d2_{n} = false }}"
                yield f":: d_step {{ p2_{n} && !d2_{n} -> p2_{n} = false; v2_{n} = 0 }}"
            for at, cu in enumerate(topology.l1s):
                n, queue = f"{line}_{at}", topology.queue_of_cu[cu]
                l2 = f"{line}_{topology.l2_of_queue[queue]}"
                yield f":: d_step {{ p1_{n} -> p1_{n} = false; v1_{n} = 0 }}"
                yield (
                    f":: d_step {{ !p1_{n} && p2_{l2} && b{line}_{queue} == 0 -> "
                    f"p1_{n} = true; v1_{n} = v2_{l2} }}"
                )
        yield "od }"

    def _observer(self) -> Iterator[str]:
        """Prints the outcome of each state in which all is over and written back."""
        over = [f"ended{wave}" for wave in range(len(self.compiled.ops))]
        for topology in self.topologies:
            over += [f"!d2_{topology.line}_{at}" for at in range(len(topology.l2s))]
        shown: list[str] = []
        lines = [each.name for each in self.compiled.lines]
        for each in self.compiled.observables:
            if isinstance(each, Register):
                number = self.compiled.registers[each.thread].index(each.name)
                shown.append(f"now.r{each.thread}_{number}")
            else:
                shown.append(f"now.mem{lines.index(each.location)}")
        places = " ".join("%d" for _ in shown)
        yield "active proctype observer() {"
        printed = f'printf("OUTCOME {places}\\n", {", ".join(shown)});'
        yield f"  ({' && '.join(over)}) -> c_code {{ {printed} }}"
        yield "}"


@dataclass(frozen=True)
class _Search:
    """What SPIN finds: outcomes, states, CPU seconds, and the wall clock's of the compilation."""

    outcomes: frozenset[tuple[int, ...]]
    states: int
    seconds: float
    built: float
    complete: bool


def _searched(machine: CdnaMachine, folder: Path) -> _Search:
    (folder / "m.pml").write_text(Promela(machine).text())
    start = time.perf_counter()
    subprocess.run(("spin", "-a", "m.pml"), cwd=folder, check=True, capture_output=True)
    compiler = ("cc", "-O2", "-w", "-DSAFETY", "-DNOREDUCE", f"-DMEMLIM={_MEBIBYTES}")
    subprocess.run((*compiler, "-o", "pan", "pan.c"), cwd=folder, check=True, capture_output=True)
    built = time.perf_counter() - start
    command = (str(folder / "pan"), "-E", "-n", "-m1000000", "-w22", f"-Q{_MINUTES}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    states = re.search(r"([0-9.e+]+) states, stored", done.stdout)
    assert states is not None, done.stdout[-2000:]
    found = {
        tuple(int(each) & WORD_MASK for each in line.split()[1:])
        for line in done.stdout.splitlines()
        if line.startswith("OUTCOME")
    }
    complete = "Search not completed" not in done.stdout and "time limit" not in done.stdout
    return _Search(frozenset(found), int(float(states[1])), seconds, built, complete)


def _explored(system: System[tuple[int, ...], object]) -> tuple[Exploration, float]:
    start = time.process_time()
    found = explore(system, _STATE_LIMIT)
    return found, time.process_time() - start


def _best(make: Callable[[], System[tuple[int, ...], object]]) -> tuple[Exploration, float]:
    """The quickest of three explorations; the first if it is not complete."""
    first = _explored(make())
    if not first[0].complete:
        return first
    return min((first, _explored(make()), _explored(make())), key=lambda each: each[1])


def _row(name: str, text: str, folder: Path) -> tuple[str, ...]:
    (test,) = read_string("-", text, Lowering("gfx942"))
    assert isinstance(test, CdnaTest)
    program, configuration = test.test.program, test.configuration
    spin = _searched(CdnaMachine(program, configuration), folder)
    engine, _ = engines = _best(lambda: SymmetricEngine(program, configuration))
    assert engine.complete
    assert spin.outcomes <= engine.outcomes.states
    assert not spin.complete or spin.outcomes == engine.outcomes.states, f"{name}: others in SPIN"
    plain = _best(lambda: CdnaMachine(program, configuration))
    return (
        name,
        f"{len(engine.outcomes.states)}",
        *_shown(spin.states, spin.seconds, spin.complete),
        f"{spin.built:.1f} s",
        *(
            cell
            for found, spent in (plain, engines)
            for cell in _shown(found.states, spent, found.complete)
        ),
    )


def _shown(states: int, seconds: float, complete: bool) -> tuple[str, str]:
    if not complete:
        return f"more than {states:,}", ""
    return f"{states:,}", f"{seconds:.3f} s"


def results() -> list[Result]:
    """One table, where SPIN and a C compiler are installed."""
    if shutil.which("spin") is None or shutil.which("cc") is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        rows = tuple(_row(name, text, Path(folder)) for name, text in _TESTS.items())
    columns = (
        "test, gfx942", "outcomes", "SPIN: states", "search", "model to C to program",
        "plain machine: states", "time", "engine: states", "time ",
    )  # fmt: skip
    note = (
        "The machine in Promela, made of the program line for line as the plain machine has its "
        "rules, and searched by SPIN 6.5.2 as C in at most 1,500 MiB and ten minutes, each state: "
        "its partial order reduction is for properties, not for outcome sets. Outcome sets are "
        "equal where a search was complete. CPU seconds, ours the best of three; of the "
        "compilation wall clock."
    )
    return [Result("The CDNA machine beside SPIN", columns, rows, note)]


if __name__ == "__main__":
    for each in results():
        print(each.markdown())
