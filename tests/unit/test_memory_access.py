"""What one memory instruction counts: measured accesses, the rules, and what is refused."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fencewright
from fencewright.lowering.cdna.performance import accesses as cdna_rows
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.evidence import Evidence
from fencewright.lowering.sequence import UnsupportedError
from fencewright.simulator.execution.addresses import (
    SHARED_WINDOW,
    AddressError,
    Addresses,
    read,
    read_many,
)
from fencewright.simulator.execution.program import MemoryAccessKind
from fencewright.simulator.performance.accesses import cdna, definition, ptx
from fencewright.simulator.performance.accesses.access import access, count, model_of
from fencewright.tools.fence_sim import main
from fencewright.tools.llvm_tools import find_llvm_tool

DATA = Path(__file__).parents[1] / "data" / "memory"
LOAD, STORE = MemoryAccessKind.LOAD, MemoryAccessKind.STORE


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


PAST_L1 = "cp.async.cg.shared.global.b128"
COMPARISONS = {"atom.global.cas.b32": (11, 12), "atom.global.cas.b64": (44, 58)}
"""Of how many launches the packets are as predicted; of ``atom.global.cas.b128`` they are of all 11."""


@pytest.mark.parametrize("instruction", [each for each in INSTRUCTIONS if each not in COMPARISONS])
def test_an_h200_counts_what_the_rules_say(instruction: str) -> None:
    rows = [(addresses, counts) for each, addresses, counts in MEASURED if each == instruction]
    found = count(model_of(instruction, "sm_90"), [each for each, _ in rows])
    for counted, (_, counts) in zip(found, rows, strict=True):
        assert counted.values == counts


@pytest.mark.parametrize("instruction", COMPARISONS)
def test_packets_of_comparisons_are_not_explained(instruction: str) -> None:
    """All but them is exact; they are within 3, and called inferred."""
    rows = [(addresses, counts) for each, addresses, counts in MEASURED if each == instruction]
    found = list(count(model_of(instruction, "sm_90"), [each for each, _ in rows]))
    off: list[int] = []
    for counted, (_, counts) in zip(found, rows, strict=True):
        wrong = {each for each, value in counted.values.items() if value != counts[each]}
        assert all(counted.evidence[each] is Evidence.INFERRED for each in wrong)
        off.append(abs(counted[ptx.WRITE_SECTORS] - counts[ptx.WRITE_SECTORS]))
    assert (off.count(0), len(off)) == COMPARISONS[instruction]
    assert max(off) <= 3
    assert found[0].evidence[ptx.REQUESTS[MemoryAccessKind.ATOMIC]] is Evidence.MEASURED


def test_the_measured_accesses_are_of_every_kind() -> None:
    """64-bit, 128-bit, vector and packed atomics, copies, .nc, generic addresses, missing lanes."""
    kinds = {
        "atom.global.add.u64", "atom.global.cas.b128", "red.global.add.v4.f32",
        "red.global.add.noftz.v4.f16x2", "cp.async.ca.shared.global.b64", PAST_L1,
        "ld.global.nc.v4.b32", "ld.v4.b32", "atom.add.u32", "ld.acquire.sys.global.b64",
    }  # fmt: skip
    assert kinds < {*INSTRUCTIONS}
    assert len(MEASURED) == 1360
    assert sum(None in addresses for _, addresses, _ in MEASURED) > 200


def test_an_h200_sends_as_many_packets_of_a_reduction() -> None:
    rows = [line.partition(" | ") for line in lines_of("h200-packets.txt")]
    given_ = [read(access.split()[1:]) for access, _, _ in rows]
    counter = ptx.SECTORS[MemoryAccessKind.REDUCTION]
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
    for operation, name, is_load in ((LOAD, "ld", True), (STORE, "st", False)):
        shared = access(f"{name}.shared.{TYPES[width]}", near, "sm_90")
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
        assert atomic[ptx.SECTORS[MemoryAccessKind.REDUCTION]] == definition.packets(far)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_atomics_and_generic_accesses_are_those_of_the_definition(data: st.DataObject) -> None:
    width = data.draw(st.sampled_from([4, 8]))
    near = data.draw(lanes(32, width, data.draw(st.sampled_from([64, 4096]))))
    instruction, passes = ("exch.b64", 1) if width == 8 else ("cas.b32", 2)
    atomic = access(f"atom.shared.{instruction}", near, "sm_90")
    expected = definition.shared_atomic_wavefronts(near, width) * passes
    assert atomic[ptx.WAVEFRONTS[MemoryAccessKind.ATOMIC]] == expected
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
def test_copies_past_l1_are_those_of_the_definition(data: st.DataObject) -> None:
    far = data.draw(lanes(32, 16, data.draw(st.sampled_from([64, 1024, 1 << 20]))))
    found = access(PAST_L1, far, "sm_90")
    assert (found[ptx.SECTORS[LOAD]], found[ptx.READ_SECTORS]) == definition.copied_past_l1(far)
    assert found[ptx.TAG_WAVEFRONTS] == definition.copy_passes(far)
    assert found[ptx.SECTORS[MemoryAccessKind.COPY]] == 0


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
        each: access(f"{name}.mmio.relaxed.sys.global.b32", "lane*4", "sm_90")
        for each, name in ((LOAD, "ld"), (STORE, "st"))
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
        ("lane // 0", "division by zero; give a divisor"),
        ("1 << (lane + 60)", "a shift by 60; give 0 to 48"),
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


def test_lds_has_an_end_after_the_offset_too() -> None:
    access("ds_read_b32 offset:65280", "lane*4", "gfx942")
    with pytest.raises(AddressError, match="bytes 65536 to 65539 are beyond"):
        access("ds_read_b32 offset:65284", "lane*4", "gfx942")


def test_amd_takes_any_address_but_of_atomics() -> None:
    """LLVM's unaligned access mode, which is the default: what it counts is inferred."""
    found = access("global_load_dword", "lane*4 + 126", "gfx942")
    assert found[cdna.READ_REQUESTS] == 3
    assert found.evidence[cdna.READ_REQUESTS] is Evidence.INFERRED
    assert (
        access("global_load_dword offset:2", "lane*4 + 126", "gfx942").evidence[cdna.READ_REQUESTS]
        is Evidence.MEASURED
    )
    with pytest.raises(AddressError, match="not aligned to 8 bytes"):
        access("global_atomic_add_x2", "lane*8 + 4", "gfx942")


