"""Findings in code that a compiler has in memory, as the hooks of compilers print them."""

from collections.abc import Callable, Iterator, Mapping

from fencewright.checker.findings.finding import SURPLUS, Finding, Level
from fencewright.lowering.code.source_location import SourceLine, places_of

_Found = tuple[Finding, SourceLine | None]
"""A finding, and the place of its instruction in the source."""


def findings_in(code: str, name: str, stage: str) -> Iterator[str]:
    """The errors and warnings of ``fence-check`` on code, a line each, at the author's lines.

    ``stage``: ptx or amdgcn. ``name``: the code's, which is the place of what has no source.
    Raises ``AssemblyError`` or ``PtxError`` for code that cannot be read.
    """
    files, found = _FOUND[stage](code, name)
    for finding, source in found:
        if finding.rule in SURPLUS or finding.level is Level.NOTE:
            continue
        said = f"{finding.level}: {finding.message} [{finding.rule}]"
        places = places_of(source and source.in_kernel, files)
        if places:
            yield f"{places[0]}: {said} ({name}:{finding.line})"
        else:
            yield f"{name}:{finding.line}: {said}"


def _in_amd(code: str, name: str) -> tuple[Mapping[int, str], Iterator[_Found]]:
    from fencewright.checker.check_amd import check
    from fencewright.checker.judge_amd import judged
    from fencewright.lowering.cdna.code.text import read_assembly

    assembly = read_assembly(code, name)

    def found() -> Iterator[_Found]:
        for function in assembly.functions.values():
            sources = {each.line: each.source for each in function.instructions}
            for each in judged(check(assembly, function)).findings:
                yield each, sources.get(each.line)

    return assembly.files, found()


def _in_ptx(code: str, name: str) -> tuple[Mapping[int, str], Iterator[_Found]]:
    from fencewright.checker.nvidia.findings import find_problems
    from fencewright.lowering.ptx.code.text import read_ptx

    file = read_ptx(code, name)

    def found() -> Iterator[_Found]:
        for function in file.functions.values():
            sources = {each.line: each.source for each in function.instructions}
            for each in find_problems(file, function):
                yield each, sources.get(each.line)

    return file.files, found()


_FOUND: Mapping[str, Callable[[str, str], tuple[Mapping[int, str], Iterator[_Found]]]] = {
    "amdgcn": _in_amd,
    "ptx": _in_ptx,
}
