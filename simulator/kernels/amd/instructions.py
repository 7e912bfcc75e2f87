"""One instruction of AMD code as steps of a ``LaneProgram``.

Private memory is each lane's own, from 0, so that the resource and the registers through which
chips find it have no value. Generic addresses are of global memory. Buffers are raw ones: a lane
beyond
``num_records`` loads 0 and stores nothing. Source: MI300 ISA 9.1, buffer resources.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

import numpy as np

from fencewright.lowering.cdna.caches import Caches, Effect, Visibility, maintenance_effect
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.flow import Step as CodeStep
from fencewright.lowering.cdna.code.operands.operands import family_of, results_of
from fencewright.lowering.cdna.code.text import (
    AssemblyInstruction,
    ModifiedRegisters,
    Operand,
    Registers,
)
from fencewright.lowering.cdna.code.waits import wait_counts
from fencewright.lowering.cdna.performance.accesses import LDS_INSTRUCTIONS
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent
from fencewright.simulator.execution.cdna_arithmetic import (
    ARITHMETIC,
    ATOMICS,
    COMPARISONS,
    Row,
    borrow,
    carry_of_sum,
    count_ones,
    magnitude,
    negated,
    nonzero,
)
from fencewright.simulator.execution.lanes import LaneFlags
from fencewright.simulator.execution.program import (
    CacheLevel,
    CountedInstruction,
    FenceInstruction,
    FenceStep,
    LaneValue,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
    MemoryStep,
    Merge,
    Register,
    Values,
)
from fencewright.simulator.execution.values import low, mask, signed, unsigned
from fencewright.simulator.kernels.amd.registers import EXEC, Names, Part
from fencewright.simulator.kernels.amd.registers import Registers as State
from fencewright.simulator.performance.accesses.access import model_of
from fencewright.simulator.performance.policies import cdna_policy


class NotExecutedError(ValueError):
    """The reason for which an instruction is not executed."""


SCC = ("scc",)

_SPACES: Mapping[AddressSpace | None, MemorySpace] = MappingProxyType(
    {
        AddressSpace.GLOBAL: MemorySpace.GLOBAL,
        AddressSpace.GENERIC: MemorySpace.GLOBAL,
        AddressSpace.CONSTANT: MemorySpace.SCALAR,
        AddressSpace.LOCAL: MemorySpace.SHARED,
        AddressSpace.PRIVATE: MemorySpace.PRIVATE,
        None: MemorySpace.GLOBAL,
    }
)
COUNTED: Mapping[Counter, frozenset[MemorySpace]] = MappingProxyType(
    {
        Counter.VMCNT: frozenset({MemorySpace.GLOBAL, MemorySpace.PRIVATE}),
        Counter.LGKMCNT: frozenset({MemorySpace.SHARED, MemorySpace.SCALAR}),
    }
)
"""The memory whose accesses each counter counts. Source: MI300 ISA 4.4, wait counters."""

_ACCESSES = frozenset(MemoryAccessKind)
_INVALIDATED = ((CacheLevel.L1, Caches.L1), (CacheLevel.L2, Caches.AGENT | Caches.SYSTEM))
_WITH_MODEL = frozenset({MemorySpace.GLOBAL, MemorySpace.SHARED})
_WIDTHS: Mapping[str, int] = MappingProxyType(
    {
        "ubyte": 1, "sbyte": 1, "byte": 1, "u8": 1, "i8": 1, "b8": 1,
        "ushort": 2, "sshort": 2, "short": 2, "u16": 2, "i16": 2, "b16": 2,
        "dword": 4, "b32": 4, "dwordx2": 8, "b64": 8, "dwordx3": 12, "b96": 12,
        "dwordx4": 16, "b128": 16, "dwordx8": 32, "dwordx16": 64,
    }
)  # fmt: skip
"""Bytes that a lane accesses, by the word of a load or store that says so."""
_SIGNED = MappingProxyType({"sbyte": 8, "i8": 8, "sshort": 16, "i16": 16})


@dataclass(frozen=True, slots=True)
class Context:
    """The facts of one kernel on which its instructions depend beside their registers.

    ``private``: the registers of the resource of private memory. ``place_of``: where an
    instruction of the text comes from.
    """

    chip: str
    tgsplit: bool
    l2_per_agent: L2PerAgent | None
    private: frozenset[str]
    keeps_denormals: bool
    place_of: Callable[[AssemblyInstruction], SourceLocation | None]


class Translator:
    """Appends the steps of instructions to those of ``state``; numbers those that are counted."""

    def __init__(self, context: Context, state: State) -> None:
        self.context, self.state = context, state
        self.instructions: list[CountedInstruction] = []
        self._sums: dict[Register, _LowHalf] = {}

    def translate(self, step: CodeStep) -> None:
        """One instruction that is no branch. Raises ``NotExecutedError``."""
        effects, instruction = step.effects, step.instruction
        kind = effects.kind
        if kind in (Kind.LOAD, Kind.STORE, Kind.RMW):
            self._access(step)
        elif kind is Kind.WAIT:
            self._wait(instruction)
        elif kind in (Kind.CACHE, Kind.BARRIER):
            self._synchronise(instruction, is_barrier=kind is Kind.BARRIER)
        elif kind is Kind.COMPUTE and effects.is_idle and not effects.defines:
            return
        elif kind in (Kind.COMPUTE, Kind.LANES):
            self._arithmetic(instruction)
        else:
            raise NotExecutedError(f"what it does ({kind}) is not known here")

    # Operands

    def operand(self, operand: Operand, bits: int, is_float: bool = False) -> Register:
        """The value of an operand that is read as ``bits``."""
        if isinstance(operand, int):
            return self.state.constant(_constant(operand, bits, is_float), max(bits, 32))
        if isinstance(operand, str):
            return self.state.constant(_float_constant(operand, bits), max(bits, 32))
        if 32 * len(operand.names) != max(bits, 32):
            raise NotExecutedError(f"an operand has {32 * len(operand.names)} bits, not {bits}")
        value = self.state.read(operand.names)
        if isinstance(operand, ModifiedRegisters):
            if not is_float or not _SIGN.fullmatch(operand.text):
                raise NotExecutedError(f"'{operand.text}' is no whole register")
            if "|" in operand.text:
                value = self.state.compute(partial(magnitude, bits=bits), (value,), "magnitude")
            if operand.text.startswith("-"):
                value = self.state.compute(partial(negated, bits=bits), (value,), "negation")
        return value

    def _operands(self, row: Row, operands: Sequence[Operand]) -> list[Register]:
        if len(operands) != len(row.sources):
            raise NotExecutedError(f"it has {len(operands)} sources, not {len(row.sources)}")
        return [
            self.operand(each, bits, row.is_float)
            for each, bits in zip(operands, row.sources, strict=True)
        ]

    # Arithmetic

    def _arithmetic(self, instruction: AssemblyInstruction) -> None:
        name = _ENCODING.sub("", instruction.mnemonic)
        if instruction.mnemonic.endswith("_dpp"):
            self._across_lanes(instruction, name)
            return
        if instruction.mnemonic.endswith("_sdwa"):
            self._on_parts(instruction, name)
            return
        if instruction.modifiers and name not in _WITH_MODIFIERS:
            raise NotExecutedError(f"'{' '.join(instruction.modifiers)}' is not executed")
        operands = instruction.operands
        special = _SPECIAL.get(name)
        if special is not None:
            special(self, instruction, name)
            return
        if name in _MOVES:
            self._move(*operands)
            return
        comparison = COMPARISONS.get(name)
        if comparison is not None:
            self._compare(comparison, instruction)
            return
        row = self._row(name)
        if name == "v_lshl_add_u64" and operands[2] == 0:
            # As compilers add addresses.
            row, operands = _ADD_64, (operands[0], operands[1], operands[3])
        registers = self._operands(row, _sources(name, operands))
        result = self.state.compute(row.compute, registers, name)
        if row.scc is not None:
            self.state.set(SCC, self.state.compute(row.scc, registers, name))
        elif row.tests_result:
            self.state.set(SCC, self.state.compute(nonzero, (result,), name))
        self.state.write(_names(operands[0]), result)

    def _move(self, result: Operand, source: Operand) -> None:
        names = _names(result)
        if isinstance(source, Registers):
            self.state.copy(names, source.names)
        else:
            self.state.write(names, self.operand(source, 32 * len(names)))

    def _row(self, name: str) -> Row:
        row = ARITHMETIC.get(name)
        if row is None:
            raise NotExecutedError("there is no row for it")
        return row if self.context.keeps_denormals else _without_denormals(row)

    def _across_lanes(self, instruction: AssemblyInstruction, name: str) -> None:
        """Arithmetic whose first source comes from another lane. Source: MI300 ISA 6.7, DPP."""
        row, state, control = self._row(name), self.state, dpp_control(instruction.modifiers)
        first, *others = self._operands(row, _sources(name, instruction.operands))
        active = state.active()
        seen = () if active is None else (active,)
        taken = state.across(
            partial(_taken, control), (first, *seen), "source lane", is_scalar=False
        )
        result = state.compute(row.compute, (taken, *others), name)
        names = _names(instruction.operands[0])
        if not control.writes_all:
            lanes = state.across(partial(_written, control), seen, "row mask", is_scalar=False)
            merged = state.new(is_scalar=False)
            state.steps.append(Merge(merged, lanes, result, state.read(names)))
            result = merged
        state.write(names, result)

    def _on_parts(self, instruction: AssemblyInstruction, name: str) -> None:
        """Arithmetic on bytes and halves. Source: MI300 ISA 6.6, SDWA."""
        state, comparison = self.state, COMPARISONS.get(name)
        row = self._row(name) if comparison is None else comparison
        words = dict(each.split(":", 1) for each in instruction.modifiers)
        sources: list[Register] = []
        for n, (operand, bits) in enumerate(
            zip(_sources(name, instruction.operands), row.sources, strict=True)
        ):
            is_signed = False
            if isinstance(operand, ModifiedRegisters) and operand.text.startswith("sext("):
                operand, is_signed = Registers(operand.names), True
            value = self.operand(operand, bits, row.is_float)
            part = _PARTS[words.pop(f"src{n}_sel", "DWORD")]
            if part != (0, 32) or is_signed:
                value = state.compute(
                    partial(_part_of, *part, is_signed), (value,), f"part of {name}"
                )
            sources.append(value)
        result = state.compute(row.compute, sources, name)
        if comparison is not None:
            state.set(_names(instruction.operands[0]), state.bits_of(result, name))
            return
        first, count = _PARTS[words.pop("dst_sel", "DWORD")]
        unused = words.pop("dst_unused", "UNUSED_PAD")
        if words:
            raise NotExecutedError(f"'{' '.join(words)}' is not executed")
        names = _names(instruction.operands[0])
        if count < 32:
            put = partial(_put, first, count, unused)
            result = state.compute(put, (result, state.read(names)), f"part of {name}")
        state.write(names, result)

    def packed(self, instruction: AssemblyInstruction, name: str) -> None:
        """Two operations of single precision. Source: MI300 ISA 12.11, VOP3P."""
        row = self._row("v_mov_b32" if name == "v_pk_mov_b32" else name.replace("_pk", ""))
        result, *sources = instruction.operands
        words = dict(each.split(":", 1) for each in instruction.modifiers)
        if not words.keys() <= _PACKED_WORDS.keys():
            raise NotExecutedError(f"'{' '.join(instruction.modifiers)}' is not executed")
        chosen = {
            key: [int(n) for n in words[key].strip("[]").split(",")]
            if key in words
            else [default] * len(sources)
            for key, default in _PACKED_WORDS.items()
        }
        halves: list[Register] = []
        for half in ("lo", "hi"):
            places = chosen["op_sel" if half == "lo" else "op_sel_hi"]
            taken: list[Register] = []
            for source, place, sign in zip(sources, places, chosen[f"neg_{half}"], strict=True):
                value = self.operand(_half(source, place), 32, is_float=True)
                if sign:
                    value = self.state.compute(partial(negated, bits=32), (value,), "negation")
                taken.append(value)
            if name == "v_pk_mov_b32":
                # The halves come from one source each.
                n = half == "hi"
                taken = [self.operand(_half(sources[n], chosen["op_sel"][n]), 32)]
            halves.append(self.state.compute(row.compute, taken, name))
        for word, value in zip(_names(result), halves, strict=True):
            self.state.write((word,), value)

    def _compare(self, row: Row, instruction: AssemblyInstruction) -> None:
        name, operands = instruction.mnemonic, instruction.operands
        if name.startswith("s_"):
            flag = self.state.compute(row.compute, self._operands(row, operands), name)
            self.state.set(SCC, flag)
            return
        lanes = self.state.compute(row.compute, self._operands(row, operands[1:]), name)
        self.state.set(_names(operands[0]), self.state.bits_of(lanes, name))

    def save_exec(self, instruction: AssemblyInstruction, name: str) -> None:
        """``s_and_saveexec_b64`` and its like: EXEC is kept, then changed."""
        result, source = instruction.operands
        before = self.state.read(EXEC)
        row = ARITHMETIC.get(
            name.replace("_saveexec", "").replace("andn1", "andn2").replace("orn1", "orn2")
        )
        if row is None:
            raise NotExecutedError("there is no row for it")
        # The operand comes first, but in those that invert the operand itself.
        both = [self.operand(source, 64), before]
        if "n1_" in name:
            both.reverse()
        after = self.state.compute(row.compute, both, name)
        self.state.set(_names(result), before)
        self.state.set(EXEC, after)
        self.state.set(SCC, self.state.compute(nonzero, (after,), name))

    def choose(self, instruction: AssemblyInstruction, name: str) -> None:
        """``v_cndmask_b32``."""
        result, otherwise, chosen, lanes = instruction.operands
        operands = [
            self.state.lanes_of(self.operand(lanes, 64)),
            *(self.operand(each, 32, is_float=True) for each in (chosen, otherwise)),
        ]
        self.state.write(_names(result), self.state.compute(_chosen, operands, name))

    def scalar_choice(self, instruction: AssemblyInstruction, name: str) -> None:
        """``s_cselect`` and ``s_cmov``."""
        result, *sources = instruction.operands
        bits = 32 * len(_names(result))
        if name.startswith("s_cmov"):
            sources.append(result)
        operands = [self.state.read(SCC), *(self.operand(each, bits) for each in sources)]
        self.state.set(_names(result), self.state.compute(_chosen, operands, name))

    def with_carry(self, instruction: AssemblyInstruction, name: str) -> None:
        """Sums and differences whose carries are lane masks, or the scalar flag."""
        is_vector, state = name.startswith("v_"), self.state
        operands = list(instruction.operands)
        result = operands.pop(0)
        carried = _names(operands.pop(0)) if is_vector else SCC
        if "rev" in name:
            operands[:2] = operands[1::-1]
        sources = [self.operand(each, 32) for each in operands[:2]]
        if not is_vector:
            sources.append(state.read(SCC))
        elif len(operands) > 2:
            sources.append(state.lanes_of(self.operand(operands[2], 64)))
        total, carry = (_total, carry_of_sum) if "add" in name else (_rest, borrow)
        value, after = (state.compute(each, sources, name) for each in (total, carry))
        halves = [self._part(each) for each in operands[:2]] if is_vector else []
        flag = state.bits_of(after, name) if is_vector else after
        whole = self._whole_sum(operands[2], halves, name) if len(operands) > 2 else None
        state.set(carried, flag)
        state.write(_names(result), value)
        if is_vector and len(operands) == 2 and state.active() is None:
            self._sums[flag] = _LowHalf(_names(result), state.part(_names(result)[0]), halves)
        elif whole is not None:
            low_half, register = whole
            if state.part(low_half.result[0]) == low_half.value:
                state.set((*low_half.result, *_names(result)), register)

    def _part(self, operand: Operand) -> Part:
        return (
            self.state.part(operand.names[0])
            if isinstance(operand, Registers)
            else Part(self.operand(operand, 32), 0, 1)
        )

    def _whole_sum(
        self, carry: Operand, high: Sequence[Part], name: str
    ) -> "tuple[_LowHalf, Register] | None":
        """The sum of 64 bits that an instruction computes together with the one that gives its
        carry."""
        low_half = self._sums.get(self.operand(carry, 64))
        if low_half is None or self.state.active() is not None:
            return None
        pairs = [self.state.pair(*each) for each in zip(low_half.sources, high, strict=True)]
        function = np.add if name.startswith("v_add") else np.subtract
        return low_half, self.state.compute(function, pairs, name)

    def wide_product(self, instruction: AssemblyInstruction, name: str) -> None:
        """``v_mad_u64_u32`` and its signed form."""
        result, carried, *sources = instruction.operands
        is_signed = name.endswith("i32")
        a, b = (self.operand(each, 32) for each in sources[:2])
        c = self.operand(sources[2], 64)

        def product(a: Values, b: Values, c: Values) -> Values:
            if is_signed:
                a, b = (unsigned(signed(each, 32), 64) for each in (a, b))
            return a * b + c

        value = self.state.compute(product, (a, b, c), name)
        after = self.state.compute(_is_less, (value, c), name)
        self.state.set(_names(carried), self.state.bits_of(after, name))
        self.state.write(_names(result), value)

    def in_place(self, instruction: AssemblyInstruction, name: str) -> None:
        """``s_addk_i32`` and ``s_mulk_i32``: of their result and a constant."""
        row = ARITHMETIC["s_add_i32" if name == "s_addk_i32" else "s_mul_i32"]
        operands = self._operands(row, instruction.operands)
        value = self.state.compute(row.compute, operands, name)
        if row.scc is not None:
            self.state.set(SCC, self.state.compute(row.scc, operands, name))
        self.state.set(_names(instruction.operands[0]), value)

    def set_bit(self, instruction: AssemblyInstruction, name: str) -> None:
        """``s_bitset0`` and ``s_bitset1``."""
        result, place = instruction.operands
        bits = 32 * len(_names(result))
        sets = name.startswith("s_bitset1")

        def computed(old: Values, place: Values) -> Values:
            bit = np.uint64(1) << (place & np.uint64(bits - 1))
            return old | bit if sets else old & ~bit

        operands = (self.operand(result, bits), self.operand(place, 32))
        self.state.set(_names(result), self.state.compute(computed, operands, name))

    # Lanes

    def read_lane(self, instruction: AssemblyInstruction, name: str) -> None:
        """``v_readlane_b32`` and ``v_readfirstlane_b32``."""
        result, source, *lane = instruction.operands
        value = self.operand(source, 32)
        if lane:
            operands = [value, self.operand(lane[0], 32)]
            found = self.state.across(_one_lane, operands, name)
        else:
            active = self.state.active()
            operands = [value] if active is None else [value, active]
            found = self.state.across(_first_lane, operands, name)
        self.state.set(_names(result), found)

    def write_lane(self, instruction: AssemblyInstruction, name: str) -> None:
        """``v_writelane_b32``."""
        result, source, lane = instruction.operands
        own = self.state.special(LaneValue.LANE, is_scalar=False)
        operands = [own, *(self.operand(each, 32) for each in (lane, source, result))]
        self.state.set(_names(result), self.state.compute(_in_lane, operands, name))

    def count_below(self, instruction: AssemblyInstruction, name: str) -> None:
        """``v_mbcnt_lo`` and ``v_mbcnt_hi``: bits of a mask below the own lane."""
        result, bits, more = instruction.operands
        first = 0 if "_lo_" in name else 32
        own = self.state.special(LaneValue.LANE, is_scalar=False)

        def computed(bits: Values, more: Values, lane: Values) -> Values:
            below = (np.uint64(1) << lane) - np.uint64(1) >> np.uint64(first)
            return low(count_ones(bits & below & mask(32)) + more, 32)

        operands = (self.operand(bits, 32), self.operand(more, 32), own)
        self.state.write(_names(result), self.state.compute(computed, operands, name))

    def gather(self, instruction: AssemblyInstruction, name: str) -> None:
        """``ds_bpermute_b32``."""
        result, address, source = instruction.operands
        offset = _offset(instruction, "offset")
        active = self.state.active()
        operands = [self.operand(source, 32), self.operand(address, 32)]
        operands += [] if active is None else [active]
        found = self.state.across(
            partial(_gathered, offset),
            operands,
            name,
            is_scalar=False,
        )
        self.state.write(_names(result), found)

    # Memory

    def _access(self, step: CodeStep) -> None:
        instruction, space = step.instruction, _SPACES[step.effects.space]
        family = instruction.mnemonic.partition("_")[0]
        parts = _FORMS.get(family, _no_form)(instruction, step.effects.kind)
        if parts.resource is not None and self.context.private.issuperset(parts.resource):
            space = MemorySpace.PRIVATE
        kind = _KINDS[step.effects.kind, parts.result is not None]
        width, words = _width(instruction)
        policy = None
        if space is not MemorySpace.SHARED:
            try:
                policy = cdna_policy(
                    self.context.chip, kind, instruction.modifiers, self.context.l2_per_agent,
                    tgsplit=self.context.tgsplit,
                )  # fmt: skip
            except UnsupportedError as problem:
                raise NotExecutedError(str(problem)) from problem
        offsets, passes = _offsets(instruction)
        model = f"{instruction.mnemonic}{passes}" if space in _WITH_MODEL else None
        if model is not None and not _is_modelled(model, self.context.chip):
            model = None
        number = self._number(
            MemoryInstruction(
                instruction.text, model, kind, space, width, policy,
                self.context.place_of(instruction),
            )
        )  # fmt: skip
        where = self.state.active() if space is not MemorySpace.SCALAR else None
        address, base, inside = self._address(parts, space, width, offsets[0])
        if inside is not None:
            where = (
                inside
                if where is None
                else self.state.compute(np.bitwise_and, (where, inside), "in the buffer")
            )
        update = None
        if step.effects.kind is Kind.RMW:
            update = ATOMICS.get(instruction.mnemonic.replace("buffer_", "global_", 1))
            if update is None:
                raise NotExecutedError("there is no row for what it does to memory")
        per_pass = len(parts.data) // len(offsets) if update is None else len(parts.data)
        loaded: list[Register] = []
        for n, offset in enumerate(offsets):
            names = parts.data[n * per_pass : (n + 1) * per_pass]
            data = tuple([self._stored(instruction, each) for each in names])
            result = None
            if parts.result is not None:
                result = self.state.new(is_scalar=space is MemorySpace.SCALAR)
                loaded.append(result)
            self.state.steps.append(
                MemoryStep(number, address, offset, data, result, update, base, where, n > 0)
            )
        if parts.result is not None:
            self._loaded(instruction, parts.result, loaded, words, inside)

    def _stored(self, instruction: AssemblyInstruction, operand: Operand) -> Register:
        value = self.state.read(_names(operand))
        if not instruction.mnemonic.endswith("_d16_hi"):
            return value
        return self.state.compute(partial(_shifted_down, bits=16), (value,), "high half")

    def _loaded(
        self,
        instruction: AssemblyInstruction,
        names: Names,
        loaded: Sequence[Register],
        words: Sequence[str],
        inside: Register | None,
    ) -> None:
        state, (value, *more) = self.state, loaded
        if inside is not None:
            found = state.new(is_scalar=False)
            state.steps.append(Merge(found, inside, value, state.constant(0, 32)))
            value = found
        bits = next((_SIGNED[word] for word in words if word in _SIGNED), 0)
        if bits:
            size = 16 if "d16" in words else 32
            value = state.compute(partial(_extended, bits=bits, size=size), (value,), "sign")
        if "d16" in words:
            halves = (value, state.read(names))
            value = state.compute(_high_half if "hi" in words else _low_half, halves, "half")
        count = len(names) // (1 + len(more))
        for n, each in enumerate((value, *more)):
            state.write(names[n * count : (n + 1) * count], each)

    def _address(
        self, parts: "_Access", space: MemorySpace, width: int, offset: int
    ) -> tuple[Register, Register | None, Register | None]:
        """The address without its constant offset, the scalar base, and which lanes are inside."""
        state = self.state
        zero = state.constant(0, 32)
        own = zero if parts.address is None else state.read(parts.address)
        if parts.resource is None:
            if parts.scalar is None:
                return own, None, None
            scalar = self.operand(parts.scalar, 64 if space is not MemorySpace.PRIVATE else 32)
            return (scalar, None, None) if parts.address is None else (own, scalar, None)
        assert parts.scalar is not None
        further = self.operand(parts.scalar, 32)
        if space is MemorySpace.PRIVATE:
            # Scalar offsets are those of a wave: of all lanes together.
            return own, state.compute(partial(_shifted_down, bits=6), (further,), "offset"), None
        base, size, stride = (
            state.read(parts.resource[:2]), state.read(parts.resource[2:3]),
            state.read(parts.resource[1:2]),
        )  # fmt: skip
        begin = state.compute(_base_of_buffer, (base, further), "base of the buffer")

        def inside(own: Values, further: Values, size: Values, stride: Values) -> Values:
            # Of a structured buffer num_records counts records, which a raw offset has not.
            end = own + further + np.uint64(offset + width)
            is_raw = stride >> np.uint64(16) & mask(14) == 0
            return ((end <= size) & is_raw).astype(np.uint64)

        return own, begin, state.compute(inside, (own, further, size, stride), "in the buffer")

    def _number(self, instruction: CountedInstruction) -> int:
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    # What orders

    def _wait(self, instruction: AssemblyInstruction) -> None:
        try:
            counts = wait_counts((*instruction.operands, *instruction.modifiers))
        except ValueError as problem:
            raise NotExecutedError(str(problem)) from problem
        in_flight = {
            space: counts[counter]
            for counter, spaces in COUNTED.items()
            if counter in counts
            for space in spaces
        }
        self._fence(
            FenceInstruction(
                text=instruction.text,
                scope="",
                waits=_ACCESSES,
                spaces=frozenset(in_flight),
                writes_back=frozenset(),
                invalidates=frozenset(),
                joins=False,
                place=self.context.place_of(instruction),
                in_flight=tuple(sorted(item for item in in_flight.items() if item[1])),
            )
        )

    def _synchronise(self, instruction: AssemblyInstruction, *, is_barrier: bool) -> None:
        """Cache maintenance, or a barrier."""
        effect = Effect()
        if not is_barrier:
            try:
                effect = maintenance_effect(
                    self.context.chip, instruction.mnemonic, instruction.modifiers
                )
            except KeyError as problem:
                raise NotExecutedError("what it does to caches is not known") from problem
        self._fence(
            FenceInstruction(
                text=instruction.text,
                scope=_scope(effect),
                waits=frozenset(),
                spaces=frozenset(),
                writes_back=frozenset({CacheLevel.L2} if effect.writes_back else ()),
                invalidates=frozenset(
                    level for level, caches in _INVALIDATED if caches & effect.invalidates
                ),
                joins=is_barrier,
                place=self.context.place_of(instruction),
            )
        )
        if is_barrier:
            self.state.forget()

    def _fence(self, fence: FenceInstruction) -> None:
        self.state.steps.append(FenceStep(self._number(fence)))


@dataclass(frozen=True, slots=True)
class _LowHalf:
    """A sum whose carry may be taken into another: its result, where that is, and its sources."""

    result: Names
    value: Part
    sources: Sequence[Part]


# Words of operands

_ENCODING = re.compile(r"(_e32|_e64|_dpp|_sdwa)+$")
_SIGN = re.compile(r"-?\|?v(\d+|\[\d+:\d+\])\|?|-?\|?s(\d+|\[\d+:\d+\])\|?")
_INLINE = range(-16, 65)


def _names(operand: Operand) -> Names:
    if not isinstance(operand, Registers):
        raise NotExecutedError(f"'{operand}' is no register")
    return operand.names


def _constant(value: int, bits: int, is_float: bool) -> int:
    """The bits of an integer: a literal of 32 bits is the upper half of a double."""
    if is_float and bits == 64 and value not in _INLINE:
        return value << 32
    return value


_FORMATS = MappingProxyType({16: "<e", 32: "<f", 64: "<d"})
_FLOAT = re.compile(r"-?\d+\.\d+")


def _float_constant(word: str, bits: int) -> int:
    if _FLOAT.fullmatch(word) is None:
        raise NotExecutedError(f"'{word}' has no value here")
    return int.from_bytes(struct.pack(_FORMATS[bits], float(word)), "little")


def _offset(instruction: AssemblyInstruction, name: str) -> int:
    word = next((each for each in instruction.modifiers if each.startswith(f"{name}:")), "")
    return int(word.partition(":")[2] or "0", 0)


def _offsets(instruction: AssemblyInstruction) -> tuple[tuple[int, ...], str]:
    """The offset in bytes of each pass, and what the counts of several passes depend on."""
    row = LDS_INSTRUCTIONS.get(instruction.mnemonic)
    if row is None or row.passes == 1:
        scalar = instruction.operands[-1] if instruction.mnemonic.startswith("s_") else 0
        return (_offset(instruction, "offset") + (scalar if isinstance(scalar, int) else 0),), ""
    units = [_offset(instruction, f"offset{n}") for n in range(row.passes)]
    further = [each - min(units) for each in units]
    passes = "".join(f" offset{n}:{each}" for n, each in enumerate(further) if each)
    return tuple([each * row.stride for each in units]), passes


def _width(instruction: AssemblyInstruction) -> tuple[int, Sequence[str]]:
    """Bytes of a lane, and the words of the mnemonic."""
    words = instruction.mnemonic.split("_")
    if "atomic" in words or (
        words[0] == "ds"
        and not {"read", "write", "read2", "write2", "read2st64", "write2st64"} & set(words)
    ):
        return (8 if words[-1] in ("x2", "f64") or words[-1].endswith("64") else 4), words
    width = next((_WIDTHS[word] for word in words if word in _WIDTHS), None)
    if width is None:
        raise NotExecutedError("how much it accesses is not known")
    return width, words


def _sources(name: str, operands: Sequence[Operand]) -> Sequence[Operand]:
    """The operands that an instruction reads; the result too, if it is added to."""
    return operands[1:] if name not in _ACCUMULATING else (*operands[1:], operands[0])


def _half(operand: Operand, place: int) -> Operand:
    """A word of a pair; of a constant itself."""
    return (
        Registers(operand.names[place : place + 1]) if isinstance(operand, Registers) else operand
    )


_PACKED_WORDS = MappingProxyType({"op_sel": 0, "op_sel_hi": 1, "neg_lo": 0, "neg_hi": 0})
"""The modifiers of packed operations, and what each source has where they are not written."""


_PARTS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"DWORD": (0, 32), "WORD_0": (0, 16), "WORD_1": (16, 16)}
    | {f"BYTE_{n}": (8 * n, 8) for n in range(4)}
)
"""The first bit and the width of the parts of a register."""


def _part_of(first: int, count: int, is_signed: bool, value: Values) -> Values:
    part = value >> np.uint64(first)
    return unsigned(signed(part, count), 32) if is_signed else low(part, count)


def _put(first: int, count: int, unused: str, value: Values, old: Values) -> Values:
    """A result in a part of a register; what is ``unused`` of it is 0, the sign, or as it was."""
    part = low(value, count) << np.uint64(first)
    if unused == "UNUSED_PRESERVE":
        return part | old & ~(mask(count) << np.uint64(first))
    if unused == "UNUSED_SEXT":
        return low(unsigned(signed(value, count), 64) << np.uint64(first), 32)
    return part


# Lanes


@dataclass(frozen=True, slots=True)
class DppControl:
    """The lane that each lane reads, -1: none; which lanes are written; those without a source
    too."""

    sources: tuple[int, ...]
    enabled: tuple[bool, ...]
    zeros: bool

    @property
    def writes_all(self) -> bool:
        """True if no lane keeps what it has."""
        return self.zeros and all(self.enabled)


_LANES = range(64)
_ROW = 16
_DPP: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        "row_shl": lambda lane, n: lane + n if lane % _ROW + n < _ROW else -1,
        "row_shr": lambda lane, n: lane - n if lane % _ROW >= n else -1,
        "row_ror": lambda lane, n: lane // _ROW * _ROW + (lane - n) % _ROW,
        "row_newbcast": lambda lane, n: lane // _ROW * _ROW + n,
        "row_mirror": lambda lane, n: lane ^ 15,
        "row_half_mirror": lambda lane, n: lane ^ 7,
        "wave_shl": lambda lane, n: lane + n if lane + n < len(_LANES) else -1,
        "wave_shr": lambda lane, n: lane - n,
        "wave_rol": lambda lane, n: (lane + n) % len(_LANES),
        "wave_ror": lambda lane, n: (lane - n) % len(_LANES),
        # The last lane of a row for the next row, of the lower half for the upper one.
        "row_bcast": lambda lane, n: lane // (n + 1) * (n + 1) - 1,
    }
)


@cache
def dpp_control(modifiers: tuple[str, ...]) -> DppControl:
    """The control that the words of a DPP instruction say. Raises ``NotExecutedError``."""
    words = {key: value for key, _, value in (each.partition(":") for each in modifiers)}
    rows, banks = (int(words.pop(each, "0xf"), 0) for each in ("row_mask", "bank_mask"))
    zeros = "bound_ctrl" in words
    words.pop("bound_ctrl", None)
    if len(words) != 1:
        raise NotExecutedError(f"'{' '.join(modifiers)}' is not executed")
    ((word, value),) = words.items()
    if word == "quad_perm":
        order = [int(each) for each in value.strip("[]").split(",")]
        sources = [lane // 4 * 4 + order[lane % 4] for lane in _LANES]
    elif word in _DPP:
        sources = [_DPP[word](lane, int(value or "0", 0)) for lane in _LANES]
    else:
        raise NotExecutedError(f"'{word}' is not executed")
    enabled = [bool(rows >> lane // _ROW & banks >> lane % _ROW // 4 & 1) for lane in _LANES]
    return DppControl(tuple(sources), tuple(enabled), zeros)


def _has_source(
    control: DppControl, active: LaneFlags, lanes: Values | None
) -> tuple[LaneFlags, Sequence[int]]:
    chosen = active if lanes is None else active & (lanes != 0)
    sources = np.array(control.sources)
    return (sources >= 0) & chosen[:, sources], control.sources


def _taken(
    control: DppControl, active: LaneFlags, value: Values, lanes: Values | None = None
) -> Values:
    """The value that each lane reads of another; 0 where there is none."""
    has_source, sources = _has_source(control, active, lanes)
    return np.where(has_source, value[:, sources], np.uint64(0))


def _written(control: DppControl, active: LaneFlags, lanes: Values | None = None) -> Values:
    has_source, _ = _has_source(control, active, lanes)
    return ((has_source | control.zeros) & np.array(control.enabled)).astype(np.uint64)


# Operands of accesses by their families


@dataclass(frozen=True, slots=True)
class _Access:
    """The operands of an access; None: it has none. ``scalar``: a base or an offset."""

    result: Names | None
    address: Names | None
    data: tuple[Operand, ...] = ()
    scalar: Operand | None = None
    resource: Names | None = None


def _results(instruction: AssemblyInstruction) -> tuple[Names | None, list[Operand]]:
    row = family_of(instruction.mnemonic)
    count = 0 if row is None else results_of(row, instruction.modifiers)
    operands = list(instruction.operands)
    return (_names(operands[0]) if count else None), operands[count:]


def _register(operand: Operand) -> Names | None:
    return None if operand == "off" else _names(operand)


def _flat(instruction: AssemblyInstruction, kind: Kind) -> _Access:
    """``flat``, ``global`` and ``scratch``: address, data, scalar base."""
    result, operands = _results(instruction)
    if "lds" in instruction.mnemonic.split("_"):
        raise NotExecutedError("copies to LDS are not executed")
    scalar = None
    if not instruction.mnemonic.startswith("flat_"):
        last = operands.pop()
        scalar = None if last == "off" else last
    address, *data = operands
    return _Access(result, _register(address), tuple(data), scalar)


def _lds(instruction: AssemblyInstruction, kind: Kind) -> _Access:
    result, operands = _results(instruction)
    if any(
        word in instruction.mnemonic for word in ("addtid", "_src2_", "append", "consume", "_tr_")
    ):
        raise NotExecutedError("its addresses are not known here")
    address, *data = operands
    return _Access(result, _names(address), tuple(data))


def _scalar(instruction: AssemblyInstruction, kind: Kind) -> _Access:
    result, (base, offset) = _results(instruction)
    if kind is not Kind.LOAD or instruction.mnemonic.startswith(("s_buffer", "s_scratch")):
        raise NotExecutedError("scalar memory is only loaded from by address")
    return _Access(result, _names(base), (), None if isinstance(offset, int) else offset)


def _buffer(instruction: AssemblyInstruction, kind: Kind) -> _Access:
    """Data or result, address, resource, scalar offset."""
    if not _BUFFER_WORDS.issuperset(each.partition(":")[0] for each in instruction.modifiers):
        raise NotExecutedError(f"'{' '.join(instruction.modifiers)}' is not executed")
    if "lds" in instruction.modifiers or "format" in instruction.mnemonic:
        raise NotExecutedError("only raw buffers are accessed")
    data, address, resource, scalar = instruction.operands
    result, _ = _results(instruction)
    held = () if kind is Kind.LOAD else (data,)
    own = _register(address) if "offen" in instruction.modifiers else None
    return _Access(result, own, held, scalar, _names(resource))


_BUFFER_WORDS = frozenset({"offen", "offset", "sc0", "sc1", "nt", "glc", "slc"})


def _no_form(instruction: AssemblyInstruction, kind: Kind) -> _Access:
    raise NotExecutedError("its operands are not known here")


_FORMS: Mapping[str, Callable[[AssemblyInstruction, Kind], _Access]] = MappingProxyType(
    {
        "flat": _flat, "global": _flat, "scratch": _flat, "ds": _lds, "s": _scalar,
        "buffer": _buffer,
    }
)  # fmt: skip
_KINDS: Mapping[tuple[Kind, bool], MemoryAccessKind] = MappingProxyType(
    {
        (Kind.LOAD, True): MemoryAccessKind.LOAD,
        (Kind.STORE, False): MemoryAccessKind.STORE,
        (Kind.RMW, False): MemoryAccessKind.REDUCTION,
        (Kind.RMW, True): MemoryAccessKind.ATOMIC,
    }
)


def _scope(effect: Effect) -> str:
    """The scope that a write-back reaches, or whose stores are seen after an invalidate of L2."""
    if effect.writes_back is not None:
        return effect.writes_back.name.lower()
    named = ((Caches.SYSTEM, Visibility.SYSTEM), (Caches.AGENT, Visibility.AGENT))
    return next((reach.name.lower() for each, reach in named if each in effect.invalidates), "")


@cache
def _is_modelled(model: str, chip: str) -> bool:
    try:
        model_of(model, chip)
    except UnsupportedError:
        return False
    return True


# Arithmetic that is no row


def _total(a: Values, b: Values, carry: Values | int = 0) -> Values:
    return low(a + b + np.uint64(carry), 32)


def _rest(a: Values, b: Values, carry: Values | int = 0) -> Values:
    return low(a - b - np.uint64(carry), 32)


def _is_less(a: Values, b: Values) -> Values:
    return (a < b).astype(np.uint64)


def _shifted_down(value: Values, bits: int) -> Values:
    return value >> np.uint64(bits)


def _extended(value: Values, bits: int, size: int) -> Values:
    return unsigned(signed(value, bits), size)


def _chosen(flag: Values, a: Values, b: Values) -> Values:
    return np.where(flag != 0, a, b)


def _low_half(new: Values, old: Values) -> Values:
    return old & np.uint64(0xFFFF0000) | low(new, 16)


def _high_half(new: Values, old: Values) -> Values:
    return low(old, 16) | low(new, 16) << np.uint64(16)


def _base_of_buffer(words: Values, offset: Values) -> Values:
    return low(words, 48) + offset


def _first_lane(active: LaneFlags, value: Values, lanes: Values | None = None) -> Values:
    """Of the first active lane; where there is none, of the first."""
    chosen = active if lanes is None else active & (lanes != 0)
    return np.take_along_axis(value, chosen.argmax(axis=1)[:, None], axis=1)


def _one_lane(active: LaneFlags, value: Values, lane: Values) -> Values:
    del active
    most = np.uint64(value.shape[1] - 1)
    return np.take_along_axis(value, (lane[:, :1] & most).astype(np.int64), axis=1)


def _in_lane(own: Values, lane: Values, value: Values, old: Values) -> Values:
    return np.where(own == lane & np.uint64(63), value, old)


def _gathered(
    offset: int, active: LaneFlags, value: Values, address: Values, lanes: Values | None = None
) -> Values:
    """Each lane's value from the lane that its address names; of one that is not active 0."""
    chosen = active if lanes is None else active & (lanes != 0)
    most = np.uint64(value.shape[1] - 1)
    source = ((address + np.uint64(offset)) >> np.uint64(2) & most).astype(np.int64)
    return np.take_along_axis(np.where(chosen, value, np.uint64(0)), source, axis=1)


