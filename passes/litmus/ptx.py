"""Litmus tests of PTX instructions as programs of the PTX model.

Instructions are written as the columns of a PTX litmus test, whose reader is the one place that
knows what they mean. A predicate is kept as the comparison that it is of, and becomes a
register of 0 or 1 only where it is used as a value.
"""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NoReturn

from xdsl.ir import Block, Operation, SSAValue

from fencewright.lowering.ptx.text import read_line, words_of
from fencewright.lowering.sequence import Line, Operand, Placeholder
from fencewright.lowering.vocabulary import AddressSpace
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
from fencewright.simulator.core.condition import LitmusError
from fencewright.simulator.core.program import SIGN, Placement, Places, signed
from fencewright.simulator.core.words import WORD_MASK
from fencewright.simulator.litmus_run import PtxTest
from fencewright.simulator.ptx.builder import ATOMICS, ORDERINGS, OTHER_INSTRUCTIONS
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest, parse_litmus
from fencewright.simulator.ptx.instructions import SCOPES
from fencewright.simulator.ptx.model import MODELS

_END = "done"
_SHARED = (AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER)


def read_ptx(code: TestCode, options: ReadOptions) -> PtxTest:
    """The test; raises ``DiagnosticException`` at what the PTX model does not have."""
    test, readers = _written(code)
    threads = zip(test.program.threads, readers, strict=True)
    placed = tuple(replace(thread, places=reader.places()) for thread, reader in threads)
    test = replace(test, program=replace(test.program, threads=placed))
    shared = frozenset(each.name for each in code.locations if each.space in _SHARED)
    return PtxTest(test, MODELS[options.ptx_model], code.observed, shared)


def _written(code: TestCode) -> tuple[PtxLitmusTest, list["_PtxReader"]]:
    """The test that the columns written for it are, and who wrote them."""
    readers = [_PtxReader(code, each) for each in code.threads]
    cells = [reader.read() for reader in readers]
    if code.test.mbarriers:
        cells = _counted(code, cells)
    columns = [[_head(code, n), *each] for n, each in enumerate(cells)]
    height = max(map(len, columns))
    rows = [
        " | ".join(column[n] if n < len(column) else "" for column in columns)
        for n in range(height)
    ]
    initial = " ".join(
        [f"{each.name}={signed(each.initial)};" for each in code.locations]
        + [f"{each.sym_name.data} = {_mbarrier(each)};" for each in code.test.mbarriers]
        + [f"{name} @ generic aliases {of};" for name, of in code.aliases]
        + [f"{name}{home};" for name, home in _homes(code)]
    )
    lines = [f"PTX {code.name}", f"{{ {initial} }}", *(f" {row} ;" for row in rows)]
    text = "\n".join([*lines, str(code.condition)]) + "\n"
    try:
        return parse_litmus(text, code.name), readers
    except LitmusError as problem:
        _blame(code, readers, problem, text)


_BARRIER = "bar.cta.sync 0, 0"
"""The barrier of a CTA, of all its threads."""


