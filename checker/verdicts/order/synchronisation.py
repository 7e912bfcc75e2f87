"""The order relation of a conflict: all claims that its guards give, in both directions."""

from collections.abc import Callable, Iterator
from itertools import count

from fencewright.checker.verdicts.barriers import completed
from fencewright.checker.verdicts.model import (
    NO_ORDER,
    Access,
    AnyOf,
    Kernel,
    Order,
    ThreadPair,
)
from fencewright.checker.verdicts.order import (
    clusters,
    counters,
    flags,
    grids,
    locks,
    mbarriers,
    proxies,
)
from fencewright.checker.verdicts.order.claims import Claim, decided
from fencewright.checker.verdicts.order.guards import Guard, guards_of

_Rule = Callable[[Kernel, Access, Access, ThreadPair, Guard, int], Iterator[Claim]]

_BY_GUARDS: tuple[_Rule, ...] = (
    flags.claims,
    mbarriers.claims,
    counters.claims,
    locks.claims,
)
"""The rules that a guard of the later access may satisfy."""
_MET = 2
"""The number of a thread that a guard has met."""


def synchronised(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Order:
    """The order of a conflict by signals: in whichever direction, and by several where one is not
    enough."""
    if pair.earlier != 0:
        return NO_ORDER  # Both directions are looked at with the first.
    claims = [*_claims(kernel, earlier, later, pair)]
    if any(each.wrong for each in claims):
        for access, thread in ((later, pair.later), (earlier, pair.earlier)):
            guards = [*guards_of(kernel, access, thread, _MET)]
            claims += mbarriers.passed_by(kernel, access, guards)
    return decided(kernel, claims, pair)


def _claims(kernel: Kernel, first: Access, second: Access, pair: ThreadPair) -> Iterator[Claim]:
    threads = count(2)
    yield from grids.claims(kernel, first, second, pair)
    grid = grids.polled(kernel, pair)
    turned = ThreadPair(pair.relation, pair.constraints, pair.solver, earlier=1, later=0)
    for earlier, later, own in ((first, second, pair), (second, first, turned)):
        yield from proxies.claims(kernel, earlier, later, own)
        done = completed(kernel, earlier)
        if done is None:
            if kernel.sync_groups or kernel.mbarriers:
                reason = "a copy that not one wait is for"
                yield Claim("completion of copies", AnyOf(()), (), earlier.line, doubt=reason)
            continue
        yield from clusters.claims(kernel, done, later, own)
        for guard in guards_of(kernel, later, own.later, next(threads)):
            if grid.issuperset(number for number, _ in guard.members):
                continue
            for rule in _BY_GUARDS:
                yield from rule(kernel, done, later, own, guard, next(threads))
