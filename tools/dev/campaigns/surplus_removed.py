"""Takes out what fence-check says can go, and executes the rest: nothing forbidden may come of it.

``python -m fencewright.tools.dev.campaigns.surplus_removed [COUNT]``: of random programs without
races, for each chip and each of its modes, as LLVM compiles them (``--llc``) and as our passes
lower them at both levels. Each thing that can go is taken out alone, and all of a program together;
the machine, or PTX's model, then must do only what the program may, and end where it did. What can
go is said of kernels that all waves of a work-group run: where those of a program have kernels of
their own, what goes wrong is counted apart. The table is for docs/checker-measured.md.
"""

import subprocess
import sys
from collections import Counter as Count
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Finding, Rule
from fencewright.checker.nvidia.findings import find_problems
from fencewright.lowering.cdna.chips import CHIPS as CHIP_ROWS
from fencewright.lowering.cdna.code.text import Assembly, Function, read_assembly
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.vocabulary import Scope
from fencewright.mlir_dialects import cdna, ptx
from fencewright.passes.litmus.build_litmus import build
from fencewright.passes.litmus.cdna import UnwaitedArgumentError
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.options import OptLevel
from fencewright.passes.print.cdna import print_kernel
from fencewright.passes.print.ptx import listing
from fencewright.simulator.litmus_run import CdnaTest, Run, RunnableTest, SourceTest, run
from fencewright.simulator.programs.amd.thread import HazardError
from fencewright.simulator.random.programs import SmallProgram
from fencewright.tools.dev.campaigns import needed
from fencewright.tools.dev.campaigns.deletions import Deleted, Deletion, deletions
from fencewright.tools.fuzz import llvm_ir
from fencewright.tools.fuzz import llvm_ir_writer as writer
from fencewright.tools.fuzz.checks import LIMITS, CheckVerdict, Setting, build_of, judged, lowered
from fencewright.tools.reports.markdown import markdown_table

LEVELS: Mapping[str, OptLevel] = MappingProxyType({"ours -O0": 0, "ours -O2": 2})
"""Our own two levels, as the table calls them."""

ALL = "all of a program"

_KINDS = {
    Rule.SURPLUS_WAIT: Deleted.WAIT,
    Rule.SURPLUS_WRITE_BACK: Deleted.WRITE_BACK,
    Rule.SURPLUS_INVALIDATE: Deleted.INVALIDATE,
    Rule.SURPLUS_FENCE: Deleted.FENCE,
    Rule.SURPLUS_RELEASE: Deleted.ORDERING,
    Rule.SURPLUS_ACQUIRE: Deleted.ORDERING,
}


@dataclass
class Tally:
    """Of one route to one chip: the number of programs executed, and the removals from them.

    ``wrong``: programs that are forbidden something before anything is taken out, which are left
    out as those are that the machine cannot read or that are too large for it (``unread``).
    ``taken``: how many removals were decided, by what was taken; ``large``: those too large.
    """

    programs: int = 0
    wrong: int = 0
    unread: Count[str] = field(default_factory=Count[str])
    taken: Count[str] = field(default_factory=Count[str])
    large: int = 0
    bad: list[str] = field(default_factory=list[str])
    apart: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that fence-check says can go."""

    kind: Deleted
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Code in which something can go; ``execute`` runs it without those of the given numbers."""

    candidates: Sequence[Candidate]
    execute: Callable[[frozenset[int]], tuple[Run, RunnableTest]]


# Code that LLVM compiles


