"""Writes the tables of docs/gpu-memory.md: what an H200 measured, beside what Fencewright says.

``python memory_page.py`` reads tests/data/memory; ``--check`` ends with status 1 if the page is another.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from memory_kernels import CDNA_LAUNCHES, CHIP, LAUNCHES, Buffer, Launch, counted
from memory_l1 import ATOMICS, FIRST, LAST, LOADS, PREDICTED
from memory_l1 import STORES as L1_STORES
from memory_l1 import Launch as L1Launch
from memory_l1 import launches as l1_launches
from memory_l1 import predicted as l1_predicted
from xdsl.context import Context

from fencewright.passes.pipelines import CDNAPipeline
from fencewright.simulator.performance.accesses.access import model_of
from fencewright.simulator.performance.accesses.ptx import TAG_WAVEFRONTS
from fencewright.tools.fence_sim import main as fence_sim
from fencewright.tools.inputs.litmus.files import parse_module
from fencewright.tools.reports.markdown import markdown_table, written

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "memory"
PAGE = ROOT / "docs" / "gpu-memory.md"


def rows_of(name: str) -> list[list[str]]:
    """The words of every line of a file of measurements."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


# Whole kernels

Counters = Mapping[str, int]


def predicted(launch: Launch, chip: str = CHIP, text: str = "") -> dict[str, int]:
    """The counters of ``fence-sim traffic`` for a launch; ``text``: its kernel, lowered already."""
    text = text or (ROOT / "examples" / launch.file).read_text(encoding="utf-8")
    found = traffic(launch, chip, text)["counters"]
    return {name: each["value"] for name, each in found.items()}


@cache
def traffic(launch: Launch, chip: str, text: str) -> dict[str, Any]:
    """The answer of ``fence-sim traffic --json`` for a launch of the kernel of a text."""
    with tempfile.TemporaryDirectory() as folder:
        kernel = Path(folder) / "kernel.mlir"
        kernel.write_text(text, encoding="utf-8")
        words = ["traffic", str(kernel), "--mcpu", chip, "--json"]
        words += ["--grid", ",".join(map(str, launch.grid))]
        words += ["--block", ",".join(map(str, launch.block))]
        for number, argument in enumerate(launch.arguments):
            if not isinstance(argument, Buffer):
                words += ["--arg", str(argument)]
                continue
            file = Path(folder) / f"{number}.npy"
            np.save(file, np.array(argument.fill(argument.count), dtype=np.uint32).view(np.int32))
            words += ["--arg", str(file)]
        output = Path(folder) / "traffic.json"
        if fence_sim([*words, "-o", str(output)]):
            raise SystemExit(f"{launch.name}: fence-sim traffic failed")
        return json.loads(output.read_text(encoding="utf-8"))


_PIPE = "pipe_lsu_mem"
EXACT = (
    *(
        (f"{what} {op}", f"l1tex__t_{what}_{_PIPE}_global_op_{op}.sum")
        for op in ("ld", "st", "red", "atom")
        for what in ("requests", "sectors")
    ),
    ("tag wavefronts", f"l1tex__t_output_wavefronts_{_PIPE}_global_op_ld.sum"),
    *(
        (f"shared wavefronts {op}", f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum")
        for op in ("ld", "st", "atom")
    ),
    *(
        (f"bank conflicts {op}", f"l1tex__data_bank_conflicts_{_PIPE}_shared_op_{op}.sum")
        for op in ("ld", "st", "atom")
    ),
)  # fmt: skip
"""What follows from the addresses alone, and what it is called here."""
MOVED = (
    ("L2 to L1, sectors", "l1tex__m_xbar2l1tex_read_sectors.sum"),
    ("L1 to L2, sectors", "l1tex__m_l1tex2xbar_write_sectors.sum"),
    ("memory to L2, bytes", "dram__bytes_read.sum"),
)
"""What caches decide too."""


def compared(launch: Launch, told: Counters, measured: Counters) -> tuple[str, ...]:
    """A row of the table: which counters are exact, which are not; what was moved."""
    both = [(name, told.get(counter, 0), measured[counter]) for name, counter in EXACT]
    live = [row for row in both if row[1] or row[2]]
    other = [f"{name} {here:,} / {there:,}" for name, here, there in live if here != there]
    moved = [f"{told.get(counter, 0):,} / {measured[counter]:,}" for _, counter in MOVED]
    return launch.name, f"{len(live) - len(other)} of {len(live)}", "; ".join(other) or "-", *moved


def kernels() -> str:
    """The counters of whole kernels: predicted, and measured."""
    measured = counted(DATA / "h200-kernels.txt")
    rows = [compared(each, predicted(each), measured[each.name]) for each in LAUNCHES]
    return markdown_table(("kernel", "exact", "not", *(name for name, _ in MOVED)), rows)


CARVE_OUTS = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)
"""KiB of an SM that may be shared memory: Hopper tuning guide, 1.4.2.4."""


