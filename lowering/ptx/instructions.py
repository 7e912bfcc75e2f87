"""PTX instructions as rows: what registers an instruction takes and gives.

An instruction is known by the first word of its name; its types are the last words, as in
``cvt.s64.s32``. Which forms an assembler accepts is certified by ``ptxas`` in
tests/unit/test_ptx_assembly.py.
"""

import re
from dataclasses import dataclass
from functools import cache

from fencewright.lowering.ptx.text import words_of
from fencewright.lowering.vocabulary import Word


class RegisterClass(Word):
    """A kind of virtual register. Source: PTX ISA, Register State Space; fundamental types."""

    PRED = "pred"
    B16 = "b16"
    B32 = "b32"
    B64 = "b64"
    B128 = "b128"

    @property
    def prefix(self) -> str:
        """What the names of such registers begin with; LLVM's choice."""
        return _PREFIX[self]

    @property
    def bits(self) -> int:
        """The width of the register."""
        return _BITS[self]


_PREFIX = {
    RegisterClass.PRED: "%p",
    RegisterClass.B16: "%rs",
    RegisterClass.B32: "%r",
    RegisterClass.B64: "%rd",
    RegisterClass.B128: "%rq",
}
_BITS = {
    RegisterClass.PRED: 1,
    RegisterClass.B16: 16,
    RegisterClass.B32: 32,
    RegisterClass.B64: 64,
    RegisterClass.B128: 128,
}
_INTEGER_REGISTERS = (RegisterClass.B16, RegisterClass.B32, RegisterClass.B64, RegisterClass.B128)


@cache
def register_for(bits: int) -> RegisterClass | None:
    """The register that holds so many bits: a predicate for one; None if there is none so wide."""
    if bits == 1:
        return RegisterClass.PRED
    return next((each for each in _INTEGER_REGISTERS if bits <= each.bits), None)


class PtxInstructionKind(Word):
    """What an instruction does, which is also how its operands are written."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    REDUCTION = "reduction"
    FENCE = "fence"
    BARRIER = "barrier"
    ALU = "alu"


@dataclass(frozen=True, slots=True)
class InstructionFamily:
    """One family of instructions: ``operands`` and ``result`` are words of the name or registers.

    ``last`` is the register of the last type in the name, ``first`` that of the one before it.
    """

    kind: PtxInstructionKind
    operands: tuple[str, ...]
    result: str
    source: str


_LAST, _FIRST = "last", "first"
_PRED, _B32, _B64 = RegisterClass.PRED, RegisterClass.B32, RegisterClass.B64
_MEMORY = "PTX ISA, Data Movement and Conversion Instructions"
_SYNC = "PTX ISA, Parallel Synchronization and Communication Instructions"
_INTEGER = "PTX ISA, Integer Arithmetic Instructions"
_FLOATING = "PTX ISA, Floating Point Instructions"
_LOGIC = "PTX ISA, Logic and Shift Instructions"
_COMPARE = "PTX ISA, Comparison and Selection Instructions"


def _binary(source: str) -> InstructionFamily:
    return InstructionFamily(PtxInstructionKind.ALU, (_LAST, _LAST), _LAST, source)


ROWS: dict[str, InstructionFamily] = {
    "ld": InstructionFamily(PtxInstructionKind.LOAD, (_B64,), _LAST, _MEMORY),
    "st": InstructionFamily(PtxInstructionKind.STORE, (_B64, _LAST), "", _MEMORY),
    "atom": InstructionFamily(PtxInstructionKind.ATOMIC, (_B64, _LAST), _LAST, _SYNC),
    "red": InstructionFamily(PtxInstructionKind.REDUCTION, (_B64, _LAST), "", _SYNC),
    "fence": InstructionFamily(PtxInstructionKind.FENCE, (), "", _SYNC),
    "bar": InstructionFamily(PtxInstructionKind.BARRIER, (), "", _SYNC),
    "barrier": InstructionFamily(PtxInstructionKind.BARRIER, (), "", _SYNC),
    "add": _binary(_INTEGER),
    "sub": _binary(_INTEGER),
    "mul": _binary(_INTEGER),
    "min": _binary(_INTEGER),
    "max": _binary(_INTEGER),
    "fma": InstructionFamily(PtxInstructionKind.ALU, (_LAST, _LAST, _LAST), _LAST, _FLOATING),
    "and": _binary(_LOGIC),
    "or": _binary(_LOGIC),
    "xor": _binary(_LOGIC),
    "not": InstructionFamily(PtxInstructionKind.ALU, (_LAST,), _LAST, _LOGIC),
    "shl": InstructionFamily(PtxInstructionKind.ALU, (_LAST, _B32), _LAST, _LOGIC),
    "shr": InstructionFamily(PtxInstructionKind.ALU, (_LAST, _B32), _LAST, _LOGIC),
    "bfe": InstructionFamily(PtxInstructionKind.ALU, (_LAST, _B32, _B32), _LAST, _INTEGER),
    "setp": InstructionFamily(PtxInstructionKind.ALU, (_LAST, _LAST), _PRED, _COMPARE),
    "selp": InstructionFamily(PtxInstructionKind.ALU, (_LAST, _LAST, _PRED), _LAST, _COMPARE),
    "cvt": InstructionFamily(PtxInstructionKind.ALU, (_LAST,), _FIRST, f"{_MEMORY}: cvt"),
}
"""The instructions by the first word of their names."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The registers of one instruction: what it takes, and what it gives if anything."""

    kind: PtxInstructionKind
    operands: tuple[RegisterClass, ...]
    result: RegisterClass | None


_TYPE = re.compile(r"(?:(?:[busf]|bf)(\d+)(x2)?|pred)")


@cache
def signature(mnemonic: str) -> Signature | None:
    """The registers of an instruction such as ``add.s32``; None if it is not known."""
    name, *words = words_of(mnemonic)
    row = ROWS.get(name)
    if row is None:
        return None
    types = [_register_of(word) for word in words if _TYPE.fullmatch(word)]
    meant = dict(zip((_LAST, _FIRST), reversed(types), strict=False))
    operands = row.operands
    if "cas" in words:
        operands = (*operands, _LAST)
    try:
        found = tuple(meant[each] if each in _NAMED else RegisterClass(each) for each in operands)
        result = row.result and (meant[row.result] if row.result in _NAMED else row.result)
    except KeyError:
        return None
    return Signature(row.kind, found, RegisterClass(result) if result else None)


_NAMED = (_LAST, _FIRST)


def _bits_of(type_: str) -> int:
    single = type_.removesuffix("x2")
    return int(single.lstrip("busf")) * (1 if single == type_ else 2)


def _register_of(type_: str) -> RegisterClass:
    # An 8-bit value is in a 16-bit register: PTX has none that is smaller.
    found = register_for(1 if type_ == "pred" else max(_bits_of(type_), 16))
    assert found is not None, type_
    return found
