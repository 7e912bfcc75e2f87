"""Layouts of a tile: what is found, and that what is printed is what was counted."""

import re
import shlex

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencewright.simulator.execution.addresses import AddressError
from fencewright.simulator.performance.accesses.access import access
from fencewright.simulator.performance.accesses.expression import addresses_of
from fencewright.simulator.performance.accesses.suggest import (
    Candidate,
    Layout,
    Swizzle,
    Tile,
    TilePattern,
    pattern_of,
    suggest,
    swizzles,
    tile_of,
)
from fencewright.tools.fence_sim import main


def found_for(
    target: str, tile: str, element: int, *patterns: str
) -> tuple[list[Candidate], list[TilePattern]]:
    of = tile_of(tile, element)
    read = [pattern_of(each, target, of) for each in patterns]
    return suggest(of, read), read


WRITE_ROWS = "ds_write_b128 row=n*16+lane//4, col=lane%4*8"
READ_COLUMNS = "ds_read_u16 row=lane%8*8 + n%8, col=n//8*8 + lane//8"


def test_the_transpose_of_composable_kernel() -> None:
    """bank_conflict_slides: row-major has 14 conflicts a read, XOR 0 and 0."""
    found, _ = found_for("gfx942", "64x32", 2, WRITE_ROWS, READ_COLUMNS)
    plain, swizzled = found
    assert [set(each.conflicts) for each in plain.counts] == [{0}, {14}]
    assert [len(each.conflicts) for each in plain.counts] == [4, 32]
    assert swizzled.layout == Layout(64, Swizzle(16, 8, 512))
    assert (swizzled.conflicts, swizzled.size) == (0, plain.size)


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
def test_a_tile_stored_by_columns_gets_a_swizzle_too(chip: str) -> None:
    found, _ = found_for(
        chip, "32x64", 2,
        "ds_write_b16 row=lane%4*8+n%8, col=n//8*16+lane//4",
        "ds_read_b128 row=lane//8+8*n, col=lane%8*8",
    )  # fmt: skip
    assert found[0].conflicts == 32 * 6
    assert found[-1].conflicts == 0


def test_the_tile_of_16_bytes_on_an_h200() -> None:
    found, _ = found_for(
        "sm_90", "8x8", 16,
        "st.shared.v4.b32 row=n*4+lane//8, col=lane%8",
        "ld.shared.v4.b32 row=lane%8, col=n*4+lane//8",
    )  # fmt: skip
    plain, padded, swizzled = found
    assert plain.counts[1].cycles == (32, 32)
    assert plain.counts[1].conflicts == (28, 28)
    assert padded.layout == Layout(144)
    assert swizzled.layout == Layout(128, Swizzle(16, 8, 128))
    for each in (padded, swizzled):
        assert each.counts[1].cycles == (4, 4)
        assert each.conflicts == 0


def test_padding_by_a_word_where_the_access_is_a_word() -> None:
    found, _ = found_for(
        "sm_80", "32x32", 4, "st.shared.b32 row=n, col=lane", "ld.shared.b32 row=lane, col=n"
    )
    assert [each.layout.pitch for each in found] == [128, 132, 128]
    assert [each.conflicts for each in found] == [32 * 31, 0, 0]


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    found, _ = found_for("gfx942", "32x32", 4, "ds_write_b32 row=n*2+lane//32, col=lane%32")
    assert [each.conflicts for each in found] == [0]


def test_what_is_padded_and_swizzled_stays_aligned() -> None:
    """16 bytes a lane: no layout that splits them, or leaves them at 4 bytes."""
    of = tile_of("64x32", 2)
    write = pattern_of(WRITE_ROWS, "gfx942", of)
    layouts = [Layout(64 + 4), Layout(64 + 16), Layout(64, Swizzle(8, 8, 512))]
    assert [each is None for each in write.counts(layouts)] == [True, False, True]


def test_two_addresses_of_one_instruction() -> None:
    of = tile_of("64x34", 2)
    both = pattern_of(
        "ds_write2_b32 offset0:0 offset1:1 row=n//2*16+lane//4, col=lane%4*8+n%2*4, n=8",
        "gfx942", of,
    )  # fmt: skip
    (counts,) = both.counts([Layout(of.row_bytes)])
    assert counts is not None
    assert set(counts.conflicts) == {4}


# What is printed


