"""Litmus tests of PTX instructions as programs of the PTX model.

Instructions are written as the columns of a PTX litmus test, whose reader is the one place that
knows what they mean. A predicate is kept as the comparison that it is of, and becomes a
register of 0 or 1 only where it is used as a value.
"""

import re
from collections.abc import Iterator, Mapping
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
    IN_COLUMNS,
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
from fencewright.simulator.ptx.columns import ATOMICS, ORDERINGS, parse_litmus
from fencewright.simulator.ptx.instructions import SCOPES
from fencewright.simulator.ptx.model import MODELS

_END = "done"
_SHARED = (AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER)


def read_ptx(code: TestCode, options: ReadOptions) -> PtxTest:
    """The test; raises ``DiagnosticException`` at what the PTX model does not have."""
    text, readers = _written(code)
    test = parse_litmus(text, code.name)
    threads = zip(test.program.threads, readers, strict=True)
    placed = tuple(replace(thread, places=reader.places()) for thread, reader in threads)
    test = replace(test, program=replace(test.program, threads=placed))
    shared = frozenset(each.name for each in code.locations if each.space in _SHARED)
    return PtxTest(test, MODELS[options.ptx_model], code.observed, shared)


def _written(code: TestCode) -> tuple[str, list["_PtxReader"]]:
    readers = [_PtxReader(each) for each in code.threads]
    columns = [[_head(code, n), *reader.read()] for n, reader in enumerate(readers)]
    height = max(map(len, columns))
    rows = [
        " | ".join(column[n] if n < len(column) else "" for column in columns)
        for n in range(height)
    ]
    initial = " ".join(
        [f"{each.name}={signed(each.initial)};" for each in code.locations]
        + [f"{name}{home};" for name, home in _homes(code)]
    )
    lines = [f"PTX {code.name}", f"{{ {initial} }}", *(f" {row} ;" for row in rows)]
    text = "\n".join([*lines, str(code.condition)]) + "\n"
    try:
        parse_litmus(text)
    except LitmusError as problem:
        _blame(code, readers, problem, text)
    return text, readers


def _blame(
    code: TestCode, readers: list["_PtxReader"], problem: LitmusError, text: str
) -> NoReturn:
    """Raise the error of a cell at the operation that it was written for."""
    row = text.splitlines()[problem.line - 1]
    column = row[: problem.column - 1].count("|")
    place = problem.line - 4
    if 0 <= place and column < len(readers) and place < len(readers[column].origins):
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


_SETS = {"beq": "setp.eq", "bne": "setp.ne", "blt": "setp.lt.u32", "ble": "setp.le.u32"}
_OPPOSITE = {"beq": "bne", "bne": "beq", "blt": "bge", "bge": "blt", "bgt": "ble", "ble": "bgt"}

_REGISTER = re.compile(r"r([0-9]+)")
_MEMORY = frozenset({"ld", "st", "atom", "red"})
_WORDS = frozenset({*ORDERINGS, *SCOPES, "volatile", "mmio", "nc", "cas", *ATOMICS})
"""The words of a memory instruction's name that mean something in the model."""


class _PtxReader:
    """One thread; ``lines`` are its cells, ``origins`` the operation that each is from."""

    def __init__(self, code: ThreadCode):
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
        for number, block in enumerate(self.blocks):
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
        """Append a cell."""
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
        return self.addresses[address]

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
            unreadable(op, f"the PTX model does not execute {op.opcode.data}")

    def sequence(self, op: ptx.SequenceOp) -> None:
        """Instructions with registers and labels of their own, as the loop around a swap."""
        places = {place.data: value for place, value in zip(op.places, op.arguments, strict=True)}
        lines = [read_line(each.data) for each in op.lines]
        for line in lines:
            if not _is_executed(line):
                unreadable(
                    op, f"the simulator does not execute '{line.mnemonic}' yet; {IN_COLUMNS}"
                )
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

    def line(self, line: Line, registers: Mapping[str, str]) -> None:
        """One line of a sequence, of the kinds that ``_is_executed``."""

        def filled(operand: Operand) -> str:
            pieces = (registers[o.name] if isinstance(o, Placeholder) else o for o in operand)
            return "".join(pieces).strip("[]")

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
        elif (word := _ARITHMETIC.get(op.opcode.data)) is not None:
            left, right = map(self.operand, op.arguments)
            self.add(f"{word} {self.result(op.dst)}, {left}, {right}")
        else:
            unreadable(op, f"the PTX model does not execute {op.opcode.data}")

    def compare(self, op: ptx.AluOp, comparison: str, type: str) -> None:
        if type[1:] != "32" or f"b{comparison}" not in _OPPOSITE:
            unreadable(op, f"the PTX model does not execute {op.opcode.data}")
        left, right = map(self.operand, op.arguments)
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
        simple = not op.true_arguments
        target = self.labels[op.true_target] if simple else self.labels.edge()
        self.add(f"{test.word} {test.left}, {test.right}, {target}")
        self.jump(op.false_target, tuple(op.false_arguments), following if simple else None)
        if not simple:
            self.add(f"{target}:")
            self.jump(op.true_target, tuple(op.true_arguments), following)


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
