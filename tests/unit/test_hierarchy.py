"""What four articles say about memory, claim by claim, beside what the rows and the tools say.

docs/hierarchy.md has the same in words; each heading of the page is a section here.
"""

import json
import re
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest

from fencewright.lowering.cache_policy import CachePolicy, Lookup
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.performance.accesses import HIERARCHIES as CDNA
from fencewright.lowering.cdna.performance.devices import DEVICES
from fencewright.lowering.cdna.performance.occupancy import SIMDS
from fencewright.lowering.evidence import Evidence
from fencewright.lowering.ptx.performance.accesses import (
    DRAM_FETCH,
    EMPTIES_L1,
    LINE,
    LOAD_POLICIES,
    SECTOR,
    SHARED_BANKS,
    SHARED_WORD,
    TAG_BANKS,
    PtxHierarchy,
)
from fencewright.lowering.ptx.performance.accesses import HIERARCHIES as PTX
from fencewright.lowering.ptx.performance.devices import DEVICES as PTX_DEVICES
from fencewright.lowering.ptx.performance.devices import PtxDevice
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.execution.program import CacheLevel, KernelResources, MemoryAccessKind
from fencewright.simulator.performance.accesses import cdna, ptx
from fencewright.simulator.performance.accesses.access import access
from fencewright.simulator.performance.caches import Caches, CachesOfLevel, Outcome, Requests
from fencewright.simulator.performance.machine import machine_of
from fencewright.simulator.performance.occupancy import occupancy
from fencewright.simulator.performance.partitions import partition_of
from fencewright.simulator.performance.policies import cdna_policy, ptx_policy
from fencewright.tools.dev.pages.stride_table import (
    ARTICLE,
    measured_strides,
    stride_row,
    stride_table,
)
from fencewright.tools.fence_sim import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "hierarchy.md"
LOAD, STORE = MemoryAccessKind.LOAD, MemoryAccessKind.STORE
ONE, MANY = L2PerAgent.ONE, L2PerAgent.MANY
KIB, MIB = 1 << 10, 1 << 20


# Understanding Memory Coalescing on GCN (Timothy Lottes)


def clocks(instruction: str, addresses: str, chip: str = "gfx90a") -> int:
    """Of the address unit: it counts four accesses for each."""
    return access(instruction, addresses, chip)[cdna.ACCESSES] // 4


@pytest.mark.parametrize(
    ("instruction", "addresses", "said"),
    [
        # One channel of up to 32 bits: 4 clocks in the cases below, several channels: 16.
        ("buffer_load_dword", "lane*4", 4),
        ("buffer_load_ushort", "lane*2", 4),
        ("buffer_load_dwordx2", "lane*8", 16),
        ("buffer_load_dwordx4", "lane*16", 16),
        # All lanes at one address.
        ("buffer_load_dword", "256", 4),
        # Each aligned four at one address of its own.
        ("buffer_load_dword", "lane//4*1024", 4),
        # Each aligned four in four addresses in a row, in any order.
        ("buffer_load_dword", "lane//4*1024 + (lane*3+1)%4*4", 4),
        # None of them.
        ("buffer_load_dword", "lane*8", 16),
        ("buffer_load_dword", "(lane^2)//4*16 + lane%4*64", 16),
    ],
)
def test_rates_and_the_three_cases_that_coalesce(
    instruction: str, addresses: str, said: int
) -> None:
    assert clocks(instruction, addresses) == said


def test_a_coalesced_group_is_aligned() -> None:
    """One lane of sixteen that is apart takes its own four lanes out, and with them the wave."""
    assert clocks("buffer_load_dword", "lane*4 + (4096 if lane == 17 else 0)") == 16


