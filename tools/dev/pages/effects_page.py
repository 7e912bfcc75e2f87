"""The page of the effects of LLVM's intrinsics, from the rows."""

from fencewright.lowering.cdna.counters.scoreboard import SPACE_EVENTS
from fencewright.lowering.llvm.intrinsics.amdgpu import AMDGPU_EFFECTS
from fencewright.lowering.llvm.intrinsics.llvm import LLVM_EFFECTS
from fencewright.lowering.llvm.intrinsics.nvvm import NVVM_EFFECTS
from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow, Place
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.tools.reports.markdown import markdown_table

_KINDS = {
    CallKind.NOTHING: "nothing observable by other threads",
    CallKind.WAIT: "completes its own thread's operations",
    CallKind.ACCESS: "weak accesses, in order with the thread's others",
    CallKind.ATOMIC: "accesses by which threads may synchronise",
    CallKind.ASYNC: "weak accesses that continue after the call, until a wait",
    CallKind.BARRIER: "the execution barrier of the work-group",
    CallKind.OTHER: "perhaps anything: fences, waits for others, unjudged intrinsics",
}
_GROUPS = (
    ("LLVM's own", LLVM_EFFECTS),
    ("AMD's", AMDGPU_EFFECTS),
    ("NVIDIA's", NVVM_EFFECTS),
)


def effects_page() -> str:
    """The page."""
    lines = [
        "<!-- Written by `make docs` from the rows; change the rows, not this page. -->",
        "# Effects of intrinsics",
        "",
        "The effects of calls of LLVM's intrinsics, for the passes on LLVM IR. LLVM's memory",
        "attributes serve its own optimiser: by them alone a barrier of all waves touches",
        "*inaccessible* memory, and a flag is a read like any other. So each row was judged by",
        "itself, from the source in its last column. An intrinsic without a row may do anything,",
        "unless LLVM knows that it touches no memory and has no side effect.",
        "`python -m fencewright.tools.dev.campaigns.intrinsics` compares the rows with an",
        "installed LLVM and lists the intrinsics that it adds. A test does so with LLVM 22, and",
        "checks that the column *unlike LLVM* has a reason exactly where a row differs.",
        "",
        "In names, `*` is one word between dots, `**` one or more; type suffixes are omitted.",
        "",
        markdown_table(("kind", "effect on other threads"), list(_KINDS.items())),
        "On CDNA an access counts by its address space, an asynchronous one in all counters:",
        "",
        markdown_table(
            ("address space", "counters"),
            [
                (space, ", ".join(sorted({str(each.counter) for each in events})))
                for space, events in SPACE_EVENTS.items()
            ],
        ),
    ]
    for title, rows in _GROUPS:
        lines += [f"## {title}", "", markdown_table(_COLUMNS, [_cells(row) for row in rows])]
    return "\n".join(lines)


_COLUMNS = ("`llvm.` ...", "kind", "reads", "writes", "if", "known", "unlike LLVM", "source")


def _cells(row: EffectRow) -> tuple[str, ...]:
    bits = row.plain_if
    condition = f"operand {bits.operand} has no bit of {bits.mask:#x}" if bits else ""
    return (
        f"`{row.names}`",
        row.kind,
        _places(row.reads),
        _places(row.writes),
        condition,
        row.evidence,
        row.unlike_llvm,
        row.source,
    )


def _places(places: tuple[Place, ...]) -> str:
    return ", ".join(
        each if isinstance(each, AddressSpace) else f"operand {each}" for each in places
    )
