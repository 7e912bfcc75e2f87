"""What no certificate covers: a reason for all of it, and every reason is needed."""

import re
from collections import Counter
from dataclasses import replace
from functools import cache

import certified_sequences
import pytest
from campaigns import Share, first_of, shares
from certified_sequences import Coverage, lowered_requests, reason_of, requests

from fencewright.lowering.lower import lower_request
from fencewright.lowering.sequence import Request, Target
from fencewright.lowering.skeleton import merged_ordering
from fencewright.lowering.vocabulary import AddressSpace, Operation, Ordering, RmwKind, Scope
from fencewright.simulator.certify.certificate import certify_operation, modes
from fencewright.simulator.certify.coverage import UNCERTIFIED

GFX942, SM_90 = Target("gfx942"), Target("sm_90", ptx_version=(8, 6))
GFX1250 = Target("gfx1250")
AGENT, GLOBAL = Scope.AGENT, AddressSpace.GLOBAL


@cache
def coverage(mode: Target) -> Coverage:
    """The coverage of a mode, an index that is made once."""
    return Coverage(mode)


@cache
def found(mode: Target, share: Share) -> Counter[str]:
    """How many operations of a share are uncovered for which reason."""
    asked = share.of(requests(), modes().index(mode))
    return Counter(reason for _, reason in coverage(mode).uncovered(asked))


SOME = Share(0, 9)
"""What is enough to meet every reason."""


@pytest.mark.parametrize("share", shares(SOME.count))
@pytest.mark.parametrize("mode", modes(), ids=str)
def test_there_is_a_reason_for_everything_without_a_certificate(mode: Target, share: Share) -> None:
    assert "" not in found(mode, share)


def test_every_reason_is_needed() -> None:
    used = {reason for mode in modes() for reason in found(mode, SOME)}
    assert used == {each.name for each in UNCERTIFIED}


@pytest.mark.parametrize("mode", [GFX942, SM_90], ids=str)
def test_most_of_what_is_lowered_is_covered(mode: Target) -> None:
    """Of what another thread can reach."""
    out_of_reach = {"private memory", "constant memory"}
    asked = SOME.of(requests(), modes().index(mode))
    uncovered = sum(n for reason, n in found(mode, SOME).items() if reason not in out_of_reach)
    assert uncovered < 0.5 * sum(1 for _ in lowered_requests(mode, asked))


def covers(mode: Target, request: Request) -> bool:
    complete = replace(request, target=mode)
    return coverage(mode).covers(complete, lower_request(complete))


@pytest.mark.parametrize("mode", [GFX942, SM_90], ids=str)
def test_what_is_covered(mode: Target) -> None:
    store = Request(Operation.STORE, Ordering.RELEASE, AGENT, GLOBAL)
    assert covers(mode, store)
    assert covers(mode, replace(store, width=64))
    assert covers(mode, replace(store, one_as=True))
    assert covers(mode, replace(store, scope=Scope.CLUSTER))
    assert not covers(mode, replace(store, ordering=Ordering.WEAK))
    swap = Request(Operation.CMPXCHG, Ordering.ACQUIRE, AGENT, GLOBAL, Ordering.ACQUIRE)
    assert covers(mode, swap)
    assert covers(mode, replace(swap, returns=False))


def test_a_sequence_that_is_weaker_is_not_covered() -> None:
    """The release of a store without its write-back is no operation of the certificate."""
    request = replace(Request(Operation.STORE, Ordering.RELEASE, AGENT, GLOBAL), target=GFX942)
    sequence = lower_request(request)
    weaker = replace(sequence, instructions=sequence.instructions[1:])
    assert coverage(GFX942).covers(request, sequence)
    assert not coverage(GFX942).covers(request, weaker)


def test_a_missing_operation_of_the_shapes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were volatile accesses not certified, nothing would excuse them in PTX."""
    every = certified_sequences.requests_of(SM_90)
    fewer = tuple(each for each in every if not each.volatile)
    assert len(fewer) < len(every)
    monkeypatch.setattr(certified_sequences, "requests_of", lambda mode: fewer)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  # the argument is a mode
    missing = [request for request, reason in Coverage(SM_90).uncovered() if not reason]
    assert missing
    assert all(request.volatile for request in missing)


@pytest.mark.parametrize("scope", first_of([AGENT, Scope.CLUSTER, Scope.SYSTEM]), ids=str)
@pytest.mark.parametrize("ordering", [Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL])
@pytest.mark.parametrize(
    "mode",
    [Target("sm_70", ptx_version=(6, 0)), Target("sm_90", ptx_version=(7, 8)), SM_90],
    ids=str,
)
def test_fences_of_shared_memory_alone_are_sound(
    mode: Target, ordering: Ordering, scope: Scope
) -> None:
    spaces = frozenset({AddressSpace.LOCAL})
    request = replace(Request(Operation.FENCE, ordering, scope, None, spaces=spaces), target=mode)
    sequence = lower_request(request)
    assert not coverage(mode).covers(request, sequence) or scope is Scope.CLUSTER
    found = certify_operation(request, mode)
    assert found.is_sound
    assert found.tests > found.void > 0


def test_distributed_shared_memory_has_the_sequences_of_shared_memory() -> None:
    lowering = lower_request
    compared = 0
    for request, sequence in lowered_requests(SM_90):
        if request.space is not AddressSpace.SHARED_CLUSTER:
            continue
        own = lowering(replace(request, space=AddressSpace.LOCAL))
        words = sequence.text.replace("shared::cluster", "shared")
        assert words == own.text.replace("shared::cta", "shared"), request
        compared += 1
    assert compared > 1000


def test_reasons_say_which_operations() -> None:
    private = replace(
        Request(Operation.STORE, Ordering.RELAXED, AGENT, AddressSpace.PRIVATE), target=GFX942
    )
    sequence = lower_request(private)
    assert reason_of(private, sequence, GFX942) == "private memory"
    assert not reason_of(replace(private, space=GLOBAL), sequence, GFX942)


def test_an_unused_exchange_has_the_sequence_of_an_unused_atomic() -> None:
    """But for the access itself: on chips that count what returns apart from what does not."""
    compared = 0
    for request, sequence in lowered_requests(GFX1250):
        unused = request.op is Operation.CMPXCHG and not request.returns
        if not unused or request.failure_ordering is None or request.width != 32:
            continue
        ordering = merged_ordering(request.ordering, request.failure_ordering)
        atomic = replace(
            request,
            op=Operation.ATOMIC_RMW,
            ordering=ordering,
            failure_ordering=None,
            kind=RmwKind.ADD,
        )
        if request.space in (AddressSpace.GLOBAL, AddressSpace.GENERIC):
            other = lower_request(atomic).text
            assert re.sub(r"atomic_\w+", "", sequence.text) == re.sub(r"atomic_\w+", "", other)
            compared += 1
    assert compared > 100
