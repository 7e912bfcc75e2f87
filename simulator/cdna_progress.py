"""Progress on the CDNA machine: every fair execution ends, with no help from the caches.

Caches do nothing of their own here: no line is fetched, evicted or written back unless an
instruction asks. Then a flag store that stays dirty in one L2, or a spin load that keeps
hitting a stale line, goes on for ever; with spontaneous activity both would look fine.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from fencewright.simulator.cdna_instructions import CdnaProgram
from fencewright.simulator.cdna_machine import CdnaMachine, PlainLine
from fencewright.simulator.cdna_rows import CdnaConfiguration
from fencewright.simulator.cdna_system import Event, Kind, State
from fencewright.simulator.cdna_wave import WaveRules
from fencewright.simulator.exploration import DEFAULT_LIMIT, Component, stuck_components


@dataclass(frozen=True, slots=True)
class WaitingWave:
    """A wave that never ends: the instructions it repeats, and the values its loads read."""

    thread: int
    instructions: tuple[str, ...]
    reads: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        if not self.instructions:
            return f"P{self.thread} waits for ever"
        reads = " and ".join(f"{name}={value}" for name, value in self.reads)
        code = "; ".join(self.instructions)
        return f"P{self.thread} repeats [{code}]" + (f" and reads {reads}" if reads else "")


@dataclass(frozen=True, slots=True)
class Stuck:
    """Where an execution stays for ever: who waits, and how the lines they read look."""

    waves: tuple[WaitingWave, ...]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((*map(str, self.waves), *(f"  {each}" for each in self.lines)))


def stuck(
    program: CdnaProgram,
    configuration: CdnaConfiguration | None = None,
    limit: int = DEFAULT_LIMIT,
    line_rules: type[PlainLine] = PlainLine,
    wave_rules: type[WaveRules] = WaveRules,
) -> tuple[Stuck, ...]:
    """Every way in which a fair execution of ``program`` never ends; () if each one ends.

    Raises ``LimitReached`` when ``limit`` states are not enough to know.
    """
    machine = CdnaMachine(program, configuration, False, line_rules, wave_rules)
    return tuple(_explained(machine, each) for each in stuck_components(machine, _process, limit))


def _process(event: Event) -> Hashable:
    if event.kind in (Kind.ISSUE, Kind.HIT, Kind.LOCAL, Kind.BARRIER):
        return event.place
    return (event.in_lds, event.line, event.place)


def _explained(machine: CdnaMachine, component: Component[State, Event]) -> Stuck:
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
        WaitingWave(
            wave,
            tuple(str(by_number[n].instruction) for n in numbers if by_number[n].wave == wave),
            tuple(sorted(reads.get(wave, ()))),
        )
        for wave in range(machine.waves)
        if not machine.has_ended(state, wave)
    ]
    return Stuck(tuple(waves), tuple(machine.describe_line(state, line) for line in sorted(lines)))
