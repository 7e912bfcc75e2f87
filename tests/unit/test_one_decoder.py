"""PTX mnemonics are decoded in one place: nobody else takes the name of an instruction apart."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.instructions import ROWS, registers_of
from fencewright.mlir_dialects import ptx

ROOT = Path(__file__).parents[2]
ROOMS = ("lowering", "mlir_dialects", "passes", "simulator", "checker", "tools")
DECODERS = ("lowering/ptx/code/", "lowering/cdna/code/")
_NAMES = {"opcode", "mnemonic", "mnemonics"}
_SPLITS = {"split", "partition", "rpartition", "rsplit"}

REMAINING = {
    "lowering/ptx/performance/costs.py": "its rows are prefixes of names",
    "lowering/ptx/select.py": "looks at the words of what it has written itself",
    "lowering/ptx/text.py": "words_of, for those named here",
    "passes/traffic/ptx.py": "reads names by words",
    "simulator/certify/assemble_ptx.py": "the second reading, on purpose: docs/architecture.md",
    "tools/remarks/remarks.py": "tells accesses of inline text from others",
}


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def takes_apart(source: str) -> bool:
    """True of source that splits what is called an opcode or a mnemonic, at dots or into its words."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "words_of":
            if any(_NAMES & {*_names(each)} for each in node.args):
                return True
        is_split = isinstance(function, ast.Attribute) and function.attr in _SPLITS
        at_dot = any(isinstance(each, ast.Constant) and each.value == "." for each in node.args)
        if is_split and at_dot and _NAMES & {*_names(function)}:
            return True
    return False


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
    ],
)
def test_what_takes_names_apart_is_found(source: str) -> None:
    assert takes_apart(source)
    assert not takes_apart('version.split(".")')


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
