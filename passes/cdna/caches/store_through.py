"""The pass ``store-through``: plain stores that leave no dirty line, in place of write-backs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from xdsl.ir import Operation

from fencewright.lowering.cdna.caches import Visibility
from fencewright.mlir_dialects.cdna import CacheOp
from fencewright.passes.analysis.caches import CacheCode, StoreThrough
from fencewright.passes.analysis.control_flow import block_of
from fencewright.passes.cdna.caches.cache_pass import CachePass

_REACH = {"agent": Visibility.AGENT, "system": Visibility.SYSTEM}


@dataclass(frozen=True)
class StoreThroughPass(CachePass):
    """Take every store of a kernel as far as ``scope`` by itself.

    Runs before ``drop-write-backs``, which then finds nothing to write back. By policy bits; in
    LLVM IR by making it an atomic store, for which LLVM sets them. A policy for whole kernels,
    since others may release what a wave has stored: good where little is stored between
    releases, bad where lines are filled word by word. ``policy``: always, or only where it is
    cheaper; see
    ``is_cheaper``. Chips whose stores have no policy bits (gfx908, gfx90a) stay as they are.
    Every choice is sound: ``drop-write-backs`` finds out which write-backs may go, from the
    stores as they then are.
    Source: CDNA4 ISA, load and store control by sc1 sc0.
    """

    name = "store-through"

    scope: Literal["agent", "system"] = "agent"
    policy: Literal["always", "cheaper"] = "always"

    def run(self, code: CacheCode) -> None:
        reach = _REACH[self.scope]
        if self.policy == "cheaper" and not code.write_backs:
            return
        stores = convertible(code, reach)
        if self.policy == "always" or is_cheaper(code, stores):
            for store in stores:
                code.store_through(store, reach)


def convertible(code: CacheCode, reach: Visibility) -> dict[Operation, StoreThrough]:
    """The stores that can be taken further than they get, and how they are then."""
    found: dict[Operation, StoreThrough] = {}
    steps = code.steps
    for block in code.blocks:
        for op, meaning in steps[block]:
            if meaning.stores is not None and meaning.stores < reach:
                if (through := code.through(op, reach)) is not None:
                    found[op] = through
    return found


def is_cheaper(code: CacheCode, stores: Mapping[Operation, StoreThrough]) -> bool:
    """True if ``stores`` that go there by themselves cost less than write-backs.

    By ``lowering.costs``, each instruction as often as the loops around it suggest. What counts
    are the write-backs that really go: stores that cannot go through may be dirty all the same.
    Never if one is in a loop without such a write-back: there lines may be filled word by word.
    """
    from fencewright.passes.analysis.loops import frequencies, loops_of
    from fencewright.passes.cdna.caches.drop_write_backs import droppable_write_backs

    if not stores:
        return False
    needed = [each.op for each in code.write_backs]
    needed = [*set(needed).difference(code.known(droppable_write_backs))]
    loops = loops_of(code.graph)
    if not needed or loops is None:
        return False
    times = frequencies(code.blocks, loops)
    through = sum([times[block_of(op)] * each.cost for op, each in stores.items()])
    back = {op: times[block_of(op)] * code.cost_of(cast(CacheOp, op)) for op in needed}
    if through >= sum(back.values()):
        return False
    going = back.keys() & droppable_write_backs(code, stores)
    if not going:
        return False
    releasing, storing = set(map(block_of, going)), set(map(block_of, stores))
    if any(body & storing and not body & releasing for body in loops.values()):
        return False
    return through < sum([back[op] for op in going])
