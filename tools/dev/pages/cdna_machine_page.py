"""The page on the CDNA machine: rule by rule, how well it is known, from the rows."""

from collections.abc import Sequence

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
            "What CDNA code may do is decided by a machine of waves, L1s, queues, L2s and memory "
            "(`simulator/cdna/machine.py`). Each of its rules is here with how well it is known: "
            "*measured* on hardware, *documented* by AMD or LLVM, or *inferred*; and with what the "
            "machine allows beyond what was seen, and why it stays so. It allows nothing less: a "
            "behaviour that hardware has and the machine has not would make every certificate "
            "worthless.\n",
            "No AMD hardware was at hand. What is measured was measured by others:\n",
            f"{EXPERIMENTS_SOURCE}. One CU stores, each of the 304 polls.\n",
            "## The experiments\n",
            markdown_table(
                ("", "experiment", "stores", "reads", "what was seen", "rules"),
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
            "`tests/litmus/test_cdna_experiments.py` has them as litmus tests. The machine has "
            "every outcome that was seen. What was seen never to end, as a poll of a line that "
            "another L2 holds dirty, is a hang of its progress mode.\n",
            "## The rules\n",
            _rules(RULES),
            "Rule 7 is what the machine's text has outside the numbered rules.\n",
            "## The rules of gfx908 and gfx90a, where they are others\n",
            _rules(OLDER_RULES),
            "**Is the L1 too hard on these chips?** A wave stores x at agent scope; a mate loads "
            "it relaxed at work-group scope, finds it in the L1, and releases to the agent; a wave "
            "on another CU acquires that, and reads the older x. The source forbids it. By the "
            "three rules above the chips may do it: documents have stores stay in the L1, and "
            "queues of different channels in no order; that a mate's load comes in between is "
            "inferred, and was seen on the next generation alone. No document that we know of has "
            "one queue for all of a CU's stores, or an L1 that shows a store only once the L2 has "
            "it. So the rules stay, and the lowering gives a load of the work-group `glc`, where "
            "LLVM has none: it reads in the "
            "L2, behind the mate's store to the same line. On gfx942 a store to the agent or the "
            "system drops the "
            "line, and nothing is to be done; on gfx10 and gfx11 it is the reading "
            "`store-stays`.\n",
            "## The rules of gfx1250, where they are others\n",
            "Its rules come from LLVM 24's manual alone; nothing here was measured. Two rules go "
            "on from those above (`simulator/cdna/requests.py`): requests of a wave wait for the "
            "WGP$, which is the L1 of the rules (7), and a store may be done early (8).\n",
            _rules(GFX1250_RULES),
            "Not in the machine: translation (xcnt), the bit nv, monitor loads, scratch, "
            "tensors.\n",
            "## The rules of gfx10 and gfx11, where they are others\n",
            "For these chips code is read and executed, and not made: `fence-check` judges what "
            "compilers emit, `fence-sim run --mcpu gfx1100` runs litmus tests in their "
            "instructions, in WGP mode or with `--mattr=+cumode` in CU mode. The rules come from "
            "LLVM 24's manual alone; nothing here was measured. LLVM's sequences at -O0 are right "
            "on the machine as it is by default, and each instruction of them is necessary "
            "(`tests/unit/test_gfx10_machine.py`). An acquire at the agent that a work-group "
            "propagates is right only by the `vmcnt(0)` of the release after it, which LLVM 22 and "
            "24 delete at -O2.\n",
            _rules(RDNA_RULES),
            "## The rules of gfx12, where they are others\n",
            "gfx1200 and gfx1201 are only read and executed too. LLVM 22's sequences at -O0 are "
            "right on the machine in both modes, and each instruction of them is necessary but the "
            "wait for loads of a release (`tests/unit/test_gfx12_machine.py`).\n",
            _rules(GFX12_RULES),
            "## What bits do on an access\n",
            "A blank cell covers every value of its column. *L1*: a load may hit it, a store "
            "updates it. *past the L2*: rule 4. `nt` and `slc` are left out: they are hints.\n",
            _effects(ACCESS),
            "## What cache instructions do\n",
            _effects(CACHE),
            "## What documents leave open\n",
            "The machine takes it the harder way if it is told so (`fence-sim run --readings`): by "
            "default as "
            "hard as leaves LLVM 24 right wherever any reading does ([gfx1250.md](gfx1250.md)). "
            "Our own sequences are certified on every "
            "reading, and on those by default. Requests of a wave to different lines come to the "
            "WGP$, "
            "which is the L1 above, in any order; what is called an L2 is the one cache below it "
            "that may "
            "be incoherent: with many, of some shader engines (SCOPE_SE), with one, the agent's. "
            "Those of "
            "the L0 and of `buffer_gl1_inv` are of gfx10 and gfx11, that of the L0 also of gfx12, "
            "the others of gfx1250.\n",
            markdown_table(
                ("reading", "what is taken to happen", "by default", "known", "from"),
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
        ("", "rule", "known", "from", "weaker than what was seen, and why"),
        [(str(e.number), e.rule, str(e.evidence), e.source, e.weaker) for e in rules],
    )


def _effects(
    table: "Table[AccessEffect | Illegal] | Table[CacheEffect | Illegal]",
) -> str:
    def cell(column: str, given: Sequence[object]) -> str:
        everything = set(given) == set(table.columns[column])
        return "" if everything else ", ".join(map(_word, given))

    return markdown_table(
        (*table.columns, "effect", "known", "source"),
        [
            (
                *(
                    cell(name, row.where.get(name, domain))
                    for name, domain in table.columns.items()
                ),
                _effect(row.value),
                str(row.evidence or ""),
                row.source,
            )
            for row in table.rows
        ],
    )


_COUNTED_AS = {False: "is counted as a load", True: "is counted as a store"}
"""What a wait takes cache maintenance for; with vmcnt both are one."""


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
