"""Claims of order, and their joint decision on a conflict.

A rule that recognises a pattern of synchronisation *claims* an order: of all instances of a
conflict but those that satisfy a constraint, and if lemmas hold. One claim may order a round before
the next, another one the next before the first, so that all claims about two accesses decide
together: the conflict is ordered if no instance of it is left.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.model import (
    NO_ORDER,
    NOT_EVERY_ITERATION,
    Agent,
    AllOf,
    Answer,
    Assumption,
    Constraint,
    Kernel,
    Order,
    Relation,
    Strength,
    ThreadPair,
)
from fencewright.checker.verdicts.order.lemmas import (
    Lemma,
    Missing,
    VendorLemma,
    by_execution,
    counterexample,
    holds,
)
from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.vocabulary import Scope


@dataclass(frozen=True, slots=True)
class Claim:
    """An order by ``rule``, of all instances of a conflict but those that satisfy ``unless``.

    ``lemmas``: those that it rests on. ``line``: of the instruction that signals or sees;
    ``signal``: of the one that signals, where ``line`` is of the other.
    ``doubt``: why it is not known whether the claim holds; "" if it is: no more than that is
    ordered. ``is_exact``: its pattern
    orders nothing else, so that instances that satisfy ``unless`` have no order by it.
    ``possible``: that somebody signals what is waited for; else all that is proved is that nobody
    goes on. ``wrong``: the reason why instances that satisfy ``unless`` are unordered, a finding of
    rule ``finding``; such a claim never orders more, also if it is in doubt.
    """

    rule: str
    unless: Constraint
    lemmas: tuple[Lemma | VendorLemma, ...]
    line: int
    assumptions: frozenset[Assumption] = frozenset()
    doubt: str = ""
    is_exact: bool = False
    possible: Constraint | None = None
    wrong: str = ""
    finding: Rule | None = None
    signal: int | None = None

    @property
    def broken(self) -> Lemma | VendorLemma | None:
        """The first lemma that fails."""
        return next((each for each in self.lemmas if not holds(each)), None)

    @property
    def is_note(self) -> bool:
        """True where the lemmas that fail are of reads that execution orders before a write."""
        return all(holds(each) or by_execution(each) for each in self.lemmas)


def decided(kernel: Kernel, claims: Iterable[Claim], pair: ThreadPair) -> Order:
    """The order that claims about one conflict give it."""
    every = [*claims]
    if not every:
        return NO_ORDER
    sure = [each for each in every if not each.doubt]
    proved = [each for each in sure if each.broken is None]
    order = _covered(pair, proved)
    if order is not None:
        return order
    noted = [each for each in sure if each.is_note]
    if len(noted) > len(proved):
        order = _covered(pair, noted)
        if order is not None:
            return order
    rest = [each for each in sure if each not in noted]
    for claim in rest:
        if pair.satisfiable(claim.unless) is Answer.UNSATISFIABLE:
            return _broken(claim)
    if rest and pair.satisfiable(*(each.unless for each in sure)) is Answer.UNSATISFIABLE:
        return _broken(rest[0])
    cause = next((each for each in (*sure, *every) if each.wrong), None)
    if cause is not None and (left := _left(pair, every)) is not None:
        for claim in every:
            if claim.broken and pair.satisfiable(*left, claim.unless) is Answer.UNSATISFIABLE:
                return _broken(claim)  # All is ordered but for its lemma.
        order = Order(Strength.BROKEN, cause.rule, cause.wrong, cause.line, unless=AllOf(left))
        return replace(order, finding=cause.finding)
    if all(each.is_exact for each in every):
        return Order(Strength.ABSENT, unless=AllOf(tuple(each.unless for each in proved)))
    return _unknown(kernel, every)


def _left(pair: ThreadPair, claims: Sequence[Claim]) -> tuple[Constraint, ...] | None:
    """The constraints on instances that are left under any doubt; None if none may be.

    Claims that say what is wrong with them order no more than they claim; others that are in doubt
    may order all.
    """
    if any(each.doubt and not each.wrong for each in claims):
        return None
    left = tuple(each.unless for each in claims if each.broken is None or each.is_note)
    return left if pair.satisfiable(*left) is Answer.SATISFIABLE else None


def _covered(pair: ThreadPair, claims: Sequence[Claim]) -> Order | None:
    """The order by one claim, or by all; None where instances are left, or may be."""
    for claim in claims:
        if pair.satisfiable(claim.unless) is Answer.UNSATISFIABLE and _is_possible(pair, claim):
            return _order((claim,))
    if len(claims) < 2:
        return None
    answer = pair.satisfiable(*(each.unless for each in claims))
    if answer is not Answer.UNSATISFIABLE:
        return None
    return _order(claims) if all(_is_possible(pair, each) for each in claims) else None


def _is_possible(pair: ThreadPair, claim: Claim) -> bool:
    possible = claim.possible
    return possible is None or pair.satisfiable(possible) is not Answer.UNSATISFIABLE


def _order(claims: Sequence[Claim]) -> Order:
    is_note = not all(holds(lemma) for each in claims for lemma in each.lemmas)
    assumptions = frozenset(each for claim in claims for each in claim.assumptions)
    if is_note:
        assumptions |= {Assumption.READ_BEFORE_WRITE}
    names = ", ".join(dict.fromkeys(each.rule for each in claims))
    return Order(Strength.PROVED, names, assumptions=assumptions, is_note=is_note)


def _broken(claim: Claim) -> Order:
    lemma = claim.broken
    if isinstance(lemma, VendorLemma):
        return Order(Strength.BROKEN, claim.rule, lemma.reason(), claim.line, finding=lemma.finding)
    if lemma is None:
        return Order(Strength.BROKEN, claim.rule, "", claim.line)
    outcome = counterexample(lemma)
    if outcome.missing is Missing.ORDER:
        return NO_ORDER  # Its pattern orders no such accesses, whatever its words.
    finding = finding_of(lemma, outcome.missing)
    is_of_signal = claim.signal is not None and outcome.missing in _OF_SIGNAL
    line = claim.signal if is_of_signal else claim.line
    return Order(Strength.BROKEN, claim.rule, outcome.reason, line, finding=finding)


_OF_ACQUIRE = frozenset({Missing.ACQUIRE, Missing.WAIT_SCOPE})
_OF_SIGNAL = frozenset({Missing.RELEASE, Missing.SIGNAL_SCOPE})
_OF_SCOPE = frozenset({Missing.SIGNAL_SCOPE, Missing.WAIT_SCOPE, Missing.SCOPES, Missing.ALL})


def finding_of(lemma: Lemma, missing: Missing) -> Rule:
    """The rule of the registry that a lemma which lacks a piece is a finding of."""
    signal = lemma.release.signal
    if missing is Missing.PROXY:
        return _of_proxies(lemma)
    if missing is Missing.BYTES:
        return Rule.MBARRIER_BYTES
    if signal.is_cluster:
        return Rule.CLUSTER_BARRIER
    if signal.is_phase:
        # Of an arrival in another CTA it is its words for the cluster that are missing.
        is_scope = missing in _OF_SCOPE or signal.scope is Scope.CLUSTER
        return Rule.MBARRIER_SCOPE if is_scope else Rule.MBARRIER_ORDER
    if signal.is_barrier or signal.is_next:
        return Rule.MISSING_BARRIER
    return Rule.UNORDERED_WAIT if missing in _OF_ACQUIRE else Rule.UNORDERED_SIGNAL


def _of_proxies(lemma: Lemma) -> Rule:
    if lemma.later.proxy is Proxy.TENSORMAP:
        return Rule.TENSORMAP_FENCE
    if not lemma.earlier.writes:
        return Rule.PROXY_READS
    is_received = lemma.relation is Relation.GRID and lemma.later.agent is not Agent.THREAD
    return Rule.PROXY_ACQUIRE if is_received else Rule.PROXY_FENCE


def _unknown(kernel: Kernel, claims: Sequence[Claim]) -> Order:
    claim = next((each for each in claims if each.doubt), claims[0])
    reason = claim.doubt or NOT_EVERY_ITERATION
    return Order(Strength.UNKNOWN, claim.rule, reason, claim.line)
