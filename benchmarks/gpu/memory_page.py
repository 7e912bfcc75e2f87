"""Writes docs/gpu-memory.md: what an H200 measured, beside what Fencewright says of it.

``python memory_page.py`` reads tests/data/memory; ``--check`` ends with status 1 if the page is another.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "memory"
PAGE = ROOT / "docs" / "gpu-memory.md"


def rows_of(name: str) -> list[list[str]]:
    """The words of every line of a file of measurements."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """A Markdown table."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(['---'] * len(head))} |"
    yield from (f"| {' | '.join(map(str, row))} |" for row in rows)
    yield ""


LEVELS = {"L1": "`ld.ca`", "L2": "`ld.cg`", "memory": "`ld.cg`, L2 flushed before"}


def latencies() -> Iterator[str]:
    yield "## Latencies"
    yield ""
    yield "Cycles of a load whose address is what the load before gave, on one thread, 6,144 loads in"
    yield "random order around a ring."
    yield ""
    found = [
        (level, LEVELS[level], f"{int(size) >> 10} KiB" if int(size) < 1 << 20 else
         f"{int(size) >> 20} MiB", cycles)
        for level, _, size, _, cycles in rows_of("h200-latencies.txt")
    ]  # fmt: skip
    yield from table(("served by", "load", "ring", "cycles"), found)


def strides() -> Iterator[str]:
    yield "## Strided reads"
    yield ""
    yield "Every n-th word of 4 bytes is read: of 256 MiB from memory once, of 16 MiB that L2 has 64 times."
    yield "GB/s count the words that were asked for. *Moved* is what the sectors of 32 bytes make of it, and"
    yield "at memory the 64 bytes that L2 fetches at least."
    yield ""
    found: list[tuple[object, ...]] = []
    for words, far, near in rows_of("h200-strides.txt"):
        stride = int(words) * 4
        sectors, fetched = (min(stride, size) / 4 for size in (32, 64))
        moved = f"{float(far) * fetched:,.0f}", f"{float(near) * sectors:,.0f}"
        found.append((words, stride, far, moved[0], near, moved[1]))
    head = ("stride", "bytes", "memory", "moved", "L2", "moved")
    yield from table(head, found)


STORES = (0, 1, 2, 4, 8, 16, 32, 48)
SHAPES = ((1, 1), (8, 1), (32, 1), (1, 132), (8, 132), (32, 132))


def fences() -> Iterator[str]:
    yield "## Fences after stores"
    yield ""
    yield "Cycles of a `fence.acq_rel` that every warp executes after n stores of each lane, by how many warps"
    yield "of a work-group do so on how many SMs: the median over the warps of each warp's best of 16 rounds."
    yield ""
    middles = {
        (scope, int(lane), int(stores), (int(warps), int(blocks))): int(middle)
        for scope, lane, stores, warps, blocks, _, middle, _ in rows_of("h200-fences.txt")
    }
    for lane, said in ((4, "coalesced, 4 sectors a store"), (32, "scattered, 32 sectors a store")):
        found = [
            (f"`.{scope}`", *shape, *(middles[scope, lane, n, shape] for n in STORES))
            for scope in ("cta", "gpu", "sys")
            for shape in SHAPES
        ]
        yield f"Stores {said}:"
        yield ""
        yield from table(("fence", "warps", "SMs", *(f"n = {n}" for n in STORES)), found)
    yield "What it says for a program: a fence at `.gpu` waits for the stores of its own warp, one sector"
    yield "after another, and fences of other warps wait in the same queue. One warp of 32 that fences for its"
    yield "work-group after a barrier pays once what 32 fences pay each."
    yield ""


def page() -> str:
    """The whole page."""
    lines = [
        "# Memory on an H200: measured beside predicted",
        "",
        "<!-- Written by benchmarks/gpu/memory_page.py from tests/data/memory. -->",
        "",
        "Measured on an NVIDIA H200, driver 580.159.04, with Nsight Compute 2025.3.1 where counters are",
        "meant. `benchmarks/gpu` has the scripts. [access.md](access.md) has the rules for single accesses.",
        "",
        *latencies(),
        *strides(),
        *fences(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    if arguments.check:
        return int(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
