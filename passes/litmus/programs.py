"""Litmus tests of a module as programs of the simulator: the common part of every language.

``find_tests`` gives each ``litmus.test`` of a module with the language of its threads: ``scoped``
(with ``arith`` and ``cf``), CDNA instructions or PTX instructions. A thread is a body of its own
or a kernel of the module with its arguments bound to locations and registers. What they are in
the simulator is in ``source.py``, ``cdna.py`` and ``ptx.py``.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, NoReturn, TypeVar

from xdsl.dialects.builtin import FileLineColLoc, IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.gpu import FuncOp as GPUFuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import FastStrEnum, L2PerAgent
from fencewright.mlir_dialects.litmus import (
    KernelOp,
    TestOp,
    ThreadArgument,
    ThreadOp,
    registers_of,
)
from fencewright.mlir_dialects.scoped_async import OF_UNITS
from fencewright.passes.analysis.control_flow import top_level
from fencewright.passes.analysis.parallel_copies import in_order
from fencewright.passes.litmus.outlining import is_of_a_target
from fencewright.simulator.cdna.rows import Interpretation
from fencewright.simulator.core.condition import (
    And,
    Condition,
    Memory,
    Observable,
    Quantifier,
    Register,
)
from fencewright.simulator.core.program import (
    SIGN,
    WORD_MASK,
    Arithmetic,
    ArithmeticKind,
    Common,
    Location,
    Move,
    Operand,
    Places,
)


class Language(FastStrEnum):
    """The language of the threads of a test."""

    SCOPED = "scoped"
    CDNA = "cdna"
    PTX = "ptx"


TRUE = Condition(Quantifier.FORALL, And(()))
"""The condition of a test that has none."""


def unreadable(op: Operation, problem: str) -> NoReturn:
    """Raise the error at ``op`` that the simulator cannot execute it."""
    op.emit_error(problem, DiagnosticException(problem))


def place_of(op: Operation) -> SourceLocation | None:
    """The source position of an operation; None if not known."""
    at = op.location
    return (
        SourceLocation(at.filename.data, at.line.data) if isinstance(at, FileLineColLoc) else None
    )


@dataclass(frozen=True, slots=True)
class ThreadCode:
    """A thread with the code that it runs: its own body, or a kernel's.

    ``kernel`` is None for a body of its own; ``arguments`` are what the kernel's are bound to.
    """

    number: int
    thread: ThreadOp
    kernel: Operation | None
    body: Region
    arguments: tuple[ThreadArgument, ...]

    @property
    def registers(self) -> tuple[str, ...]:
        """The names of the registers that outcomes record."""
        return registers_of(self.thread)


@dataclass(frozen=True, slots=True)
class TestCode:
    """A test with its threads' code, all in one ``language``."""

    test: TestOp
    language: Language
    threads: tuple[ThreadCode, ...]

    @property
    def name(self) -> str:
        """The test's name."""
        return self.test.sym_name.data

    @property
    def is_in_kernels(self) -> bool:
        """True if every thread runs a kernel."""
        return all(each.kernel is not None for each in self.threads)

    @property
    def condition(self) -> Condition:
        """The condition that it is judged by."""
        return TRUE if (condition := self.test.condition) is None else condition

    @property
    def locations(self) -> tuple[Location, ...]:
        """The locations for the simulator."""
        return tuple(
            Location(
                each.sym_name.data,
                each.initial.value.data & WORD_MASK,
                each.memory_kind,
                each.address_space,
                _number(each.workgroup),
            )
            for each in self.test.locations
        )

    @property
    def variables(self) -> Mapping[tuple[str, int], str]:
        """The locations and mbarriers, by the variable that each is in LDS and its work-group."""
        found: dict[tuple[str, int], str] = {}
        for each in (*self.test.locations, *self.test.mbarriers):
            named = each.sym_name.data if each.variable is None else each.variable.string_value()
            found.setdefault((named, _number(each.workgroup)), each.sym_name.data)
        return found

    @property
    def multicasts(self) -> Mapping[str, tuple[str, ...]]:
        """The names by which each multicast address accesses its locations."""
        return {each.sym_name.data: tuple(each.aliases) for each in self.test.multicasts}

    @property
    def aliases(self) -> tuple[tuple[str, str], ...]:
        """The further names of locations, with the locations."""
        return tuple(
            named for each in self.test.multicasts if each.aliased for named in each.aliases.items()
        )

    @property
    def observed(self) -> tuple[Observable, ...]:
        """The observables that outcomes record: observed registers by thread, then locations."""
        registers = [Register(t.number, name) for t in self.threads for name in t.registers]
        return (*registers, *(Memory(each.sym_name.data) for each in self.test.locations))


