"""The table of strided reads in docs/hierarchy.md: an article's, the model's, and an H200's."""

from dataclasses import dataclass
from pathlib import Path

from fencewright.lowering.evidence import Evidence
from fencewright.lowering.ptx.performance.accesses import LANES, LINE, SECTOR
from fencewright.simulator.execution.program import MemoryAccessKind
from fencewright.simulator.performance.accesses import ptx
from fencewright.simulator.performance.accesses.access import access
from fencewright.tools.reports.markdown import markdown_table

ARTICLE = {1: 2500, 32: 1800, 128: 1200, 512: 900, 1024: 800}
"""GB/s by stride in floats: GPU Memory Hierarchy, Stride vs Bandwidth Summary."""

_ROOT = Path(__file__).resolve().parents[3]
MEASURED = _ROOT / "tests" / "data" / "memory" / "h200-strides.txt"


@dataclass(frozen=True, slots=True)
class StrideRow:
    """One warp that reads every ``stride``-th float: the requests of its SM.

    Efficiencies: bytes that were asked for over bytes of the lines or sectors that have them.
    """

    stride: int
    sectors: int
    lines: int
    evidence: Evidence

    @property
    def line_efficiency(self) -> float:
        """If whole lines were fetched."""
        return LANES * 4 / (self.lines * LINE)

    @property
    def sector_efficiency(self) -> float:
        """As sectors are."""
        return LANES * 4 / (self.sectors * SECTOR)


def stride_row(stride: int) -> StrideRow:
    """The model's counts for a stride."""
    counts = access("ld.global.b32", f"lane*{stride * 4}", "sm_90")
    counter = ptx.SECTORS[MemoryAccessKind.LOAD]
    lines = len({lane * stride * 4 // LINE for lane in range(LANES)})
    return StrideRow(stride, counts[counter], lines, counts.evidence[counter])


@dataclass(frozen=True, slots=True)
class MeasuredStride:
    """Useful GB/s of an H200, from memory and from L2."""

    memory: float
    l2: float


def measured_strides(file: Path) -> dict[int, MeasuredStride]:
    """By stride, the measurements; nothing without the file."""
    if not file.exists():
        return {}
    rows = (
        line.split() for line in file.read_text(encoding="utf-8").splitlines() if line[:1] != "#"
    )
    return {int(stride): MeasuredStride(float(far), float(near)) for stride, far, near in rows}


def stride_table(file: Path = MEASURED) -> str:
    """The table, with columns of the H200 where it was measured."""
    measured = measured_strides(file)
    columns = ["stride", "the article, GB/s", "sectors of a warp", "lines",
               "useful of lines", "useful of sectors"]  # fmt: skip
    if measured:
        columns += ["H200 from memory, GB/s", "H200 from L2, GB/s"]
    rows: list[list[str]] = []
    for stride, said in ARTICLE.items():
        row = stride_row(stride)
        cells = [str(stride), str(said), str(row.sectors), str(row.lines),
                 f"{row.line_efficiency:.1%}", f"{row.sector_efficiency:.1%}"]  # fmt: skip
        if stride in measured:
            cells += [f"{measured[stride].memory:g}", f"{measured[stride].l2:g}"]
        rows.append(cells)
    return markdown_table(columns, rows)
