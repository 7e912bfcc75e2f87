"""The pass ``store-through``: plain stores that leave no dirty line, in place of write-backs."""

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import AccessKind, Reach, access_effect
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects.cdna import KernelOp, StoreOp
from fencewright.passes.cdna_caches import HINTS, PLAIN, is_atomic, modifiers_of
from fencewright.passes.kernel_frontend import reachable_blocks, top_level

_SHARED = frozenset({AddressSpace.GLOBAL, AddressSpace.GENERIC})
_REACH = {"agent": Reach.AGENT, "system": Reach.SYSTEM}
_BITS = {Reach.AGENT: ("sc1",), Reach.SYSTEM: ("sc0", "sc1")}


@dataclass(frozen=True)
class StoreThroughPass(ModulePass):
    """Give every store of a kernel the policy bits that take it as far as ``scope`` by itself.

    Runs on ``cdna.kernel``, before ``drop-write-backs``, which then finds nothing to write
    back. A policy for whole kernels, since others hand on what a wave has stored: good where
    little is stored between releases, bad where lines are filled word by word. Chips whose
    stores have no policy bits (gfx908, gfx90a) stay as they are.
    Source: CDNA4 ISA, load and store control by sc1 sc0.
    """

    name = "store-through"

    scope: Literal["agent", "system"] = "agent"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reach = _REACH[self.scope]
        for kernel in top_level(op):
            if isinstance(kernel, KernelOp):
                _store_through(kernel, reach)


def _store_through(kernel: KernelOp, reach: Reach) -> None:
    chip = kernel.chip.data
    for block in reachable_blocks(kernel.body):
        for op in block.ops:
            if not isinstance(op, StoreOp) or op.row.space not in _SHARED:
                continue
            modifiers = modifiers_of(op)
            hints = [bit for bit in modifiers if bit in HINTS]
            wanted = (*_BITS[reach], *hints)
            if _stores(chip, modifiers) < reach <= _stores(chip, wanted) and _has_bits(chip):
                if not is_atomic(op):
                    op.attributes[PLAIN] = UnitAttr()
                op.properties["modifiers"] = ArrayAttr([StringAttr(bit) for bit in wanted])


def _stores(chip: str, modifiers: tuple[str, ...]) -> Reach:
    reach = access_effect(chip, AccessKind.STORE, modifiers).stores
    assert reach is not None
    return reach


def _has_bits(chip: str) -> bool:
    """Whether policy bits make a difference to the chip's stores."""
    return _stores(chip, ()) is not _stores(chip, _BITS[Reach.SYSTEM])