def room() -> str:
    """Tag wavefronts by the lines in flight and their room."""
    found: list[tuple[object, ...]] = []
    for words in rows_of("h200-tags.txt"):
        groups, stride, shared, _, measured = map(int, words)
        resident = min(8, -(-groups // 132), 228 // (shared + 1))
        told, lines = _tag_wavefronts(groups * 8, stride)
        more = f"{measured / told - 1:.1%}"
        used = next(each for each in CARVE_OUTS if each >= resident * (shared + 1))
        found.append((groups, stride, shared, resident * 8 * lines // 8, 256 - used,
                      f"{told:,}", f"{measured:,}", more))  # fmt: skip
    head = ("work-groups", "stride", "KiB of shared memory each", "lines on the way, KiB", "room, KiB",
            "predicted", "measured", "more")  # fmt: skip
    return markdown_table(head, list(dict.fromkeys(found)))


def repeated() -> str:
    """Wavefronts of the look-back scan without some of its instructions."""
    rows: list[tuple[str, ...]] = []
    for line in (DATA / "h200-scan.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, _, counts = line.partition(": ")
            rows.append(("-" if name == "whole" else name, *counts.split()))
    return markdown_table(("without", "shared loads", "wavefronts", "conflicts"), rows)


def _tag_wavefronts(waves: int, stride: int) -> tuple[int, int]:
    """Of as many waves that load every ``stride``-th word: passes of all, and the most lines of one."""
    model = model_of("ld.global.b32", CHIP)
    words = np.arange(waves * 32, dtype=np.int64).reshape(waves, 32)
    addresses = words * stride * 4
    found = model.count(addresses, np.ones(addresses.shape, dtype=np.bool_))
    lines = max(len({*row}) for row in (addresses[:64] // 128).tolist())
    return int(found[TAG_WAVEFRONTS].sum()), lines


CDNA_CHIP = "gfx942"
_CDNA_COUNTERS = (
    ("instructions", "TA_TOTAL_WAVEFRONTS"),
    ("reads of L2", "TCP_TCC_READ_REQ"),
    ("writes", "TCP_TCC_WRITE_REQ"),
    ("atomics", "TCC_ATOMIC"),
    ("misses of L2", "TCC_MISS"),
    ("written back", "TCC_WRITEBACK"),
    ("LDS cycles", "SQ_LDS_IDX_ACTIVE"),
    ("of them conflicts", "SQ_LDS_BANK_CONFLICT"),
)


def kernels_on_cdna() -> str:
    """The counters of the same kernels on CDNA, predicted only."""
    rows: list[tuple[str, ...]] = []
    executed = [0, 0]
    for launch in CDNA_LAUNCHES:
        texts = [lowered(launch, elects=elects) for elects in (False, True)]
        found = predicted(launch, CDNA_CHIP, texts[True])
        rows.append((launch.name, *(f"{found.get(name, 0):,}" for _, name in _CDNA_COUNTERS)))
        for elects, text in enumerate(texts):
            executed[elects] += write_backs(launch, text)
    names = ", ".join(f"`{name}`" for _, name in _CDNA_COUNTERS)
    return (
        markdown_table(("kernel", *(name for name, _ in _CDNA_COUNTERS)), rows)
        + f"""
The counters: {names}. Only the spin lock has write-backs, of its first wave, one each time
that the lock is given back, so that there is nothing to elect: all kernels together execute
{executed[False]} without the pass `elect-release`, and {executed[True]} with it.
"""
    )


def lowered(launch: Launch, *, elects: bool) -> str:
    """The kernel of a launch, lowered with the pass elect-release or without."""
    source = ROOT / "examples" / launch.file
    module = parse_module(str(source), source.read_text(encoding="utf-8"))
    for step in CDNAPipeline(CDNA_CHIP).passes():
        if elects or step.name != "elect-release":
            step.apply(Context(), module)
    return str(module)


def write_backs(launch: Launch, text: str) -> int:
    """The number of waves of a launch that execute a write-back."""
    if "buffer_wbl2" not in text:
        return 0
    fences = traffic(launch, CDNA_CHIP, text)["fences"]
    return sum(each["executed"] for each in fences if each["text"].startswith("buffer_wbl2"))


LEVELS = {
    "shared": "`ld.shared`", "L1": "`ld.ca`", "L2": "`ld.cg`",
    "memory": "`ld.cg`, L2 flushed before",
}  # fmt: skip


def latencies() -> str:
    """Cycles of a dependent load, by level."""
    found = [
        (level, LEVELS[level], f"{int(size) >> 10} KiB" if int(size) < 1 << 20 else
         f"{int(size) >> 20} MiB", cycles)
        for level, _, size, _, cycles in rows_of("h200-latencies.txt")
    ]  # fmt: skip
    found.sort(key=lambda row: [*LEVELS].index(row[0]))
    return markdown_table(("served by", "load", "ring", "cycles"), found)


RATES = {
    "registers": "operands of fused multiply-adds, three of 4 bytes each",
    "shared": "`ld.shared.v4`, lanes in a row",
    "L1": "`ld.global.v4`, lanes in a row, 16 KiB that an SM has",
}


def rates() -> str:
    """Rates of all SMs together, by level."""
    found = [(level, RATES[level], f"{int(rate):,}") for level, rate in rows_of("h200-rates.txt")]
    return markdown_table(("read from", "by", "GB/s"), found)


def strides() -> str:
    """Bandwidths of strided reads."""
    found: list[tuple[object, ...]] = []
    for words, far, near in rows_of("h200-strides.txt"):
        stride = int(words) * 4
        sectors, fetched = (min(stride, size) / 4 for size in (32, 64))
        moved = f"{float(far) * fetched:,.0f}", f"{float(near) * sectors:,.0f}"
        found.append((words, stride, far, moved[0], near, moved[1]))
    head = ("stride", "bytes", "memory", "moved", "L2", "moved")
    return markdown_table(head, found)


# Lines that stay in L1

_SECTORS = 4
"""What each access of a launch on a line asks for."""


def kept() -> Mapping[str, str]:
    """The parts on lines that stay in L1: two sentences, and what each access does to a line."""
    measured = counted(DATA / "h200-l1.txt")
    launches = l1_launches()
    changed = sum(each.executed != each.accesses for each in launches)
    wrong = 0
    for launch in launches:
        told, real = l1_predicted(launch), measured[launch.name]
        wrong += any(told.get(name, 0) != real.get(name, 0) for name in PREDICTED)
    groups: dict[tuple[str, ...], list[str]] = {}
    for access in (*LOADS, *L1_STORES, *ATOMICS):
        groups.setdefault(tuple(_found(access, measured)), []).append(_short(access))
    head = ("access", "finds the line", "leaves the line", "brings it in")
    rows = [(", ".join(names), *found) for found, names in groups.items()]
    return {
        "launches": f"Of {len(launches)} launches {wrong} count otherwise than predicted.\n",
        "kept": markdown_table(head, rows),
        "forwarded": f"Of {changed} launches ptxas forwards the store to the load after it, as the "
        "count of executed local loads\nsays: they are compared without that load.\n",
    }


def _found(access: str, measured: Mapping[str, Counters]) -> Iterator[str]:
    """Whether a load hits; whether a line that was there, or was not, is there afterwards."""

    def hits(*accesses: str) -> int:
        counters = measured[L1Launch(accesses, "a line").name]
        return counters.get("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", 0)

    itself = hits(FIRST, access) if access in LOADS else 0
    yield ("yes" if itself else "no") if access in LOADS else "-"
    yield "yes" if hits(FIRST, access, LAST) - itself >= _SECTORS else "no"
    yield "yes" if hits(access, LAST) >= _SECTORS else "no"


def _short(access: str) -> str:
    return f"`{access.replace('.global', '').removesuffix('.b32').removesuffix('.add.u32')}`"


STORES = (0, 1, 2, 4, 8, 16, 32, 48)
SHAPES = ((1, 1), (8, 1), (32, 1), (1, 132), (8, 132), (32, 132))


def fences() -> Mapping[str, str]:
    """The parts on fences after stores: coalesced, and scattered."""
    middles = {
        (scope, int(lane), int(stores), (int(warps), int(blocks))): int(middle)
        for scope, lane, stores, warps, blocks, _, middle, _ in rows_of("h200-fences.txt")
    }
    head = ("fence", "warps", "SMs", *(f"n = {n}" for n in STORES))

    def table(lane: int) -> str:
        found = [
            (f"`.{scope}`", *shape, *(middles[scope, lane, n, shape] for n in STORES))
            for scope in ("cta", "gpu", "sys")
            for shape in SHAPES
        ]
        return markdown_table(head, found)

    return {"coalesced": table(4), "scattered": table(32)}


def parts() -> Mapping[str, str]:
    """The parts of the page."""
    return {
        "kernels": kernels(),
        "tags": room(),
        "repeated": repeated(),
        "cdna": kernels_on_cdna(),
        "latencies": latencies(),
        "rates": rates(),
        "strides": strides(),
        **kept(),
        **fences(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    return written(PAGE, parts(), check=parser.parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
