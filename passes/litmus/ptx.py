"""Litmus tests of PTX instructions: printed, and read back as everybody's PTX is read.

So a verdict is about the text that leaves the project. What a thread runs is printed by
``passes.print.ptx``, read by ``lowering.ptx.code.text``, and executed as
``simulator.programs.nvidia`` says; instructions and errors stand at the operations that they were
printed of.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, StringAttr, SymbolRefAttr, i64
from xdsl.ir import Attribute, Operation, Region

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.chip import CHIPS, VERSIONS
from fencewright.lowering.ptx.code.text import PtxError, PtxFile, PtxFunction
from fencewright.lowering.ptx.code.text import read_ptx as read_text
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import litmus, ptx
from fencewright.mlir_dialects.attributes import count_attr
from fencewright.mlir_dialects.litmus import ThreadArgument
from fencewright.passes.analysis.control_flow import top_level
from fencewright.passes.litmus.outlining import cluster_of
from fencewright.passes.litmus.programs import (
    ReadOptions,
    TestCode,
    ThreadCode,
    location_of,
    number_of,
    place_of,
    register_of,
    unreadable,
)
from fencewright.passes.print.ptx import PRINTED, listing
from fencewright.simulator.core.program import Location, Placement, Thread, signed
from fencewright.simulator.litmus_run import PtxTest
from fencewright.simulator.programs.nvidia import (
    Argument,
    KnownMemory,
    LaunchIndex,
    ToLocation,
    ToRegister,
    read_column,
)
from fencewright.simulator.ptx.builder import ModelError, check_arrivals, complete
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest
from fencewright.simulator.ptx.instructions import (
    Alias,
    Bar,
    BarrierRole,
    PtxInstruction,
    PtxProgram,
)
from fencewright.simulator.ptx.model import MODELS

_SHARED = (AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER)


def read_ptx(code: TestCode, options: ReadOptions) -> PtxTest:
    """The test; raises ``DiagnosticException`` at a feature that the PTX model lacks."""
    origins: dict[Operation, Operation] = {}
    code = _in_kernels(code, origins)
    kernels = list(dict.fromkeys(_kernel(each) for each in code.threads))
    for each in code.threads:
        _check_arguments(each)
    module = code.test.parent_op()
    declared = top_level(module) if isinstance(module, ModuleOp) else ()
    printed = listing(kernels, [op for op in declared if isinstance(op, ptx.VariableOp)])
    operations = {line: origins.get(op, op) for line, op in printed.operations.items()}
    try:
        file = read_text(printed.text)
        entries = [file.functions[_kernel(each).sym_name.data] for each in code.threads]
        return ptx_test(code, entries, file, options.ptx_model, _places(operations))
    except PtxError as problem:
        unreadable(operations.get(problem.line, code.test), problem.problem)


def _places(operations: Mapping[int, Operation]) -> Callable[[int], SourceLocation | None]:
    return lambda line: place_of(operations[line])


def _kernel(thread: ThreadCode) -> ptx.KernelOp:
    assert isinstance(thread.kernel, ptx.KernelOp)
    return thread.kernel


def _check_arguments(thread: ThreadCode) -> None:
    kernel, given = _kernel(thread), len(thread.arguments)
    if given != (wanted := len(kernel.parameters)):
        name = kernel.sym_name.data
        problem = f"'{name}' has {wanted} parameters, the thread gives {given}"
        unreadable(thread.thread, problem)


# Bodies of threads


def _in_kernels(code: TestCode, origins: dict[Operation, Operation]) -> TestCode:
    """The test with a kernel for the body of each thread that has one.

    ``origins`` gets the operations of the kernels, with those of the bodies.
    """
    taken = {_kernel(each).sym_name.data for each in code.threads if each.kernel is not None}
    return replace(
        code,
        threads=tuple(
            each if each.kernel is not None else _Body(each, origins).outlined(taken)
            for each in code.threads
        ),
    )


class _Body:
    """A copy of a thread's body as that of a kernel; addresses and registers are parameters."""

    def __init__(self, code: ThreadCode, origins: dict[Operation, Operation]):
        self.code = code
        self.origins = origins
        self.arguments: list[SymbolRefAttr | StringAttr] = []
        self.widths: list[int] = []

    def outlined(self, taken: set[str]) -> ThreadCode:
        """The thread, which runs a kernel with a name that is not ``taken``."""
        name = self.code.thread.sym_name.data
        while name in taken:
            name += "_"
        body = Region()
        self.code.body.clone_into(body)
        for block, copied in zip(self.code.body.blocks, body.blocks, strict=True):
            for op, copy in zip(tuple(block.ops), tuple(copied.ops), strict=True):
                self.replace(op, copy)
        kernel = ptx.KernelOp.create(
            properties={
                "sym_name": StringAttr(name),
                "target": StringAttr(CHIPS[-1].name),
                "version": StringAttr("{}.{}".format(*VERSIONS[-1])),
                "parameters": DenseArrayBase.from_list(i64, self.widths),
            },
            regions=[body],
        )
        self.origins[kernel] = self.code.thread
        return replace(self.code, kernel=kernel, body=body, arguments=tuple(self.arguments))

    def replace(self, op: Operation, copy: Operation) -> None:
        """Put instructions in the place of the ``copy`` of an operation that is none."""
        if type(copy) in PRINTED:
            self.origins[copy] = op
            return
        block, at = copy.parent, copy
        assert block is not None
        match copy:
            case litmus.AddressOp():
                made = [self.parameter(op, copy.location_name, copy.pointer.type)]
                copy.pointer.replace_all_uses_with(made[0].dst)
            case litmus.ObserveOp():
                made, at = self.store(op, copy), block.last_op or copy
            case litmus.EndOp():
                made = [ptx.RetOp.create()]
            case _:
                unreadable(op, f"the PTX model does not have '{op.name}'")
        self.origins |= dict.fromkeys(made, op)
        block.insert_ops_before(made, at)
        block.erase_op(copy)

    def parameter(
        self, op: Operation, bound: SymbolRefAttr | StringAttr, type: Attribute
    ) -> ptx.ParamOp:
        """The parameter that is bound so."""
        if not isinstance(type, ptx.RegisterType):
            unreadable(op, f"'{op.name}' among PTX instructions is of a !ptx.reg, not {type}")
        self.arguments.append(bound)
        self.widths.append(type.data.bits)
        index = count_attr(len(self.arguments) - 1)
        return ptx.ParamOp.create(properties={"index": index}, result_types=[type])

    def store(self, op: Operation, copy: litmus.ObserveOp) -> list[Operation]:
        """The weak store of an observed value, last of all; of a predicate as 0 or 1."""
        pointer = self.parameter(op, copy.register, ptx.B64)
        made: list[Operation] = [pointer]
        value = copy.value
        if value.type == ptx.PRED:
            one, zero = _constant(1), _constant(0)
            chosen = ptx.AluOp.create(
                properties={"opcode": StringAttr("selp.b32")},
                operands=(one.dst, zero.dst, value),
                result_types=[ptx.B32],
            )
            made += (one, zero, chosen)
            value = chosen.dst
        opcode = StringAttr(f"st.b{ptx.register_of(value).bits}")
        made.append(
            ptx.StoreOp.create(properties={"opcode": opcode}, operands=(pointer.dst, value))
        )
        return made


