"""Halves of protocols: signals that another kernel waits for, waits for another kernel's signals.

Such a kernel is not judged, for its partner is not known. But a half that orders nothing, even
beside the strongest partner that there is, is wrong in every program: that is a lemma like those of
whole protocols. Where a kernel both signals and waits, what it reads after the wait may be its own
input, as after a barrier at its start, so that its waits are not sure. Source: PTX ISA, "Release
and Acquire Patterns".
"""

from collections.abc import Iterator, Sequence
from itertools import count

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.barriers import NOT_WAITED_FOR
from fencewright.checker.verdicts.expressions import leaves, number_of
from fencewright.checker.verdicts.intervals import Roles, walks_of
from fencewright.checker.verdicts.model import (
    ASYNCHRONOUS,
    Access,
    Agent,
    AnyOf,
    Kernel,
    Loop,
    OneSide,
    Region,
    Relation,
)
from fencewright.checker.verdicts.order.claims import finding_of
from fencewright.checker.verdicts.order.flags import acquire_half, release_fence, signal_of
from fencewright.checker.verdicts.order.guards import guards_of
from fencewright.checker.verdicts.order.lemmas import (
    Half,
    Lemma,
    Payload,
    Signal,
    counterexample,
    holds,
)
from fencewright.lowering.code.value import Iteration, Opaque, Result, Value
from fencewright.lowering.vocabulary import Ordering, Scope

_RELEASES = Half(Signal(Ordering.RELEASE, Scope.SYSTEM), Scope.SYSTEM)
_ACQUIRES = Half(Signal(Ordering.ACQUIRE, Scope.SYSTEM), Scope.SYSTEM)
"""The strongest partners."""
_OPEN = (Region.PARAMETER, Region.POINTER, Region.GLOBAL)
"""Objects that another kernel may access."""


def halves(kernel: Kernel, *, is_decided: bool) -> Iterator[OneSide]:
    """The halves of a kernel that order nothing, each with the access that it should order.

    ``is_decided``: the verdict is one on every pair of the kernel's own accesses.
    """
    if kernel.halves is not None:
        yield from kernel.halves(kernel, is_decided=is_decided)
        return
    yield from _spins(kernel)
    yield from _signals(kernel)
    yield from _early_signals(kernel)
    yield from _waits(kernel)
    yield from _stale_reads(kernel)


def _waits(kernel: Kernel) -> Iterator[OneSide]:
    """Waits for flags that the kernel never writes, of each the first read that it should order."""
    if not any(each.reads and each.is_strong for each in kernel.accesses):
        return
    writes = [each for each in kernel.accesses if each.writes]
    signals = any(each.is_strong for each in writes)
    seen: set[int] = set()
    for later in kernel.accesses:
        if not later.reads or not (_is_payload(later) or _is_copied(later)):
            continue
        broken = _broken_wait(kernel, later, writes)
        if broken is not None and broken[0].instruction not in seen:
            seen.add(broken[0].instruction)
            # A copy lacks the fence whatever it reads, if others have written that at all.
            is_sure = not signals or _is_copied(later)
            yield _side(broken[0], later, broken[1], is_sure=is_sure)


def _broken_wait(
    kernel: Kernel, later: Access, writes: Sequence[Access]
) -> tuple[Access, Lemma] | None:
    """The first wait for a flag before a read, which it does not order.

    None where one does, or is for what the kernel itself may write.
    """
    broken: tuple[Access, Lemma] | None = None
    for guard in guards_of(kernel, later, 0, count(2)):
        for number, _ in guard.members:
            read = _polled(kernel, number, later)
            if read is None:
                continue
            half = acquire_half(kernel, read, guard, later, later)
            lemma = Lemma(Relation.GRID, Payload(True), _RELEASES, half, Payload.of(later))
            if holds(lemma) or any(_may_be_one(read, each) for each in writes):
                return None
            broken = broken or (read, lemma)
    return broken


