"""Findings in code that a compiler has in memory, as the hooks of compilers print them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from fencewright.checker.findings.finding import SURPLUS, Finding, Level
from fencewright.lowering.code.source_location import SourceLine, SourceLocation, places_of
from fencewright.tools.reports.function_names import in_author_words, short_name
from fencewright.tools.reports.numba_names import smem_names

_Sources = Mapping[int, SourceLine | None]
"""The places in the source of the lines of a function."""
_Found = tuple[Finding, _Sources]


def findings_in(
    code: str,
    name: str,
    stage: str,
    words: Mapping[str, str] = MappingProxyType({}),
    parameters: Sequence[str] = (),
) -> Iterator[str]:
    """The errors and warnings of ``fence-check`` on code, a line each, at the author's lines.

    ``stage``: ptx or amdgcn. ``name``: the code's, which is the place of what has no source.
    ``words``: those of the author's language for CUDA's. ``parameters``: their names. Raises
    ``AssemblyError`` or ``PtxError`` for code that cannot be read.
    """
    files, found = _FOUND[stage](code, name)
    shown, paths = short_name(name), tuple(files.values())
    for finding, sources in found:
        if finding.rule in SURPLUS or finding.level is Level.NOTE:
            continue

        def place_of(line: int, sources: _Sources = sources) -> SourceLocation | None:
            source = sources.get(line)
            return next(iter(places_of(source and source.in_kernel, files)), None)

        place = place_of(finding.line)
        message = in_author_words(
            finding.message, name, place, place_of, paths, parameters, smem_names([code])
        )
        for word, own in words.items():
            message = message.replace(word, own)
        said = f"{finding.level}: {message} [{finding.rule}]"
        code_line = f"{shown}:{finding.line}"
        yield f"{place}: {said} ({code_line})" if place else f"{code_line}: {said}"


def _in_amd(code: str, name: str) -> tuple[Mapping[int, str], Iterator[_Found]]:
    from fencewright.checker.amd.check import check
    from fencewright.checker.verdicts.amd.judge import judged
    from fencewright.lowering.cdna.code.text import read_assembly

    assembly = read_assembly(code, name)

    def found() -> Iterator[_Found]:
        for function in assembly.functions.values():
            sources = {each.line: each.source for each in function.instructions}
            for each in judged(check(assembly, function)).findings:
                yield each, sources

    return assembly.files, found()


def _in_ptx(code: str, name: str) -> tuple[Mapping[int, str], Iterator[_Found]]:
    from fencewright.checker.nvidia.findings import find_problems
    from fencewright.lowering.ptx.code.text import read_ptx

    file = read_ptx(code, name)

    def found() -> Iterator[_Found]:
        for function in file.functions.values():
            sources = {each.line: each.source for each in function.instructions}
            for each in find_problems(file, function):
                yield each, sources

    return file.files, found()


_FOUND: Mapping[str, Callable[[str, str], tuple[Mapping[int, str], Iterator[_Found]]]] = {
    "amdgcn": _in_amd,
    "ptx": _in_ptx,
}
