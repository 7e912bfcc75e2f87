"""gfx1250 against LLVM 24: every operation x ordering x scope x address space x hint.

``compat=llvm`` is LLVM 24's code, letter for letter but for registers; the default differs as
``lowering.cdna.generations.differences_gfx1250`` says.
"""

from collections import Counter
from functools import cache
from typing import Any

import pytest
from campaigns import Share, shares
from llvm24_oracle import (
    barrier_sequence,
    has_llvm24,
    is_private_atomic,
    points,
    sequences,
    tokens,
    written,
)
from llvm_oracle import Point, Tokens, explain

from fencewright.lowering.cdna.generations.differences_gfx1250 import DIFFERENCES
from fencewright.lowering.lower import lower
from fencewright.lowering.vocabulary import Compat, Scope

if not has_llvm24():
    pytest.skip(
        "needs triton 3.9, which comes with LLVM 24 (make oracles)", allow_module_level=True
    )

POINTS = [point for point in points() if not is_private_atomic(point)]
PRIVATE = [point for point in points() if is_private_atomic(point)]


def _ours(point: Point, compat: Compat | None, chip: str = "gfx1250") -> Tokens:
    sequence = lower(
        op=point.op,
        ordering=point.ordering,
        scope=point.scope,
        space=point.space,
        failure_ordering=point.failure_ordering,
        returns=point.returns,
        volatile=point.volatile,
        nontemporal=point.nontemporal,
        one_as=point.one_as,
        spaces=point.spaces,
        availability=point.availability,
        target=chip,
        compat=compat,
    )
    return written(each.text for each in sequence.instructions)


@cache
def _llvm(share: Share) -> list[tuple[Point, Tokens]]:
    """The points of a share, each with LLVM's sequence."""
    points = share.of(POINTS)
    return [*zip(points, sequences(points, "gfx1250"), strict=True)]


SOME = Share(0, 4)
"""What has every named difference."""


def _columns(point: Point, compat: Compat | None) -> dict[str, Any]:
    names = ("op", "ordering", "one_as", "spaces", "scope", "space", "availability")
    return {"compat": compat, **{name: getattr(point, name) for name in names}}


@pytest.mark.parametrize("share", shares(SOME.count))
def test_compat_is_llvms_code(share: Share) -> None:
    asked = _llvm(share)
    different = [
        f"{point}:\n  {ours}\n  {llvms}"
        for point, llvms in asked
        if (ours := _ours(point, Compat.LLVM)) != llvms
    ]
    assert not different, "\n".join([f"{len(different)} of {len(asked)}", *different[:20]])


@pytest.mark.parametrize("share", shares(4))
def test_gfx1251_is_lowered_as_gfx1250(share: Share) -> None:
    for compat in (None, Compat.LLVM):
        points = share.of(POINTS)
        assert all(_ours(each, compat, "gfx1251") == _ours(each, compat) for each in points)


def test_gfx1251_is_lowered_as_gfx1250_by_llvm() -> None:
    """At every fiftieth point."""
    points, llvms = zip(*_llvm(SOME)[::12], strict=True)
    assert sequences(points, "gfx1251") == [*llvms]


def _compare(share: Share, lost: str = "") -> tuple[Counter[str], list[str]]:
    """How often each difference explains a point, and the points that none explains."""
    found: Counter[str] = Counter()
    unexplained: list[str] = []
    for point, llvms in _llvm(share):
        ours = tuple(each for each in tokens(_ours(point, None)) if each != lost)
        if ours == tokens(llvms):
            continue
        names = explain(DIFFERENCES, _columns(point, None), ours, tokens(llvms))
        if not names:
            unexplained.append(f"{point}:\n  {ours}\n  {tokens(llvms)}")
        found.update(names)
    return found, unexplained


@pytest.mark.parametrize("share", shares(SOME.count))
def test_every_point_is_llvms_or_a_named_difference(share: Share) -> None:
    _, unexplained = _compare(share)
    assert not unexplained, "\n".join([f"{len(unexplained)} unexplained", *unexplained[:20]])


def test_every_named_difference_occurs() -> None:
    found, _ = _compare(SOME)
    assert found.keys() | {"private-atomics"} == {row.name for row in DIFFERENCES}


@pytest.mark.parametrize(
    "lost",
    [
        "global_wb scope:SCOPE_DEV",
        "global_inv scope:SCOPE_SE",
        "storecnt(0)",
        "xcnt(0)",
        "dscnt(0)",
    ],
)
def test_a_lost_instruction_is_noticed(lost: str) -> None:
    assert _compare(SOME, lost)[1]


def test_private_atomics_are_flat_to_llvm_and_plain_to_us() -> None:
    some = PRIVATE[::40]
    for point, llvms in zip(some, sequences(some, "gfx1250"), strict=True):
        assert any(each.startswith("flat_") for each in llvms), point
        for compat in (None, Compat.LLVM):
            ours = _ours(point, compat)
            assert ours
            assert all(
                each.startswith(("scratch_", "s_wait_loadcnt", "s_wait_xcnt")) for each in ours
            )


@pytest.mark.parametrize("scope", [Scope.WORKGROUP, Scope.CLUSTER])
def test_barriers_are_llvms(scope: Scope) -> None:
    ours = lower(op="barrier", ordering="relaxed", scope=scope, target="gfx1250")
    meets = [each.text for each in ours.instructions if each.mnemonic != "s_cbranch_scc0"]
    llvms = barrier_sequence("gfx1250", scope)
    assert Counter(meets) == Counter(
        each for each in llvms if each.startswith(("s_barrier", "s_wait"))
    )
