"""Arithmetic of AMD instructions as steps: rows by their names, and code for all beyond a row.

An instruction without a row, of which is known what it defines, leaves unknown values there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType

import numpy as np

from fencewright.lowering.cdna.code.flow import Step as CodeStep
from fencewright.lowering.cdna.code.operands.family import Unit
from fencewright.lowering.cdna.code.operands.operands import opcode_of
from fencewright.lowering.cdna.code.text import AssemblyInstruction, Operand, Registers
from fencewright.lowering.cdna.code.text import Registers as RegisterOperand
from fencewright.lowering.cdna.code.variables import SYMBOL
from fencewright.simulator.core.program import ArithmeticKind
from fencewright.simulator.execution.program import LaneValue, Merge, Register
from fencewright.simulator.kernels.amd import lanes
from fencewright.simulator.kernels.amd.modifiers import (
    Modifiers,
    NotExecutedError,
    numbers_of,
    put,
    read_modifiers,
    words_of,
    written,
)
from fencewright.simulator.kernels.amd.operands import (
    NO_MODIFIERS,
    SCC,
    Context,
    Operands,
    half_of,
    names_of,
)
from fencewright.simulator.kernels.amd.registers import Names, Part
from fencewright.simulator.kernels.amd.registers import Registers as State
from fencewright.simulator.semantics.amd import (
    MASK,
    MEANINGS,
    Copy,
    FirstLane,
    SaveExec,
    Sum,
)
from fencewright.simulator.semantics.amd_rows import (
    PACKED,
    ROWS,
    Row,
    clamped_number,
    converted,
    logic_of,
    multiplied,
    negated,
    nonzero,
    table_of,
)
from fencewright.simulator.semantics.elements import joined, part_of, replaced
from fencewright.simulator.semantics.operands import is_several


class Arithmetic(Operands):
    """Appends the computations of instructions to the steps of ``state``."""

    def __init__(self, context: Context, state: State) -> None:
        super().__init__(context, state)
        self._sums: dict[Register, _LowHalf] = {}
        self.index: tuple[Register, frozenset[str]] | None = None
        self.after_place = 0
        """The bytes of code after the last ``s_getpc_b64``, of scalar instructions."""

    def compute(self, step: CodeStep) -> None:
        """One instruction that computes. Raises ``NotExecutedError``."""
        instruction, name = step.instruction, opcode_of(step.instruction.mnemonic)[0]
        special = _SPECIAL.get(name)
        meaning = MEANINGS.get(name)
        if self.index is not None and name not in _INDEXING:
            self.indexed(step, *self.index)
        elif special is not None:
            special(self, step, name)
        elif meaning is not None and type(meaning.meaning) in _OF_MEANINGS:
            _OF_MEANINGS[type(meaning.meaning)](self, step, name)
        elif name in ROWS:
            self.row(step, name)
        elif name.startswith(_WITH_HIDDEN_STATE) or not step.effects.defines:
            raise NotExecutedError("there is no row for it")
        else:
            self.unknown(instruction.text, step.effects.defines)

    # Rows

    def row(self, step: CodeStep, name: str) -> None:
        """An instruction that a row is for."""
        self._computed(step, name, self._row(name), _modifiers(step.instruction))

    def _computed(self, step: CodeStep, name: str, row: Row, modifiers: Modifiers) -> None:
        instruction = step.instruction
        results, printed = self.results_and_sources(instruction)
        sources = self._sources(row, results, printed, modifiers)
        if modifiers.clamp and not row.is_float:
            if row.clamped is None:
                raise NotExecutedError("'clamp' is not executed")
            row = replace(row, formula=row.clamped)
        value = self.formula(row.formula, sources, row.widths, name)
        if name in _SIGNS and printed[_SIGNS[name]] == _SIGN_PLACE:
            self.state.has_sign(value, sources[1 - _SIGNS[name]])
        if row.scc is not None:
            self.state.set(SCC, self.formula(row.scc, sources, row.widths, name))
        elif row.tests_result:
            self.state.set(SCC, self.formula(nonzero, (value,), (64,), name))
        if row.result == MASK:
            self._flag(step, results, value)
            return
        if row.flag is not None:
            flag = self.formula(row.flag, sources, row.widths, name)
            mask = self.state.bits_of(flag, name)
            self._write(row, results, value, modifiers, instruction)
            self.state.set(names_of(results[1]), mask)
            return
        self._write(row, results, value, modifiers, instruction)

    def _row(self, name: str) -> Row:
        row = ROWS.get(name)
        if row is None:
            raise NotExecutedError("there is no row for it")
        return row if self.context.keeps_denormals else _without_denormals(row)

    def _sources(
        self,
        row: Row,
        results: Sequence[Operand],
        printed: Sequence[Operand],
        modifiers: Modifiers = NO_MODIFIERS,
    ) -> list[Register]:
        operands = list(printed)
        if row.own is not None:
            operands.insert(len(operands) if row.own < 0 else row.own, results[0])
        if len(operands) + 1 == len(row.sources) and row.sources[-1] == MASK:
            # A half of two that issue together does not print vcc.
            operands.append(RegisterOperand(self.state.vcc))
        if len(operands) != len(row.sources):
            raise NotExecutedError(f"it has {len(operands)} sources, not {len(row.sources)}")
        sources = [
            self.source(operand, bits, row.is_float, modifiers, n)
            for n, (operand, bits) in enumerate(zip(operands, row.sources, strict=True))
        ]
        return sources + [_IMPLICIT[each](self.state) for each in row.implicit]

    def _flag(self, step: CodeStep, results: Sequence[Operand], value: Register) -> None:
        """A condition: to scc, or as a lane mask, of some instructions to exec too."""
        to_exec = "exec_lo" in step.effects.defines
        if not results and not to_exec:
            self.state.set(SCC, value)
            return
        mask = self.state.bits_of(value, step.instruction.mnemonic)
        if results:
            self.state.set(names_of(results[0]), mask)
        if to_exec:
            self.state.set(self.state.exec, mask)

    def _write(
        self,
        row: Row,
        results: Sequence[Operand],
        value: Register,
        modifiers: Modifiers,
        instruction: AssemblyInstruction,
    ) -> None:
        """The result of an instruction, as its modifiers change it."""
        state, name, names = self.state, instruction.mnemonic, names_of(results[0])
        if modifiers.factor != 1.0:
            width = max(row.result, 16)
            value = self.formula(multiplied, (value,), (width,), name, width, modifiers.factor)
        if modifiers.clamp and row.is_float:
            value = self.formula(clamped_number, (value,), (row.result,), name, row.result)
        into, unused = modifiers.into, modifiers.unused
        half = modifiers.halves[-1] if len(modifiers.halves) > len(row.sources) else 0
        named = half_of(results[0])
        half = half if named is None else named
        keeps = named is not None or half or _keeps_half(row, instruction)
        if row.result == 16 and not modifiers.parts and keeps:
            into, unused = replace(into, first=16 * half, count=16), "UNUSED_PRESERVE"
        if into.count < 32:
            both = value, state.read(names)
            value = self.formula(put, both, (64, 32), f"part of {name}", into, unused)
        control = modifiers.dpp
        if control is not None and not control.writes_all:
            active = state.active()
            seen = () if active is None else (active,)
            some = state.across(partial(written, control), seen, "row mask", is_scalar=False)
            merged = state.new(is_scalar=False)
            state.steps.append(Merge(merged, some, value, state.read(names)))
            value = merged
        state.write(names, value)

    def move(self, step: CodeStep, name: str) -> None:
        """A copy of registers, which is no step."""
        instruction = step.instruction
        (result, *_), sources = self.results_and_sources(instruction)
        if instruction.modifiers or len(sources) != 1:
            self.row(step, name)
        elif isinstance(sources[0], Registers):
            self.state.copy(names_of(result), sources[0].names)
        else:
            bits = 32 * len(names_of(result))
            self.state.write(names_of(result), self.operand(sources[0], bits))

    def of_halves(self, step: CodeStep, name: str) -> None:
        """Two operations on halves of registers. Source: MI300 ISA 12.11, VOP3P."""
        instruction, row = step.instruction, self._row(PACKED[name])
        results, printed = self.results_and_sources(instruction)
        sources = [*printed, *(results if row.own is not None else ())]
        words = words_of(instruction.modifiers)
        is_clamped = words.pop("clamp", None) is not None
        if not words.keys() <= _PACKED_WORDS.keys():
            raise NotExecutedError(f"'{' '.join(instruction.modifiers)}' is not executed")
        chosen = {
            key: numbers_of(words[key]) if key in words else (default,) * len(sources)
            for key, default in _PACKED_WORDS.items()
        }
        formula = row.formula
        if is_clamped and not row.is_float:
            if row.clamped is None:
                raise NotExecutedError("'clamp' is not executed")
            formula = row.clamped
        halves: list[Register] = []
        for half in range(2):
            places = chosen["op_sel_hi" if half else "op_sel"]
            signs = chosen["neg_hi" if half else "neg_lo"]
            if name == "v_pk_mov_b32":
                # The halves come from one source each.
                taken = [self._half(row, sources[half], chosen["op_sel"][half], 32, False)]
            else:
                taken = [
                    self._half(row, source, place, bits, row.is_float and bool(sign))
                    for source, place, sign, bits in zip(
                        sources, places, signs, row.sources, strict=True
                    )
                ]
            value = self.formula(formula, taken, row.widths, name)
            if is_clamped and row.is_float:
                value = self.formula(clamped_number, (value,), (row.result,), name, row.result)
            halves.append(value)
        names = names_of(results[0])
        if row.result == 16:
            self.state.write(names, self.formula(joined, halves, (64, 64), name, 16))
            return
        for word, value in zip(names, halves, strict=True):
            self.state.write((word,), value)

    def _half(self, row: Row, source: Operand, place: int, bits: int, is_negated: bool) -> Register:
        """A half of a source: a word of a pair, or 16 bits of a word.

        A floating-point constant is of half precision, but in integer instructions of single.
        Source: LLVM 22, AMDGPUBaseInfo, getInlineEncodingV2I16.
        """
        if bits == 32:
            if isinstance(source, Registers):
                source = Registers(source.names[place : place + 1])
            value = self.operand(source, 32, is_float=True)
        elif isinstance(source, str):
            size = 16 if row.is_float else 32
            value = self.operand(source, size, is_float=True)
            value = self.formula(part_of, (value,), (64,), "half", 16 * place, 16)
        else:
            halves = Modifiers(halves=(place,))
            value = self.source(source, 16, True, halves, 0)
        if not is_negated:
            return value
        return self.formula(negated, (value,), (bits,), "negation", bits)

    def mixed(self, step: CodeStep, name: str) -> None:
        """A fused multiply and add of single and half precision. Source: MI300 ISA 12.11,
        V_FMA_MIX_F32."""
        instruction = step.instruction
        results, sources = self.results_and_sources(instruction)
        words = words_of(instruction.modifiers)
        halves = numbers_of(words.pop("op_sel", "[0,0,0]"))
        is_half = numbers_of(words.pop("op_sel_hi", "[0,0,0]"))
        is_clamped = words.pop("clamp", None) is not None
        if words:
            raise NotExecutedError(f"'{' '.join(words)}' is not executed")
        row, state = self._row("v_fma_f32"), self.state
        taken: list[Register] = []
        for n, source in enumerate(sources):
            if is_half[n]:
                value = self.source(source, 16, True, Modifiers(halves=halves), n)
                taken.append(self.formula(converted, (value,), (16,), name, 16, 32))
            else:
                taken.append(self.operand(source, 32, is_float=True))
        value = self.formula(row.formula, taken, row.widths, name)
        if is_clamped:
            value = self.formula(clamped_number, (value,), (32,), name, 32)
        names = names_of(results[0])
        if name != "v_fma_mix_f32":
            half = self.formula(converted, (value,), (32,), name, 32, 16)
            first = 16 * (name == "v_fma_mixhi_f16")
            value = self.formula(replaced, (half, state.read(names)), (64, 32), name, first, 16)
        state.write(names, value)

    def table(self, step: CodeStep, name: str) -> None:
        """Logic by a truth table."""
        words = words_of(step.instruction.modifiers)
        table = int(words.pop("bitop3", "0"), 0)
        halves = numbers_of(words.pop("op_sel")) if "op_sel" in words else ()
        if words:
            raise NotExecutedError(f"'{' '.join(step.instruction.modifiers)}' is not executed")
        bits = 16 if name.endswith("16") else 32
        count = 2 if name == "v_bitop2_b32" else 3
        row = Row(table_of(table, bits), (bits,) * count, bits, keeps_half=True)
        self._computed(step, name, row, Modifiers(halves=halves))

    # Masks and carries

    def save_exec(self, step: CodeStep, name: str) -> None:
        """``s_and_saveexec_b64`` and its like: EXEC is changed, and kept as it was or as it is
        then."""
        meaning = MEANINGS[name].meaning
        assert isinstance(meaning, SaveExec)
        (result,), (source,) = self.results_and_sources(step.instruction)
        before = self.state.read(self.state.exec)
        bits = self.state.lanes
        both = (self.operand(source, bits), before)
        after = self.formula(logic_of, both, (bits, bits), name, meaning.logic, bits)
        self.state.set(names_of(result), after if meaning.keeps else before)
        self.state.set(self.state.exec, after)
        self.state.set(SCC, self.formula(nonzero, (after,), (64,), name))

    def sum(self, step: CodeStep, name: str) -> None:
        """A sum or difference; of one that takes a carry and the one that gave it 64 bits at
        once."""
        meaning, state = MEANINGS[name].meaning, self.state
        assert isinstance(meaning, Sum)
        if (half := self._distance(step)) is not None:
            # The place of the code, which is added to, is 0.
            state.set(names_of(step.instruction.operands[0]), state.constant(half, 32))
            state.set(SCC, state.constant(0, 32))
            return
        is_scalar = step.effects.unit is Unit.SALU
        if is_scalar or not meaning.carries or step.instruction.modifiers:
            self.row(step, name)
            return
        (result, _), sources = self.results_and_sources(step.instruction)
        both = sources[1::-1] if meaning.reverse else sources[:2]
        halves = [self._operand_part(each) for each in both]
        whole = self._whole_sum(meaning, sources[2], halves) if meaning.takes else None
        self.row(step, name)
        names = names_of(result)
        carry = names_of(step.instruction.operands[1])
        if not meaning.takes and carry and state.active() is None:
            self._sums[state.read(carry)] = _LowHalf(
                meaning.kind, names, state.part(names[0]), halves
            )
        elif whole is not None:
            low_half, register = whole
            if state.part(low_half.result[0]) == low_half.value:
                state.set((*low_half.result, *names), register)

    def _distance(self, step: CodeStep) -> int | None:
        """The distance to a variable, or its half, that an instruction adds to its place."""
        words = [each for each in step.instruction.operands if isinstance(each, str)]
        return self.context.symbols.distance(words[0], self.after_place) if words else None

    def pass_by(self, instruction: AssemblyInstruction) -> None:
        """Count an instruction's bytes, with those of its number."""
        numbers = [each for each in instruction.operands if isinstance(each, str)]
        self.after_place += 8 if any(map(SYMBOL.fullmatch, numbers)) else 4

    def begin_place(self, step: CodeStep, name: str) -> None:
        """``s_getpc_b64``: an address of code, which variables are found from."""
        self.after_place = -4
        place = self.context.symbols.place_after(step.instruction)
        if place is None:
            self.unknown(step.instruction.text, step.effects.defines)
            return
        self.state.set(names_of(step.instruction.operands[0]), self.state.constant(place, 64))

    def add_to_place(self, step: CodeStep, name: str) -> None:
        """``s_add_nc_u64``, with which code of gfx1250 makes addresses of variables."""
        distance = self._distance(step)
        if distance is None:
            self.row(step, name)
            return
        value = self.state.constant(distance, 64)
        self.state.set(names_of(step.instruction.operands[0]), value)

    def _operand_part(self, operand: Operand) -> Part:
        if isinstance(operand, Registers):
            return self.state.part(operand.names[0])
        return Part(self.operand(operand, 32), 0, 1)

    def _whole_sum(
        self, meaning: Sum, carry: Operand, high: Sequence[Part]
    ) -> "tuple[_LowHalf, Register] | None":
        """The sum of 64 bits that an instruction computes together with the one that gives its
        carry."""
        low_half = self._sums.get(self.operand(carry, self.state.lanes))
        if low_half is None or low_half.kind is not meaning.kind or self.state.active() is not None:
            return None
        pairs = [self.state.pair(*each) for each in zip(low_half.sources, high, strict=True)]
        function = np.add if meaning.kind is ArithmeticKind.ADD else np.subtract
        return low_half, self.state.compute(function, pairs, "sum of pairs")

    def add_pairs(self, step: CodeStep, name: str) -> None:
        """``v_lshl_add_u64``, with which compilers add addresses: without a shift."""
        operands = step.instruction.operands
        if operands[2] != 0 or step.instruction.modifiers:
            self.row(step, name)
            return
        both = [self.operand(operands[n], 64) for n in (1, 3)]
        self.state.write(names_of(operands[0]), self.state.compute(np.add, both, name))

    # Lanes

    def _across(
        self,
        function: Callable[..., np.ndarray],
        operands: Sequence[Register],
        name: str,
        *,
        is_scalar: bool = False,
    ) -> Register:
        active = self.state.active()
        seen = () if active is None else (active,)
        return self.state.across(
            function, (*operands, *seen), name, is_scalar=is_scalar, lanes=active
        )

    def read_lane(self, step: CodeStep, name: str) -> None:
        """``v_readlane_b32`` and ``v_readfirstlane_b32``."""
        result, source, *lane = step.instruction.operands
        value = self.operand(source, 32)
        if lane:
            operands = (value, self.operand(lane[0], 32))
            found = self.state.across(lanes.one_lane, operands, name)
        else:
            found = self._across(lanes.first_lane, (value,), name, is_scalar=True)
        self.state.set(names_of(result), found)

    def write_lane(self, step: CodeStep, name: str) -> None:
        """``v_writelane_b32``."""
        result, source, lane = step.instruction.operands
        own = self.state.special(LaneValue.LANE, is_scalar=False)
        operands = [own, *(self.operand(each, 32) for each in (lane, source, result))]
        self.state.set(
            names_of(result),
            self.state.compute(partial(lanes.in_lane, self.state.lanes), operands, name),
        )

    def permute(self, step: CodeStep, name: str) -> None:
        """``ds_bpermute_b32``, ``ds_permute_b32`` and ``ds_swizzle_b32``."""
        result, first, *source = step.instruction.operands
        words = words_of(step.instruction.modifiers)
        offset = words.get("offset", "")
        if not source:
            function = partial(lanes.from_lanes, lanes.swizzle_of(offset))
            operands = [self.operand(first, 32)]
        else:
            move = lanes.gathered if name == "ds_bpermute_b32" else lanes.scattered
            function = partial(move, int(offset or "0", 0))
            operands = [self.operand(source[0], 32), self.operand(first, 32)]
        self.state.write(names_of(result), self._across(function, operands, name))

    def swap(self, step: CodeStep, name: str) -> None:
        """Two registers that change places, or rows of lanes of them."""
        both = [names_of(each) for each in step.instruction.operands]
        values = [self.state.read(each) for each in both]
        if name == "v_swap_b32":
            values.reverse()
        else:
            size = 32 if "32_swap" in name else 16
            values = [
                self.state.across(
                    partial(lanes.exchanged, size, is_first), values, name, is_scalar=False
                )
                for is_first in (True, False)
            ]
        for names, value in zip(both, values, strict=True):
            self.state.write(names, value)

    # Registers that an index chooses

    def begin_index(self, step: CodeStep, name: str) -> None:
        """``s_set_gpr_idx_on``: following moves are between registers that an index chooses."""
        source, chosen = step.instruction.operands
        found = _CHOSEN.fullmatch(str(chosen))
        if found is None:
            raise NotExecutedError(f"'{chosen}' chooses what is not executed")
        self.index = self.operand(source, 32), frozenset(found[1].split(","))
        self.state.set(("m0",), self.state.unknown("what chooses registers"))

    def end_index(self, step: CodeStep, name: str) -> None:
        """``s_set_gpr_idx_off``."""
        self.index = None

    def indexed(self, step: CodeStep, index: Register, chosen: frozenset[str]) -> None:
        """``v_mov_b32`` whose registers are so many after those that are named.

        Source: Vega ISA, "VGPR Indexing".
        """
        instruction = step.instruction
        if opcode_of(instruction.mnemonic)[0] != "v_mov_b32" or instruction.modifiers:
            raise NotExecutedError("only moves are executed where an index chooses registers")
        result, source = instruction.operands
        index = self.formula(part_of, (index,), (64,), "index", 0, 8)
        self.move_indexed(result, source, index, chosen)

    def move_indexed(
        self, result: Operand, source: Operand, index: Register, chosen: frozenset[str]
    ) -> None:
        """A move whose source or result is so many registers after the one that is named."""
        state = self.state
        if "SRC0" in chosen:
            values = [state.read((each,)) for each in self.context.from_register(source)]
            value = state.compute(_chosen, (index, *values), "chosen register")
        else:
            value = self.operand(source, 32)
        if "DST" not in chosen:
            state.write(names_of(result), value)
            return
        for number, each in enumerate(self.context.from_register(result)):
            place = partial(_put_at, number)
            changed = state.compute(place, (index, value, state.read((each,))), "chosen register")
            state.write((each,), changed)

    def move_relative(self, step: CodeStep, name: str) -> None:
        """``v_movrels_b32`` and ``v_movreld_b32``: m0 is added to the number of a register."""
        result, source = step.instruction.operands
        index, chosen = self.state.read(("m0",)), "DST" if name == "v_movreld_b32" else "SRC0"
        self.move_indexed(result, source, index, frozenset({chosen}))

    def dot_of_bytes(self, step: CodeStep, name: str) -> None:
        """``v_dot4_i32_iu8``, whose operands have signs where ``neg_lo`` says so."""
        words = words_of(step.instruction.modifiers)
        signs = numbers_of(words.pop("neg_lo", "[0,0,0]"))[:2]
        if words or signs[0] != signs[1]:
            raise NotExecutedError(f"'{' '.join(step.instruction.modifiers)}' is not executed")
        row = self._row("v_dot4_i32_i8" if signs[0] else "v_dot4_u32_u8")
        self._computed(step, name, row, NO_MODIFIERS)

    def nothing(self, step: CodeStep, name: str) -> None:
        """An instruction that takes time alone."""

    # The mode

    def set_mode(self, step: CodeStep, name: str) -> None:
        """``s_setreg``, of whether denormal numbers of single precision are kept."""
        register, value = step.instruction.operands
        if (register, value) in _AS_EXECUTED or register in _OF_PRIVATE_MEMORY:
            return
        if register not in _DENORMALS_OF_MODE or value not in (0, _KEPT):
            raise NotExecutedError("this part of the mode is not executed")
        self.context.keeps_denormals = value == _KEPT

    def read_mode(self, step: CodeStep, name: str) -> None:
        """``s_getreg_b32``, of the place in a cluster."""
        result, register = step.instruction.operands
        state = self.state
        if register == _IN_CLUSTER:
            sizes = [state.special(each, is_scalar=True) for each in _CLUSTER]
            state.set(names_of(result), self.formula(is_several, sizes, (32,) * 3, "in a cluster"))
        elif register == _RANK:
            state.set(names_of(result), state.special(LaneValue.RANK, is_scalar=True))
        else:
            self.unknown(step.instruction.text, names_of(result))


