"""What one memory instruction counts: measured accesses, the rules, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fencewright
from fencewright.lowering.cdna import memory as cdna_rows
from fencewright.lowering.evidence import Evidence
from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.memory import cdna, definition, ptx
from fencewright.simulator.memory.access import access, count, model_of
from fencewright.simulator.memory.addresses import SHARED_WINDOW, AddressError, Addresses, read
from fencewright.tools.fence_sim import main

DATA = Path(__file__).parents[1] / "data" / "memory"
LOAD, STORE = ptx.PtxMemoryOperation.LOAD, ptx.PtxMemoryOperation.STORE


def lines_of(name: str) -> list[str]:
    text = (DATA / name).read_text(encoding="utf-8")
    return [each for each in text.splitlines() if not each.startswith("#")]


# Against hardware


def measured() -> Iterator[tuple[str, Addresses, dict[str, int]]]:
    for line in lines_of("h200-accesses.txt"):
        given_, _, counts = line.partition(" | ")
        instruction, *words = given_.split()
        yield (
            instruction,
            read(words),
            dict(zip(ptx.COUNTERS, map(int, counts.split()), strict=True)),
        )


MEASURED = list(measured())
INSTRUCTIONS = sorted({each[0] for each in MEASURED})


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_an_h200_counts_what_the_rules_say(instruction: str) -> None:
    rows = [(addresses, counts) for each, addresses, counts in MEASURED if each == instruction]
    found = count(model_of(instruction, "sm_90"), [each for each, _ in rows])
    for counted, (_, counts) in zip(found, rows, strict=True):
        assert counted.values == counts


def test_an_h200_sends_as_many_packets_of_a_reduction() -> None:
    rows = [line.partition(" | ") for line in lines_of("h200-packets.txt")]
    given_ = [read(access.split()[1:]) for access, _, _ in rows]
    counter = ptx.SECTORS[ptx.PtxMemoryOperation.REDUCTION]
    found = [each[counter] for each in count(model_of("red.global.add.u32", "sm_90"), given_)]
    assert found == [int(counted) for _, _, counted in rows]


# Against the table and the definition

STRIDES = [
    # Bytes of a lane, lanes' distance in that unit, shared wavefronts and conflicts, global
    # sectors and tag wavefronts: an H200.
    *((width, 1, *rest) for width, *rest in (
        (1, 1, 0, 1, 1), (2, 1, 0, 2, 1), (4, 1, 0, 4, 1), (8, 2, 0, 8, 1), (16, 4, 0, 16, 1)
    )),
    *((width, 32, *rest) for width, *rest in (
        (1, 8, 7, 32, 2), (2, 16, 15, 32, 4), (4, 32, 31, 32, 8), (8, 32, 30, 32, 8),
        (16, 32, 28, 32, 8),
    )),
]  # fmt: skip
TYPES = {1: "b8", 2: "b16", 4: "b32", 8: "v2.b32", 16: "v4.b32"}


@pytest.mark.parametrize("row", STRIDES, ids=str)
def test_strides(row: tuple[int, int, int, int, int, int]) -> None:
    width, distance, wavefronts, conflicts, sectors, tags = row
    where = f"lane*{width * distance}"
    shared = access(f"ld.shared.{TYPES[width]}", where, "sm_90")
    far = access(f"ld.global.{TYPES[width]}", where, "sm_90")
    assert (shared[ptx.WAVEFRONTS[LOAD]], shared[ptx.CONFLICTS[LOAD]]) == (wavefronts, conflicts)
    assert (far[ptx.SECTORS[LOAD]], far[ptx.TAG_WAVEFRONTS]) == (sectors, tags)


def test_a_swizzle_takes_the_conflicts_away() -> None:
    swizzled = access("ld.shared.v4.b32", "(lane%8)*128 + ((lane//8)^(lane%8))*16", "sm_90")
    plain = access("ld.shared.v4.b32", "(lane%8)*256 + (lane//8)*16", "sm_90")
    assert (swizzled[ptx.WAVEFRONTS[LOAD]], swizzled[ptx.CONFLICTS[LOAD]]) == (4, 0)
    assert (plain[ptx.WAVEFRONTS[LOAD]], plain[ptx.CONFLICTS[LOAD]]) == (32, 28)


def lanes(number: int, width: int, reach: int) -> st.SearchStrategy[Addresses]:
    one = st.integers(0, reach // width - 1).map(lambda each: each * width)
    return st.lists(st.one_of(st.none(), one), min_size=number, max_size=number).map(tuple)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_counts_are_those_of_the_definition(data: st.DataObject) -> None:
    width = data.draw(st.sampled_from(sorted(TYPES)))
    near = data.draw(lanes(32, width, data.draw(st.sampled_from([512, 4096, 49152]))))
    far = data.draw(lanes(32, width, data.draw(st.sampled_from([512, 1 << 16, 1 << 26]))))
    for operation, is_load in ((LOAD, True), (STORE, False)):
        shared = access(f"{operation}.shared.{TYPES[width]}", near, "sm_90")
        expected = definition.shared_wavefronts(near, width, is_load)
        found = shared[ptx.WAVEFRONTS[operation]], shared[ptx.CONFLICTS[operation]]
        assert found == expected
    load = access(f"ld.global.{TYPES[width]}", far, "sm_90")
    assert load[ptx.SECTORS[LOAD]] == len(definition.blocks(far, width, 32))
    assert load[ptx.TAG_WAVEFRONTS] == definition.tag_passes(far)
    if width <= 4:
        mmio = access(f"ld.mmio.relaxed.sys.global.{TYPES[width]}", far, "sm_90")
        assert mmio[ptx.SECTORS[LOAD]] == mmio[ptx.READ_SECTORS] == definition.mmio_sectors(far)
        assert mmio[ptx.REQUESTS[LOAD]] == load[ptx.REQUESTS[LOAD]]
    if width >= 4:
        atomic = access(f"red.global.add.u{min(width, 8) * 8}", far, "sm_90")
        assert atomic[ptx.SECTORS[ptx.PtxMemoryOperation.REDUCTION]] == definition.packets(far)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_atomics_and_generic_accesses_are_those_of_the_definition(data: st.DataObject) -> None:
    width = data.draw(st.sampled_from([4, 8]))
    near = data.draw(lanes(32, width, data.draw(st.sampled_from([64, 4096]))))
    instruction, passes = ("exch.b64", 1) if width == 8 else ("cas.b32", 2)
    atomic = access(f"atom.shared.{instruction}", near, "sm_90")
    expected = definition.shared_atomic_wavefronts(near, width) * passes
    assert atomic[ptx.WAVEFRONTS[ptx.PtxMemoryOperation.ATOMIC]] == expected
    is_near = data.draw(st.lists(st.booleans(), min_size=32, max_size=32))
    parts = [
        tuple(each if side is inside else None for each, inside in zip(near, is_near, strict=True))
        for side in (True, False)
    ]
    mixed = [
        None if each is None else each + SHARED_WINDOW * inside
        for each, inside in zip(near, is_near, strict=True)
    ]
    load = access(f"ld.{TYPES[width]}", mixed, "sm_90")
    found = load[ptx.WAVEFRONTS[LOAD]], load[ptx.CONFLICTS[LOAD]]
    # Lanes do not share loads of generic addresses.
    assert found == definition.shared_wavefronts(parts[0], width, is_load=False)
    assert load[ptx.SECTORS[LOAD]] == len(definition.blocks(parts[1], width, 32))


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_counts_on_cdna_are_those_of_the_definition(data: st.DataObject) -> None:
    chip = data.draw(st.sampled_from(cdna_rows.HIERARCHIES))
    lds = data.draw(st.sampled_from(["ds_read_u16", "ds_read_b32", "ds_read_b64", "ds_read_b128",
                                     "ds_write_b64", "ds_write_b128"]))  # fmt: skip
    row = cdna_rows.LDS_INSTRUCTIONS[lds]
    phases = cdna_rows.lds_phases(row.access, row.width, chip.lds_banks)
    assert phases is not None
    near = data.draw(lanes(64, row.width, data.draw(st.sampled_from([1024, 8192]))))
    assert access(lds, near, chip.chip)[cdna.CONFLICTS] == definition.lds_conflicts(phases, near)
    vector = data.draw(st.sampled_from(["global_load_ubyte", "global_load_dword",
                                        "global_load_dwordx2", "global_load_dwordx4"]))  # fmt: skip
    width = cdna_rows.VECTOR_INSTRUCTIONS[vector].width
    far = data.draw(lanes(64, width, data.draw(st.sampled_from([512, 1 << 20]))))
    found = access(vector, far, chip.chip)
    assert found[cdna.CACHE_ACCESSES] == definition.cache_accesses(far, width, chip.l1_line)
    assert found[cdna.READ_REQUESTS] == len(definition.blocks(far, width, chip.l1_request))


SEED_001 = [
    # GPUOpen, Understanding Memory Coalescing on GCN: sixteens instead of quads.
    ("global_load_dword", "64", 16),
    ("global_load_dword", "lane//4*64", 16),
    ("global_load_dword", "lane//4*16 + (lane^3)%4*4", 16),
    ("global_load_dword", "lane*8", 64),
    ("global_load_dwordx2", "64", 64),
    ("global_load_ubyte", "lane", 16),
]


@pytest.mark.parametrize(("instruction", "addresses", "accesses"), SEED_001)
def test_narrow_accesses_coalesce(instruction: str, addresses: str, accesses: int) -> None:
    assert access(instruction, addresses, "gfx90a")[cdna.ACCESSES] == accesses


def test_equal_stores_collapse_and_atomics_do_not() -> None:
    store = access("global_store_dword", "0", "gfx90a")
    atomic = access("global_atomic_add", "0", "gfx90a")
    assert (store[cdna.WRITE_REQUESTS], atomic[cdna.ATOMIC_REQUESTS]) == (1, 64)
    assert atomic.evidence[cdna.ATOMIC_REQUESTS] is Evidence.INFERRED


# How well it is known


def test_a_count_says_how_well_it_is_known() -> None:
    def tags(where: str, chip: str) -> Evidence:
        return access("ld.global.b32", where, chip).evidence[ptx.TAG_WAVEFRONTS]

    assert tags("lane*4", "sm_90a") is Evidence.MEASURED
    assert tags("lane*4", "sm_80") is Evidence.INFERRED
    assert tags("lane << 26", "sm_90") is Evidence.INFERRED
    mmio = {
        each: access(f"{each}.mmio.relaxed.sys.global.b32", "lane*4", "sm_90")
        for each in (LOAD, STORE)
    }
    assert mmio[LOAD].evidence[ptx.SECTORS[LOAD]] is Evidence.MEASURED
    assert mmio[LOAD].evidence[ptx.TAG_WAVEFRONTS] is Evidence.INFERRED
    assert mmio[STORE].evidence[ptx.SECTORS[STORE]] is Evidence.INFERRED


def test_every_row_of_lds_has_one_phase_for_every_lane() -> None:
    for row in cdna_rows.LDS_PHASES:
        assert sorted(lane for phase in row.phases for lane in phase) == list(range(64)), row


def test_no_kind_of_pass_has_two_rows() -> None:
    for banks in (32, 64):
        kinds = [(row.access, row.width) for row in cdna_rows.LDS_PHASES if banks in row.lds_banks]
        assert len(kinds) == len(set(kinds))


# What is refused


@pytest.mark.parametrize(
    ("addresses", "said"),
    [
        ("lane*4 +", "cannot read"),
        ("lane/4", "no part of an address: 'lane / 4'"),
        ("open('x')", "no part of an address"),
        ("lane // 0", "division by zero"),
        ("1 << (lane + 60)", "a shift by 60"),
        ("lane*2", "not aligned to 4 bytes, as this access has to be; give a multiple of 4, or"),
        ("lane*4+2", "or accesses of 2 bytes"),
        ("lane*4+1", "or accesses of a byte"),
        ("-4", "beyond the address space; give addresses from 0 to"),
        ("none + 1", "'none' is for a whole address"),
        ([0] * 31, "31 addresses for 32 lanes"),
    ],
)
def test_addresses_that_cannot_be(addresses: str | list[int], said: str) -> None:
    with pytest.raises(AddressError) as caught:
        access("ld.global.b32", addresses, "sm_90")
    assert said in str(caught.value)


def test_shared_memory_has_an_end() -> None:
    access("ld.shared.b32", "lane*4 + 232448 - 128", "sm_90")
    with pytest.raises(AddressError, match="beyond the 232448 bytes"):
        access("ld.shared.b32", "lane*4 + 232448", "sm_90")


@pytest.mark.parametrize(
    ("instruction", "target", "said"),
    [
        ("atom.add.u32", "sm_90", "atomics at generic addresses are not modelled"),
        ("atom.shared.add.u64", "sm_90", "is a loop of other accesses"),
        ("cp.async.bulk.b32", "sm_90", "unknown copy"),
        ("ld.global.shared.b32", "sm_90", "two address spaces"),
        ("ld.local.b32", "sm_90", ".local is not modelled"),
        ("mov.b32", "sm_90", "unknown instruction"),
        ("ld.foo.b32", "sm_90", "unknown word '.foo'"),
        ("st.global.nc.b32", "sm_90", "unknown word '.nc'"),
        ("ld.global.b32", "sm_91", "unknown chip"),
        ("ld.global.b32", "sm_90x", "unknown chip"),
        ("ds_read_b128 offset1", "gfx942", "unknown operand"),
        ("ds_read_b129", "gfx942", "unknown instruction"),
        ("ds_read_b32", "gfx1250", "unknown chip"),
    ],
)
def test_what_is_not_modelled(instruction: str, target: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        access(instruction, "lane*16", target)


# The command


def test_a_line_for_each_access(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = lines_of("h200-accesses.txt")[:40]
    file = tmp_path / "accesses.txt"
    file.write_text("".join(each.partition(" | ")[0] + "\n" for each in rows))
    assert main(["access", "--mcpu", "sm_90", "--json", str(file)]) == 0
    said = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
    assert [list(each) for each in said] == [list(ptx.COUNTERS)] * len(rows)
    assert [list(each.values()) for each in said] == [
        [int(word) for word in each.partition(" | ")[2].split()] for each in rows
    ]


def test_a_wrong_line_is_told_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = " ".join(["ds_read_b32", *(str(4 * lane) for lane in range(64))])
    file, output = tmp_path / "accesses.txt", tmp_path / "counts.json"
    file.write_text(f"# LDS\n{good}\n\n{good} 4\n")
    arguments = ["access", "--mcpu", "gfx942", "--json", str(file), "-o", str(output)]
    assert main(arguments) == 2
    assert json.loads(capsys.readouterr().err)["line"] == 4
    assert not output.exists()


def test_it_is_part_of_the_api() -> None:
    found = fencewright.access("ds_read_b128", "lane*16", "gfx942")
    assert (found[cdna.CONFLICTS], found[cdna.ACTIVE]) == (0, 8)


@pytest.mark.parametrize(
    "hint",
    ["L1::no_allocate", "L1::evict_first", "L2::cache_hint", "L2::128B", "relaxed.gpu", "nc"],
)
def test_a_hint_changes_no_count_of_an_access(hint: str) -> None:
    plain = access("ld.global.b32", "lane*36", "sm_90")
    assert access(f"ld.global.{hint}.b32", "lane*36", "sm_90").values == plain.values
