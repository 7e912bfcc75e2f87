"""What ``fence-check --source`` and ``--run`` do: code beside the source that it was made of."""

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.checker.source.program import SourceModule, with_cuda_atomics
from fencewright.lowering.llvm.architecture import CDNA, PTX, Architecture
from fencewright.lowering.vocabulary import FACT_TEXT, Fact, L2PerAgent
from fencewright.tools.diagnostics import (
    ToolError,
    as_text,
    error,
    is_bitcode,
    output_file,
    read_bytes,
)
from fencewright.tools.inputs.code_kind import is_ptx
from fencewright.tools.statuses import USAGE

if TYPE_CHECKING:
    from fencewright.checker.amd.comparison.against_source import Comparison
    from fencewright.checker.execute.counterexample import Counterexample
    from fencewright.lowering.cdna.code.text import Assembly
    from fencewright.lowering.ptx.code.text import PtxFile
    from fencewright.tools.inputs.compiler_runs import Compiled

_MOST_SHOWN = 8
"""The findings of one file that are executed: each may take a second."""


def add_options(parser: ArgumentParser) -> None:
    """Add what asks for a comparison."""
    parser.add_argument(
        "--source",
        metavar="FILE.ll",
        help="the LLVM IR that the assembly was made of: what it asks for must be there",
    )
    parser.add_argument(
        "--run",
        metavar="COMMAND",
        help="the inputs are LLVM IR: compile them, as with 'llc-22 -O2 -mcpu=gfx942', and check "
        "what comes out against them, line by line",
    )
    parser.add_argument(
        "--code", metavar="FILE.s", help="with --run: write the assembly that is checked"
    )
    parser.add_argument(
        "--counterexamples",
        metavar="FOLDER",
        help="write a litmus test and a picture of each error against the source",
    )
    parser.add_argument(
        "--assume",
        dest="facts",
        metavar="FACTS",
        type=facts_in,
        default=(),
        help="with --source or --run: what is promised of the source: "
        + "; ".join(f"{each}: {FACT_TEXT[each]}" for each in _FACTS),
    )


def facts_in(text: str) -> tuple[Fact, ...]:
    """The facts of a comma-separated list. Raises ``ArgumentTypeError`` for one without an effect here."""
    names = [each.strip() for each in text.split(",")]
    for name in names:
        if name not in _FACTS:
            raise ArgumentTypeError(
                f"'{name}' says nothing of a source; accepted: {', '.join(_FACTS)}"
            )
    return tuple(map(Fact, names))


_FACTS = (Fact.CUDA_ATOMICS,)
"""Facts that may be assumed of the source that code is compared with."""


_NAMES = ("run", "source", "code", "counterexamples", "baseline", "write_baseline", "output")
"""Options that name a file, a folder or a command."""


def check_options(arguments: Namespace, name: str) -> None:
    """Raise ``ToolError`` for options that do not go together, or name nothing."""
    for option in _NAMES:
        value = getattr(arguments, option)
        if value is not None and not value.strip():
            flag = "-o" if option == "output" else f"--{option.replace('_', '-')}"
            raise _usage(f"{flag} is empty", name)
    one_only = "--source" if arguments.source else "--code" if arguments.code else ""
    if one_only and len(arguments.inputs) > 1:
        raise _usage(f"{one_only} is for one input", name)
    if arguments.source and arguments.run:
        raise _usage("--run takes its inputs for the source; --source has no effect", name)
    in_folder = any(map(os.path.isdir, arguments.inputs))
    if arguments.facts and not (arguments.source or arguments.run or in_folder):
        raise _usage("--assume is about the source: it needs --source or --run", name)
    if arguments.code and not arguments.run:
        raise _usage("--code needs --run", name)


def _usage(message: str, name: str) -> ToolError:
    return ToolError(error(message, name).diagnostics, status=USAGE)


