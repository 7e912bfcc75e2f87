"""The pass ``clamp-caches``: cache maintenance that a promise about memory makes needless."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, StringAttr

from fencewright.lowering.facts import clamped_maintenance, facts_for
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.passes.analysis.caches import CacheCode, modifiers_of
from fencewright.passes.cdna.caches.cache_pass import CachePass


@dataclass(frozen=True)
class ClampCachesPass(CachePass):
    """Remove or narrow write-backs and invalidates, ``facts`` of ``lowering.facts`` holding.

    The waits stay. The rules, with their sources, are the rows of
    ``lowering.facts.CACHE_CLAMPS``. Raises ``UnsupportedError`` for a fact without use.
    """

    name = "clamp-caches"

    facts: tuple[str, ...] = ()

    def run(self, code: CacheCode) -> None:
        facts = facts_for(self.facts, code.chip)
        ops = [(op, block) for block in code.blocks for op in operations(block)] if facts else []
        for op, block in ops:
            if not isinstance(op, CacheOp):
                continue
            bits = modifiers_of(op)
            narrow = clamped_maintenance(op.opcode.data, bits, code.chip, facts)
            if narrow is None:
                code.erase([op])
            elif narrow != bits:
                op.properties["modifiers"] = ArrayAttr([StringAttr(bit) for bit in narrow])
                code.changed(block)
