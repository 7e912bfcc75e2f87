"""fence-check: what is missing or surplus in the synchronisation of AMD assembly and PTX.

Reads assembly of gfx908, gfx90a, gfx942 and gfx950, code objects, or PTX, whoever made them. Says
which registers are used before their loads have been waited for, what each access provides to
others, what cannot have been meant, and what can go; of PTX, which proxy fences and scopes are missing.
"""

import re
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencewright.checker.cdna_check import Checked, check
from fencewright.checker.cdna_objects import MAGIC, chip_of_object
from fencewright.checker.cdna_scoped import UnliftableError
from fencewright.checker.cdna_targets import chip_of
from fencewright.checker.cdna_text import (
    Assembly,
    AssemblyError,
    check_whole,
    read_assembly,
    read_disassembly,
)
from fencewright.checker.findings import Finding, Level, Rule
from fencewright.checker.ptx_findings import SURPLUS, PtxFinding, PtxRule
from fencewright.checker.source_program import SourceError
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.tools import diagnostics, ptx_check
from fencewright.tools.commands.compare_source import (
    CodeAndSource,
    add_options,
    check_options,
    compile_and_read,
    merged,
    read_beside,
    show_counterexamples,
)
from fencewright.tools.diagnostics import Diagnostic, Severity, ToolError
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS, INCOMPLETE, USAGE, worst

NAME = "fence-check"
STDIN = "<stdin>"

_LEVELS = tuple(Level)
"""The worst first."""

_NOT_CHECKED = (Rule.UNKNOWN, Rule.UNREACHED, Rule.NOT_COMPARED, PtxRule.UNKNOWN)
"""What says that something could not be judged."""

_FORMATS = (
    (re.compile(r"^\s*(target (triple|datalayout)|define |source_filename)", re.M), "LLVM IR"),
    (re.compile(r"^\s*\.target\s+sm_|^\s*/\*[0-9a-f]{4}\*/", re.M), "code of NVIDIA's GPUs"),
)
"""What else may be given by mistake, by what it has in it."""


def read_input(content: bytes, file: str) -> tuple[Assembly, str]:
    """The assembly that a file contains, which may be a code object, and its text.

    Raises ``AssemblyError``, and ``ToolError`` where llvm-objdump is missing or fails.
    """
    if not content.strip():
        raise diagnostics.error("the input is empty", file)
    if content.startswith(MAGIC):
        chip = chip_of_object(content, file)
        listing = _disassembled(content, file)
        return read_disassembly(listing, chip, file), listing
    if diagnostics.is_bitcode(content):
        raise diagnostics.error("LLVM bitcode, not AMD assembly", file)
    text = diagnostics.as_text(content)
    if ".amdgcn_target" not in text:
        for pattern, name in _FORMATS:
            if pattern.search(text):
                raise diagnostics.error(f"{name}, not AMD assembly", file)
    assembly = read_assembly(text, file)
    check_whole(text, file)
    return assembly, text


def read_beside_source(path: str, content: bytes, file: str, arguments: Namespace) -> CodeAndSource:
    """The assembly in a file of that content, or made of it, with its source if there is one."""
    if arguments.run:
        return compile_and_read(path, arguments.run, arguments.code)
    assembly, text = read_input(content, file)
    if arguments.source:
        return read_beside(assembly, text, file, arguments.source)
    return CodeAndSource(assembly, file)