def _constant(value: int) -> ptx.ConstOp:
    return ptx.ConstOp.create(properties={"value": count_attr(value)}, result_types=[ptx.B32])


# Programs


def ptx_test(
    code: TestCode,
    entries: Sequence[PtxFunction],
    file: PtxFile,
    model: str,
    place: Callable[[int], SourceLocation | None],
) -> PtxTest:
    """The test on kernels of a PTX file, one for each thread.

    ``place`` says where a line of the file was written. Raises ``PtxError`` at what the PTX model
    does not have.
    """
    memory = _memory(code, place)
    placements = [_placement(code, number) for number in range(len(code.threads))]
    columns = [
        read_column(file, entry, [*map(_argument, each.arguments)], situation, memory)
        for each, entry, situation in zip(code.threads, entries, _situations(code), strict=True)
    ]
    variables = {name: group for each in columns for name, group in each.locations.items()}
    declared = {each.name for each in code.locations}
    globals_ = {
        name: value
        for each in columns
        for name, value in each.globals.items()
        if name not in declared
    }
    mbarriers = {name for each in columns for name in each.mbarriers} & variables.keys()
    # Those of the program's own and those that it initialises begin without arrivals.
    given = {each.sym_name.data: each.count for each in code.test.mbarriers}
    counts = {name: 0 if each is None else each.value.data for name, each in given.items()}
    counts |= dict.fromkeys(mbarriers, 0)
    instructions = [tuple(each.instructions) for each in columns]
    if counts:
        instructions = _counted(placements, instructions)
    places = (tuple(map(place, each.lines)) for each in columns)
    shared = {each.name: each.workgroup for each in code.locations if each.space in _SHARED}
    homes = {place.workgroup: place for place in reversed(placements)}
    program = PtxProgram(
        (
            *(Location(each.name, signed(each.initial)) for each in code.locations),
            *(Location(name, 0) for name in variables if name not in mbarriers),
            *(Location(name, signed(value)) for name, value in globals_.items()),
        ),
        tuple(map(Thread, placements, instructions, places)),
        name=code.name,
        aliases={name: Alias(of) for name, of in code.aliases},
        mbarriers=counts,
        shared={
            name: homes[group] for name, group in (shared | variables).items() if group in homes
        },
        tensor=frozenset(op.sym_name.data for op in code.test.locations if op.tensor is not None),
    )
    try:
        for count in filter(None, counts.values()):
            check_arrivals(count)
        test = PtxLitmusTest(complete(program, code.condition), code.condition)
    except ModelError as problem:
        raise PtxError(file.file, 1, f"in the PTX model, {problem.message}") from problem
    return PtxTest(test, MODELS[model], code.observed, frozenset((*shared, *variables)))


