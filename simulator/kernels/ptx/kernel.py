"""Kernels of PTX files, of any compiler, as their lanes run them.

Asynchronous copies are complete at once; called functions are in the place of their calls. What
cannot be executed is refused at its line. Results of matrix operations are not known: see
``unknowns``.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import prod
from types import MappingProxyType
from typing import NoReturn, TypeAlias

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import postorder
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.calls import call_of, inlined
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
from fencewright.simulator.execution.launch import BASE, LOCAL, VARIABLES, LaunchError
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
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
    MemoryStep,
    Register,
    Special,
    Step,
    Stop,
    TensorStep,
    Values,
    jumps_of,
    with_jumps,
)
from fencewright.simulator.execution.values import WORD, constant
from fencewright.simulator.execution.vectorised import function_of as of_formula
from fencewright.simulator.execution.vectorised import vectorised
from fencewright.simulator.kernels.calls import executed_callee
from fencewright.simulator.kernels.ptx.functions import (
    compiled,
    cross_lane_function_of,
    filling,
    function_of,
    update_of,
)
from fencewright.simulator.kernels.ptx.instructions import (
    ACQUIRES,
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
from fencewright.simulator.performance.policies import ptx_policy
from fencewright.simulator.semantics import lanes, mbarriers
from fencewright.simulator.semantics.elements import joined, part_of
from fencewright.simulator.semantics.faults import MOST_CLUSTER
from fencewright.simulator.semantics.formulas import CARRY, WITHOUT_EFFECT, formula_of, moving
from fencewright.simulator.semantics.operands import (
    DERIVED,
    LANE,
    SPECIAL,
    LaneValue,
    barrier_operands,
    copy_operands,
    elements,
    initial,
    literal,
    multicast_mask,
    offsets_of,
    terms_of,
)
from fencewright.simulator.semantics.tensors import (
    BYTES,
    ELEMENTS,
    OTHER_BOXES,
    field_place,
)
from fencewright.simulator.semantics.term import operand

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

    whole = inlined(file, function, executed_callee(file.functions, file.file))
    kernel = _Kernel(file, whole, places or in_file)
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
        self.passed: dict[tuple[str, int, int], Register] = {}
        """By the name of a parameter of calls, the first bit and how many, its parts."""
        self.instructions: list[CountedInstruction] = []
        self.blocks = [_Open() for _ in function.blocks]
        self.block = self.blocks[0]
        self.first: list[Step] = []
        self.threads = None if function.threads is None else prod(function.threads)
        self.has_ranks = any(map(_is_of_cluster, function.instructions))
        self.base: Register | None = None
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
        given = zip(function.parameters, _parameters(function.parameters, ()), strict=True)
        self.offsets = {each.name: found.offset for each, found in given}

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
            cluster=self.function.cluster,
            has_ranks=self.has_ranks,
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
        """The block after one that does not jump; the end of the text ends a lane."""
        return Jump(block.successors[-1]) if block.successors else EndLane()

    def branch(self, guard: str, yes: Jump, no: Jump) -> LaneBranch:
        """To ``yes`` where the guard holds."""
        if guard.startswith("!"):
            yes, no = no, yes
        return LaneBranch(self.register(guard.removeprefix("!")), yes, no, self.place)

    def end(self, statement: Statement, block: PtxBlock) -> None:
        """The last instruction of a block, which goes elsewhere or ends the lane."""
        head = statement.opcode.head
        if head == "brx":
            self.chosen(statement, block)
            return
        stops = [Stop("the kernel is given up: a trap", self.place)] if head == "trap" else []
        if not statement.guard:
            self.block.steps += stops
            self.block.end = Jump(block.successors[0]) if head == "bra" else EndLane()
            return
        target = Jump(block.successors[0] if head == "bra" else self.begin())
        self.blocks[target.block].steps += stops
        other = self.following(block)
        if isinstance(other, EndLane):
            other = Jump(self.begin())
        self.block.end = self.branch(statement.guard, target, other)

    def chosen(self, statement: Statement, block: PtxBlock) -> None:
        """brx: the block of a table that a register chooses."""
        if statement.guard:
            self.refuse("under a guard it has no row")
        index = self.value(statement.operands[0], 32)
        for place, target in enumerate(block.table):
            equal = function_of("setp.eq.u32")
            condition = self.compute(equal, (index, self.constant(place, 32)))
            other = self.begin()
            self.block.end = LaneBranch(condition, Jump(target), Jump(other), self.place)
            self.block = self.blocks[other]
        self.block.steps.append(Stop("a jump beyond its table", self.place))

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
        if operand in SPECIAL or operand in DERIVED:
            return self.special(operand, self.fresh())
        known = self.literal(operand, bits)
        return self.refuse_operand(operand) if known is None else known

    def literal(self, operand: str, bits: int) -> Register | None:
        """A register with a number or with the address of a variable."""
        known = literal(operand, f"b{bits}")
        if known is None:
            names, offset = terms_of(operand)
            if len(names) != 1:
                return None
            (name,) = names
            if name in self.offsets:
                return self.of_parameter(name, offset)
            if name not in self.variables:
                return None
            known = self.address_of(name) + offset
            if self.is_ranked(name):
                return self.ranked(known)
        return self.constant(known, bits)

    def of_parameter(self, name: str, offset: int) -> Register:
        """The address of a parameter."""
        first = self.fresh()
        self.block.steps.append(Special(first, LaneValue.ARGUMENTS))
        further = self.constant(self.offsets[name] + offset, 64)
        return self.compute(function_of("add.s64"), (first, further))

    def is_ranked(self, name: str) -> bool:
        """True of a variable whose address has the rank of its CTA."""
        return self.has_ranks and self.variables[name].space == "shared"

    def ranked(self, offset: int) -> Register:
        """An address in the shared memory of the own CTA."""
        if self.base is None:
            rank, self.base = self.fresh(), self.fresh()
            self.first.append(Special(rank, LaneValue.RANK))
            zero = self.constant(0, 32)
            self.first.append(Compute(self.base, (zero, rank), _MAPPED, "mapa"))
        return self.compute(function_of("add.s64"), (self.base, self.constant(offset, 64)))

    def address_of(self, name: str) -> int:
        """The address of a variable in its state space."""
        if name not in self.addresses:
            variable, number = self.variables.get(name), len(self.globals)
            if variable is None or variable.space not in ("global", "const") or not variable.size:
                self.refuse_operand(name)
            # It has its place first, as another one that it points to may point to it.
            found = GlobalVariable(name, VARIABLES + number * BASE, bytes(variable.size))
            self.globals.append(found)
            self.addresses[name] = found.address
            if (data := initial(variable, self.address_of)) is None:
                self.refuse_operand(name)
            whole = data.ljust(variable.size, b"\0")
            self.globals[number] = replace(found, initial=whole)
        return self.addresses[name]

    def special(self, name: str, result: Register) -> Register:
        """A special register in one of the kernel's."""
        if (derived := DERIVED.get(name)) is not None:
            compute, sources = derived
            found = [self.special(each, self.fresh()) for each in sources]
            widths = tuple([5 if each == LANE else 32 for each in sources])
            return self.compute(of_formula(compute, widths), found, result)
        value = SPECIAL[name]
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
        if name in self.variables and self.is_ranked(name):
            return self.ranked(self.address_of(name) + offset), 0
        if name in self.variables:
            return self.constant(self.address_of(name) + offset, 64), 0
        if name in self.offsets:
            return self.of_parameter(name, offset), 0
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
        space = SPACES[named[0]] if named else self.generic_space(bases)
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
        handler = _HANDLERS.get(opcode.head, _Kernel.arithmetic)
        self.check_operands(opcode, len(self.statement.operands))
        try:
            handler(self, opcode, self.statement.operands)
        except UnsupportedError as error:
            raise LaunchError(str(error), self.place) from None

    def check_operands(self, opcode: Opcode, count: int) -> None:
        """Refuse an instruction with too few or too many operands."""
        formula = formula_of(opcode)
        of_lanes = lanes.row_of(opcode)
        given = of_lanes and of_lanes.operands if formula is None else len(formula.types)
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
        targets, given = elements(to), elements(source)
        if source in SPECIAL or source in DERIVED:
            self.special(source, self.register(to))
            return
        if len(targets) == len(given) == 1:
            self.copied(source, opcode.width, to)
            return
        formula = moving(opcode, len(targets), len(given))
        widths = tuple(map(_width, formula.types))
        sources = list(map(self.value, given, widths))
        found = formula.compute([operand(at, width) for at, width in enumerate(widths)], 0)
        for each, term in zip(targets, found, strict=True):
            if each != "_":
                self.compute(vectorised(term, range(len(widths))), sources, self.register(each))

    def copied(self, source: str, bits: int, to: str) -> None:
        """A register as another one; a number is one that all lanes have from the beginning."""
        value = literal(source, f"b{bits}")
        if value is not None and self.written[to] == 1:
            self.compute(constant(value, bits), (), self.register(to))
        else:
            self.compute(_copy, (self.value(source, bits),), self.register(to))

    def convert_address(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """cvta: but for local memory, each space has the addresses that it has as generic ones."""
        to, source = operands
        if "local" not in opcode.words:
            self.copied(source, 64, to)
            return
        given = self.value(source, 64), self.constant(LOCAL, 64)
        name = "sub.s64" if "to" in opcode.words else "add.s64"
        self.compute(function_of(name), given, self.register(to))

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
                self.element(opcode, each, _nth(opcode, n), whole)

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
        if name in names:
            self.of_kernel(opcode, results, names.index(name), offset)
        elif self.function.type_of(name) is None:
            for n, each in enumerate(results):
                begin = 8 * offset + n * opcode.width
                first, bits, part = self.part_of(name, begin, opcode.width)
                of = of_formula(part_of, (bits,), begin - first, opcode.width)
                self.element(opcode, each, of, part)
        else:
            self.of_address(opcode, results, address)

    def part_of(self, name: str, begin: int, size: int) -> tuple[int, int, Register]:
        """The part of a parameter that some bits lie in: its begin, its bits, its register."""
        for (of, first, bits), part in self.passed.items():
            if of == name and first <= begin and begin + size <= first + bits:
                return first, bits, part
        self.refuse("this part of a parameter is not read as it is written")

    def of_address(self, opcode: Opcode, results: Sequence[str], address: str) -> None:
        """A part of a parameter whose address is computed."""
        size = opcode.width * opcode.vector // 8
        found = MemoryInstruction(
            opcode.name, None, MemoryAccessKind.LOAD, MemorySpace.GLOBAL, size, None, self.place
        )
        register, offset = self.address(address)
        whole = self.fresh()
        step = MemoryStep(self.counted(found), register, offset, (), whole)
        self.block.steps.append(step)
        for n, each in enumerate(results):
            self.element(opcode, each, _nth(opcode, n), whole)

    def of_kernel(self, opcode: Opcode, results: Sequence[str], number: int, offset: int) -> None:
        """A parameter of the kernel, or a part of it."""
        for n, each in enumerate(results):
            first = 8 * offset + n * opcode.width
            if opcode.width <= WORD and not self.extends(opcode, each):
                pieces = [self.register(each)]
            else:
                pieces = [self.fresh() for _ in range(0, opcode.width, WORD)]
            for at, register in enumerate(pieces):
                size = min(WORD, opcode.width)
                step = Argument(register, number, first + WORD * at, size)
                self.block.steps.append(step)
            if pieces != [self.register(each)]:
                whole = of_formula(joined, (WORD,) * len(pieces), min(WORD, opcode.width))
                self.element(opcode, each, whole, *pieces)

    def store(self, opcode: Opcode, operands: Sequence[str]) -> None:
        if not opcode.width:
            self.refuse("stores without a type are not modelled")
        address, data, *_ = operands
        given = elements(data)
        self.check_vector(opcode, len(given))
        if opcode.of_parameters:
            self.hand_over(opcode, address, given)
            return
        if "async" in opcode.words:
            self.signal_bytes(opcode, operands)
        sources = [self.value(each, opcode.width) for each in given]
        if len(sources) > 1:
            whole = of_formula(joined, (WORD,) * len(sources), opcode.width)
            sources = [self.compute(whole, sources)]
        self.access(opcode, address, sources, None)

    def hand_over(self, opcode: Opcode, address: str, given: Sequence[str]) -> None:
        """st.param: parts of a parameter, or of the result, of a call."""
        of, offset = terms_of(address)
        for n, each in enumerate(given):
            name, begin, size = "".join(of), 8 * offset + n * opcode.width, opcode.width
            key = name, begin, size
            meets = (each for each in self.passed if each[0] == name and each != key)
            if any(first < begin + size and begin < first + bits for _, first, bits in meets):
                self.refuse("a part of a parameter is written in two sizes")
            if origin := self.unknowns.of(each):
                self.refuse(f"it passes the result of {origin} to a call")
            part = self.passed.setdefault(key, self.fresh())
            self.compute(_copy, (self.value(each, opcode.width),), part)

    def call(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """A call of a function that is not in the file: what prints gives 0."""
        call = call_of(self.statement)
        if call.name == "__assertfail":
            self.block.steps.append(Stop("an assertion fails", self.place))
        elif call.name not in ("vprintf", "puts"):
            name = call.name or "what a register points to"
            self.refuse(f"{name} has no body here")
        for each in call.returned:
            part = self.passed.setdefault((each, 0, 32), self.fresh())
            self.compute(constant(0, 32), (), part)

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
        if "async" in opcode.words:
            self.signal_bytes(opcode, operands)

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
        space = self.space(address, opcode.spaces)
        found = memory_instruction(opcode, space, self.place)
        is_global, ordering, name = space is MemorySpace.GLOBAL, opcode.ordering, opcode.name
        if is_global and ordering in RELEASES:
            self.fence(ordering_of(opcode, name, self.place, releases=True, acquires=False))
        update = None
        if found.kind in (MemoryAccessKind.ATOMIC, MemoryAccessKind.REDUCTION):
            update = update_of(opcode)
        register, offset = self.address(address)
        if space is MemorySpace.PRIVATE and not opcode.spaces:
            # A variable that is moved has its own address, another one the generic one.
            place = self.constant(LOCAL - 1, 64)
            register = self.compute(function_of("and.b64"), (register, place))
        step = MemoryStep(self.counted(found), register, offset, tuple(data), result, update)
        self.block.steps.append(step)
        if is_global and ordering in ACQUIRES:
            self.fence(ordering_of(opcode, name, self.place, releases=False, acquires=True))

    def order(self, opcode: Opcode, operands: Sequence[str]) -> None:
        self.fence(fence_of(self.statement, self.place))

    def barrier(self, opcode: Opcode, operands: Sequence[str]) -> None:
        found = barrier_of(self.statement, self.place)
        if found is None:
            self.refuse("it is not modelled")
        if "red" in opcode.words:
            self.vote(opcode, found, operands)
            return
        if found.of_cluster or not found.scope:
            self.fence(found)
            return
        given = barrier_operands(opcode, operands)
        is_plain = number(given.barrier) == 0 and not found.arrives
        if is_plain and (not given.threads or number(given.threads) == self.threads):
            self.fence(found)
            return
        registers = [self.value(each, 32) for each in given.meeting]
        self.block.steps.append(FenceStep(self.counted(found), *registers))

    def vote(self, opcode: Opcode, found: FenceInstruction, operands: Sequence[str]) -> None:
        """A barrier that gives each thread a fold of the predicates of all."""
        given = barrier_operands(opcode, operands)
        registers = [self.value(each, 32) for each in given.meeting]
        vote = self.value(given.predicate, 1)
        self.block.steps.append(FenceStep(self.counted(found), *registers, vote=vote))
        counts = [(self.fresh(), each) for each in (LaneValue.VOTES, LaneValue.VOTERS)]
        self.block.steps += [Special(*each) for each in counts]
        fold = of_formula(lanes.BARRIER_FOLDS[given.fold], (32, 32))
        self.compute(fold, [each for each, _ in counts], self.register(given.result))

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
        data = (
            (self.compute(of_formula(joined, (WORD, WORD), WORD), (zero, zero)),) if stores else ()
        )
        register, offset = self.address(address)
        result = None if stores else self.fresh()
        self.block.steps.append(MemoryStep(number, register, offset, data, result, where=where))

    def tensor(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """wgmma and tcgen05, whose asynchronous operations are complete at once."""
        if opcode.operation == "tcgen05 commit":
            data = (self.constant(1, 64), self.constant(0, 64))
            for where in self.copies(multicast_mask(opcode, operands[1:])):
                self.signal(operands[0], where, data, _ARRIVE)
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
        if handler is None or "cp_mask" in opcode.words:
            self.refuse("it is not modelled")
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
        given, taken = copy_operands(opcode, operands), None
        if given.taken and number(given.taken) != number(given.size):
            taken = self.value(given.taken, 32)
            if self.function.type_of(given.taken.lstrip("!")) == "pred":
                zero, whole = self.constant(0, 32), self.value(given.size, 32)
                taken = self.compute(function_of("selp.b32"), (zero, whole, taken))
        found = async_copy(opcode, self.number(given.size), self.place)
        self.copy_bytes(given.target, given.source, found, taken=taken)

    def copy_bulk(self, opcode: Opcode, operands: Sequence[str]) -> None:
        given = copy_operands(opcode, operands)
        target, source = given.target, given.source
        found = bulk_copy(opcode, self.place)
        bytes_ = self.value(given.size, 64)
        if opcode.update and found.kind is not MemoryAccessKind.REDUCTION:
            self.refuse("updates of shared memory are not modelled")
        if opcode.update:
            self.copy_bytes(
                target, source, found, bytes_, update=update_of(opcode), element=opcode.width // 8
            )
            return
        for n, where in enumerate(self.copies(given.mask)):
            self.copy_bytes(target, source, found, bytes_, where=where, is_further=n > 0)
            if given.mbarrier:
                self.signal(given.mbarrier, where, (bytes_,), _COMPLETE)

    def signal_bytes(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """The bytes of st.async and red.async on an mbarrier."""
        if len(operands) < 3:
            self.refuse("without an mbarrier it is not modelled")
        size = self.constant(opcode.width * opcode.vector // 8, 64)
        self.signal(operands[2], None, (size,), _COMPLETE)

    def copies(self, given: str) -> Iterator["_Peer | None"]:
        """The destination CTAs of a copy or an arrival, by its mask; None: the named one."""
        if not given:
            yield None
            return
        mask = self.value(given, 16)
        for rank in range(MOST_CLUSTER):
            yield _Peer(rank, self.compute(of_formula(part_of, (16,), rank, 1), (mask,)))

    def at_peer(self, address: str, peer: "_Peer | None") -> Register:
        """An address, or the same place in the shared memory of another CTA."""
        register = self.moved(address)
        if peer is None:
            return register
        return self.compute(_MAPPED, (register, self.constant(peer.rank, 32)))

    def signal(
        self, address: str, peer: "_Peer | None", data: tuple[Register, ...],
        update: Callable[..., Values],
    ) -> None:  # fmt: skip
        """An operation on an mbarrier, of this CTA or of another one."""
        if peer is None:
            self.mbarrier_step(address, MemoryAccessKind.ATOMIC, data, None, update)
            return
        found = self.of_mbarrier(MemoryAccessKind.ATOMIC)
        place = self.at_peer(address, peer)
        step = MemoryStep(self.counted(found), place, 0, data, None, update, where=peer.is_meant)
        self.block.steps.append(step)

    def copy_bytes(
        self, target: str, source: str, found: MemoryInstruction, size: Register | None = None, *,
        taken: Register | None = None, where: "_Peer | None" = None, is_further: bool = False,
        update: Callable[..., Values] | None = None, element: int = 0,
    ) -> None:  # fmt: skip
        """A copy between global and shared memory."""
        outwards = found.kind in (MemoryAccessKind.STORE, MemoryAccessKind.REDUCTION)
        if found.space is MemorySpace.GLOBAL:
            self.buffers |= self.pointers.of(target if outwards else source)
        step = CopyStep(
            self.counted(found), self.at_peer(target, where), self.moved(source), size,
            None if where is None else where.is_meant, None, taken, update, element, is_further,
        )  # fmt: skip
        self.block.steps.append(step)

    def copy_tensor(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """cp.async.bulk.tensor and its reduction: a box by a tensor map."""
        if refused := [each for each in opcode.words if each.startswith(OTHER_BOXES)]:
            self.refuse(f".{refused[0]} is not modelled")
        found = bulk_copy(opcode, self.place)
        loads = found.kind is MemoryAccessKind.LOAD
        shared, (box, *others) = (
            (operands[0], operands[1:]) if loads else (operands[1], (operands[0], *operands[2:]))
        )
        map, places = box.strip("[]").split(",", 1)
        coordinates = tuple(self.value(each, 32) for each in elements(places.strip()))
        address, size = self.moved(f"[{map.strip()}]"), self.fresh()
        given = offsets_of(opcode, others, len(coordinates))
        offsets = None if given is None else tuple(self.value(each, 16) for each in given)
        for n, peer in enumerate(self.copies(multicast_mask(opcode, others[1:]))):
            self.block.steps.append(
                TensorStep(
                    self.counted(found), address, self.at_peer(shared, peer), coordinates,
                    offsets, size,
                    None if peer is None else peer.is_meant,
                    self.updates(opcode) if opcode.update else None, n > 0,
                )
            )  # fmt: skip
            if loads:
                self.signal(others[0], peer, (size,), _COMPLETE)

    def updates(self, opcode: Opcode) -> Mapping[int, Callable[..., Values]]:
        """The update of a reduction for each type of elements that has one."""
        found: dict[int, Callable[..., Values]] = {}
        for type, code in ELEMENTS.items():
            with suppress(UnsupportedError):
                found[code] = update_of(read_opcode(f"red.global.{opcode.update}.{type}"))
        return found

    def map(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """tensormap: a field of a map, or a map from shared to global memory."""
        if self.statement.operation == "tensormap replace":
            self.tensor_field(opcode, operands)
            return
        found = bulk_copy(opcode, self.place)
        self.copy_bytes(operands[0], operands[1], found, self.constant(BYTES, 64))
        self.fence(fence_of(self.statement, self.place))

    def tensor_field(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """tensormap.replace: a field of a map."""
        address, *ordinal, value = operands
        offset, size = field_place(opcode.words[3], self.number(ordinal[0]) if ordinal else 0)
        space = self.space(address, opcode.spaces)
        kind = MemoryAccessKind.STORE
        policy = None if space is MemorySpace.SHARED else ptx_policy(kind, opcode.words)
        found = MemoryInstruction(opcode.name, None, kind, space, size, policy, self.place)
        register, first = self.address(address)
        data = (self.value(value, 8 * size),)
        self.block.steps.append(
            MemoryStep(self.counted(found), register, first + offset, data, None)
        )

    def number(self, operand: str) -> int:
        """A number that is written out."""
        value = number(operand)
        return self.refuse_operand(operand) if value is None else value

    # mbarriers

    def arrive_for_copies(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """cp.async.mbarrier.arrive, with the arrivals that it adds before."""
        count = self.constant(1 - mbarriers.arrivals_added(opcode), 64)
        data = count, self.constant(0, 64)
        self.mbarrier_step(operands[0], MemoryAccessKind.ATOMIC, data, None, _ARRIVE)

    def mbarrier(self, opcode: Opcode, operands: Sequence[str]) -> None:
        row = opcode.known
        handler = _MBARRIERS.get("" if row is None else row.words[1])
        if handler is None:
            self.refuse("its counts are not modelled")
        handler(self, opcode, operands)

    def init(self, opcode: Opcode, operands: Sequence[str]) -> None:
        count = self.value(operands[1], 64)
        word = self.compute(of_formula(mbarriers.initial, (64,)), (count,))
        self.mbarrier_step(operands[0], MemoryAccessKind.STORE, (word,), None)

    def invalidate(self, opcode: Opcode, operands: Sequence[str]) -> None:
        word = self.constant(0, 64)
        self.mbarrier_step(operands[0], MemoryAccessKind.STORE, (word,), None)

    def expect(self, opcode: Opcode, operands: Sequence[str]) -> None:
        self.transfer(operands, _EXPECT)

    def complete(self, opcode: Opcode, operands: Sequence[str]) -> None:
        self.transfer(operands, _COMPLETE)

    def transfer(self, operands: Sequence[str], update: Callable[..., Values]) -> None:
        """Bytes that are to come, or have come."""
        data = (self.value(operands[1], 64),)
        self.mbarrier_step(operands[0], MemoryAccessKind.ATOMIC, data, None, update)

    def arrive(self, opcode: Opcode, operands: Sequence[str]) -> None:
        to, address, *carried = operands
        whole = mbarriers.arrival(opcode, carried[0] if carried else None)
        data = tuple([self.value(each, 64) for each in whole])
        update = _ARRIVE_DROP if "arrive_drop" in opcode.words else _ARRIVE
        result = self.result(to)
        word = None if result is None else self.fresh()
        self.mbarrier_step(address, MemoryAccessKind.ATOMIC, data, word, update)
        if result is not None and word is not None:
            self.compute(of_formula(mbarriers.token, (64,)), (word,), result)

    def test(self, opcode: Opcode, operands: Sequence[str]) -> None:
        to, address, phase, *_ = operands
        word = self.fresh()
        self.mbarrier_step(address, MemoryAccessKind.LOAD, (), word)
        over = of_formula(mbarriers.is_over, (64, 64))
        self.compute(over, (word, self.value(phase, 32)), self.register(to))

    def mbarrier_step(
        self,
        address: str,
        kind: MemoryAccessKind,
        data: tuple[Register, ...],
        result: Register | None,
        update: Callable[..., Values] | None = None,
    ) -> None:
        found = self.of_mbarrier(kind)
        register, offset = self.address(address)
        step = MemoryStep(self.counted(found), register, offset, data, result, update)
        self.block.steps.append(step)

    def of_mbarrier(self, kind: MemoryAccessKind) -> MemoryInstruction:
        """The access of an operation on an mbarrier."""
        name = self.statement.opcode.name
        return MemoryInstruction(name, None, kind, MemorySpace.SHARED, 8, None, self.place)

    # Clusters

    def is_in_space(self, opcode: Opcode, operands: Sequence[str]) -> None:
        """isspacep: the state space of a generic address."""
        to, source = operands
        is_there = self.generic_space(self.pointers.of(source)) is SPACES[opcode.spaces[0]]
        self.compute(constant(int(is_there), 1), (), self.register(to))


@dataclass(frozen=True, slots=True)
class _Peer:
    """A CTA of the cluster that may be meant: its rank, and a register that is 1 if it is."""

    rank: int
    is_meant: Register


_CLUSTER_NAMES = ("%cluster", "%ncluster", "%is_explicit_cluster")
_MAPPED = function_of("mapa.shared::cluster.u32")


def _nth(opcode: Opcode, number: int) -> Callable[..., Values]:
    """An element of a vector that a load gives as one value."""
    size = opcode.width
    return of_formula(part_of, (size * opcode.vector,), size * number, size)


def _is_of_cluster(instruction: PtxInstruction) -> bool:
    """True of instructions that address other CTAs of a cluster, or give the number of one."""
    statement = instruction.statement
    return (
        statement.opcode.head in ("mapa", "getctarank")
        or statement.operation in ("barrier cluster arrive", "barrier cluster wait")
        or "multicast::cluster" in statement.opcode.words
        or any(each.startswith(_CLUSTER_NAMES) for each in statement.operands)
    )


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


_ARRIVE = of_formula(mbarriers.arrive, (64, 64, 64))
_ARRIVE_DROP = of_formula(mbarriers.arrive_drop, (64, 64, 64))
_EXPECT = of_formula(mbarriers.expect, (64, 64))
_COMPLETE = of_formula(mbarriers.complete, (64, 64))
_RET = read_opcode("ret")
_ENDS = frozenset({"bra", "brx", "ret", "exit", "trap"})
"""The instructions that end a block."""

_OPERANDS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        **dict.fromkeys(("mov", "cvta"), (2, 2)),
        **dict.fromkeys(("ld", "ldu", "st", "red"), (2, 3)),
        "atom": (3, 5),
        "cp async": (3, 5),
        "cp async bulk": (3, 6),
        "cp reduce async bulk": (3, 4),
        **dict.fromkeys(("st async", "red async"), (3, 3)),
        "isspacep": (2, 2),
        **dict.fromkeys(("mbarrier init", "mbarrier expect_tx", "mbarrier complete_tx"), (2, 2)),
        **dict.fromkeys(ARRIVALS, (2, 3)),
        **dict.fromkeys(MBARRIER_WAITS, (3, 4)),
    }
)
"""The least and most operands of instructions that compute nothing: some have a hint, or a
count."""

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
        found.append(
            KernelParameter(
                f"argument {n}", bits, is_buffer, at, is_integer=is_integer,
                is_struct=each.size is not None,
            )
        )  # fmt: skip
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


_Handler: TypeAlias = Callable[[_Kernel, Opcode, Sequence[str]], None]

_HANDLERS: Mapping[str, _Handler] = MappingProxyType(
    {
        "mov": _Kernel.move,
        "cvta": _Kernel.convert_address,
        "ld": _Kernel.load,
        "ldu": _Kernel.load,
        "st": _Kernel.store,
        "call": _Kernel.call,
        "atom": _Kernel.atomic,
        "red": _Kernel.reduce,
        "fence": _Kernel.order,
        "membar": _Kernel.order,
        "bar": _Kernel.barrier,
        "barrier": _Kernel.barrier,
        "cp": _Kernel.copy,
        "tensormap": _Kernel.map,
        "mbarrier": _Kernel.mbarrier,
        "isspacep": _Kernel.is_in_space,
        # No kernel runs before this one or after it.
        "griddepcontrol": _Kernel.nothing,
        **dict.fromkeys(WITHOUT_EFFECT, _Kernel.pause),
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
        "cp reduce async bulk": _Kernel.copy_bulk,
        **dict.fromkeys(
            (
                "cp async bulk tensor",
                "cp async bulk tensor bulk_group",
                "cp reduce async bulk tensor",
            ),
            _Kernel.copy_tensor,
        ),
        **dict.fromkeys(
            ("cp async bulk prefetch", "cp async bulk prefetch tensor"), _Kernel.nothing
        ),
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
