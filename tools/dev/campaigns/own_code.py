"""What fence-check says of our own output: GPU kernels and random programs by every route and mode.

``python -m fencewright.tools.dev.campaigns.own_code [COUNT] [--first SEED]``: an error is a fault
of a pass, or a false alarm. By MLIR a program becomes assembly or PTX of ours, whose accesses are
found by their order; by LLVM IR it becomes LLVM IR with explicit synchronisation, which is numbered
line by line, and LLVM's assembly. All are compared with the LLVM IR of the program as it was. The
kernels of examples/kernels are compared with their own ``scoped`` operations.
"""

import argparse
import io
import re
import sys
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from xdsl.context import Context
from xdsl.dialects import func, get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.llvm import LLVMPointerType

from fencewright.checker.amd.check import check
from fencewright.checker.amd.comparison.against_source import compare_assembly
from fencewright.checker.findings.finding import Level, Rule
from fencewright.checker.nvidia.against_source import compare_in_order, compare_ptx
from fencewright.checker.nvidia.findings import hazards
from fencewright.checker.source.compare import Comparison
from fencewright.checker.source.numbered import with_orders
from fencewright.checker.source.program import (
    SourceBlock,
    SourceFunction,
    SourceModule,
    SourceOperation,
)
from fencewright.checker.source.text import read_source
from fencewright.lowering.cdna.chips import CHIPS, KNOWN_CHIPS, Generation
from fencewright.lowering.cdna.code.operands.operands import effects_of
from fencewright.lowering.cdna.code.text import (
    Assembly,
    AssemblyInstruction,
    AssemblyLabel,
    Function,
    read_assembly,
)
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import files_in
from fencewright.lowering.ptx.code.text import (
    PtxBlock,
    PtxFile,
    PtxFunction,
    PtxInstruction,
    read_ptx,
)
from fencewright.lowering.sequence import Target
from fencewright.lowering.vocabulary import L2PerAgent, Operation, Scope
from fencewright.mlir_dialects.scoped import ScopedOperation, address_space_of
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.options import OptLevel
from fencewright.passes.pipelines import lower_module
from fencewright.passes.print.cdna import CDNAAssemblyTarget
from fencewright.passes.print.ptx import PTXTarget
from fencewright.simulator.litmus_run import SourceTest
from fencewright.simulator.random.programs import SmallProgram
from fencewright.simulator.source.events import ScopedProgram
from fencewright.tools.fuzz import llvm_ir
from fencewright.tools.fuzz import llvm_ir_writer as writer
from fencewright.tools.fuzz.checks import (
    CDNA_SETTINGS,
    CLUSTER_SETTINGS,
    LLVM_IR_FORMS,
    LLVM_IR_SETTINGS,
    PTX_SETTINGS,
    LoweringRoute,
    Setting,
    build_of,
    lowered,
    program_of,
)
from fencewright.tools.inputs.located_parser import LocatedParser
from fencewright.universe import DIALECTS

KERNELS = Path(__file__).resolve().parents[3] / "examples" / "kernels"
KERNEL_CHIPS = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
FIRST_CHIP = {"look_back_scan": "sm_80", "mbarrier_pipeline": "sm_90"}
"""The least of those chips that has all that a kernel uses, where not all have."""
OPT_LEVELS: tuple[OptLevel, ...] = (0, 2)


_CLUSTERS_BY_LLVM_IR = tuple(
    replace(each, through=through) for through in LLVM_IR_FORMS for each in CLUSTER_SETTINGS
)


@dataclass
class Tally:
    """The findings: ``functions`` by whether they could be compared, and each error."""

    programs: int = 0
    functions: Counter[bool] = field(default_factory=Counter[bool])
    errors: list[str] = field(default_factory=list[str])
    problems: Counter[str] = field(default_factory=Counter[str])

    def add(self, name: str, comparisons: Sequence[Comparison[object]]) -> None:
        """Count the findings of the comparison of one module."""
        for each in comparisons:
            self.functions[each.was_compared] += 1
            for finding in each.findings:
                if finding.rule is Rule.NOT_COMPARED:
                    said = finding.message.partition(": ")[2]
                    self.problems[re.sub(r"\d+|'.*'", "..", said)] += 1
                elif finding.level is Level.ERROR:
                    self.errors.append(f"{name}: {finding.rule}: {finding.message}")

    def problems_of(self, name: str, module: PtxFile, but: Container[Rule] = ()) -> None:
        """Count faults of PTX that are independent of the source, but for some rules."""
        for function in module.functions.values():
            for each in hazards(module, function):
                if each.level is not Level.NOTE and each.rule not in but:
                    self.errors.append(f"{name}: line {each.line}: {each.rule}: {each.message}")

    def hazards(
        self,
        name: str,
        assembly: Assembly,
        l2_per_agent: L2PerAgent,
        but: Container[Rule] = (),
    ) -> None:
        """Count faults that are independent of the source, but for some rules."""
        for function in assembly.functions.values():
            checked = check(assembly, function, l2_per_agent)
            for each in checked.hazards():
                if each.level is Level.ERROR and each.rule not in but:
                    self.errors.append(f"{name}: line {each.line}: {each.rule}: {each.message}")