def _counted(code: TestCode, cells: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The instructions, with the barrier of a CTA one for so many threads as come to it.

    To the model those of a barrier without a count are who comes, and a thread that waits at an
    mbarrier would not be missed.
    """
    places = [_text_of(code, _place(code, number)) for number in range(len(cells))]
    count = Counter(place for place, each in zip(places, cells, strict=True) if _BARRIER in each)
    return [
        tuple(f"{_BARRIER}, {count[place]}" if cell == _BARRIER else cell for cell in each)
        for place, each in zip(places, cells, strict=True)
    ]


def _blame(
    code: TestCode, readers: list["_PtxReader"], problem: LitmusError, text: str
) -> NoReturn:
    """Raise the error of a cell at the operation that it was written for."""
    row = text.splitlines()[problem.line - 1]
    column = row[: problem.column - 1].count("|")
    place = problem.line - 4
    if place >= 0 and column < len(readers) and place < len(readers[column].origins):
        unreadable(readers[column].origins[place], f"in the PTX model, {problem.message}")
    unreadable(code.test, f"in the PTX model, {problem.message}")


def _head(code: TestCode, number: int) -> str:
    return f"P{number}{_text_of(code, _place(code, number))}"


def _homes(code: TestCode) -> Iterator[tuple[str, str]]:
    """The locations in shared memory, and where that is; without the CTAs that have no thread."""
    places = [_place(code, number) for number in range(len(code.threads))]
    for each in code.locations:
        home = next((place for place in places if place.workgroup == each.workgroup), None)
        if each.space in _SHARED and home is not None:
            yield each.name, _text_of(code, home)
    for op in code.test.locations:
        if op.tensor is not None:
            yield op.sym_name.data, " @ tmem"


def _mbarrier(op: litmus.MbarrierOp) -> str:
    return "mbarrier" if op.count is None else f"mbarrier({op.count.value.data})"


def _place(code: TestCode, number: int) -> Placement:
    return code.threads[number].thread.placement.resolve(number)


def _text_of(code: TestCode, place: Placement) -> str:
    cluster = f"cluster {place.cluster}," if code.test.is_placed_in_clusters else ""
    return f"@cta {place.workgroup},{cluster}gpu {place.agent}"


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What a predicate says: ``left word right``, as a branch would test it."""

    word: str
    left: str
    right: str

    @property
    def outcome(self) -> bool | None:
        """Whether it holds, where both sides are constants."""
        if self.left.startswith("r") or self.right.startswith("r"):
            return None
        return _COMPARE[self.word](int(self.left), int(self.right))


_COMPARE: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "beq": operator.eq,
        "bne": operator.ne,
        "blt": operator.lt,
        "ble": operator.le,
        "bgt": operator.gt,
        "bge": operator.ge,
    }
)
_SETS = {"beq": "setp.eq", "bne": "setp.ne", "blt": "setp.lt.u32", "ble": "setp.le.u32"}
_OPPOSITE = {"beq": "bne", "bne": "beq", "blt": "bge", "bge": "blt", "bgt": "ble", "ble": "bgt"}

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
_WORDS = frozenset({*ORDERINGS, *SCOPES, "volatile", "mmio", "nc", "cas", *ATOMICS})
"""The words of a memory instruction's name that mean something in the model."""


