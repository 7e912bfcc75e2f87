"""Verification that every value is defined at its uses: MLIR's rule, which xDSL does not check."""

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.code.dominance import Spans, dominates, immediate_dominators, spans_of
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
    spans: Spans[Block] | None = None
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
                if spans is None:
                    spans = spans_of(immediate_dominators(block_graph(blocks), blocks[0]))
                if not dominates(spans, home, block):
                    return op, number
                above.add(home)
            for result in op.results:
                defined[result] = block
    return None
