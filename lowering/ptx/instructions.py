"""PTX instructions as rows: the registers that an instruction uses and defines.

A name is decoded by ``statements.read_opcode``; its types are the last words, as in
``cvt.s64.s32``. Which forms an assembler accepts is certified by ``ptxas`` in
tests/unit/test_ptx_assembly.py and tests/differential/test_ptx_forms.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from fencewright.lowering.ptx.code.statements import Opcode, element_of
from fencewright.lowering.vocabulary import FastStrEnum


class RegisterClass(FastStrEnum):
    """A kind of virtual register. Source: PTX ISA, Register State Space; fundamental types."""

    PRED = "pred"
    B16 = "b16"
    B32 = "b32"
    B64 = "b64"
    B128 = "b128"

    @property
    def prefix(self) -> str:
        """The prefix of the names of such registers; LLVM's choice."""
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


@dataclass(frozen=True, slots=True)
class InstructionFamily:
    """One family of instructions: ``operands`` and ``result`` are words of the name or registers.

    ``noun``: its word in messages. ``last`` is the register of the last type in the name, ``first``
    that of the one before it.
    """

    noun: str
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
    return InstructionFamily("alu", (_LAST, _LAST), _LAST, source)


ROWS: dict[str, InstructionFamily] = {
    "ld": InstructionFamily("load", (_B64,), _LAST, _MEMORY),
    "st": InstructionFamily("store", (_B64, _LAST), "", _MEMORY),
    "atom": InstructionFamily("atomic", (_B64, _LAST), _LAST, _SYNC),
    "red": InstructionFamily("reduction", (_B64, _LAST), "", _SYNC),
    "fence": InstructionFamily("fence", (), "", _SYNC),
    "bar": InstructionFamily("barrier", (), "", _SYNC),
    "barrier": InstructionFamily("barrier", (), "", _SYNC),
    "add": _binary(_INTEGER),
    "sub": _binary(_INTEGER),
    "mul": _binary(_INTEGER),
    "min": _binary(_INTEGER),
    "max": _binary(_INTEGER),
    "fma": InstructionFamily("alu", (_LAST, _LAST, _LAST), _LAST, _FLOATING),
    "and": _binary(_LOGIC),
    "or": _binary(_LOGIC),
    "xor": _binary(_LOGIC),
    "not": InstructionFamily("alu", (_LAST,), _LAST, _LOGIC),
    "shl": InstructionFamily("alu", (_LAST, _B32), _LAST, _LOGIC),
    "shr": InstructionFamily("alu", (_LAST, _B32), _LAST, _LOGIC),
    "bfe": InstructionFamily("alu", (_LAST, _B32, _B32), _LAST, _INTEGER),
    "setp": InstructionFamily("alu", (_LAST, _LAST), _PRED, _COMPARE),
    "selp": InstructionFamily("alu", (_LAST, _LAST, _PRED), _LAST, _COMPARE),
    "cvt": InstructionFamily("alu", (_LAST,), _FIRST, f"{_MEMORY}: cvt"),
}
"""The instructions by the first word of their names."""


@dataclass(frozen=True, slots=True)
class Registers:
    """The registers of one instruction: its operands, and its result if it has one."""

    operands: tuple[RegisterClass, ...]
    result: RegisterClass | None


OPERATIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "ld": frozenset({"ld", "ld nc"}),
        "fence": frozenset(
            {
                "fence",
                "fence mbarrier_init",
                "fence proxy alias",
                "fence proxy async",
                "fence proxy async::generic",
            }
        ),
        "bar": frozenset({"bar sync", "bar arrive", "bar warp sync"}),
        "barrier": frozenset(
            {"barrier sync", "barrier arrive", "barrier cluster arrive", "barrier cluster wait"}
        ),
    }
)
"""The operations of a family where they are not the first word alone: those without other operands.

Parameters have names, not addresses in registers: ``ptx.param`` reads them.
"""
IMMEDIATES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "bar sync": (1, 2),
        "bar arrive": (2, 2),
        "bar warp sync": (1, 1),
        "barrier sync": (1, 2),
        "barrier arrive": (2, 2),
        "barrier cluster arrive": (0, 0),
        "barrier cluster wait": (0, 0),
    }
)
"""The constants of a barrier, at least and at most. Source: PTX ISA, bar; barrier.cluster."""
BARRIERS = 16
"""The named barriers of a work-group. Source: PTX ISA, bar."""
WARP = 32
"""The threads of a warp; a barrier has a multiple of them. Source: PTX ISA, WARP_SZ; bar."""
_LETTERS = ("b", "u", "s", "f", "bf")
"""Of types whose values registers hold."""
_TYPES_OF = {"cvt": 2, "fence": 0, "bar": 0, "barrier": 0}
"""The number of types in a name; one where nothing is listed."""
_POLICY = "L2::cache_hint"


@cache
def registers_of(opcode: Opcode) -> Registers | None:
    """The registers of an instruction such as ``add.s32``; None if no family has it.

    A name that is no form of its operation has the registers that its types say.
    """
    first = opcode.head
    family = ROWS.get(first)
    if family is None or opcode.row is None:
        return None
    if opcode.row.name not in OPERATIONS.get(first, {first}):
        return None
    if len(opcode.types) != _TYPES_OF.get(first, 1):
        return None
    types = [_register_of(each) for each in opcode.types]
    if None in types:
        return None
    meant: dict[str, str | None] = dict(zip((_LAST, _FIRST), reversed(types), strict=False))
    registers = [meant.get(each, each) for each in (*family.operands, *_added(opcode))]
    result = meant.get(family.result, family.result)
    if result and "wide" in opcode.modifiers:
        result = register_for(2 * RegisterClass(result).bits)
    operands = tuple(RegisterClass(each) for each in registers if each)
    return Registers(operands, RegisterClass(result) if result else None)


def _added(opcode: Opcode) -> tuple[str, ...]:
    """The operands that qualifiers bring with them, after all others."""
    first = opcode.head
    compared = (_LAST,) if first == "atom" and opcode.update == "cas" else ()
    combined = (_PRED,) if opcode.boolean else ()
    packed = first == "cvt" and opcode.type == "f32" and opcode.types[0].endswith("x2")
    packing = (_LAST, *((_B32,) if opcode.rounding == "rs" else ())) if packed else ()
    return (*compared, *combined, *packing, *((_B64,) if _POLICY in opcode.hints else ()))


@cache
def _register_of(type_: str) -> RegisterClass | None:
    """The register of a type; None for one that is in none, as e4m3x2 here."""
    if type_ == RegisterClass.PRED:
        return RegisterClass.PRED
    letter, bits, count = element_of(type_) or ("", 0, 0)
    if letter not in _LETTERS or count > 2:
        return None
    # An 8-bit value is in a 16-bit register: PTX has none that is smaller.
    return register_for(max(bits * count, 16))