class _PtxReader:
    """One thread; ``lines`` are its cells, ``origins`` the operation that each is from."""

    def __init__(self, test: TestCode, code: ThreadCode):
        self.test = test
        self.code = code
        self.blocks = reachable_blocks(code.body)
        self.labels = Labels(self.blocks)
        self.lines: list[str] = []
        self.origins: list[Operation] = []
        self.origin: Operation = code.thread
        self.operands: dict[SSAValue, str] = {}
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

    def read(self) -> tuple[str, ...]:
        """The thread's instructions."""
        for block in self.blocks:
            for argument in block.args:
                self.operands[argument] = self.fresh()
        self.reached = {self.blocks[0]}
        for number, block in enumerate(self.blocks):
            if block not in self.reached:
                continue
            if number:
                self.add(f"{self.labels[block]}:")
            following = self.blocks[number + 1] if number + 1 < len(self.blocks) else None
            self.observed = []
            for op in block.ops:
                self.origin = op
                self.operation(op, following)
        self.add(f"{_END}:")
        return tuple(self.lines)

    def add(self, line: str) -> None:
        """Append a cell; who goes to where control comes next anyway need not say so."""
        if self.lines and f"goto {line}" == f"{self.lines[-1]}:":
            self.lines.pop()
            self.origins.pop()
        self.lines.append(line)
        self.origins.append(self.origin)

    def places(self) -> Places:
        """Where each of the cells was written."""
        return tuple(map(place_of, self.origins))

    def fresh(self) -> str:
        """A register that nothing else uses."""
        self._registers += 1
        return f"r{self._registers - 1}"

    def result(self, value: SSAValue) -> str:
        """A register for a value that an instruction writes."""
        return self.operands.setdefault(value, self.fresh())

    def operand(self, value: SSAValue) -> str:
        """The register or constant that a value is; a predicate becomes 0 or 1."""
        if value in self.operands:
            return self.operands[value]
        if value in self.predicates:
            return self.materialise(self.predicates[value])
        unreadable(self.origin, "an address is used as a value")

    def compute(self, word: str, left: str, right: str) -> str:
        """``word`` of two operands, in a new register."""
        dst = self.fresh()
        self.add(f"{word} {dst}, {left}, {right}")
        return dst

    def flipped(self, operand: str) -> str:
        """A word with its sign changed, by which signed order becomes unsigned order, and back."""
        if operand.startswith("r"):
            return self.compute("xor", operand, str(SIGN))
        return str(signed(int(operand) & WORD_MASK ^ SIGN))

    def materialise(self, test: _Comparison) -> str:
        """A comparison as 0 or 1, by arithmetic, so that what depends on it depends on data."""
        word, left, right = test.word, test.left, test.right
        if word in ("bgt", "bge"):
            word, left, right = {"bgt": "blt", "bge": "ble"}[word], right, left
        if word in ("blt", "ble"):
            left, right = self.flipped(left), self.flipped(right)
        return self.compute(_SETS[word], left, right)

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
                self.operands[op.dst] = str(op.value.value.data)
            case litmus.AddressOp():
                self.addresses[op.pointer] = op.location_name.string_value()
            case ptx.LoadOp() | ptx.StoreOp() | ptx.AtomicOp():
                self.access(op)
            case ptx.FenceOp():
                self.add(op.opcode.data)
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
            self.operands[op.dst] = str(value)

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
        self.operands[op.dst] = str(known[register])

    def end(self, following: Block | None) -> None:
        for register, value in self.observed:
            self.add(f"mov {register}, {self.operand(value)}")
        if following is not None:
            self.add(f"goto {_END}")

    # Memory

    def access(self, op: ptx.LoadOp | ptx.StoreOp | ptx.AtomicOp) -> None:
        opcode = op.opcode.data
        if op.addr in self.results:
            register = self.results[op.addr]
            if not isinstance(op, ptx.StoreOp) or words_of(opcode)[1] != "weak":
                unreadable(op, f"the argument bound to {register} may only be stored to, weakly")
            self.add(f"mov {register}, {self.operand(op.data)}")
            return
        location = self.location(op.addr)
        match op:
            case ptx.LoadOp():
                operands = [self.result(op.dst), location]
            case ptx.StoreOp():
                operands = [location, self.operand(op.data)]
            case ptx.AtomicOp():
                data = [self.operand(each) for each in op.data]
                takes_old = words_of(opcode)[0] == "atom"
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

    def memory(self, opcode: str, operands: list[str]) -> None:
        """A load, store or atomic by its name in PTX; state space and type are dropped."""
        head, *words = words_of(opcode)
        type = words[-1]
        if type[1:] != "32":
            unreadable(self.origin, f"a location is 32 bits wide; {opcode} is not executed")
        kept = [word for word in words if word in _WORDS]
        if type == "u32" and kept[-1] in ("min", "max"):
            kept.append(type)
        computed = [word for word in words if word in ("inc", "dec")]
        if computed:
            unreadable(self.origin, f"the PTX model does not compute {computed[0]}")
        self.add(f"{'.'.join([head, *kept])} {', '.join(operands)}")

    def barrier(self, op: ptx.BarrierOp) -> None:
        line = read_line(op.opcode.data)
        words = words_of(line.mnemonic)
        if "warp" in words:
            return  # Every thread is a warp of its own.
        if "cluster" in words:
            self.add(".".join(word for word in words if word != "aligned"))
        elif "sync" in words and line.operands == (("0",),):
            self.add("bar.cta.sync 0, 0")
        else:
            self.named_barrier(op, line)

    def named_barrier(self, op: ptx.BarrierOp | ptx.SequenceOp, line: Line) -> None:
        """A barrier of the CTA by its number, at which so many threads meet."""
        part = next((each for each in words_of(line.mnemonic) if each in ("sync", "arrive")), None)
        if part is None:
            unreadable(op, f"the PTX model does not execute {line.mnemonic}")
        number, *count = ("".join(map(str, each)) for each in line.operands)
        threads = [str(_threads_of(op, int(each))) for each in count]
        self.add(f"barrier.cta.{part} {', '.join((number, *threads))}")

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
                missing = OTHER_INSTRUCTIONS.get(words_of(line.mnemonic)[0])
                why = "" if missing is None else f": {missing}"
                unreadable(op, f"the PTX model does not execute '{line.mnemonic}'{why}")
        names = {name for line in lines for name in line.names}
        registers = {name: self.fresh() for name in names - places.keys() - {"dst"}}
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
            self.operands[op.dst] = "1"
            return
        if problem := _reduction_problem(line.mnemonic):
            unreadable(op, problem)
        if line.operands and line.mnemonic.startswith("barrier"):
            self.named_barrier(op, line)
            return
        operands = list(self.operands_of(op, line, places))
        if (tile := places.get("map")) is not None and "tensor" in words_of(line.mnemonic):
            self.add_tensor_copy(op, line, self.location(tile), operands)
            return
        if (size := _ASYNC_STORES.get(line.mnemonic.rpartition(".")[2])) and _is_async_store(line):
            operands.insert(2, str(size))
        self.add(f"{_with_token(line)} {', '.join(operands)}".strip())

    def operands_of(
        self, op: ptx.SequenceOp, line: Line, places: Mapping[str, SSAValue]
    ) -> Iterator[str]:
        """What stands for each operand that the model has a use for."""
        accumulators: set[str] = set()
        for operand in line.operands:
            pieces = [_filled(self, op, line, places, each) for each in operand]
            text = "".join(pieces).strip("[]")
            # Only a list of locations keeps its braces.
            text = text if "," in text else text.strip("{}")
            if (match := _ACCUMULATOR.fullmatch(text)) is not None:
                if match[1] in accumulators:
                    continue
                accumulators.add(match[1])
                text = self.accumulator(match[1])
            if text and not any(isinstance(o, Placeholder) and o.name in _DROPPED for o in operand):
                yield text

    def accumulator(self, name: str) -> str:
        """The one register that stands for those of an accumulator."""
        if name not in self.accumulators:
            self.accumulators[name] = self.fresh()
        return self.accumulators[name]

    def add_tensor_copy(
        self, op: ptx.SequenceOp, line: Line, map: str, operands: list[str]
    ) -> None:
        """A copy through a tensor map, with the memory that the map describes and the tile's size."""
        described = self.test.described(map)
        if described is None:
            unreadable(op, f"location '{map}' does not say what tensor it describes: 'describes'")
        where = f"[{map}, {', '.join(described)}]"
        filled = [where if each == map else each for each in operands]
        if "bulk_group" not in words_of(line.mnemonic):
            size = self.test.size_of(operands[0])
            if size is None:
                unreadable(op, f"location '{operands[0]}' does not say how large it is: 'bytes'")
            filled.insert(2, str(size))
        self.add(f"{line.mnemonic} {', '.join(filled)}")

    def place(self, value: SSAValue, line: Line) -> str:
        """What stands for an operand: a location's name, several, or a register or number."""
        if value not in self.addresses:
            return self.operand(value)
        if words_of(line.mnemonic)[0] != "multimem":
            return self.location(value)
        name = self.addresses[value]
        if not (peers := self.test.peers(name)):
            unreadable(self.origin, f"'{name}' is no multicast address (litmus.multicast)")
        return f"{{{', '.join(peers)}}}"

    def map_shared(self, op: ptx.SequenceOp) -> None:
        """``mapa``: the location that a peer has of the same variable."""
        pointer, rank = op.arguments
        name, number = self.location(pointer), self.operand(rank)
        if number.startswith("r"):
            unreadable(op, "the peer must be a number, as an argument of the kernel")
        peer = self.test.peer(name, int(number))
        if peer is None:
            unreadable(op, f"the test has no location that is '{name}' in work-group {number}")
        assert op.dst is not None
        self.addresses[op.dst] = peer

    def line(self, line: Line, registers: Mapping[str, str]) -> None:
        """One line of a sequence, of the kinds that ``_is_executed``."""

        def filled(operand: Operand) -> str:
            pieces = (registers[o.name] if isinstance(o, Placeholder) else o for o in operand)
            text = "".join(pieces).strip("[]")
            match = _ACCUMULATOR.fullmatch(text)
            return text if match is None else self.accumulator(match[1])

        operands = [filled(each) for each in line.operands]
        if not line.mnemonic:
            self.add(*operands)
        elif line.guard:
            self.add(f"bne {filled(line.guard)}, 0, {operands[0]}")
        elif words_of(line.mnemonic)[0] in _MEMORY:
            self.memory(line.mnemonic, operands)
        else:
            for step in _STEPS[line.mnemonic]:
                self.add(step.format(*operands))

    # Arithmetic and control

    def alu(self, op: ptx.AluOp) -> None:
        head, *words = words_of(op.opcode.data)
        if head == "setp":
            self.compare(op, *words)
        elif head == "selp" and words == ["b32"]:
            chosen, other, condition = map(self.operand, op.arguments)
            opposite = self.compute("sub", "1", condition)
            left = self.compute("mul", condition, chosen)
            right = self.compute("mul", opposite, other)
            self.add(f"add {self.result(op.dst)}, {left}, {right}")
        elif words == ["pred"]:
            self.predicate(op, head)
        elif head == "cvt" and self.widened(op):
            return
        elif (word := _ARITHMETIC.get(op.opcode.data)) is not None:
            left, right = map(self.operand, op.arguments)
            self.add(f"{word} {self.result(op.dst)}, {left}, {right}")
        else:
            unreadable(op, f"the PTX model does not execute {op.opcode.data}")

    def widened(self, op: ptx.AluOp) -> bool:
        """Whether a conversion is of an address, or of a constant that it leaves as it is."""
        (of,) = op.arguments
        if of in self.addresses:
            self.addresses[op.dst] = self.addresses[of]
            return True
        known = self.operands.get(of, "r")
        if known.startswith("r") or int(known) < 0:
            return False
        self.operands[op.dst] = known
        return True

    def compare(self, op: ptx.AluOp, comparison: str, type: str) -> None:
        left, right = map(self.operand, op.arguments)
        test = _Comparison(f"b{comparison}", left, right)
        is_known = test.word in _OPPOSITE and test.outcome is not None
        if (type[1:] != "32" and not is_known) or test.word not in _OPPOSITE:
            unreadable(op, f"the PTX model does not execute {op.opcode.data}")
        if type == "u32" and comparison not in ("eq", "ne"):
            left, right = self.flipped(left), self.flipped(right)
        self.predicates[op.dst] = _Comparison(f"b{comparison}", left, right)

    def predicate(self, op: ptx.AluOp, head: str) -> None:
        """Logic on predicates, which are 0 or 1."""
        if head == "not":
            (of,) = op.arguments
            if of in self.predicates:
                known = self.predicates[of]
                self.predicates[op.dst] = _Comparison(
                    _OPPOSITE[known.word], known.left, known.right
                )
            else:
                self.operands[op.dst] = self.compute("sub", "1", self.operand(of))
            return
        left, right = map(self.operand, op.arguments)
        self.operands[op.dst] = self.compute(head, left, right)

    def jump(self, target: Block, values: tuple[SSAValue, ...], following: Block | None) -> None:
        """Go to ``target``, which need not be said when it comes next."""
        self.reached.add(target)
        pairs = [
            (self.operands[argument], self.operand(value))
            for argument, value in zip(target.args, values, strict=True)
        ]
        for dst, value in in_order(pairs, self.fresh):
            self.add(f"mov {dst}, {value}")
        if target is not following:
            self.add(f"goto {self.labels[target]}")

    def branch(self, op: ptx.CondBranchOp, following: Block | None) -> None:
        test = self.predicates.get(op.predicate)
        if test is None:
            test = _Comparison("bne", self.operand(op.predicate), "0")
        if (known := test.outcome) is not None:
            # The other block is another thread's.
            to = (op.true_target, op.true_arguments) if known else None
            target, arguments = to or (op.false_target, op.false_arguments)
            self.jump(target, tuple(arguments), following)
            return
        simple = not op.true_arguments
        self.reached.add(op.true_target)
        target = self.labels[op.true_target] if simple else self.labels.edge()
        self.add(f"{test.word} {test.left}, {test.right}, {target}")
        self.jump(op.false_target, tuple(op.false_arguments), following if simple else None)
        if not simple:
            self.add(f"{target}:")
            self.jump(op.true_target, tuple(op.true_arguments), following)


