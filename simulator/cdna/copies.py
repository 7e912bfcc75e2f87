"""Asynchronous copies of gfx1250: each an agent of its own beside the wave that issued it.

The agent is on the wave's CU and reaches its LDS. It begins when the wave issues the copy, loads,
stores, and is done; a wait of the copy's counter alone is for that. Nothing else orders it: it has
no part in barriers, and is in no other counter. Source: LLVM 24 AMDGPUUsage, Memory Model GFX125x,
ASYNCcnt: asynchronous operations are outside the model that LLVM implements; TENSORcnt alike.

So a program with copies becomes one with more waves, which ``wave`` compiles. Which copies a wait
is for depends on the path there: the wave's code is written once for each set of copies that may be
outstanding at a place. A copy in a loop is issued again while an earlier time of it is under way;
then each time has an agent of its own, which goes back to its beginning once it has been waited
for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.code.graph import walk
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.cdna.instructions import (
    AsyncCopy,
    AsyncWait,
    BarrierSignal,
    BarrierWait,
    CdnaInstruction,
    CdnaProgram,
    CdnaThread,
    CopyPoint,
    Segment,
    VectorLoad,
    VectorStore,
    Wait,
)
from fencewright.simulator.core.program import (
    Branch,
    Label,
    ProgramError,
    Thread,
    place_at,
)

_DELIVERED = Wait(loadcnt=0, storecnt=0, dscnt=0)
_COPIED = "copied"
_AGAIN = "again"

MOST_OUTSTANDING = 8
"""The number of copies of a wave that are followed: as many agents and their states."""


@dataclass(frozen=True, slots=True)
class WithAgents:
    """A program without copies: its waves, then ``agents`` by number, each with its wave's."""

    program: CdnaProgram
    agents: Mapping[int, int]


def with_agents(program: CdnaProgram) -> WithAgents:
    """The program with waves for its copies.

    Raises ``ProgramError`` where more than ``MOST_OUTSTANDING`` may be outstanding.
    """
    code = (each for thread in program.threads for each in thread.instructions)
    if not any(isinstance(each, AsyncCopy | AsyncWait) for each in code):
        return WithAgents(program, MappingProxyType({}))
    waves: list[CdnaThread] = []
    agents: list[CdnaThread] = []
    owners: dict[int, int] = {}
    for wave, thread in enumerate(program.threads):
        first = len(program.threads) + len(agents)
        issuing = _Issuing(program, wave, first)
        waves.append(issuing.wave())
        for issue, agent in issuing.agents.items():
            owners[agent] = wave
            code = _carrying_out(program, issue.copy, wave, agent, issuing.is_again(issue))
            agents.append(Thread(thread.placement, tuple(code)))
    threads = (*waves, *agents)
    observed = program.observables()
    return WithAgents(replace(program, threads=threads, observed=observed), owners)


class _Issue(NamedTuple):
    """One time of a copy: the instruction, and how many of its times were under way."""

    at: int
    time: int
    copy: AsyncCopy


class _Point(NamedTuple):
    """A place in a wave's code, with the copies that may be outstanding, in order of issue."""

    pc: int
    outstanding: tuple[_Issue, ...]


