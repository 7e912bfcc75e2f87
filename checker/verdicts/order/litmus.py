"""Litmus tests of lemmas: the kernel's own qualifiers and scopes in two to four threads.

Source: PTX ISA, "Memory Consistency Model".
"""

from functools import cache

from fencewright.checker.verdicts.model import Agent, Relation
from fencewright.checker.verdicts.order.lemmas import Half, Lemma, Signal
from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Memory, Register
from fencewright.simulator.core.program import Location, Placement, Thread
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    Ld,
    MbarrierArrive,
    MbarrierWait,
    ProxyFence,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    PtxProxy,
    St,
)
from fencewright.simulator.ptx.formats.columns import instruction_text
from fencewright.simulator.ptx.instructions import (
    AsyncCopy,
    ClusterBarrier,
    CommitGroup,
    CrossingFence,
    Unit,
    WaitGroup,
)
from fencewright.simulator.ptx.outcomes import outcomes

_EARLIER, _LATER = 1, 2
"""The values that the earlier and the later access write; 0 is there before."""


@cache
def violation(lemma: Lemma) -> tuple[str, str] | None:
    """A program of a lemma, and an outcome in which the order fails; None if there is none."""
    program, seen = program_of(lemma)
    found = outcomes(program)
    if not found.complete:
        return _text(program), "outcomes that were not all looked at"
    for state in found.as_mappings():
        if seen is not None and state[seen] != 1:
            continue
        if _fails(lemma, state):
            shown = (f"{name}={value}" for name, value in state.items() if not _is_scratch(name))
            return _text(program), " ".join(shown)
    return None


def _text(program: PtxProgram) -> str:
    return " || ".join(
        "; ".join(instruction_text(each) for each in thread.instructions)
        for thread in program.threads
    )


def _is_scratch(name: Register | Memory) -> bool:
    return isinstance(name, Memory) and name.location in ("one", "two")


def _fails(lemma: Lemma, state: dict[Register | Memory, int | None]) -> bool:
    """True of a final state in which the later access comes before the earlier one."""
    if not lemma.earlier.writes:
        return _LATER in _values(state, "x_before", "out_before")
    if lemma.later.writes:
        return state[Memory("x")] == _EARLIER
    return 0 in _values(state, "x_after", "out_after")


def _values(
    state: dict[Register | Memory, int | None], register: str, location: str
) -> set[int | None]:
    return {
        value
        for name, value in state.items()
        if (isinstance(name, Register) and name.name == register)
        or (isinstance(name, Memory) and name.location == location)
    }


def program_of(lemma: Lemma) -> tuple[PtxProgram, Register | None]:
    """The litmus test of a lemma, and the register that is 1 where the signal is seen."""
    here, there = _placements(lemma.relation)
    release, acquire = lemma.release, lemma.acquire
    is_one = lemma.relation is Relation.THREAD
    before = [*_earlier(lemma), *_sequential(release)]
    signalling = [*_fence(Ordering.RELEASE, release, lemma), *_signalled(release.signal)]
    seeing = [*_seen(acquire.signal), *_fence(Ordering.ACQUIRE, acquire, lemma)]
    after = [*_sequential(acquire), *_later(lemma)]
    if lemma.earlier.agent is Agent.TRANSACTION:
        # The completion of the copy signals; the arrival comes before it.
        arrive = MbarrierArrive("b", expect_tx=1 if release.counts else 0)
        before, signalling = [arrive, *before], []
    threads: list[tuple[Placement, list[PtxInstruction]]] = []
    position = 0
    if is_one:
        threads.append((here, [*before, *signalling, *seeing, *after]))
    else:
        if release.barrier:
            meeting = Bar(BarrierRole.SYNC, 0)
            threads += [(here, [*before, meeting]), (here, [meeting, *signalling])]
        else:
            threads += [(here, [*before, *signalling])]
        position = len(threads)
        if acquire.barrier:
            meeting = Bar(BarrierRole.SYNC, 1)
            threads += [(there, [*seeing, meeting]), (there, [meeting, *after])]
        else:
            threads += [(there, [*seeing, *after])]
    seen = None if acquire.signal.waits else Register(position, "seen")
    program = PtxProgram(
        (Location("x"), Location("one", _EARLIER), Location("two", _LATER)),
        tuple(Thread(place, tuple(code)) for place, code in threads),
        mbarriers={"b": 1, "later": 1},
    )
    return program, seen


def _placements(relation: Relation) -> tuple[Placement, Placement]:
    match relation:
        case Relation.GRID:
            return Placement(0, cluster=0), Placement(1, cluster=1)
        case Relation.CLUSTER:
            return Placement(0, cluster=0), Placement(1, cluster=0)
        case _:
            return Placement(0, cluster=0), Placement(0, cluster=0)


