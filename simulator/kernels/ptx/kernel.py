"""Kernels of PTX files, of any compiler, as their lanes run them.

A kernel runs without clusters, so that a barrier of the cluster is one of the CTA. What cannot be
executed is refused at its line: tensor maps, copies and stores to other CTAs, calls.
Results of matrix operations are not known: see ``unknowns``.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from types import MappingProxyType
from typing import NoReturn, TypeAlias

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import postorder
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.pointers import Pointers
from fencewright.lowering.ptx.code.statements import (
    ARRIVALS,
    MBARRIER_WAITS,
    Opcode,
    Statement,
    element_of,
    names_in,
    number,
    read_opcode,
)
from fencewright.lowering.ptx.code.text import (
    PtxBlock,
    PtxFile,
    PtxFunction,
    PtxInstruction,
    PtxParameter,
    PtxVariable,
)
from fencewright.lowering.ptx.performance.accesses import LANES
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.simulator.execution import mbarrier
from fencewright.simulator.execution.launch import BASE, VARIABLES, LaunchError
from fencewright.simulator.execution.program import (
    Argument,
    BlockEnd,
    Compute,
    CopyStep,
    CountedInstruction,
    CrossLane,
    EndLane,
    FenceInstruction,
    FenceStep,
    GlobalVariable,
    Jump,
    KernelParameter,
    KernelResources,
    LaneBlock,
    LaneBranch,
    LaneProgram,
    LaneValue,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
    MemoryStep,
    Register,
    Special,
    Step,
    Values,
    jumps_of,
    with_jumps,
)
from fencewright.simulator.execution.ptx_arithmetic import (
    LANE_OPERANDS,
    compiled,
    cross_lane_function_of,
    filling,
    function_of,
    joined,
    lane_mask,
    split,
    update_of,
)
from fencewright.simulator.execution.values import WORD, constant
from fencewright.simulator.kernels.ptx.instructions import (
    ACQUIRES,
    NO_CLUSTERS,
    RELEASES,
    SPACES,
    async_copy,
    barrier_of,
    bulk_copy,
    fence_of,
    marker,
    memory_instruction,
    ordering_of,
    wait_for_copies,
)
from fencewright.simulator.kernels.ptx.unknowns import MATRICES, Unknowns
from fencewright.simulator.semantics.formulas import CARRY, formula_of
from fencewright.simulator.semantics.operands import LANE_MASKS, elements, literal, terms_of

Places: TypeAlias = Callable[[PtxInstruction], SourceLocation | None]
"""The place of an instruction, as messages and tables say it."""


def program_of(
    file: PtxFile,
    function: PtxFunction,
    places: Places | None = None,
    shared: tuple[Mapping[str, int], int] | None = None,
) -> LaneProgram:
    """A kernel of a PTX file; without ``places`` instructions are where the file has them.

    ``shared``: the addresses of shared variables and the bytes of all, where they are laid out.
    Raises ``LaunchError`` at what is not executed.
    """

    def in_file(at: PtxInstruction) -> SourceLocation:
        return SourceLocation(file.file, at.line, at.column)

    kernel = _Kernel(file, function, places or in_file)
    if shared is not None:
        kernel.addresses |= shared[0]
        kernel.shared = shared[1]
    return kernel.program()


@dataclass(slots=True)
class _Open:
    """A block that is being filled."""

    steps: list[Step] = field(default_factory=list[Step])
    end: BlockEnd = field(default_factory=EndLane)


class _Kernel:
    """One kernel: its instructions in order append steps to ``block``."""

    def __init__(self, file: PtxFile, function: PtxFunction, places: Places) -> None:
        self.file, self.function, self.places = file, function, places
        self.statement = Statement(_RET, ())
        self.place: SourceLocation | None = None
        self.count = 0
        self.registers: dict[str, Register] = {}
        self.numbers: dict[tuple[int, int], Register] = {}
        self.instructions: list[CountedInstruction] = []
        self.blocks = [_Open() for _ in function.blocks]
        self.block = self.blocks[0]
        self.first: list[Step] = []
        self.threads = None if function.threads is None else prod(function.threads)
        self.written = Counter(
            name for each in function.instructions for name in each.statement.defines
        )
        self.variables = {**file.variables, **function.variables}
        self.addresses, sizes = _layout(function, self.variables)
        self.shared, self.private = sizes["shared"], sizes["local"]
        self.globals: list[GlobalVariable] = []
        self.pointers = Pointers(function, self.variables)
        self.unknowns = Unknowns(function, self.pointers)
        self.buffers: set[str] = set()

    def program(self) -> LaneProgram:
        """The kernel's lanes."""
        blocks = self.function.blocks
        # Definitions come before uses, and what a guard chooses before what it does not.
        for n in reversed(postorder([0], lambda n: _chosen_first(blocks[n]))):
            self.block = self.blocks[n]
            self.read(blocks[n])
        self.blocks[0].steps[:0] = self.first
        return LaneProgram(
            name=self.function.name,
            target=self.file.target,
            lanes=LANES,
            registers=self.count,
            parameters=_parameters(self.function.parameters, self.buffers),
            resources=KernelResources(None, 0, 0, self.shared, self.private),
            block_size=self.function.threads,
            instructions=tuple(self.instructions),
            blocks=_folded(self.blocks),
            variables=tuple(self.globals),
        )

    # Blocks

    def read(self, block: PtxBlock) -> None:
        """Append the instructions of a block, those under one guard in a block of their own."""
        instructions = block.instructions
        last = instructions[-1] if instructions else None
        if last is not None and last.statement.opcode.head in _ENDS:
            instructions = instructions[:-1]
        for guard, guarded in groupby(instructions, _Guards()):
            if guard:
                self.guarded(guard, guarded)
                continue
            for each in guarded:
                self.instruction(each)
        if last is None or last.statement.opcode.head not in _ENDS:
            self.block.end = self.following(block)
        else:
            self.at(last)
            self.end(last.statement, block)

    def guarded(self, guard: str, instructions: Iterable[PtxInstruction]) -> None:
        """Instructions that only some lanes pass."""
        inside, after = self.begin(), self.begin()
        for n, each in enumerate(instructions):
            self.at(each)
            if not n:
                self.block.end = self.branch(guard.rpartition(" ")[2], Jump(inside), Jump(after))
                self.block = self.blocks[inside]
            self.instruction(each)
        self.block.end = Jump(after)
        self.block = self.blocks[after]

    def begin(self) -> int:
        """The number of a new block."""
        self.blocks.append(_Open())
        return len(self.blocks) - 1

    def following(self, block: PtxBlock) -> Jump | EndLane:
        """The block below; the end of the text ends a lane."""
        below = block.number + 1
        return Jump(below) if below < len(self.function.blocks) else EndLane()

    def branch(self, guard: str, yes: Jump, no: Jump) -> LaneBranch:
        """To ``yes`` where the guard holds."""
        if guard.startswith("!"):
            yes, no = no, yes
        return LaneBranch(self.register(guard.removeprefix("!")), yes, no)

    def end(self, statement: Statement, block: PtxBlock) -> None:
        """The last instruction of a block, which goes elsewhere or ends the lane."""
        head = statement.opcode.head
        if head in _NOT_EXECUTED:
            self.refuse(_NOT_EXECUTED[head])
        if not statement.guard:
            self.block.end = Jump(block.successors[0]) if head == "bra" else EndLane()
            return
        target = Jump(block.successors[0] if head == "bra" else self.begin())
        other = self.following(block)
        if isinstance(other, EndLane):
            other = Jump(self.begin())
        self.block.end = self.branch(statement.guard, target, other)

    def at(self, instruction: PtxInstruction) -> None:
        """Note the instruction that is being read. Raises ``LaunchError`` at an unknown value."""
        self.statement, self.place = instruction.statement, self.places(instruction)
        if origin := self.unknowns.needed_by(self.statement):
            self.refuse(f"it depends on the result of {origin}")

    # Registers and steps

    def fresh(self) -> Register:
        """A register that nothing has."""
        self.count += 1
        return self.count - 1

    def register(self, name: str) -> Register:
        """The register of a name."""
        known = self.registers.get(name)
        if known is None:
            if self.function.type_of(name) is None:
                self.refuse_operand(name)
            known = self.registers[name] = self.fresh()
        return known

    def bits(self, name: str) -> int:
        """The width of a register."""
        element = element_of(self.function.type_of(name) or "")
        return 64 if element is None else element[1] * element[2]

    def result(self, operand: str) -> Register | None:
        """The register of a result; None for the sink."""
        return None if operand == "_" else self.register(operand)

    def constant(self, value: int, bits: int) -> Register:
        """A register with a number, which all lanes have from the beginning."""
        known = self.numbers.get((value, bits))
        if known is None:
            known = self.numbers[value, bits] = self.fresh()
            self.first.append(Compute(known, (), constant(value, bits), str(value)))
        return known

    def compute(
        self,
        compute: Callable[..., Values],
        operands: Iterable[Register],
        result: Register | None = None,
    ) -> Register:
        """A step of each lane by itself."""
        to = self.fresh() if result is None else result
        text = self.statement.opcode.name
        self.block.steps.append(Compute(to, tuple(operands), compute, text))
        return to

    def counted(self, instruction: CountedInstruction) -> int:
        """The number of a new instruction."""
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def fence(self, instruction: FenceInstruction) -> None:
        """A step that orders."""
        self.block.steps.append(FenceStep(self.counted(instruction)))

    # Operands

    def value(self, operand: str, bits: int) -> Register:
        """The register of an operand, or one with the number or the address that it is."""
        is_register = operand in self.registers or self.function.type_of(operand) is not None
        if bits > WORD and not (is_register and self.bits(operand) == bits):
            # Wide values are in pieces, which nothing narrower has.
            self.refuse_operand(operand)
        if is_register:
            return self.register(operand)
        if operand.startswith("!"):
            return self.compute(function_of("not.pred"), (self.register(operand[1:]),))
        if operand in _SPECIAL:
            return self.special(operand, self.fresh())
        known = self.literal(operand, bits)
        return self.refuse_operand(operand) if known is None else known

    def literal(self, operand: str, bits: int) -> Register | None:
        """A register with a number or with the address of a variable."""
        known = literal(operand, f"b{bits}")
        if known is None:
            names, offset = terms_of(operand)
            if len(names) != 1 or names[0] not in self.variables:
                return None
            known = self.address_of(names[0]) + offset
        return self.constant(known, bits)

    def address_of(self, name: str) -> int:
        """The address of a variable in its state space."""
        if name not in self.addresses:
            variable = self.variables[name]
            data = _initial(variable) if variable.space in ("global", "const") else None
            if data is None:
                self.refuse_operand(name)
            found = GlobalVariable(name, VARIABLES + len(self.globals) * BASE, data)
            self.globals.append(found)
            self.addresses[name] = found.address
        return self.addresses[name]

    def special(self, name: str, result: Register) -> Register:
        """A special register in one of the kernel's."""
        value = _SPECIAL[name]
        if name in LANE_MASKS:
            lane = self.fresh()
            self.block.steps.append(Special(lane, LaneValue.LANE))
            return self.compute(lane_mask(name), (lane,), result)
        if isinstance(value, LaneValue):
            self.block.steps.append(Special(result, value))
            return result
        return self.compute(_copy, (self.constant(value, 32),), result)

    def address(self, operand: str) -> tuple[Register, int]:
        """The register of an address, and the bytes that are added to it."""
        names, offset = terms_of(operand)
        if len(names) > 1:
            self.refuse_operand(operand)
        name = "".join(names)
        if name in self.variables:
            return self.constant(self.address_of(name) + offset, 64), 0
        if not name:
            return self.constant(offset, 64), 0
        if self.function.type_of(name) is None:
            self.refuse_operand(operand)
        return self.register(name), offset

    def moved(self, operand: str) -> Register:
        """An address as one register."""
        register, offset = self.address(operand)
        if not offset:
            return register
        return self.compute(function_of("add.s64"), (register, self.constant(offset, 64)))

    def refuse(self, reason: str) -> NoReturn:
        raise LaunchError(f"'{self.statement.opcode.name}' is not executed: {reason}", self.place)

    def refuse_operand(self, operand: str) -> NoReturn:
        raise LaunchError(f"the operand '{operand}' is not executed", self.place)

    def space(self, operand: str, named: Sequence[AddressSpace]) -> MemorySpace:
        """The memory that an address is in; of a generic one where its variables are."""
        bases = self.pointers.of(operand)
        if named:
            if named[0] not in SPACES:
                self.refuse(NO_CLUSTERS)
            space = SPACES[named[0]]
        else:
            space = self.generic_space(bases)
        if space is MemorySpace.GLOBAL:
            self.buffers |= bases
        return space

    def generic_space(self, bases: Iterable[str]) -> MemorySpace:
        """The memory that parameters and variables point to."""
        own = self.variables
        names = {own[name].space if name in own else "global" for name in bases} or {"global"}
        if not names <= _OF_VARIABLES.keys():
            self.refuse("arguments of calls are not modelled")
        found = {_OF_VARIABLES[name] for name in names}
        if len(found) > 1:
            self.refuse("its address may be in several state spaces")
        return found.pop()

    # Instructions

    def instruction(self, instruction: PtxInstruction) -> None:
        """Append the steps of an instruction. Raises ``LaunchError``."""
        self.at(instruction)
        opcode = self.statement.opcode
        reason = _NOT_EXECUTED.get(opcode.head)
        handler = _HANDLERS.get(opcode.head, _Kernel.arithmetic)
        if reason is not None:
            self.refuse(reason)
        self.check_operands(opcode, len(self.statement.operands))
        try:
            handler(self, opcode, self.statement.operands)
        except UnsupportedError as error:
            raise LaunchError(str(error), self.place) from None

    def check_operands(self, opcode: Opcode, count: int) -> None:
        """Refuse an instruction with too few or too many operands."""
        formula = formula_of(opcode)
        of_lanes = LANE_OPERANDS.get(opcode.head) if opcode.kind is Kind.LANES else None
        given = of_lanes if formula is None else len(formula.types)
        least, most = (0, count) if given is None else (given + 1, given + 1)
        name = opcode.operation if opcode.head in ("cp", "mbarrier") else opcode.head
        least, most = _OPERANDS.get(name, (least, most))
        if not least <= count <= most:
            self.refuse(f"it has {count} operands")

    def arithmetic(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """A result that lanes compute, each by itself or with those of its warp."""
        if opcode.kind is Kind.LANES:
            self.cross_lane(opcode, operands)
            return
        to, *given = operands
        targets = [each.strip() for each in to.split("|")]
        formula = formula_of(opcode)
        types = () if formula is None else formula.types
        known = [literal(each, type) for each, type in zip(given, types, strict=False)]
        if known and None not in known:
            known[0] = None
        sources = [
            self.value(each, _width(type))
            for each, type, value in zip(given, types, known, strict=False)
            if value is None
        ]
        if formula is not None and formula.takes_carry:
            sources.append(self.carry())
        if "cc" in opcode.modifiers:
            targets.append(CARRY)
        self.results(opcode, tuple(known), sources, targets)

    def results(
        self, opcode: Opcode, known: tuple[int | None, ...], sources: list[Register], to: list[str]
    ) -> None:
        """The results of an instruction in their registers."""
        bits = self.bits(to[0]) if self.function.type_of(to[0]) else 16
        functions = [compiled(opcode, known, n, bits) for n in range(len(to))]
        registers = [self.carry() if each == CARRY else self.result(each) for each in to]
        if len(to) == 1:
            self.compute(functions[0], sources, registers[0])
            return
        # All of them are computed before any is written: a result may be an operand too.
        found = [self.compute(each, sources) for each in functions]
        for value, register in zip(found, registers, strict=True):
            if register is not None:
                self.compute(_copy, (value,), register)

    def carry(self) -> Register:
        """The register of the carry flag (CC.CF)."""
        return self.registers.setdefault(CARRY, self.fresh())

    def cross_lane(self, opcode: Opcode, operands: Sequence[str]) -> None:
        to, *given = operands
        sources = tuple([self.value(each, 32) for each in given])
        for n, result in enumerate(to.split("|")):
            compute = cross_lane_function_of(opcode.name, second=bool(n))
            register = self.result(result.strip())
            if register is not None:
                self.block.steps.append(CrossLane(register, sources, compute, opcode.name))

    def move(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """mov: also from several registers to one, and the other way round."""
        to, source = operands
        if to.startswith("{"):
            parts, whole, at = elements(to), self.value(source, opcode.width), 0
            size = opcode.width // len(parts)
            for each in parts:
                result = self.result(each)
                if result is not None:
                    self.compute(split(at, size), (whole,), result)
                at += size
        elif source.startswith("{"):
            parts = elements(source)
            size = opcode.width // len(parts)
            sources = [self.value(each, size) for each in parts]
            self.compute(joined([size] * len(parts)), sources, self.register(to))
        elif source in _SPECIAL:
            self.special(source, self.register(to))
        else:
            self.copied(source, opcode.width, to)

    def copied(self, source: str, bits: int, to: str) -> None:
        """A register as another one; a number is one that all lanes have from the beginning."""
        value = literal(source, f"b{bits}")
        if value is not None and self.written[to] == 1:
            self.compute(constant(value, bits), (), self.register(to))
        else:
            self.compute(_copy, (self.value(source, bits),), self.register(to))

    def convert_address(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """cvta: each state space has the addresses that it has as generic ones."""
        to, source = operands
        self.copied(source, 64, to)

    # Accesses

    def load(self, opcode: Opcode, operands: Sequence[str]) -> None:
        to, address, *_ = operands
        results = elements(to)
        self.check_vector(opcode, len(results))
        if opcode.of_parameters:
            self.parameter(opcode, results, address)
            return
        if len(results) == 1 and not self.extends(opcode, results[0]):
            self.access(opcode, address, (), self.register(results[0]))
            return
        whole = self.fresh()
        self.access(opcode, address, (), whole)
        for n, each in enumerate(results):
            if each != "_":
                self.element(opcode, each, split(n * opcode.width, opcode.width), whole)

    def extends(self, opcode: Opcode, register: str) -> bool:
        """True if a load fills the rest of its register with the sign."""
        return opcode.type.startswith("s") and opcode.width < self.bits(register)

    def element(self, opcode: Opcode, to: str, part: Callable[..., Values], *of: Register) -> None:
        """A part of a loaded value as a register."""
        result = self.register(to)
        if not self.extends(opcode, to):
            self.compute(part, of, result)
            return
        extend = filling(opcode, self.bits(to))
        self.compute(extend, (self.compute(part, of),), result)

    def parameter(self, opcode: Opcode, results: Sequence[str], address: str) -> None:
        """ld.param: a parameter of the kernel, or a part of it."""
        of, offset = terms_of(address)
        name = "".join(of)
        names = [each.name for each in self.function.parameters]
        if name not in names:
            self.refuse("no parameter of the kernel is named")
        for n, each in enumerate(results):
            first = 8 * offset + n * opcode.width
            if opcode.width <= WORD and not self.extends(opcode, each):
                pieces = [self.register(each)]
            else:
                pieces = [self.fresh() for _ in range(0, opcode.width, WORD)]
            for at, register in enumerate(pieces):
                size = min(WORD, opcode.width)
                step = Argument(register, names.index(name), first + WORD * at, size)
                self.block.steps.append(step)
            if pieces != [self.register(each)]:
                whole = joined([min(WORD, opcode.width)] * len(pieces))
                self.element(opcode, each, whole, *pieces)

    def store(self, opcode: Opcode, operands: Sequence[str]) -> None:
        if not opcode.width:
            self.refuse("stores without a type are not modelled")
        address, data, *_ = operands
        given = elements(data)
        self.check_vector(opcode, len(given))
        sources = [self.value(each, opcode.width) for each in given]
        if len(sources) > 1:
            sources = [self.compute(joined([opcode.width] * len(sources)), sources)]
        self.access(opcode, address, sources, None)

    def check_vector(self, opcode: Opcode, registers: int) -> None:
        if opcode.vector != registers:
            self.refuse(
                "a vector has a register for each element, in a ptx.sequence; or is in one "
                "register, as .b64 or .b128"
            )

    def atomic(self, opcode: Opcode, operands: Sequence[str]) -> None:
        to, address, *data = operands
        self.update(opcode, address, data, self.result(to))

    def reduce(self, opcode: Opcode, operands: Sequence[str]) -> None:
        address, *data = operands
        self.update(opcode, address, data, None)

    def update(
        self, opcode: Opcode, address: str, data: Sequence[str], result: Register | None
    ) -> None:
        if opcode.vector > 1:
            self.refuse("atomics of vectors are not")
        count = 2 if opcode.update == "cas" else 1
        if len(data) < count:
            self.refuse(f"it has {len(data) + 1} operands")
        sources = [self.value(each, opcode.width) for each in data[:count]]
        self.access(opcode, address, sources, result)

    def access(
        self, opcode: Opcode, address: str, data: Sequence[Register], result: Register | None
    ) -> None:
        """A load, store or atomic, with the fences that its ordering is made of."""
        if "async" in opcode.words:
            self.refuse(NO_CLUSTERS)
        space = self.space(address, opcode.spaces)
        found = memory_instruction(opcode, space, self.place)
        is_global, ordering, name = space is MemorySpace.GLOBAL, opcode.ordering, opcode.name
        if is_global and ordering in RELEASES:
            self.fence(ordering_of(opcode, name, self.place, releases=True, acquires=False))
        update = None
        if found.kind in (MemoryAccessKind.ATOMIC, MemoryAccessKind.REDUCTION):
            update = update_of(opcode)
        register, offset = self.address(address)
        step = MemoryStep(self.counted(found), register, offset, tuple(data), result, update)
        self.block.steps.append(step)
        if is_global and ordering in ACQUIRES:
            self.fence(ordering_of(opcode, name, self.place, releases=False, acquires=True))

    def order(self, opcode: Opcode, operands: Sequence[str]) -> None:
        self.fence(fence_of(self.statement, self.place))

    def barrier(self, opcode: Opcode, operands: Sequence[str]) -> None:
        found = barrier_of(self.statement, self.place, self.threads)
        if found is None:
            # As it is written: the barrier and the threads are among the operands.
            text = str(self.statement).removeprefix(f"@{self.statement.guard} ")
            reason = f"'{text}' is not executed: only barrier 0 of all threads is"
            raise LaunchError(reason, self.place)
        self.fence(found)

    # Matrices

    def matrix(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """Results that are not known; the rows of matrices in shared memory are accessed."""
        if opcode.head in ("ldmatrix", "stmatrix"):
            self.rows(opcode, operands)
        elif opcode.operation not in MATRICES:
            self.refuse("which lane accesses what is not modelled")
        for each in self.statement.defines:
            self.compute(constant(0, 64), (), self.register(each))

    def rows(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """ldmatrix, stmatrix: 16 bytes at the addresses of eight lanes for each matrix."""
        stores = opcode.head == "stmatrix"
        address, registers = operands if stores else reversed(operands)
        if opcode.type != "b16" or self.space(address, opcode.spaces) is not MemorySpace.SHARED:
            self.refuse("only rows of b16 in shared memory are modelled")
        kind = MemoryAccessKind.STORE if stores else MemoryAccessKind.LOAD
        number = self.counted(
            MemoryInstruction(opcode.name, None, kind, MemorySpace.SHARED, 16, None, self.place)
        )
        lane, count = self.fresh(), 8 * len(elements(registers))
        self.block.steps.append(Special(lane, LaneValue.LANE))
        where = self.compute(function_of("setp.lt.u32"), (lane, self.constant(count, 32)))
        zero = self.constant(0, 64)
        data = (self.compute(joined([64, 64]), (zero, zero)),) if stores else ()
        register, offset = self.address(address)
        result = None if stores else self.fresh()
        self.block.steps.append(MemoryStep(number, register, offset, data, result, where=where))

    def tensor(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """wgmma and tcgen05, whose asynchronous operations are complete at once."""
        if opcode.operation == "tcgen05 commit":
            if "multicast::cluster" in opcode.words:
                self.refuse(NO_CLUSTERS)
            data = (self.constant(1, 64), self.constant(0, 64))
            self.mbarrier_step(operands[0], MemoryAccessKind.ATOMIC, data, None, mbarrier.arrive)
        elif opcode.operation == "tcgen05 alloc":
            found = MemoryInstruction(
                opcode.name, None, MemoryAccessKind.STORE, MemorySpace.SHARED, 4, None, self.place
            )
            register, offset = self.address(operands[0])
            data = (self.constant(0, 64),)
            self.block.steps.append(MemoryStep(self.counted(found), register, offset, data, None))
        elif opcode.operation in MATRICES:
            self.matrix(opcode, operands)
        else:
            self.nothing(opcode, operands)

    # Copies

    def copy(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """cp.async and its companions."""
        row = opcode.known
        handler = _COPIES.get("" if row is None else row.name)
        if handler is None or "multicast::cluster" in opcode.words:
            self.refuse("tensor maps and clusters are not modelled")
        handler(self, opcode, operands)

    def nothing(self, opcode: Opcode, operands: Sequence[str]) -> None:
        self.fence(marker(self.statement, self.place))

    def pause(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """Does nothing, for instructions without a value, as nanosleep: no time passes here."""

    def policy(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """createpolicy: a hint, which is only handed to accesses."""
        self.compute(constant(0, 64), (), self.register(operands[0]))

    def wait(self, opcode: Opcode, operands: Sequence[str]) -> None:
        self.fence(wait_for_copies(self.statement, self.place))

    def copy_async(self, opcode: Opcode, operands: Sequence[str]) -> None:
        target, source, size, *given = operands
        if len(given) > ("L2::cache_hint" in opcode.words) and number(given[0]) != number(size):
            self.refuse("it may copy fewer bytes than it writes")
        self.copy_bytes(target, source, async_copy(opcode, self.number(size), self.place))

    def copy_bulk(self, opcode: Opcode, operands: Sequence[str]) -> None:
        target, source, size, *barrier = operands
        outwards = opcode.spaces == (AddressSpace.GLOBAL, AddressSpace.LOCAL)
        if not outwards and (opcode.spaces not in _INWARDS or not barrier):
            self.refuse("tensor maps and clusters are not modelled")
        bytes_ = self.value(size, 64)
        self.copy_bytes(target, source, bulk_copy(opcode, self.place, outwards=outwards), bytes_)
        if not outwards:
            data = (bytes_,)
            self.mbarrier_step(barrier[0], MemoryAccessKind.ATOMIC, data, None, mbarrier.complete)

    def copy_bytes(
        self, target: str, source: str, found: MemoryInstruction, size: Register | None = None
    ) -> None:
        """A copy between global and shared memory."""
        outwards = found.kind is MemoryAccessKind.STORE
        self.buffers |= self.pointers.of(target if outwards else source)
        ends = self.moved(target), self.moved(source)
        self.block.steps.append(CopyStep(self.counted(found), *ends, size))

    def number(self, operand: str) -> int:
        """A number that is written out."""
        value = number(operand)
        return self.refuse_operand(operand) if value is None else value

    # mbarriers

    def arrive_for_copies(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """cp.async.mbarrier.arrive: without .noinc it adds the arrival that it then takes away."""
        count = self.constant(1 if "noinc" in opcode.words else 0, 64)
        data = count, self.constant(0, 64)
        self.mbarrier_step(operands[0], MemoryAccessKind.ATOMIC, data, None, mbarrier.arrive)

    def mbarrier(self, opcode: Opcode, operands: Sequence[str]) -> None:
        if AddressSpace.SHARED_CLUSTER in opcode.spaces:
            self.refuse(NO_CLUSTERS)
        row = opcode.known
        handler = _MBARRIERS.get("" if row is None else row.words[1])
        if handler is None:
            self.refuse("its counts are not modelled")
        handler(self, opcode, operands)

    def init(self, opcode: Opcode, operands: Sequence[str]) -> None:
        count = self.value(operands[1], 64)
        word = self.compute(mbarrier.initial, (count,))
        self.mbarrier_step(operands[0], MemoryAccessKind.STORE, (word,), None)

    def invalidate(self, opcode: Opcode, operands: Sequence[str]) -> None:
        word = self.constant(0, 64)
        self.mbarrier_step(operands[0], MemoryAccessKind.STORE, (word,), None)

    def expect(self, opcode: Opcode, operands: Sequence[str]) -> None:
        self.transfer(operands, mbarrier.expect)

    def complete(self, opcode: Opcode, operands: Sequence[str]) -> None:
        self.transfer(operands, mbarrier.complete)

    def transfer(self, operands: Sequence[str], update: Callable[..., Values]) -> None:
        """Bytes that are to come, or have come."""
        data = (self.value(operands[1], 64),)
        self.mbarrier_step(operands[0], MemoryAccessKind.ATOMIC, data, None, update)

    def arrive(self, opcode: Opcode, operands: Sequence[str]) -> None:
        to, address, *carried = operands
        given = self.value(carried[0], 64) if carried else self.constant(1, 64)
        data = (given, self.constant(0, 64))
        if "expect_tx" in opcode.words:
            data = (self.constant(1, 64), given)
        update = mbarrier.arrive_drop if "arrive_drop" in opcode.words else mbarrier.arrive
        result = self.result(to)
        word = None if result is None else self.fresh()
        self.mbarrier_step(address, MemoryAccessKind.ATOMIC, data, word, update)
        if result is not None and word is not None:
            self.compute(mbarrier.token, (word,), result)

    def test(self, opcode: Opcode, operands: Sequence[str]) -> None:
        to, address, phase, *_ = operands
        word = self.fresh()
        self.mbarrier_step(address, MemoryAccessKind.LOAD, (), word)
        self.compute(mbarrier.is_over, (word, self.value(phase, 32)), self.register(to))

    def mbarrier_step(
        self,
        address: str,
        kind: MemoryAccessKind,
        data: tuple[Register, ...],
        result: Register | None,
        update: Callable[..., Values] | None = None,
    ) -> None:
        name = self.statement.opcode.name
        found = MemoryInstruction(name, None, kind, MemorySpace.SHARED, 8, None, self.place)
        register, offset = self.address(address)
        step = MemoryStep(self.counted(found), register, offset, data, result, update)
        self.block.steps.append(step)


class _Guards:
    """The key of a run of instructions under one guard, which none but the last of them changes."""

    def __init__(self) -> None:
        self.key = ""
        self.run = 0
        self.changed = False

    def __call__(self, instruction: PtxInstruction) -> str:
        statement = instruction.statement
        if self.changed:
            self.run += 1
        name = statement.guard.removeprefix("!")
        self.changed = bool(name) and name in statement.defines
        return f"{self.run} {statement.guard}" if statement.guard else ""


_RET = read_opcode("ret")
_ENDS = frozenset({"bra", "brx", "ret", "exit", "trap"})
"""The instructions that end a block."""

_NOT_EXECUTED: Mapping[str, str] = MappingProxyType(
    {
        "mapa": NO_CLUSTERS,
        "tensormap": "tensor maps are not modelled",
        "call": "calls are not modelled",
        "brx": "tables of targets are not modelled",
        "trap": "a kernel that is given up is not modelled",
    }
)
"""Instructions that are refused, and why."""

_OPERANDS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        **dict.fromkeys(("mov", "cvta"), (2, 2)),
        **dict.fromkeys(("ld", "ldu", "st", "red"), (2, 3)),
        "atom": (3, 5),
        **dict.fromkeys(("cp async", "cp async bulk"), (3, 5)),
        **dict.fromkeys(("mbarrier init", "mbarrier expect_tx", "mbarrier complete_tx"), (2, 2)),
        **dict.fromkeys(ARRIVALS, (2, 3)),
        **dict.fromkeys(MBARRIER_WAITS, (3, 4)),
    }
)
"""The least and most operands of instructions that compute nothing: some have a hint, or a
count."""

_INWARDS = (
    (AddressSpace.LOCAL, AddressSpace.GLOBAL),
    (AddressSpace.SHARED_CLUSTER, AddressSpace.GLOBAL),
)
_OF_VARIABLES: Mapping[str, MemorySpace] = MappingProxyType(
    {
        "global": MemorySpace.GLOBAL,
        "const": MemorySpace.GLOBAL,
        "shared": MemorySpace.SHARED,
        "local": MemorySpace.PRIVATE,
    }
)


# Kernels


def _aligned(at: int, alignment: int) -> int:
    return -(-at // max(alignment, 1)) * max(alignment, 1)


def _parameters(
    parameters: Sequence[PtxParameter], buffers: Container[str]
) -> tuple[KernelParameter, ...]:
    found: list[KernelParameter] = []
    at = 0
    for n, each in enumerate(parameters):
        element = element_of(each.type)
        assert element is not None, each.type
        bits = element[1] * element[2] * (1 if each.size is None else each.size)
        at = _aligned(at, bits // 8)
        is_buffer = each.name in buffers and bits == WORD
        is_integer = element[0] in ("u", "s")
        found.append(KernelParameter(f"argument {n}", bits, is_buffer, at, is_integer=is_integer))
        at += bits // 8
    return tuple(found)


def _layout(
    function: PtxFunction, variables: Mapping[str, PtxVariable]
) -> tuple[dict[str, int], dict[str, int]]:
    """The addresses of the variables that a function uses, and the bytes of each state space.

    Those as large as the launch says are last.
    """
    used = {
        name
        for each in function.instructions
        for operand in each.statement.operands
        for name in names_in(operand)
    }
    sizes = {"shared": 0, "local": 0}
    found: dict[str, int] = {}
    own = [each for each in variables.values() if each.name in used and each.space in sizes]
    for each in sorted(own, key=lambda each: not each.size):
        at = found[each.name] = _aligned(sizes[each.space], each.alignment)
        sizes[each.space] = at + (each.size or 0)
    return found, sizes


def _chosen_first(block: PtxBlock) -> tuple[int, ...]:
    """The blocks that may follow, that of lanes whose predicate holds first."""
    if block.instructions and block.instructions[-1].statement.guard.startswith("!"):
        return block.successors[::-1]
    return block.successors


def _initial(variable: PtxVariable) -> bytes | None:
    """The bytes of a variable; None if they are not known. Source: PTX ISA, Initializers."""
    element, size = element_of(variable.type), variable.size
    if element is None or size is None:
        return None
    bits = element[1] * element[2]
    found = bytearray()
    for each in elements(variable.initial) if variable.initial else ():
        value = literal(each, variable.type)
        if value is None:
            return None
        found += (value & (1 << bits) - 1).to_bytes(bits // 8, "little")
    return bytes(found.ljust(size, b"\0"))


def _width(type: str) -> int:
    """The bits of a type that an instruction takes."""
    element = element_of(type)
    assert element is not None, type
    return element[1] * element[2]


def _copy(value: Values) -> Values:
    return value


def _folded(blocks: Sequence[_Open]) -> tuple[LaneBlock, ...]:
    """The blocks that control reaches; one that only copies registers is moves of jumps to it."""
    folded = [
        Jump(each.end.block, moves)
        if isinstance(each.end, Jump) and (moves := _moves(each.steps)) is not None
        else None
        for each in blocks
    ]

    def through(jump: Jump) -> Jump:
        # A loop of nothing but copies never ends, and stays as it is.
        passed = {jump.block}
        while (further := folded[jump.block]) is not None and further.block not in passed:
            passed.add(further.block)
            jump = Jump(further.block, _composed(jump.moves, further.moves))
        return jump

    ends = [with_jumps(each.end, through) for each in blocks]
    kept = sorted(postorder([0], lambda n: [each.block for each in jumps_of(ends[n])]))
    number_of = {block: n for n, block in enumerate(kept)}
    return tuple(
        LaneBlock(
            tuple(blocks[n].steps),
            with_jumps(ends[n], lambda jump: Jump(number_of[jump.block], jump.moves)),
        )
        for n in kept
    )


def _moves(steps: Iterable[Step]) -> tuple[tuple[Register, Register], ...] | None:
    """Copies of registers one after another as moves all at once; None if there is anything
    else."""
    moves: tuple[tuple[Register, Register], ...] = ()
    for step in steps:
        if not isinstance(step, Compute) or step.compute is not _copy:
            return None
        moves = _composed(moves, ((step.result, step.operands[0]),))
    return moves


def _composed(
    first: Iterable[tuple[Register, Register]], then: Iterable[tuple[Register, Register]]
) -> tuple[tuple[Register, Register], ...]:
    """Moves, and others after them, as moves all at once."""
    before = dict(first)
    return tuple({**before, **{to: before.get(of, of) for to, of in then}}.items())


_GROUPS = (LaneValue.GROUP_X, LaneValue.GROUP_Y, LaneValue.GROUP_Z)
_GRIDS = (LaneValue.GRID_X, LaneValue.GRID_Y, LaneValue.GRID_Z)
_SPECIAL: Mapping[str, LaneValue | int] = MappingProxyType(
    {
        f"%{name}.{axis.value[-1]}": axis
        for name, axes in (
            ("tid", (LaneValue.THREAD_X, LaneValue.THREAD_Y, LaneValue.THREAD_Z)),
            ("ctaid", _GROUPS),
            ("ntid", (LaneValue.BLOCK_X, LaneValue.BLOCK_Y, LaneValue.BLOCK_Z)),
            ("nctaid", _GRIDS),
        )
        for axis in axes
    }
    | {"%laneid": LaneValue.LANE, "WARP_SZ": LANES}
    # Each CTA is a cluster of its own.
    | {f"%clusterid.{axis.value[-1]}": axis for axis in _GROUPS}
    | {f"%nclusterid.{axis.value[-1]}": axis for axis in _GRIDS}
    | {f"%cluster_ctaid.{axis}": 0 for axis in "xyz"}
    | {f"%cluster_nctaid.{axis}": 1 for axis in "xyz"}
    | {"%cluster_ctarank": 0, "%cluster_nctarank": 1, "%is_explicit_cluster": 0, "%gridid": 0}
    | dict.fromkeys(LANE_MASKS, LaneValue.LANE)
    | dict.fromkeys(("%clock", "%clock64", "%globaltimer", "%globaltimer_lo"), LaneValue.CLOCK)
    # Nothing gives a kernel parameters beside its own: it is no cooperative launch.
    | {f"%envreg{n}": 0 for n in range(32)}
)
"""Special registers: a property of a lane, or a number. Source: PTX ISA, Special Registers."""

_Handler: TypeAlias = Callable[[_Kernel, Opcode, Sequence[str]], None]

_HANDLERS: Mapping[str, _Handler] = MappingProxyType(
    {
        "mov": _Kernel.move,
        "cvta": _Kernel.convert_address,
        "ld": _Kernel.load,
        "ldu": _Kernel.load,
        "st": _Kernel.store,
        "atom": _Kernel.atomic,
        "red": _Kernel.reduce,
        "fence": _Kernel.order,
        "membar": _Kernel.order,
        "bar": _Kernel.barrier,
        "barrier": _Kernel.barrier,
        "cp": _Kernel.copy,
        "mbarrier": _Kernel.mbarrier,
        # No kernel runs before this one or after it.
        "griddepcontrol": _Kernel.nothing,
        **dict.fromkeys(
            ("nanosleep", "prefetch", "prefetchu", "applypriority", "setmaxnreg"), _Kernel.pause
        ),
        "createpolicy": _Kernel.policy,
        **dict.fromkeys(("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix"), _Kernel.matrix),
        **dict.fromkeys(("wgmma", "tcgen05"), _Kernel.tensor),
    }
)

_COPIES: Mapping[str, _Handler] = MappingProxyType(
    {
        "cp async": _Kernel.copy_async,
        "cp async commit_group": _Kernel.nothing,
        "cp async wait_group": _Kernel.wait,
        "cp async wait_all": _Kernel.wait,
        "cp async mbarrier arrive": _Kernel.arrive_for_copies,
        "cp async bulk": _Kernel.copy_bulk,
        "cp async bulk commit_group": _Kernel.nothing,
        "cp async bulk wait_group": _Kernel.wait,
    }
)

_MBARRIERS: Mapping[str, _Handler] = MappingProxyType(
    {
        "init": _Kernel.init,
        "inval": _Kernel.invalidate,
        "expect_tx": _Kernel.expect,
        "complete_tx": _Kernel.complete,
        "arrive": _Kernel.arrive,
        "arrive_drop": _Kernel.arrive,
        "test_wait": _Kernel.test,
        "try_wait": _Kernel.test,
    }
)
