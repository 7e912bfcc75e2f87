"""Orders by barriers of a CTA or a warp, and by the completion of a thread's own copies.

Source: PTX ISA, bar; barrier; bar.warp.sync; cp.async.wait_group; "Memory Consistency Model",
"Synchronizes-With".
"""

from collections.abc import Iterator
from dataclasses import replace

from fencewright.checker.findings.finding import DIVERGENT_BARRIER, Rule
from fencewright.checker.verdicts.expressions import Expressions, leaves
from fencewright.checker.verdicts.intervals import (
    Path,
    Roles,
    Walks,
    candidates,
    counts_all,
    full_barriers,
    is_of_thread,
    is_steady,
    left_behind,
    roles_of,
    shared,
    walks_of,
)
from fencewright.checker.verdicts.model import (
    ASYNCHRONOUS,
    GROUPED,
    NO_ORDER,
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
    Order,
    Region,
    Relation,
    Strength,
    ThreadPair,
)
from fencewright.checker.verdicts.order.lemmas import VendorLemma
from fencewright.checker.verdicts.order.rings import relays_of, waits_of
from fencewright.lowering.code.value import Opaque, Value
from fencewright.lowering.vocabulary import Scope

_LIMIT = "the solver came to its limit"
_NONE = frozenset[int]()

NOT_AT_BARRIER = "is not waited for before the barrier"
NOT_WAITED_FOR = "the copy is not waited for"
_CONDITION = "a wait under a condition, or at an mbarrier, may be for the copy"

_TOO_FEW = "more threads come to the barrier than it counts"


