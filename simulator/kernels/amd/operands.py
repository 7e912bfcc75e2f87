"""Operands of AMD instructions as registers of a ``LaneProgram``, and the facts of their kernel."""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands.operands import family_of, results_of
from fencewright.lowering.cdna.code.text import (
    AssemblyInstruction,
    ModifiedRegisters,
    Operand,
    Registers,
)
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.execution.program import Register
from fencewright.simulator.execution.vectorised import function_of
from fencewright.simulator.kernels.amd.modifiers import (
    Modifiers,
    NotExecutedError,
    taken,
)
from fencewright.simulator.kernels.amd.registers import Names
from fencewright.simulator.kernels.amd.registers import Registers as State
from fencewright.simulator.kernels.amd.symbols import Symbols
from fencewright.simulator.semantics.amd import MASK
from fencewright.simulator.semantics.amd_rows import Operation, negated, unsigned
from fencewright.simulator.semantics.elements import extended, part_of

SCC = ("scc",)
NO_MODIFIERS = Modifiers()


@dataclass(slots=True)
class Context:
    """The facts of one kernel on which its instructions depend beside their registers.

    ``vectors``: the number of vector registers. ``windows``: the upper words of flat addresses of
    LDS and private memory, by the operands of the kernel that give them. ``private``: the registers
    of the resource of private memory. ``has_counts``: the performance model has the chip.
    ``signed_offsets``: as of the chip. ``place_of``: where an instruction of the text comes from.
    ``keeps_denormals`` changes where an instruction says so.
    """

    chip: str
    generation: Generation
    tgsplit: bool
    l2_per_agent: L2PerAgent | None
    private: frozenset[str]
    has_counts: bool
    signed_offsets: bool
    keeps_denormals: bool
    symbols: Symbols
    vectors: int
    windows: Mapping[str, int]
    place_of: Callable[[AssemblyInstruction], SourceLocation | None]

    def from_register(self, operand: Operand) -> Names:
        """A vector register, and all after it that the kernel has."""
        (name,) = names_of(operand)
        return tuple([f"v{number}" for number in range(int(name[1:]), self.vectors)])


def names_of(operand: Operand) -> Names:
    """The registers of an operand, of ``null`` none. Raises ``NotExecutedError``."""
    if operand == "null":
        return ()
    if half_of(operand) is not None:
        assert isinstance(operand, ModifiedRegisters)
        return operand.names
    if not isinstance(operand, Registers):
        raise NotExecutedError(f"'{operand}' is no register")
    return operand.names


def half_of(operand: Operand) -> int | None:
    """The half of a register that an operand is: 0 or 1; None of any other."""
    if not isinstance(operand, ModifiedRegisters) or not _HALF.fullmatch(operand.text):
        return None
    return int(operand.text.endswith("h"))


