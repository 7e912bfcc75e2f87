"""The edge out of a branch that at most one wave of a work-group takes.

Where a thread's id, or what is made of it, equals one value, or is below a small one, the threads
that find it so are in one wave: waves hold 64 threads that follow one another by their id in x. It
is the only such wave of its work-group if that has no other dimension, or each of them is tested
too. What is not known elects nobody. This decides what pays, never what is right.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from fencewright.lowering.code.graph import postorder
from fencewright.passes.analysis.control_flow import successors

if TYPE_CHECKING:
    from xdsl.dialects import gpu

WAVE = 64
"""The threads of a wave on CDNA."""

Dimensions: TypeAlias = frozenset[str]
"""Some of x, y and z."""

_NONE: Dimensions = frozenset()


class Election:
    """The elections by branches of one function, ``blocks`` being all of its blocks.

    ``block_size``: the threads of a work-group in x, y and z. Where that is not known, it is
    taken to have the dimensions that are read.
    """

    def __init__(self, blocks: Iterable[Block], block_size: Sequence[int] | None = None):
        if block_size is not None:
            sizes = zip("xyz", block_size, strict=True)
            self.dimensions = frozenset(name for name, size in sizes if size > 1)
        else:
            ids = (_id_of(op) for block in blocks for op in block.ops)
            self.dimensions = frozenset(name for name in ids if name is not None)

    def elected(self, branch: Operation) -> int | None:
        """The number of the successor that one wave takes at most; None if that is not known."""
        if len(branch.successors) != 2 or not branch.operands or not self.dimensions:
            return None
        condition = branch.operands[0]
        for index, truth in enumerate((True, False)):
            if self.dimensions <= _distinguished(condition, truth):
                return index
        return None


def _distinguished(condition: SSAValue, truth: bool) -> Dimensions:
    """The dimensions in which threads are of one wave if ``condition`` has that truth for them."""
    made_by = condition.owner
    if not isinstance(made_by, Operation):
        return _NONE
    opposite = _negation(made_by)
    if opposite is not None:
        return _distinguished(opposite, not truth)
    both = _conjunction(made_by) if truth else None
    if both is not None:
        return _distinguished(both[0], True) | _distinguished(both[1], True)
    compared = _comparison(made_by)
    if compared is None:
        return _NONE
    predicate, value, other = compared
    found = number_of(value)
    if found is None:
        return _NONE
    dimension, shift = found
    if (predicate, truth) in _EQUAL:
        one = 1 << shift <= WAVE
    elif (predicate, truth) in _BELOW and other is not None and other >= 0:
        one = other << shift <= WAVE  # A negative number is a great one without a sign.
    else:
        return _NONE
    return frozenset({dimension}) if one else _NONE


_EQUAL = frozenset({("eq", True), ("ne", False)})
_BELOW = frozenset({("ult", True), ("uge", False), ("slt", True), ("sge", False)})


def number_of(value: SSAValue) -> tuple[str, int] | None:
    """The dimension whose thread id ``value`` is, and by how many bits that was shifted right."""
    shift = 0
    while isinstance(made_by := value.owner, Operation):
        dimension = _id_of(made_by)
        if dimension is not None:
            return dimension, shift
        step = _step(made_by)
        if step is None:
            return None
        value, more = step
        shift += more
    return None


# ---------------------------------------------------------------------------------------
# MLIR and LLVM IR, for which MLIR's dialects are not imported
# ---------------------------------------------------------------------------------------

_CALL = r"(?:tail |notail )?call (?:noundef )?(?:range\([^)]*\) )?"
_ID = re.compile(_CALL + r"i32 @llvm\.amdgcn\.workitem\.id\.([xyz])\(\)")
_SAME = re.compile(
    r"(?:(?:zext|sext|trunc)\b(?: nneg| nuw| nsw)* i(?:16|32|64) \{0\} to i(?:16|32|64)"
    rf"|{_CALL}i32 @llvm\.amdgcn\.readfirstlane(?:\.i32)?\(i32 (?:noundef )?\{{0\}}\))"
)
_SHIFTED = re.compile(r"lshr (?:exact )?i(\d+) \{0\}, (\d+)")
_COMPARED = re.compile(r"icmp (?:samesign )?(\w+) i\d+ \{0\}, (\d+|\{1\})")
_AND = re.compile(r"and i1 \{0\}, \{1\}|select i1 \{0\}, i1 \{1\}, i1 false")
_NOT = re.compile(r"xor i1 \{0\}, true")
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Those of arith.cmpi, by their numbers."""


