"""Whether every value is defined where it is used: MLIR's rule, which xDSL does not verify."""

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.passes.analysis.control_flow import block_graph


def check_definitions(blocks: Sequence[Block]) -> None:
    """Raise an error at the first operation that some path reaches without all its operands.

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
    dominators: Sequence[int] | None = None
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
                    before = block_graph(blocks).predecessors
                    dominators = immediate_dominators(
                        [[order[each] for each in before[block]] for block in blocks]
                    )
                if not _dominates(order[home], order[block], dominators):
                    return op, number
                above.add(home)
            for result in op.results:
                defined[result] = block
    return None


def _dominates(above: int, block: int, dominators: Sequence[int]) -> bool:
    while block > above:
        block = dominators[block]
    return block == above


def immediate_dominators(before: Sequence[Iterable[int]]) -> list[int]:
    """The node through which every path from node 0 to a node comes last; 0 for itself.

    ``before`` has the predecessors of each node. The nodes, which are numbered in reverse
    postorder, are all reached from node 0. Source: Cooper, Harvey and Kennedy, "A Simple, Fast
    Dominance Algorithm".
    """
    found = [0] + [-1] * (len(before) - 1)
    changed = True
    while changed:
        changed = False
        for node in range(1, len(before)):
            common = -1
            for each in before[node]:
                if found[each] < 0:
                    continue
                if common < 0:
                    common = each
                while common != each:
                    if common > each:
                        common = found[common]
                    else:
                        each = found[each]
            if found[node] != common:
                found[node], changed = common, True
    return found
