"""Litmus tests of PTX instructions as programs of the PTX model.

What a PTX instruction means to the model is for ``simulator.ptx.builder`` to say. A predicate is kept as the comparison that it is of, and becomes a
register of 0 or 1 only where it is used as a value.
"""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from xdsl.ir import Block, Operation, SSAValue

from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.text import read_line
from fencewright.lowering.sequence import Line, Placeholder
from fencewright.lowering.sequence import Operand as Pieces
from fencewright.lowering.vocabulary import AddressSpace, Ordering
from fencewright.mlir_dialects import litmus, ptx
from fencewright.passes.analysis.control_flow import reachable_blocks
from fencewright.passes.litmus.programs import (
    Labels,
    ReadOptions,
    TestCode,
    ThreadCode,
    in_order,
    location_of,
    number_of,
    place_of,
    register_of,
    unreadable,
)
from fencewright.simulator.core.condition import Comparison
from fencewright.simulator.core.program import (
    SIGN,
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    Move,
    Operand,
    Placement,
    Places,
    Thread,
    signed,
)
from fencewright.simulator.core.words import TOO_WIDE, WORD_MASK, fits_word
from fencewright.simulator.litmus_run import PtxTest
from fencewright.simulator.ptx.builder import (
    OTHER_INSTRUCTIONS,
    Given,
    ModelError,
    build,
    check_arrivals,
    complete,
    hint,
)
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest
from fencewright.simulator.ptx.instructions import (
    Alias,
    Bar,
    BarrierRole,
    CompareBranch,
    PtxInstruction,
    PtxProgram,
    TensorMap,
)
from fencewright.simulator.ptx.model import MODELS

_END = "done"
_ROLES = (BarrierRole.SYNC, BarrierRole.ARRIVE)
_SHARED = (AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER)


def read_ptx(code: TestCode, options: ReadOptions) -> PtxTest:
    """The test; raises ``DiagnosticException`` at what the PTX model does not have."""
    readers = [_PtxReader(code, each) for each in code.threads]
    instructions = [reader.read() for reader in readers]
    placements = [_placement(code, number) for number in range(len(readers))]
    if code.test.mbarriers:
        instructions = _counted(placements, instructions)
    threads = zip(placements, instructions, readers, strict=True)
    program = PtxProgram(
        tuple(Location(each.name, signed(each.initial)) for each in code.locations),
        tuple(Thread(place, each, reader.places()) for place, each, reader in threads),
        name=code.name,
        aliases={name: Alias(of) for name, of in code.aliases},
        mbarriers={each.sym_name.data: _count(each) for each in code.test.mbarriers},
        shared=dict(_homes(code, placements)),
        tensor=frozenset(op.sym_name.data for op in code.test.locations if op.tensor is not None),
    )
    try:
        test = PtxLitmusTest(complete(program, code.condition), code.condition)
    except ModelError as problem:
        unreadable(code.test, f"in the PTX model, {problem.message}")
    shared = frozenset(each.name for each in code.locations if each.space in _SHARED)
    return PtxTest(test, MODELS[options.ptx_model], code.observed, shared)


_BARRIER = Bar(BarrierRole.SYNC, 0)
"""The barrier of a CTA, of all its threads."""
_Code = tuple[PtxInstruction, ...]


def _counted(places: list[Placement], threads: list[_Code]) -> list[_Code]:
    """The instructions, with the barrier of a CTA one for so many threads as come to it.

    To the model those of a barrier without a count are who comes, and a thread that waits at an
    mbarrier would not be missed.
    """
    count = Counter(place for place, each in zip(places, threads, strict=True) if _BARRIER in each)
    return [
        tuple(replace(_BARRIER, count=count[place]) if i == _BARRIER else i for i in each)
        for place, each in zip(places, threads, strict=True)
    ]


def _homes(code: TestCode, places: list[Placement]) -> Iterator[tuple[str, Placement]]:
    """The locations in shared memory, and where that is; without the CTAs that have no thread."""
    for each in code.locations:
        home = next((place for place in places if place.workgroup == each.workgroup), None)
        if each.space in _SHARED and home is not None:
            yield each.name, home