@pytest.mark.parametrize("pattern", [WRITE_ROWS, READ_COLUMNS])
def test_the_expression_counts_as_the_table_says(pattern: str) -> None:
    found, (read,) = found_for("gfx942", "64x32", 2, pattern)
    for candidate in found:
        for number in range(read.instructions):
            row, column = (re.sub(r"\bn\b", str(number), each) for each in (read.row, read.column))
            text = candidate.layout.expression(row, column, 2)
            counted = access(read.model.instruction, text, "gfx942")
            assert counted["SQ_LDS_BANK_CONFLICT"] == candidate.counts[0].conflicts[number]
            assert counted["SQ_LDS_IDX_ACTIVE"] == candidate.counts[0].cycles[number]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_layout_has_a_place_for_each_element(data: st.DataObject) -> None:
    tile = Tile(
        data.draw(st.integers(1, 24)),
        data.draw(st.sampled_from([3, 8, 16, 33])),
        data.draw(st.sampled_from([1, 2, 4, 16])),
    )
    padding = data.draw(st.integers(0, 4)) * tile.element
    swizzle = data.draw(st.sampled_from([None, *swizzles(tile)]))
    layout = Layout(tile.row_bytes + padding, swizzle)
    rows, columns = np.divmod(np.arange(tile.rows * tile.columns), tile.columns)
    places = layout.addresses(rows, columns, tile.element)
    assert len(set(places.tolist())) == tile.rows * tile.columns
    assert int(places.max()) + tile.element <= layout.size(tile)
    for row, column in ((0, 0), (tile.rows - 1, tile.columns - 1)):
        text = layout.expression("r", "c + 0", tile.element)
        (said,) = addresses_of(text, 1, {"r": row, "c": column})
        assert said == layout.addresses(np.array([row]), np.array([column]), tile.element)[0]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["access", "--mcpu", "gfx942", "--suggest", "--tile", "64x32", "--element", "2",
                 "--write", WRITE_ROWS, "--read", READ_COLUMNS]  # fmt: skip
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert re.search(r"^row by row +4096 +448 +544 +4 x 0 +32 x 14$", said, re.MULTILINE)
    assert "(row*64 + col*2) ^ (row//8%8*16)" in said
    commands = [line.split(None, 1)[1] for line in said.splitlines() if "fence-sim access" in line]
    assert len(commands) == 2
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
        assert "SQ_LDS_BANK_CONFLICT" not in capsys.readouterr().out


# What is refused


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        (["--tile", "8x8", "--element", "2"], "needs a pattern: --write, --read or both"),
        (["--element", "2", "--read", "ds_read_u16 row=0, col=0"], "needs --tile, as 64x32"),
        (["--tile", "8", "--element", "2", "--read", "x"], "no tile: '8'"),
        (["--tile", "0x8", "--element", "2", "--read", "x"], "no tile: '0x8'"),
        (["--tile", "8x8", "--element", "3", "--read", "x"], "an element of 3 bytes"),
        (["--tile", "8x8", "--element", "2", "--read", "ds_read_u16 row=0"], "no pattern"),
        (["--tile", "8x8", "--element", "2", "--read", "ds_read_u17 row=0, col=0"], "unknown ins"),
        (
            ["--tile", "8x8", "--element", "2", "--read", "global_load_dword row=0, col=0"],
            "not an instruction of LDS or shared memory",
        ),
        (
            ["--tile", "8x8", "--element", "4", "--read", "ds_read_u16 row=0, col=0"],
            "2 bytes a lane, no whole elements of 4",
        ),
        (["--tile", "64x8", "--element", "2", "--read", "ds_read_u16 row=lane + n*8, col=0"],
         "lane 56 of n = 1 is at row 64, columns 0 to 0, outside the 64 x 8 elements; end the pattern with n=1"),
        (["--tile", "8x8", "--element", "2", "--read", "ds_read_u16 row=lane, col=0"],
         "lane 8 of n = 0 is at row 8"),
        (["--tile", "8x8", "--element", "2", "--read", "ds_read_b128 row=0, col=1"],
         "columns 1 to 8, outside the 8 x 8"),
        (["--tile", "8x8", "--element", "2", "--read", "ds_read_u16 row=x, col=0"],
         "no part of an address: 'x'; accepted: lane, n,"),
        (["--tile", "8x8", "--element", "2", "--read", "ds_read_u16 row=0, col=0, n=0"],
         "0 instructions; give at least 1"),
        (["--tile", "512x512", "--element", "2", "--read", "ds_read_u16 row=0, col=0"],
         "the tile has 524288 bytes, and there are 65536"),
        (["--tile", "8x9", "--element", "2", "--read", "ds_read_b64 row=1, col=0"],
         "not naturally aligned though the tile is row by row"),
        (["ds_read_b32", "lane*4"], "takes --write and --read, and no instruction"),
    ],
)  # fmt: skip
def test_what_cannot_be(given_: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["access", "--mcpu", "gfx942", "--suggest", *given_]) != 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]


def test_the_flags_of_a_tile_need_suggest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["access", "--mcpu", "gfx942", "--tile", "8x8", "ds_read_b32", "lane*4"]) != 0
    assert "--tile is for --suggest" in capsys.readouterr().err


def test_a_pattern_is_checked_before_anything_is_tried() -> None:
    with pytest.raises(AddressError, match="outside"):
        _ = pattern_of("ds_read_u16 row=lane, col=0", "gfx942", tile_of("8x8", 2)).elements