_DENORMALS_OF_MODE = ("hwreg(HW_REG_MODE, 4, 2)", "hwreg(HW_REG_WAVE_MODE, 4, 2)")
_KEPT = 3
"""The bits of denormal numbers of single precision, and their value that keeps them. Source: MI300
ISA 4.3."""
_AS_EXECUTED = frozenset(
    {("hwreg(HW_REG_WAVE_MODE, 25, 1)", 1)}
    | {
        (f"hwreg(HW_REG_{prefix}MODE, {first}, 2)", 0)
        for prefix in ("", "WAVE_")
        for first in (0, 2)
    }
)
"""The parts of the mode, and their values, with which rows compute: numbers are rounded to the
nearest. Bit 25 is set in every kernel of gfx1250. Source: MI300 ISA 4.3; LLVM 22."""
_OF_PRIVATE_MEMORY = ("hwreg(HW_REG_FLAT_SCR_LO)", "hwreg(HW_REG_FLAT_SCR_HI)")
"""The place of a wave's private memory, which each lane has for itself here. Source: LLVM
AMDGPUUsage, flat scratch of gfx10."""
_IN_CLUSTER, _RANK = "hwreg(HW_REG_IB_STS2, 6, 4)", "hwreg(HW_REG_IB_STS2, 21, 4)"
"""0 where there is no cluster, and the number of the work-group in its cluster. Source: LLVM 22,
SIISelLowering, the work-group ids of gfx1250; llvm.amdgcn.cluster.workgroup.flat.id."""
_CLUSTER = (LaneValue.CLUSTER_X, LaneValue.CLUSTER_Y, LaneValue.CLUSTER_Z)


