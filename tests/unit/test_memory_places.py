"""Where the lanes of an access meet, and its picture: held against what is counted of it."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.execution.addresses import Addresses
from fencewright.simulator.execution.program import MemoryAccessKind
from fencewright.simulator.performance.accesses import cdna, ptx
from fencewright.simulator.performance.accesses.access import access, model_of
from fencewright.simulator.performance.accesses.bank_conflicts import Places, places_of, ranges
from fencewright.simulator.performance.accesses.expression import addresses_of
from fencewright.tools.fence_sim import main

LOAD, STORE = MemoryAccessKind.LOAD, MemoryAccessKind.STORE


def places(instruction: str, addresses: Addresses, target: str) -> Places:
    return places_of(model_of(instruction, target), addresses)


def lanes(number: int, width: int, reach: int) -> st.SearchStrategy[Addresses]:
    one = st.integers(0, reach // width - 1).map(lambda each: each * width)
    return st.lists(st.one_of(st.none(), one), min_size=number, max_size=number).map(tuple)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_row_is_a_cycle_of_the_banks(data: st.DataObject) -> None:
    chip = data.draw(st.sampled_from(["gfx942", "gfx950"]))
    instruction, width = data.draw(
        st.sampled_from([("ds_read_u16", 2), ("ds_write_b32", 4), ("ds_read_b128", 16)])
    )
    at = data.draw(lanes(64, width, 4096))
    found, counted = places(instruction, at, chip), access(instruction, at, chip)
    assert len(found.rows) == counted[cdna.ACTIVE]
    conflicting = sum(any(cell.is_conflict for cell in row.cells) for row in found.rows)
    assert conflicting == counted[cdna.CONFLICTS]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_row_is_a_wavefront(data: st.DataObject) -> None:
    width, type_ = data.draw(st.sampled_from([(1, "b8"), (4, "b32"), (8, "b64"), (16, "v4.b32")]))
    word, operation = data.draw(st.sampled_from([("ld", LOAD), ("st", STORE)]))
    instruction = f"{word}.shared.{type_}"
    at = data.draw(lanes(32, width, 4096))
    found, counted = places(instruction, at, "sm_90"), access(instruction, at, "sm_90")
    assert len(found.rows) == counted[ptx.WAVEFRONTS[operation]]
    conflicting = sum(any(cell.is_conflict for cell in row.cells) for row in found.rows)
    assert conflicting == counted[ptx.CONFLICTS[operation]]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_moved_is_what_is_requested(data: st.DataObject) -> None:
    at = data.draw(lanes(32, 8, data.draw(st.sampled_from([512, 1 << 16]))))
    found = places("ld.global.b64", at, "sm_90")
    sectors = access("ld.global.b64", at, "sm_90")[ptx.SECTORS[LOAD]]
    assert sum(len(row.moved) for row in found.rows) == sectors
    wave = data.draw(lanes(64, 4, data.draw(st.sampled_from([512, 1 << 16]))))
    for chip in ("gfx90a", "gfx942"):
        for instruction, counter in (
            ("global_load_dword", cdna.READ_REQUESTS),
            ("global_store_dword", cdna.WRITE_REQUESTS),
        ):
            lines = places(instruction, wave, chip)
            requests = access(instruction, wave, chip)[counter]
            assert sum(len(row.moved) for row in lines.rows) == requests


def test_every_lane_is_somewhere() -> None:
    at = addresses_of("lane*36 if lane%3 else none", 32)
    found = places("ld.global.b32", at, "sm_90")
    shown = {lane for row in found.rows for cell in row.cells for lane in cell.lanes}
    assert shown == {lane for lane in range(32) if lane % 3}


def test_generic_accesses_have_no_picture() -> None:
    with pytest.raises(UnsupportedError, match="in two memories: name one"):
        places("ld.b32", (0,) * 32, "sm_90")


@pytest.mark.parametrize("instruction", ["atom.shared.add.u32", "atom.shared.exch.b64"])
def test_atomics_on_shared_memory_have_a_row_for_each_lane_of_a_bank(instruction: str) -> None:
    at = tuple(lane % 4 * 8 for lane in range(32))
    found, counted = places(instruction, at, "sm_90"), access(instruction, at, "sm_90")
    assert len(found.rows) == counted[ptx.WAVEFRONTS[MemoryAccessKind.ATOMIC]]


@pytest.mark.parametrize(
    ("given_", "said"), [((0,), "0"), ((0, 1, 2, 3, 20, 21), "0-3,20-21"), ((1, 3), "1,3")]
)
def test_lanes_in_words(given_: tuple[int, ...], said: str) -> None:
    assert ranges(given_) == said


# The picture


def test_the_picture_has_every_lane(tmp_path: Path) -> None:
    pytest.importorskip("drawsvg")
    file = tmp_path / "x.svg"
    arguments = ["access", "--mcpu", "gfx942", "ds_read_b32", "lane*8", "-o", str(file)]
    assert main(arguments) == 0
    text = file.read_text(encoding="utf-8")
    shown = re.findall(r"<tspan[^>]*>([^<]*)</tspan>", text) or re.findall(r">([^<>]+)<", text)
    assert {str(lane) for lane in range(64)} <= set(shown)
    assert "SQ_LDS_BANK_CONFLICT = 2" in text


def test_rows_that_are_left_out_are_told(tmp_path: Path) -> None:
    pytest.importorskip("drawsvg")
    file = tmp_path / "x.svg"
    assert main(["access", "--mcpu", "gfx942", "ds_read_b32", "lane*256", "-o", str(file)]) == 0
    assert "and 30 more rows" in file.read_text(encoding="utf-8")


def test_a_picture_is_of_one_access(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "accesses.txt"
    file.write_text("ds_read_b32" + " 0" * 64 + "\n")
    picture = tmp_path / "x.svg"
    arguments = ["access", "--mcpu", "gfx942", "--json", str(file), "-o", str(picture)]
    assert main(arguments) != 0
    assert "a picture is of one access" in capsys.readouterr().err
    assert not picture.exists()
