"""Litmus tests of CDNA instructions as programs of the CDNA machine.

The code of each thread is printed as assembly, and what is executed is read from that text by
the reader of everybody's assembly, so that a verdict is about the text. A body that is no
kernel is printed the same way; the addresses in it are those of symbols, and what it observes
is looked at where it ends.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation, Region, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.cdna.assembly import Printed
from fencewright.lowering.cdna.chips import DEFAULT_CHIP, KNOWN_CHIPS
from fencewright.lowering.cdna.code.text import Function, read_assembly
from fencewright.lowering.cdna.instructions import has_instruction
from fencewright.lowering.cdna.kernel import USER_REGISTERS, block_label
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent
from fencewright.mlir_dialects import cdna, litmus
from fencewright.mlir_dialects.litmus import ThreadArgument
from fencewright.passes.analysis.caches import modifiers_of
from fencewright.passes.analysis.control_flow import reachable_blocks
from fencewright.passes.litmus.programs import (
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
from fencewright.passes.litmus.registers import WithRegisters
from fencewright.passes.print.cdna import CodePrinter, PrintedCode, print_kernel
from fencewright.simulator.cdna.instructions import CdnaInstruction
from fencewright.simulator.cdna.rows import DEFAULT_READINGS, CdnaConfiguration
from fencewright.simulator.core.program import (
    LitmusTest,
    Move,
    Placement,
    Program,
    ProgramError,
    Thread,
)
from fencewright.simulator.litmus_run import CdnaTest
from fencewright.simulator.programs.amd.thread import (
    HazardError,
    ThreadLaunch,
    UnreadableError,
    read_thread,
)
from fencewright.simulator.programs.amd.thread import ThreadCode as ReadThread


class UnwaitedArgumentError(DiagnosticException):
    """Code that uses an argument before the scalar load of it has been waited for, which is
    wrong."""


_CACHED = (AddressSpace.GENERIC, AddressSpace.GLOBAL)
"""The spaces of the instructions that take cache policy bits."""


def read_cdna(code: TestCode, options: ReadOptions) -> CdnaTest:
    """The test; raises ``DiagnosticException`` at a feature that the CDNA machine lacks."""
    kernels = [each.kernel for each in code.threads if isinstance(each.kernel, cdna.KernelOp)]
    modes = {(each.chip.data, each.tgsplit is not None) for each in kernels}
    configuration = _machine(code, options, modes)
    reader = _TestReader(code, configuration)
    threads = tuple(
        reader.thread(each, place)
        for each, place in zip(code.threads, _placements(code, configuration), strict=True)
    )
    program = Program(code.locations, threads, code.observed, code.name)
    return CdnaTest(LitmusTest(program, code.condition), configuration)


def read_functions(code: TestCode, functions: Sequence[Function], options: ReadOptions) -> CdnaTest:
    """The test on kernels of an assembly file, one for each thread.

    Raises ``UnreadableError``, ``DiagnosticException`` at what the CDNA machine does not have.
    """
    modes = {(each.chip, _is_split(each)) for each in functions}
    configuration = _machine(code, options, modes)
    places = _placements(code, configuration)
    groups = [(each.workgroup, each.cluster, each.agent) for each in places]
    threads = [
        _thread_of(function, code.threads[n], places[n], groups[:n].count(groups[n]), configuration)
        for n, function in enumerate(functions)
    ]
    program = Program(code.locations, tuple(threads), code.observed, code.name)
    return CdnaTest(LitmusTest(program, code.condition), configuration)


def _is_split(function: Function) -> bool:
    """True of a kernel in tgsplit mode, or in the like of another chip."""
    row = KNOWN_CHIPS.get(function.chip)
    split = None if row is None else row.split_mode
    return split is not None and split.is_on(function.descriptor)


def _thread_of(
    function: Function,
    code: ThreadCode,
    place: Placement,
    number: int,
    configuration: CdnaConfiguration,
) -> Thread[CdnaInstruction]:
    """One thread, of this ``number`` in its work-group, which runs a kernel of a file."""
    given = [each for each in function.arguments if not each.is_hidden]
    if len(code.arguments) != len(given):
        problem = f"'{function.name}' has {len(given)} arguments, the thread gives"
        raise UnreadableError(function, 1, f"{problem} {len(code.arguments)}")
    bound = {each.name: to for each, to in zip(given, code.arguments, strict=True)}
    found = read_thread(function, _bindings(bound, _entry(function, place, number), configuration))
    places = tuple(SourceLocation(function.file, line) for line in found.lines)
    return Thread(place, found.instructions, places)


def _entry(function: Function, place: Placement, number: int) -> Mapping[str, int]:
    """Registers as the hardware sets them up for a work-item of a work-group."""
    row = KNOWN_CHIPS[function.chip]
    if row.ready_workgroup_ids:
        return {"ttmp9": place.workgroup, "ttmp7": 0, "ttmp6": 0, "v0": number}
    given = function.descriptor
    user = sum(count for name, count in USER_REGISTERS if given.get(f"user_sgpr_{name}"))
    first = max(user, given.get("user_sgpr_count", 0))
    ids = {"x": place.workgroup, "y": 0, "z": 0}
    enabled = [axis for axis in ids if given.get(f"system_sgpr_workgroup_id_{axis}", axis == "x")]
    return {"v0": number} | {f"s{first + n}": ids[axis] for n, axis in enumerate(enabled)}


def _bindings(
    bound: Mapping[str, ThreadArgument],
    registers: Mapping[str, int],
    configuration: CdnaConfiguration,
) -> ThreadLaunch:
    """The launch of a thread whose arguments are ``bound``, by their names."""
    return ThreadLaunch(
        {name: n for name, to in bound.items() if (n := number_of(to)) is not None},
        {(name, 0): at for name, to in bound.items() if (at := location_of(to)) is not None},
        registers,
        {name: at for name, to in bound.items() if (at := register_of(to)) is not None},
        configuration=configuration,
    )


def _machine(
    code: TestCode, options: ReadOptions, modes: set[tuple[str, bool]]
) -> CdnaConfiguration:
    """The machine of the chip and mode of all kernels, or of ``options`` if there are none.

    Raises ``DiagnosticException`` for several of them, and for one of no chip.
    """
    if len(modes) > 1:
        unreadable(code.test, "the threads of a test run on one chip in one mode")
    named, tgsplit = modes.pop() if modes else (options.chip, options.tgsplit)
    chip = named or DEFAULT_CHIP
    if chip not in KNOWN_CHIPS:
        known = ", ".join(KNOWN_CHIPS)
        unreadable(code.test, f"{chip} has no CDNA machine; those of {known} are simulated")
    readings = DEFAULT_READINGS if options.readings is None else options.readings
    configuration = CdnaConfiguration(chip, tgsplit, options.l2_per_agent, readings)
    try:
        configuration.access_effect(Kind.LOAD, ())
    except ProgramError as problem:
        unreadable(code.test, str(problem))
    return configuration


def _placements(code: TestCode, configuration: CdnaConfiguration) -> list[Placement]:
    """The places of threads; with one L2 per agent there are no XCDs, and their CUs are of one."""
    places = [each.thread.placement.resolve(each.number) for each in code.threads]
    if configuration.l2_per_agent is not L2PerAgent.ONE:
        return places
    cus = sorted({(each.xcd, each.cu) for each in places})
    return [
        Placement(each.workgroup, cus.index((each.xcd, each.cu)), 0, each.agent, each.cluster)
        for each in places
    ]


@dataclass(frozen=True, slots=True)
class _ReadCode:
    """Code that was printed and read again: as a function, and the operations of its lines.

    ``observed``: what is looked at in each line in which the wave ends, as ``ThreadLaunch`` has it.
    """

    function: Function
    operations: Mapping[int, Operation]
    observed: Mapping[int, tuple[tuple[str, str], ...]]

    @property
    def places(self) -> Mapping[int, SourceLocation | None]:
        """The place of the operation of each line."""
        return {line: place_of(op) for line, op in self.operations.items()}


class _TestReader:
    """Reads the threads of a test; a kernel that several of them run is printed once."""

    def __init__(self, code: TestCode, configuration: CdnaConfiguration):
        self.configuration = configuration
        self.symbols = {each.name: f"location{n}" for n, each in enumerate(code.locations)}
        self.read: dict[Operation, _ReadCode] = {}

    def thread(self, code: ThreadCode, place: Placement) -> Thread[CdnaInstruction]:
        """One thread, with the place of each instruction's operation."""
        at = code.thread if code.kernel is None else code.kernel
        if at not in self.read:
            self.read[at] = self._read(code)
        read = self.read[at]
        launch = self._launch(code, read, place)
        try:
            found = read_thread(read.function, launch)
        except UnreadableError as error:
            at = read.operations.get(error.line, code.thread)
            if isinstance(error, HazardError):
                at.emit_error(error.problem, UnwaitedArgumentError(error.problem))
            unreadable(at, error.problem)
        _check_results(found, read.operations, launch.outcome)
        return Thread(place, found.instructions, tuple(map(read.places.get, found.lines)))

    def _read(self, code: ThreadCode) -> _ReadCode:
        """The code of a thread, printed and read again."""
        kernel = code.kernel
        if isinstance(kernel, cdna.KernelOp) and kernel.uses_scratch is not None:
            unreadable(kernel, "the CDNA machine has no private memory")
        _check(code.body, self.configuration)
        if isinstance(kernel, cdna.KernelOp):
            copy = WithRegisters(kernel.body)
            printed = print_kernel(kernel, copy.body)
        else:
            copy = WithRegisters(code.body)
            printed = _BodyPrinter(copy.body, self.configuration, self.symbols).text()
        (function,) = read_assembly(printed.text).functions.values()
        # By their numbers: an argument for a location and one for a register may have one name.
        numbered = (replace(each, name=f"{n}") for n, each in enumerate(function.arguments))
        function = replace(function, arguments=tuple(numbered))
        operations = {line: copy.original(op) for line, op in printed.operations.items()}
        return _ReadCode(function, operations, dict(_observed(printed)))

    def _launch(self, code: ThreadCode, read: _ReadCode, place: Placement) -> ThreadLaunch:
        """The values with which the thread begins, by the names that its code has for them."""
        if not isinstance(code.kernel, cdna.KernelOp):
            locations = {(symbol, 0): name for name, symbol in self.symbols.items()}
            return ThreadLaunch({}, locations, observed=read.observed)
        _check_arguments(code, code.kernel)
        bound = {f"{n}": each for n, each in enumerate(code.arguments)}
        return _bindings(bound, _ids(code.kernel, place), self.configuration)


