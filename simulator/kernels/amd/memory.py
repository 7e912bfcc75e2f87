"""Accesses of AMD instructions to memory as steps of a ``LaneProgram``.

Private memory is each lane's own, from 0, so that the resource and the registers through which
chips find it have no value. Generic addresses are of global memory. Of a buffer a lane beyond
``num_records`` loads 0 and stores nothing. Source: MI300 ISA 9.1, buffer resources; 9.1.9, loads to
LDS.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType

import numpy as np

from fencewright.lowering.cdna.access_names import AccessName, Path, access_name
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.flow import Step as CodeStep
from fencewright.lowering.cdna.code.text import AssemblyInstruction, Operand
from fencewright.lowering.cdna.code.text import Registers as RegisterOperand
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.execution.program import (
    CopyStep,
    CountedInstruction,
    LaneValue,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
    MemoryStep,
    Merge,
    Register,
    TileStep,
    Values,
)
from fencewright.simulator.execution.values import low, mask, signed, unsigned
from fencewright.simulator.execution.vectorised import function_of
from fencewright.simulator.kernels.amd.modifiers import NotExecutedError, words_of
from fencewright.simulator.kernels.amd.operands import (
    Context,
    Operands,
    names_of,
)
from fencewright.simulator.kernels.amd.registers import Names, is_vector
from fencewright.simulator.kernels.amd.registers import Registers as State
from fencewright.simulator.kernels.amd.tiles import tile_of
from fencewright.simulator.performance.accesses.access import model_of
from fencewright.simulator.performance.policies import cdna_policy
from fencewright.simulator.semantics.amd_rows import update_of
from fencewright.simulator.semantics.elements import extended, part_of, replaced

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
_WITH_MODEL = frozenset({MemorySpace.GLOBAL, MemorySpace.SHARED})
_KINDS: Mapping[tuple[Kind, bool], MemoryAccessKind] = MappingProxyType(
    {
        (Kind.LOAD, True): MemoryAccessKind.LOAD,
        (Kind.COPY, False): MemoryAccessKind.LOAD,
        (Kind.STORE, False): MemoryAccessKind.STORE,
        (Kind.RMW, False): MemoryAccessKind.REDUCTION,
        (Kind.RMW, True): MemoryAccessKind.ATOMIC,
    }
)


@dataclass(frozen=True, slots=True)
class _Form:
    """The operands of an access; None: it has none. ``scalar``: a base or an offset.

    ``index``: of a buffer, the number of its record. ``target``: the place in LDS of a load to it
    that names one.
    """

    result: Names | None
    address: Names | None
    data: tuple[Operand, ...] = ()
    scalar: Operand | None = None
    resource: Names | None = None
    index: Names | None = None
    target: Names | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """The places that lanes access: address, scalar base, and which of them are inside of a
    buffer."""

    address: Register
    base: Register | None = None
    inside: Register | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an access, in one memory; ``where``: the lanes that take it, None: all."""

    space: MemorySpace
    number: int
    place: _Place
    where: Register | None


WINDOWS: Mapping[str, tuple[int, MemorySpace]] = MappingProxyType(
    {
        "src_shared_base": (1 << 16, MemorySpace.SHARED),
        "src_private_base": (1 << 17, MemorySpace.PRIVATE),
    }
)
"""The upper words of the flat addresses of other memory, by the operands that give them. Source:
LLVM AMDGPUUsage, Address Spaces; which words is the runtime's choice."""


