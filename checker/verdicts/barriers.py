"""Orders by barriers of a CTA or a warp, and by the completion of a thread's own copies.

Source: PTX ISA, bar; barrier; bar.warp.sync; cp.async.wait_group; "Memory Consistency Model",
"Synchronizes-With".
"""

from collections.abc import Iterator

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.expressions import Expressions
from fencewright.checker.verdicts.intervals import (
    Roles,
    candidates,
    full_barriers,
    roles_of,
    shared,
    walks_of,
)
from fencewright.checker.verdicts.model import (
    NO_ORDER,
    Access,
    Agent,
    AllOf,
    Answer,
    AnyOf,
    Assumption,
    Compare,
    Constraint,
    Kernel,
    Order,
    Relation,
    Strength,
    ThreadPair,
)
from fencewright.lowering.vocabulary import Scope

_LIMIT = "the solver came to its limit"
_OWN = (Agent.THREAD, Agent.COPY)
"""Those whose accesses a barrier orders without a fence between proxies."""


def barrier(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Order:
    """The order of two accesses of one CTA that a barrier always separates."""
    if earlier.agent not in _OWN or later.agent not in _OWN:
        return NO_ORDER
    return separated(kernel, earlier, later, pair)


def separated(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Order:
    """The order of two accesses by barriers, whatever performs them: proxies are not looked at."""
    level = Scope.WAVEFRONT if pair.relation is Relation.WARP else Scope.WORKGROUP
    some = tuple(candidates(kernel, level))
    if not some:
        return NO_ORDER
    threads = (pair.earlier, pair.later)
    name = "warp barrier" if level is Scope.WAVEFRONT else "barrier"
    answer = Answer.SATISFIABLE
    for roles in dict.fromkeys((Roles(), roles_of(earlier, later))):
        full = full_barriers(kernel, level, roles)
        together = shared(kernel, earlier, later, full, roles, threads)
        answer = _answer(pair, together)
        if answer is Answer.UNSATISFIABLE:
            return Order(Strength.PROVED, name, assumptions=_assumptions(kernel, full))
    if answer is Answer.UNKNOWN:
        return Order(Strength.UNKNOWN, name, _LIMIT, is_limit=True)
    # A barrier that only some threads reach, or that some only arrive at, may still order them.
    every = frozenset(each.instruction for each in kernel.barriers)
    together = shared(kernel, earlier, later, every, Roles(), threads)
    answer = _answer(pair, together)
    if answer is Answer.UNKNOWN:
        return Order(Strength.UNKNOWN, name, _LIMIT, is_limit=True)
    if answer is Answer.UNSATISFIABLE:
        number = min(each for each in every if each not in full_barriers(kernel, level))
        line = kernel.line_of(number)
        return Order(Strength.UNKNOWN, name, "threads may not all come to the barrier", line)
    return Order(Strength.ABSENT, name, unless=AnyOf(together))


def completion(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Order:
    """The order of a thread's copy and its own other access: by a wait for the copy between them.

    What comes before the copy in program order is done when it is issued.
    """
    if earlier.agent is not Agent.COPY:
        return NO_ORDER
    together = [*meanwhile(kernel, earlier, later, (pair.earlier, pair.later))]
    if later.agent is Agent.COPY:
        together += meanwhile(kernel, later, earlier, (pair.later, pair.earlier))
    answer = _answer(pair, tuple(together))
    if answer is Answer.UNSATISFIABLE:
        return Order(Strength.PROVED, "completion of copies")
    if answer is Answer.UNKNOWN:
        return Order(Strength.UNKNOWN, "completion of copies", _LIMIT, is_limit=True)
    return Order(
        Strength.BROKEN,
        "completion of copies",
        "the copy is not waited for",
        later.line,
        unless=AnyOf(tuple(together)),
        finding=Rule.ASYNC_UNWAITED,
    )


def meanwhile(
    kernel: Kernel, copy: Access, other: Access, threads: tuple[int, int]
) -> Iterator[Constraint]:
    """The relation of iterations in which a thread comes to an access while its copy is pending."""
    heads = {loop.head for loop in kernel.loops_of(copy.instruction)}
    for number, state in walks_of(kernel, frozenset(), Roles()).pending(copy).met:
        if number != other.instruction:
            continue
        same: list[Constraint] = []
        for head, count in state:
            if count.is_fresh or count.times is None or head not in heads:
                continue
            iteration = kernel.loops[head].iteration
            e = Expressions(kernel.table)
            times = e.constant(count.times, iteration.bits)
            after = e.apply("add", (iteration, times), iteration.bits)
            same.append(Compare("eq", after, threads[0], iteration, threads[1]))
        yield AllOf(tuple(same))


def _answer(pair: ThreadPair, together: tuple[Constraint, ...]) -> Answer:
    """SATISFIABLE where a conflict may happen in one of some intervals."""
    if not together:
        return Answer.UNSATISFIABLE
    if any(isinstance(each, AllOf) and not each.constraints for each in together):
        return Answer.SATISFIABLE  # In every iteration, and that the conflict happens is known.
    return pair.satisfiable(AnyOf(together))


def _assumptions(kernel: Kernel, full: frozenset[int]) -> frozenset[Assumption]:
    counted = any(
        each.instruction in full and (each.count is not None or each.name is not None)
        for each in kernel.barriers
    )
    return frozenset({Assumption.NAMED_BARRIERS}) if counted else frozenset()