def _check_arguments(code: ThreadCode, kernel: cdna.KernelOp) -> None:
    if len(code.arguments) != len(kernel.arguments):
        unreadable(
            code.thread,
            f"the kernel takes {len(kernel.arguments)} arguments, the thread binds "
            f"{len(code.arguments)}",
        )
    for number, argument in enumerate(kernel.arguments):
        check_argument(code, number, argument.kind.data, argument.kind.data == "value")


def _check_results(
    found: ReadThread, operations: Mapping[int, Operation], outcome: frozenset[str]
) -> None:
    """Refuse a store to an argument bound to a register that synchronises: it is not executed."""
    for instruction, line in zip(found.instructions, found.lines, strict=True):
        if not isinstance(instruction, Move) or instruction.dst not in outcome:
            continue
        op = operations.get(line)
        if isinstance(op, cdna.StoreOp) and op.phase is not None:
            unreadable(op, f"the argument bound to {instruction.dst} is stored to weakly")


def _ids(kernel: cdna.KernelOp, place: Placement) -> Mapping[str, int]:
    """Ids that the hardware provides: the work-group's number, and lane 0."""
    ids = kernel.workgroup_ids.value.data
    registers = [_first_register(each) for each in kernel.body.blocks[0].args[1:]]
    values = {name: place.workgroup if n == 0 and ids else 0 for n, name in enumerate(registers)}
    size = 1 if kernel.cluster_size is None else next(iter(kernel.cluster_size)).value.data
    ready = {"ttmp9": place.workgroup // size, "ttmp7": 0, "ttmp6": place.workgroup % size}
    return values | (ready if cdna.chip_of(kernel).ready_workgroup_ids else {})


def _first_register(value: SSAValue) -> str:
    type = cdna.register_of(value)
    return f"{type.PREFIX}{type.first}"


def _observed(printed: PrintedCode) -> Iterator[tuple[int, tuple[tuple[str, str], ...]]]:
    """The values that are observed in each line in which the wave ends: those of its block."""
    for line, op in printed.operations.items():
        if not isinstance(op, _ENDS) or op.parent is None:
            continue
        seen = (each for each in op.parent.ops if isinstance(each, litmus.ObserveOp))
        yield line, tuple((each.register.data, _first_register(each.value)) for each in seen)


_ENDS = cdna.EndOp | litmus.EndOp


class _BodyPrinter(CodePrinter):
    """A thread's body as a function, which is no kernel: addresses are those of ``symbols``."""

    def __init__(self, body: Region, configuration: CdnaConfiguration, symbols: Mapping[str, str]):
        super().__init__(body, "thread", configuration.row)
        self.symbols = symbols

    def lines(self, op: Operation) -> list[Printed]:
        """The lines of one operation; an observation has none."""
        match op:
            case litmus.AddressOp():
                type = cdna.register_of(op.pointer)
                move = "s_mov_b32" if isinstance(type, cdna.SGPRType) else "v_mov_b32_e32"
                symbol = self.symbols[op.location_name.string_value()]
                return [
                    Printed(f"{move} {type.part(n)}, {symbol}@abs32@{half}")
                    for n, half in zip(range(type.size.data), ("lo", "hi"), strict=False)
                ]
            case litmus.ObserveOp():
                return []
            case litmus.EndOp():
                return [Printed("s_endpgm")]
            case _:
                return super().lines(op)

    def text(self) -> PrintedCode:
        """The function as an assembly file of its own."""
        printed = list(self.blocks())
        lines = [
            f'.amdgcn_target "amdgcn-amd-amdhsa--{self.chip.name}"',
            f".type {self.name},@function",
            f"{self.name}:",
        ]
        first = len(lines) + 1
        for number, block in enumerate(printed):
            if number in self.targets:
                lines.append(f"{block_label(self.name, number)}:")
            lines += [each.text for each in block]
        lines += [".Lfunc_end0:", ""]
        texts = [[each.text for each in block] for block in printed]
        return PrintedCode("\n".join(lines), self.operations_of(printed, texts, first))


# Checks of operations


def _check(body: Region, configuration: CdnaConfiguration) -> None:
    """Refuse instructions, cache policy bits and counters that the chip does not have."""
    counters = [str(counter) for counter in configuration.row.counters]
    for op in (op for block in reachable_blocks(body) for op in block.ops):
        match op:
            case cdna.AsyncMarkOp() | cdna.AsyncWaitOp():
                unreadable(op, f"the CDNA machine does not have '{op.name}'")
            case cdna.OpcodeOp():
                _check_opcode(op, configuration)
            case cdna.WaitOp() if missing := op.counts.given.keys() - frozenset(counters):
                chip = configuration.chip
                unreadable(op, f"{chip} has no {min(missing)}; it has {', '.join(counters)}")
            case cdna.InstructionOp() | litmus.AddressOp() | litmus.ObserveOp() | litmus.EndOp():
                continue
            case _:
                unreadable(op, f"the CDNA machine does not have '{op.name}'")


def _check_opcode(op: cdna.OpcodeOp, configuration: CdnaConfiguration) -> None:
    chip, mnemonic, row = configuration.chip, op.opcode.data, op.row
    if not has_instruction(chip, row):
        having = (each for each in KNOWN_CHIPS if has_instruction(each, row))
        unreadable(op, f"{chip} has no {mnemonic}; {', '.join(sorted(having))} have it")
    try:
        if isinstance(op, cdna.CacheOp):
            configuration.cache_effect(mnemonic, modifiers_of(op))
        elif isinstance(op, cdna.MemoryOp) and row.space in _CACHED:
            effect = configuration.access_effect(row.access, modifiers_of(op))
            if isinstance(op, cdna.AtomicOp) and effect.returns is not row.returns:
                unreadable(op, "the bit that asks for the old value and the register go together")
    except ProgramError as problem:
        unreadable(op, str(problem))
