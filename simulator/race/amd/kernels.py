"""Kernels of assembly under the race detector: the meaning of each of their instructions.

The executor says what was executed, wave by wave and in order; what an instruction does is decoded
from its text, and its reach is the machine's row. A barrier of a work-group is over when one of the
waves that came to it goes on. Of a split barrier a wave has met those whose signals are of the
phase that it has waited for.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from fencewright.lowering.cdna.chips import Counter as WaitCounter
from fencewright.lowering.cdna.code.flow import Flow, flow_of
from fencewright.lowering.cdna.code.flow import Step as CodeStep
from fencewright.lowering.cdna.code.text import AssemblyInstruction, Function
from fencewright.lowering.cdna.code.waits import counts_of
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import place_text
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent
from fencewright.simulator.cdna.rows import (
    BITS,
    HINTS,
    CdnaConfiguration,
    Counted,
    CounterClass,
    access_counted,
)
from fencewright.simulator.execution.executor import LateCopies
from fencewright.simulator.execution.lanes import Numbers
from fencewright.simulator.execution.launch import BASE, Launch, Memory
from fencewright.simulator.execution.program import (
    CountedInstruction,
    Executed,
    LaneProgram,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
)
from fencewright.simulator.race.amd.detector import Detector, Side
from fencewright.simulator.race.amd.facts import Home
from fencewright.simulator.race.amd.polls import polling_lines
from fencewright.simulator.race.amd.rules import (
    OF_MEMORY,
    Access,
    Barrier,
    Cache,
    Meet,
    Path,
    Rule,
    Signal,
    Wait,
)
from fencewright.simulator.race.amd.shadow import Shadow

_PATHS: Mapping[MemorySpace, Path] = {
    MemorySpace.GLOBAL: Path.VECTOR,
    MemorySpace.PRIVATE: Path.VECTOR,
    MemorySpace.SHARED: Path.LDS,
    MemorySpace.SCALAR: Path.SCALAR,
}
_KINDS: Mapping[MemoryAccessKind, Kind] = {
    MemoryAccessKind.LOAD: Kind.LOAD,
    MemoryAccessKind.STORE: Kind.STORE,
    MemoryAccessKind.ATOMIC: Kind.RMW,
    MemoryAccessKind.REDUCTION: Kind.RMW,
}
_POLICY = frozenset({word for bits in BITS for word in bits.split()}) | HINTS


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction of a kernel that the detector knows; ``polls``: a load that a loop waits
    with."""

    number: int
    instruction: AssemblyInstruction
    rule: Rule
    place: str
    polls: bool

    @property
    def name(self) -> str:
        """The instruction as it is called."""
        return self.instruction.mnemonic


def sites_of(
    function: Function,
    program: LaneProgram,
    configuration: CdnaConfiguration,
    files: Mapping[int, str],
) -> tuple[Site, ...]:
    """The rules of the counted instructions of a kernel. Raises ``ProgramError``, ``ValueError``.

    ``program`` is ``function`` with the lines of its text as places; ``files``: as of ``Assembly``.
    """
    flow: Flow = flow_of(function)
    by_line = {step.instruction.line: step for block in flow.blocks for step in block.steps}
    polling = polling_lines(flow)
    sites: list[Site] = []
    for number, each in enumerate(program.instructions):
        assert each.place is not None
        step = by_line[each.place.line]
        source = step.instruction.source
        place = (
            place_text(source, files)
            if source is not None and source.file in files
            else f"{PurePath(each.place.file).name}:{each.place.line}"
        )
        rule, polls = _rule(step, each, configuration), each.place.line in polling
        sites.append(Site(number, step.instruction, rule, place, polls))
    return tuple(sites)


def _rule(step: CodeStep, counted: CountedInstruction, configuration: CdnaConfiguration) -> Rule:
    instruction = step.instruction
    if isinstance(counted, MemoryInstruction):
        return _access(step, counted, configuration)
    if counted.arrives:
        return Signal()
    if counted.joins:
        return Meet() if counted.of_cluster or counted.is_named else Barrier()
    if counted.is_named:
        return Wait(())
    if step.effects.kind is Kind.WAIT:
        counts = counts_of(instruction, configuration.row)
        known = {str(each): each for each in configuration.row.counters}
        return Wait(tuple((known[name], n) for name, n in counts.items() if name in known))
    effect = configuration.cache_effect(instruction.mnemonic, _bits(instruction))
    counters = configuration.counted(effect.counted_as, False) if effect.counts else None
    return Cache(effect, counters)


