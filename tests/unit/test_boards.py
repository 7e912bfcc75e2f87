"""The names that people say for chips: in the hint of an unknown target, and on the tools' page."""

import re
from pathlib import Path

import pytest

from fencewright.lowering.boards import BOARDS, chip_of_board
from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.targets import known_targets

PAGE = Path(__file__).parents[2] / "docs" / "tools.md"


def test_every_board_has_a_known_chip_a_source_and_one_row() -> None:
    named = [board for _, _, boards in BOARDS for board in boards]
    assert len(set(named)) == len(named)
    for chip, source, boards in BOARDS:
        assert chip in known_targets()
        assert source
        assert all(chip_of_board(board) == chip for board in boards)


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("h100", ("sm_90", "sm_90a")),
        ("H200", ("sm_90", "sm_90a")),
        ("a100", ("sm_80",)),
        ("NVIDIA B200", ("sm_100", "sm_100a", "sm_100f")),
        ("GeForce RTX 4090", ("sm_89",)),
        ("mi300x", ("gfx942",)),
        ("Instinct MI250X", ("gfx90a",)),
        ("AMD Instinct MI100", ("gfx908",)),
        ("mi355x", ("gfx950",)),
    ],
)
def test_the_hint_names_the_chip_of_a_board(name: str, accepted: tuple[str, ...]) -> None:
    with pytest.raises(UnsupportedError, match="a board's name, of the chip") as error:
        lower(op="load", space="global", target=name)
    assert error.value.accepted == accepted
    for chip in accepted:
        assert lower(op="load", space="global", target=chip).instructions


@pytest.mark.parametrize("name", ["vax", "h1000", "mi3000", "", "100"])
def test_other_names_get_the_whole_list(name: str) -> None:
    with pytest.raises(UnsupportedError, match="unknown target; accepted: gfx908"):
        lower(op="load", space="global", target=name)


def test_the_page_has_the_boards() -> None:
    rows = re.findall(r"^\| ((?:gfx|sm_)\w+) \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    written = {chip: tuple(re.sub(r"[ ]", "", each).lower() for each in boards.split(","))
               for chip, boards in rows}  # fmt: skip
    assert written == {chip: boards for chip, _, boards in BOARDS}
