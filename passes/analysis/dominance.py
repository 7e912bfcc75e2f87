"""Whether every value is defined where it is used: MLIR's rule, which xDSL does not verify."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.passes.analysis.control_flow import predecessors


def check_definitions(blocks: Sequence[Block]) -> None:
    """Raise an error at the first operation that some way leads to without all its operands.

    ``blocks`` are those that control reaches, in reverse postorder; the first is the entry.
    """
    found = _undefined_use(blocks)
    if found is not None:
        op, number = found
        name = op.operands[number].name_hint
        what = f"operand {number}" if name is None else f"'%{name}'"
        message = f"{what} is not defined on every way that leads here"
        op.emit_error(message, DiagnosticException(message))


def _undefined_use(blocks: Sequence[Block]) -> tuple[Operation, int] | None:
    dominators: Mapping[Block, Block] | None = None
    order = {block: number for number, block in enumerate(blocks)}
    defined: dict[SSAValue, Block] = {}
    for block in blocks:
        above = {block, blocks[0]}
        defined.update(dict.fromkeys(block.args, block))
        for op in block.ops:
            for number, operand in enumerate(op.operands):
                home = defined.get(operand)
                if home in above:
                    continue
                if home is None:
                    return op, number
                if dominators is None:
                    dominators = _immediate_dominators(blocks, order)
                if not _dominates(home, block, dominators, order):
                    return op, number
                above.add(home)
            for result in op.results:
                defined[result] = block
    return None


def _dominates(
    above: Block, block: Block, dominators: Mapping[Block, Block], order: Mapping[Block, int]
) -> bool:
    while order[block] > order[above]:
        block = dominators[block]
    return block is above


def _immediate_dominators(
    blocks: Sequence[Block], order: Mapping[Block, int]
) -> Mapping[Block, Block]:
    """The block through which every way to a block comes last, for all but the entry.

    Source: Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm.
    """
    before = predecessors(blocks)
    found = {blocks[0]: blocks[0]}

    def meet(one: Block, other: Block) -> Block:
        while one is not other:
            if order[one] > order[other]:
                one = found[one]
            else:
                other = found[other]
        return one

    changed = True
    while changed:
        changed = False
        for block in blocks[1:]:
            known = [each for each in before[block] if each in found]
            common = known[0]
            for each in known[1:]:
                common = meet(common, each)
            if found.get(block) is not common:
                found[block], changed = common, True
    return found
