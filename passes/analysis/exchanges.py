"""The edge out of a branch that implies the success of a compare-exchange."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from fencewright.mlir_dialects.scoped import CmpxchgOp
from fencewright.passes.analysis.election import constant_of, predicate_of

_CONDITIONAL = "cf.cond_br"

_IN_LLVM_IR = "br i1 {0}, label {^0}, label {^1}"


def is_conditional(branch: Operation) -> bool:
    """True where a branch goes to its first successor if its first operand is true, else to its
    second."""
    return branch.name == _CONDITIONAL or _text(branch).startswith(_IN_LLVM_IR)


def _text(op: object) -> str:
    """The text of an instruction of LLVM IR, but for its metadata; empty for other operations."""
    text = op.properties.get("text") if isinstance(op, Operation) else None
    return text.data.partition(", !")[0] if isinstance(text, StringAttr) else ""


def exchanged(op: CmpxchgOp, condition: SSAValue) -> int | None:
    """The number of the successor that is taken if ``op`` exchanged; None if that is not known."""
    if condition is op.success:
        return 0
    made_by = condition.owner
    if _takes_out(made_by, op, 1):
        return 0
    negated = _negated(made_by)
    if negated is not None:
        index = exchanged(op, negated)
        return None if index is None else 1 - index
    equal = None if op.weak is not None else _compared_old(op, made_by)
    return None if equal is None else _EQUAL_GOES_TO[equal]


def _takes_out(made_by: object, op: CmpxchgOp, index: int) -> bool:
    """True if ``made_by`` extracts that member of the struct of LLVM's compare-exchange."""
    if not _text(made_by).startswith("extractvalue ") or not isinstance(made_by, Operation):
        return False
    if not _text(made_by).endswith(f" {{0}}, {index}"):
        return False
    pack = made_by.operands[0].owner
    return isinstance(pack, Operation) and pack.name == _PACK and pack.operands[0] is op.old


def _negated(made_by: object) -> SSAValue | None:
    """The value of which ``made_by`` is the negation; None if it is none."""
    if _NOT.fullmatch(_text(made_by)) and isinstance(made_by, Operation):
        return made_by.operands[0]
    if not isinstance(made_by, Operation) or made_by.name != "arith.xori":
        return None
    left, right = made_by.operands
    return left if _is_true(right) else right if _is_true(left) else None


def _compared_old(op: CmpxchgOp, made_by: object) -> str | None:
    """The predicate (eq, ne) that compares the old value with the expected one; None for others."""
    if not isinstance(made_by, Operation):
        return None
    predicate = predicate_of(made_by)
    if predicate is not None:
        same = set(made_by.operands) == {op.old, op.compare}
        return predicate if same and predicate in _EQUAL_GOES_TO else None
    compared = _ICMP.fullmatch(_text(made_by))
    if compared is None:
        return None
    old, expected = False, False
    for each in compared.group(2, 3):
        value = made_by.operands[int(each[1:-1])] if each in _PLACES else None
        if value is not None and (value is op.old or _takes_out(value.owner, op, 0)):
            old = True
        elif value is op.compare or (value is None and each == _text(op.compare.owner)):
            expected = True
    return compared[1] if old and expected else None


_EQUAL_GOES_TO: Mapping[str, int] = MappingProxyType({"eq": 0, "ne": 1})


_PACK = "llvm_ir.pack"
"""Names of the dialect that carries LLVM IR, which is not imported for others."""

_NOT = re.compile(r"xor i1 (?:\{0\}, true|true, \{0\})")

_ICMP = re.compile(r"icmp (eq|ne) \S+(?: addrspace\([0-9]+\))? (\S+), (\S+)")

_PLACES = ("{0}", "{1}")


def _is_true(value: SSAValue) -> bool:
    constant = constant_of(value)
    return constant is not None and bool(constant & 1)