def _disassembled(content: bytes, file: str) -> str:
    objdump = find_llvm_tool("llvm-objdump")
    if objdump is None:
        raise diagnostics.error(f"code objects need llvm-objdump: {LLVM_HINT}", file)
    options = ("-d", "--symbolize-operands", "--no-show-raw-insn", "--no-leading-addr", "-")
    done = subprocess.run([objdump, *options], input=content, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise diagnostics.error(said[0] if said else "llvm-objdump failed", file)
    return done.stdout.decode(errors="replace")


def checked(
    assembly: Assembly, file: str, l2_per_agent: L2PerAgent | None = None
) -> Iterator[Checked]:
    """All functions; raises ``AssemblyError``."""
    chip_of(assembly, file)
    if not any(each.instructions for each in assembly.functions.values()):
        raise AssemblyError(f"{file}:1: error: there is no function with instructions in it")
    for function in assembly.functions.values():
        yield check(assembly, function, l2_per_agent)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What finds something in a function; ``option``: that asks for it, none if it is always done.

    ``replaces``: findings of other analyses that its own say better.
    """

    find: Callable[[Checked], Iterable[Finding]]
    option: str | None = None
    replaces: tuple[Rule, ...] = ()


ANALYSES = (
    Analysis(Checked.hazards),
    Analysis(Checked.patterns),
    Analysis(Checked.surplus, "surplus", replaces=(Rule.SURPLUS_WAIT,)),
)


def findings_of(each: Checked, arguments: Namespace) -> list[Finding]:
    """What the analyses that are asked for find in a function."""
    found: list[Finding] = []
    for analysis in ANALYSES:
        if analysis.option is None or getattr(arguments, analysis.option):
            found = [known for known in found if known.rule not in analysis.replaces]
            found += analysis.find(each)
    return found


_PLACE = re.compile(r"(.*):(\d+): error: (.*)", re.S)


def _diagnostic(problem: Exception, file: str) -> ToolError:
    """What to say of an input that could not be read. Raises ``problem`` if nothing is known."""
    if isinstance(problem, ToolError):
        return ToolError(problem.diagnostics, status=USAGE)
    if isinstance(problem, AssemblyError | SourceError) and (
        found := _PLACE.fullmatch(str(problem))
    ):
        return ToolError((Diagnostic(found[3], found[1], int(found[2]), 1),), status=USAGE)
    known = diagnostics.diagnose(problem, file)
    if known is None:
        raise problem
    return ToolError((known,), status=USAGE)


def _check(path: str, arguments: Namespace) -> int:
    """Check one file, print what was found, and return its status."""
    file = STDIN if path == "-" else path
    try:
        content = b"" if arguments.run else diagnostics.read_bytes(None if path == "-" else path)
        if ptx_check.takes(path, content):
            return _check_ptx(content, file, arguments)
        beside = read_beside_source(path, content, file, arguments)
        assembly, file = beside.assembly, beside.file
        many = arguments.l2_per_agent and L2PerAgent(arguments.l2_per_agent)
        functions = list(checked(assembly, file, many))
        found = sorted(each for one in functions for each in findings_of(one, arguments))
        comparisons = beside.comparisons(many)
        found = merged(found, comparisons)
        shown = show_counterexamples(comparisons, file, arguments.counterexamples)
        executed = {each: said for each, said in shown}
    except Exception as problem:
        print(_diagnostic(problem, file), file=sys.stderr)
        return USAGE
    if arguments.to:
        return _print_scoped(functions, file)
    if arguments.lift:
        for line, provided in (each for one in functions for each in one.provided()):
            print(f"{file}:{line}: {provided}")
    for each in found:
        if _is_shown(each, arguments):
            severity = Severity(each.level.value)
            text = f"{each.message} [{each.rule}]"
            place = (
                (path, each.source_line)
                if arguments.run and each.source_line
                else (file, each.line)
            )
            print(Diagnostic(text, *place, 1, severity))
            if each in executed:
                print(Diagnostic(executed[each], *place, 1, Severity.NOTE))
    names = {each.name: bool(each.descriptor) for each in assembly.functions.values()}
    _sum_up(file, assembly.chip, names, found)
    if beside.source is not None:
        judged = sum(each.was_compared for each in comparisons)
        print(
            f"{file}: {judged} of {len(comparisons)} functions compared with {beside.source.file}"
        )
    return _status(found, arguments)


def _check_ptx(content: bytes, file: str, arguments: Namespace) -> int:
    """Check a file of PTX, print what was found, and return its status."""
    for option in ("source", "l2_per_agent", "to"):
        if getattr(arguments, option):
            raise diagnostics.error(f"--{option.replace('_', '-')} is not for PTX", file)
    module = ptx_check.read_input(content, file)
    found = sorted(ptx_check.findings_of(module))
    if arguments.lift:
        for line, provided in ptx_check.lifted(module):
            print(f"{file}:{line}: {provided}")
    for each in found:
        if _is_shown(each, arguments):
            text = f"{each.message} [{each.rule}]"
            print(Diagnostic(text, file, each.line, 1, Severity(each.level.value)))
    _sum_up(file, module.target, ptx_check.names_of(module), found)
    return _status(found, arguments)


def _sum_up(
    file: str, chip: str, names: Mapping[str, bool], found: Sequence[Finding | PtxFinding]
) -> None:
    """Print what a file has, kernels and other functions, and how much was found."""
    kernels = [name for name, is_kernel in names.items() if is_kernel]
    others = [name for name, is_kernel in names.items() if not is_kernel]
    lists = (("kernels", kernels), ("functions", others))
    said = "; ".join(f"{what} {', '.join(each)}" for what, each in lists if each)
    number = Counter(each.level for each in found)
    counts = ", ".join(_count(number[level], level) for level in _LEVELS)
    print(f"{file}: {chip}: {said}: {counts}")


def _status(found: Sequence[Finding | PtxFinding], arguments: Namespace) -> int:
    bad = _LEVELS[: _LEVELS.index(arguments.fail_on) + 1]
    if any(each.level in bad for each in found if each.rule not in _NOT_CHECKED):
        return DOES_NOT_HOLD
    return INCOMPLETE if any(each.rule in _NOT_CHECKED for each in found) else HOLDS


def _print_scoped(functions: Sequence[Checked], file: str) -> int:
    """Print functions as MLIR, and say which cannot be; the status."""
    status = HOLDS
    for each in functions:
        function = each.lifted.code.flow.function
        try:
            print(each.scoped())
        except UnliftableError as problem:
            status = INCOMPLETE
            line = problem.line or function.instructions[0].line
            text = f"{function.name} cannot be said in 'scoped': {problem}"
            print(Diagnostic(text, file, line, 1), file=sys.stderr)
    return status


_ASKED = (Rule.SURPLUS_WRITE_BACK, Rule.SURPLUS_INVALIDATE, Rule.SURPLUS_WAIT, *SURPLUS)


def _is_shown(found: Finding | PtxFinding, arguments: Namespace) -> bool:
    asked = arguments.surplus and found.rule in _ASKED
    notes = arguments.notes or arguments.fail_on is Level.NOTE
    return asked or notes or found.level is not Level.NOTE


def _count(number: int, level: Level) -> str:
    return f"{number} {level}" if number == 1 else f"{number} {level}s"


def _parser() -> ArgumentParser:
    parser = ArgumentParser(NAME, description=__doc__)
    diagnostics.add_version(parser)
    parser.add_argument(
        "inputs", nargs="+", metavar="FILE", help="assembly, code object or PTX, - for stdin"
    )
    parser.add_argument(
        "--notes", action="store_true", help="print notes too: what may have been meant"
    )
    parser.add_argument(
        "--lift", action="store_true", help="print what each access, atomic and barrier provides"
    )
    parser.add_argument(
        "--to",
        choices=("scoped",),
        metavar="DIALECT",
        help="print the functions as MLIR on a dialect and nothing else: scoped",
    )
    parser.add_argument(
        "--surplus",
        action="store_true",
        help="print the write-backs, invalidates, waits and fences that can go, and what each costs",
    )
    add_options(parser)
    parser.add_argument(
        "--l2-per-agent",
        choices=tuple(L2PerAgent),
        metavar="NUMBER",
        help="how many L2 caches an agent has: one or many (where it may be either: many)",
    )
    parser.add_argument(
        "--fail-on",
        type=Level,
        choices=_LEVELS,
        default=Level.ERROR,
        metavar="LEVEL",
        help="the least level that makes the exit status 1: error (the default), warning, note",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run fence-check on ``argv`` (None: the command line) and return the exit status."""

    def body() -> int:
        arguments = _parser().parse_args(argv)
        check_options(arguments, NAME)
        return worst([_check(path, arguments) for path in arguments.inputs])

    return diagnostics.run_tool(NAME, body, failed=INCOMPLETE, unwritable=USAGE)


if __name__ == "__main__":
    sys.exit(main())
