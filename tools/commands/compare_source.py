"""The modes ``--source`` and ``--run`` of fence-check: code beside its source."""

import os
from abc import ABC, abstractmethod
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

from fencewright.checker.findings.finding import Finding, Level, Rule, Step
from fencewright.checker.source.program import SourceModule, with_cuda_atomics
from fencewright.lowering.code.source_location import files_in
from fencewright.lowering.llvm.architecture import CDNA, PTX, Architecture
from fencewright.lowering.vocabulary import FACT_TEXT, Fact, L2PerAgent
from fencewright.tools.diagnostics import as_text, error, is_bitcode, output_file, read_bytes
from fencewright.tools.inputs.code_kind import is_ptx
from fencewright.tools.reports.author_text import Ignore

if TYPE_CHECKING:
    from argparse import _ArgumentGroup  # pyright: ignore[reportPrivateUsage]  # it has no other name

    from fencewright.checker.amd.comparison.against_source import AmdComparer
    from fencewright.checker.amd.comparison.counterexample import Counterexample
    from fencewright.checker.nvidia.against_source import PtxComparer
    from fencewright.checker.source.compare import Comparison
    from fencewright.lowering.cdna.code.text import Assembly
    from fencewright.lowering.ptx.code.text import PtxFile
    from fencewright.tools.inputs.compiler_runs import Compiled

_MOST_SHOWN = 8
"""The findings of one file that are executed: each may take a second."""


def add_options(group: "_ArgumentGroup") -> None:
    """Add the options for a comparison."""
    group.add_argument(
        "--source",
        metavar="FILE.ll",
        help="the LLVM IR of the code: all the order that it requires must be in the code",
    )
    group.add_argument(
        "--run",
        metavar="COMMAND",
        help="the inputs are LLVM IR: compile them, as with 'llc-22 -O2 -mcpu=gfx942', and compare "
        "the code with them",
    )
    group.add_argument(
        "--compile",
        metavar="COMMAND",
        help="the inputs are CUDA, HIP or OpenCL: compile them with 'nvcc -arch=sm_90', 'hipcc "
        "--offload-arch=gfx942' or a clang, and check the code of the GPU",
    )
    group.add_argument(
        "--code", metavar="FILE.s", help="with --run or --compile: write the checked assembly"
    )
    group.add_argument(
        "--counterexamples",
        metavar="FOLDER",
        help="write a litmus test and a picture of each error against the source",
    )
    group.add_argument(
        "--assume",
        dest="facts",
        metavar="FACTS",
        type=facts_in,
        default=(),
        help="with --source or --run: facts about the source: "
        + "; ".join(f"{each}: {FACT_TEXT[each]}" for each in _FACTS),
    )


def facts_in(text: str) -> tuple[Fact, ...]:
    """The facts of a comma-separated list. Raises ``ArgumentTypeError`` for useless ones."""
    names = [each.strip() for each in text.split(",")]
    for name in names:
        if name not in _FACTS:
            raise ArgumentTypeError(
                f"'{name}' says nothing of a source; accepted: {', '.join(_FACTS)}"
            )
    return tuple(map(Fact, names))


_FACTS = (Fact.CUDA_ATOMICS,)
"""Facts that may be assumed of the source that code is compared with."""


_NAMES = "run compile source code counterexamples baseline write_baseline output".split()
"""Options that name a file, a folder or a command."""


def check_options(arguments: Namespace, name: str) -> None:
    """Raise ``ToolError`` for options that do not go together, or name nothing."""
    for option in _NAMES:
        value = getattr(arguments, option)
        if value is not None and not value.strip():
            flag = "-o" if option == "output" else f"--{option.replace('_', '-')}"
            raise error(f"{flag} is empty", name)
    one_only = "--source" if arguments.source else "--code" if arguments.code else ""
    if one_only and len(arguments.inputs) > 1:
        raise error(f"{one_only} is for one input", name)
    if arguments.source and arguments.run:
        raise error("--run takes its inputs for the source; --source has no effect", name)
    in_folder = any(map(os.path.isdir, arguments.inputs))
    if arguments.facts and not (arguments.source or arguments.run or in_folder):
        raise error("--assume is about the source: it needs --source or --run", name)
    if arguments.code and not (arguments.run or arguments.compile):
        raise error("--code needs --run or --compile", name)
    for option in ("run", "compile"):
        if getattr(arguments, option) and "-" in arguments.inputs:
            raise error(f"--{option} is for files, not for stdin", name)
    for option in ("source", "run"):
        if arguments.compile and getattr(arguments, option):
            raise error(f"--compile is for a source without LLVM IR, --{option} has it", name)


