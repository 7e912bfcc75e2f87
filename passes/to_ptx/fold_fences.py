"""The pass ``fold-fences``: a fence and the relaxed access next to it become one ordered access."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fencewright.lowering.costs import cost_of_sequence
from fencewright.lowering.sequence import Instruction, Target, UnsupportedError
from fencewright.lowering.targets import target_of
from fencewright.lowering.vocabulary import Availability, Ordering
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import ORDERINGS, OrderingAttr
from fencewright.mlir_dialects.leaf_operation import operations, walk
from fencewright.passes.analysis.control_flow import reachable_blocks
from fencewright.passes.kernels.accept import is_used, sequence_of
from fencewright.passes.scoped.merge_fences import (
    acquired_before,
    is_plain,
    is_silent,
    rank_of,
    released_after,
)
from fencewright.passes.to_ptx.arithmetic import bits_of


def _ordering(releases: bool, acquires: bool) -> Ordering:
    if releases:
        return Ordering.ACQ_REL if acquires else Ordering.RELEASE
    return Ordering.ACQUIRE if acquires else Ordering.RELAXED


_FOLDINGS = ((False, False), (True, False), (False, True), (True, True))
"""The foldings of the release fence before and the acquire fence after; none, if in doubt."""

_ORDERING: dict[tuple[Ordering, tuple[bool, bool]], Ordering] = {
    (ordering, folded): _ordering(ordering.releases or folded[0], ordering.acquires or folded[1])
    for ordering in (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)
    for folded in _FOLDINGS
}


@dataclass(frozen=True)
class FoldFencesPass(ModulePass):
    """Give an access the ordering of the fence next to it, where that is cheaper on ``mcpu``.

    Runs on ``scoped``, before the conversion to PTX, also in LLVM IR. An *acquire* fence goes
    into the atomic load or read-modify-write right before it, if all earlier atomic reads have
    been acquired at the fence's scope already; a *release* fence into the atomic store or
    read-modify-write right after it, if whatever could publish after that is released at the
    fence's scope anyway. The access is of at least the fence's scope. Which is cheaper is for
    ``lowering.costs`` to say: where a chip or ``ptx_version`` has no one-sided fences, mostly the
    access. Source: C++20 [atomics.fences]; NVIDIA PTX Writer's Guide, Atomics ABI.
    """

    name = "fold-fences"

    mcpu: str
    ptx_version: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in [each for each in walk(op) if each.regions]:
            for region in each.regions:
                if any(map(_is_one_sided, _fences(region))):
                    self._fold(region)

    def _fold(self, body: Region) -> None:
        blocks = reachable_blocks(body)
        after = dict(_neighbours(blocks, Ordering.ACQUIRE))
        before = dict(_neighbours(blocks, Ordering.RELEASE))
        # Folding makes nothing less acquired or released than these say.
        acquired = acquired_before(after.keys(), blocks) if after else {}
        released = released_after(before.keys(), blocks) if before else {}
        for access in {**before, **after}:
            fences = before.get(access), after.get(access)
            releasing, acquiring = fences
            if releasing is not None and released[access] < rank_of(releasing):
                releasing = None
            if acquiring is not None and acquired[access] < rank_of(acquiring):
                acquiring = None
            self._choose(access, releasing, acquiring)

    def _choose(
        self,
        access: scoped.AccessOperation,
        before: scoped.FenceOp | None,
        after: scoped.FenceOp | None,
    ) -> None:
        """Fold of two fences those that make it cheapest, if any."""
        old = access.ordering
        try:
            first, last = self._instructions(before), self._instructions(after)
            self._instructions(access)
        except UnsupportedError:
            return  # What the target lacks is for the conversion to say.
        choices: list[tuple[int, OrderingAttr, tuple[scoped.FenceOp, ...]]] = []
        for folded in _FOLDINGS:
            gone = tuple(
                fence
                for fence, fold in zip((before, after), folded, strict=True)
                if fold and fence is not None
            )
            if len(gone) != sum(folded):
                continue
            access.properties["ordering"] = ORDERINGS[_ORDERING[old.data, folded]]
            left = (
                *(() if folded[0] else first),
                *self._instructions(access),
                *(() if folded[1] else last),
            )
            amount = cost_of_sequence(self.mcpu, left).amount
            choices.append((amount, access.ordering, gone))
        _, ordering, gone = min(choices, key=lambda choice: choice[0])
        access.properties["ordering"] = ordering
        for fence in gone:
            Rewriter.erase_op(fence)

    def _instructions(self, op: scoped.ScopedOperation | None) -> tuple[Instruction, ...]:
        if op is None:
            return ()
        return sequence_of(op, bits_of, is_used(op), self._target).instructions

    @cached_property
    def _target(self) -> Target:
        return target_of(self)


def _fences(body: Region) -> Iterator[scoped.FenceOp]:
    for block in body.blocks:
        for op in operations(block):
            if type(op) is scoped.FenceOp and is_plain(op):
                yield op


def _is_one_sided(fence: scoped.FenceOp) -> bool:
    return fence.ordering.data in (Ordering.ACQUIRE, Ordering.RELEASE)


def _neighbours(
    blocks: Sequence[Block], ordering: Ordering
) -> Iterator[tuple[scoped.AccessOperation, scoped.FenceOp]]:
    """The fences of an ordering with the access next to each that it could go into."""
    step, kinds = _NEXT[ordering]
    for block in blocks:
        for op in operations(block):
            if type(op) is not scoped.FenceOp or op.ordering.data is not ordering:
                continue
            access = _next_to(op, step)
            if is_plain(op) and isinstance(access, kinds) and _fits(access, op):
                yield access, op


def _next_to(op: Operation, step: Callable[[Operation], Operation | None]) -> Operation | None:
    """The nearest operation of the block in one direction that has to do with memory."""
    found = step(op)
    while found is not None and is_silent(found):
        found = step(found)
    return found


def _fits(access: scoped.AccessOperation, fence: scoped.FenceOp) -> bool:
    """True if the access alone can order all that the fence orders."""
    whole = access.spaces is None and access.one_as is None and access.volatile is None
    full = access.availability is None or access.availability.data is Availability.FULL
    atomic = access.ordering.data not in (Ordering.WEAK, Ordering.SEQ_CST)
    return atomic and whole and full and rank_of(access) >= rank_of(fence)


_NEXT: dict[
    Ordering,
    tuple[Callable[[Operation], Operation | None], tuple[type[scoped.AccessOperation], ...]],
] = {
    Ordering.ACQUIRE: (attrgetter("prev_op"), (scoped.LoadOp, scoped.AtomicRmwOp)),
    Ordering.RELEASE: (attrgetter("next_op"), (scoped.StoreOp, scoped.AtomicRmwOp)),
}
"""The direction and the possible types of the access of a fence."""