def _stale_reads(kernel: Kernel) -> Iterator[OneSide]:
    """Read-only reads of data that others have written according to a wait before the read.

    Source: PTX ISA, ld.global.nc.
    """
    writes = [each for each in kernel.accesses if each.writes]
    for later in kernel.accesses:
        if later.is_coherent or later.place.root.region not in _OPEN:
            continue
        # The reads of a loop's next iteration may be read-only.
        own = [each for each in guards_of(kernel, later, 0, count(2)) if each.unknown == AnyOf(())]
        for guard, (number, _) in ((each, member) for each in own for member in each.members):
            read = _polled(kernel, number, later)
            if read is None or any(_may_be_one(read, each) for each in writes):
                continue
            half = acquire_half(kernel, read, guard, later, later)
            if holds(Lemma(Relation.GRID, Payload(True), _RELEASES, half, Payload(False))):
                missing = "a load as read-only need not see what is written meanwhile"
                yield OneSide(read, later, missing, Rule.READ_ONLY, is_sure=True)
                break


def _polled(kernel: Kernel, number: int, later: Access) -> Access | None:
    """The strong read that an instruction is, where a loop without ``later`` repeats it."""
    if all(later.instruction in _instructions(kernel, each) for each in kernel.loops_of(number)):
        return None
    for access in kernel.accesses_at.get(number, ()):
        is_flag = access.reads and access.is_strong and access.place.root.region in _OPEN
        if is_flag and access.result is not None and access.result not in _used(kernel):
            return access
    return None


def _used(kernel: Kernel) -> frozenset[Value]:
    """The values from which addresses and stored values are computed: a flag that carries data
    needs no order.

    What is stored to shared memory is used where what is read of it is: threads tell each other by
    it what they have found in a flag.
    """

    def make() -> frozenset[Value]:
        stores = [each for each in kernel.accesses if each.value is not None]
        told = [each for each in stores if each.place.root.region is Region.SHARED]
        values = [each.value for each in stores if each not in told and each.value is not None]
        forms = (each.place.offset for each in kernel.accesses)
        values += [value for form in forms if form is not None for value, _ in form.terms]
        used = leaves(values)
        while True:
            roots = {each.place.root for each in kernel.accesses if each.result in used}
            known = [each.value for each in told if each.place.root in roots and each.value]
            if leaves(known) <= used:
                return frozenset(used)
            used |= leaves(known)

    return kernel.remembered("used", make)


def _signals(kernel: Kernel) -> Iterator[OneSide]:
    """Strong stores to places that the kernel never reads, of each the last write that it should
    order."""
    reads = [each for each in kernel.accesses if each.reads]
    for signal in kernel.accesses:
        is_flag = signal.writes and signal.is_strong and not signal.reads
        if not is_flag or signal.place.root.region not in _OPEN:
            continue
        if any(_may_be_one(signal, each) for each in reads):
            continue
        if signal.value is not None and number_of(signal.value) == 0:
            continue  # A flag that is taken back.
        earlier = [
            each
            for each in kernel.accesses
            if _is_payload(each)
            and each.writes
            and each.place.root != signal.place.root
            and kernel.may_reach(each.instruction, signal.instruction)
        ]
        for each in reversed(earlier):
            fence = release_fence(kernel, each, signal.instruction, met=False)
            half = Half(signal_of(signal), fence)
            lemma = Lemma(Relation.GRID, Payload.of(each), half, _ACQUIRES, Payload(False))
            if not holds(lemma):
                yield _side(signal, each, lemma, is_sure=True)
                break


