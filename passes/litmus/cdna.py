"""Litmus tests of CDNA instructions as programs of the CDNA machine.

Each 32-bit register is one register of the simulator, called as in the assembly once registers
are allocated. A lane mask (one or two scalar registers) is one as well, 0 or 1: there is one lane.
Addresses are not computed: a forward analysis follows which registers hold the address of which
location, from the kernel's argument segment on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from xdsl.ir import Block, Operation, SSAValue

from fencewright.lowering.cdna.chips import DEFAULT_CHIP, KNOWN_CHIPS
from fencewright.lowering.cdna.instructions import (
    MEMORY_ROWS,
    Access,
    Counter,
    Kind,
    has_instruction,
    names_of,
)
from fencewright.lowering.cdna.kernel import argument_offsets
from fencewright.lowering.vocabulary import AddressSpace, RmwKind
from fencewright.lowering.vocabulary import Operation as FastStrEnum
from fencewright.mlir_dialects import cdna, litmus
from fencewright.passes.analysis.caches import modifiers_of
from fencewright.passes.analysis.control_flow import reachable_blocks
from fencewright.passes.litmus.programs import (
    Labels,
    Listing,
    ReadOptions,
    TestCode,
    ThreadCode,
    check_argument,
    location_of,
    number_of,
    place_of,
    register_of,
    unreadable,
)
from fencewright.simulator.cdna import instructions as machine
from fencewright.simulator.cdna.rows import DEFAULT_READINGS, CdnaConfiguration
from fencewright.simulator.cdna.rows import VectorAccessKind as Policy
from fencewright.simulator.core.program import (
    WORD_BITS,
    WORD_MASK,
    ArithmeticKind,
    Branch,
    Label,
    LitmusTest,
    Move,
    Operand,
    Placement,
    Program,
    ProgramError,
    Thread,
)
from fencewright.simulator.litmus_run import CdnaTest

_END = "end"
_SCALAR_LOADS = ("s_load_dword", "s_load_b32")
"""The scalar loads of one word."""

_CACHED = (AddressSpace.GENERIC, AddressSpace.GLOBAL)
_KINDS = MappingProxyType(
    {
        Kind.LOAD: Policy.LOAD,
        Kind.STORE: Policy.STORE,
        Kind.ATOMIC: Policy.ATOMIC,
        Kind.ATOMIC_RETURN: Policy.ATOMIC,
        Kind.ASYNC_LOAD: Policy.LOAD,
        Kind.ASYNC_STORE: Policy.STORE,
    }
)
"""The spaces and kinds of instructions that take cache policy bits."""


def read_cdna(code: TestCode, options: ReadOptions) -> CdnaTest:
    """The test; raises ``DiagnosticException`` at what the CDNA machine does not have."""
    configuration = _configuration(code, options)
    threads = tuple(
        _thread(each, place, configuration)
        for each, place in zip(code.threads, _placements(code, configuration), strict=True)
    )
    program = Program(code.locations, threads, code.observed, code.name)
    return CdnaTest(LitmusTest(program, code.condition), configuration)


def _thread(
    code: ThreadCode, place: Placement, configuration: CdnaConfiguration
) -> Thread[machine.CdnaInstruction]:
    reader = _CdnaReader(code, place, configuration)
    instructions = reader.read()
    return Thread(place, instructions, reader.listing.places)


def _configuration(code: TestCode, options: ReadOptions) -> CdnaConfiguration:
    kernels = [each.kernel for each in code.threads if isinstance(each.kernel, cdna.KernelOp)]
    modes = {(each.chip.data, each.tgsplit is not None) for each in kernels}
    if len(modes) > 1:
        unreadable(code.test, "the threads of a test run on one chip in one mode")
    chip, tgsplit = modes.pop() if modes else (options.chip or DEFAULT_CHIP, options.tgsplit)
    if chip not in KNOWN_CHIPS:
        known = ", ".join(KNOWN_CHIPS)
        unreadable(code.test, f"{chip} has no CDNA machine; those of {known} are simulated")
    readings = DEFAULT_READINGS if options.readings is None else options.readings
    configuration = CdnaConfiguration(chip, tgsplit, options.l2_per_agent, readings)
    try:
        configuration.access_effect(Policy.LOAD, ())
    except ProgramError as problem:
        unreadable(code.test, str(problem))
    return configuration


def _placements(code: TestCode, configuration: CdnaConfiguration) -> list[Placement]:
    """Where threads run; with one L2 per agent there are no XCDs, and their CUs are of one."""
    places = [each.thread.placement.resolve(each.number) for each in code.threads]
    if configuration.l2_per_agent != "one":
        return places
    cus = sorted({(each.xcd, each.cu) for each in places})
    return [
        Placement(each.workgroup, cus.index((each.xcd, each.cu)), 0, each.agent, each.cluster)
        for each in places
    ]


# What a register holds that is not a value


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The address of the kernel's argument segment."""