def _access(step: CodeStep, memory: MemoryInstruction, configuration: CdnaConfiguration) -> Access:
    path, kind = _PATHS[memory.space], _KINDS[memory.kind]
    returns = memory.kind in (MemoryAccessKind.LOAD, MemoryAccessKind.ATOMIC)
    is_flat = step.effects.space is AddressSpace.GENERIC
    operation = access_counted(path is Path.LDS, returns)
    operation = CounterClass.SCALAR if path is Path.SCALAR else operation
    counted = configuration.counted(operation, is_flat)
    if any(each.counter is WaitCounter.ASYNCCNT for each in step.effects.events):
        path, counted = Path.BESIDE, Counted((WaitCounter.ASYNCCNT,))
    if any(each.counter is WaitCounter.TENSORCNT for each in step.effects.events):
        raise ValueError(f"'{step.instruction.text}': copies of tensors have no rule of order here")
    reads, writes = kind is not Kind.STORE, kind is not Kind.LOAD
    if path not in OF_MEMORY:
        return Access(path, reads, writes, counted)
    bits = _bits(step.instruction)
    effect = configuration.access_effect(kind, bits)
    is_scoped = kind is Kind.RMW or bool(bits - HINTS)
    return Access(path, reads, writes, counted, effect.l1, effect.past_l2, is_scoped)


def _bits(instruction: AssemblyInstruction) -> frozenset[str]:
    return frozenset(instruction.modifiers) & _POLICY