class Accesses(Operands):
    """Appends accesses to the steps of ``state``; numbers those that are counted."""

    def __init__(self, context: Context, state: State) -> None:
        super().__init__(context, state)
        self.instructions: list[CountedInstruction] = []

    def number(self, instruction: CountedInstruction) -> int:
        """The number of one more instruction that is counted."""
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def access(self, step: CodeStep) -> None:
        """One load, store, atomic, or load to LDS. Raises ``NotExecutedError``."""
        if any(each.counter is Counter.TENSORCNT for each in step.effects.events):
            self._tile(step.instruction, is_load=step.effects.kind is Kind.COPY)
            return
        instruction, space = step.instruction, _SPACES[step.effects.space]
        name = _name_of(instruction)
        parts = self.results_and_sources(instruction)
        form = _FORMS.get(name.path, _no_form)(instruction, step.effects.kind, parts)
        if form.resource is not None and self.context.private.issuperset(form.resource):
            space = MemorySpace.PRIVATE
        width = name.bits // 8
        kind = _KINDS[step.effects.kind, form.result is not None]
        offsets, passes = _offsets(instruction, name)
        number = self._counted(instruction, kind, space, width, passes)
        where = self.state.active() if space is not MemorySpace.SCALAR else None
        scale = width if "scale_offset" in instruction.modifiers else 1
        place = self._place(form, space, width, offsets[0], scale)
        if step.effects.kind is Kind.COPY or name.copies:
            self._copy(number, width, place, where, offsets[0], form)
            return
        if place.inside is not None and space is not MemorySpace.SCALAR:
            where = self._both(where, place.inside)
        parts_of_memory = [_Part(space, number, place, where)]
        if name.path is Path.FLAT and self.context.windows:
            parts_of_memory = self._windows(instruction, kind, width, parts_of_memory[0])
        update = None
        if step.effects.kind is Kind.RMW:
            formula = update_of(name)
            if formula is None:
                raise NotExecutedError("there is no row for what it does to memory")
            form = replace(form, data=compared_first(name, form.data))
            update = function_of(formula, (name.bits,) * (1 + len(form.data)))
        per_pass = len(form.data) // len(offsets) if update is None else len(form.data)
        loaded: list[Register] = []
        for n, offset in enumerate(offsets):
            operands = form.data[n * per_pass : (n + 1) * per_pass]
            data = tuple([self._stored(name, each) for each in operands])
            found: Register | None = None
            for part in parts_of_memory:
                result = None
                if form.result is not None:
                    result = self.state.new(is_scalar=part.space is MemorySpace.SCALAR)
                self.state.steps.append(
                    MemoryStep(
                        part.number, part.place.address, offset, data, result, update,
                        part.place.base, part.where, n > 0,
                    )
                )  # fmt: skip
                if result is not None and found is not None and part.place.inside is not None:
                    result = self._merged(part.place.inside, result, found)
                found = result
            if found is not None:
                loaded.append(found)
        if form.result is not None:
            self._loaded(instruction, name, form.result, loaded, place.inside)

    def _tile(self, instruction: AssemblyInstruction, *, is_load: bool) -> None:
        """A copy of a tile, whose descriptor is in scalar registers."""
        if not words_of(instruction.modifiers).keys() <= {"th", "scope"}:
            raise NotExecutedError("one of its modifiers has no row")
        state = self.state
        words = [name for each in instruction.operands for name in names_of(each)]
        kind = MemoryAccessKind.LOAD if is_load else MemoryAccessKind.STORE
        number = self._counted(instruction, kind, MemorySpace.GLOBAL, 1, "")
        registers = tuple([state.read((each,)) for each in words])
        state.steps.append(TileStep(number, registers, partial(tile_of, is_load=is_load)))

    def _merged(self, lanes: Register, new: Register, old: Register) -> Register:
        result = self.state.new(is_scalar=False)
        self.state.steps.append(Merge(result, lanes, new, old))
        return result

    def _windows(
        self, instruction: AssemblyInstruction, kind: MemoryAccessKind, width: int, whole: "_Part"
    ) -> "list[_Part]":
        """The parts of a flat access: of global memory, and of each other that it may be of."""
        state, address = self.state, whole.place.address
        if whole.place.base is not None:
            address = state.compute(np.add, (address, whole.place.base), "flat address")
        outside, found = whole.where, list[_Part]()
        for name in self.context.windows:
            window, space = WINDOWS[name]
            inside = state.compute(partial(_in_window, window), (address,), "in the window")
            other = state.compute(np.bitwise_xor, (inside, state.constant(1, 32)), "not there")
            number = self._counted(instruction, kind, space, width, "")
            low_half = state.compute(partial(low, bits=32), (address,), "place in the window")
            lanes = inside if whole.where is None else self._both(whole.where, inside)
            found.append(_Part(space, number, _Place(low_half, None, inside), lanes))
            outside = other if outside is None else self._both(outside, other)
        return [replace(whole, where=outside), *found]

    def _counted(
        self,
        instruction: AssemblyInstruction,
        kind: MemoryAccessKind,
        space: MemorySpace,
        width: int,
        passes: str,
    ) -> int:
        context, policy = self.context, None
        if space is not MemorySpace.SHARED and context.has_counts:
            words = [each for each in instruction.modifiers if each != "lds"]
            try:
                policy = cdna_policy(
                    context.chip, kind, words, context.l2_per_agent, tgsplit=context.tgsplit
                )
            except UnsupportedError as problem:
                raise NotExecutedError(str(problem)) from problem
        has_model = space in _WITH_MODEL and context.has_counts
        model = f"{instruction.mnemonic}{passes}" if has_model else None
        if model is not None and not _is_modelled(model, context.chip):
            model = None
        place = context.place_of(instruction)
        return self.number(
            MemoryInstruction(instruction.text, model, kind, space, width, policy, place)
        )

    def _both(self, a: Register | None, b: Register) -> Register:
        return b if a is None else self.state.compute(np.bitwise_and, (a, b), "in the buffer")

    def _stored(self, name: AccessName, operand: Operand) -> Register:
        value = self.state.read(names_of(operand))
        if not name.is_upper:
            return value
        return self.formula(part_of, (value,), (64,), "high half", 16, 16)

    def _loaded(
        self,
        instruction: AssemblyInstruction,
        name: AccessName,
        names: Names,
        loaded: Sequence[Register],
        inside: Register | None,
    ) -> None:
        state, (value, *more) = self.state, loaded
        if name.is_transposed:
            # Lanes exchange what they load in an order that is not documented bit by bit.
            self.unknown(instruction.text, names)
            return
        if inside is not None:
            found = state.new(is_scalar=state.scalars.issuperset((inside, value)))
            state.steps.append(Merge(found, inside, value, state.constant(0, 32)))
            value = found
        if name.letter == "i" and name.bits < 32:
            size = 16 if name.is_half else 32
            value = self.formula(extended, (value,), (64,), "sign", 0, name.bits, size)
        if name.is_half:
            halves, first = (value, state.read(names)), 16 * name.is_upper
            value = self.formula(replaced, halves, (64, 32), "half", first, 16)
        count = len(names) // (1 + len(more))
        for n, each in enumerate((value, *more)):
            state.write(names[n * count : (n + 1) * count], each)

    def _copy(
        self, number: int, width: int, place: _Place, where: Register | None, offset: int,
        form: _Form,
    ) -> None:  # fmt: skip
        """A copy between memory and LDS, where each lane has a place from m0 on, or a register."""
        state, stores = self.state, bool(form.data)
        own = names_of(form.data[0]) if stores else form.target
        if own is not None and offset:
            raise NotExecutedError("the address that its offset is added to is not documented")
        if own is None and width not in (4, 12, 16):
            raise NotExecutedError("only whole words are copied to LDS")
        lane = state.special(LaneValue.LANE, is_scalar=False)

        def target(first: Values, lane: Values) -> Values:
            return low(first, 16) + np.uint64(offset) + lane * np.uint64(width)

        def source(address: Values, base: Values) -> Values:
            return address + base + np.uint64(offset)

        base = state.constant(0, 32) if place.base is None else place.base
        in_lds = (
            state.compute(target, (state.read(("m0",)), lane), "place in LDS")
            if own is None
            else state.read(own)
        )
        outside = state.compute(source, (place.address, base), "address")
        ends = (outside, in_lds) if stores else (in_lds, outside)
        state.steps.append(CopyStep(number, *ends, where=where, inside=place.inside))

    def _place(
        self, form: _Form, space: MemorySpace, width: int, offset: int, scale: int
    ) -> _Place:
        """The address without its constant offset, and the offset.

        ``scale``: the factor of the register that is an offset.
        """
        state = self.state
        own = state.constant(0, 32) if form.address is None else state.read(form.address)
        if form.resource is None:
            if form.scalar is None:
                return _Place(self._scaled(own, scale, False))
            # A base is a pair; an offset, and a place in private memory, is one register.
            is_pair = isinstance(form.scalar, RegisterOperand) and len(form.scalar.names) == 2
            scalar = self.operand(form.scalar, 64 if is_pair else 32)
            if form.address is None:
                return _Place(scalar)
            if is_vector(form.address[0]):
                has_sign = is_pair and self.context.signed_offsets
                return _Place(self._scaled(own, scale, has_sign), scalar)
            return _Place(own, self._scaled(scalar, scale, False))
        assert form.scalar is not None
        further = self.operand(form.scalar, 32)
        if space is MemorySpace.PRIVATE:
            # Scalar offsets are those of a wave: of all lanes together.
            return _Place(own, state.compute(partial(_shifted_down, bits=6), (further,), "offset"))
        base, size, stride = (
            state.read(form.resource[:2]), state.read(form.resource[2:3]),
            state.read(form.resource[1:2]),
        )  # fmt: skip
        begin = state.compute(_base_of_buffer, (base, further), "base of the buffer")
        if form.index is not None:
            index = state.read(form.index)
            inside = state.compute(_in_record, (index, size), "in the buffer")
            address = state.compute(_of_record, (index, own, stride), "record")
            return _Place(address, begin, inside)
        last = np.uint64(offset + width)
        inside = state.compute(
            partial(_in_buffer, last), (own, further, size, stride), "in the buffer"
        )
        return _Place(own, begin, inside)

    def _scaled(self, offset: Register, scale: int, is_signed: bool) -> Register:
        """An offset of 32 bits in bytes."""
        if scale == 1 and not is_signed:
            return offset
        return self.state.compute(partial(_bytes_of, scale, is_signed), (offset,), "offset")