@dataclass(frozen=True, slots=True)
class _Address:
    """The address of a location, or of where the value of a ``register`` goes."""

    location: str | None
    register: str | None = None


_Symbol = tuple[_Arguments | _Address, int]
"""What, and which of its registers."""

_Known = dict[str, _Symbol]


class _CdnaReader:
    """One thread that is turned into instructions; ``known``: what registers hold at this point."""

    def __init__(self, code: ThreadCode, place: Placement, configuration: CdnaConfiguration):
        self.code = code
        self.place = place
        self.configuration = configuration
        self.blocks = reachable_blocks(code.body)
        self.labels = Labels(self.blocks)
        self.numbers: dict[SSAValue, int] = {}
        self.listing: Listing[machine.CdnaInstruction] = Listing()
        self.known: _Known = {}
        self.observed: list[tuple[str, str]] = []
        self.issued: dict[str, list[bool]] = {}
        self.barriers = machine.BarrierCode(lambda each: self.listing.add(each))

    def read(self) -> tuple[machine.CdnaInstruction, ...]:
        """The thread's instructions."""
        entry = self._solve()
        self.listing = Listing()
        self._workgroup_ids()
        for number, block in enumerate(self.blocks):
            if number:
                self.listing.add(Label(self.labels[block]))
            following = self.blocks[number + 1] if number + 1 < len(self.blocks) else None
            self._block(block, entry[block], following)
        self.listing.add(Label(_END))
        return tuple(self.listing.instructions)

    def _solve(self) -> dict[Block, _Known]:
        """What registers hold at the beginning of every block: what all paths there agree on."""
        entry: dict[Block, _Known] = {self.blocks[0]: self._at_start()}
        changed = True
        while changed:
            changed = False
            for block in self.blocks:
                if block not in entry:
                    continue
                self._block(block, entry[block], None)
                for target, values in _edges(block):
                    arriving = self._along(target, values)
                    known = entry.get(target)
                    joined = arriving if known is None else _agreed(known, arriving)
                    if joined != known:
                        entry[target] = joined
                        changed = True
        return entry

    def _at_start(self) -> _Known:
        known: _Known = {}
        kernel = self.code.kernel
        if isinstance(kernel, cdna.KernelOp):
            if kernel.uses_scratch is not None:
                unreadable(kernel, "the CDNA machine has no private memory")
            kernarg = kernel.body.blocks[0].args[0]
            known = {unit: (_Arguments(), n) for n, unit in enumerate(self.units(kernarg))}
        return known

    def _workgroup_ids(self) -> None:
        """Ids that the hardware provides: the work-group's number, and lane 0."""
        kernel = self.code.kernel
        if not isinstance(kernel, cdna.KernelOp):
            return
        ids = kernel.workgroup_ids.value.data
        for number, argument in enumerate(kernel.body.blocks[0].args[1:]):
            value = self.place.workgroup if number == 0 and ids else 0
            self.listing.add(Move(self.units(argument)[0], value))

    def _along(self, target: Block, values: tuple[SSAValue, ...]) -> _Known:
        """What is known when an edge has passed ``values`` to ``target``."""
        known = dict(self.known)
        for argument, value in zip(target.args, values, strict=True):
            for to, of in zip(self.units(argument), self.units(value), strict=True):
                known.pop(to, None)
                if of in self.known:
                    known[to] = self.known[of]
        return known

    def units(self, value: SSAValue) -> tuple[str, ...]:
        """The simulator's registers for a value, lowest first."""
        type = cdna.register_of(value)
        if type.first is not None:
            return tuple(f"{type.PREFIX}{n}" for n in type.registers)
        number = self.numbers.setdefault(value, len(self.numbers))
        size = type.size.data
        name = f"{type.PREFIX}t{number}"
        return (name,) if size == 1 else tuple(f"{name}.{n}" for n in range(size))

    @property
    def mask_registers(self) -> int:
        """How many scalar registers have a bit for each lane."""
        return self.configuration.row.wave_size // WORD_BITS

    def unit(self, value: SSAValue) -> str:
        """The one register of a value, or the lowest; an error if it holds an address."""
        name = self.units(value)[0]
        if name in self.known:
            owner = value.owner
            op = owner if isinstance(owner, Operation) else self.code.thread
            unreadable(op, "an address is used as a value")
        return name

    # Operations

    def _block(self, block: Block, known: _Known, following: Block | None) -> None:
        self.known = dict(known)
        self.observed = []
        self.issued = {str(counter): [] for counter in self.configuration.row.counters}
        for op in block.ops:
            self.operation(op, following)
            self.barriers.passed()
            if isinstance(op, cdna.InstructionOp):
                for counter in self.counters(op):
                    self.issued[counter].append(self.is_result_store(op))

    def counters(self, op: cdna.InstructionOp) -> tuple[Counter, ...]:
        """What ``op`` increments, cache maintenance on the machine that will execute it."""
        if not isinstance(op, cdna.CacheOp):
            # Some rows are shared with chips that have other counters.
            return tuple(each for each in op.row.counters if each in self.issued)
        effect = self.configuration.cache_effect(op.opcode.data, modifiers_of(op))
        if not effect.counts:
            return ()
        return self.configuration.counted(effect.counted_as, flat=False).counters

    def check_chip(self, op: cdna.OpcodeOp) -> None:
        """Refuse an instruction or cache policy bits that the chip does not have."""
        chip, mnemonic, row = self.configuration.chip, op.opcode.data, op.row
        if not has_instruction(chip, row):
            having = (each for each in KNOWN_CHIPS if has_instruction(each, row))
            unreadable(op, f"{chip} has no {mnemonic}; {', '.join(sorted(having))} have it")
        try:
            if isinstance(op, cdna.CacheOp):
                self.configuration.cache_effect(mnemonic, modifiers_of(op))
            elif isinstance(op, cdna.MemoryOp) and row.space in _CACHED:
                effect = self.configuration.access_effect(_KINDS[row.kind], modifiers_of(op))
                if isinstance(op, cdna.AtomicOp) and effect.returns is not row.returns:
                    unreadable(
                        op, "the bit that asks for the old value and the register go together"
                    )
        except ProgramError as problem:
            unreadable(op, str(problem))

    def operation(self, op: Operation, following: Block | None) -> None:
        """Append what ``op`` does, and carry ``known`` over it."""
        self.listing.place = place_of(op)
        if isinstance(op, cdna.OpcodeOp):
            self.check_chip(op)
        match op:
            case cdna.LoadOp():
                self.load(op)
            case cdna.StoreOp():
                self.store(op)
            case cdna.AtomicOp():
                self.atomic(op)
            case cdna.AsyncOp():
                self.asynchronous(op)
            case cdna.TensorOp():
                self.tensor(op)
            case cdna.CacheOp():
                self.listing.add(machine.CacheInstruction(op.opcode.data, modifiers_of(op)))
            case cdna.WaitOp():
                self.wait(op)
            case cdna.BarrierOp():
                self.barrier(op)
            case cdna.ConstOp():
                self.constant(op)
            case cdna.MovOp():
                self.copy(self.units(op.dst), self.units(op.src))
            case cdna.PackOp():
                sources = [unit for part in op.parts for unit in self.units(part)]
                self.copy(self.units(op.dst), tuple(sources))
            case cdna.ExtractOp():
                offset = op.offset.value.data
                sources = self.units(op.src)[offset:]
                self.copy(self.units(op.dst), sources)
            case cdna.AluOp():
                self.alu(op)
            case cdna.BranchOp():
                self.jump(op.target, tuple(op.arguments), following)
            case cdna.CondBranchOp():
                self.branch(op, following)
            case cdna.EndOp() | litmus.EndOp():
                self.end(following)
            case litmus.AddressOp():
                address = _Address(op.location_name.string_value())
                for n, unit in enumerate(self.units(op.pointer)):
                    self.known[unit] = (address, n)
            case litmus.ObserveOp():
                self.observed.append((op.register.data, self.unit(op.value)))
            case _:
                unreadable(op, f"the CDNA machine does not have '{op.name}'")

    def is_result_store(self, op: Operation) -> bool:
        """Whether ``op`` stores to a register's argument, which the simulator does not execute."""
        if not isinstance(op, cdna.StoreOp):
            return False
        symbol = self.known.get(self.units(op.addr)[0])
        return symbol is not None and isinstance(symbol[0], _Address) and symbol[0].location is None

    def wait(self, op: cdna.WaitOp) -> None:
        """A wait for the counters that the machine has."""
        given = dict(op.counts.given)
        if missing := given.keys() - self.issued.keys():
            chip = self.configuration.chip
            unreadable(op, f"{chip} has no {min(missing)}; it has {', '.join(self.issued)}")
        for each in machine.wait_instructions(
            {name: self.executed(name, count) for name, count in given.items()}
        ):
            self.listing.add(each)

    def asynchronous(self, op: cdna.AsyncOp) -> None:
        """A copy between a location in memory and one in LDS, of a word each."""
        memory, lds = (_location_in(self.known, self.units(each)) for each in (op.addr, op.lds))
        if memory is None or lds is None or not op.opcode.data.endswith(f"_b{WORD_BITS}"):
            unreadable(op, "a copy of one word is executed, between two of the test's locations")
        ends = (lds, memory) if op.row.kind is Kind.ASYNC_LOAD else (memory, lds)
        self.listing.add(machine.AsyncCopy(*ends, modifiers_of(op)))

    def tensor(self, op: cdna.TensorOp) -> None:
        """A tile of one word; its descriptor has LDS and memory in one group of registers."""
        units = self.units(op.addresses)
        memory, lds = (_location_in(self.known, each) for each in (units[2:], units[1:2]))
        if memory is None or lds is None:
            unreadable(
                op,
                "a copy between two of the test's locations is executed: the second register of the "
                "descriptor has the address in LDS, the third and fourth that in memory",
            )
        ends = (lds, memory) if op.row.kind is Kind.TENSOR_LOAD else (memory, lds)
        self.listing.add(machine.AsyncCopy(*ends, modifiers_of(op), Counter.TENSORCNT))

    def executed(self, counter: str, count: int) -> int:
        """How many of the last ``count`` operations of a counter the simulator executes."""
        return count and count - sum(self.issued[counter][-count:])

    def barrier(self, op: cdna.BarrierOp) -> None:
        mnemonic, operands = op.opcode.data, modifiers_of(op)
        m0 = None if op.m0 is None else op.m0.value.data
        if not self.barriers.instruction(mnemonic, operands, m0):
            text = " ".join((mnemonic, *operands))
            unreadable(op, f"the CDNA machine does not execute '{text}'")

    def end(self, following: Block | None) -> None:
        """Everything that is outstanding arrives before the wave's results are looked at."""
        if self.observed:
            every = machine.wait_instruction(dict.fromkeys(self.issued, 0))
            assert every is not None, self.configuration
            self.listing.add(every)
            for register, unit in self.observed:
                self.listing.add(Move(register, unit))
        if following is not None:
            self.listing.add(Branch(_END))

    def written(self, value: SSAValue) -> str:
        """The one register that an instruction writes; it holds a value from now on."""
        units = self.units(value)
        for unit in units:
            self.known.pop(unit, None)
        return units[0]

    def copy(self, to: tuple[str, ...], of: tuple[str, ...]) -> None:
        """Copies of whole registers that happen at once, with the addresses that they hold."""
        pairs = list(zip(to, of, strict=False))
        symbols = {dst: self.known[src] for dst, src in pairs if src in self.known}
        self.listing.move((dst, src) for dst, src in pairs if src not in self.known)
        for dst, _ in pairs:
            self.known.pop(dst, None)
        self.known |= symbols

    def constant(self, op: cdna.ConstOp) -> None:
        value = op.value.value.data
        units = self.units(op.dst)
        self.written(op.dst)
        if isinstance(op.dst.type, cdna.SGPRType) and len(units) == self.mask_registers:
            self.listing.add(Move(units[0], int(value != 0)))
            return
        for n, unit in enumerate(units):
            self.listing.add(Move(unit, value >> n * WORD_BITS & WORD_MASK))

    # Memory

    def address(self, op: cdna.LoadOp | cdna.StoreOp | cdna.AtomicOp) -> _Address:
        """What ``op`` accesses."""
        symbol = self.known.get(self.units(op.addr)[0])
        if symbol is None or not isinstance(symbol[0], _Address) or symbol[1]:
            unreadable(op, "the address must be that of one of the test's locations")
        if op.offset is not None and op.offset.value.data:
            unreadable(op, "a location is one word: the offset must be 0")
        return symbol[0]

    def place_of(self, op: cdna.LoadOp | cdna.StoreOp | cdna.AtomicOp) -> tuple[str, "_MemoryRow"]:
        """The location that ``op`` accesses, and how."""
        address, memory = self.address(op), _memory(op)
        if address.location is None:
            unreadable(op, f"the argument bound to {address.register} may only be stored to")
        return address.location, memory

    def load(self, op: cdna.LoadOp) -> None:
        symbol = self.known.get(self.units(op.addr)[0])
        if symbol is not None and isinstance(symbol[0], _Arguments):
            self.load_argument(op)
            return
        if op.row.kind is Kind.SCALAR_LOAD:
            location = self.address(op).location
            if op.opcode.data not in _SCALAR_LOADS or location is None:
                unreadable(op, f"a location is 32 bits wide; {op.opcode.data} is not executed")
            self.listing.add(machine.ScalarLoad(self.written(op.dst), location))
            return
        location, memory = self.place_of(op)
        dst = self.written(op.dst)
        if memory.space is AddressSpace.LOCAL:
            self.listing.add(machine.LdsLoad(dst, location))
        else:
            self.listing.add(machine.VectorLoad(dst, location, modifiers_of(op), memory.flat))

    def load_argument(self, op: cdna.LoadOp) -> None:
        """A scalar load from the argument segment, which nobody writes."""
        kernel = self.code.kernel
        assert isinstance(kernel, cdna.KernelOp)
        offsets, _ = argument_offsets(each.size.data for each in kernel.arguments)
        offset = 0 if op.offset is None else op.offset.value.data
        if offset not in offsets:
            unreadable(op, f"no argument of the kernel is at offset {offset}")
        number = offsets.index(offset)
        if len(self.code.arguments) != len(offsets):
            unreadable(
                self.code.thread,
                f"the kernel takes {len(offsets)} arguments, the thread binds "
                f"{len(self.code.arguments)}",
            )
        argument = kernel.arguments.data[number]
        check_argument(self.code, number, argument.kind.data, argument.kind.data == "value")
        bound_to = self.code.arguments[number]
        self.written(op.dst)
        if (value := number_of(bound_to)) is not None:
            for n, unit in enumerate(self.units(op.dst)):
                self.listing.add(Move(unit, value >> n * WORD_BITS & WORD_MASK))
            return
        for n, unit in enumerate(self.units(op.dst)):
            self.known[unit] = (_Address(location_of(bound_to), register_of(bound_to)), n)

    def store(self, op: cdna.StoreOp) -> None:
        address = self.address(op)
        if address.register is not None:
            if _memory(op).width != WORD_BITS or op.phase is not None:
                unreadable(op, f"the argument bound to {address.register} is stored to weakly")
            # Waits count the stores that are not executed, which only its own block can know.
            if op.parent is None or _edges(op.parent):
                unreadable(op, "a register is stored to in a block that ends the thread")
            self.listing.add(Move(address.register, self.unit(op.data)))
            return
        location, memory = self.place_of(op)
        value = self.unit(op.data)
        if memory.space is AddressSpace.LOCAL:
            self.listing.add(machine.LdsStore(location, value))
        else:
            self.listing.add(machine.VectorStore(location, value, modifiers_of(op), memory.flat))

    def atomic(self, op: cdna.AtomicOp) -> None:
        location, memory = self.place_of(op)
        operands = [unit for each in op.data for unit in self.units(each)]
        for each in op.data:
            self.unit(each)
        dst = None if op.dst is None else self.written(op.dst)
        bits, flat = modifiers_of(op), memory.flat
        lds = memory.space is AddressSpace.LOCAL
        if memory.operation is FastStrEnum.CMPXCHG:
            # Vector memory takes the pair new:compare, LDS compare and new.
            compare, new = operands if lds else operands[::-1]
            self.listing.add(
                machine.LdsCompareSwap(location, compare, new, dst)
                if lds
                else machine.CompareSwap(location, compare, new, dst, bits, flat)
            )
            return
        assert memory.kind is not None
        self.listing.add(
            machine.LdsAtomic(memory.kind, location, operands[0], dst)
            if lds
            else machine.Atomic(memory.kind, location, operands[0], dst, bits, flat)
        )

    # Arithmetic and control

    def alu(self, op: cdna.AluOp) -> None:
        mnemonic = op.opcode.data
        if mnemonic in _WORKGROUP_IDS:
            number = self.place.workgroup if mnemonic in _WORKGROUP_IDS[:2] else 0
            self.listing.add(Move(self.written(op.dst), number))
            return
        handler = _ALU.get(mnemonic)
        if handler is None:
            unreadable(op, f"the CDNA machine does not execute {mnemonic}")
        operands = tuple(self.unit(each) for each in op.arguments)
        result = handler(self.listing, operands, op)
        self.listing.assign(self.written(op.dst), result)

    def jump(self, target: Block, values: tuple[SSAValue, ...], following: Block | None) -> None:
        """Go to ``target``, which need not be said when it comes next."""
        pairs = [
            pair
            for argument, value in zip(target.args, values, strict=True)
            for pair in zip(self.units(argument), self.units(value), strict=True)
        ]
        self.listing.move(pair for pair in pairs if pair[1] not in self.known)
        if target is not following:
            self.listing.add(Branch(self.labels[target]))

    def branch(self, op: cdna.CondBranchOp, following: Block | None) -> None:
        mask = self.unit(op.mask)
        if not op.true_arguments:
            self.listing.add(Branch(self.labels[op.true_target], mask))
            self.jump(op.false_target, tuple(op.false_arguments), following)
            return
        edge = self.labels.edge()
        self.listing.add(Branch(edge, mask))
        self.jump(op.false_target, tuple(op.false_arguments), None)
        self.listing.add(Label(edge))
        self.jump(op.true_target, tuple(op.true_arguments), following)