@dataclass(slots=True)
class _Issuing:
    """The code of wave ``number``, in which copies start agents and waits are for their ends.

    ``first`` is the number of the first agent. ``after`` are the points after each.
    """

    program: CdnaProgram
    number: int
    first: int
    agents: dict[_Issue, int] = field(default_factory=dict[_Issue, int])
    after: dict[_Point, list[_Point]] = field(default_factory=dict[_Point, list[_Point]])

    @property
    def thread(self) -> CdnaThread:
        """The wave without agents."""
        return self.program.threads[self.number]

    @property
    def name(self) -> str:
        """The wave, as messages call it."""
        return f"{self.program.name} P{self.number}"

    def wave(self) -> CdnaThread:
        """The wave with agents."""
        code = self.thread.instructions
        labels = {each.name: at for at, each in enumerate(code) if isinstance(each, Label)}
        made: list[CdnaInstruction] = []
        places: list[SourceLocation | None] = []
        left = [_Point(0, ())]
        while left:
            point: _Point | None = left.pop()
            while point is not None and point not in self.after:
                written, following, others = self._at(point, labels)
                self.after[point] = [each for each in (following, *others) if each is not None]
                made += (Label(_label(point)), *written)
                places += [place_at(self.thread.places, point.pc)] * (1 + len(written))
                left += others
                point = following
            if point is not None:
                made.append(Branch(_label(point)))
                places.append(None)
        return replace(self.thread, instructions=(*made, Label(_END)), places=tuple(places))

    def _at(
        self, point: _Point, labels: Mapping[str, int]
    ) -> tuple[Sequence[CdnaInstruction], _Point | None, list[_Point]]:
        """The code executed at a point, the next point, and the other possible successors."""
        code = self.thread.instructions
        if point.pc == len(code):
            return [Branch(_END)], None, []
        each, following = code[point.pc], point._replace(pc=point.pc + 1)
        match each:
            case AsyncCopy():
                issue = self._issue(point, each)
                started = following._replace(outstanding=(*point.outstanding, issue))
                return [BarrierSignal(self._point_of(issue))], started, []
            case AsyncWait(count, counter):
                done = self._done(point.outstanding, counter, count)
                kept = tuple(issue for issue in point.outstanding if issue not in done)
                ends = [self._point_of(issue, is_end=True) for issue in done]
                waits = [step for end in ends for step in (BarrierSignal(end), BarrierWait(end))]
                return waits, following._replace(outstanding=kept), []
            case Branch(target):
                if target not in labels:
                    raise ProgramError(f"{self.name}: no label '{target}'")
                there = point._replace(pc=labels[target])
                branch = replace(each, target=_label(there))
                return [branch], None if each.condition is None else following, [there]
            case Label():
                return [], following, []
            case _:
                return [each], following, []

    def _issue(self, point: _Point, copy: AsyncCopy) -> _Issue:
        """The time of a copy that is issued at a point."""
        if len(point.outstanding) == MOST_OUTSTANDING:
            raise ProgramError(
                f"{self.name}: more than {MOST_OUTSTANDING} copies may be outstanding at '{copy}'; "
                "the machine follows no more"
            )
        times = {issue.time for issue in point.outstanding if issue.at == point.pc}
        time = next(n for n in range(MOST_OUTSTANDING) if n not in times)
        issue = _Issue(point.pc, time, copy)
        self.agents.setdefault(issue, self.first + len(self.agents))
        return issue

    def _done(self, outstanding: tuple[_Issue, ...], counter: Counter, count: int) -> list[_Issue]:
        """The copies that a wait is for: all of its counter but the ``count`` newest of those to
        LDS, and of those from there, which are not in order with each other."""
        done: list[_Issue] = []
        for outwards in (False, True):
            counted = [
                each
                for each in outstanding
                if each.copy.counter is counter
                and _is_outwards(self.program, each.copy) is outwards
            ]
            done += counted[: max(0, len(counted) - count)]
        return done

    def _point_of(self, issue: _Issue, *, is_end: bool = False) -> CopyPoint:
        return CopyPoint(self.number, self.agents[issue], is_end)

    def is_again(self, issue: _Issue) -> bool:
        """True if a time of a copy may come again after the wait for it."""
        starts = [each for each in self.after if each.pc == issue.at and self._starts(each, issue)]
        following = [each for start in starts for each in self.after[start]]
        return any(point in starts for point in walk(following, self.after.__getitem__))

    def _starts(self, point: _Point, issue: _Issue) -> bool:
        return any(issue in each.outstanding for each in self.after[point]) and (
            issue not in point.outstanding
        )


_END = "end of the wave"


def _label(point: _Point) -> str:
    outstanding = ",".join(f"{issue.at}.{issue.time}" for issue in point.outstanding)
    return f"{point.pc} with {outstanding}"


def _is_outwards(program: CdnaProgram, copy: AsyncCopy) -> bool:
    return program.location(copy.source).space is AddressSpace.LOCAL


def _carrying_out(
    program: CdnaProgram, copy: AsyncCopy, wave: int, agent: int, again: bool
) -> Iterator[CdnaInstruction]:
    start, end = CopyPoint(wave, agent), CopyPoint(wave, agent, is_end=True)
    outwards = _is_outwards(program, copy)
    here, there = (Segment.LDS, Segment.GLOBAL) if outwards else (Segment.GLOBAL, Segment.LDS)
    load = VectorLoad(_COPIED, copy.source, () if outwards else copy.bits, here)
    store = VectorStore(copy.destination, _COPIED, copy.bits if outwards else (), there)
    if again:
        yield Label(_AGAIN)
    yield from (BarrierSignal(start), BarrierWait(start))
    yield from (load, _DELIVERED, store, _DELIVERED, BarrierSignal(end))
    if again:
        yield Branch(_AGAIN)
