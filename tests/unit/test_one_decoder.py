"""Mnemonics are decoded in one place: nobody else takes the name of an instruction apart.

Nor does code outside the tables ask for a chip by its name.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.instructions import ROWS, registers_of
from fencewright.mlir_dialects import ptx

ROOT = Path(__file__).parents[2]
ROOMS = ("lowering", "mlir_dialects", "passes", "simulator", "checker", "tools")
DECODERS = ("lowering/ptx/code/", "lowering/cdna/code/", "lowering/cdna/access_names.py")

REMAINING = {
    "simulator/certify/programs/ptx.py": "the second reading, on purpose: docs/architecture.md",
    "simulator/kernels/amd/arithmetic.py": "families without a row, refused by the start of a name",
    "simulator/semantics/amd_rows.py": "a table by name, with rows made of other tables by name",
    "tools/dev/campaigns/patterns.py": "cells of litmus tests, changed as text",
    "tools/fuzz/async_checks.py": "instructions of the model, chosen by what they print as",
}
"""The files outside the decoders that still look into names, and why."""

_NAMES = frozenset({"opcode", "mnemonic", "mnemonics"})
_TEXTS = frozenset({"instruction", "operation", "step", "read", "statement"})
_STATEMENTS = _TEXTS | {"each", "later", "before", "earlier"}
_LOOKS = frozenset(
    {"split", "rsplit", "partition", "rpartition", "startswith", "endswith", "removeprefix",
     "removesuffix", "replace", "find", "index", "count"}
)  # fmt: skip
_MATCHES = frozenset({"fullmatch", "match", "search", "findall", "finditer", "sub", "split"})


def _called(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_name(node: ast.AST) -> bool:
    """True of what is called a mnemonic, of an opcode's text, and of the text of an instruction."""
    if not isinstance(node, ast.Attribute):
        return _called(node) in _NAMES
    of = _called(node.value)
    if node.attr == "text":
        return of in _TEXTS
    if node.attr in ("data", "name"):
        return of in _NAMES
    return node.attr in _NAMES or (node.attr == "operation" and of in _STATEMENTS)


def _has_name(node: ast.AST) -> bool:
    """True of an expression over a name, but not over the facts of a decoded one (``opcode.type``)."""
    if isinstance(node, ast.Attribute) and _called(node.value) == "opcode":
        return _is_name(node)
    return _is_name(node) or any(map(_has_name, ast.iter_child_nodes(node)))


def _looks_into(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        is_text = isinstance(node.left, ast.JoinedStr | ast.Constant)
        return (
            is_text
            and isinstance(node.ops[0], ast.In | ast.NotIn)
            and _is_name(node.comparators[0])
        )
    if not isinstance(node, ast.Call):
        return False
    if _called(node.func) == "words_of":
        return any(map(_has_name, node.args))
    if not isinstance(node.func, ast.Attribute):
        return False
    is_look = node.func.attr in _LOOKS and _has_name(node.func.value)
    return is_look or (node.func.attr in _MATCHES and any(map(_has_name, node.args)))


_FRAGMENT = re.compile(
    r"(?:[sv]|ds|t?buffer|global|scratch|image)_\w*|_(?:bf|[bfiu])(?:8|16|32|64)"
    r"|(?:atom|bar|barrier|cp|cvt|fence|ld|ldu|mad|mbarrier|membar|mul|multimem|red|setp|st"
    r"|tcgen05|tensormap|wgmma)(?:[. ][\w.: ]*)?"
)
"""The beginning or the end of a mnemonic."""


def _words(node: ast.AST, constants: Mapping[str, ast.AST]) -> Iterator[str]:
    """The texts that an argument is one of, also by the name of a constant."""
    node = constants.get(node.id, node) if isinstance(node, ast.Name) else node
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.Tuple):
        for each in node.elts:
            yield from _words(each, constants)


