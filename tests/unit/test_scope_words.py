"""Others' words for scopes, as ``lower`` and the command lines take them."""

from pathlib import Path

import pytest

from fencewright import lower
from fencewright.lowering.vocabulary import SCOPE_WORDS, Scope
from fencewright.tools import fence_sim

PAGE = Path(__file__).parents[2] / "docs" / "scopes.md"


@pytest.mark.parametrize("word", ["cta", "block", "gpu", "device", "sys"])
def test_a_word_is_its_scope(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    scope = SCOPE_WORDS[word]
    named, own = (
        lower(op="fence", ordering="release", scope=each, target="gfx942") for each in (word, scope)
    )
    assert named == own
    assert fence_sim.main(["explain", "gfx942", "fence", "release", word]) == 0
    assert capsys.readouterr().out.startswith(f"fence release {scope}: ")


def test_another_word_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert fence_sim.main(["explain", "gfx942", "fence", "release", "world"]) == 2
    assert "world" in capsys.readouterr().err


def test_the_page_has_every_word() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    words = {row[4].strip("`"): row[5].removesuffix(" |") for row in rows[2:]}
    assert words.keys() == {*map(str, Scope)}
    for word, scope in SCOPE_WORDS.items():
        assert f"`{word}`" in words[str(scope)]