def _location_in(known: _Known, units: tuple[str, ...]) -> str | None:
    """The location whose address registers hold, if they hold that of one."""
    symbol = known.get(units[0])
    if symbol is None or symbol[1] or not isinstance(symbol[0], _Address):
        return None
    return symbol[0].location


def _agreed(one: _Known, other: _Known) -> _Known:
    return {unit: symbol for unit, symbol in one.items() if other.get(unit) == symbol}


def _edges(block: Block) -> list[tuple[Block, tuple[SSAValue, ...]]]:
    match block.last_op:
        case cdna.BranchOp() as op:
            return [(op.target, tuple(op.arguments))]
        case cdna.CondBranchOp() as op:
            return [
                (op.true_target, tuple(op.true_arguments)),
                (op.false_target, tuple(op.false_arguments)),
            ]
        case _:
            return []


@dataclass(frozen=True, slots=True)
class _MemoryRow:
    """What a memory instruction does, and where."""

    operation: FastStrEnum
    space: AddressSpace
    width: int
    kind: RmwKind | None

    @property
    def flat(self) -> bool:
        """Whether it goes where its address is."""
        return self.space is AddressSpace.GENERIC


@cache
def _accesses() -> Mapping[str, Access]:
    return {row.mnemonic: access for access, row in MEMORY_ROWS}


