"""The tables of the page of repairs: the museum's exhibits and leaner kernels, as recorded."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencewright.tools.dev.pages.museum_page import ROOT
from fencewright.tools.reports.markdown import markdown_table

RECORD = ROOT / "repairs.tsv"
LEANER = ROOT.parent / "data" / "leaner"
"""Kernels on the headers of CUDA, and the times of each, as it is and leaner, on a GPU."""
NO_REPAIR = "none"


@dataclass(frozen=True, slots=True)
class Row:
    """The result for one exhibit: its repair in words, or ``NO_REPAIR``, and its assembler."""

    exhibit: str
    rule: str
    repair: str
    accepted: str

    @property
    def is_repaired(self) -> bool:
        """True where its finding is gone."""
        return self.repair != NO_REPAIR


def rows() -> tuple[Row, ...]:
    """The recorded rows."""
    with RECORD.open(encoding="utf-8", newline="") as stream:
        return tuple(Row(**each) for each in csv.DictReader(stream, delimiter="\t"))


def fix_parts() -> Mapping[str, str]:
    """The parts of docs/fix.md: the times of leaner kernels, and the repairs of the museum."""
    return {"times": _times(), "museum": _museum()}


def _museum() -> str:
    recorded = rows()
    number = sum(each.is_repaired for each in recorded)
    share = f"{100 * number // len(recorded)} %"
    said = (
        f"Of the {len(recorded)} exhibits of [the museum](museum.md) {number} are repaired, {share}, "
        "and every repaired code is assembled by the program in the last column. "
        "`tests/unit/test_repair.py` holds the table to the code.\n"
    )
    table = markdown_table(("exhibit", "rule", "repair", "accepted by"), map(_cells, recorded))
    return f"{said}\n{table}"


def _times() -> str:
    measured = json.loads((LEANER / "h200.json").read_text(encoding="utf-8"))
    kernels: list[dict[str, Any]] = measured["kernels"]
    assert all(each["equal"] for each in kernels)
    said = (
        f"{len(kernels)} kernels of `tests/data/leaner`, of libcu++ and the idioms of CUDA's guide, by "
        f"nvcc 13.0 and by `fence-check --fix surplus --grid {measured['grid']} --block "
        f"{measured['block']}` on its PTX: {measured['device']}, driver 580.159.04, 2026-11-29, medians "
        "of 200 launches, both in turn. All results are equal.\n"
    )
    names = ("kernel", "leaner by", "before, us", "after, us", "before / after")
    return f"{said}\n{markdown_table(names, map(_measured, kernels))}"


def _measured(kernel: dict[str, Any]) -> tuple[str, str, str, str, str]:
    steps = dict.fromkeys((each["old"], each["new"]) for each in kernel["steps"])
    texts = [
        f"`{' '.join(old.split())}` to `{new}`" if new else f"no `{' '.join(old.split())}`"
        for old, new in steps
    ]
    before, after = kernel["before_us"]["median"], kernel["after_us"]["median"]
    what = kernel["what"].replace("__", "\\_\\_")
    return what, "; ".join(texts), f"{before}", f"{after}", f"{kernel['ratio']:.2f}"


def _cells(row: Row) -> tuple[str, str, str, str]:
    repair = row.repair.replace("|", "\\|") if row.is_repaired else NO_REPAIR
    return row.exhibit, f"`{row.rule}`", repair, row.accepted if row.is_repaired else ""