def homes_of(launch: Launch, program: LaneProgram, configuration: CdnaConfiguration) -> list[Home]:
    """The places of all waves: each work-group on a CU and an XCD of its own, the hardest there is.

    In tgsplit each wave has a CU of its own.
    """
    waves = -(-launch.threads // program.lanes)
    has_many = configuration.l2_per_agent is L2PerAgent.MANY
    homes: list[Home] = []
    for number in range(launch.groups * waves):
        group = number // waves
        cu = number if configuration.tgsplit else group
        homes.append(Home(number, group, cu, group if has_many else 0))
    return homes


def _nothing(wave: int, outwards: bool) -> None:
    return


class KernelObserver:
    """Passes the events of a launch to the detector. ``executed``: the sites that were.

    ``copies``: those that the executor keeps until the detector knows their end.
    """

    def __init__(
        self,
        sites: Sequence[Site],
        program: LaneProgram,
        launch: Launch,
        memory: Memory,
        configuration: CdnaConfiguration,
        copies: LateCopies | None = None,
    ):
        self.sites, self.configuration = sites, configuration
        self.waves = -(-launch.threads // program.lanes)
        polled = frozenset(each.number for each in sites if each.polls)
        homes = homes_of(launch, program, configuration)
        self.detector = Detector(
            homes, self.waves, polled.__contains__,
            requests_in_order=configuration.hierarchy.requests_in_order,
            on_copied=_nothing if copies is None else copies.finish,
        )  # fmt: skip
        self.spaces = [
            each.space if isinstance(each, MemoryInstruction) else None
            for each in program.instructions
        ]
        self.widths = [
            each.width if isinstance(each, MemoryInstruction) else 0
            for each in program.instructions
        ]
        self.buffers = {
            page: each
            for each in memory.buffers
            for page in range(each.address // BASE, (each.address + each.size) // BASE + 1)
        }
        self.arguments = memory.arguments
        self.shadows: dict[object, Shadow] = {}
        self.nowhere = Shadow("private memory")
        self.at_barrier: dict[int, dict[int, int]] = {}
        """Of each work-group the waves that wait, and at which site."""
        self.signals: Counter[int] = Counter()
        self.meets: Counter[int] = Counter()
        self.meeting: dict[int, tuple[int, tuple[int, int, int]]] = {}
        """The waves that wait for the signals of others: at which site, and in which phase."""
        self.executed: set[int] = set()
        self.of_arguments: set[int] = set()

    def __call__(self, executed: Executed) -> None:
        """Take note of an instruction that some waves have executed."""
        site, rule = self.sites[executed.instruction], self.sites[executed.instruction].rule
        detector = self.detector
        self.executed.add(site.number)
        waves: list[int] = (executed.groups * self.waves + executed.waves).tolist()
        for row, wave in enumerate(waves):
            self._go_on(wave)
            match rule:
                case Access():
                    self._access(wave, rule, site.number, executed, row)
                case Cache():
                    detector.cache(wave, rule)
                case Wait(counts):
                    detector.wait(wave, counts)
                case Signal():
                    self._signal(wave, self._meeting(wave, executed, row, self.signals))
                case Meet():
                    meeting = self._meeting(wave, executed, row, self.meets)
                    self.meeting[wave] = site.number, meeting
                case Barrier():
                    self.at_barrier.setdefault(wave // self.waves, {})[wave] = site.number

    def name_of(self, number: int) -> str:
        """An instruction, as messages say it."""
        return f"{self.sites[number].place} ({self.sites[number].name})"

    def _meeting(
        self, wave: int, executed: Executed, row: int, phases: Counter[int]
    ) -> tuple[int, int, int]:
        """The work-group, the barrier, 0 where it has no name, and its phase."""
        group = wave // self.waves
        if executed.meetings:
            return group, executed.meetings[row].number, executed.meetings[row].phase
        phases[wave] += 1
        return group, 0, phases[wave]

    def _signal(self, wave: int, meeting: tuple[int, int, int]) -> None:
        group, barrier, phase = meeting
        self.detector.signal(wave, meeting)
        # All have come to the phase before, so that nobody waits for one before that.
        self.detector.meetings.pop((group, barrier, phase - 2), None)

    def _go_on(self, wave: int) -> None:
        """A barrier is over for all that came to it when one of them goes on."""
        if (waited := self.meeting.pop(wave, None)) is not None:
            self.detector.meet(wave, waited[1])
        there = self.at_barrier.get(wave // self.waves)
        if there and wave in there:
            del self.at_barrier[wave // self.waves]
            self.detector.barrier(sorted(there))

    def _access(self, wave: int, rule: Access, site: int, executed: Executed, row: int) -> None:
        active, addresses = executed.active[row], executed.addresses[row]
        space = self.spaces[site]
        if executed.copied_to is not None:
            outside = self._sides(wave, site, MemorySpace.GLOBAL, addresses[active])
            place = executed.copied_to[row][active]
            lds = self._sides(wave, site, MemorySpace.SHARED, place)
            self.detector.copy(wave, rule, site, outside, lds)
            return
        parts = [(active, False)]
        if executed.same is not None and rule.path is not Path.SCALAR:
            same = executed.same[row]
            parts = [(active & same, True), (active & ~same, False)]
        sides = [
            side
            for lanes, is_same in parts
            for side in self._sides(wave, site, space, addresses[lanes], is_same)
        ]
        self.detector.access(wave, rule, site, sides, is_further=executed.is_further)

    def _sides(
        self, wave: int, site: int, space: MemorySpace | None, addresses: Numbers,
        is_same: bool = False,
    ) -> list[Side]:  # fmt: skip
        if not len(addresses) or space is MemorySpace.PRIVATE:
            return []
        if space is MemorySpace.SHARED:
            groups = [(self._shadow(wave // self.waves, "LDS"), addresses)]
        else:
            addresses = addresses[:1] if space is MemorySpace.SCALAR else addresses
            groups = list(self._in_buffers(site, addresses))
        width = self.widths[site]
        return [Side(shadow, shadow.units(places, width), is_same) for shadow, places in groups]

    def _in_buffers(self, site: int, addresses: Numbers) -> Iterator[tuple[Shadow, Numbers]]:
        pages = addresses // BASE
        is_one = bool((pages == pages[0]).all())
        for page in (pages[:1] if is_one else np.unique(pages)).tolist():
            buffer = self.buffers[page]
            if buffer.address == self.arguments:
                self.of_arguments.add(site)
                continue
            inside = addresses if is_one else addresses[pages == page]
            yield self._shadow(buffer.name, buffer.name), inside - buffer.address

    def _shadow(self, key: object, name: str) -> Shadow:
        shadow = self.shadows.get(key)
        if shadow is None:
            shadow = self.shadows[key] = Shadow(name)
        return shadow