class Operands:
    """The operands of instructions, whose values are those of ``state``."""

    def __init__(self, context: Context, state: State) -> None:
        self.context, self.state = context, state

    def results_and_sources(
        self, instruction: AssemblyInstruction
    ) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
        """The operands that an instruction defines, and the others."""
        row = family_of(instruction.mnemonic, self.context.generation)
        count = 0 if row is None else results_of(row, instruction.modifiers)
        return instruction.operands[:count], instruction.operands[count:]

    def formula(
        self, formula: Operation, operands: Sequence[Register], widths: tuple[int, ...], text: str,
        *given: object,
    ) -> Register:  # fmt: skip
        """A value that a formula computes, after what is given, of operands of so many bits."""
        return self.state.compute(function_of(formula, widths, *given), operands, text)

    def operand(self, operand: Operand, bits: int, is_float: bool = False) -> Register:
        """The value of an operand that is read as ``bits``."""
        return self.source(operand, bits, is_float, NO_MODIFIERS, 0)

    def source(
        self, operand: Operand, bits: int, is_float: bool, modifiers: Modifiers, place: int
    ) -> Register:
        """The value of the source ``place`` of an instruction. Raises ``NotExecutedError``."""
        state = self.state
        if bits == MASK:
            return state.lanes_of(self.operand(operand, state.lanes))
        if isinstance(operand, int):
            value = _constant(operand, bits, is_float) & (1 << max(bits, 32)) - 1
            return state.constant(value >> 16 * _half(modifiers, place), max(bits, 32))
        if operand == "null":
            return state.constant(0, max(bits, 32))
        if isinstance(operand, str):
            if bits == 64 and operand in self.context.windows:
                return state.constant(self.context.windows[operand] << 32, 64)
            if _FLOAT.fullmatch(operand) is None:
                return state.unknown(f"'{operand}'")
            return state.constant(_float_constant(operand, bits), max(bits, 32))
        if 32 * len(operand.names) != max(bits, 32):
            raise NotExecutedError(f"an operand has {32 * len(operand.names)} bits, not {bits}")
        value = self._moved(state.read(operand.names), modifiers, place)
        text = operand.text if isinstance(operand, ModifiedRegisters) else ""
        value = self._part(value, bits, modifiers, place, text)
        return self._with_sign(value, bits, is_float, text) if text else value

    def _moved(self, value: Register, modifiers: Modifiers, place: int) -> Register:
        """The value, or that of another lane."""
        if modifiers.dpp is None or place:
            return value
        active = self.state.active()
        seen = () if active is None else (active,)
        move = partial(taken, modifiers.dpp)
        return self.state.across(move, (value, *seen), "source lane", is_scalar=False, lanes=active)

    def _part(
        self, value: Register, bits: int, modifiers: Modifiers, place: int, text: str
    ) -> Register:
        """The part of a register that SDWA names, or the half of one that is read as 16 bits."""
        part = modifiers.parts[place] if place < len(modifiers.parts) else None
        is_signed = text.startswith("sext(")
        if part is not None and (part.count < 32 or is_signed):
            if is_signed:
                return self.formula(extended, (value,), (64,), "part", part.first, part.count, 32)
            return self.formula(part_of, (value,), (64,), "part", part.first, part.count)
        if bits != 16:
            return value
        first = 16 * (_half(modifiers, place) or text.rstrip("|").endswith(".h"))
        return self.formula(part_of, (value,), (64,), "half", first, 16)

    def _with_sign(self, value: Register, bits: int, is_float: bool, text: str) -> Register:
        if text.startswith("sext(") or _HALF.fullmatch(text):
            return value
        if not is_float or not _SIGN.fullmatch(text):
            raise NotExecutedError(f"'{text}' is no whole register")
        if "|" in text:
            value = self.formula(unsigned, (value,), (bits,), "magnitude", bits)
        if text.startswith("-"):
            value = self.formula(negated, (value,), (bits,), "negation", bits)
        return value

    def unknown(self, text: str, names: Names) -> None:
        """Registers have values of which nothing is known but that they are results of the
        instruction ``text``."""
        register = self.state.unknown(f"the result of '{text}'")
        for name in names:
            self.state.write((name,), register)


def _half(modifiers: Modifiers, place: int) -> int:
    return modifiers.halves[place] if place < len(modifiers.halves) else 0


_SIGN = re.compile(r"-?\|?([vas](\d+(\.[lh])?|\[\d+:\d+\])|vcc(_lo|_hi)?)\|?")
_HALF = re.compile(r"[va]\d+\.[lh]")
_INLINE = range(-16, 65)


def _constant(value: int, bits: int, is_float: bool) -> int:
    """The bits of an integer: a literal of 32 bits is the upper half of a double."""
    if is_float and bits == 64 and value not in _INLINE and value >> 32 in (0, -1):
        return value << 32
    return value


_FORMATS = MappingProxyType({16: "<e", 32: "<f", 64: "<d"})
_FLOAT = re.compile(r"-?\d+\.\d+")
_INVERSE_OF_2_PI = MappingProxyType({16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882})
"""The bits of the only constant that is rounded where it is printed. Source: MI300 ISA 6.2.1."""


def _float_constant(word: str, bits: int) -> int:
    if word.startswith("0.15915494"):
        return _INVERSE_OF_2_PI[bits]
    return int.from_bytes(struct.pack(_FORMATS[bits], float(word)), "little")