def _earlier(lemma: Lemma) -> list[PtxInstruction]:
    payload = lemma.earlier
    code: list[PtxInstruction]
    match payload.agent:
        case Agent.TRANSACTION if payload.writes:
            is_copy = payload.proxy is Proxy.ASYNC
            return [AsyncCopy("x", "one" if is_copy else None, _EARLIER, mbarrier="b")]
        case Agent.TRANSACTION:
            return [AsyncCopy("out_before", "x", mbarrier="b")]
        case Agent.THREAD:
            code = [St("x", _EARLIER) if payload.writes else Ld("x_before", "x")]
        case _:
            # Of a product what counts is that it reads by the async proxy until it is waited for.
            unit = Unit.CORE if payload.agent is Agent.COPY else Unit.BULK
            pair = ("x", "one") if payload.writes else ("out_before", "x")
            wait = WaitGroup(unit is Unit.BULK and not payload.writes, unit=unit)
            code = [AsyncCopy(*pair, unit=unit), CommitGroup(unit), wait]
    if lemma.release.proxy and lemma.release.barrier:
        code.append(_proxy_fence(lemma, Ordering.RELEASE))
    return code


def _later(lemma: Lemma) -> list[PtxInstruction]:
    payload = lemma.later
    code: list[PtxInstruction] = []
    if lemma.acquire.proxy:
        code.append(_proxy_fence(lemma, Ordering.ACQUIRE))
    if payload.proxy is Proxy.TENSORMAP:
        return [*code, Ld("x_after", "x", proxy=PtxProxy.TENSORMAP)]
    match payload.agent:
        case Agent.THREAD:
            return [*code, St("x", _LATER) if payload.writes else Ld("x_after", "x")]
        case Agent.TRANSACTION if payload.writes and payload.proxy is Proxy.GENERIC:
            return [*code, AsyncCopy("x", None, _LATER, mbarrier="later")]
        case _:
            unit = Unit.CORE if payload.agent is Agent.COPY else Unit.BULK
            pair = ("x", "two") if payload.writes else ("out_after", "x")
            copy = AsyncCopy(*pair, unit=unit)
            return [*code, copy, CommitGroup(unit), WaitGroup(reads_only=False, unit=unit)]


def _proxy_fence(lemma: Lemma, ordering: Ordering) -> PtxInstruction:
    """A fence between the generic proxy and that of the copies of a lemma."""
    if lemma.later.proxy is not Proxy.TENSORMAP:
        return ProxyFence(PtxProxy.ASYNC)
    map_ = "x" if ordering is Ordering.ACQUIRE else None
    return CrossingFence(ordering, Scope.AGENT, PtxProxy.TENSORMAP, map_)


def _fence(ordering: Ordering, half: Half, lemma: Lemma) -> list[PtxInstruction]:
    code: list[PtxInstruction] = []
    if half.proxy and ordering is Ordering.RELEASE and not half.barrier:
        code.append(_proxy_fence(lemma, ordering))
    if half.fence is not None:
        code.append(PtxFence(ordering, half.fence))
    return code


def _sequential(half: Half) -> list[PtxInstruction]:
    return [] if half.sequential is None else [PtxFence(Ordering.SEQ_CST, half.sequential)]


def _signalled(signal: Signal) -> list[PtxInstruction]:
    """The instruction that raises the flag from 0 to 1, or arrives."""
    ordering, scope = signal.ordering, signal.scope
    if signal.is_barrier or signal.is_next:
        return [Bar(BarrierRole.SYNC, 2)] if signal.is_barrier else []
    if signal.is_cluster:
        return [
            ClusterBarrier(BarrierRole.ARRIVE, ordering),
            ClusterBarrier(BarrierRole.WAIT, Ordering.ACQUIRE),
        ]
    if signal.is_named:
        return [Bar(BarrierRole.ARRIVE, 2)]
    if signal.is_phase:
        return [MbarrierArrive("b", ordering, scope)]
    if not signal.update:
        return [St("f", 1, ordering, scope)]
    kind = RmwKind.XCHG if signal.update in ("exch", "cas") else RmwKind.ADD
    return [Atom(None, "f", kind, 1, None, ordering, scope)]


def _seen(signal: Signal) -> list[PtxInstruction]:
    """The instruction that finds 1 in the flag, or waits."""
    ordering, scope = signal.ordering, signal.scope
    if signal.is_barrier or signal.is_next:
        return [Bar(BarrierRole.SYNC, 2)] if signal.is_barrier else []
    if signal.is_cluster:
        return [
            ClusterBarrier(BarrierRole.ARRIVE, Ordering.RELEASE),
            ClusterBarrier(BarrierRole.WAIT, ordering),
        ]
    if signal.is_named:
        return [Bar(BarrierRole.SYNC, 2)]
    if signal.is_phase:
        return [MbarrierWait("b", 0, ordering, scope)]
    if not signal.update:
        return [Ld("seen", "f", ordering, scope)]
    if signal.update == "cas":
        return [Atom("seen", "f", RmwKind.XCHG, 2, 1, ordering, scope)]
    kind = RmwKind.XCHG if signal.update == "exch" else RmwKind.ADD
    return [Atom("seen", "f", kind, 2, None, ordering, scope)]
