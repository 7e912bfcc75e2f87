"""Orders by locks: two accesses that are only executed by whoever holds one and the same lock.

A lock is a word that is 0 while nobody holds it: it is taken by an exchange that finds 0, and given
back by a write of 0 that only a holder executes. Whoever takes it next sees that write, whatever
the values are. Source: PTX ISA, "Release and Acquire Patterns"; atom.
"""

from collections.abc import Iterator

from fencewright.checker.verdicts.expressions import number_of
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    Answer,
    Assumption,
    Compare,
    Holds,
    Kernel,
    Not,
    Overlap,
    ThreadPair,
)
from fencewright.checker.verdicts.order.claims import Claim
from fencewright.checker.verdicts.order.flags import lemma_of, writes_of
from fencewright.checker.verdicts.order.guards import Guard, guards_of

_ANYONE = 900
"""The number of a thread of which a conflict knows nothing."""


def claims(
    kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair, guard: Guard, writer: int
) -> Iterator[Claim]:
    """The order by a lock that a guard of the later access has taken, and one of the earlier access
    too."""
    if earlier.agent is not Agent.THREAD or later.agent is not Agent.THREAD:
        return
    taken = _taken(kernel, pair, guard)
    if taken is None or not _is_lock(kernel, pair, taken):
        return
    for other in guards_of(kernel, earlier, pair.earlier, writer):
        held = _taken(kernel, pair, other)
        if held is None or held.place.root != taken.place.root:
            continue
        one = _given_back(kernel, earlier, held)
        two = _given_back(kernel, later, taken)
        if not one or not two:
            continue
        lemmas = [
            *(
                lemma_of(kernel, (earlier, each), (taken, later), pair, guard, met=False)
                for each in one
            ),
            *(
                lemma_of(kernel, (later, each), (held, earlier), pair, other, met=False)
                for each in two
            ),
        ]
        differs = Not(Overlap(held, pair.earlier, taken, pair.later))
        assumptions = frozenset({Assumption.FLAGS_ZERO})
        yield Claim("lock", differs, tuple(lemmas), taken.line, assumptions)


def _taken(kernel: Kernel, pair: ThreadPair, guard: Guard) -> Access | None:
    """The exchange by which a guard's own thread has taken a lock."""
    if guard.is_met or len(guard.members) != 1:
        return None
    ((number, literal),) = guard.members
    for access in kernel.accesses_at.get(number, ()):
        if not _takes(access) or access.result is None or literal is None:
            continue
        zero = kernel.table.constant(0, access.result.bits)
        is_zero = Compare("eq", access.result, guard.thread, zero, guard.thread)
        held = pair.satisfiable(Holds(literal, guard.thread), Not(is_zero))
        return access if held is Answer.UNSATISFIABLE else None
    return None


def _takes(access: Access) -> bool:
    """True of an exchange that leaves another value than 0, and of ``cas`` finds 0."""
    if access.update not in ("cas", "exch") or access.value is None:
        return False
    if access.update == "cas" and (access.compared is None or number_of(access.compared) != 0):
        return False
    return bool(number_of(access.value))


def _gives_back(access: Access) -> bool:
    return (
        access.update in ("", "exch") and access.value is not None and number_of(access.value) == 0
    )


def _is_lock(kernel: Kernel, pair: ThreadPair, taken: Access) -> bool:
    """True of a word that is written by those who take it, and by holders who give it back,
    alone."""
    for write in writes_of(kernel, taken):
        if write.place.root != taken.place.root:
            return False
        if _takes(write):
            continue
        if not _gives_back(write):
            return False
        if not any(
            _taken(kernel, pair, each) for each in guards_of(kernel, write, _ANYONE, _ANYONE + 1)
        ):
            return False
    return True


def _given_back(kernel: Kernel, access: Access, taken: Access) -> list[Access]:
    """The writes one of which every path from an access comes to, and none before it; [] if not all
    do."""
    same = {
        each.instruction: each
        for each in writes_of(kernel, taken)
        if _gives_back(each) and each.place == taken.place
    }
    if not kernel.all_paths_pass(access.instruction, None, same.__contains__):
        return []
    again = all(
        kernel.all_paths_pass(each, access.instruction, lambda number: number == taken.instruction)
        for each in same
    )
    reached = [each for n, each in same.items() if kernel.may_reach(access.instruction, n)]
    return reached if again else []