@pytest.mark.parametrize(("chip", "size"), [("gfx90a", 64), ("gfx942", 128)])
def test_accesses_of_a_line_are_one_request(chip: str, size: int) -> None:
    """64 bytes, as the article has it, up to CDNA 2; reads are 128 bytes from CDNA 3 on."""
    for step in (0, 1, 4, 16, 64):
        found = access("buffer_load_dword", f"lane*{step}//4*4", chip)
        lines = len({lane * step // 4 * 4 // size for lane in range(64)})
        assert found[cdna.READ_REQUESTS] == lines
        assert found.evidence[cdna.READ_REQUESTS] is Evidence.MEASURED


def test_equal_addresses_are_one_store_and_many_atomics() -> None:
    for where, one in (("1024", 1), ("lane//32*128", 2)):
        store = access("buffer_store_dword", where, "gfx90a")
        atomic = access("buffer_atomic_add", where, "gfx90a")
        assert (store[cdna.WRITE_REQUESTS], atomic[cdna.ATOMIC_REQUESTS]) == (one, 64)


@pytest.mark.parametrize(
    "instruction", ["image_load", "image_sample", "buffer_load_format_x", "tbuffer_load_format_x"]
)
def test_rates_of_images_and_filters_are_not_modelled(instruction: str) -> None:
    """An instruction without a rule is refused, not counted as a buffer's."""
    with pytest.raises(UnsupportedError, match="unknown instruction"):
        access(instruction, "lane*4", "gfx90a")


@pytest.mark.parametrize("chip", ["gfx908", "gfx90a"])
def test_sixteen_words_of_32_bits_come_back_in_a_cycle(chip: str) -> None:
    """64 bytes: the rate of L1 up to CDNA 2. From CDNA 3 on it is twice that."""
    rates = {each.chip: each.l1_rate for each in CDNA}
    for name, bytes_ in ((chip, 16 * 4), ("gfx942", 128)):
        found = rates[name]
        assert found is not None
        assert (found.low, found.evidence) == (bytes_, Evidence.DOCUMENTED)


def test_lanes_are_numbered_along_x_then_y_then_z(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 32 x 8 threads that read a row for each y: lane 32 is the first of the second row."""
    file = str(ROOT / "examples" / "memory" / "transpose_naive.mlir")
    buffers = ["--arg", "bytes:4194304", "--arg", "bytes:4194304", "--arg", "n=1024"]
    launch = ["--mcpu", "gfx942", "--grid", "1", "--block", "32,8", *buffers, "--json"]
    assert main(["traffic", file, *launch]) == 0
    instructions = json.loads(capsys.readouterr().out)["instructions"]
    pattern = next(each["pattern"] for each in instructions if each["space"] == "global")
    assert pattern == [4 * (lane % 32 + 1024 * (lane // 32)) for lane in range(64)]


def test_four_simds_of_sixteen_lanes_take_a_wave_each_in_four_clocks() -> None:
    assert SIMDS == 4
    assert {clocks("buffer_load_dword", "lane*4", each.chip) for each in CDNA} == {64 // 16}


@pytest.mark.parametrize("width", [2, 3, 4])
def test_several_channels_go_in_aligned_fours(width: int) -> None:
    """As texels of an image: sixteen groups, whatever the lanes of a group want of each other."""
    for where in (f"lane*{4 * width}", "256", f"(lane^3)*{4 * width}"):
        assert clocks(f"buffer_load_dwordx{width}", where) == 64 // 4


def test_equal_addresses_on_nvidia() -> None:
    """The same there: measured on an H200."""
    store = access("st.global.b32", "1024", "sm_90")
    atomic = access("red.global.add.u32", "1024", "sm_90")
    reduction = ptx.SECTORS[MemoryAccessKind.REDUCTION]
    assert (store[ptx.SECTORS[STORE]], atomic[reduction]) == (1, 32)
    assert atomic.evidence[reduction] is Evidence.MEASURED


# GPU Memory Hierarchy (strides on NVIDIA)


def device(name: str) -> PtxDevice:
    (found,) = [each for each in PTX_DEVICES if each.name == name]
    return found


def test_bandwidth_of_shared_memory_and_l1_follows_from_its_banks() -> None:
    """32 banks of 4 bytes a clock in each SM are more than the article's 12 to 19 TB/s."""
    h200 = device("h200")
    peak = SHARED_BANKS * SHARED_WORD * h200.sms * h200.clock.high / 1000
    assert peak == pytest.approx(33_454, rel=0.001)
    found = h200.l1_bandwidth
    assert found is not None
    assert found.evidence is Evidence.MEASURED
    assert 19_000 < 0.99 * peak < found.low <= found.high < peak


def test_bandwidth_of_l2_has_a_measured_range() -> None:
    """The article's 6 to 8 TB/s are in it; where sectors are scattered it is far less."""
    found = device("h200").l2_bandwidth
    assert found is not None
    assert found.evidence is Evidence.MEASURED
    assert found.low < 6000 < 8000 < found.high
    measured = measured_strides(ROOT / "tests" / "data" / "memory" / "h200-strides.txt")
    assert 5000 < measured[1].l2 < found.high


def test_what_does_not_fit_into_l2_is_read_from_memory() -> None:
    """Whatever the stride an H200 reads slower then, by more than half."""
    measured = measured_strides(ROOT / "tests" / "data" / "memory" / "h200-strides.txt")
    assert all(2 * measured[each].memory < measured[each].l2 for each in (1, 32, 128, 512))
    assert measured[1024].memory < measured[1024].l2


def test_registers_give_far_more_than_the_article_says() -> None:
    """An H200's multiply-adds read 386 TB/s of operands, where the article has about 20."""
    found = device("h200").register_bandwidth
    assert found is not None
    assert found.evidence is Evidence.MEASURED
    assert found.low > 15 * 20_000


def test_latency_of_a_register_is_in_no_row() -> None:
    """About a cycle, says the article: no one has said how it would be told from the pipeline's."""
    assert not [each for each in PtxHierarchy.__slots__ if "register" in each and "latency" in each]


def test_memory_is_from_80_to_192_gb() -> None:
    """As vendors count, by 10⁹: a B200 gives 191 of them to programs."""
    sizes = [device(each).memory // 10**9 for each in ("h100", "h200", "b200")]
    assert sizes == sorted(sizes)
    assert 80 <= sizes[0] <= sizes[-1] <= 192


def test_a_line_is_four_sectors_of_eight_floats() -> None:
    assert (LINE, LINE // SECTOR, LINE // 4) == (128, 4, 32)
    assert access("ld.global.b32", "lane*4", "sm_90")[ptx.SECTORS[LOAD]] == LINE // SECTOR


def test_sizes_and_latencies_of_the_article() -> None:
    """Its figures are of several chips: the rows are within them, except L2, which is smaller."""
    (h100,) = [each for each in PTX if each.number == 90]
    assert h100.registers.high * 4 == 256 * KIB
    assert h100.l1 is not None
    assert h100.l1.high == 256 * KIB
    assert h100.l2 is not None
    assert h100.l2.low == 50 * MIB
    latencies = (h100.l1_latency, h100.l2_latency, h100.memory_latency)
    said = (30, 200, 400)
    for found, least in zip(latencies, said, strict=True):
        assert found is not None
        assert found.low >= least
        assert found.evidence is Evidence.MEASURED
    (board,) = [each for each in PTX_DEVICES if each.name == "h100"]
    assert board.bandwidth.high == 3350


@pytest.mark.parametrize(("stride", "wavefronts"), [(1, 1), (2, 2), (16, 16), (32, 32), (33, 1)])
def test_a_bank_conflict_serialises(stride: int, wavefronts: int) -> None:
    found = access("ld.shared.b32", f"lane*{stride * 4}", "sm_90")
    assert found[ptx.WAVEFRONTS[LOAD]] == wavefronts
    assert SHARED_BANKS == 32


@pytest.mark.parametrize(
    ("stride", "sectors", "lines", "of_lines", "of_sectors"),
    [
        (1, 4, 1, 1, 1),
        (32, 32, 32, 1 / 32, 1 / 8),
        (128, 32, 32, 1 / 32, 1 / 8),
        (512, 32, 32, 1 / 32, 1 / 8),
        (1024, 32, 32, 1 / 32, 1 / 8),
    ],
)
def test_strides(stride: int, sectors: int, lines: int, of_lines: float, of_sectors: float) -> None:
    """What is fetched are sectors, so that a stride of a line is 12.5 % efficient and not 3.1 %."""
    row = stride_row(stride)
    assert (row.sectors, row.lines) == (sectors, lines)
    assert (row.line_efficiency, row.sector_efficiency) == (of_lines, of_sectors)
    assert row.evidence is Evidence.MEASURED


def test_the_article_has_these_strides() -> None:
    assert set(ARTICLE) == {1, 32, 128, 512, 1024}


def test_what_an_h200_reads_falls_with_the_stride() -> None:
    """The figures of the article cannot be bytes that were asked for: beyond a line they fall on."""
    measured = measured_strides(ROOT / "tests" / "data" / "memory" / "h200-strides.txt")
    useful = [measured[stride].memory for stride in ARTICLE]
    assert useful == sorted(useful, reverse=True)
    for stride, row in measured.items():
        efficiency = stride_row(stride).sector_efficiency
        assert row.memory / efficiency < 4800
    assert ARTICLE[1024] > 20 * measured[1024].memory


def counters_of(kernel: str, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, int]:
    """What ``fence-sim traffic`` counts of a kernel of examples/memory on sm_90."""
    file = str(ROOT / "examples" / "memory" / f"{kernel}.mlir")
    assert main(["traffic", file, "--mcpu", "sm_90", "--json", *words]) == 0
    found = json.loads(capsys.readouterr().out)["counters"]
    return {name: each["value"] for name, each in found.items()}


def of_h200(launch: str) -> dict[str, int]:
    """What Nsight Compute counted of a whole kernel on an H200."""
    text = (ROOT / "tests" / "data" / "memory" / "h200-kernels.txt").read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n{launch}\n")
    rows = takewhile(lambda each: each[:1] == " ", rest.splitlines())
    return {name: int(value) for name, value in (line.split() for line in rows)}


REQUESTED = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def test_l2_serves_nothing_of_what_is_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a copy word by word all bytes come from memory: the 2,500 GB/s are not those of L2."""
    sizes = ("--arg", "bytes:16384", "--arg", "bytes:16384", "--arg", "stride=1")
    told = counters_of("copy", capsys, "--grid", "16", "--block", "256", *sizes)
    assert told["dram__bytes_read.sum"] == 32 * told[REQUESTED] == 16384
    real = of_h200("copy, stride 1")
    assert real["dram__bytes_read.sum"] >= 32 * real[REQUESTED]


def test_a_miss_of_l2_fetches_half_a_line() -> None:
    """Every 32nd word: memory gives 64 bytes for each sector of 32, not the line of 128."""
    real = of_h200("copy, stride 32")
    fetched = real["dram__bytes_read.sum"] / real[REQUESTED]
    assert DRAM_FETCH.evidence is Evidence.MEASURED
    assert DRAM_FETCH.low == LINE / 2 == pytest.approx(fetched, rel=0.001)


def test_tiles_in_shared_memory_are_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A matrix product asks memory for a sixteenth of what L1 hands out, and L1 for a 16th of its words."""
    real = of_h200("matrix product")
    asked = 32 * real[REQUESTED]
    assert real["dram__bytes_read.sum"] < asked / 15
    words = 4 * 2 * 256**3
    assert asked == words / 16


def test_scattered_words_take_a_sector_each() -> None:
    """An embedding's rows, or a sparse matrix: 12.5 % of what is moved is used."""
    found = access("ld.global.b32", "(lane*40503 % 65536)*64", "sm_90")
    assert found[ptx.SECTORS[LOAD]] == 32
    assert 4 * 32 / (SECTOR * found[ptx.SECTORS[LOAD]]) == 0.125


def test_a_copy_to_shared_memory_moves_as_much_as_a_load() -> None:
    """cp.async hides latency, of which no counter tells; it saves no sector."""
    for where in ("lane*16", "lane*128"):
        load = access("ld.global.v4.b32", where, "sm_90")
        copy = access("cp.async.ca.shared.global.b128", where, "sm_90")
        assert copy[ptx.READ_SECTORS] == load[ptx.READ_SECTORS]
        assert copy.evidence[ptx.READ_SECTORS] is Evidence.MEASURED


def test_without_the_measurement_there_is_no_column(tmp_path: Path) -> None:
    table = stride_table(tmp_path / "h200-strides.txt")
    assert "H200" not in table
    assert table.count("\n") == 2 + len(ARTICLE)


def test_the_page_has_the_table() -> None:
    table = stride_table(ROOT / "tests" / "data" / "memory" / "h200-strides.txt")
    assert table in PAGE.read_text(encoding="utf-8")


# Errata: L1 Cache Behavior


def test_plain_loads_hit_l1_though_the_data_may_change() -> None:
    assert ptx_policy(LOAD, ["ld", "global", "b32"]).l1 is Lookup.HIT_LRU
    (plain,) = [each for each in LOAD_POLICIES if not each.words]
    assert plain.evidence is Evidence.MEASURED


def sectors_of_l1(launch: str) -> tuple[int, int]:
    """Hits and misses of the loads of one of the launches of benchmarks/gpu/memory_l1.py."""
    text = (ROOT / "tests" / "data" / "memory" / "h200-l1.txt").read_text(encoding="utf-8")
    _, _, rest = f"\n{text}".partition(f"\n{launch}\n")
    counted = dict(
        line.split() for line in takewhile(lambda each: each[:1] == " ", rest.splitlines())
    )
    name = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_{}.sum"
    return int(counted.get(name.format("hit"), 0)), int(counted.get(name.format("miss"), 0))


def test_an_acquire_empties_l1_which_is_not_coherent() -> None:
    """Of two loads of a line the second hits, but for a fence between them that acquires beyond a block."""
    load = "ld.global.ca.b32"
    assert sectors_of_l1(f"{load}; {load} (a line)") == (4, 4)
    assert sectors_of_l1(f"{load}; fence.acq_rel.cta; {load} (a line)") == (4, 4)
    assert sectors_of_l1(f"{load}; fence.acq_rel.gpu; {load} (a line)") == (0, 8)
    assert {"gpu", "sys"} < EMPTIES_L1


def test_more_than_a_line_comes_from_l1_in_a_pass() -> None:
    """The labs had it give one line of 128 bytes: it gives four, and the H200 reads 128 bytes a clock."""
    found = access("ld.global.b32", "lane//8*128 + lane%8*4", "sm_90")
    assert found[ptx.TAG_WAVEFRONTS] == 1
    assert found.evidence[ptx.TAG_WAVEFRONTS] is Evidence.MEASURED


@pytest.mark.parametrize(("word", "hits"), [("nc", True), ("ca", True), ("cg", False)])
def test_what_hits_by_its_words(word: str, hits: bool) -> None:
    assert ptx_policy(LOAD, ["ld", "global", word, "b32"]).l1.hits is hits
    (row,) = [each for each in LOAD_POLICIES if each.words == (word,)]
    assert row.evidence is Evidence.MEASURED


@pytest.mark.parametrize(
    ("word", "condition", "holds"),
    [("ca", "~exists", "Ok"), ("cg", "~exists", "Ok"), ("nc", "exists", "Ok")],
)
def test_what_may_be_stale_by_its_words(
    word: str, condition: str, holds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An acquire makes fresh what is loaded after it, unless it is loaded without coherence."""
    file = tmp_path / "MP.litmus"
    file.write_text(
        "PTX MP\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
        " st.weak x, 1 | ld.acquire.gpu r0, y ;\n"
        f" st.release.gpu y, 1 | ld.global.{word} r1, x ;\n"
        f"{condition} (P1:r0 == 1 /\\ P1:r1 == 0)\n"
    )
    assert main(["run", str(file)]) == 0
    assert f"\n{holds}\n" in capsys.readouterr().out


@pytest.mark.parametrize(("lines", "passes"), [(1, 1), (2, 1), (4, 1), (8, 2), (16, 4), (32, 8)])
def test_four_tags_a_cycle(lines: int, passes: int) -> None:
    found = access("ld.global.b32", f"lane%{lines}*128 + lane//{lines}*4", "sm_90")
    assert found[ptx.TAG_WAVEFRONTS] == passes
    assert TAG_BANKS == 4


def test_four_lines_of_four_sectors_in_one_pass() -> None:
    found = access("ld.global.v4.b32", "lane*16", "sm_90")
    assert (found[ptx.SECTORS[LOAD]], found[ptx.TAG_WAVEFRONTS]) == (16, 1)


def test_not_any_four_lines_are_looked_up_at_once() -> None:
    """Beyond the article: four lines that fall into one bank of the tags take four passes."""
    near, far = (access("ld.global.b32", f"lane%4*{step}", "sm_90") for step in (128, 640))
    assert near[ptx.TAG_WAVEFRONTS] == 1
    assert far[ptx.TAG_WAVEFRONTS] == 4


@pytest.mark.parametrize(("bytes_", "sectors"), [(1, 1), (32, 1), (33, 2), (128, 4)])
def test_a_miss_fetches_sectors_and_not_lines(bytes_: int, sectors: int) -> None:
    where = f"lane*4 if lane*4 < {bytes_} else none"
    found = access("ld.global.b32", where, "sm_90")
    assert found[ptx.READ_SECTORS] == sectors


# Inside the Memory Hierarchy and Model of AMD CDNA GPUs (MrRoy09)

MEMORY_LINE = re.compile(r"Observation \S+ (\w+)")
SCOPES = {"wave": (), "group": ("sc0",), "agent": ("sc1",), "system": ("sc0", "sc1")}


def observed(
    text: str,
    l2: L2PerAgent,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    features: str = "",
) -> bool:
    """Whether the machine of gfx942 can end as the test asks."""
    file = folder / "test.mlir"
    file.write_text(text)
    mode = ["--mattr", features] if features else []
    main(["run", str(file), "--mcpu", "gfx942", "--l2-per-agent", str(l2), *mode])
    found = MEMORY_LINE.search(capsys.readouterr().out)
    assert found is not None
    return found[1] != "Never"


def two_threads(first: str, second: str, condition: str) -> str:
    def thread(number: int, body: str) -> str:
        return (
            f"litmus.thread @P{number} at <workgroup = {number}, agent = 0> {{\n"
            "%x = litmus.address @x : !cdna.vgpr<2>\n%f = litmus.address @f : !cdna.vgpr<2>\n"
            f"{body}cdna.end s_endpgm\n}}\n"
        )

    return (
        "litmus.test @t {\nlitmus.location @x = 0 : i32\nlitmus.location @f = 0 : i32\n"
        f'{thread(0, first)}{thread(1, second)}litmus.condition "{condition}"\n}}\n'
    )


def store(where: str, bits: tuple[str, ...]) -> str:
    words = ", ".join(f'"{each}"' for each in bits)
    return (
        f"cdna.store global_store_dword %{where}, %one {{modifiers = [{words}]}} : "
        "(!cdna.vgpr<2>, !cdna.vgpr) -> ()\ncdna.s_waitcnt vmcnt(0)\n"
    )


def load(name: str, where: str, bits: tuple[str, ...]) -> str:
    words = ", ".join(f'"{each}"' for each in bits)
    return (
        f"%{name} = cdna.load global_load_dword %{where} {{modifiers = [{words}]}} : "
        f"(!cdna.vgpr<2>) -> !cdna.vgpr\ncdna.s_waitcnt vmcnt(0)\n"
    )


ONE_CONSTANT = "%one = cdna.const 1 : !cdna.vgpr\n"
FAR = ("sc0", "sc1")


def observe(*names: str) -> str:
    return "".join(
        f'litmus.observe "r{number}", %{name} : !cdna.vgpr\n' for number, name in enumerate(names)
    )


@pytest.mark.parametrize("l2", [ONE, MANY])
@pytest.mark.parametrize("scope", SCOPES)
def test_a_load_finds_what_its_row_lets_it_hit(
    scope: str, l2: L2PerAgent, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line that is in L1 and L2 from before, and is stale, is found where the table says Hit."""
    bits = SCOPES[scope]
    policy = cdna_policy("gfx942", LOAD, bits, l2)
    stale_in_l2 = l2 is MANY and policy.l2 is not Lookup.BYPASS
    assert observed(loaded_twice(bits), l2, tmp_path, capsys) is (policy.l1.hits or stale_in_l2)


def loaded_twice(bits: tuple[str, ...]) -> str:
    """The second load, with ``bits``, after the value has changed: does it find the first one's?"""
    return two_threads(
        ONE_CONSTANT + store("x", FAR) + store("f", FAR),
        load("before", "x", ()) + load("flag", "f", FAR) + load("after", "x", bits)
        + observe("before", "flag", "after"),
        "exists (P1:r0 = 0 and P1:r1 = 1 and P1:r2 = 0)",
    )  # fmt: skip


def test_l1_and_lds_are_apart_and_on_nvidia_one_memory() -> None:
    """NVIDIA's L1 is what shared memory leaves of one memory; a CU of AMD has both in full."""
    for row in PTX:
        if row.l1 is not None:
            assert row.shared.high < row.l1.high
    assert [(each.l1 // KIB, CHIPS[each.chip].lds_bytes // KIB) for each in CDNA] == [
        (16, 64), (16, 64), (32, 64), (32, 160),
    ]  # fmt: skip


def test_what_each_lookup_does_to_a_line() -> None:
    """Hit and Miss say whether a line serves; LRU keeps it, Evict drops it, Stream lets it go first."""
    reuse, drop, stream = (
        CachePolicy(Lookup.MISS_EVICT, l2, Lookup.HIT_LRU)
        for l2 in (Lookup.HIT_LRU, Lookup.HIT_EVICT, Lookup.HIT_STREAM)
    )
    for policy, found_again in ((reuse, True), (drop, False), (stream, True)):
        caches = Caches(machine_of("gfx942").caches)
        seen = [of_line(caches, 0, policy)[1] for _ in range(2)]
        assert [each.hit > 0 for each in seen] == [False, found_again]
    # A cache of one line more than was streamed: what was streamed goes first, though used last.
    shape = machine_of("gfx942").caches.levels[1]
    cache = CachesOfLevel(replace(shape, lines=2))
    for line, lookup in ((1, Lookup.HIT_LRU), (2, Lookup.HIT_STREAM), (3, Lookup.HIT_LRU)):
        cache.load(whole_line(line), lookup)
    assert [cache.load(whole_line(line), Lookup.HIT_KEEP).hit > 0 for line in (1, 2, 3)] == [
        True, False, True,
    ]  # fmt: skip


def whole_line(number: int) -> Requests:
    return Requests(np.array([0]), np.array([number]), np.array([0xFFFFFFFF], dtype=np.uint32))


def of_line(caches: Caches, group: int, policy: CachePolicy) -> tuple[Outcome, ...]:
    """What a load of one line by a work-group does at each level."""
    core = caches.chip.core_of(np.array([group]))
    line = Requests(core, np.array([1 << 23]), np.array([0xFFFFFFFF], dtype=np.uint32))
    return caches.access(line, LOAD, policy, is_scalar=False)


def test_scope_bits_on_every_load_cost_a_miss_each() -> None:
    """Eight loads of a line: one miss of L1, with sc1 eight; with several L2s an agent eight of L2 too."""
    for bits, l2, misses in (((), ONE, (1, 1)), (("sc1",), ONE, (8, 1)), (("sc1",), MANY, (8, 8))):
        caches = Caches(machine_of("gfx942").caches)
        policy = cdna_policy("gfx942", LOAD, bits, l2)
        moved = [of_line(caches, 0, policy) for _ in range(8)]
        found = tuple(sum(each[level].missed > 0 for each in moved) for level in (0, 1))
        assert found == misses


def test_a_write_back_writes_every_dirty_line_of_its_die() -> None:
    """Of whatever wave; the line stays, clean. Another die's lines stay dirty."""
    caches = Caches(machine_of("gfx942").caches)
    for group in (0, 1, 8):
        one_line(caches, STORE, group)
    assert caches.dirty_bytes == 2 * 128
    assert caches.write_back(np.array([8]))[1].evicted == 1
    assert caches.dirty_bytes == 128
    assert one_line(caches, LOAD, 16)[1][1] > 0


def test_an_invalidate_drops_l1_and_of_l2_what_is_not_local() -> None:
    """As the article says of the probes: local lines of L2 are kept fresh, and need no instruction."""
    place = (1 << 23) * 128
    for remote, kept in (((), True), (((place, place + 128),), False)):
        caches = Caches(machine_of("gfx942").caches, remote)
        one_line(caches, LOAD, 0)
        for level in (CacheLevel.L1, CacheLevel.L2):
            caches.invalidate(level, np.array([0]), 0)
        first, second, _ = one_line(caches, LOAD, 0)
        assert (first[1], second[1] > 0) == (0, kept)


@pytest.mark.parametrize(("memory", "stale"), [("local", False), ("nonlocal", True)])
def test_probes_keep_the_l2s_of_other_dies_fresh(
    memory: str, stale: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A store of system scope drops the line that another XCD has: only of local memory.

    With tgsplit loads of group scope miss L1, so that it is L2 that has the line.
    """
    text = two_threads(
        ONE_CONSTANT + store("x", FAR) + store("f", FAR),
        load("before", "x", ("sc0",)) + load("flag", "f", FAR) + load("after", "x", ("sc0",))
        + observe("before", "flag", "after"),
        "exists (P1:r0 = 0 and P1:r1 = 1 and P1:r2 = 0)",
    ).replace("@x = 0 : i32", f'@x = 0 : i32 {{kind = "{memory}"}}')  # fmt: skip
    assert observed(text, MANY, tmp_path, capsys, "+tgsplit") is stale


def test_lds_has_atomics_of_its_own() -> None:
    """Each lane on one word takes a cycle of its own."""
    found = access("ds_add_u32", "0", "gfx942")
    assert found[cdna.ADDRESS_CONFLICTS] == 63
    assert found.evidence[cdna.ADDRESS_CONFLICTS] is Evidence.INFERRED


def test_a_bit_of_scope_asks_an_atomic_for_the_old_value() -> None:
    plain, returning = (access(f"global_atomic_add{each}", "0", "gfx942") for each in ("", " sc0"))
    assert (plain[cdna.ATOMIC_REQUESTS], returning[cdna.RETURNING_REQUESTS]) == (64, 64)
    policies = [
        cdna_policy("gfx942", MemoryAccessKind.ATOMIC, bits, ONE) for bits in ((), ("sc0",))
    ]
    assert policies[0] == policies[1]


def test_registers_limit_the_waves_too() -> None:
    """512 registers a lane: a wave with 128 lets four be there, whatever its LDS."""
    few, many = (
        occupancy(KernelResources(None, registers, 0, 0, 0), "gfx942", 64).waves
        for registers in (64, 128)
    )
    assert (few, many) == (32, 16)


def test_group_scope_in_threadgroup_split_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The waves of a work-group may be on several CUs, so that its L1 is not theirs alone."""
    assert cdna_policy("gfx942", LOAD, ["sc0"], ONE, tgsplit=True).l1 is Lookup.MISS_LRU
    text = loaded_twice(("sc0",))
    assert observed(text, ONE, tmp_path, capsys)
    assert not observed(text, ONE, tmp_path, capsys, "+tgsplit")


@pytest.mark.parametrize("l2", [ONE, MANY])
@pytest.mark.parametrize("scope", SCOPES)
def test_a_store_leaves_a_dirty_line_where_its_row_lets_it_hit(
    scope: str, l2: L2PerAgent, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On another XCD memory is read: it is stale where the store stayed in its L2."""
    bits = SCOPES[scope]
    text = two_threads(
        ONE_CONSTANT + store("x", bits) + store("f", FAR),
        load("flag", "f", FAR) + load("data", "x", FAR) + observe("flag", "data"),
        "exists (P1:r0 = 1 and P1:r1 = 0)",
    )
    policy = cdna_policy("gfx942", STORE, bits, l2)
    dirty_elsewhere = l2 is MANY and policy.l2 is not Lookup.BYPASS
    assert observed(text, l2, tmp_path, capsys) is dirty_elsewhere
    assert not policy.l1.hits


@pytest.mark.parametrize("kind", [LOAD, STORE])
@pytest.mark.parametrize("scope", SCOPES)
def test_without_reuse_a_line_goes(kind: MemoryAccessKind, scope: str) -> None:
    policy = cdna_policy("gfx942", kind, (*SCOPES[scope], "nt"), ONE)
    assert policy.l1 is Lookup.MISS_EVICT
    assert policy.l2 is (Lookup.BYPASS if scope == "system" else Lookup.HIT_STREAM)
    assert policy.last_level is Lookup.HIT_EVICT


def test_the_caches_of_the_article() -> None:
    (new,) = [each for each in CDNA if each.chip == "gfx950"]
    assert (new.l2, new.mall) == (4 * MIB, 256 * MIB)
    assert new.instructions is not None
    assert new.instructions.compute_units == 2
    assert new.scalar is not None
    assert new.scalar.compute_units > 1
    assert [CHIPS[each].lds_bytes // KIB for each in ("gfx942", "gfx950")] == [64, 160]


@pytest.mark.parametrize(("stride", "cycles"), [(1, 2), (32, 64), (33, 2)])
def test_banks_of_lds_and_what_spreads_over_them(stride: int, cycles: int) -> None:
    """32 banks of 4 bytes: a wave's words in one bank are served one after another."""
    assert access("ds_read_b32", f"lane*{4 * stride}", "gfx942")[cdna.ACTIVE] == cycles


def test_a_swizzle_spreads_a_column_over_the_banks() -> None:
    column, swizzled = (
        access("ds_read_b32", where, "gfx942")
        for where in ("lane%32*128 + lane//32*4", "lane%32*128 + (lane//32 ^ lane%32)*4")
    )
    assert (column[cdna.CONFLICTS], swizzled[cdna.CONFLICTS]) == (62, 0)


def test_more_groups_fit_where_there_is_more_lds() -> None:
    needs = KernelResources(32, 0, 32, 40 * KIB, 0)
    assert [occupancy(needs, each, 256).groups for each in ("gfx942", "gfx950")] == [1, 4]


@pytest.mark.parametrize(
    ("mode", "agents", "dies", "l2"),
    [("SPX", 1, 8, MANY), ("DPX", 2, 4, MANY), ("QPX", 4, 2, MANY), ("CPX", 8, 1, ONE)],
)
@pytest.mark.parametrize("device", ["mi300x", "mi355x"])
def test_partitions(device: str, mode: str, agents: int, dies: int, l2: L2PerAgent) -> None:
    found = partition_of(device, mode)
    assert (found.agents, found.dies, found.l2_per_agent) == (agents, dies, l2)


def test_compute_units_of_an_xcd_differ() -> None:
    units = {each.name: each.compute_units for each in DEVICES}
    assert (units["mi300x"], units["mi355x"]) == (38, 32)
    dies = {each.name: each.dies for each in DEVICES}
    assert [dies[each] * units[each] for each in ("mi300x", "mi355x")] == [304, 256]


def one_line(caches: Caches, kind: MemoryAccessKind, group: int) -> list[tuple[int, int, int]]:
    """Looked up, hit and written by each level of gfx942 for a line of a work-group's."""
    core = caches.chip.core_of(np.array([group]))
    line = Requests(core, np.array([1 << 23]), np.array([0xFFFFFFFF], dtype=np.uint32))
    moved = caches.access(line, kind, cdna_policy("gfx942", kind, (), ONE), is_scalar=False)
    return [(each.looked_up, each.hit, len(each.writes)) for each in moved]


def test_l2_is_written_back_and_brings_in_what_is_stored() -> None:
    """Of work-groups 0 and 8, which are on one XCD: the store stays in L2, and the load hits there."""
    caches = Caches(machine_of("gfx942").caches)
    assert one_line(caches, STORE, 0)[1][2] == 0
    loaded = one_line(caches, LOAD, 8)
    assert loaded[0][1] == 0
    assert loaded[1][1] == loaded[1][0] == 1
    assert caches.dirty_bytes == 128


def test_the_infinity_cache_is_never_dirty() -> None:
    """What L2 writes back goes through it to memory at once."""
    caches = Caches(machine_of("gfx942").caches)
    one_line(caches, STORE, 0)
    _, second, last = caches.write_back(np.array([0]))
    assert len(second.writes) == len(last.writes) == 1
    assert caches.dirty_bytes == 0


def test_atomics_run_in_l2() -> None:
    """Past L1, which loses its line of them. With several L2s an agent they pass those too."""
    caches = Caches(machine_of("gfx942").caches)
    one_line(caches, LOAD, 0)
    assert one_line(caches, LOAD, 0)[0][1] == 1
    found = one_line(caches, MemoryAccessKind.ATOMIC, 0)
    assert found[0][2] == 1
    assert found[1][1] == found[1][0]
    assert one_line(caches, LOAD, 0)[0][1] == 0


def test_how_many_ways_nvidias_caches_have_is_not_said_by_nvidia() -> None:
    """The article says 16 to 32 of L2: no row has it."""
    assert not [each for each in PtxHierarchy.__slots__ if "ways" in each]


# The page


def test_the_page_names_every_section() -> None:
    text = PAGE.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [
        "Understanding Memory Coalescing on GCN",
        "GPU Memory Hierarchy",
        "Errata: L1 Cache Behavior",
        "Inside the Memory Hierarchy and Model of AMD CDNA GPUs",
    ]


@dataclass(frozen=True)
class Claim:
    """A row of the page: its number, what is said of it, how well that is known, its tests."""

    number: str
    verdict: str
    known: str
    tests: frozenset[str]


def claims(text: str) -> list[Claim]:
    """Every row of the tables whose first column is a number like 2.7."""
    rows = [
        line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| \d\.\d", line)
    ]
    return [
        Claim(
            cells[0].strip(), re.split("[:,.;]| where", cells[2].strip())[0], cells[3].strip(),
            frozenset(re.findall(r"`(test_\w+)`", cells[4])),
        )
        for cells in rows
    ]  # fmt: skip


VERDICTS = {"same", "differs", "in part", "not modelled", "not known"}
CLAIMS = claims(PAGE.read_text(encoding="utf-8"))


def wrong_rows(rows: list[Claim], tests: set[str]) -> list[str]:
    """What a row lacks: a test that there is, a verdict, or how well it is known."""
    found: list[str] = []
    for row in rows:
        if not row.tests or not row.tests <= tests:
            found.append(f"{row.number}: no such test")
        if row.verdict not in VERDICTS:
            found.append(f"{row.number}: no verdict")
        is_open = row.verdict in ("not modelled", "not known")
        levels = [word for word in ("measured", "documented", "inferred") if word in row.known]
        if is_open is not (row.known == "-") or (not is_open and not levels):
            found.append(f"{row.number}: how well is it known")
    return found


def test_each_claim_has_its_test_and_says_how_well_it_is_known() -> None:
    assert wrong_rows(CLAIMS, set(globals())) == []
    sections = [row.number.split(".") for row in CLAIMS]
    for number in ("1", "2", "3", "4"):
        numbers = [int(part) for section, part in sections if section == number]
        assert numbers == [*range(1, len(numbers) + 1)]


def test_a_row_without_a_test_is_found() -> None:
    row = CLAIMS[0]
    assert wrong_rows([replace(row, tests=frozenset())], set(globals())) != []
    assert wrong_rows([replace(row, tests=frozenset({"test_nothing"}))], set(globals())) != []
    assert wrong_rows([replace(row, verdict="maybe")], set(globals())) != []
    assert wrong_rows([replace(row, known="-")], set(globals())) != []


def test_each_test_of_a_claim_is_on_the_page() -> None:
    """But for those of the page itself and of its table."""
    named = frozenset[str]().union(*(row.tests for row in CLAIMS))
    own = {name for name in globals() if name.startswith("test_")}
    of_page = {
        "test_the_article_has_these_strides", "test_without_the_measurement_there_is_no_column",
        "test_the_page_has_the_table", "test_the_page_names_every_section",
        "test_each_claim_has_its_test_and_says_how_well_it_is_known",
        "test_a_row_without_a_test_is_found", "test_each_test_of_a_claim_is_on_the_page",
    }  # fmt: skip
    assert own - of_page == named