_OF_THE_PROGRAM = frozenset(
    {Rule.MISSING_BARRIER, Rule.UNORDERED_WAIT, Rule.UNORDERED_SIGNAL, Rule.SPIN}
)
"""Rules that the program itself may violate: random ones wait by weak reads and flags."""

_OF_LLVM = frozenset({Rule.TRANSLATION})
"""Waits that LLVM inserts where it compiles our LLVM IR (llvm-project#166779, #213394)."""


def check_seed(seed: int, tally: Tally) -> None:
    """The program of a seed by both routes."""
    tally.programs += 1
    for settings in (CDNA_SETTINGS, CLUSTER_SETTINGS):
        by_mlir(seed, settings[seed % len(settings)], tally)
    for settings in (LLVM_IR_SETTINGS, _CLUSTERS_BY_LLVM_IR):
        by_llvm_ir(seed, settings[seed % len(settings)], tally)
    by_ptx(seed, PTX_SETTINGS[seed % len(PTX_SETTINGS)], tally)


def _drawn(seed: int, setting: Setting) -> SmallProgram:
    """The program of a seed, some of them in one cluster on a chip that has them."""
    chip = setting.mode.chip
    return setting.place(program_of(seed, chip if CHIPS[chip].clusters else None))


def by_mlir(seed: int, setting: Setting, tally: Tally) -> None:
    """Our own assembly; where a fact was promised, only whether registers are waited for."""
    program = _drawn(seed, setting)
    name = f"{seed} {setting}"
    assembly = assembly_of(lowered(build(program), setting.passes(2)), name)
    tally.hazards(name, assembly, setting.mode.l2_per_agent)
    if not setting.facts:
        tally.add(name, compared_assembly(program, assembly, name, setting))


def assembly_of(module: ModuleOp, name: str) -> Assembly:
    """A lowered module as the checker reads it."""
    stream = io.StringIO()
    CDNAAssemblyTarget().emit(Context(), module, stream)
    return read_assembly(stream.getvalue(), name)


def compared_assembly(
    program: SmallProgram, assembly: Assembly, name: str, setting: Setting
) -> list[Comparison[object]]:
    """The orders that the program requires and our own assembly lacks."""
    scoped = _scoped(program)
    source = _source_of(scoped, name)
    # A kernel of ours is called by its test and its thread.
    renamed = {
        kernel: replace(
            source.functions[writer.kernel_name(int(kernel.rpartition("P")[2]))], name=kernel
        )
        for kernel in assembly.functions
    }
    ours = SourceModule(name, MappingProxyType(renamed))
    results = writer.result_registers(scoped)
    functions = {
        kernel: _without_results(function, len(results[int(kernel.rpartition("P")[2])]))
        for kernel, function in assembly.functions.items()
    }
    bare = replace(assembly, functions=MappingProxyType(functions))
    return list(compare_assembly(ours, bare, {}, {}, setting.mode.l2_per_agent))


def _source_of(program: ScopedProgram, name: str) -> SourceModule:
    """The LLVM IR that a program asks for, each thread of it a work-group of its own."""
    threads = tuple(
        replace(thread, placement=replace(thread.placement, workgroup=number))
        for number, thread in enumerate(program.threads)
    )
    text = writer.written(replace(program, threads=threads))
    return read_source(llvm_ir.in_registers(text), name)


def by_ptx(seed: int, setting: Setting, tally: Tally) -> None:
    """Our own PTX; where a fact was promised, only faults that are independent of the source."""
    program = setting.place(program_of(seed))
    name = f"{seed} {setting}"
    module = read_ptx(ptx_of(lowered(build(program), setting.passes(2))), name)
    tally.problems_of(name, module, _OF_THE_PROGRAM)
    if not setting.facts:
        tally.add(name, compared_ptx(program, module, name))


def compared_ptx(program: SmallProgram, module: PtxFile, name: str) -> list[Comparison[object]]:
    """The orders that the program requires and our own PTX lacks."""
    scoped = _scoped(program)
    source = _source_of(scoped, name)
    results = writer.result_registers(scoped)
    asked: dict[str, SourceFunction] = {}
    bare: dict[str, PtxFunction] = {}
    for kernel, function in module.functions.items():
        thread = int(kernel.rpartition("P")[2])
        asked[kernel] = replace(source.functions[writer.kernel_name(thread)], name=kernel)
        bare[kernel] = _without_last_stores(function, len(results[thread]))
    ours = SourceModule(name, MappingProxyType(asked))
    return list(compare_ptx(ours, replace(module, functions=MappingProxyType(bare)), {}, {}))