def _memory(op: cdna.LoadOp | cdna.StoreOp | cdna.AtomicOp) -> _MemoryRow:
    access = _accesses().get(op.opcode.data)
    if access is None or access[1] is AddressSpace.PRIVATE:
        unreadable(op, f"the CDNA machine does not execute {op.opcode.data}")
    operation, space, width, kind, _ = access
    if width != WORD_BITS:
        unreadable(op, f"a location is 32 bits wide; {op.opcode.data} is not executed")
    return _MemoryRow(operation, space, width, kind)


_Handler = Callable[[Listing[machine.CdnaInstruction], tuple[str, ...], cdna.AluOp], Operand]


def _binary(kind: ArithmeticKind) -> _Handler:
    return lambda listing, operands, op: listing.compute(kind, *operands)


def _compare(predicate: str, signed: bool) -> _Handler:
    return lambda listing, operands, op: listing.compare(predicate, signed, *operands)


def _extreme(predicate: str, signed: bool) -> _Handler:
    return lambda listing, operands, op: listing.extreme(predicate, signed, *operands)


def _with_opposite(kind: ArithmeticKind, invert: int) -> _Handler:
    """``a kind not b`` (``invert`` 1) or ``not (a kind b)`` (``invert`` 2), of masks."""

    def handler(
        listing: Listing[machine.CdnaInstruction], operands: tuple[str, ...], op: cdna.AluOp
    ) -> Operand:
        a, b = operands
        if invert == 1:
            return listing.compute(kind, a, listing.compute(ArithmeticKind.XOR, b, 1))
        return listing.compute(ArithmeticKind.XOR, listing.compute(kind, a, b), 1)

    return handler