@dataclass(frozen=True, slots=True)
class _LowHalf:
    """A sum or difference whose carry may be taken into another: its result, where that is, and its
    sources."""

    kind: ArithmeticKind
    result: Names
    value: Part
    sources: Sequence[Part]


def _modifiers(instruction: AssemblyInstruction) -> Modifiers:
    if not instruction.modifiers:
        return NO_MODIFIERS
    return read_modifiers(opcode_of(instruction.mnemonic)[1], instruction.modifiers)


def _keeps_half(row: Row, instruction: AssemblyInstruction) -> bool:
    return row.keeps_half and opcode_of(instruction.mnemonic)[1] != "e32"


@cache
def _without_denormals(row: Row) -> Row:
    return row.without_denormals()


_IMPLICIT: Mapping[str, Callable[[State], Register]] = MappingProxyType(
    {
        "scc": lambda state: state.read(SCC),
        "vcc": lambda state: state.lanes_of(state.read(state.vcc)),
        "lane": lambda state: state.special(LaneValue.LANE, is_scalar=False),
    }
)
_PACKED_WORDS = MappingProxyType({"op_sel": 0, "op_sel_hi": 1, "neg_lo": 0, "neg_hi": 0})
"""The modifiers of packed operations, and the default of each source."""

_SIGNS = MappingProxyType({"v_ashrrev_i32": 0, "s_ashr_i32": 1})
"""The shifts that repeat a sign, with the place of their amount."""
_SIGN_PLACE = 31

