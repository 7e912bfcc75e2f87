"""Writes the documentation's tables from the rows, and the output of its examples from what they
do.

With ``--check`` nothing is written, and the exit status is 1 if a table is out of date; examples
are checked by the tests, for it takes a minute.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import cast

from fencewright.checker.findings.registry import PAGES as RULE_PAGES
from fencewright.lowering.cdna.chip import BareInstruction, Chip
from fencewright.lowering.cdna.chips import LOWERED_GENERATIONS, chips_of
from fencewright.lowering.cdna.generations.common import load_chip
from fencewright.lowering.cdna.generations.differences import DIFFERENCES, LlvmDifference
from fencewright.lowering.cdna.generations.differences_gfx1250 import (
    DIFFERENCES as GFX1250_DIFFERENCES,
)
from fencewright.lowering.cdna.performance.costs import COSTS as CDNA_COSTS
from fencewright.lowering.cdna.performance.costs import UNIT
from fencewright.lowering.llvm.architecture import CDNA, PTX, Architecture
from fencewright.lowering.lower import lower
from fencewright.lowering.ptx.chip import FORMS
from fencewright.lowering.ptx.differences import DIFFERENCES as PTX_DIFFERENCES
from fencewright.lowering.ptx.differences import Whose
from fencewright.lowering.ptx.performance.accesses import FENCE_COSTS
from fencewright.lowering.ptx.performance.costs import SINGLE as PTX_COSTS
from fencewright.lowering.ptx.performance.costs import TOGETHER, CostRow
from fencewright.lowering.sequence import UnsupportedError, WaitCounts
from fencewright.lowering.skeleton import SKELETON, SkeletonStep, Steps
from fencewright.lowering.table import Illegal, Table
from fencewright.lowering.vocabulary import AddressSpace, Operation, Ordering, Scope
from fencewright.tools.dev.pages.async_paths import async_paths_parts
from fencewright.tools.dev.pages.cdna_machine_page import cdna_machine_parts, where_cells
from fencewright.tools.dev.pages.certificates_page import certificates_parts
from fencewright.tools.dev.pages.doc_examples import ExampleError, quick_programs, updated
from fencewright.tools.dev.pages.effects_page import effects_parts
from fencewright.tools.dev.pages.fix_page import fix_parts
from fencewright.tools.dev.pages.memory_page import memory_parts
from fencewright.tools.dev.pages.museum_page import museum_parts
from fencewright.tools.dev.pages.patterns_page import patterns_parts
from fencewright.tools.dev.pages.stride_table import stride_table
from fencewright.tools.dev.pages.verdicts_page import verdicts_parts
from fencewright.tools.reports.markdown import filled, markdown_table

_NOTE = "<!-- Written by `make docs` from the rows; change the rows, not this page. -->\n"

_SPACES = (AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.GENERIC)


def _value(value: object) -> str:
    match value:
        case Illegal(reason=reason):
            return f"refused: {reason}"
        case BareInstruction(mnemonic=mnemonic, modifiers=modifiers):
            return f"`{' '.join((mnemonic, *modifiers))}`"
        case SkeletonStep():
            return value.value[0]
        case WaitCounts():
            return f"`{value}`" if value else "nothing"
        case tuple():
            return ", ".join(map(_value, cast("tuple[object, ...]", value))) or "nothing"
        case _:
            return f"`{value}`" if value else "nothing"


def _rules(title: str, table: Table[object]) -> str:
    rows = [
        (*where_cells(table, row.where, _word), _value(row.value), row.source) for row in table.rows
    ]
    return f"### {title}\n\n" + markdown_table((*table.columns, "instructions", "source"), rows)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, SkeletonStep):
        return value.value[0]
    return "none" if value is None else str(value)


def _sequences(target: str, space: AddressSpace) -> str:
    rows: list[tuple[str, ...]] = []
    for op, ordering in SKELETON:
        if op in (Operation.BARRIER, Operation.FENCE) and space is not AddressSpace.GLOBAL:
            continue
        if op is Operation.CMPXCHG or ordering is Ordering.WEAK:
            continue
        where = None if op in (Operation.BARRIER, Operation.FENCE) else space
        cells = [(scope, _sequence(target, op, ordering, scope, where)) for scope in Scope]
        for text, group in groupby(cells, key=lambda cell: cell[1]):
            rows.append((str(op), str(ordering), ", ".join(scope for scope, _ in group), text))
    return f"### Sequences on {space} memory\n\n" + markdown_table(
        ("operation", "ordering", "scope", "sequence"), rows
    )


def _sequence(
    target: str, op: Operation, ordering: Ordering, scope: Scope, space: AddressSpace | None
) -> str:
    try:
        sequence = lower(op=op, ordering=ordering, scope=scope, space=space, target=target)
    except UnsupportedError:
        return "refused"
    return "<br>".join(f"`{each.text}`" for each in sequence.instructions) or "nothing"


def _cdna_page() -> str:
    parts = [
        _NOTE,
        "# CDNA lowering\n",
        "A blank cell covers every value of its column. Sequences are for 32 bits, many L2s per "
        "agent, without threadgroup split mode; `lower` and the rules give the others.\n",
    ]
    for generation in reversed(LOWERED_GENERATIONS):
        *names, last = chips_of(generation)
        chip = load_chip(names[0] if names else last)
        parts.append(f"## {', '.join(names)} and {last}\n" if names else f"## {last}\n")
        tables = (
            *_own_steps(chip),
            ("The steps of an acq_rel or seq_cst fence that writes back", chip.fence),
            ("Write-back (release)", chip.write_back),
            ("Invalidate (acquire)", chip.invalidate),
            ("Wait", chip.wait),
            ("Wait before an access", chip.before),
            ("Cache policy of an access", chip.policy),
            ("Returned value of an atomic", chip.returning),
            ("Barrier", chip.barrier),
            ("Accesses that exist", chip.legal),
        )
        parts += [_rules(name, table) for name, table in tables]
        parts += [_sequences(chip.name, space) for space in _SPACES]
    return "\n".join(parts)


def _own_steps(chip: Chip) -> list[tuple[str, Table[Steps]]]:
    """The steps of a chip that does not take those of the skeleton as they are."""
    own = any(each.value != each.where["step"] for each in chip.steps.rows)
    return [("Steps in place of those of the skeleton", chip.steps)] if own else []


def _differences(differences: Iterable[LlvmDifference]) -> str:
    rows = [
        (
            row.name,
            "; ".join(f"{c}: {', '.join(map(_word, v))}" for c, v in row.where.items()),
            ", ".join(f"`{each}`" for each in sorted(row.added)),
            ", ".join(f"`{each}`" for each in sorted(row.removed)),
            ("we refuse it. " if row.refused else "") + row.reason,
        )
        for row in differences
    ]
    return markdown_table(("difference", "where", "we add", "we leave out", "why"), rows)


def _version(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _ptx_page() -> str:
    forms = [
        (form, f"sm_{since.number}", _version(since.version), since.source)
        for form, since in FORMS.items()
    ]
    parts = [
        _NOTE,
        "# PTX lowering\n",
        "Sequences are for 32 bits and the PTX version that `lower` takes by default: the lowest "
        "with everything that the chip can do. The rules are rows of `lowering/ptx/rows.py`.\n",
        "## Forms by chip and version\n",
        markdown_table(("form", "chip from", "PTX from", "source"), forms),
    ]
    for target in ("sm_90", "sm_80"):
        parts.append(f"## {target}\n")
        parts += [_sequences(target, space) for space in _SPACES]
    return "\n".join(parts)


def _ptx_differences_page() -> str:
    parts = [
        _NOTE,
        "# Differences from other PTX mappings\n",
        "The differential test compares every operation, ordering, scope and address space with "
        "LLVM: each difference has exactly one row. The rows of libcu++ and the paper are read "
        "from their sources.\n",
    ]
    for whose in Whose:
        rows = [
            (
                row.name,
                "; ".join(f"{c}: {', '.join(map(_word, v))}" for c, v in row.where.items()),
                "<br>".join(f"`{each}`" for each in row.theirs) or "refuses",
                row.reason,
            )
            for row in PTX_DIFFERENCES
            if row.whose is whose
        ]
        table = markdown_table(("difference", "where", "theirs", "why ours is another"), rows)
        parts.append(f"## {whose}\n\n{table}")
    return "\n".join(parts)


def _costs() -> Mapping[str, str]:
    works = [(str(row.where["work"][0]), str(row.value), row.source) for row in CDNA_COSTS.rows]
    return {
        "single": _ptx_costs(PTX_COSTS),
        "together": _ptx_costs(TOGETHER),
        "fences": _fences_waiting(),
        "cdna": f"The unit is an access that a cache serves, about {UNIT} ns.\n\n"
        + markdown_table(("what the hardware does", "cost", "source"), works),
    }


def _fences_waiting() -> str:
    def line(start: float, step: float) -> str:
        return f"{start:g} + {step:g} n" if step else f"{start:g}"

    return markdown_table(
        ("scope", "nothing outstanding", "n coalesced stores", "n stores of a sector a lane"),
        [
            (
                f"`.{each.scope}`",
                str(each.idle),
                line(each.coalesced.low, each.coalesced_step),
                line(each.start, each.step)
                + (f" up to {each.few}, then " if each.few else "")
                + (line(each.later, each.later_step) if each.few else "")
                + (f", at most {each.most:g}" if each.few else ""),
            )
            for each in FENCE_COSTS
        ],
    )


def _ptx_costs(rows: Iterable[CostRow]) -> str:
    cells = [
        (
            "<br>".join(f"`{each}`" for each in row.instructions),
            str(row.amount),
            row.basis,
            row.note,
        )
        for row in rows
    ]
    return markdown_table(("instruction", "cost", "from", "note"), cells)


def _rules_page() -> str:
    parts = [
        _NOTE,
        "# Rules of fence-check\n",
        "`fence-check --explain RULE` prints a section of this page, `fence-check --list-rules` "
        "their names. The levels are those that findings of the rule may have. In the examples of "
        "PTX `%rd1` and `%rd2` are the kernel's pointers `data` and `flag`, `%r9` is `%tid.x`, "
        "`%p0` is true in thread 0; `tile` and `bar` are shared. A test runs every example.\n",
    ]
    parts += ["\n".join(page.lines("##")) + "\n" for page in RULE_PAGES.values()]
    return "\n".join(parts)


def _rules_of(architecture: Architecture) -> Mapping[str, str]:
    """The table of the rules about code of an architecture."""
    rows = [
        (f"[`{rule}`](reference/rules.md#{rule})", ", ".join(page.levels), page.summary)
        for rule, page in RULE_PAGES.items()
        if architecture in page.architectures
    ]
    return {"rules": markdown_table(("rule", "level", "what it says"), rows)}


PAGES = {
    "reference/lowering-cdna.md": _cdna_page,
    "reference/lowering-ptx.md": _ptx_page,
    "reference/differences-from-others-ptx.md": _ptx_differences_page,
    "reference/rules.md": _rules_page,
}

PARTS: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "async-paths.md": async_paths_parts,
    "cdna-machine.md": cdna_machine_parts,
    "checker-ptx.md": lambda: _rules_of(PTX),
    "checker-amd.md": lambda: _rules_of(CDNA),
    "fix.md": fix_parts,
    "hierarchy.md": lambda: {"strides": stride_table()},
    "museum.md": museum_parts,
    "patterns.md": patterns_parts,
    "reference/certificates.md": certificates_parts,
    "reference/costs.md": _costs,
    "reference/differences-from-llvm.md": lambda: {
        "cdna": _differences(DIFFERENCES),
        "later": _differences(GFX1250_DIFFERENCES),
    },
    "reference/effects.md": effects_parts,
    "reference/memory.md": memory_parts,
    "reference/verdicts.md": verdicts_parts,
}
"""The pages with prose of their own, and the parts that programs write in them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Write, or with ``--check`` compare, every generated page below ``docs``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say which pages are stale")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="the folder of the pages")
    arguments = parser.parse_args(argv)
    stale = 0
    texts = {name: page() for name, page in PAGES.items()}
    for name, parts in PARTS.items():
        texts[name] = filled((arguments.docs / name).read_text(encoding="utf-8"), parts())
    for name, text in texts.items():
        path = arguments.docs / name
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        if arguments.check:
            print(f"{path}: error: out of date, run `make docs`", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            print(f"wrote {path}")
    if arguments.check:
        return 1 if stale else 0
    with quick_programs() as programs:
        return _update_examples(arguments.docs, programs)


def _update_examples(docs: Path, programs: Path) -> int:
    for path in pages_with_examples(docs):
        text = path.read_text(encoding="utf-8")
        try:
            now = updated(path, text, programs)
        except ExampleError as problem:
            print(f"{problem.place}: error: {problem}", file=sys.stderr)
            return 1
        if now != text:
            path.write_text(now, encoding="utf-8")
            print(f"wrote {path}")
    return 0


def pages_with_examples(docs: Path) -> list[Path]:
    """The pages below ``docs``, and the two at the project's root."""
    root = (docs.parent / name for name in ("README.md", "CONTRIBUTING.md"))
    return [path for path in (*root, *sorted(docs.rglob("*.md"))) if path.exists()]


if __name__ == "__main__":
    sys.exit(main())