@pytest.mark.parametrize(
    ("instruction", "target", "said"),
    [
        ("atom.add.u64", "sm_90", "is a loop of other accesses"),
        ("atom.shared.add.f32", "sm_90", "is a loop of other accesses"),
        ("red.shared.add.noftz.f16x2", "sm_90", "is a loop of other accesses"),
        ("cp.async.cg.shared.global.b32", "sm_90", "unknown copy"),
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
        ("ds_read_b32 offset0:1", "gfx942", "unknown operand 'offset0:1'; accepted: offset:N"),
        ("ds_read2_b32 offset1:256", "gfx942", "does not fit its field: give 0 to 255"),
        ("global_load_dword offset:4096", "gfx942", "give -4096 to 4095"),
        ("flat_load_dword offset:-4", "gfx942", "give 0 to 4095"),
        ("global_load_dword sc1", "gfx90a", "accepted: offset:N, glc, slc"),
        ("ds_read_b32 nt", "gfx942", "unknown operand 'nt'"),
        ("ds_read_b129", "gfx942", "unknown instruction"),
        ("ds_read_b32", "gfx1100", "nothing public says in which groups"),
        ("ds_read_b32", "gfx1250", "nothing public says how its caches"),
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


@given(st.lists(lanes(32, 4, 1 << 40), min_size=1, max_size=3))
@settings(max_examples=25, deadline=None)
def test_many_lines_are_read_as_one_by_one(accesses: list[Addresses]) -> None:
    lines = [" ".join("-" if at is None else str(at) for at in each) for each in accesses]
    found = read_many(lines, 32)
    assert found is not None
    addresses, active = found
    for row, used, line in zip(addresses, active, lines, strict=True):
        together = tuple(
            int(at) if is_used else None for at, is_used in zip(row, used, strict=True)
        )
        assert together == read(line.split())


@pytest.mark.parametrize("word", ["5-", "--", "-5", "0x10", "s8", "1" * 30, "4 4", "a"])
def test_what_is_unusual_is_read_line_by_line(word: str) -> None:
    """None, so that what is wrong is said as of one access; nothing is taken for what it is not."""
    good = " ".join(["4"] * 32)
    assert read_many([good, " ".join(["4"] * 31 + [word]), good], 32) is None


@pytest.mark.parametrize(
    ("instruction", "target", "bad"),
    [
        ("ld.global.v4.b32", "sm_90", 8),
        ("ld.shared.b32", "sm_90", 232448),
        ("ld.b32", "sm_90", SHARED_WINDOW),
        ("ds_read_b32 offset:65532", "gfx942", 4),
        ("global_atomic_add_x2", "gfx942", 4),
    ],
)
def test_an_array_is_admitted_where_each_access_is(instruction: str, target: str, bad: int) -> None:
    model = model_of(instruction, target)
    for places, is_admitted in (
        ([0] * model.lanes, True),
        ([*[0] * (model.lanes - 1), bad], False),
    ):
        addresses = np.array([places], dtype=np.int64)
        active = np.ones(addresses.shape, dtype=np.bool_)
        assert model.admits(addresses, active) is is_admitted
        active[0, -1] = False
        assert model.admits(addresses, active)


def test_operands_and_tabs_are_read_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "accesses.txt"
    offsets = "\t".join(str(4 * lane) for lane in range(64))
    file.write_text(
        f"ds_read2_b32  offset0:0 offset1:8 {offsets}\nglobal_atomic_add sc0 {offsets}\n"
        f"global_load_dword\t{offsets.replace('252', '-').replace('248', '0xf8')}\n"
    )
    assert main(["access", "--mcpu", "gfx942", "--json", str(file)]) == 0
    first, second, third = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == access("ds_read2_b32 offset0:0 offset1:8", "lane*4", "gfx942").values
    assert second == access("global_atomic_add sc0", "lane*4", "gfx942").values
    expected = access("global_load_dword", "lane*4 if lane < 63 else none", "gfx942")
    assert third == expected.values


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


# Which instructions there are

LLVM_MC = find_llvm_tool("llvm-mc")
AMD_INSTRUCTIONS = (
    *cdna_rows.LDS_INSTRUCTIONS.values(),
    *cdna_rows.VECTOR_INSTRUCTIONS.values(),
)


def assembly_of(each: cdna_rows.LdsInstruction | cdna_rows.VectorInstruction) -> str:
    """The instruction with registers of the sizes that it takes."""
    mnemonic, words = each.mnemonic, -(-each.width // 4)

    def registers(first: int, count: int = words) -> str:
        return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"

    is_load = each.access is Kind.LOAD
    if isinstance(each, cdna_rows.VectorInstruction):
        data = registers(4, words * 2 if "cmpswap" in mnemonic else words)
        family = mnemonic.partition("_")[0]
        if family == "buffer":
            return f"{mnemonic} {data}, v0, s[0:3], 0 offen"
        places = [data, "v[0:1]"] if is_load else ["v[0:1]", data]
        return f"{mnemonic} {', '.join(places)}{', off' if family == 'global' else ''}"
    if is_load:
        return f"{mnemonic} {registers(4, words * each.passes)}, v0"
    sources = 2 if each.passes == 2 or "cmpst" in mnemonic or "mskor" in mnemonic else 1
    given_ = [registers(4 + 4 * n) for n in range(sources)]
    return (
        f"{mnemonic} {', '.join([*([registers(4)] if '_rtn' in mnemonic else []), 'v0', *given_])}"
    )


@pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc is not installed: Debian's package llvm-22")
@pytest.mark.parametrize("chip", [each.chip for each in cdna_rows.HIERARCHIES])
def test_a_chip_has_the_instructions_that_llvm_assembles_for_it(chip: str) -> None:
    assert LLVM_MC is not None
    lines = [assembly_of(each) for each in AMD_INSTRUCTIONS]
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-o", "/dev/null"]
    said = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True)
    refused = {
        int(each.split(":")[1]) - 1 for each in said.stderr.splitlines() if ": error:" in each
    }
    absent = {n for n, each in enumerate(AMD_INSTRUCTIONS) if chip in each.absent}
    assert refused == absent
    for each in AMD_INSTRUCTIONS:
        if chip in each.absent:
            with pytest.raises(UnsupportedError, match="has no such instruction; accepted: gfx9"):
                access(each.mnemonic, "lane*16", chip)
        else:
            assert access(each.mnemonic, "lane*16", chip).values


def test_what_llvm_does_not_know_is_no_instruction() -> None:
    for mnemonic in ("ds_add_i32", "ds_inc_f32", "global_store_ubyte", "buffer_load_dwordx5"):
        with pytest.raises(UnsupportedError, match="unknown instruction"):
            access(mnemonic, "lane*16", "gfx942")


# What an access to AMD's memory counts beside its addresses


def test_buffers_are_counted_apart() -> None:
    flat, buffer = (access(f"{each}_load_dword", "lane*4", "gfx942") for each in ("flat", "buffer"))
    assert (flat[cdna.READS], flat[cdna.BUFFER_READS]) == (1, 0)
    assert (buffer[cdna.READS], buffer[cdna.BUFFER_READS]) == (0, 1)
    assert flat.evidence[cdna.READS] is Evidence.MEASURED
    assert buffer.evidence[cdna.BUFFER_READS] is Evidence.DOCUMENTED


@pytest.mark.parametrize(("chip", "bit"), [("gfx90a", "glc"), ("gfx942", "sc0")])
def test_an_atomic_that_returns_is_counted_apart(chip: str, bit: str) -> None:
    plain, returning = (
        access(f"global_atomic_add{each}", "lane*4", chip) for each in ("", f" {bit}")
    )
    assert (plain[cdna.ATOMIC_REQUESTS], plain[cdna.RETURNING_REQUESTS]) == (64, 0)
    assert (returning[cdna.ATOMIC_REQUESTS], returning[cdna.RETURNING_REQUESTS]) == (0, 64)


@pytest.mark.parametrize(
    ("addresses", "whole", "all_"),
    [
        ("lane*4", 4, 4),
        ("lane*4 if lane < 24 else none", 1, 2),
        ("lane*128", 0, 64),
        ("lane*4 + 32", 3, 5),
        ("none", 0, 0),
    ],
)
def test_what_a_store_makes_l2_write(addresses: str, whole: int, all_: int) -> None:
    """64 bytes at once where all of them were written, else the 32 that were touched."""
    found = access("global_store_dword", addresses, "gfx942")
    assert (found[cdna.FABRIC_WIDE_WRITES], found[cdna.FABRIC_WRITES]) == (whole, all_)