def _count(op: litmus.MbarrierOp) -> int:
    """The arrivals of an mbarrier; 0 of one that the program initialises."""
    if op.count is None:
        return 0
    count = op.count.value.data
    try:
        check_arrivals(count)
    except ModelError as problem:
        unreadable(op.parent_op() or op, f"in the PTX model, {problem.message}")
    return count


def _place(code: TestCode, number: int) -> Placement:
    return code.threads[number].thread.placement.resolve(number)


def _placement(code: TestCode, number: int) -> Placement:
    place = _place(code, number)
    cluster = place.cluster if code.test.is_placed_in_clusters else None
    return Placement(place.workgroup, agent=place.agent, cluster=cluster)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What a predicate says: ``left kind right``, as a branch would test it."""

    kind: Comparison
    left: Operand
    right: Operand

    @property
    def outcome(self) -> bool | None:
        """The outcome where both sides are constants."""
        if isinstance(self.left, str) or isinstance(self.right, str):
            return None
        return _COMPARE[self.kind](self.left, self.right)


_COMPARE: Mapping[Comparison, Callable[[int, int], bool]] = MappingProxyType(
    {
        Comparison.EQ: operator.eq,
        Comparison.NE: operator.ne,
        Comparison.LT: operator.lt,
        Comparison.LE: operator.le,
        Comparison.GT: operator.gt,
        Comparison.GE: operator.ge,
    }
)
_COMPARISONS = {kind.name.lower(): kind for kind in _COMPARE}
_SETS = {
    Comparison.EQ: ArithmeticKind.EQ,
    Comparison.NE: ArithmeticKind.NE,
    Comparison.LT: ArithmeticKind.LT,
    Comparison.LE: ArithmeticKind.LE,
}
_SWAPPED = {Comparison.GT: Comparison.LT, Comparison.GE: Comparison.LE}
_OPPOSITE = {
    Comparison.EQ: Comparison.NE,
    Comparison.NE: Comparison.EQ,
    Comparison.LT: Comparison.GE,
    Comparison.GE: Comparison.LT,
    Comparison.GT: Comparison.LE,
    Comparison.LE: Comparison.GT,
}

_REGISTER = re.compile(r"r([0-9]+)")
_ACCUMULATOR = re.compile(r"%acc_(\w+)_\d+")
"""A register of an accumulator of ``wgmma``."""
_DROPPED = frozenset({*(f"c{n}" for n in range(5)), "instruction"})
"""The places of coordinates and instruction descriptors: a tile is one location."""
_OF_UNITS = frozenset(
    {
        *("mbarrier", "cp", "fence", "tcgen05", "wgmma", "tensormap", "mapa", "multimem", "elect"),
        *("barrier", "prefetch", "prefetchu", "applypriority", "membar"),
    }
)
"""The first words of the instructions that sequences of asynchronous operations have."""
_MEMORY = frozenset({"ld", "st", "atom", "red"})


class _PtxReader:
    """One thread: its ``instructions``, and the operation that each is from."""

    def __init__(self, test: TestCode, code: ThreadCode):
        self.test = test
        self.code = code
        self.blocks = reachable_blocks(code.body)
        self.labels = Labels(self.blocks)
        self.instructions: list[PtxInstruction] = []
        self.origins: list[Operation] = []
        self.origin: Operation = code.thread
        self.operands: dict[SSAValue, Operand] = {}
        self.addresses: dict[SSAValue, str] = {}
        self.results: dict[SSAValue, str] = {}
        self.predicates: dict[SSAValue, _Comparison] = {}
        self.observed: list[tuple[str, SSAValue]] = []
        self.reached: set[Block] = set()
        self.accumulators: dict[str, str] = {}
        named = [_REGISTER.fullmatch(each) for each in code.registers]
        if None in named:
            strange = code.registers[named.index(None)]
            unreadable(code.thread, f"the PTX model calls registers r0, r1, ..: not '{strange}'")
        self._registers = max((int(each[1]) + 1 for each in named if each), default=0)

    def read(self) -> _Code:
        """The thread's instructions."""
        for block in self.blocks:
            for argument in block.args:
                self.operands[argument] = self.fresh()
        self.reached = {self.blocks[0]}
        for number, block in enumerate(self.blocks):
            if block not in self.reached:
                continue
            if number:
                self.add(Label(self.labels[block]))
            following = self.blocks[number + 1] if number + 1 < len(self.blocks) else None
            self.observed = []
            for op in block.ops:
                self.origin = op
                self.operation(op, following)
        self.add(Label(_END))
        return tuple(self.instructions)

    def add(self, instruction: PtxInstruction) -> None:
        """Append an instruction; who goes to where control comes next anyway need not say so."""
        last = self.instructions[-1] if self.instructions else None
        if isinstance(instruction, Label) and last == Branch(instruction.name):
            self.instructions.pop()
            self.origins.pop()
        self.instructions.append(instruction)
        self.origins.append(self.origin)

    def build(self, mnemonic: str, *operands: Given) -> None:
        """Append what the model has for an instruction of PTX."""
        opcode = read_opcode(mnemonic)
        text = f"{mnemonic} {', '.join(map(str, operands))}".strip()
        try:
            self.add(hint(opcode, text) or build(opcode, operands))
        except ModelError as problem:
            unreadable(self.origin, f"in the PTX model, {problem.message}")

    def places(self) -> Places:
        """Where each of the instructions was written."""
        return tuple(map(place_of, self.origins))

    def fresh(self) -> str:
        """A register that nothing else uses."""
        self._registers += 1
        return f"r{self._registers - 1}"

    def result(self, value: SSAValue) -> str:
        """A register for a value that an instruction writes."""
        return str(self.operands.setdefault(value, self.fresh()))

    def operand(self, value: SSAValue) -> Operand:
        """The register or constant that a value is; a predicate becomes 0 or 1."""
        if (known := self.operands.get(value)) is not None:
            if isinstance(known, int) and not fits_word(known):
                unreadable(self.origin, f"in the PTX model, '{known}' {TOO_WIDE}")
            return known
        if value in self.predicates:
            return self.materialise(self.predicates[value])
        unreadable(self.origin, "an address is used as a value")

    def compute(self, kind: ArithmeticKind, left: Operand, right: Operand) -> str:
        """``kind`` of two operands, in a new register."""
        dst = self.fresh()
        self.add(Arithmetic(kind, dst, left, right))
        return dst

    def flipped(self, operand: Operand) -> Operand:
        """A word with its sign changed, by which signed order becomes unsigned order, and back."""
        if isinstance(operand, str):
            return self.compute(ArithmeticKind.XOR, operand, SIGN)
        return signed(operand & WORD_MASK ^ SIGN)

    def materialise(self, test: _Comparison) -> str:
        """A comparison as 0 or 1, by arithmetic, so that what depends on it depends on data."""
        kind, left, right = test.kind, test.left, test.right
        if kind in _SWAPPED:
            kind, left, right = _SWAPPED[kind], right, left
        if kind in (Comparison.LT, Comparison.LE):
            left, right = self.flipped(left), self.flipped(right)
        return self.compute(_SETS[kind], left, right)

    # Operations

    def operation(self, op: Operation, following: Block | None) -> None:
        """Append what ``op`` does."""
        match op:
            case ptx.ParamOp():
                self.parameter(op)
            case ptx.AddressOfOp():
                self.variable(op)
            case ptx.SpecialOp():
                self.special(op)
            case ptx.ConstOp():
                self.operands[op.dst] = op.value.value.data
            case litmus.AddressOp():
                self.addresses[op.pointer] = op.location_name.string_value()
            case ptx.LoadOp() | ptx.StoreOp() | ptx.AtomicOp():
                self.access(op)
            case ptx.FenceOp():
                self.build(op.opcode.data)
            case ptx.BarrierOp():
                self.barrier(op)
            case ptx.SequenceOp():
                self.sequence(op)
            case ptx.AluOp():
                self.alu(op)
            case ptx.BranchOp():
                self.jump(op.target, tuple(op.arguments), following)
            case ptx.CondBranchOp():
                self.branch(op, following)
            case ptx.RetOp() | litmus.EndOp():
                self.end(following)
            case litmus.ObserveOp():
                self.observed.append((op.register.data, op.value))
            case _:
                unreadable(op, f"the PTX model does not have '{op.name}'")

    def parameter(self, op: ptx.ParamOp) -> None:
        index = op.index.value.data
        if index >= len(self.code.arguments):
            unreadable(self.code.thread, f"the kernel takes more than {index} arguments")
        bound_to = self.code.arguments[index]
        if (location := location_of(bound_to)) is not None:
            self.addresses[op.dst] = location
        elif (register := register_of(bound_to)) is not None:
            self.results[op.dst] = register
        elif (value := number_of(bound_to)) is not None:
            self.operands[op.dst] = value

    def variable(self, op: ptx.AddressOfOp) -> None:
        """A variable in shared memory: the location that it is in the thread's CTA."""
        name = op.variable.string_value()
        workgroup = _place(self.test, self.code.number).workgroup
        location = self.test.copy_in(name, workgroup)
        if location is None:
            unreadable(op, f"no location of the test is '{name}' in work-group {workgroup}")
        self.addresses[op.dst] = location

    def special(self, op: ptx.SpecialOp) -> None:
        """The ids that a test gives its threads."""
        register = op.register.data
        place = _place(self.test, self.code.number)
        known = {
            "tid.x": self.test.rank(self.code.number),
            "tid.y": 0,
            "tid.z": 0,
            "ctaid.x": place.workgroup,
        }
        if register not in known:
            unreadable(op, f"a litmus test does not say what %{register} is")
        self.operands[op.dst] = known[register]

    def end(self, following: Block | None) -> None:
        for register, value in self.observed:
            self.add(Move(register, self.operand(value)))
        if following is not None:
            self.add(Branch(_END))

    # Memory

    def access(self, op: ptx.LoadOp | ptx.StoreOp | ptx.AtomicOp) -> None:
        opcode = op.opcode.data
        if op.addr in self.results:
            register = self.results[op.addr]
            is_weak = read_opcode(opcode).ordering is Ordering.WEAK
            if not isinstance(op, ptx.StoreOp) or not is_weak:
                unreadable(op, f"the argument bound to {register} may only be stored to, weakly")
            self.add(Move(register, self.operand(op.data)))
            return
        location = self.location(op.addr)
        match op:
            case ptx.LoadOp():
                operands: list[Operand] = [self.result(op.dst), location]
            case ptx.StoreOp():
                operands = [location, self.operand(op.data)]
            case ptx.AtomicOp():
                data = [self.operand(each) for each in op.data]
                takes_old = read_opcode(opcode).head == "atom"
                dst = [] if not takes_old else [
                    self.fresh() if op.dst is None else self.result(op.dst)
                ]  # fmt: skip
                operands = [*dst, location, *data]
        self.memory(opcode, operands)

    def location(self, address: SSAValue) -> str:
        """The location that an address is of."""
        if address not in self.addresses:
            unreadable(self.origin, "the address must be that of one of the test's locations")
        name = self.addresses[address]
        if self.test.peers(name):
            unreadable(self.origin, f"{_IS_MULTICAST.format(name)}, which only multimem accesses")
        return name

    def memory(self, mnemonic: str, operands: list[Operand]) -> None:
        """A load, store or atomic by its name in PTX."""
        opcode = read_opcode(mnemonic)
        if opcode.type[1:] != "32":
            unreadable(self.origin, f"a location is 32 bits wide; {mnemonic} is not executed")
        if opcode.update in ("inc", "dec"):
            unreadable(self.origin, f"the PTX model does not compute {opcode.update}")
        self.build(mnemonic, *operands)

    def barrier(self, op: ptx.BarrierOp) -> None:
        line = read_line(op.opcode.data)
        words = read_opcode(line.mnemonic).words
        if "warp" in words:
            return  # Every thread is a warp of its own.
        if "cluster" in words:
            self.build(line.mnemonic)
        elif "sync" in words and line.operands == (("0",),):
            self.add(_BARRIER)
        else:
            self.named_barrier(op, line)

    def named_barrier(self, op: ptx.BarrierOp | ptx.SequenceOp, line: Line) -> None:
        """A barrier of the CTA by its number, at which so many threads meet."""
        role = next((r for r in _ROLES if r.value in read_opcode(line.mnemonic).words), None)
        if role is None:
            unreadable(op, f"the PTX model does not execute {line.mnemonic}")
        number, *count = (int("".join(map(str, each))) for each in line.operands)
        threads = _threads_of(op, count[0]) if count else None
        self.add(Bar(role, 0, number, threads))

    def sequence(self, op: ptx.SequenceOp) -> None:
        """Instructions with registers and labels of their own, as the loop around a swap."""
        places = {place.data: value for place, value in zip(op.places, op.arguments, strict=True)}
        lines = [read_line(each.data) for each in op.lines]
        if units := [*filter(_is_of_a_unit, lines)]:
            for line in units:
                self.asynchronous(op, line, places)
            return
        for line in lines:
            if not _is_executed(line):
                missing = OTHER_INSTRUCTIONS.get(read_opcode(line.mnemonic).head)
                why = "" if missing is None else f": {missing}"
                unreadable(op, f"the PTX model does not execute '{line.mnemonic}'{why}")
        names = {name for line in lines for name in line.names}
        registers: dict[str, Operand] = {
            name: self.fresh() for name in names - places.keys() - {"dst"}
        }
        labels = [line.names[0] for line in lines if not line.mnemonic]
        registers |= {label: self.labels.edge() for label in labels}
        for name, value in places.items():
            registers[name] = self.location(value) if name == "addr" else self.operand(value)
        if op.dst is not None:
            registers["dst"] = self.result(op.dst)
        for line in lines:
            self.line(line, registers)

    def asynchronous(self, op: ptx.SequenceOp, line: Line, places: Mapping[str, SSAValue]) -> None:
        """An asynchronous instruction: as PTX has it, with names for addresses.

        A wait is a loop around a look at the mbarrier, which the model has as one instruction.
        """
        if line.mnemonic.startswith("mapa"):
            self.map_shared(op)
            return
        if line.mnemonic.startswith("elect") and op.dst is not None:
            # Each thread is a warp of its own, or the lane that its warp elects.
            self.operands[op.dst] = 1
            return
        if problem := _reduction_problem(line.mnemonic):
            unreadable(op, problem)
        if line.operands and line.mnemonic.startswith("barrier"):
            self.named_barrier(op, line)
            return
        operands = list(self.operands_of(op, line, places))
        if (tile := places.get("map")) is not None and "tensor" in read_opcode(line.mnemonic).words:
            self.add_tensor_copy(op, line, self.location(tile), operands)
            return
        if (size := _ASYNC_STORES.get(read_opcode(line.mnemonic).type)) and _is_async_store(line):
            operands.insert(2, size)
        self.build(_with_token(line), *operands)

    def operands_of(
        self, op: ptx.SequenceOp, line: Line, places: Mapping[str, SSAValue]
    ) -> Iterator[Given]:
        """What stands for each operand that the model has a use for."""
        accumulators: set[str] = set()
        for operand in line.operands:
            pieces = [_filled(self, op, line, places, each) for each in operand]
            given = [each for each in pieces if isinstance(each, tuple)]
            text = "".join(str(each) for each in pieces if each not in given).strip("[]{}")
            if (match := _ACCUMULATOR.fullmatch(text)) is not None:
                if match[1] in accumulators:
                    continue
                accumulators.add(match[1])
                text = self.accumulator(match[1])
            if any(isinstance(o, Placeholder) and o.name in _DROPPED for o in operand):
                continue
            yield from given
            if text:
                yield _given(text)

    def accumulator(self, name: str) -> str:
        """The one register that stands for those of an accumulator."""
        if name not in self.accumulators:
            self.accumulators[name] = self.fresh()
        return self.accumulators[name]

    def add_tensor_copy(
        self, op: ptx.SequenceOp, line: Line, map: str, operands: list[Given]
    ) -> None:
        """A copy through a tensor map, with the memory that the map describes and the tile's size."""
        described = self.test.described(map)
        if described is None:
            unreadable(op, f"location '{map}' does not say what tensor it describes: 'describes'")
        where = TensorMap(map, tuple((each,) for each in described))
        filled: list[Given] = [where if each == map else each for each in operands]
        if "bulk_group" not in read_opcode(line.mnemonic).words:
            size = self.test.size_of(str(operands[0]))
            if size is None:
                unreadable(op, f"location '{operands[0]}' does not say how large it is: 'bytes'")
            filled.insert(2, size)
        self.build(line.mnemonic, *filled)

    def place(self, value: SSAValue, line: Line) -> Given:
        """What stands for an operand: a location's name, several, or a register or number."""
        if value not in self.addresses:
            return self.operand(value)
        if read_opcode(line.mnemonic).head != "multimem":
            return self.location(value)
        name = self.addresses[value]
        if not (peers := self.test.peers(name)):
            unreadable(self.origin, f"'{name}' is no multicast address (litmus.multicast)")
        return peers

    def map_shared(self, op: ptx.SequenceOp) -> None:
        """``mapa``: the location that a peer has of the same variable."""
        pointer, rank = op.arguments
        name, number = self.location(pointer), self.operand(rank)
        if isinstance(number, str):
            unreadable(op, "the peer must be a number, as an argument of the kernel")
        peer = self.test.peer(name, number)
        if peer is None:
            unreadable(op, f"the test has no location that is '{name}' in work-group {number}")
        assert op.dst is not None
        self.addresses[op.dst] = peer

    def line(self, line: Line, registers: Mapping[str, Operand]) -> None:
        """One line of a sequence, of the kinds that ``_is_executed``."""

        def filled(operand: Pieces) -> Operand:
            pieces = (registers[o.name] if isinstance(o, Placeholder) else o for o in operand)
            text = "".join(map(str, pieces)).strip("[]")
            match = _ACCUMULATOR.fullmatch(text)
            return _given(text) if match is None else self.accumulator(match[1])

        operands = [filled(each) for each in line.operands]
        if not line.mnemonic:
            self.add(Label(str(operands[0]).removesuffix(":")))
        elif line.guard:
            self.add(Branch(str(operands[0]), filled(line.guard)))
        elif read_opcode(line.mnemonic).head in _MEMORY:
            self.memory(line.mnemonic, operands)
        elif (step := _STEPS[line.mnemonic]) is not None:
            self.add(step(str(operands[0]), *operands[1:]))

    # Arithmetic and control

    def alu(self, op: ptx.AluOp) -> None:
        head, *words = read_opcode(op.opcode.data).words
        if head == "setp":
            self.compare(op, *words)
        elif head == "selp" and words == ["b32"]:
            chosen, other, condition = map(self.operand, op.arguments)
            opposite = self.compute(ArithmeticKind.SUB, 1, condition)
            left = self.compute(ArithmeticKind.MUL, condition, chosen)
            right = self.compute(ArithmeticKind.MUL, opposite, other)
            self.add(Arithmetic(ArithmeticKind.ADD, self.result(op.dst), left, right))
        elif words == ["pred"]:
            self.predicate(op, head)
        elif head == "cvt" and self.widened(op):
            return
        elif (kind := _ARITHMETIC.get(op.opcode.data)) is not None:
            left, right = map(self.operand, op.arguments)
            self.add(Arithmetic(kind, self.result(op.dst), left, right))
        else:
            unreadable(op, f"the PTX model does not execute {op.opcode.data}")

    def widened(self, op: ptx.AluOp) -> bool:
        """Whether a conversion is of an address, or of a constant that it leaves as it is."""
        (of,) = op.arguments
        if of in self.addresses:
            self.addresses[op.dst] = self.addresses[of]
            return True
        known = self.operands.get(of)
        if not isinstance(known, int) or known < 0:
            return False
        self.operands[op.dst] = known
        return True

    def compare(self, op: ptx.AluOp, comparison: str, type: str) -> None:
        left, right = map(self.operand, op.arguments)
        kind = _COMPARISONS.get(comparison)
        is_known = kind is not None and _Comparison(kind, left, right).outcome is not None
        if kind is None or (type[1:] != "32" and not is_known):
            unreadable(op, f"the PTX model does not execute {op.opcode.data}")
        if type == "u32" and comparison not in ("eq", "ne"):
            left, right = self.flipped(left), self.flipped(right)
        self.predicates[op.dst] = _Comparison(kind, left, right)

    def predicate(self, op: ptx.AluOp, head: str) -> None:
        """Logic on predicates, which are 0 or 1."""
        if head == "not":
            (of,) = op.arguments
            if of in self.predicates:
                known = self.predicates[of]
                self.predicates[op.dst] = replace(known, kind=_OPPOSITE[known.kind])
            else:
                self.operands[op.dst] = self.compute(ArithmeticKind.SUB, 1, self.operand(of))
            return
        left, right = map(self.operand, op.arguments)
        self.operands[op.dst] = self.compute(ArithmeticKind(head), left, right)

    def jump(self, target: Block, values: tuple[SSAValue, ...], following: Block | None) -> None:
        """Go to ``target``, which need not be said when it comes next."""
        self.reached.add(target)
        pairs = [
            (str(self.operands[argument]), self.operand(value))
            for argument, value in zip(target.args, values, strict=True)
        ]
        for dst, value in in_order(pairs, self.fresh):
            self.add(Move(dst, value))
        if target is not following:
            self.add(Branch(self.labels[target]))

    def branch(self, op: ptx.CondBranchOp, following: Block | None) -> None:
        test = self.predicates.get(op.predicate)
        if test is None:
            test = _Comparison(Comparison.NE, self.operand(op.predicate), 0)
        if (known := test.outcome) is not None:
            # The other block is another thread's.
            to = (op.true_target, op.true_arguments) if known else None
            target, arguments = to or (op.false_target, op.false_arguments)
            self.jump(target, tuple(arguments), following)
            return
        simple = not op.true_arguments
        self.reached.add(op.true_target)
        target = self.labels[op.true_target] if simple else self.labels.edge()
        self.add(_branch(test, target))
        self.jump(op.false_target, tuple(op.false_arguments), following if simple else None)
        if not simple:
            self.add(Label(target))
            self.jump(op.true_target, tuple(op.true_arguments), following)