def _number(workgroup: IntegerAttr | None) -> int:
    """The work-group that something in LDS belongs to."""
    return 0 if workgroup is None else workgroup.value.data


def find_tests(module: ModuleOp) -> Iterator[TestCode]:
    """The tests of a module. Raises ``DiagnosticException`` at what does not fit together."""
    kernels = {
        symbol.data: op
        for op in top_level(module)
        if (trait := op.get_trait(SymbolOpInterface)) is not None
        and (symbol := trait.get_sym_attr_name(op)) is not None
    }
    for op in module.ops:
        if isinstance(op, TestOp):
            yield _test_code(op, kernels)


def _test_code(test: TestOp, kernels: Mapping[str, Operation]) -> TestCode:
    threads = [_thread_code(n, each, kernels) for n, each in enumerate(test.threads)]
    if not threads:
        unreadable(test, "a test needs a thread")
    languages = {each.number: _language(each) for each in threads}
    first = languages[0]
    for each in threads:
        if languages[each.number] is not first:
            unreadable(
                each.thread,
                f"P{each.number} is in {languages[each.number]}, P0 in {first}: "
                "the threads of a test are in one language",
            )
    return TestCode(test, first, tuple(threads))


def _thread_code(number: int, thread: ThreadOp, kernels: Mapping[str, Operation]) -> ThreadCode:
    if thread.kernel is None:
        return ThreadCode(number, thread, None, thread.body, ())
    name = thread.kernel.string_value()
    kernel = kernels.get(name)
    if isinstance(kernel, KernelOp):
        problem = f"'{name}' is a kernel of another file: fence-sim run FILE --litmus HARNESS"
        unreadable(thread, problem)
    if kernel is None or len(kernel.regions) != 1 or not kernel.regions[0].blocks:
        unreadable(thread, f"there is no kernel '{name}' in the module")
    return ThreadCode(number, thread, kernel, kernel.regions[0], thread.bound_arguments)


_KERNELS = {"cdna.kernel": Language.CDNA, "ptx.kernel": Language.PTX}


def _language(code: ThreadCode) -> Language:
    kernel = code.kernel
    if kernel is None:
        if not is_of_a_target(code.thread):
            return Language.SCOPED
        return Language(next(n for n in _dialects(code.thread.code) if n in tuple(Language)))
    if isinstance(kernel, FuncOp | GPUFuncOp):
        return Language.SCOPED
    if kernel.name not in _KERNELS:
        unreadable(code.thread, f"'{kernel.name}' is not a kernel that can be executed")
    return _KERNELS[kernel.name]


def _dialects(code: Iterable[Operation]) -> Iterator[str]:
    return (op.name.partition(".")[0] for op in code if not op.name.startswith("scoped."))


