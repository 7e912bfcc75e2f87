"""PTX sequences as inline assembly of LLVM IR.

Source: LLVM LangRef, Inline Assembler Expressions; constraints: LLVM
NVPTXISelLowering.cpp, getRegForInlineAsmConstraint; PTX ISA, Scoping of names.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Many
from dataclasses import dataclass


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

UNIQUE = "$fence${:uid}"
"""The prefix of scratch names: LLVM writes another number wherever it copies the assembly to."""


def inline_asm(
    lines: Iterable[str], result: AsmRegister | None, operands: Many[tuple[AsmRegister, str]]
) -> str:
    """Lines of PTX as ``call ... asm``; ``operands``: in which register each is, and the typed
    value.

    In the lines ``$0`` is the result, if there is one, and the operands follow it.
    """
    # The result may be written before the operands have been read.
    constraints = [] if result is None else [f"=&{result.constraint}"]
    constraints += [register.constraint for register, _ in operands]
    text = "\\0A".join(lines)
    type_ = f"i{result.bits}" if result else "void"
    given = ", ".join(value for _, value in operands)
    listed = ",".join([*constraints, "~{memory}"])
    return f'call {type_} asm sideeffect "{text}", "{listed}"({given})'
