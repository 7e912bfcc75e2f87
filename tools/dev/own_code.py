"""What fence-check says of our own output: random programs by both routes, in every mode.

``python -m fencewright.tools.dev.own_code [COUNT] [--first SEED]``: an error is a fault of a pass, or a
false alarm. By MLIR a program becomes assembly of ours, whose accesses are found by their order; by
LLVM IR it becomes LLVM IR with explicit synchronisation, which is numbered line by line, and
LLVM's assembly. Both are compared with the LLVM IR of the program as it was.
"""

import argparse
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from fencewright.checker.cdna_check import check
from fencewright.checker.cdna_text import (
    Assembly,
    AssemblyInstruction,
    AssemblyLabel,
    Function,
    read_assembly,
)
from fencewright.checker.findings import Level, Rule
from fencewright.checker.source_check import Comparison
from fencewright.checker.source_compare import compare_modules, files_in, with_orders
from fencewright.checker.source_program import SourceModule
from fencewright.checker.source_text import read_source
from fencewright.lowering.sequence import Target
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.simulator.litmus_run import SourceTest
from fencewright.simulator.random.programs import SmallProgram
from fencewright.simulator.source.events import ScopedProgram
from fencewright.tools.fuzz.checks import (
    CDNA_SETTINGS,
    LLVM_IR_SETTINGS,
    LoweringRoute,
    Setting,
    build_of,
    lowered,
    program_of,
)


@dataclass
class Tally:
    """What was found: ``functions`` by whether they could be compared, and each error."""

    programs: int = 0
    functions: Counter[bool] = field(default_factory=Counter[bool])
    errors: list[str] = field(default_factory=list[str])
    problems: Counter[str] = field(default_factory=Counter[str])

    def add(self, name: str, comparisons: list[Comparison]) -> None:
        """Count what comparing one module found."""
        for each in comparisons:
            self.functions[each.was_compared] += 1
            for finding in each.findings:
                if finding.rule is Rule.NOT_COMPARED:
                    said = finding.message.partition(": ")[2]
                    self.problems[re.sub(r"\d+|'.*'", "..", said)] += 1
                else:
                    self.errors.append(f"{name}: {finding.rule}: {finding.message}")

    def hazards(self, name: str, assembly: Assembly, l2_per_agent: L2PerAgent) -> None:
        """Count what is wrong whatever the source."""
        for function in assembly.functions.values():
            checked = check(assembly, function, l2_per_agent)
            for each in checked.hazards():
                if each.level is Level.ERROR:
                    self.errors.append(f"{name}: line {each.line}: {each.rule}: {each.message}")


def check_seed(seed: int, tally: Tally) -> None:
    """The program of a seed by both routes."""
    tally.programs += 1
    by_mlir(seed, CDNA_SETTINGS[seed % len(CDNA_SETTINGS)], tally)
    by_llvm_ir(seed, LLVM_IR_SETTINGS[seed % len(LLVM_IR_SETTINGS)], tally)


def by_mlir(seed: int, setting: Setting, tally: Tally) -> None:
    """Our own assembly; where a fact was promised, only whether registers are waited for."""
    from xdsl.context import Context

    from fencewright.passes.print.cdna import CDNAAssemblyTarget
    from fencewright.tools.fuzz import llvm_ir
    from fencewright.tools.fuzz import llvm_ir_writer as writer

    program = setting.place(program_of(seed))
    stream = io.StringIO()
    module = lowered(build(program), setting.passes(2))
    CDNAAssemblyTarget().emit(Context(), module, stream)
    name = f"{seed} {setting}"
    assembly = read_assembly(stream.getvalue(), name)
    tally.hazards(name, assembly, setting.mode.l2_per_agent)
    if setting.facts:
        return
    scoped = _scoped(program)
    threads = tuple(
        replace(thread, placement=replace(thread.placement, workgroup=number))
        for number, thread in enumerate(scoped.threads)
    )
    text = llvm_ir.in_registers(writer.written(replace(scoped, threads=threads)))
    source = read_source(text, name)
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
    bare = Assembly(assembly.chip, MappingProxyType(functions))
    found = compare_modules(ours, bare, {}, setting.mode.l2_per_agent)
    tally.add(name, list(found))


def _without_results(function: Function, results: int) -> Function:
    """A kernel without the stores of its registers, which the program does not have."""
    body = list(function.body)
    for end in reversed([place for place, each in enumerate(body) if _is(each, "s_endpgm")]):
        first = end
        while first > end - results and _is(body[first - 1], "global_store_dword"):
            first -= 1
        del body[first:end]
    return replace(function, body=tuple(body))


def _is(each: AssemblyLabel | AssemblyInstruction, mnemonic: str) -> bool:
    return isinstance(each, AssemblyInstruction) and each.mnemonic == mnemonic


def by_llvm_ir(seed: int, setting: Setting, tally: Tally) -> None:
    """LLVM's assembly of LLVM IR that has its synchronisation explicit."""
    from fencewright.tools.fuzz import llvm_ir
    from fencewright.tools.fuzz import llvm_ir_writer as writer

    if setting.through is LoweringRoute.LLVM_IR_CALLS:
        return  # What LLVM inlines has the places of another function.
    program = _scoped(setting.place(program_of(seed)))
    how = build_of(setting)
    form = writer.KernelForm(results=True, noalias=how.noalias, calls=how.calls)
    name = f"{seed} {setting}"
    asked = llvm_ir.in_registers(writer.written(program, form))
    code = compiled(llvm_ir.lowered(program, how), setting.mode)
    tally.hazards(name, code.assembly, setting.mode.l2_per_agent)
    if not setting.facts:
        tally.add(name, list(code.comparisons(asked, setting.mode.l2_per_agent)))


@dataclass(frozen=True, slots=True)
class Compiled:
    """What LLVM makes of LLVM IR of ours, numbered; ``source``: that, as it is read."""

    source: SourceModule
    assembly: Assembly
    files: Mapping[int, str]

    def comparisons(self, asked: str, l2_per_agent: L2PerAgent) -> Iterator[Comparison]:
        """What the code lacks of what the LLVM IR ``asked``, before its synchronisation was lowered."""
        both = with_orders(self.source, read_source(asked))
        return compare_modules(both, self.assembly, self.files, l2_per_agent)


def compiled(text: str, mode: Target) -> Compiled:
    """What LLVM makes of a module for a mode."""
    from fencewright.tools.fuzz import llvm_ir

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
    """Check programs, print what was found, and return 1 if that is an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    tally = check_seeds(arguments.first, arguments.count)
    print(*_lines(tally), sep="\n")
    return bool(tally.errors)


if __name__ == "__main__":
    sys.exit(main())
