"""The row of an intrinsic by its name."""

from functools import cache

from fencewright.lowering.llvm.intrinsics.amdgpu import AMDGPU_EFFECTS
from fencewright.lowering.llvm.intrinsics.llvm import LLVM_EFFECTS
from fencewright.lowering.llvm.intrinsics.nvvm import NVVM_EFFECTS
from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow
from fencewright.lowering.table import TableError

EFFECTS = (*LLVM_EFFECTS, *AMDGPU_EFFECTS, *NVVM_EFFECTS)
"""All rows. Names without one are functions of LLVM that may do anything."""


@cache
def row_of(name: str) -> EffectRow | None:
    """The row of the intrinsic ``name``: of several, the one that says most of it by itself.

    Raises ``TableError`` where two say as much.
    """
    if not name.startswith("llvm."):
        return None
    found = [(row, open_) for row in EFFECTS if (open_ := row.left_open(name)) is not None]
    least = min((open_ for _, open_ in found), default=None)
    best = [row for row, open_ in found if open_ == least]
    if len(best) > 1:
        raise TableError(f"{name}: two rows, '{best[0].names}' and '{best[1].names}'")
    return best[0] if best else None


def does_nothing(name: str) -> bool:
    """True if calls of the function ``name`` touch no memory and make no thread wait."""
    row = row_of(name)
    return row is not None and row.kind is CallKind.NOTHING