def _branch(test: _Comparison, target: str) -> PtxInstruction:
    """To ``target`` if a comparison holds."""
    if test.right == 0 and test.kind in (Comparison.EQ, Comparison.NE):
        return Branch(target, test.left, unless=test.kind is Comparison.EQ)
    return CompareBranch(target, test.kind, test.left, test.right)


def _given(text: str) -> Operand:
    """A piece of a template: a number, or a name."""
    return int(text, 0) if _NUMBER.fullmatch(text) else text


_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9]+)")


def _filled(
    reader: "_PtxReader",
    op: ptx.SequenceOp,
    line: Line,
    places: Mapping[str, SSAValue],
    piece: Placeholder | str,
) -> Given:
    """A piece of an operand; "" for the result of a look that a loop around it waits for."""
    if not isinstance(piece, Placeholder):
        return "" if piece == "_" else piece
    if piece.name in places:
        return reader.place(places[piece.name], line)
    return reader.result(op.dst) if piece.name == "dst" and op.dst is not None else ""


def _threads_of(op: Operation, count: int) -> int:
    """The threads of a test that a barrier of so many threads meets: each is a warp of its own."""
    if count % _WARP:
        unreadable(op, f"a barrier meets whole warps of {_WARP} threads, not {count}")
    return count // _WARP


