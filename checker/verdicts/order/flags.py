"""Orders by flags: a strong write after an access, and a strong read that sees it before the other.

The thread at the later access has found a condition true of the value of a read. Of all writes to
its place, those whose value satisfies the condition have to come after the earlier access; the
value 0 of the start must not satisfy it. Source: PTX ISA, "Release and Acquire Patterns".
"""

from collections.abc import Iterator
from dataclasses import replace

from fencewright.checker.verdicts.expressions import number_of
from fencewright.checker.verdicts.iterations import executed
from fencewright.checker.verdicts.model import (
    UNGROUPED,
    Access,
    Agent,
    AllOf,
    Answer,
    AnyOf,
    Assumption,
    Compare,
    Constraint,
    Holds,
    Kernel,
    Not,
    Overlap,
    Region,
    ThreadPair,
    Together,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.guards import (
    Fresh,
    Guard,
    after,
    fence_after_barriers,
    fence_before_barriers,
    fence_between,
    follows,
    passes_proxy_fence,
)
from fencewright.checker.verdicts.order.lemmas import (
    Half,
    Lemma,
    Payload,
    Signal,
    VendorLemma,
    holds,
)
from fencewright.lowering.vocabulary import Ordering, Scope

_WRITER, _READER = 800, 801
"""The numbers of threads of which a conflict knows nothing."""
_KNOWN = ("", "exch", "cas")
"""Updates whose new value is their operand."""


def claims(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair, guard: Guard, fresh: Fresh
) -> Iterator[Claim]:
    """The orders by a guard of the later access; ``fresh``: numbers, one for that which
    signals."""
    if earlier.agent in UNGROUPED:
        return
    writer = next(fresh)
    reads = [_read(kernel, number) for number, _ in guard.members]
    if any(read is None for read in reads):
        return
    for met in (False, True):
        cases: list[Constraint] = []
        possible: list[Constraint] = []
        lemmas: dict[Lemma | VendorLemma, None] = {}
        for read, (_, literal) in zip(reads, guard.members, strict=True):
            if read is None or read.result is None or literal is None:
                return
            zero = kernel.table.constant(0, read.result.bits)
            start = Compare("eq", read.result, guard.thread, zero, guard.thread)
            wrong: list[Constraint] = [start]
            for write in writes_of(kernel, read):
                seen = _seen(kernel, read, guard.thread, write, writer)
                possible.append(AllOf((Holds(literal, guard.thread), *seen)))
                order: Constraint = AnyOf(())
                if met or kernel.may_reach(earlier.instruction, write.instruction):
                    number = write.instruction
                    order = follows(kernel, earlier, pair.earlier, number, writer, met=met)
                wrong.append(AllOf((*seen, Not(order))))
                if order == AnyOf(()):
                    continue
                released, acquired = (earlier, write), (read, later)
                lemma = lemma_of(kernel, released, acquired, pair, guard, met=met)
                # A write that is never the one that was seen needs to release nothing.
                case = (*guard.constraints, Holds(literal, guard.thread), *seen, order)
                if holds(lemma) or pair.satisfiable(*case) is not Answer.UNSATISFIABLE:
                    lemmas.setdefault(lemma)
            cases.append(AllOf((Holds(literal, guard.thread), AnyOf(tuple(wrong)))))
        if lemmas:
            yield Claim(
                "flag",
                guard.unless(AnyOf(tuple(cases))),
                tuple(lemmas),
                kernel.line_of(guard.members[0][0]),
                frozenset({Assumption.FLAGS_ZERO}),
                possible=AllOf((*guard.constraints, AnyOf(tuple(possible)))),
            )


def _read(kernel: Kernel, number: int) -> Access | None:
    """The strong read that an instruction is, of a known place."""
    for access in kernel.accesses_at.get(number, ()):
        if access.reads and access.is_strong and access.result is not None:
            known = (
                access.place.offset is not None and access.place.root.region is not Region.UNKNOWN
            )
            return access if known else None
    return None


def writes_of(kernel: Kernel, read: Access) -> list[Access]:
    """All accesses that may change what is read.

    An update that keeps the value hands on what was written before it, to all of its scope.
    """
    return [
        each
        for each in kernel.accesses
        if each.writes
        and not keeps_value(each)
        and (each.place.root == read.place.root or each.place.root.region is Region.UNKNOWN)
    ]


def keeps_value(access: Access) -> bool:
    """True of an update that changes nothing, for all CTAs: a compare-and-swap of equal values, an
    addition of 0. Source: PTX ISA, "Observation order": morally strong updates continue a release
    pattern."""
    value = access.value
    is_same = access.update == "cas" and access.compared is value is not None
    is_same |= access.update in _KEEP_BY_ZERO and value is not None and number_of(value) == 0
    return is_same and access.scope is not None and access.scope.includes(Scope.AGENT)


_KEEP_BY_ZERO = ("add", "or", "xor")


def writes_to(kernel: Kernel, pair: ThreadPair, word: Access) -> Iterator[Access]:
    """The accesses that may write a word, of whichever threads."""
    for write in writes_of(kernel, word):
        meets = Overlap(write, _WRITER, word, _READER)
        if write is word or pair.satisfiable(meets) is not Answer.UNSATISFIABLE:
            yield write


def _seen(
    kernel: Kernel, read: Access, thread: int, write: Access, writer: int
) -> tuple[Constraint, ...]:
    """The constraints under which a read returns another thread's write."""
    is_itself = Together(thread, writer, None)
    too_late = Not(AllOf((is_itself, _not_before(kernel, read, thread, write, writer))))
    constraints: list[Constraint] = [*executed(kernel, write, writer), too_late]
    if write.place.root == read.place.root:
        constraints.append(Overlap(read, thread, write, writer))
    value, result = write.value, read.result
    if value is not None and result is not None and write.update in _KNOWN:
        if value.bits == result.bits and write.size == read.size:
            constraints.append(Compare("eq", value, writer, result, thread))
    return tuple(constraints)


def _not_before(
    kernel: Kernel, read: Access, thread: int, write: Access, writer: int
) -> Constraint:
    """A thread's write comes after its own read, or is of the same execution of one update."""
    later = after(kernel, read.instruction, thread, write.instruction, writer)
    if read.instruction != write.instruction:
        return later
    iterations = [loop.iteration for loop in kernel.loops_of(read.instruction)]
    return AnyOf((later, AllOf(tuple(Compare("eq", i, thread, i, writer) for i in iterations))))


def lemma_of(
    kernel: Kernel,
    released: tuple[Access, Access],
    acquired: tuple[Access, Access],
    pair: ThreadPair,
    guard: Guard,
    *,
    met: bool,
) -> Lemma | VendorLemma:
    """The litmus test of an access before a flag's write, and the flag's read before an access."""
    if kernel.handing is not None:
        return kernel.handing(kernel, released, acquired, pair, guard, met=met)
    (earlier, write), (read, later) = released, acquired
    before, after = _sequential(kernel, released, acquired, met=met, is_met=guard.is_met)
    seen = acquire_half(kernel, read, guard, earlier, later)
    return Lemma(
        pair.relation,
        Payload.of(earlier),
        Half(
            signal_of(write),
            release_fence(kernel, earlier, write.instruction, met),
            met,
            passes_proxy_fence(
                kernel,
                earlier.instruction,
                write.instruction,
                (earlier.place, later.place),
                () if met else earlier.conditions,
            ),
            sequential=before,
        ),
        replace(seen, sequential=after),
        Payload.of(later),
    )


def _sequential(
    kernel: Kernel,
    released: tuple[Access, Access],
    acquired: tuple[Access, Access],
    *,
    met: bool,
    is_met: bool,
) -> tuple[Scope | None, Scope | None]:
    """The scopes of fence.sc next to two accesses, in their threads, if both have one: of two that
    a signal is between, the one after it is the later one."""
    (earlier, write), (read, later) = released, acquired
    if not earlier.agent is later.agent is Agent.THREAD:
        return None, None
    to, since = write.instruction, read.instruction
    if met:
        before = fence_before_barriers(kernel, earlier, to)
    else:
        before = fence_between(kernel, earlier.instruction, to, (), sequential=True)
    if before is None:
        return None, None
    end = later.instruction
    if is_met:
        after = fence_after_barriers(kernel, read, end, (), sequential=True)
    else:
        after = fence_between(kernel, since, end, (), sequential=True)
    return (None, None) if after is None else (before, after)


def release_fence(kernel: Kernel, earlier: Access, signal: int, met: bool) -> Scope | None:
    """The fence between an access, or the barrier after it, and the instruction that signals."""
    conditions = kernel.conditions(signal)
    if met:
        return fence_after_barriers(kernel, earlier, signal, conditions)
    return fence_between(kernel, earlier.instruction, signal, conditions)


def acquire_half(
    kernel: Kernel, read: Access, guard: Guard, earlier: Access, later: Access
) -> Half:
    """The half of a lemma that sees the signal by a read."""
    conditions = kernel.conditions(guard.end)
    fence = fence_between(kernel, read.instruction, guard.end, conditions, acquires=True)
    own = () if guard.is_met else later.conditions
    proxy = passes_proxy_fence(
        kernel, read.instruction, later.instruction, (earlier.place, later.place), own
    )
    return Half(signal_of(read), fence, guard.is_met, proxy)


def signal_of(access: Access) -> Signal:
    """A flag's access as a lemma has it; a weak one is relaxed of a scope without other threads."""
    ordering = {
        (False, False): Ordering.RELAXED,
        (True, False): Ordering.ACQUIRE,
        (False, True): Ordering.RELEASE,
        (True, True): Ordering.ACQ_REL,
    }[access.acquires, access.releases]
    if not access.is_strong or access.scope is None:
        return Signal(Ordering.WEAK, Scope.WORKGROUP, access.update)
    return Signal(ordering, access.scope, access.update)
