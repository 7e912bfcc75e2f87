"""The page of what calls of LLVM's intrinsics do, from the rows."""

from fencewright.lowering.cdna.counters.scoreboard import SPACE_EVENTS
from fencewright.lowering.llvm.intrinsics.amdgpu import AMDGPU_EFFECTS
from fencewright.lowering.llvm.intrinsics.llvm import LLVM_EFFECTS
from fencewright.lowering.llvm.intrinsics.nvvm import NVVM_EFFECTS
from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow, Place
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.tools.reports.markdown import markdown_table

_KINDS = {
    CallKind.NOTHING: "nothing that other threads could notice",
    CallKind.WAIT: "completes what its own thread has issued",
    CallKind.ACCESS: "weak accesses, in order with the thread's others",
    CallKind.ATOMIC: "accesses by which threads may synchronise",
    CallKind.ASYNC: "weak accesses that go on after the call, to be waited for",
    CallKind.BARRIER: "the execution barrier of the work-group",
    CallKind.OTHER: "perhaps anything: fences, waits for others, what nobody has judged",
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
        "# What calls of intrinsics do",
        "",
        "What the passes on LLVM IR take calls of LLVM's intrinsics for. LLVM's memory attributes "
        "are for",
        "its own optimiser: by them alone a barrier of all waves touches *inaccessible* memory, "
        "and a flag",
        "is a read like any other. So each row was judged by itself, from the source in its last "
        "column. A",
        "call of an intrinsic without a row may do anything, unless LLVM knows that it touches no "
        "memory",
        "and has no side effect. `python -m fencewright.tools.dev.campaigns.intrinsics` compares "
        "the rows with an",
        "installed LLVM; for a newer one it shows which intrinsics that adds. A test does so with "
        "LLVM 22,",
        "and holds that each row says why it differs, in the column *unlike LLVM*, if and only if "
        "it does.",
        "",
        "In names, `*` is one word between dots, `**` one or more. The types that LLVM adds to a "
        "name are",
        "left out.",
        "",
        markdown_table(("kind", "what a call is to other threads"), list(_KINDS.items())),
        "On CDNA an access counts by its address space; one that is asynchronous in all counters:",
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