def _looks_for_fragment(node: ast.AST, constants: Mapping[str, ast.AST]) -> bool:
    """True of a look for a part of a mnemonic, whatever the text is called that it is looked for
    in."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        is_in_name = isinstance(node.comparators[0], ast.Name)
        return is_in_name and any(re.fullmatch(r"_\w+_", each) for each in _words(node.left, {}))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr not in _LOOKS or _called(node.func.value) == "register":
        return False
    return any(_FRAGMENT.fullmatch(each) for each in _words(ast.Tuple(node.args), constants))


def takes_apart(source: str) -> bool:
    """True of source that splits, searches or matches the name or the text of an instruction."""
    tree = ast.parse(source)
    constants = {
        _called(target): each.value
        for each in tree.body
        if isinstance(each, ast.Assign)
        for target in each.targets
    }
    return any(_looks_into(each) or _looks_for_fragment(each, constants) for each in ast.walk(tree))


def test_only_decoders_take_names_apart() -> None:
    found = {
        name
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if not (name := str(path.relative_to(ROOT))).startswith(DECODERS)
        and takes_apart(path.read_text())
    }
    assert found == set(REMAINING)


@pytest.mark.parametrize(
    "source",
    [
        'statement.opcode.name.split(".")',
        'mnemonic.partition(".")[0]',
        "words_of(op.opcode.data)",
        'op.opcode.data.endswith("_b32")',
        'statement.operation.startswith("tensormap ")',
        'operation.text.partition(" ")[0]',
        "read.step.instruction.text.split()",
        'instruction.mnemonic.rsplit("_", 2)',
        'instruction.mnemonic.startswith("buffer_")',
        "_ATOMIC.fullmatch(mnemonic)",
        're.sub("_e32", "", step.instruction.mnemonic)',
        '"_rtn_" in mnemonic',
        '"multimem" in statement.operation',
        'name.startswith(("s_andn2_b", "s_and_not1_b"))',
        '_ONES = ("v_cmp", "s_cmp")\nname.startswith(_ONES)',
        '"_lo_" in name',
        'head.removesuffix("_b32")',
        'text.startswith("cp.async.bulk")',
    ],
)
def test_what_takes_names_apart_is_found(source: str) -> None:
    assert takes_apart(source)


@pytest.mark.parametrize(
    "source",
    [
        'version.split(".")',
        "_SYMBOL.fullmatch(operand)",
        "mnemonic in instruction.modifiers",
        'opcode.type.startswith("f")',
        '"lo" in opcode.words',
        'register.startswith(("s", "vcc"))',
        'register.startswith("flat_scratch")',
        'word.startswith("offset:")',
    ],
)
def test_what_reads_facts_or_other_text_is_not_found(source: str) -> None:
    assert not takes_apart(source)


_CHIP = re.compile(r"gfx\d\w*|sm_\d\w*")


def _chips_in(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Constant)
        and isinstance(each.value, str)
        and _CHIP.fullmatch(each.value) is not None
        for each in ast.walk(node)
    )


def _asks_for_chip(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ast.Attribute(attr="number") as left, _, [ast.Constant(value=int())]):
            return _called(left.value) == "chip"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return _chips_in(test)
        case ast.Compare() | ast.BoolOp():
            return _chips_in(node)
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _LOOKS and any(map(_chips_in, node.args))
        case ast.match_case():
            return _chips_in(node.pattern)
        case _:
            return False


def asks_for_chip(source: str) -> bool:
    """True of source with a condition on the name of a chip; tables by chip have none."""
    # Few files have such a name or number: no other one is parsed.
    if not _CHIP.search(source) and not re.search(r"\bchip\s*\.\s*number\b", source):
        return False
    return any(map(_asks_for_chip, ast.walk(ast.parse(source))))


def test_no_condition_names_a_chip() -> None:
    found = [
        name
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if asks_for_chip(path.read_text())
        if (name := str(path.relative_to(ROOT)))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'x = a and machine.target == "sm_90"',
        'if chip in ("gfx942", "gfx950"):\n    pass',
        'bits = 1 if chip.name.startswith("gfx9") else 2',
        'match chip:\n    case "gfx908":\n        pass',
        "x = self.chip.number < 90",
    ],
)
def test_a_condition_on_a_chip_is_found(source: str) -> None:
    assert asks_for_chip(source)


@pytest.mark.parametrize("source", ['_OLDEST = frozenset({"gfx908"})', 'Row("gfx90a", 64)'])
def test_a_row_of_a_chip_is_none(source: str) -> None:
    assert not asks_for_chip(source)


def _accepted(name: str) -> bool:
    """True where the dialect's verifier has nothing against the name, on the registers it asks for."""
    opcode = read_opcode(name)
    registers = registers_of(opcode)
    assert registers is not None, name
    values = [ptx.ConstOp.create(result_types=[ptx.REGISTER_TYPES[r]]) for r in registers.operands]
    operations = {Kind.LOAD: ptx.LoadOp, Kind.STORE: ptx.StoreOp, Kind.RMW: ptx.AtomicOp}
    assert opcode.row is not None
    op = operations.get(opcode.row.kind, ptx.AluOp).create(
        operands=[each.results[0] for each in values],
        result_types=[ptx.REGISTER_TYPES[registers.result]] if registers.result else [],
        properties={"opcode": ptx.StringAttr(name)},
    )
    try:
        op.verify_()
    except VerifyException:
        return False
    return True


@pytest.mark.parametrize("head", sorted(set(ROWS) - {"fence", "bar", "barrier"}))
def test_the_dialect_accepts_what_the_decoder_knows(head: str) -> None:
    words = ("", ".global", ".acquire.gpu", ".release.sys", ".add", ".cas", ".lo", ".rn", ".eq",
             ".nonsense", ".acquire", ".volatile", ".mmio")  # fmt: skip
    types = (".u32", ".b64", ".f32", ".s64.s32", ".pred")
    names = [f"{head}{one}{two}{type_}" for one in words for two in words for type_ in types]
    names = [each for each in names if registers_of(read_opcode(each)) is not None]
    assert names
    known = [each for each in names if not read_opcode(each).problem]
    assert [each for each in names if _accepted(each)] == known