def _early_signals(kernel: Kernel) -> Iterator[OneSide]:
    """Releases that the kernel never reads while a copy of their thread still writes, of each copy
    the first.

    Source: PTX ISA, cp.async.bulk.wait_group.
    """
    reads = [each for each in kernel.accesses if each.reads]
    for copy in kernel.accesses:
        if copy.agent is not Agent.GROUP or not copy.writes or copy.place.root.region not in _OPEN:
            continue
        met = {number for number, *_ in walks_of(kernel, frozenset(), Roles()).pending(copy).met}
        for signal in kernel.accesses:
            if signal.instruction not in met or not signal.writes or signal.scope is None:
                continue
            fence = release_fence(kernel, copy, signal.instruction, met=False)
            releases = signal.releases or (fence is not None and fence.includes(Scope.AGENT))
            is_wide = signal.scope.includes(Scope.AGENT) and signal.place.root.region in _OPEN
            others = [each for each in reads if each is not signal]
            if releases and is_wide and not any(_may_be_one(signal, each) for each in others):
                yield OneSide(signal, copy, NOT_WAITED_FOR, Rule.ASYNC_UNWAITED, is_sure=True)
                break


def _may_be_one(first: Access, second: Access) -> bool:
    """True of two places of one object that constants do not set apart."""
    one, other = first.place, second.place
    return one.root == other.root and not one.is_apart(first.size, other, second.size)


def _is_payload(access: Access) -> bool:
    is_plain = access.agent is Agent.THREAD and not access.is_strong
    return is_plain and access.place.root.region in _OPEN


def _is_copied(access: Access) -> bool:
    """True of memory of all that a copy reads through the async proxy."""
    return access.agent in ASYNCHRONOUS and access.place.root.region in _OPEN


def _side(access: Access, payload: Access, lemma: Lemma, *, is_sure: bool) -> OneSide:
    outcome = counterexample(lemma)
    return OneSide(access, payload, outcome.missing, finding_of(lemma, outcome.missing), is_sure)


def _spins(kernel: Kernel) -> Iterator[OneSide]:
    """Loops that end only once another thread has written the value of their weak read."""
    seen: set[int] = set()
    for loop in kernel.loops.values():
        read = _spun(kernel, loop)
        if read is not None and read.instruction not in seen:
            seen.add(read.instruction)
            missing = "a weak read need not see what others write"
            yield OneSide(read, None, missing, Rule.SPIN, is_sure=True)


def _spun(kernel: Kernel, loop: Loop) -> Access | None:
    own = _instructions(kernel, loop)
    if own & {each.instruction for each in kernel.barriers}:
        return None  # Who is met there may have written.
    exits = [
        (edge, literals)
        for edge, literals in kernel.edge_literals.items()
        if edge[0] in loop.blocks and edge[1] not in loop.blocks
    ]
    leaving = [
        edge
        for block in loop.blocks
        for after in kernel.graph.successors[block]
        if after not in loop.blocks
        for edge in ((block, after),)
    ]
    if not exits or len(exits) != len(leaving):
        return None
    decided = leaves(literal.value for _, literals in exits for literal in literals)
    if any(isinstance(leaf, Iteration) and leaf is loop.iteration for leaf in decided):
        return None
    results = [leaf for leaf in decided if isinstance(leaf, Result) and leaf.instruction in own]
    reads = [each for leaf in results for each in kernel.accesses_at.get(leaf.instruction, ())]
    if not reads or len(reads) != len(results) or len({*reads}) != len(reads):
        return None
    written = {
        each.place.root for each in kernel.accesses if each.writes and each.instruction in own
    }
    is_spin = all(
        not each.is_strong and each.place.root not in written and _is_fixed(each, own)
        for each in reads
    )
    return reads[0] if is_spin else None


def _is_fixed(access: Access, own: frozenset[int]) -> bool:
    """True of a place that is the same in every iteration of a loop: a search changes it, by a
    value that is not known."""
    form = access.place.offset
    return form is not None and not any(
        isinstance(leaf, Iteration | Opaque)
        or (isinstance(leaf, Result) and leaf.instruction in own)
        for leaf in leaves(value for value, _ in form.terms)
    )


def _instructions(kernel: Kernel, loop: Loop) -> frozenset[int]:
    return frozenset(each for block in loop.blocks for each in kernel.instructions[block])