@dataclass(frozen=True, slots=True)
class CodeAndSource:
    """Assembly, and the source beside it. ``file``: what messages call the assembly.

    ``files``: names of source files by their numbers in the assembly. ``apart``: functions that
    cannot be compared, and why.
    """

    assembly: "Assembly"
    file: str
    source: SourceModule | None = None
    files: Mapping[int, str] = field(default_factory=dict[int, str])
    apart: Mapping[str, str] = field(default_factory=dict[str, str])

    def comparisons(self, l2_per_agent: L2PerAgent | None) -> "list[Comparison]":
        """Each function with its source; raises ``AssemblyError``, and ``ToolError``."""
        if self.source is None:
            return []
        from fencewright.checker.amd.comparison.against_source import Comparison, not_compared
        from fencewright.checker.amd.comparison.modules import compare_modules

        _check_architecture(self.source, CDNA, "AMD's GPUs")
        if self.source.functions.keys().isdisjoint(self.assembly.functions):
            raise error("no function of the source is in the code", self.source.file)
        found = compare_modules(self.source, self.assembly, self.files, l2_per_agent)
        return [
            Comparison(
                each.function, None, (not_compared(each.function, self.apart[each.function]),)
            )
            if each.findings and each.function in self.apart
            else each
            for each in found
        ]


@dataclass(frozen=True, slots=True)
class PtxAndSource:
    """PTX, and the source beside it; as ``CodeAndSource``."""

    module: "PtxFile"
    file: str
    source: SourceModule | None = None
    files: Mapping[int, str] = field(default_factory=dict[int, str])
    apart: Mapping[str, str] = field(default_factory=dict[str, str])

    def comparisons(self) -> "list[Comparison]":
        """Each function with its source; raises ``ToolError``."""
        if self.source is None:
            return []
        _check_architecture(self.source, PTX, "PTX")
        if self.source.functions.keys().isdisjoint(self.module.functions):
            raise error("no function of the source is in the code", self.source.file)
        from fencewright.checker.nvidia.against_source import compare_ptx

        return list(compare_ptx(self.source, self.module, self.files, self.apart))


def assuming(
    beside: CodeAndSource | PtxAndSource, facts: Sequence[Fact]
) -> CodeAndSource | PtxAndSource:
    """Code and source where ``facts`` hold. Raises ``ToolError`` for one that a target has no use for."""
    if not facts or beside.source is None:
        return beside
    if isinstance(beside, CodeAndSource):
        raise error(f"fact '{facts[0]}': code for AMD's GPUs has no use for it", beside.file)
    return replace(beside, source=with_cuda_atomics(beside.source))


def _check_architecture(source: SourceModule, architecture: Architecture, name: str) -> None:
    """Raise ``ToolError`` where a source names another target than the code is for."""
    if source.architecture not in ("", architecture.name):
        raise error(f"the source is not for {name}, its target triple says", source.file)


def read_beside_ptx(module: "PtxFile", text: str, file: str, source: str) -> PtxAndSource:
    """The PTX ``text`` with its source file. Raises ``OSError``, ``SourceError``."""
    from fencewright.checker.amd.comparison.modules import files_in

    return PtxAndSource(module, file, _source(source, PTX), files_in(text))


def read_beside(assembly: "Assembly", text: str, file: str, source: str) -> CodeAndSource:
    """The assembly ``text`` with its source file. Raises ``OSError``, ``SourceError``."""
    from fencewright.checker.amd.comparison.modules import files_in

    return CodeAndSource(assembly, file, _source(source, CDNA), files_in(text))


def _source(path: str, architecture: Architecture) -> SourceModule:
    from fencewright.checker.source.text import read_source

    content = read_bytes(path)
    if is_bitcode(content):
        raise error("LLVM bitcode, not its text: llvm-dis makes that", path)
    return read_source(as_text(content), path, architecture)