# Names and offsets


def _name_of(instruction: AssemblyInstruction) -> AccessName:
    name = access_name(instruction.mnemonic)
    if name is None:
        raise NotExecutedError("how much it accesses is not known")
    return name


def _offset(words: Mapping[str, str], name: str) -> int:
    return int(words.get(name) or "0", 0)


def _offsets(instruction: AssemblyInstruction, name: AccessName) -> tuple[tuple[int, ...], str]:
    """The offset in bytes of each pass, and the key of the counts of several passes."""
    words = words_of(instruction.modifiers)
    if not name.stride:
        scalar = instruction.operands[-1] if name.path is Path.SCALAR else 0
        return (_offset(words, "offset") + (scalar if isinstance(scalar, int) else 0),), ""
    units = [_offset(words, f"offset{n}") for n in range(2)]
    further = [each - min(units) for each in units]
    passes = "".join(f" offset{n}:{each}" for n, each in enumerate(further) if each)
    return tuple([each * name.stride * name.bits // 8 for each in units]), passes


# Operands of accesses by their paths


_Parts = tuple[tuple[Operand, ...], tuple[Operand, ...]]
"""The operands that an instruction defines, and the others."""


def _results(parts: _Parts) -> tuple[Names | None, list[Operand]]:
    results, others = parts
    return (names_of(results[0]) if results else None), list(others)


def compared_first(name: AccessName, data: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """The data of an atomic, of a compare-exchange the compared value before the new one.

    Vector memory has both in one operand, the new one below.
    """
    if not name.compares or name.compares_first:
        return data
    if len(data) == 1:
        names = names_of(data[0])
        half = len(names) // 2
        data = RegisterOperand(names[:half]), RegisterOperand(names[half:])
    return data[::-1]


def _register(operand: Operand) -> Names | None:
    return None if operand == "off" else names_of(operand)


def _vector(instruction: AssemblyInstruction, kind: Kind, parts: _Parts) -> _Form:
    """``global`` and ``scratch``: address, data, scalar base."""
    result, operands = _results(parts)
    target: Names | None = None
    if kind is Kind.COPY:
        result, operands = None, list(instruction.operands)
        target = names_of(operands.pop(0)) if len(operands) > 2 else None
    last = operands.pop()
    address, *data = operands
    scalar = None if last == "off" else last
    return _Form(result, _register(address), tuple(data), scalar, target=target)


def _flat(instruction: AssemblyInstruction, kind: Kind, parts: _Parts) -> _Form:
    """Address and data, and a scalar base where the address is one register."""
    result, (address, *data) = _results(parts)
    names = names_of(address)
    base = data.pop() if len(names) == 1 else None
    return _Form(result, names, tuple(data), base)


def _lds(instruction: AssemblyInstruction, kind: Kind, parts: _Parts) -> _Form:
    result, (address, *data) = _results(parts)
    return _Form(result, names_of(address), tuple(data))


def _scalar(instruction: AssemblyInstruction, kind: Kind, parts: _Parts) -> _Form:
    """A base or a resource, and an offset."""
    result, (base, offset) = _results(parts)
    if kind is not Kind.LOAD:
        raise NotExecutedError("scalar memory is only loaded from")
    names = names_of(base)
    if len(names) == 4:
        return _Form(result, None, (), 0 if isinstance(offset, int) else offset, names)
    return _Form(result, names, (), None if isinstance(offset, int) else offset)


def _buffer(instruction: AssemblyInstruction, kind: Kind, parts: _Parts) -> _Form:
    """Data or result, address, resource, scalar offset; of a load to LDS without the first."""
    words = words_of(instruction.modifiers)
    if not words.keys() <= _BUFFER_WORDS:
        raise NotExecutedError(f"'{' '.join(instruction.modifiers)}' is not executed")
    *data, address, resource, scalar = instruction.operands
    result = None if kind is Kind.COPY else _results(parts)[0]
    held = tuple(data) if kind in (Kind.STORE, Kind.RMW) else ()
    names = _register(address) if words.keys() & {"offen", "idxen"} else None
    index, own = None, names
    if names is not None and "idxen" in words:
        index, own = names[:1], names[1:] or None
    return _Form(result, own, held, scalar, names_of(resource), index)


_BUFFER_WORDS = frozenset({"offen", "idxen", "offset", "sc0", "sc1", "nt", "glc", "slc", "lds"})


def _no_form(instruction: AssemblyInstruction, kind: Kind, parts: _Parts) -> _Form:
    raise NotExecutedError("its operands are not known here")


_FORMS: Mapping[Path, Callable[[AssemblyInstruction, Kind, _Parts], _Form]] = MappingProxyType(
    {
        Path.FLAT: _flat, Path.GLOBAL: _vector, Path.SCRATCH: _vector, Path.LDS: _lds,
        Path.SCALAR: _scalar, Path.BUFFER: _buffer,
    }
)  # fmt: skip


@cache
def _is_modelled(model: str, chip: str) -> bool:
    try:
        model_of(model, chip)
    except UnsupportedError:
        return False
    return True


def _in_window(window: int, address: Values) -> Values:
    return (address >> np.uint64(32) == window).astype(np.uint64)


def _shifted_down(value: Values, bits: int) -> Values:
    return value >> np.uint64(bits)


def _bytes_of(scale: int, is_signed: bool, value: Values) -> Values:
    whole = unsigned(signed(value, 32), 64) if is_signed else value
    return whole * np.uint64(scale)


# Buffers: the base, the stride and the flags are in the first two words of the resource


def _base_of_buffer(words: Values, offset: Values) -> Values:
    return low(words, 48) + offset


def _stride_in(word: Values) -> Values:
    return word >> np.uint64(16) & mask(14)


def _in_buffer(last: np.uint64, own: Values, further: Values, size: Values, word: Values) -> Values:
    # Of a structured buffer num_records counts records, which a raw offset has not.
    return ((own + further + last <= size) & (_stride_in(word) == 0)).astype(np.uint64)


def _in_record(index: Values, size: Values) -> Values:
    return (index < size).astype(np.uint64)


def _of_record(index: Values, own: Values, word: Values) -> Values:
    return index * _stride_in(word) + own
