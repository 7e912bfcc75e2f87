"""Verification of a module in linear time; xDSL's own counts a region's blocks at every
terminator."""

# pyright: reportPrivateUsage=false

from xdsl.ir import Block, ErasedSSAValue, Operation, Region
from xdsl.traits import IsTerminator, NoTerminator


def verify(module: Operation) -> None:
    """Verify as ``module.verify()`` does. Raises what that raises, if it does."""
    try:
        verified = _is_verified(module)
    except Exception:  # Whatever it was, xDSL's own verification raises it again, with its place.
        verified = False
    if not verified:
        # Its own errors name the operation and have the module printed beside it.
        module.verify()


def _is_verified(root: Operation) -> bool:
    """True if all conditions of ``Operation``, ``Region`` and ``Block.verify`` hold below ``root``.

    Operations raise what their own ``verify_`` raises, or ``verify`` where that is their own too.
    Source: xDSL 0.74, xdsl/ir/core.py.
    """
    pending = [root]
    while pending:
        op = pending.pop()
        if not _has_valid_place(op):
            return False
        for region in op.regions:
            for block in region.blocks:
                if block.parent is not region or not _ends_well(block, region, op):
                    return False
                for each in block.ops:
                    if each.parent is not block:
                        return False
                    pending.append(each)
        if type(op).verify is Operation.verify:
            op.verify_()
        else:
            op.verify(verify_nested_ops=False)
    return True


def stands_well(op: Operation) -> bool:
    """True if xDSL accepts the place of ``op``, its operands and its successors."""
    if not _has_valid_place(op):
        return False
    block = op.parent
    region = None if block is None else block.parent
    owner = None if region is None else region.parent
    if block is None or region is None or owner is None or block.last_op is not op:
        return True
    return _ends_well(block, region, owner)


def _has_valid_place(op: Operation) -> bool:
    """True if the operands of ``op`` exist, and it can branch to each of its successors."""
    if ErasedSSAValue in map(type, op._operands):
        return False
    if not op._successors:
        return True
    block = op.parent
    if block is None or block.parent is None or block.last_op is not op:
        return False
    return all(each.parent is block.parent for each in op._successors)


def _ends_well(block: Block, region: Region, owner: Operation) -> bool:
    """True if ``block`` of ``region`` ends in a terminator, or need not."""
    first = region.first_block
    is_single = first is not None and first.next_block is None
    if is_single and owner.has_trait(NoTerminator):
        return True
    last = block.last_op
    if last is None:
        return not is_single
    return last.has_trait(IsTerminator)