def ptx_of(module: ModuleOp) -> str:
    """A lowered module as text."""
    stream = io.StringIO()
    PTXTarget().emit(Context(), module, stream)
    return stream.getvalue()


def _without_last_stores(function: PtxFunction, results: int) -> PtxFunction:
    """A kernel without the stores of its registers before each return."""
    blocks: list[PtxBlock] = []
    for block in function.blocks:
        kept = list(block.instructions)
        end = kept.pop() if kept and _does(kept[-1], "ret") else None
        for _ in range(results if end is not None else 0):
            if kept and _does(kept[-1], "st"):
                kept.pop()
        kept += [end] if end is not None else []
        blocks.append(PtxBlock(block.number, block.labels, tuple(kept), block.successors))
    return replace(function, blocks=tuple(blocks))


def _does(each: PtxInstruction, operation: str) -> bool:
    return each.statement.operation == operation


def check_kernels(tally: Tally, chips: Sequence[str] = KERNEL_CHIPS) -> None:
    """Check the GPU kernels for ``chips``, each on those that have its features, at both levels."""
    for path in sorted(KERNELS.glob("*.mlir")):
        asked = asked_by(_parsed(path))
        first = KERNEL_CHIPS.index(FIRST_CHIP.get(asked.name, KERNEL_CHIPS[0]))
        for chip in (each for each in KERNEL_CHIPS[first:] if each in chips):
            for opt_level in OPT_LEVELS:
                name = f"{path.stem} {chip} -O{opt_level}"
                code = _parsed(path)
                lower_module(code, chip, opt_level=opt_level)
                module = read_ptx(ptx_of(code), name)
                tally.problems_of(name, module)
                (function,) = module.functions.values()
                tally.add(name, [compare_in_order(asked, module, function)])


def _parsed(path: Path) -> ModuleOp:
    context = Context()
    for name, load in (get_all_dialects() | DIALECTS).items():
        context.register_dialect(name, load)
    return LocatedParser(context, path.read_text(encoding="utf-8"), str(path)).parse_module()


_KINDS = {
    Operation.LOAD: Kind.LOAD,
    Operation.STORE: Kind.STORE,
    Operation.ATOMIC_RMW: Kind.RMW,
    Operation.CMPXCHG: Kind.RMW,
    Operation.FENCE: Kind.FENCE,
    Operation.BARRIER: Kind.BARRIER,
}


def asked_by(module: ModuleOp) -> SourceFunction:
    """The requirements of the ``scoped`` operations of the one function of a module."""
    (function,) = (each for each in module.walk() if isinstance(each, func.FuncOp))
    blocks = list(function.body.blocks)
    found: list[SourceBlock] = []
    number = 0
    for block in blocks:
        operations: list[SourceOperation] = []
        for each in block.ops:
            if isinstance(each, ScopedOperation):
                operations.append(_asked(each, number))
                number += 1
        last = block.last_op
        following = last.successors if last is not None else ()
        found.append(SourceBlock(tuple(operations), tuple(map(blocks.index, following))))
    return SourceFunction(function.sym_name.data, 0, tuple(found))


def _asked(operation: ScopedOperation, number: int) -> SourceOperation:
    kind = _KINDS[operation.OPERATION]
    pointer = operation.operands[-1] if kind is Kind.STORE else next(iter(operation.operands), None)
    space = None
    if pointer is not None and isinstance(pointer.type, LLVMPointerType):
        space = address_space_of(pointer.type)
    return SourceOperation(
        number,
        kind,
        0,
        str(operation),
        ordering=operation.ordering.data,
        scope=Scope.SYSTEM if operation.scope is None else operation.scope.data,
        space=space,
        compares=operation.OPERATION is Operation.CMPXCHG,
    )


_STORES = ("global_store_dword", "global_store_b32")


def _without_results(function: Function, results: int) -> Function:
    """A kernel without the stores of its registers, which the program does not have."""
    body = list(function.body)
    generation = KNOWN_CHIPS[function.chip].generation
    for end in reversed([place for place, each in enumerate(body) if _is(each, "s_endpgm")]):
        left, place = results, end - 1
        # One register may be waited for after another one has been stored.
        while left and (_is_wait(body[place], generation) or _is(body[place], *_STORES)):
            if not _is_wait(body[place], generation):
                del body[place]
                left -= 1
            place -= 1
    return replace(function, body=tuple(body))


def _is_wait(item: AssemblyLabel | AssemblyInstruction, generation: Generation) -> bool:
    if not isinstance(item, AssemblyInstruction):
        return False
    return effects_of(item, generation).kind is Kind.WAIT