_Many = L2PerAgent | None
CodeText = TypeVar("CodeText", "Assembly", "PtxFile")
Judge = TypeVar("Judge", covariant=True)


@dataclass(frozen=True, slots=True)
class CodeAndSource(ABC, Generic[CodeText, Judge]):
    """Code, and the source beside it. ``file``: what messages call the code.

    ``files``: names of source files by their numbers in the code. ``apart``: functions that cannot
    be compared, and why. ``ignores``: comments of the code that ignore findings, by line.
    """

    ARCHITECTURE: ClassVar[Architecture]
    NAME: ClassVar[str]

    code: CodeText
    file: str
    source: SourceModule | None = None
    files: Mapping[int, str] = field(default_factory=dict[int, str])
    apart: Mapping[str, str] = field(default_factory=dict[str, str])
    ignores: Mapping[int, Ignore] = field(default_factory=dict[int, Ignore])

    def comparisons(self, l2_per_agent: _Many = None) -> "list[Comparison[Judge]]":
        """Each function with its source; raises ``AssemblyError``, and ``ToolError``."""
        source = self.source
        if source is None:
            return []
        if source.architecture not in ("", self.ARCHITECTURE.name):
            raise error(f"the source is not for {self.NAME}, its target triple says", source.file)
        if source.functions.keys().isdisjoint(self.code.functions):
            raise error("no function of the source is in the code", source.file)
        return list(self._compared(source, l2_per_agent))

    def beside(self, text: str, source: str) -> Self:
        """The code, of that text, with its source file. Raises ``OSError``, ``SourceError``."""
        return replace(self, source=_source(source, self.ARCHITECTURE), files=files_in(text))

    def compiled(self, path: str, done: "Compiled") -> Self:
        """A compiler's code of ``path``, with lines. Raises ``OSError``, ``SourceError``."""
        from fencewright.checker.source.numbered import with_places
        from fencewright.checker.source.text import read_source

        source = _source(path, self.ARCHITECTURE)
        if done.problem:
            return replace(self, source=source)
        numbered = read_source(done.numbered_source, path, self.ARCHITECTURE)
        lined, apart = self._lined(done.numbered_code)
        files = files_in(done.numbered_code)
        placed = with_places(source, numbered)
        return replace(self, code=lined, source=placed, files=files, apart=apart)

    @abstractmethod
    def _compared(self, source: SourceModule, many: _Many) -> "Iterator[Comparison[Judge]]": ...

    @abstractmethod
    def _lined(self, numbered: str) -> tuple[CodeText, dict[str, str]]: ...


class AssemblyAndSource(CodeAndSource["Assembly", "AmdComparer"]):
    """AMD assembly, and the source beside it."""

    ARCHITECTURE = CDNA
    NAME = "AMD's GPUs"

    def _compared(self, source: SourceModule, many: _Many) -> "Iterator[Comparison[AmdComparer]]":
        from fencewright.checker.amd.comparison.against_source import compare_assembly

        return compare_assembly(source, self.code, self.files, self.apart, many)

    def _lined(self, numbered: str) -> "tuple[Assembly, dict[str, str]]":
        from fencewright.checker.amd.comparison.against_source import with_lines
        from fencewright.lowering.cdna.code.text import read_assembly

        return with_lines(self.code, read_assembly(numbered, self.file))


class PtxAndSource(CodeAndSource["PtxFile", "PtxComparer"]):
    """PTX, and the source beside it."""

    ARCHITECTURE = PTX
    NAME = "PTX"

    def _compared(self, source: SourceModule, many: _Many) -> "Iterator[Comparison[PtxComparer]]":
        from fencewright.checker.nvidia.against_source import compare_ptx

        return compare_ptx(source, self.code, self.files, self.apart)

    def _lined(self, numbered: str) -> "tuple[PtxFile, dict[str, str]]":
        from fencewright.checker.nvidia.against_source import with_lines_of_ptx
        from fencewright.lowering.ptx.code.text import read_ptx

        return with_lines_of_ptx(self.code, read_ptx(numbered, self.file))


def assuming(
    beside: AssemblyAndSource | PtxAndSource, facts: Sequence[Fact]
) -> AssemblyAndSource | PtxAndSource:
    """Code and source where ``facts`` hold. Raises ``ToolError`` for one useless to a target."""
    if not facts or beside.source is None:
        return beside
    if isinstance(beside, AssemblyAndSource):
        raise error(f"fact '{facts[0]}': code for AMD's GPUs has no use for it", beside.file)
    return replace(beside, source=with_cuda_atomics(beside.source))