_WARP = 32


def _is_async_store(line: Line) -> bool:
    """Whether it is a store that completes bytes on an mbarrier, which its type says how many."""
    head, *words = read_opcode(line.mnemonic).words
    return head in ("st", "red") and "async" in words and len(line.operands) == 3


_ASYNC_STORES = {"b32": 4, "u32": 4, "s32": 4}


def _with_token(line: Line) -> str:
    """The mnemonic, which to the model says whether a wait is for a parity or for a token."""
    head, *words = read_opcode(line.mnemonic).words
    if head == "mbarrier" and words[0] in ("try_wait", "test_wait") and "parity" not in words:
        return ".".join((head, words[0], "token", *words[1:]))
    return line.mnemonic


def _is_of_a_unit(line: Line) -> bool:
    """Whether a line is of an asynchronous operation."""
    head, *words = read_opcode(line.mnemonic).words
    return head in _OF_UNITS or "async" in words or "bulk" in words


def _reduction_problem(mnemonic: str) -> str:
    """Why the model cannot compute a reduction, or copy to peers; "" if it can, or if it is neither."""
    head, *words = read_opcode(mnemonic).words
    if head == "multimem" and "cp" in words:
        return f"in the PTX model, {mnemonic} is not modelled: write a copy to each peer"
    if not ("reduce" in words or "ld_reduce" in words or head == "red" or "red" in words):
        return ""
    if "tensor" in words:
        return _OF_A_MAP if {"min", "max"} & {*words} else ""
    if words[-1] not in _ASYNC_STORES:
        return f"a location is an integer of 32 bits; {mnemonic} is not executed"
    return ""