def _compiled(command: str, setting: Setting, source: SourceTest) -> Code:
    """The program as a command compiles it."""
    chip = setting.mode.chip
    form = writer.KernelForm(results=True)
    text = llvm_ir.in_registers(writer.written(source.test.program, form))
    features = [f"-mattr=+{each}" for each in setting.mode.features]
    arguments = [*command.split(), "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={chip}", *features]
    made = subprocess.run(
        [*arguments, "-o", "-"], input=text, capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise SystemExit(f"{command}: {made.stderr}")
    assembly = read_assembly(made.stdout, command)
    found = [
        (function.name, each)
        for function in assembly.functions.values()
        for each in _surplus(assembly, function, setting)
    ]
    configuration = build_of(setting).configuration

    def execute(chosen: frozenset[int]) -> tuple[Run, RunnableTest]:
        functions = dict(assembly.functions)
        for number in chosen:
            name, each = found[number]
            functions[name] = _matching(functions[name], each).function
        left = replace(assembly, functions=MappingProxyType(functions))
        test = llvm_ir.machine_test(source, left, configuration)
        return llvm_ir.run_compiled(source, test, LIMITS), test

    return Code([_candidate(each) for _, each in found], execute)


def _surplus(assembly: Assembly, function: Function, setting: Setting) -> list[Finding]:
    return [*check(assembly, function, setting.mode.l2_per_agent).surplus()]


def _candidate(finding: Finding) -> Candidate:
    kind = next(kind for rule, kind in _KINDS.items() if rule == finding.rule)
    return Candidate(kind, f"line {finding.line}: {finding.message.partition(' is redundant')[0]}")


def _matching(function: Function, finding: Finding) -> Deletion:
    """The deletion of a finding's surplus."""
    kind = _candidate(finding).kind
    (found,) = (
        each
        for each in deletions(function)
        if (each.line, each.kind) == (finding.line, kind)
        and (kind is not Deleted.WAIT or each.text in finding.message.partition(" is redundant")[0])
    )
    return found


# Code that our passes lower

_Removal: TypeAlias = tuple[Finding, needed.Deletion]


def _lowered(level: OptLevel, setting: Setting, module: ModuleOp) -> Code:
    """The program as our passes lower it."""
    code = lowered(module, setting.passes(level))
    by_chip = _of_assembly if setting.mode.chip in CHIP_ROWS else _of_ptx
    found = list(by_chip(code, setting))

    def execute(chosen: frozenset[int]) -> tuple[Run, RunnableTest]:
        left = code.clone()
        operations = list(left.walk())
        for number in chosen:
            deletion = found[number][1]
            deletion.edit(operations[deletion.place])
        test = read_only_test(left, setting.options)
        return run(test, LIMITS), test

    return Code([_candidate(each) for each, _ in found], execute)


def _of_assembly(module: ModuleOp, setting: Setting) -> Iterator[_Removal]:
    """The surplus of the printed text, and the operation that it is printed from."""
    for kernel in module.walk():
        if isinstance(kernel, cdna.KernelOp):
            printed = print_kernel(kernel)
            assembly = read_assembly(printed.text, str(setting))
            (function,) = assembly.functions.values()
            yield from _in(module, _surplus(assembly, function, setting), printed.operations)


def _of_ptx(module: ModuleOp, setting: Setting) -> Iterator[_Removal]:
    """The surplus of the printed PTX, and the operation that it is printed from."""
    operations = list(module.walk())
    printed = listing(
        [each for each in operations if isinstance(each, ptx.KernelOp)],
        [each for each in operations if isinstance(each, ptx.VariableOp)],
    )
    file = read_ptx(printed.text, str(setting))
    for function in file.functions.values():
        found = [each for each in find_problems(file, function) if each.rule in _KINDS]
        for finding, deletion in _in(module, found, printed.operations):
            half = _HALVES.get(finding.rule)
            yield finding, deletion if half is None else replace(deletion, edit=half)


def _in(
    module: ModuleOp, findings: Iterable[Finding], operations: Mapping[int, Operation]
) -> Iterator[_Removal]:
    """The deletion of each finding's surplus; ``operations``: by the lines that they print."""
    places = {op: place for place, op in enumerate(module.walk())}
    for finding in findings:
        wanted, op = _candidate(finding), operations[finding.line]
        (found,) = (
            each
            for each in needed.deletions_of(op, places[op])
            if each.kind is wanted.kind
            and (each.kind is not Deleted.WAIT or each.text.partition("(")[0] in wanted.text)
        )
        yield finding, found


def _without_half(op: Operation, half: str, other: str) -> None:
    """Leave an access the other half of its ordering, if it has both."""
    name = cast(StringAttr, op.properties["opcode"]).data
    less = name.replace(".acq_rel.", f".{other}.").replace(f".{half}.", ".relaxed.")
    op.properties["opcode"] = StringAttr(less)


_HALVES: Mapping[Rule, Callable[[Operation], None]] = MappingProxyType(
    {
        Rule.SURPLUS_RELEASE: partial(_without_half, half="release", other="acquire"),
        Rule.SURPLUS_ACQUIRE: partial(_without_half, half="acquire", other="release"),
    }
)
"""By the finding's words, the edit of its access."""


# The behaviour of the rest


def measure(chip: str, first: int, count: int, commands: Sequence[str]) -> dict[str, Tally]:
    """By route, the results of programs of consecutive seeds, each in the chip's mode for it."""
    is_ptx = chip not in CHIP_ROWS
    routes = (*LEVELS, *(() if is_ptx else commands))
    tallies = {route: Tally() for route in routes}
    for program, setting, placed, meant in needed.programs_of(chip, first, count):
        for route, tally in tallies.items():
            name = f"{program} {route}"
            try:
                if route in LEVELS:
                    code = _lowered(LEVELS[route], setting, build(placed))
                else:
                    source = read_only_test(build(placed), ReadOptions())
                    assert isinstance(source, SourceTest)
                    code = _compiled(route, setting, source)
                whole = _judged(code, meant, frozenset())
            except (AssemblyError, DiagnosticException) as problem:
                tally.unread[str(problem).rpartition(": ")[0]] += 1
                continue
            if whole is not CheckVerdict.SOUND:
                tally.wrong += whole is not CheckVerdict.TOO_LARGE
                continue
            tally.programs += 1
            bad = tally.apart if _has_kernels_apart(placed) else tally.bad
            bad += _taken_out(code, meant, name, tally)
    return tallies


def _has_kernels_apart(program: SmallProgram) -> bool:
    """True if waves of one work-group run kernels of their own."""
    groups = [each.placement.instance(Scope.WORKGROUP) for each in program.threads]
    return len(set(groups)) < len(groups)


def _taken_out(code: Code, meant: Run, name: str, tally: Tally) -> Iterator[str]:
    """The faults after each removal alone, and all together."""
    every = range(len(code.candidates))
    removals = [(str(code.candidates[n].kind), frozenset({n})) for n in every]
    if len(removals) > 1:
        removals.append((ALL, frozenset(every)))
    for kind, chosen in removals:
        verdict = _judged(code, meant, chosen)
        if verdict is CheckVerdict.TOO_LARGE:
            tally.large += 1
            continue
        tally.taken[kind] += 1
        if verdict is not CheckVerdict.SOUND:
            what = "; ".join(code.candidates[n].text for n in sorted(chosen))
            yield f"{name}: without {what}: {verdict}"


def _judged(code: Code, meant: Run, chosen: frozenset[int]) -> CheckVerdict:
    """The verdict on code without some surplus; or ``AssemblyError``, ``DiagnosticException``."""
    try:
        does, test = code.execute(chosen)
    except (HazardError, UnwaitedArgumentError):
        return CheckVerdict.WRONG
    return judged(meant, does, test if isinstance(test, CdnaTest) else None).verdict


def table(tallies: Mapping[str, Mapping[str, Tally]]) -> str:
    """The number of executed removals, by chip and route, and of the wrong ones among them."""
    kinds = (*_KINDS.values(), ALL)
    used = [
        kind
        for kind in dict.fromkeys(map(str, kinds))
        if any(each.taken[kind] for routes in tallies.values() for each in routes.values())
    ]
    rows = [
        [
            chip,
            route,
            str(each.programs),
            *(str(each.taken[kind]) for kind in used),
            str(len(each.bad)),
            str(len(each.apart)),
        ]
        for chip, routes in tallies.items()
        for route, each in routes.items()
    ]
    return markdown_table(
        ("chip", "made by", "programs", *used, "wrong", "wrong, kernels apart"), rows
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table and the faults, and return 1 if there is one."""
    parser = needed.parser_of(__doc__)
    parser.add_argument("--llc", nargs="*", default=["llc-22 -O2"], help="commands of LLVM")
    arguments = parser.parse_args(argv)
    tallies: dict[str, dict[str, Tally]] = {}
    for chip in arguments.chips:
        tallies[chip] = measure(chip, arguments.first, arguments.count, arguments.llc)
        for route, each in tallies[chip].items():
            print(*each.bad, sep="\n", end="\n" if each.bad else "")
            print("".join(f"kernels apart: {line}\n" for line in each.apart), end="")
            unread = "".join(f", {n} not read: {why}" for why, n in each.unread.items())
            print(f"{chip} {route}: {each.wrong} wrong as they are, {each.large} too large{unread}")
    print(table(tallies), end="")
    return int(any(each.bad for routes in tallies.values() for each in routes.values()))


if __name__ == "__main__":
    sys.exit(main())