def _text(op: Operation) -> str:
    """The text of an instruction of LLVM IR, but for its metadata; empty for other operations."""
    text = op.properties.get("text")
    return text.data.partition(", !")[0] if isinstance(text, StringAttr) else ""


def _id_of(op: Operation) -> str | None:
    if op.name == "gpu.thread_id":
        return str(cast("gpu.ThreadIdOp", op).dimension.data)
    found = _ID.match(_text(op))
    return None if found is None else found[1]


def _step(op: Operation) -> tuple[SSAValue, int] | None:
    """The operand that ``op`` computes its value from, and the right shift in bits."""
    if op.name in ("arith.index_cast", "arith.extui"):
        return op.operands[0], 0
    if op.name == "arith.shrui":
        return _shifted(op, constant_of(op.operands[1]), _bits(op.operands[0].type))
    text = _text(op)
    if _SAME.match(text):
        return op.operands[0], 0
    found = _SHIFTED.fullmatch(text)
    return None if found is None else _shifted(op, int(found[2]), int(found[1]))


def _bits(type: Attribute) -> int | None:
    if isinstance(type, IndexType):
        return 64
    return type.bitwidth if isa(type, IntegerType) else None


def _shifted(op: Operation, by: int | None, bits: int | None) -> tuple[SSAValue, int] | None:
    """The first operand and by how much it is shifted, if that is known and no poison.

    Source: MLIR arith.shrui and LLVM LangRef lshr, which say what a shift by the width or more is.
    """
    if by is None or bits is None or not 0 <= by < bits:
        return None
    return op.operands[0], by


def constant_of(value: SSAValue) -> int | None:
    """The number that a value is in MLIR; None if it is none."""
    made_by = value.owner
    if not isinstance(made_by, Operation) or made_by.name != "arith.constant":
        return None
    return _number(made_by, "value")


def predicate_of(op: Operation) -> str | None:
    """The predicate by which ``op`` compares integers in MLIR; None if it does not."""
    number = _number(op, "predicate") if op.name == "arith.cmpi" else None
    return None if number is None else _PREDICATES[number]


def _number(op: Operation, name: str) -> int | None:
    found = op.properties.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else None


def _comparison(op: Operation) -> tuple[str, SSAValue, int | None] | None:
    """A predicate, its operand, and the number that this is compared with, if it is one."""
    predicate = predicate_of(op)
    if predicate is not None:
        return predicate, op.operands[0], constant_of(op.operands[1])
    found = _COMPARED.fullmatch(_text(op))
    if found is None:
        return None
    return found[1], op.operands[0], int(found[2]) if found[2].isdigit() else None


def _conjunction(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    if op.name == "arith.andi" or _AND.fullmatch(_text(op)):
        return op.operands[0], op.operands[1]
    return None


def _negation(op: Operation) -> SSAValue | None:
    if op.name == "arith.xori" and constant_of(op.operands[1]) in (1, -1):
        return op.operands[0]
    return op.operands[0] if _NOT.fullmatch(_text(op)) else None


def blocks_of_elected(
    entries: Iterable[Block], elected: Callable[[Block], int | None], blocks: Iterable[Block]
) -> frozenset[Block]:
    """Those of ``blocks`` that only the edges of ``elected`` waves lead to."""

    def targets_of_many(block: Block) -> Sequence[Block]:
        chosen = elected(block)
        return [target for index, target in enumerate(successors(block)) if index != chosen]

    return frozenset(blocks) - frozenset(postorder(entries, targets_of_many))