_OF_A_MAP = "only the tensor map says of which type the elements are, and so which is less"
_IS_MULTICAST = "'{}' is a multicast address"


_ARITHMETIC: Mapping[str, ArithmeticKind] = MappingProxyType(
    {
        "add.s32": ArithmeticKind.ADD,
        "sub.s32": ArithmeticKind.SUB,
        "mul.lo.s32": ArithmeticKind.MUL,
        "and.b32": ArithmeticKind.AND,
        "or.b32": ArithmeticKind.OR,
        "xor.b32": ArithmeticKind.XOR,
        "min.s32": ArithmeticKind.MIN,
        "max.s32": ArithmeticKind.MAX,
    }
)
"""What the model calls the arithmetic that it has."""


def _is_executed(line: Line) -> bool:
    """Whether a line of a sequence is of the kinds that sequences on whole words have."""
    if line.guard:
        return line.mnemonic == "bra"
    head = read_opcode(line.mnemonic).words[0]
    return not line.mnemonic or head in _MEMORY or line.mnemonic in _STEPS


def _negated(dst: str, a: Operand) -> PtxInstruction:
    return Arithmetic(ArithmeticKind.SUB, dst, 0, a)


def _inverted(dst: str, a: Operand) -> PtxInstruction:
    return Arithmetic(ArithmeticKind.SUB, dst, -1, a)


_Step = Callable[..., PtxInstruction]
_STEPS: Mapping[str, _Step | None] = MappingProxyType(
    {
        ".reg": None,
        "mov.b32": Move,
        "neg.s32": _negated,
        "not.b32": _inverted,
        "and.b32": partial(Arithmetic, ArithmeticKind.AND),
        "or.b32": partial(Arithmetic, ArithmeticKind.OR),
        "xor.b32": partial(Arithmetic, ArithmeticKind.XOR),
        "setp.ne.b32": partial(Arithmetic, ArithmeticKind.NE),
    }
)
"""What the instructions of a sequence are in the model, operand by operand; a predicate is 0 or 1."""