def check_executed(code: TestCode) -> None:
    """Raise the error at an asynchronous operation, which the source model does not have."""
    for thread in code.threads:
        for op in thread.body.walk():
            if type(op) in OF_UNITS:
                unreadable(
                    op,
                    f"'{op.name}' is executed as PTX, not as written: lower it with --mcpu sm_90 "
                    "or newer",
                )


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Properties of the machine that a module lacks: L2s of an agent, version of the PTX model.

    ``chip`` is where CDNA instructions run that are not in kernels, which have one: None for the
    default, gfx942. ``tgsplit`` is its mode. ``readings``: those of points that its documents
    leave open; None for those by default.
    """

    l2_per_agent: L2PerAgent | None = None
    ptx_model: str = "7.5"
    chip: str | None = None
    tgsplit: bool = False
    readings: frozenset[Interpretation] | None = None


def location_of(argument: ThreadArgument) -> str | None:
    """The location that an argument is bound to; None for a register or a number."""
    return argument.string_value() if isinstance(argument, SymbolRefAttr) else None


def register_of(argument: ThreadArgument) -> str | None:
    """The register that an argument is bound to; None for a location or a number."""
    return argument.data if isinstance(argument, StringAttr) else None


def number_of(argument: ThreadArgument) -> int | None:
    """The number that an argument is; None for a location or a register."""
    return argument.value.data if isinstance(argument, IntegerAttr) else None


def check_argument(code: "ThreadCode", number: int, type: object, is_value: bool) -> None:
    """Raise the error that argument ``number`` is a value and not bound to one, or the opposite."""
    if (number_of(code.arguments[number]) is None) is is_value:
        wanted = "a number" if is_value else "a location or a register"
        unreadable(code.thread, f"argument {number} of the kernel, {type}, needs {wanted}")


# Code of one thread

InstructionT = TypeVar("InstructionT")

_TEMPORARY = "t"


class Listing(Generic[InstructionT]):
    """The instructions of one thread, appended one by one; arithmetic on 32-bit words.

    Every method that computes returns the operand that holds the result.
    """

    def __init__(self) -> None:
        self.instructions: list[InstructionT | Common] = []
        self.place: SourceLocation | None = None
        self._places: list[SourceLocation | None] = []
        self._temporaries = 0

    def add(self, instruction: InstructionT | Common) -> None:
        """Append an instruction, which was written at ``place``."""
        self.instructions.append(instruction)
        self._places.append(self.place)

    @property
    def places(self) -> Places:
        """The source position of each instruction."""
        return tuple(self._places)

    def temporary(self) -> str:
        """A register that nothing else uses."""
        self._temporaries += 1
        return f"{_TEMPORARY}{self._temporaries}"

    def compute(self, kind: ArithmeticKind, a: Operand, b: Operand) -> str:
        """``a kind b``."""
        dst = self.temporary()
        self.add(Arithmetic(kind, dst, a, b))
        return dst

    def compare(self, predicate: str, signed: bool, a: Operand, b: Operand) -> str:
        """1 if ``a predicate b`` (eq, ne, lt, le, gt, ge), else 0."""
        if predicate in ("gt", "ge"):
            a, b, predicate = b, a, {"gt": "lt", "ge": "le"}[predicate]
        if signed and predicate in ("lt", "le"):
            a = self.compute(ArithmeticKind.XOR, a, SIGN)
            b = self.compute(ArithmeticKind.XOR, b, SIGN)
        return self.compute(ArithmeticKind(predicate), a, b)

    def select(self, condition: Operand, a: Operand, b: Operand) -> str:
        """``a`` if ``condition`` is 1, ``b`` if it is 0; depends on all three."""
        opposite = self.compute(ArithmeticKind.XOR, condition, 1)
        chosen = self.compute(ArithmeticKind.MUL, condition, a)
        other = self.compute(ArithmeticKind.MUL, opposite, b)
        return self.compute(ArithmeticKind.ADD, chosen, other)

    def extreme(self, predicate: str, signed: bool, a: Operand, b: Operand) -> str:
        """The smaller (``lt``) or greater (``gt``) of the two."""
        return self.select(self.compare(predicate, signed, a, b), a, b)

    def assign(self, dst: str, value: Operand) -> None:
        """``dst = value``; a value just computed for it is computed there."""
        last = self.instructions[-1] if self.instructions else None
        if (
            isinstance(value, str)
            and value.startswith(_TEMPORARY)
            and isinstance(last, Arithmetic)
            and last.dst == value
        ):
            self.instructions[-1] = replace(last, dst=dst)
        elif dst != value:
            self.add(Move(dst, value))

    def move(self, pairs: Iterable[tuple[str, Operand]]) -> None:
        """Copies that happen at once."""
        for dst, value in in_order(pairs, lambda _: self.temporary()):
            self.add(Move(dst, value))


class Labels:
    """Names for the blocks of a body, and for places on the edges between them."""

    def __init__(self, blocks: Iterable[Block]):
        self._names = {block: f"bb{number}" for number, block in enumerate(blocks)}
        self._edges = 0

    def __getitem__(self, block: Block) -> str:
        """The label of a block."""
        return self._names[block]

    def edge(self) -> str:
        """A new label."""
        self._edges += 1
        return f"edge{self._edges}"


def names_of_values(body: Region, taken: Iterable[str] = ()) -> dict[SSAValue, str]:
    """A name for every value of a body: its hint if it has one, made unique by numbers."""
    names: dict[SSAValue, str] = {}
    used = set(taken)

    def name(value: SSAValue) -> None:
        base = value.name_hint or "v"
        candidate, number = base, 0
        while candidate in used or (value.name_hint is None and number == 0):
            number += 1
            candidate = f"{base}{number}" if value.name_hint is None else f"{base}_{number}"
        used.add(candidate)
        names[value] = candidate

    for block in body.blocks:
        for argument in block.args:
            name(argument)
        for op in block.ops:
            for result in op.results:
                name(result)
    return names
