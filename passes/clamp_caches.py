"""The pass ``clamp-caches``: cache maintenance that a promise about memory makes needless."""

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.facts import Fact, clamped_maintenance, facts_for
from fencewright.mlir_dialects.cdna import CacheOp, KernelOp
from fencewright.passes.cdna_caches import modifiers_of
from fencewright.passes.kernel_frontend import top_level


@dataclass(frozen=True)
class ClampCachesPass(ModulePass):
    """Remove or narrow write-backs and invalidates, ``facts`` of ``lowering.facts`` holding.

    Runs on ``cdna.kernel``; the waits stay. The rules, with their sources, are the rows of
    ``lowering.facts.CACHE_CLAMPS``. Raises ``UnsupportedError`` for a fact without use.
    """

    name = "clamp-caches"

    facts: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in top_level(op):
            if isinstance(kernel, KernelOp):
                chip = kernel.chip.data
                clamp_caches(kernel.walk(), chip, facts_for(self.facts, chip))


def clamp_caches(ops: Iterable[Operation], chip: str, facts: frozenset[Fact]) -> None:
    """Clamp the cache maintenance among ``ops`` on ``chip``."""
    for op in list(ops) if facts else ():
        if not isinstance(op, CacheOp):
            continue
        bits = modifiers_of(op)
        narrow = clamped_maintenance(op.opcode.data, bits, chip, facts)
        if narrow is None:
            op.detach()
            op.erase()
        elif narrow != bits:
            op.properties["modifiers"] = ArrayAttr([StringAttr(bit) for bit in narrow])