def _source(path: str, architecture: Architecture) -> SourceModule:
    from fencewright.checker.source.text import read_source

    content = read_bytes(path)
    if is_bitcode(content):
        raise error("LLVM bitcode, not its text: llvm-dis makes that", path)
    return read_source(as_text(content), path, architecture)


def compile_and_read(path: str, command: str, code: str | None) -> AssemblyAndSource | PtxAndSource:
    """The code that the command makes of ``path``, beside it; also written to ``code`` if given."""
    from fencewright.tools.inputs.compiler_runs import run_compiler

    _source(path, CDNA)
    done = run_compiler(command, path)
    file = code or f"{path} (compiled)"
    if code is not None:
        with output_file(code) as stream:
            stream.write(done.code)
    if is_ptx(done.code):
        from fencewright.lowering.ptx.code.text import read_ptx

        return PtxAndSource(read_ptx(done.code, file), file).compiled(path, done)
    from fencewright.lowering.cdna.code.text import read_assembly

    return AssemblyAndSource(read_assembly(done.code, file), file).compiled(path, done)


def compiled(path: str, command: str, code: str | None) -> tuple[str, bytes]:
    """The name of the code that a command makes of ``path``, and the code; written to ``code``."""
    from fencewright.tools.inputs.compiler_runs import compile_source

    text = compile_source(command, path)
    if code is not None:
        with output_file(code) as stream:
            stream.write(text)
    return code or f"{path} (compiled)", text.encode()


_JUDGED = (Rule.SCALAR_STALE,)
"""The rules that a comparison with the source decides, so that guesses without one add nothing."""
_OF_WAITS = (Rule.LDS_BARRIER, Rule.LDS_DMA_BARRIER)
"""The rules of a wait before a barrier, which a comparison finds too where the source shows it."""


def merged(found: Sequence[Finding], comparisons: Sequence["Comparison[object]"]) -> list[Finding]:
    """Findings with and without the source, each once."""
    with_source = [each for one in comparisons for each in one.findings]
    errors = [{e.line, *e.about} for e in with_source if e.level is Level.ERROR]
    places = {each.line for each in with_source if each.level is Level.ERROR}
    compared = any(each.was_compared for each in comparisons)
    kept = [
        each
        for each in found
        if not (compared and each.rule in _JUDGED)
        and not (each.rule is Rule.WRITE_BACK_UNWAITED and each.line in places)
        and not (each.rule in _OF_WAITS and any(lines.issuperset(each.about) for lines in errors))
    ]
    return sorted([*kept, *with_source])


def show_counterexamples(
    compared: Sequence["Comparison[AmdComparer]"], file: str, folder: str | None, *, has_steps: bool
) -> Iterator[tuple[Finding, tuple[str, tuple[Step, ...]]]]:
    """For each error against the source, the machine's counterexample in words, and with
    ``has_steps`` its steps; tests go to ``folder``."""
    judges = (each.comparer for each in compared if each.comparer is not None)
    errors = [(one.lifted, *each) for one in judges for each in one.pairs.items()]
    if not errors:
        return
    # Here, for it takes the simulator.
    from pathlib import Path

    from fencewright.checker.amd.comparison.counterexample import UnshownError, counterexample
    from fencewright.simulator.pictures.missing import MissingLibraryError

    missing: MissingLibraryError | None = None
    for number, (lifted, finding, pair) in enumerate(errors[:_MOST_SHOWN], 1):
        try:
            test = counterexample(lifted, finding, pair, f"found{number}")
        except UnshownError as problem:
            yield finding, (f"without a test: {problem}", ())
            continue
        waves = "two" if len(test.waves) == 2 else "three"
        said = f"on the machine, {waves} waves end with {test.forbidden}"
        if folder is not None:
            path = Path(folder, f"{test.name}.mlir")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(test.text(file), encoding="utf-8")
            said += f": fence-sim run {path} {test.command}"
            try:
                path.with_suffix(".svg").write_text(_picture(test), encoding="utf-8")
            except MissingLibraryError as problem:
                # The test is there without it; once is enough to say how to get it.
                said += "" if missing else f" (not drawn: {problem})"
                missing = problem
        else:
            said += ": --counterexamples writes the test"
        yield finding, (said, tuple(test.steps()) if has_steps else ())


def _picture(test: "Counterexample") -> str:
    from fencewright.simulator.pictures.timeline import timeline
    from fencewright.simulator.pictures.timeline_svg import timeline_svg

    return timeline_svg(timeline(test.execution()))
