"""What the ``ptx`` dialect accepts is accepted by ptxas, for a matrix of qualifiers.

The matrix is drawn from the forms themselves, with words taken out, put in and changed: what is left
of it after the verifier is assembled, each instruction on a line of its own.
"""

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from ptxas import find_assemblers
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.forms import FORMS, SLOTS, slots_of
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.instructions import (
    OPERATIONS,
    ROWS,
    registers_of,
)
from fencewright.mlir_dialects import ptx

ASSEMBLERS = find_assemblers()
CHIP, VERSION = "sm_100a", "9.0"
NEWER = re.compile(
    r"\.mmio\.(acquire|release)|\.(acquire|release)\.mmio|mmio.*\.(acquire|release)"
    r"|\.[us]8x4|add.*\.sat.*\.([us]16x2|u32)|add.*\.([us]16x2|u32).*\.sat"
)
"""Forms of PTX 9.2 and 9.3, which ptxas 13.0 does not know yet, or only on sm_120."""
OPERATION = {
    Kind.LOAD: ptx.LoadOp,
    Kind.STORE: ptx.StoreOp,
    Kind.RMW: ptx.AtomicOp,
    Kind.FENCE: ptx.FenceOp,
    **dict.fromkeys((Kind.BARRIER, Kind.SIGNAL, Kind.WAIT), ptx.BarrierOp),
    Kind.COMPUTE: ptx.AluOp,
}
WORDS = (
    "weak relaxed acquire release acq_rel sc volatile mmio cta cluster gpu sys global shared local const "
    "v2 v4 ca cg L1::no_allocate L2::cache_hint L2::128B add exch cas b32 u32 u64 f32 f16 pred rn sat "
    "ftz cc aligned nonsense"
).split()
PLAIN = re.compile(r"[\w:]+")
COMMON = sorted(
    {
        *(f"{each}{bits}" for each in "bus" for bits in (8, 16, 32, 64)),
        *"b128 f16 f16x2 bf16 bf16x2 f32 f64 f32x2 u16x2 s16x2".split(),
        *(word for words in SLOTS.values() for word in words.split("|") if PLAIN.fullmatch(word)),
        *(
            word
            for forms in FORMS.values()
            for form in forms
            for word in re.split(r"[ |?*]+", form)
            if PLAIN.fullmatch(word) and word not in SLOTS
        ),
    }
)
"""The words that fill slots, but for those of patterns."""


def drawn(operation: str, number: int) -> Iterator[str]:
    """Names of an operation: right ones, and such with a word too many, too few or changed."""
    generator = random.Random(f"{operation} {number}")
    for _ in range(number):
        form = generator.choice(FORMS[operation])
        words = [
            generator.choice(given)
            for slot in slots_of(form)
            if (given := [each for each in COMMON if slot.takes(each)])
            if slot.is_required or generator.random() < 0.4
        ]
        chance = generator.random()
        if chance < 0.3:
            words.insert(generator.randint(0, len(words)), generator.choice(WORDS))
        elif chance < 0.5 and words:
            words.remove(generator.choice(words))
        elif chance < 0.6 and words:
            words[generator.randrange(len(words))] = generator.choice(WORDS)
        yield ".".join((*operation.split(), *words))


def accepted(name: str) -> bool:
    """Whether the verifier of the dialect accepts an instruction on the registers of its signature."""
    opcode = read_opcode(name)
    found = registers_of(opcode)
    if found is None or opcode.row is None:
        return False
    text, operation = name, OPERATION[opcode.row.kind]
    if operation is ptx.BarrierOp:
        text += " 0, 32" if "arrive" in name and "cluster" not in name else ""
        text += " 0" if "sync" in name else ""
    values = [
        ptx.ConstOp.create(result_types=[ptx.REGISTER_TYPES[each]]) for each in found.operands
    ]
    op = operation.create(
        operands=[each.results[0] for each in values],
        result_types=[ptx.REGISTER_TYPES[found.result]] if found.result else [],
        properties={"opcode": ptx.StringAttr(text)},
    )
    try:
        op.verify_()
    except VerifyException:
        return False
    return True


def line_of(name: str) -> str:
    opcode = read_opcode(name)
    found = registers_of(opcode)
    assert found is not None
    assert opcode.row is not None
    operation = OPERATION[opcode.row.kind]
    registers = [f"{each.prefix}{n + 2}" for n, each in enumerate(found.operands)]
    result = [f"{found.result.prefix}1"] if found.result else []
    if name.startswith("bfe"):
        registers[1:] = ["0", "7"]
    if operation in (ptx.FenceOp, ptx.BarrierOp):
        cluster = "cluster" in name or operation is ptx.FenceOp
        return name + ("" if cluster else " 0, 32" if "arrive" in name else " 0") + ";"
    if operation is not ptx.AluOp:
        registers[0] = f"[{registers[0]}]"
    return f"{name} {', '.join((*result, *registers))};"


def refused(folder: Path, ptxas: str, lines: list[str]) -> dict[str, str]:
    """The lines that an assembler says something against."""
    head = (
        f".version {VERSION}\n.target {CHIP}\n.address_size 64\n.visible .entry k() {{\n"
        ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b128 %rq<9>;\n"
    )
    source = folder / "forms.ptx"
    source.write_text(head + "\n".join(lines) + "\nret;\n}\n")
    command = [ptxas, f"-arch={CHIP}", "-O0", str(source), "-o", str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    first = head.count("\n") + 1
    said = re.findall(r"line (\d+); error\s*: (.*)", done.stdout + done.stderr)
    assert bool(said) == bool(done.returncode), done.stderr
    return {lines[int(line) - first]: message for line, message in said}


OPERATIONS_OF_THE_DIALECT = sorted({each for name in ROWS for each in OPERATIONS.get(name, {name})})
NAMES = {
    operation: sorted({each for each in drawn(operation, 150) if accepted(each)})
    for operation in OPERATIONS_OF_THE_DIALECT
    if operation in FORMS
}


@pytest.mark.skipif(not ASSEMBLERS, reason="needs ptxas (make oracles)")
def test_what_the_verifier_accepts_is_assembled(tmp_path: Path) -> None:
    lines = [line_of(each) for names in NAMES.values() for each in names if not NEWER.search(each)]
    assert len(lines) > 400
    found: dict[str, str] = {}
    for at in range(0, len(lines), 50):
        found |= refused(tmp_path, ASSEMBLERS[0], lines[at : at + 50])
    assert found == {}


@pytest.mark.skipif(not ASSEMBLERS, reason="needs ptxas (make oracles)")
def test_what_it_refuses_of_the_same_matrix_is_mostly_refused(tmp_path: Path) -> None:
    """The matrix has wrong names in it, so that the test above can fail."""
    names = [
        each for each in drawn("st", 150) if registers_of(read_opcode(each)) and not accepted(each)
    ]
    lines = sorted({line_of(each) for each in names})
    found: dict[str, str] = {}
    for at in range(0, len(lines), 10):
        found |= refused(tmp_path, ASSEMBLERS[0], lines[at : at + 10])
    assert len(found) > len(lines) // 2 > 20


def test_every_operation_of_the_dialect_has_accepted_forms() -> None:
    assert [operation for operation, names in NAMES.items() if not names] == []
