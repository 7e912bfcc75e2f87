"""PTX sequences as inline assembly of LLVM IR.

Source: LLVM LangRef, Inline Assembler Expressions; constraints: LLVM
NVPTXISelLowering.cpp, getRegForInlineAsmConstraint; PTX ISA, Scoping of names.
"""

from collections.abc import Sequence as Many
from dataclasses import dataclass

from fencewright.lowering.ptx.text import fill_places
from fencewright.lowering.sequence import Sequence


@dataclass(frozen=True, slots=True)
class AsmRegister:
    """A register of inline assembly: LLVM's constraint letter, and its width in bits."""

    constraint: str
    bits: int


REGISTERS: dict[int, AsmRegister] = {
    8: AsmRegister("h", 16),
    16: AsmRegister("h", 16),
    32: AsmRegister("r", 32),
    64: AsmRegister("l", 64),
    128: AsmRegister("q", 128),
}
"""The bits of a value -> the register that carries it; floating-point numbers go as integers."""

ADDRESS = REGISTERS[64]

_UNIQUE = "$fence${:uid}"
"""The prefix of scratch names: LLVM writes another number wherever it copies the assembly to."""


def inline_asm(
    sequence: Sequence, result: AsmRegister | None, operands: Many[tuple[str, AsmRegister]]
) -> str:
    """A sequence as ``call ... asm``, with a place for each operand as ``llvm_ir`` has them.

    ``operands`` are the names of their places and their registers; a name that the sequence
    lacks is passed all the same, so that LLVM takes the memory it points to for changed.
    """
    outputs = [("dst", result)] if result else []
    places = {name: f"${number}" for number, (name, _) in enumerate([*outputs, *operands])}
    # The result may be written before the operands have been read.
    constraints = [f"=&{register.constraint}" for _, register in outputs]
    constraints += [register.constraint for _, register in operands]
    lines = fill_places(sequence.instructions, places, _UNIQUE)
    if any(each.mnemonic == ".reg" for each in sequence.instructions):
        # In braces, the names that it declares are its own.
        lines = ["{", *lines, "}"]
    text = "\\0A".join(lines)
    type_ = f"i{result.bits}" if result else "void"
    given = ", ".join(f"i{each.bits} {{{n}}}" for n, (_, each) in enumerate(operands))
    listed = ",".join([*constraints, "~{memory}"])
    return f'call {type_} asm sideeffect "{text}", "{listed}"({given})'