@cache
def _without_denormals(row: Row) -> Row:
    return row.without_denormals()


_ADD_64 = Row(np.add, (64, 64))
_MOVES = frozenset({"v_mov_b32", "v_mov_b64", "s_mov_b32", "s_mov_b64", "v_accvgpr_read_b32",
    "v_accvgpr_write_b32", "v_accvgpr_mov_b32"})  # fmt: skip
_ACCUMULATING = frozenset({"v_fmac_f16", "v_fmac_f32", "v_fmac_f64"})
_PACKED = frozenset({"v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32", "v_pk_mov_b32"})
_WITH_MODIFIERS = _PACKED | {"ds_bpermute_b32"}
_Special = Callable[[Translator, AssemblyInstruction, str], None]
_CARRIES = (
    "add_co_u32",
    "sub_co_u32",
    "subrev_co_u32",
    "addc_co_u32",
    "subb_co_u32",
    "subbrev_co_u32",
)
_SPECIAL: Mapping[str, _Special] = MappingProxyType(
    {
        **{f"s_{name}_saveexec_b64": Translator.save_exec for name in (
            "and", "or", "xor", "andn2", "andn1", "orn2", "orn1", "nand", "nor", "xnor")},
        "v_cndmask_b32": Translator.choose,
        **dict.fromkeys(("s_cselect_b32", "s_cselect_b64", "s_cmov_b32", "s_cmov_b64"),
            Translator.scalar_choice),
        **dict.fromkeys([f"v_{each}" for each in _CARRIES], Translator.with_carry),
        **dict.fromkeys(("s_addc_u32", "s_subb_u32"), Translator.with_carry),
        **dict.fromkeys(("v_mad_u64_u32", "v_mad_i64_i32"), Translator.wide_product),
        **dict.fromkeys(("s_addk_i32", "s_mulk_i32"), Translator.in_place),
        **{f"s_bitset{bit}_b{bits}": Translator.set_bit for bit in "01" for bits in (32, 64)},
        **dict.fromkeys(("v_readfirstlane_b32", "v_readlane_b32"), Translator.read_lane),
        "v_writelane_b32": Translator.write_lane,
        **dict.fromkeys(("v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"), Translator.count_below),
        "ds_bpermute_b32": Translator.gather,
        **dict.fromkeys(_PACKED, Translator.packed),
    }
)  # fmt: skip