def barrier(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Order:
    """The order of two accesses of one CTA that a barrier always separates."""
    if {earlier.agent, later.agent} & ASYNCHRONOUS:
        return NO_ORDER
    order = separated(kernel, earlier, later, pair)
    if order.strength is Strength.PROVED and kernel.meeting is not None:
        # That a barrier separates them says nothing of which comes first: both have to be in order.
        for one, other in ((earlier, later), (later, earlier)):
            lemma: VendorLemma | None = kernel.meeting(kernel, one, other)
            if lemma is not None and not lemma.holds():
                reason, finding = lemma.reason(), lemma.finding
                return replace(order, strength=Strength.BROKEN, reason=reason, finding=finding)
    if order.strength is Strength.ABSENT and (earlier.queue or later.queue):
        return _unwaited(kernel, earlier, later, pair, order)
    return order


def _unwaited(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair, order: Order
) -> Order:
    """An order that is absent, by the missing operation: a barrier, or a wait before it."""
    first, second = (replace(each, queue="", agent=Agent.THREAD) for each in (earlier, later))
    if separated(kernel, first, second, pair).strength is not Strength.PROVED:
        return replace(order, finding=Rule.MISSING_BARRIER)
    is_first = separated(kernel, first, later, pair).strength is Strength.PROVED
    pending = earlier if is_first or not later.queue else later
    finding = Rule.LDS_DMA_BARRIER if pending.agent is Agent.COPY else Rule.LDS_BARRIER
    if pending.place.root.region is not Region.SHARED:
        finding = Rule.UNORDERED_SIGNAL
    reason = f"line {pending.line} {NOT_AT_BARRIER}"
    return replace(order, reason=reason, finding=finding)


def separated(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Order:
    """The order of two accesses by barriers, in any agents: proxies are not looked at."""
    level = Scope.WAVEFRONT if pair.relation is Relation.WARP else Scope.WORKGROUP
    met, unsure = _masked(kernel, pair) if level is Scope.WAVEFRONT else _of_one_name(kernel, pair)
    if not met | unsure and not any(candidates(kernel, level)):
        return NO_ORDER
    threads = (pair.earlier, pair.later)
    is_one_cta = pair.relation in (Relation.THREAD, Relation.WARP, Relation.CTA)
    name = "warp barrier" if level is Scope.WAVEFRONT else "barrier"
    answer, missed = Answer.SATISFIABLE, set[int]()
    for roles in dict.fromkeys((Roles(), roles_of(earlier, later))):
        full = full_barriers(kernel, level, roles, met)
        together = shared(kernel, earlier, later, full, roles, threads, is_one_cta=is_one_cta)
        answer = _answer(pair, together)
        if answer is Answer.UNSATISFIABLE:
            missed = missed_barriers(kernel, earlier, later, pair, walks_of(kernel, full, roles))
            if not missed:
                return Order(Strength.PROVED, name, assumptions=named(kernel, full))
    if missed:
        return Order(Strength.UNKNOWN, name, DIVERGENT_BARRIER, kernel.line_of(min(missed)))
    if answer is Answer.UNKNOWN:
        return Order(Strength.UNKNOWN, name, _LIMIT, is_limit=True)
    # A barrier that only some threads reach, or that some only arrive at, may still order them.
    every = met | unsure | {each.instruction for each in kernel.barriers if each.mask is None}
    together = shared(kernel, earlier, later, every, Roles(), threads, is_one_cta=is_one_cta)
    answer = _answer(pair, together)
    if answer is Answer.UNKNOWN:
        return Order(Strength.UNKNOWN, name, _LIMIT, is_limit=True)
    if answer is Answer.UNSATISFIABLE:
        number = min(every - full_barriers(kernel, level))
        line = kernel.line_of(number)
        is_counted = counts_all(kernel, kernel.barrier_at[number]) is not False
        reason = DIVERGENT_BARRIER if is_counted else _TOO_FEW
        return Order(Strength.UNKNOWN, name, reason, line)
    sure = shared(
        kernel, earlier, later, every, Roles(), threads, is_one_cta=is_one_cta, is_sure=True
    )
    if len(sure) < len(together) and _answer(pair, sure) is not Answer.SATISFIABLE:
        return Order(Strength.UNKNOWN, name, _CONDITION, later.line)
    return Order(Strength.ABSENT, name, unless=AnyOf(together))


def meetings(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair
) -> Iterator[tuple[frozenset[int], tuple[Constraint, ...]]]:
    """Barriers of the threads of a conflict, each set with the instances that none separates."""
    if pair.relation not in (Relation.WARP, Relation.CTA):
        return
    level = Scope.WAVEFRONT if pair.relation is Relation.WARP else Scope.WORKGROUP
    threads = (pair.earlier, pair.later)
    for roles in dict.fromkeys((Roles(), roles_of(earlier, later))):
        full = full_barriers(kernel, level, roles)
        walks = walks_of(kernel, full, roles)
        if full and not missed_barriers(kernel, earlier, later, pair, walks):
            yield full, shared(kernel, earlier, later, full, roles, threads, is_one_cta=True)


def missed_barriers(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair, walks: Walks
) -> set[int]:
    """The barriers before one of two accesses to which the thread of the other may not have come,
    because it has ended."""
    level = Scope.WAVEFRONT if pair.relation is Relation.WARP else Scope.WORKGROUP
    threads = (pair.earlier, pair.later)
    behind = left_behind(kernel, (earlier, later), walks, level, threads)
    return {each for each, when in behind if _answer(pair, (when,)) is not Answer.UNSATISFIABLE}


def _of_one_name(kernel: Kernel, pair: ThreadPair) -> tuple[frozenset[int], frozenset[int]]:
    """The barriers named by each thread to which the two of a conflict give one name, and those
    of which that is not known."""
    met, unsure = set[int](), set[int]()
    for each in kernel.barriers:
        if each.name is None or not each.waits or not is_of_thread(each):
            continue
        other = Not(Compare("eq", each.name, 0, each.name, 1))
        is_met = is_steady(each.name) and not kernel.guards.get(each.instruction)
        is_met = is_met and counts_all(kernel, each) is not False
        is_met = is_met and pair.satisfiable(other) is Answer.UNSATISFIABLE
        (met if is_met else unsure).add(each.instruction)
    return frozenset(met), frozenset(unsure)


def _masked(kernel: Kernel, pair: ThreadPair) -> tuple[frozenset[int], frozenset[int]]:
    """The barriers of a part of a warp at which the two lanes of a conflict meet if one comes, and
    those of which that is not known: all of them where one is.

    Lanes wait for those of their own mask, wherever these come to it. Source: PTX ISA,
    bar.warp.sync.
    """
    masked = [(each, each.mask) for each in kernel.barriers if each.mask is not None]
    every, met = frozenset(each.instruction for each, _ in masked), set[int]()
    if {"%tid.y", "%tid.z"} & kernel.specials:
        return _NONE, every
    for each, mask in masked:
        if not is_steady(mask) or kernel.guards.get(each.instruction):
            return _NONE, every
        together, apart = kernel.remembered(
            ("of one mask", mask), lambda mask=mask: _of_one_mask(kernel, mask)
        )
        steady = [own for own in each.conditions if is_steady(own.value)]
        comes = AnyOf(tuple(AllOf(tuple(Holds(own, lane) for own in steady)) for lane in (0, 1)))
        if pair.satisfiable(apart, comes) is Answer.UNSATISFIABLE:
            met.add(each.instruction)
        elif pair.satisfiable(together) is not Answer.UNSATISFIABLE:
            return _NONE, every
    return frozenset(met), _NONE


def _of_one_mask(kernel: Kernel, mask: Value) -> tuple[Constraint, Constraint]:
    """Threads 0 and 1 name each other in a mask that they have alike, and the opposite."""
    e = Expressions(kernel.table)
    lane = e.apply("and", (kernel.table.thread("%tid.x", 32), e.constant(kernel.lanes - 1, 32)), 32)
    bit = e.apply("and", (e.apply("lshr", (mask, lane), 32), e.constant(1, 32)), 32)
    zero = e.constant(0, 32)
    named = tuple(Compare("ne", bit, thread, zero, thread) for thread in (0, 1))
    together = AllOf((Compare("eq", mask, 0, mask, 1), *named))
    return together, Not(together)


def completion(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Order:
    """The order of a thread's copy and its own other access: by a wait for the copy between them.

    What comes before the copy in program order is done when it is issued. Of copies by another
    proxy this says only what is not ordered: it takes a fence, too.
    """
    is_counted = earlier.agent is Agent.TRANSACTION
    if earlier.agent not in GROUPED and not is_counted:
        return NO_ORDER
    if pair.relation is Relation.WARP and not kernel.is_lock_step:
        return NO_ORDER
    if earlier.queue == later.queue and earlier.queue in kernel.ordered_queues:
        return Order(Strength.PROVED, "completion of copies")
    rounds = [*_rounds(kernel, earlier, later, (pair.earlier, pair.later))]
    if later.agent in GROUPED or later.queue:
        rounds += _rounds(kernel, later, earlier, (pair.later, pair.earlier))
    together = tuple(each for each, doubt in rounds if not doubt)
    if is_counted and _answer(pair, together) is not Answer.SATISFIABLE:
        return NO_ORDER  # Which phase a wait is for is a question of its own.
    answer = _answer(pair, tuple(each for each, _ in rounds))
    if answer is Answer.UNSATISFIABLE:
        if {earlier.agent, later.agent} & ASYNCHRONOUS:
            return NO_ORDER
        return Order(Strength.PROVED, "completion of copies")
    if answer is Answer.UNKNOWN:
        return Order(Strength.UNKNOWN, "completion of copies", _LIMIT, is_limit=True)
    if _answer(pair, together) is not Answer.SATISFIABLE:
        reason = min(doubt for _, doubt in rounds if doubt)
        return Order(Strength.UNKNOWN, "completion of copies", reason, later.line)
    return Order(
        Strength.BROKEN,
        "completion of copies",
        NOT_WAITED_FOR,
        later.line,
        unless=AnyOf(together),
        finding=Rule.LDS_DMA if earlier.queue else Rule.ASYNC_UNWAITED,
    )


def meanwhile(
    kernel: Kernel, copy: Access, other: Access, threads: tuple[int, int]
) -> Iterator[Constraint]:
    """The relation of iterations in which a thread comes to an access while its copy is pending."""
    return (each for each, _ in _rounds(kernel, copy, other, threads))


def _rounds(
    kernel: Kernel, copy: Access, other: Access, threads: tuple[int, int]
) -> Iterator[tuple[Constraint, str]]:
    """As ``meanwhile``, each with the doubt that more is to be known; "" if that is all."""
    around = kernel.loops_of(copy.instruction)
    heads = {loop.head for loop in around}
    e = Expressions(kernel.table)
    # Before a place is filled again others, who have waited for the copy, may say that it is free.
    is_refill = {copy.agent, other.agent} == {Agent.TRANSACTION}
    waits = waits_of(kernel, None if is_refill else copy)
    if copy.agent is Agent.TRANSACTION:
        waits |= relays_of(kernel, waits)
    pending = walks_of(kernel, frozenset(), Roles()).pending(copy, waits)
    ends = waits.union(number for number, _ in pending.ends)
    may_end = any(kernel.may_reach(number, other.instruction) for number in ends)
    for number, state, path in pending.met:
        if number != other.instruction:
            continue
        same: list[Constraint] = []
        doubt = ""
        if may_end:
            same += (*path.taken(threads[0]), *path.taken_later(threads[1]))
            is_left = path.later and kernel.loops_of(number) != around
            doubt = _CONDITION if is_left or not _is_known(path) else ""
        for head, count in state:
            iteration = kernel.loops[head].iteration
            if count.is_fresh:
                # Of a loop that was entered since: its first iteration, or a later one.
                zero = e.constant(0, iteration.bits)
                operation = "ne" if count.times else "eq"
                same.append(Compare(operation, iteration, threads[1], zero, threads[1]))
            elif count.times is None or head not in heads:
                doubt = "the copies of more than two rounds may be pending"
            else:
                times = e.constant(count.times, iteration.bits)
                after = e.apply("add", (iteration, times), iteration.bits)
                same.append(Compare("eq", after, threads[0], iteration, threads[1]))
        yield AllOf(tuple(same)), doubt


def _is_known(path: Path) -> bool:
    """True of a path by conditions on values that threads, or memory, have given."""
    values = (each.value for each in path.issued | path.later)
    return path.is_whole and not any(isinstance(leaf, Opaque) for leaf in leaves(values))


def completed(kernel: Kernel, access: Access) -> Access | None:
    """An access at the instruction where its issuer knows that it is done: its own, or one wait.

    None where paths lead to several waits, to one of a later iteration, or to an end without.
    """
    if access.agent not in GROUPED:
        return access
    ends = walks_of(kernel, frozenset(), Roles()).pending(access).ends
    if len(ends) != 1:
        return None
    ((wait, state),) = ends
    is_of_iteration = all(not count.is_fresh and count.times == 0 for _, count in state)
    if wait not in kernel.group_at or not is_of_iteration:
        return None
    if kernel.loops_of(wait) != kernel.loops_of(access.instruction):
        return None
    return replace(access, instruction=wait, is_done=True)


def _answer(pair: ThreadPair, together: tuple[Constraint, ...]) -> Answer:
    """SATISFIABLE where a conflict may happen in one of some intervals."""
    if not together:
        return Answer.UNSATISFIABLE
    if any(isinstance(each, AllOf) and not each.constraints for each in together):
        return Answer.SATISFIABLE  # In every iteration, and that the conflict happens is known.
    return pair.satisfiable(AnyOf(together))


def named(kernel: Kernel, full: frozenset[int]) -> frozenset[Assumption]:
    """The assumption about barriers that have names or counts, if some are among full ones."""
    of_some = {
        each.instruction
        for each in kernel.barriers
        if (each.count or each.name) and not counts_all(kernel, each)
    }
    return frozenset() if of_some.isdisjoint(full) else frozenset({Assumption.NAMED_BARRIERS})