def compile_and_read(path: str, command: str, code: str | None) -> CodeAndSource | PtxAndSource:
    """What the command makes of ``path``, beside it; written to ``code`` if that is given."""
    from fencewright.tools.inputs.compiler_runs import run_compiler

    _source(path, CDNA)
    done = run_compiler(command, path)
    file = code or f"{path} (compiled)"
    if code is not None:
        with output_file(code) as stream:
            stream.write(done.code)
    if is_ptx(done.code):
        return _compiled_ptx(path, done, file)
    return _compiled_assembly(path, done, file)


def _compiled_assembly(path: str, done: "Compiled", file: str) -> CodeAndSource:
    from fencewright.checker.amd.comparison.modules import files_in, with_lines, with_places
    from fencewright.checker.source.text import read_source
    from fencewright.lowering.cdna.code.text import read_assembly

    source = _source(path, CDNA)
    assembly = read_assembly(done.code, file)
    if done.problem:
        return CodeAndSource(assembly, file, source)
    numbered = read_source(done.numbered_source, path)
    lined, apart = with_lines(assembly, read_assembly(done.numbered_code, file))
    files = files_in(done.numbered_code)
    return CodeAndSource(lined, file, with_places(source, numbered), files, apart)


def _compiled_ptx(path: str, done: "Compiled", file: str) -> PtxAndSource:
    from fencewright.checker.amd.comparison.modules import files_in, with_places
    from fencewright.checker.nvidia.against_source import with_lines_of_ptx
    from fencewright.checker.source.text import read_source
    from fencewright.lowering.ptx.code.text import read_ptx

    source, module = _source(path, PTX), read_ptx(done.code, file)
    if done.problem:
        return PtxAndSource(module, file, source)
    numbered = read_source(done.numbered_source, path, PTX)
    lined, apart = with_lines_of_ptx(module, read_ptx(done.numbered_code, file))
    files = files_in(done.numbered_code)
    return PtxAndSource(lined, file, with_places(source, numbered), files, apart)


_JUDGED = (Rule.SCALAR_STALE,)
"""What a comparison with the source decides, so that guesses without one say nothing more."""


def merged(found: Sequence[Finding], comparisons: Sequence["Comparison"]) -> list[Finding]:
    """Findings with and without the source, each once."""
    with_source = [each.finding() for one in comparisons for each in one.findings]
    places = {each.line for each in with_source if each.level is Level.ERROR}
    compared = any(each.was_compared for each in comparisons)
    kept = [
        each
        for each in found
        if not (compared and each.rule in _JUDGED)
        and not (each.rule is Rule.WRITE_BACK_UNWAITED and each.line in places)
    ]
    return sorted([*kept, *with_source])


def show_counterexamples(
    comparisons: Sequence["Comparison"], file: str, folder: str | None
) -> Iterator[tuple[Finding, str]]:
    """For each error against the source, what the machine makes of it; tests go to ``folder``."""
    errors = [(one, each) for one in comparisons for each in one.findings if each.later is not None]
    if not errors:
        return
    # Here, for it takes the simulator.
    from pathlib import Path

    from fencewright.checker.execute.counterexample import UnshownError, counterexample
    from fencewright.simulator.pictures.missing import MissingLibraryError

    missing: MissingLibraryError | None = None
    for number, (one, each) in enumerate(errors[:_MOST_SHOWN], 1):
        assert one.lifted is not None
        try:
            test = counterexample(one.lifted, each, f"found{number}")
        except UnshownError as problem:
            yield each.finding(), f"without a test: {problem}"
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
        yield each.finding(), said


def _picture(test: "Counterexample") -> str:
    from fencewright.simulator.cdna.trace import find_counterexample
    from fencewright.simulator.pictures.timeline import timeline
    from fencewright.simulator.pictures.timeline_svg import timeline_svg

    found = find_counterexample(test.program(), test.condition.formula, test.configuration)
    assert found is not None
    return timeline_svg(timeline(found))