def _low_field(
    listing: Listing[machine.CdnaInstruction], operands: tuple[str, ...], op: cdna.AluOp
) -> Operand:
    immediates = [] if op.immediates is None else [each.value.data for each in op.immediates]
    if len(immediates) != 2 or immediates[0]:
        unreadable(op, "only the lowest bits can be taken out")
    return listing.compute(ArithmeticKind.AND, operands[0], (1 << immediates[1]) - 1)


_WORKGROUP_IDS = tuple(
    f"s_workgroup_id_{dimension}{where}" for dimension in "xyz" for where in ("", "_of_clusters")
)
"""What gives the number of the work-group, which is along x, where no register has it."""

_GFX9_ALU: Mapping[str, _Handler] = MappingProxyType(
    {
        "v_mov_b32_e32": lambda listing, operands, op: operands[0],
        "v_add_u32_e32": _binary(ArithmeticKind.ADD),
        "v_sub_u32_e32": _binary(ArithmeticKind.SUB),
        "v_mul_lo_u32": _binary(ArithmeticKind.MUL),
        "v_and_b32_e32": _binary(ArithmeticKind.AND),
        "v_or_b32_e32": _binary(ArithmeticKind.OR),
        "v_xor_b32_e32": _binary(ArithmeticKind.XOR),
        "v_min_u32_e32": _extreme("lt", signed=False),
        "v_max_u32_e32": _extreme("gt", signed=False),
        "v_min_i32_e32": _extreme("lt", signed=True),
        "v_max_i32_e32": _extreme("gt", signed=True),
        **{
            f"v_cmp_{predicate}_{letter}32_e64": _compare(predicate, letter == "i")
            for predicate in ("eq", "ne", "lt", "le", "gt", "ge")
            for letter in "ui"
        },
        "v_cndmask_b32_e64": lambda listing, operands, op: listing.select(*operands),
        "v_zext_mask_b32": lambda listing, operands, op: operands[0],
        "v_sext_mask_b32": lambda listing, operands, op: listing.compute(
            ArithmeticKind.SUB, 0, operands[0]
        ),
        "v_bfe_u32": _low_field,
        "s_and_b64": _binary(ArithmeticKind.AND),
        "s_or_b64": _binary(ArithmeticKind.OR),
        "s_xor_b64": _binary(ArithmeticKind.XOR),
        "s_andn2_b64": _with_opposite(ArithmeticKind.AND, 1),
        "s_xnor_b64": _with_opposite(ArithmeticKind.XOR, 2),
    }
)
"""What arithmetic on single registers and masks computes, as gfx9 calls it."""

_ALU = MappingProxyType(
    {name: compute for gfx9, compute in _GFX9_ALU.items() for name in names_of(gfx9)}
)
"""What it computes under every chip's name."""
