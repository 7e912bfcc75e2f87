"""Every operation x ordering x scope x address space, ours against LLVM's own lowering.

Each difference must be one that ``lowering.cdna.generations.differences`` names, and each of its
rows must be met somewhere.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from campaigns import Share, first_of, shares
from llvm_oracle import Point, Tokens, explain, llvm_sequences, matrix, normal_form

from fencewright.lowering.cdna.generations.differences import DIFFERENCES
from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import Compat, L2PerAgent

MODES = [
    ("gfx908", False),
    ("gfx90a", False),
    ("gfx90a", True),
    ("gfx942", False),
    ("gfx942", True),
    ("gfx950", False),
    ("gfx950", True),
    ("gfx9-4-generic", False),
    ("gfx9-4-generic", True),
]
WAYS = [(L2PerAgent.MANY, None), (L2PerAgent.ONE, None), (L2PerAgent.MANY, Compat.LLVM)]
POINTS = list(matrix())


def _ours(
    point: Point, chip: str, tgsplit: bool, l2: L2PerAgent, compat: Compat | None
) -> Tokens | None:
    """Our sequence in normal form, or None where we refuse."""
    try:
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
            target=chip,
            features=("tgsplit",) if tgsplit else (),
            l2_per_agent=l2,
            compat=compat,
        )
    except UnsupportedError:
        return None
    return normal_form(instruction.text for instruction in sequence.instructions)


@cache
def _llvm(chip: str, tgsplit: bool) -> list[Tokens]:
    found = llvm_sequences(POINTS, chip, "+tgsplit" if tgsplit else "")
    assert len(found) == len(POINTS)
    return found


def _compare(
    chip: str, tgsplit: bool, ours_for: Callable[..., Tokens | None], share: Share = Share(0, 1)
) -> tuple[Counter[str], list[str]]:
    """How often each row of the differences explains a point, and the points none explains."""
    points = [*zip(POINTS, _llvm(chip, tgsplit), strict=True)]
    found: Counter[str] = Counter()
    unexplained: list[str] = []
    for point, llvms in share.of(points, MODES.index((chip, tgsplit))):
        for l2, compat in WAYS:
            ours = ours_for(point, chip, tgsplit, l2, compat)
            if ours == llvms:
                continue
            columns: dict[str, object] = {
                "op": point.op,
                "ordering": point.ordering,
                "one_as": point.one_as,
                "spaces": point.spaces,
                "scope": point.scope,
                "space": point.space,
                "tgsplit": tgsplit,
                "l2_per_agent": l2,
                "compat": compat,
            }
            rows = explain(DIFFERENCES, columns, ours, llvms)
            if not rows:
                unexplained.append(f"{columns}: {ours} for LLVM's {llvms}")
            found.update(rows)
    return found, unexplained


# Where every named difference occurs.
NAMED = (("gfx942", False), ("gfx942", True), ("gfx90a", False))
EVERY_MODE = first_of([*NAMED, *(mode for mode in MODES if mode not in NAMED)], len(NAMED))


@pytest.mark.parametrize("share", shares(3))
@pytest.mark.parametrize("mode", EVERY_MODE)
def test_every_point_is_llvms_or_a_named_difference(mode: tuple[str, bool], share: Share):
    _, unexplained = _compare(*mode, _ours, share)
    assert not unexplained, "\n".join([f"{len(unexplained)} unexplained", *unexplained[:20]])


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_a_point_is_lowered_as_in_a_function_of_its_own(mode: tuple[str, bool]):
    """Every fiftieth of them: those next to it in its function change nothing."""
    chip, tgsplit = mode
    alone = llvm_sequences(POINTS[::50], chip, "+tgsplit" if tgsplit else "", group=1)
    assert alone == _llvm(chip, tgsplit)[::50]


def test_every_named_difference_occurs():
    met = set[str]().union(*(_compare(*mode, _ours)[0] for mode in NAMED))
    assert met == {row.name for row in DIFFERENCES}


@pytest.mark.parametrize("lost", ["buffer_wbl2 sc1", "vmcnt(0)", "buffer_inv sc0 sc1"])
def test_a_lost_instruction_is_noticed(lost: str):
    def broken(*asked: Any) -> Tokens | None:
        ours = _ours(*asked)
        return ours and tuple(token for token in ours if token != lost)

    assert _compare("gfx942", False, broken)[1]


def test_a_swapped_pair_is_noticed():
    def broken(*asked: Any) -> Tokens | None:
        ours = _ours(*asked)
        return ours and tuple(reversed(ours))

    assert _compare("gfx942", False, broken)[1]
