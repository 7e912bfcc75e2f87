"""The page of repairs: what fence-check --fix makes of the museum's exhibits, as it was recorded."""

import csv
import json
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


_HEAD = """<!-- Written by `make docs` from tests/museum/repairs.tsv, which
`python -m fencewright.tools.dev.pages.museum_repairs` writes. -->

# Repairs

`fence-check --fix` looks for the smallest repair of each finding: an atomic update, another ordering, scope or state
space, a lower count of a wait, an added fence, wait or barrier, or a removed one. At most 48 candidates of a finding are
checked again: the finding must be gone, none may be new, and no function proved less.

<!-- before: cp tests/museum/lost-write-back-wait/* . -->
```console
$ fence-check --fix --source source.ll wrong.s | tail -n +3
wrong.s:13:1: note: repair: put `s_waitcnt vmcnt(0)` before line 13 (/k.hip:4)
wrong.s: 1 of 1 finding repaired
--- wrong.s
+++ wrong.s
@@ -10,6 +10,7 @@
 \t.loc\t1 3 1
 \tbuffer_wbl2 sc1
 \t.loc\t1 4 1
+\ts_waitcnt vmcnt(0)
 \tglobal_store_dword v0, v2, s[2:3] sc1
 \ts_endpgm
 .Lfunc_end0:
```

The patch is for the given code. Where that has line numbers, the note gives the text for the source:
``put `__syncthreads()` between lines 4 and 5 of k.cu``. `-o FILE` writes the repaired code in place of the patch; FILE
may be the input. The [exit status](checker.md#exit-statuses) is that of the given code, with `-o` that
of the written code.

Wrong labelled kernels, repaired and executed again, 29 November 2026:

| suite | tried | repaired | proved then | no race executed | accepted by ptxas |
| --- | --- | --- | --- | --- | --- |
| Indigo | 33 | 30 | 30 | 30 | 30 |
| GPUVerify | 13 | 5 | 4 | 5 | 5 |
| ScoR | 14 | 9 | 9 | 9 | 9 |
| compute-sanitizer | 3 | 2 | 2 | 2 | 2 |
| Faial | 2 | 0 | 0 | 0 | 0 |

## Leaner code

`--fix surplus` removes [redundant synchronisation](checker.md#redundant-synchronisation), of a wait the redundant counters, and finds
weaker forms that cost less by [the prices](reference/costs.md). In AMD assembly accesses, write-backs and
invalidates of the system become the agent's, or are removed where the agent needs none, in kernels that are proved
race-free and stay so. In PTX:

- `.sys` becomes `.gpu`, in any kernel;
- `fence.sc` becomes `fence.acq_rel`, a fence of one side, or is removed, and an ordered access becomes relaxed,
  where the kernel is proved race-free, the weaker form keeps the proof, and it orders no two atomics of
  different places, whose values no proof of data covers;
- on the same terms a fence becomes the ordering of the access next to it: `ld.relaxed` and `fence.acq_rel` become
  `ld.acquire`;
- `fence.proxy.async` is narrowed to the state space that needs it.

All of it assumes that no other kernel, GPU or CPU synchronises by this memory while the kernel runs: the
output says so. `--grid` and `--block` say which launches are meant, where the proof needs them.

"""


def page() -> str:
    """The page."""
    recorded = rows()
    number = sum(each.is_repaired for each in recorded)
    share = f"{100 * number // len(recorded)} %"
    said = (
        f"Of the {len(recorded)} exhibits of [the museum](museum.md) {number} are repaired, {share}, "
        "and every repaired code is assembled by the program in the last column. "
        "`tests/unit/test_repair.py` holds the table to the code.\n"
    )
    table = markdown_table(("exhibit", "rule", "repair", "accepted by"), map(_cells, recorded))
    return f"{_HEAD}{_leaner()}## The museum\n\n{said}\n{table}\n"


def _leaner() -> str:
    """The section of leaner kernels, and of their times."""
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
    return f"### Times\n\n{said}\n{markdown_table(names, map(_measured, kernels))}\n"


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
