"""Addresses of lanes as an expression over ``lane``, as ``(lane%8)*128 + ((lane//8)^(lane%8))*16``.

Python's arithmetic on whole numbers and comparisons, ``A if C else B``, and ``none`` for a lane
that is not active.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType

from fencewright.simulator.execution.addresses import AddressError, Addresses

_BINARY: Mapping[type[ast.operator], Callable[[int, int], int]] = MappingProxyType(
    {
        ast.Add: lambda left, right: left + right,
        ast.Sub: lambda left, right: left - right,
        ast.Mult: lambda left, right: left * right,
        ast.FloorDiv: lambda left, right: left // right,
        ast.Mod: lambda left, right: left % right,
        ast.BitXor: lambda left, right: left ^ right,
        ast.BitAnd: lambda left, right: left & right,
        ast.BitOr: lambda left, right: left | right,
        ast.LShift: lambda left, right: left << right,
        ast.RShift: lambda left, right: left >> right,
    }
)
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = MappingProxyType(
    {
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
    }
)
_LARGEST_SHIFT = 48
_INACTIVE = "none"


_NO_NAMES: Mapping[str, int] = MappingProxyType({})


def addresses_of(text: str, lanes: int, names: Mapping[str, int] = _NO_NAMES) -> Addresses:
    """The address of every lane; ``names`` are numbers that the expression may use beside ``lane``.

    Raises :class:`AddressError` with the column of the fault.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as problem:
        column = getattr(problem, "offset", None) or 1
        raise AddressError(f"cannot read the expression '{text}'", column) from None
    return tuple(_value(tree, {**names, "lane": lane}) for lane in range(lanes))


def _value(node: ast.expr, names: Mapping[str, int]) -> int | None:
    match node:
        case ast.Constant(value=bool()):
            raise _refused(node, names)
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name) if name == _INACTIVE:
            return None
        case ast.Constant(value=None):
            return None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, names)
        case ast.IfExp(test=test, body=body, orelse=other):
            return _value(body if _holds(test, names) else other, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _computed(node, _BINARY[type(op)], _number(left, names), _number(right, names))
        case _:
            raise _refused(node, names)


def _number(node: ast.expr, names: Mapping[str, int]) -> int:
    found = _value(node, names)
    if found is None:
        raise AddressError(
            "'none' is for a whole address, as 'lane*4 if lane < 16 else none'", node.col_offset + 1
        )
    return found


def _computed(node: ast.BinOp, made: Callable[[int, int], int], left: int, right: int) -> int:
    if isinstance(node.op, ast.FloorDiv | ast.Mod) and right == 0:
        raise AddressError(
            "division by zero; give a divisor that is 0 for no lane", node.right.col_offset + 1
        )
    if isinstance(node.op, ast.LShift | ast.RShift) and not 0 <= right <= _LARGEST_SHIFT:
        raise AddressError(
            f"a shift by {right}; give 0 to {_LARGEST_SHIFT}", node.right.col_offset + 1
        )
    return made(left, right)


def _holds(node: ast.expr, names: Mapping[str, int]) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_holds(each, names) for each in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_holds(each, names) for each in values)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return _COMPARISONS[type(op)](_number(left, names), _number(right, names))
        case _:
            return _number(node, names) != 0


def _refused(node: ast.expr, names: Mapping[str, int]) -> AddressError:
    accepted = (
        f"accepted: {', '.join(sorted(names))}, whole numbers, + - * // % ^ & | << >>, 'A if C "
        "else B', none"
    )
    return AddressError(
        f"no part of an address: '{ast.unparse(node)}'; {accepted}", node.col_offset + 1
    )
