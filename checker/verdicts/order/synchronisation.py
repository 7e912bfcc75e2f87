"""The order relation of a conflict: all claims that its guards give, in both directions."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.barriers import completed, meetings, named
from fencewright.checker.verdicts.model import (
    ASYNCHRONOUS,
    NO_ORDER,
    Access,
    Agent,
    AllOf,
    Answer,
    AnyOf,
    Kernel,
    Order,
    Strength,
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
from fencewright.checker.verdicts.order.guards import Fresh, Guard, guards_of
from fencewright.checker.verdicts.order.rings import unawaited

_Rule = Callable[[Kernel, Access, Access, ThreadPair, Guard, Fresh], Iterator[Claim]]

_BY_GUARDS: tuple[_Rule, ...] = (
    flags.claims,
    mbarriers.claims,
    counters.claims,
    locks.claims,
)
"""The rules that a guard of the later access may satisfy."""


def synchronised(kernel: Kernel, earlier: Access, later: Access, pair: ThreadPair) -> Order:
    """The order of a conflict by signals: in whichever direction, and by several where one is not
    enough."""
    if pair.earlier != 0:
        return NO_ORDER  # Both directions are looked at with the first.
    lonely = _unawaited(kernel, earlier, later, pair)
    if lonely is not None:
        return lonely
    claims = [*_claims(kernel, earlier, later, pair)]
    if claims and kernel.meeting is None and not {earlier.agent, later.agent} & ASYNCHRONOUS:
        for full, together in meetings(kernel, earlier, later, pair):
            known = named(kernel, full)
            claims.append(Claim("barrier", AnyOf(together), (), later.line, known, is_exact=True))
    if any(each.wrong for each in claims):
        for access, thread in ((later, pair.later), (earlier, pair.earlier)):
            guards = [*guards_of(kernel, access, thread, count(2))]
            claims += mbarriers.passed_by(kernel, access, guards)
    return decided(kernel, claims, pair)


def _unawaited(kernel: Kernel, first: Access, second: Access, pair: ThreadPair) -> Order | None:
    """The broken order of a copy at an mbarrier that nobody waits at, and an access that does not
    come before it; None of others."""
    for copy, other, thread in ((first, second, pair.earlier), (second, first, pair.later)):
        if copy.agent is not Agent.TRANSACTION or other.agent is Agent.TRANSACTION:
            continue
        which = unawaited(kernel, copy, thread)
        own = replace(pair, constraints=(*pair.constraints, *([which] if which else ())))
        if which is None or own.satisfiable() is not Answer.SATISFIABLE:
            continue
        claims = _claims(kernel, first, second, own, without=copy)
        nothing = Claim(
            "mbarrier",
            AllOf(()),
            (),
            copy.line,
            wrong="no wait is at the mbarrier of the copy",
            finding=Rule.ASYNC_UNWAITED,
        )
        order = decided(kernel, (nothing, *claims), own)
        if order.strength is Strength.BROKEN:
            unless = (which,) if order.unless is None else (which, order.unless)
            return replace(order, unless=AllOf(unless))
    return None


def _claims(
    kernel: Kernel,
    first: Access,
    second: Access,
    pair: ThreadPair,
    without: Access | None = None,
) -> Iterator[Claim]:
    """The claims in both directions; ``without``: an access that is never the earlier one."""
    threads = count(2)
    yield from grids.claims(kernel, first, second, pair)
    grid = grids.polled(kernel, pair)
    turned = ThreadPair(pair.relation, pair.constraints, pair.solver, earlier=1, later=0)
    for earlier, later, own in ((first, second, pair), (second, first, turned)):
        if earlier is without:
            continue
        yield from proxies.claims(kernel, earlier, later, own)
        done = completed(kernel, earlier)
        if done is None:
            if kernel.sync_groups or kernel.mbarriers:
                reason = "a copy that not one wait is for"
                yield Claim("completion of copies", AnyOf(()), (), earlier.line, doubt=reason)
            continue
        yield from clusters.claims(kernel, done, later, own)
        for guard in guards_of(kernel, later, own.later, threads):
            if grid.issuperset(number for number, _ in guard.members):
                continue
            for rule in _BY_GUARDS:
                yield from rule(kernel, done, later, own, guard, threads)