def _filled(
    reader: "_PtxReader",
    op: ptx.SequenceOp,
    line: Line,
    places: Mapping[str, SSAValue],
    piece: Placeholder | str,
) -> str:
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
    head, *words = words_of(line.mnemonic)
    return head in ("st", "red") and "async" in words and len(line.operands) == 3


_ASYNC_STORES = {"b32": 4, "u32": 4, "s32": 4}


def _with_token(line: Line) -> str:
    """The mnemonic, which in columns says whether a wait is for a parity or for a token."""
    head, *words = words_of(line.mnemonic)
    if head == "mbarrier" and words[0] in ("try_wait", "test_wait") and "parity" not in words:
        return ".".join((head, words[0], "token", *words[1:]))
    return line.mnemonic


def _is_of_a_unit(line: Line) -> bool:
    """Whether a line is of an asynchronous operation."""
    head, *words = words_of(line.mnemonic)
    return head in _OF_UNITS or "async" in words or "bulk" in words


def _reduction_problem(mnemonic: str) -> str:
    """Why the model cannot compute a reduction, or copy to peers; "" if it can, or if it is neither."""
    head, *words = words_of(mnemonic)
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


_ARITHMETIC: Mapping[str, str] = MappingProxyType(
    {
        "add.s32": "add",
        "sub.s32": "sub",
        "mul.lo.s32": "mul",
        "and.b32": "and",
        "or.b32": "or",
        "xor.b32": "xor",
        "min.s32": "min",
        "max.s32": "max",
    }
)
"""What the model calls the arithmetic that it has."""


def _is_executed(line: Line) -> bool:
    """Whether a line of a sequence is of the kinds that sequences on whole words have."""
    if line.guard:
        return line.mnemonic == "bra"
    head = words_of(line.mnemonic)[0]
    return not line.mnemonic or head in _MEMORY or line.mnemonic in _STEPS


_STEPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        ".reg": (),
        "mov.b32": ("mov {0}, {1}",),
        "neg.s32": ("sub {0}, 0, {1}",),
        "not.b32": ("sub {0}, -1, {1}",),
        "and.b32": ("and {0}, {1}, {2}",),
        "or.b32": ("or {0}, {1}, {2}",),
        "xor.b32": ("xor {0}, {1}, {2}",),
        "setp.ne.b32": ("setp.ne {0}, {1}, {2}",),
    }
)
"""What the instructions of a sequence are in the model, operand by operand; a predicate is 0 or 1."""
