"""Single-point mutants of PTX programs: how much a set of tests would notice.

A mutant drops one fence, takes the acquire or the release from one operation, or narrows one
scope to cta. It is noticed when its outcome set differs from the original's. Mutants that
mean the same in every program of their shape are among them, so that not all can be noticed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.ptx_events import (
    Atomic,
    ClusterBarrier,
    Fence,
    Instruction,
    Load,
    MbarrierArrive,
    MbarrierWait,
    Program,
    ProxyFence,
    Store,
)
from fencewright.simulator.ptx_model import PtxModel, outcomes


class MutationKind(Enum):
    """What a mutant changes."""

    DROP_FENCE = "drop fence"
    DROP_ACQUIRE = "acquire to relaxed"
    DROP_RELEASE = "release to relaxed"
    NARROW_SCOPE = "scope to cta"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed program: what was changed, in which instruction of which thread."""

    kind: MutationKind
    thread: int
    position: int
    program: Program


_WITHOUT_ACQUIRE = {
    Ordering.ACQUIRE: Ordering.RELAXED,
    Ordering.ACQ_REL: Ordering.RELEASE,
}
_WITHOUT_RELEASE = {
    Ordering.RELEASE: Ordering.RELAXED,
    Ordering.ACQ_REL: Ordering.ACQUIRE,
}
_ORDERED = Load | Store | Atomic | ClusterBarrier | MbarrierArrive | MbarrierWait
_SCOPED = Load | Store | Atomic | Fence | MbarrierArrive | MbarrierWait


def _changed(instruction: Instruction) -> Iterator[tuple[MutationKind, Instruction | None]]:
    """What one instruction can be changed into; None takes it out."""
    if isinstance(instruction, Fence | ProxyFence):
        yield MutationKind.DROP_FENCE, None
    if isinstance(instruction, _ORDERED):
        ordering = instruction.ordering
        is_wait = isinstance(instruction, ClusterBarrier) and ordering is Ordering.ACQUIRE
        if ordering in _WITHOUT_ACQUIRE and not is_wait:
            weaker = replace(instruction, ordering=_WITHOUT_ACQUIRE[ordering])
            yield MutationKind.DROP_ACQUIRE, weaker
        if ordering in _WITHOUT_RELEASE:
            weaker = replace(instruction, ordering=_WITHOUT_RELEASE[ordering])
            yield MutationKind.DROP_RELEASE, weaker
    if isinstance(instruction, _SCOPED) and instruction.scope not in (None, Scope.WORKGROUP):
        yield MutationKind.NARROW_SCOPE, replace(instruction, scope=Scope.WORKGROUP)


def mutants(program: Program) -> Iterator[Mutant]:
    """Every single-point mutant of ``program``."""
    for number, thread in enumerate(program.threads):
        for position, instruction in enumerate(thread.code):
            for kind, changed in _changed(instruction):
                middle = () if changed is None else (changed,)
                code = (*thread.code[:position], *middle, *thread.code[position + 1 :])
                threads = list(program.threads)
                threads[number] = replace(thread, code=code)
                mutated = replace(program, threads=tuple(threads))
                yield Mutant(kind, number, position, mutated)


@dataclass(frozen=True, slots=True)
class Campaign:
    """How many mutants of each kind there were, and how many changed the outcome set."""

    tried: Mapping[MutationKind, int]
    noticed: Mapping[MutationKind, int]

    @property
    def rate(self) -> float:
        """The share of all mutants that was noticed."""
        return sum(self.noticed.values()) / max(1, sum(self.tried.values()))

    def __str__(self) -> str:
        """One kind a line, then all."""
        lines = [
            f"{kind.value}: {self.noticed.get(kind, 0)} of {count}"
            for kind, count in self.tried.items()
        ]
        total, noticed = sum(self.tried.values()), sum(self.noticed.values())
        return "\n".join([*lines, f"all: {noticed} of {total} ({self.rate:.0%})"])


def run_campaign(programs: Iterable[Program], model: PtxModel | None = None) -> Campaign:
    """Compare the outcome set of every mutant of ``programs`` with the original's."""
    tried: Counter[MutationKind] = Counter()
    noticed: Counter[MutationKind] = Counter()
    for program in programs:
        original = outcomes(program, model)
        for mutant in mutants(program):
            tried[mutant.kind] += 1
            changed = outcomes(mutant.program, model).project(original.observables)
            noticed[mutant.kind] += changed != original
    return Campaign(tried, noticed)