def _memory(code: TestCode, place: Callable[[int], SourceLocation | None]) -> KnownMemory:
    locations = {op.sym_name.data: op for op in code.test.locations}

    def where(line: int) -> str:
        at = place(line)
        return "elsewhere" if at is None else f"in line {at.line}"

    return KnownMemory(
        code.variables,
        code.multicasts,
        {name: op.described for name, op in locations.items() if op.described},
        {name: op.bytes.value.data for name, op in locations.items() if op.bytes is not None},
        where=where,
    )


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


def _placement(code: TestCode, number: int) -> Placement:
    place = code.threads[number].thread.placement.resolve(number)
    cluster = place.cluster if code.test.is_placed_in_clusters else None
    return Placement(place.workgroup, agent=place.agent, cluster=cluster)


def _situations(code: TestCode) -> Iterator[LaunchIndex]:
    places = [each.thread.placement.resolve(each.number) for each in code.threads]
    groups = {each.workgroup for each in places}
    for number, place in enumerate(places):
        mine = [n for n, each in enumerate(places) if _cta(each) == _cta(place)]
        ranks = cluster_of(code.test, place.workgroup)
        yield LaunchIndex(
            place, mine.index(number), len(mine), len(groups), ranks.index(place.workgroup), ranks
        )


def _cta(place: Placement) -> tuple[int | None, ...]:
    return place.workgroup, place.cluster, place.agent


def _argument(bound: ThreadArgument) -> Argument:
    if (location := location_of(bound)) is not None:
        return ToLocation(location)
    if (register := register_of(bound)) is not None:
        return ToRegister(register)
    value = number_of(bound)
    assert value is not None
    return value
