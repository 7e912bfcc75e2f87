"""The tables of the page of the effects of LLVM's intrinsics, from the rows."""

from collections.abc import Mapping

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
_GROUPS = {"llvm": LLVM_EFFECTS, "amd": AMDGPU_EFFECTS, "nvidia": NVVM_EFFECTS}


def effects_parts() -> Mapping[str, str]:
    """The tables of docs/reference/effects.md."""
    spaces = [
        (space, ", ".join(sorted({str(each.counter) for each in events})))
        for space, events in SPACE_EVENTS.items()
    ]
    return {
        "kinds": markdown_table(("kind", "effect on other threads"), list(_KINDS.items())),
        "spaces": markdown_table(("address space", "counters"), spaces),
        **{name: markdown_table(_COLUMNS, map(_cells, rows)) for name, rows in _GROUPS.items()},
    }


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