_WITH_HIDDEN_STATE = (
    "s_movrel",
    "v_movrel",
    "s_set_gpr_idx_idx",
    "s_set_gpr_idx_mode",
    "s_setvskip",
    "s_cbranch",
    "v_interp",
)
"""Operands that choose registers, or that are left out, besides the printed ones."""

_INDEXING = frozenset({"s_set_gpr_idx_on", "s_set_gpr_idx_off"})
_CHOSEN = re.compile(r"gpr_idx\((SRC0|DST|SRC0,DST)\)")


def _chosen(index: np.ndarray, *values: np.ndarray) -> np.ndarray:
    """The value of the register that an index names; beyond the last 0."""
    found = np.zeros(np.broadcast_shapes(index.shape, *(each.shape for each in values)), np.uint64)
    for number, value in enumerate(values):
        found = np.where(index == number, value, found)
    return found


def _put_at(number: int, index: np.ndarray, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(index == number, new, old)


_Handler = Callable[[Arithmetic, CodeStep, str], None]
_OF_MEANINGS: Mapping[type, _Handler] = MappingProxyType(
    {
        Copy: Arithmetic.move, FirstLane: Arithmetic.read_lane, SaveExec: Arithmetic.save_exec,
        Sum: Arithmetic.sum,
    }
)  # fmt: skip
_SPECIAL: Mapping[str, _Handler] = MappingProxyType(
    {
        **dict.fromkeys(
            ("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"), Arithmetic.move
        ),
        **dict.fromkeys(PACKED, Arithmetic.of_halves),
        **dict.fromkeys(
            ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"), Arithmetic.mixed
        ),
        **dict.fromkeys(("v_bitop2_b32", "v_bitop3_b32", "v_bitop3_b16"), Arithmetic.table),
        "v_lshl_add_u64": Arithmetic.add_pairs, "s_add_nc_u64": Arithmetic.add_to_place,
        "v_readlane_b32": Arithmetic.read_lane, "v_writelane_b32": Arithmetic.write_lane,
        **dict.fromkeys(
            ("ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32"), Arithmetic.permute
        ),
        **dict.fromkeys(
            ("v_swap_b32", "v_permlane32_swap_b32", "v_permlane16_swap_b32"), Arithmetic.swap
        ),
        **dict.fromkeys(("s_setreg_imm32_b32", "s_setreg_b32"), Arithmetic.set_mode),
        "s_getpc_b64": Arithmetic.begin_place, "s_get_pc_i64": Arithmetic.begin_place,
        "s_getreg_b32": Arithmetic.read_mode, "v_nop": Arithmetic.nothing,
        "v_dot4_i32_iu8": Arithmetic.dot_of_bytes,
        **dict.fromkeys(("v_movrels_b32", "v_movreld_b32"), Arithmetic.move_relative),
        "s_set_gpr_idx_on": Arithmetic.begin_index, "s_set_gpr_idx_off": Arithmetic.end_index,
    }
)  # fmt: skip
