"""Asynchronous copies of gfx1250: each an agent of its own beside the wave that issued it.

The agent is on the wave's CU and reaches its LDS. It begins when the wave issues the copy, loads,
stores, and is done; a wait of asynccnt alone is for that. Nothing else orders it: it has no part in
barriers, and is in no other counter. Source: LLVM 24 AMDGPUUsage, Memory Model GFX125x, ASYNCcnt:
asynchronous operations are outside the model that LLVM implements.

So a program with copies becomes one with more waves, which ``wave`` compiles. What a copy is to be
is known before it runs: code with one is executed once, or is refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

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
    LdsLoad,
    LdsStore,
    SplitWait,
    VectorLoad,
    VectorStore,
)
from fencewright.simulator.core.program import Branch, Label, ProgramError, Thread

_DELIVERED = SplitWait(loadcnt=0, storecnt=0, dscnt=0)
_COPIED = "copied"


@dataclass(frozen=True, slots=True)
class WithAgents:
    """A program without copies: its waves, then ``agents`` by number, each with its wave's."""

    program: CdnaProgram
    agents: Mapping[int, int]


def with_agents(program: CdnaProgram) -> WithAgents:
    """The program with a wave for each copy. Raises ``ProgramError`` for a copy in a loop or branch."""
    code = (each for thread in program.threads for each in thread.instructions)
    if not any(isinstance(each, AsyncCopy | AsyncWait) for each in code):
        return WithAgents(program, MappingProxyType({}))
    waves: list[CdnaThread] = []
    agents: list[CdnaThread] = []
    owners: dict[int, int] = {}
    for wave, thread in enumerate(program.threads):
        _check_runs_once(program, wave)
        first = len(program.threads) + len(agents)
        waves.append(replace(thread, instructions=tuple(_issuing(thread, wave, first))))
        for copy in _copies(thread):
            agent = len(program.threads) + len(agents)
            owners[agent] = wave
            agents.append(Thread(thread.placement, _carrying_out(program, copy, wave, agent)))
    threads = (*waves, *agents)
    observed = program.observables()
    return WithAgents(replace(program, threads=threads, observed=observed), owners)


def _copies(thread: CdnaThread) -> list[AsyncCopy]:
    return [each for each in thread.instructions if isinstance(each, AsyncCopy)]


def _issuing(thread: CdnaThread, wave: int, first: int) -> Iterator[CdnaInstruction]:
    """The wave's instructions: a copy starts an agent, from ``first`` on; a wait is for their ends."""
    issued = awaited = 0
    for each in thread.instructions:
        if isinstance(each, AsyncCopy):
            yield BarrierSignal(CopyPoint(wave, first + issued))
            issued += 1
        elif isinstance(each, AsyncWait):
            for number in range(awaited, issued - each.asynccnt):
                point = CopyPoint(wave, first + number, is_end=True)
                yield BarrierSignal(point)
                yield BarrierWait(point)
            awaited = max(awaited, issued - each.asynccnt)
        else:
            yield each


def _carrying_out(
    program: CdnaProgram, copy: AsyncCopy, wave: int, agent: int
) -> tuple[CdnaInstruction, ...]:
    start, end = CopyPoint(wave, agent), CopyPoint(wave, agent, is_end=True)
    load: CdnaInstruction = VectorLoad(_COPIED, copy.source, copy.bits)
    store: CdnaInstruction = LdsStore(copy.destination, _COPIED)
    if program.location(copy.source).space is AddressSpace.LOCAL:
        load = LdsLoad(_COPIED, copy.source)
        store = VectorStore(copy.destination, _COPIED, copy.bits)
    return (
        BarrierSignal(start),
        BarrierWait(start),
        load,
        _DELIVERED,
        store,
        _DELIVERED,
        BarrierSignal(end),
    )


def _check_runs_once(program: CdnaProgram, wave: int) -> None:
    code = program.threads[wave].instructions
    labels = {each.name: at for at, each in enumerate(code) if isinstance(each, Label)}
    for at, each in enumerate(code):
        if not isinstance(each, Branch) or each.target not in labels:
            continue
        first, last = sorted((at, labels[each.target]))
        if any(isinstance(step, AsyncCopy | AsyncWait) for step in code[first:last]):
            raise ProgramError(
                f"{program.name} P{wave}: an asynchronous copy is executed where it is issued once: "
                "not in a loop or branch"
            )
