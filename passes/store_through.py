"""The pass ``store-through``: plain stores that leave no dirty line, in place of write-backs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fencewright.lowering.cdna.caches import AccessKind, Reach, access_effect
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects.cdna import KernelOp, OpcodeOp, StoreOp
from fencewright.passes.cdna_caches import (
    HINTS,
    PLAIN,
    WorkGroupSteps,
    is_atomic,
    modifiers_of,
    work_groups,
)

_SHARED = frozenset({AddressSpace.GLOBAL, AddressSpace.GENERIC})
_REACH = {"agent": Reach.AGENT, "system": Reach.SYSTEM}
_BITS = {Reach.AGENT: ("sc1",), Reach.SYSTEM: ("sc0", "sc1")}


@dataclass(frozen=True)
class StoreThroughPass(ModulePass):
    """Give every store of a kernel the policy bits that take it as far as ``scope`` by itself.

    Runs on ``cdna.kernel``, before ``drop-write-backs``, which then finds nothing to write
    back. A policy for whole kernels, since others hand on what a wave has stored: good where
    little is stored between releases, bad where lines are filled word by word. ``policy``:
    always, or only where it is cheaper; see ``is_cheaper``. Chips whose stores have no policy
    bits (gfx908, gfx90a) stay as they are. Whatever is chosen is sound: which write-backs may
    go is for ``drop-write-backs`` to find out, of what the stores then do.
    Source: CDNA4 ISA, load and store control by sc1 sc0.
    """

    name = "store-through"

    scope: Literal["agent", "system"] = "agent"
    policy: Literal["always", "cheaper"] = "always"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reach = _REACH[self.scope]
        for group in work_groups(op):
            stores = list(convertible(group, reach))
            if self.policy == "always" or is_cheaper(group, stores, reach):
                for store in stores:
                    _store_through(store, reach)


def convertible(group: WorkGroupSteps, reach: Reach) -> Iterator[StoreOp]:
    """The stores that policy bits take further than they get."""
    for block in group.blocks:
        for op in block.ops:
            if isinstance(op, StoreOp) and op.row.space in _SHARED:
                chip = _chip_of(op)
                now, then = _stores(chip, modifiers_of(op)), _stores(chip, _wanted(op, reach))
                if now < reach <= then and _has_bits(chip):
                    yield op


def is_cheaper(group: WorkGroupSteps, stores: Iterable[StoreOp], reach: Reach) -> bool:
    """Whether it costs less to take each of ``stores`` there by itself than to write back.

    By ``lowering.costs``, each instruction as often as the loops around it suggest. Never if
    one is in a loop without a write-back: there lines may be filled word by word.
    """
    from fencewright.passes.drop_write_backs import droppable_write_backs
    from fencewright.passes.loops import frequencies, loops_of

    stores, write_backs = list(stores), list(_write_backs(group, reach))
    if not stores or not write_backs:
        return False
    redundant = set(droppable_write_backs(group))
    needed = [op for op in write_backs if op not in redundant]
    releasing = {_block_of(op) for op in needed}
    loops = loops_of(group.blocks)
    if loops is None:
        return False
    storing = {_block_of(op) for op in stores}
    if any(body & storing and not body & releasing for body in loops.values()):
        return False
    times = frequencies(group.blocks, loops)
    back = sum([times[_block_of(op)] * _cost(op, modifiers_of(op)) for op in needed])
    through = sum(
        [
            times[_block_of(op)] * (_cost(op, _wanted(op, reach)) - _cost(op, modifiers_of(op)))
            for op in stores
        ]
    )
    return through < back


def _write_backs(group: WorkGroupSteps, reach: Reach) -> Iterator[OpcodeOp]:
    for steps in group.steps:
        for step in steps:
            if step.effect.writes_back is not None and step.effect.writes_back <= reach:
                yield cast(OpcodeOp, step.op)


def _cost(op: OpcodeOp, modifiers: tuple[str, ...]) -> int:
    from fencewright.lowering.costs import cost_of

    return cost_of(_chip_of(op), " ".join([op.opcode.data, *modifiers])).amount


def _store_through(op: StoreOp, reach: Reach) -> None:
    wanted = _wanted(op, reach)
    if not is_atomic(op):
        op.attributes[PLAIN] = UnitAttr()
    op.properties["modifiers"] = ArrayAttr([StringAttr(bit) for bit in wanted])


def _wanted(op: StoreOp, reach: Reach) -> tuple[str, ...]:
    return (*_BITS[reach], *[bit for bit in modifiers_of(op) if bit in HINTS])


def _chip_of(op: Operation) -> str:
    kernel = op.parent_op()
    assert isinstance(kernel, KernelOp)
    return kernel.chip.data


def _block_of(op: Operation) -> Block:
    assert op.parent is not None
    return op.parent


def _stores(chip: str, modifiers: tuple[str, ...]) -> Reach:
    reach = access_effect(chip, AccessKind.STORE, modifiers).stores
    assert reach is not None
    return reach


def _has_bits(chip: str) -> bool:
    """Whether policy bits make a difference to the chip's stores."""
    return _stores(chip, ()) is not _stores(chip, _BITS[Reach.SYSTEM])
