"""The page on the CDNA machine: rule by rule, how well it is known, from the rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fencewright.lowering.cdna.caches import ACCESS_NOUNS
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.table import Illegal, Table
from fencewright.simulator.cdna.evidence import (
    EXPERIMENTS,
    EXPERIMENTS_SOURCE,
    GFX12_RULES,
    GFX1250_RULES,
    OLDER_RULES,
    RDNA_RULES,
    RULES,
    MachineRule,
)
from fencewright.simulator.cdna.rows import (
    ACCESS,
    CACHE,
    DEFAULT_READINGS,
    READINGS,
    AccessEffect,
    CacheEffect,
)
from fencewright.tools.reports.markdown import markdown_table

_NOTE = "<!-- Written by `make docs` from the rows; change the rows, not this page. -->\n"


def cdna_machine_page() -> str:
    """``docs/cdna-machine.md``."""
    return "\n".join(
        [
            _NOTE,
            "# The CDNA machine, rule by rule\n",
            "A machine of waves, L1s, queues, L2s and memory (`simulator/cdna/machine.py`) "
            "decides the outcomes of CDNA code. This page lists each rule with its evidence "
            "(*measured* on hardware, *documented* by AMD or LLVM, or *inferred*), and where it "
            "is weaker than the observations, and why. The model must not be stronger than "
            "hardware: one behaviour of hardware that it forbids would void every certificate.\n",
            "No AMD hardware was available. The measurements are by others:\n",
            f"{EXPERIMENTS_SOURCE}. One CU stores, each of the 304 polls.\n",
            "## The experiments\n",
            markdown_table(
                ("", "experiment", "stores", "reads", "result", "rules"),
                [
                    (
                        str(each.number),
                        each.title,
                        each.writer,
                        each.reader,
                        each.seen,
                        ", ".join(map(str, each.rules)),
                    )
                    for each in EXPERIMENTS
                ],
            ),
            "`tests/litmus/test_cdna_experiments.py` has them as litmus tests. The machine "
            "allows every observed outcome. Loops that never terminated on hardware (polling a "
            "line dirty in another L2) are hangs in its progress mode.\n",
            "## The rules\n",
            _rules(RULES),
            "Rule 7 covers the rest of the machine's text.\n",
            "## The rules of gfx908 and gfx90a, where they differ\n",
            _rules(OLDER_RULES),
            "**Is the L1 too weak on these chips?** A wave stores x at agent scope; a second "
            "wave of its work-group loads it relaxed at work-group scope, hits the L1, and "
            "releases to the agent; a wave on another CU acquires that, and reads the older x. "
            "The source forbids this outcome. The three rules above allow it: documents keep "
            "stores in the L1 and leave queues of different channels unordered; the load's "
            "timing is inferred, and was observed only on the next generation. No known "
            "document has one queue for all of a CU's stores, or an L1 that shows a store only "
            "after the L2 has it. So the rules stay, and the lowering gives a work-group load "
            "`glc`, which LLVM omits: it reads in the L2, after the other wave's store to the "
            "same line. On gfx942 an agent or system store drops the line, so nothing is "
            "needed; on gfx10 and gfx11 this is the reading `store-stays`.\n",
            "## The rules of gfx1250, where they differ\n",
            "The rules come from LLVM 24's manual alone; nothing was measured. Two extend those "
            "above (`simulator/cdna/requests.py`): requests of a wave wait for the WGP$, the L1 "
            "of the rules (7), and a store may complete early (8).\n",
            _rules(GFX1250_RULES),
            "Not modelled: translation (xcnt), the bit nv, monitor loads, scratch, tensors.\n",
            "## The rules of gfx10 and gfx11, where they differ\n",
            "These chips are supported for checking and simulation, not for code generation: "
            "`fence-check` judges compilers' code, `fence-sim run --mcpu gfx1100` runs litmus "
            "tests in their instructions, in WGP mode or with `--mattr=+cumode` in CU mode. The "
            "rules come from LLVM 24's manual alone; nothing was measured. LLVM's -O0 sequences "
            "are right on the default machine, and each instruction is necessary "
            "(`tests/unit/test_gfx10_machine.py`). An agent acquire that a work-group "
            "propagates is right only by the `vmcnt(0)` of the following release, which LLVM 22 "
            "and 24 delete at -O2.\n",
            _rules(RDNA_RULES),
            "## The rules of gfx12, where they differ\n",
            "gfx1200 and gfx1201 are supported likewise. LLVM 22's -O0 sequences are right on "
            "the machine in both modes, and each instruction is necessary except a release's "
            "wait for loads (`tests/unit/test_gfx12_machine.py`).\n",
            _rules(GFX12_RULES),
            "## Bits of an access\n",
            "A blank cell covers every value of its column. *L1*: a load may hit it, a store "
            "updates it. *past the L2*: rule 4. `nt` and `slc` are omitted: they are hints.\n",
            _effects(ACCESS),
            "## Cache instructions\n",
            _effects(CACHE),
            "## Open points of the documents\n",
            "`fence-sim run --readings` selects the harder reading: by default those that leave "
            "LLVM 24 right wherever any reading does ([gfx1250.md](gfx1250.md)). Fencewright's "
            "sequences are certified on every reading, and on the default ones. Requests of a "
            "wave to different lines reach the WGP$, the L1 above, in any order; the L2 is the "
            "one cache below it that may be incoherent: with many, that of some shader engines "
            "(SCOPE_SE), with one, the agent's. The readings of the L0 and of `buffer_gl1_inv` "
            "are for gfx10 and gfx11, that of the L0 also for gfx12, the others for gfx1250.\n",
            markdown_table(
                ("reading", "assumption", "by default", "known", "from"),
                [
                    (
                        f"`{reading}`",
                        row.value,
                        _word(reading in DEFAULT_READINGS),
                        str(row.evidence or ""),
                        row.source,
                    )
                    for (reading,), row in sorted(READINGS.items())
                ],
            ),
        ]
    )


def _rules(rules: Sequence[MachineRule]) -> str:
    return markdown_table(
        ("", "rule", "known", "from", "weaker than the observations, and why"),
        [(str(e.number), e.rule, str(e.evidence), e.source, e.weaker) for e in rules],
    )


def where_cells(
    table: Table[Any], where: Mapping[str, Sequence[object]], word: Callable[[object], str]
) -> Iterator[str]:
    """A cell for each column of a row of ``table``; empty where the row is for every value."""
    for column, domain in table.columns.items():
        given = where.get(column, domain)
        yield "" if set(given) == set(domain) else ", ".join(map(word, given))


def _effects(
    table: "Table[AccessEffect | Illegal] | Table[CacheEffect | Illegal]",
) -> str:
    return markdown_table(
        (*table.columns, "effect", "known", "source"),
        [
            (
                *where_cells(table, row.where, _word),
                _effect(row.value),
                str(row.evidence or ""),
                row.source,
            )
            for row in table.rows
        ],
    )


_COUNTED_AS = {False: "is counted as a load", True: "is counted as a store"}
"""The words for the count of cache maintenance; with vmcnt both are one."""


def _word(value: object) -> str:
    if isinstance(value, Kind):
        return ACCESS_NOUNS[value]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "none"


def _effect(value: "AccessEffect | CacheEffect | Illegal") -> str:
    match value:
        case Illegal(reason=reason):
            return f"refused: {reason}"
        case AccessEffect():
            parts = [
                "L1" if value.l1 else "misses the L1",
                "by the reading `store-stays` alone" if value.stays else "",
                "may bring its line in" if value.brings_in else "",
                "past the L2" if value.past_l2 else "at the L2",
                "returns the old value" if value.returns else "",
            ]
        case CacheEffect():
            parts = [
                "empties the L1" if value.l1 else "",
                "empties the scalar cache" if value.scalar else "",
                "goes through the queues" if value.marker else "",
                "writes dirty lines back" if value.write_back else "",
                "drops clean nonlocal lines" if value.invalidate else "",
                "when is left open" if value.queued else "",
                _COUNTED_AS[value.as_store] if value.counts else "",
            ]
    return ", ".join(filter(None, parts)) or "nothing"