def _is(each: AssemblyLabel | AssemblyInstruction, *mnemonics: str) -> bool:
    return isinstance(each, AssemblyInstruction) and each.mnemonic in mnemonics


def by_llvm_ir(seed: int, setting: Setting, tally: Tally) -> None:
    """LLVM's assembly of LLVM IR that has its synchronisation explicit."""
    if setting.through is LoweringRoute.LLVM_IR_CALLS:
        return  # What LLVM inlines has the places of another function.
    program = _scoped(_drawn(seed, setting))
    how = build_of(setting)
    form = writer.KernelForm(results=True, noalias=how.noalias, calls=how.calls)
    name = f"{seed} {setting}"
    asked = llvm_ir.in_registers(writer.written(program, form))
    code = compiled(llvm_ir.lowered(program, how), setting.mode)
    tally.hazards(name, code.assembly, setting.mode.l2_per_agent, _OF_LLVM)
    if not setting.facts:
        tally.add(name, list(code.comparisons(asked, setting.mode.l2_per_agent)))


@dataclass(frozen=True, slots=True)
class Compiled:
    """LLVM's compilation of our LLVM IR, numbered; ``source``: the same, as it is read."""

    source: SourceModule
    assembly: Assembly
    files: Mapping[int, str]

    def comparisons(self, asked: str, l2_per_agent: L2PerAgent) -> Iterator[Comparison[object]]:
        """The orders that the code lacks of the LLVM IR ``asked``, which is not lowered."""
        both = with_orders(self.source, read_source(asked))
        return compare_assembly(both, self.assembly, self.files, {}, l2_per_agent)


def compiled(text: str, mode: Target) -> Compiled:
    """LLVM's compilation of a module for a mode."""
    lined = numbered(text)
    code = llvm_ir.assembly_of(lined, mode.chip, tuple(mode.features))
    return Compiled(read_source(lined), read_assembly(code), files_in(code))


def _scoped(program: SmallProgram) -> ScopedProgram:
    """The program as the source model has it."""
    test = read_only_test(build(program), ReadOptions())
    assert isinstance(test, SourceTest)
    return test.test.program


_NODES = """
!llvm.dbg.cu = !{{!{0}}}
!{0} = distinct !DICompileUnit(language: DW_LANG_C, file: !{1}, emissionKind: LineTablesOnly)
!{1} = !DIFile(filename: "own.ll", directory: "/")
!{2} = !DISubroutineType(types: !{3})
!{3} = !{{}}
!{4} = !{{i32 2, !"Debug Info Version", i32 3}}
!llvm.module.flags = !{{!{4}}}
"""


def numbered(text: str) -> str:
    """A module that LLVM printed, with its own line at each instruction."""
    known = re.findall(r"^!(\d+) = ", text, re.MULTILINE)
    first = 1 + max(map(int, known), default=-1)
    nodes = list(_NODES.format(*range(first, first + 5)).splitlines())
    number, function, in_list = first + 5, 0, False
    lines: list[str] = []
    for line_number, line in enumerate(text.splitlines(), 1):
        if line.startswith("define"):
            function = number
            number += 1
            line = f"{line.removesuffix('{')}!dbg !{function} {{"
            nodes.append(
                f'!{function} = distinct !DISubprogram(name: "f{function}", file: !{first + 1}, '
                f"line: {line_number}, type: !{first + 2}, spFlags: DISPFlagDefinition, "
                f"unit: !{first})"
            )
        elif line.startswith("  ") and not line.startswith("  ;"):
            in_list = line.endswith("[") or (in_list and line.strip() != "]")
            if not in_list:
                line += f", !dbg !{number}"
                place = f"line: {line_number}, column: 1, scope: !{function}"
                nodes.append(f"!{number} = !DILocation({place})")
                number += 1
        lines.append(line)
    return "\n".join((*lines, *nodes, ""))


def check_seeds(first: int, count: int) -> Tally:
    """The programs of consecutive seeds."""
    tally = Tally()
    for seed in range(first, first + count):
        check_seed(seed, tally)
    return tally


def _lines(tally: Tally) -> Iterator[str]:
    yield from tally.errors
    for problem, number in tally.problems.most_common():
        yield f"not compared, {number} functions: {problem}"
    compared, others = tally.functions[True], tally.functions[False]
    yield (
        f"{tally.programs} programs: {compared} functions compared, {others} not, "
        f"{len(tally.errors)} errors"
    )


def main() -> int:
    """Check programs, print the findings, and return 1 if there is an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    tally = check_seeds(arguments.first, arguments.count)
    check_kernels(tally)
    print(*_lines(tally), sep="\n")
    return bool(tally.errors)


if __name__ == "__main__":
    sys.exit(main())
