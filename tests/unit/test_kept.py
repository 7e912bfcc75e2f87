"""Sets of long functions: kept by their differences, they are those that whole ones are."""

import random
from pathlib import Path

import pytest

from fencewright.checker.amd import guarantees, kept
from fencewright.checker.amd.check import check
from fencewright.checker.verdicts.amd.judge import judged
from fencewright.lowering.cdna.code.text import read_assembly

MUSEUM = Path(__file__).parent.parent / "museum"
FILES = sorted(MUSEUM.glob("*/*.s"))


def _found(file: Path) -> list[object]:
    """All that is found in a file."""
    assembly = read_assembly(file.read_text(), file.name)
    found: list[object] = []
    for function in assembly.functions.values():
        checked = check(assembly, function)
        judgement = judged(checked)
        found += [judgement.findings, str(judgement.verdict.kind), *checked.provided()]
        found += checked.surplus()
    return found


def _keep_all_by_differences(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(kept, "_SHORT", 0)
    patch.setattr(kept, "_RECENT", 0)
    patch.setattr(kept, "_NARROW", 1)
    patch.setattr(kept, "_SPAN", 3)
    patch.setattr(guarantees, "_STRETCH", 2)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_long_function_has_the_findings_that_a_short_one_has(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every exhibit, as if its functions were long."""
    expected = _found(file)
    _keep_all_by_differences(monkeypatch)
    assert _found(file) == expected


def test_sets_are_kept_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random ones, some of them near the one before."""
    monkeypatch.setattr(kept, "_SHORT", 0)
    choose = random.Random(1)
    sets = kept.kept_sets(1)
    expected: dict[int, int] = {}
    bits = 0
    for number in range(300):
        bits = choose.choice((bits, bits ^ 1 << choose.randrange(9_000), choose.getrandbits(9_000)))
        sets[number] = expected[number] = bits
    assert dict(sets) == expected


def test_the_sets_of_a_long_function_take_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set that grows by one operation at each place: a hundredth of whole ones."""
    sets = kept.kept_sets(20_000)
    for number in range(20_000):
        sets[number] = (1 << number) - 1
    assert isinstance(sets, kept.Kept)
    whole = {id(each): each for parts in sets.held.values() for each in parts if type(each) is int}
    assert sum(each.bit_length() for each in whole.values()) < 20_000**2 / 2 / 100
