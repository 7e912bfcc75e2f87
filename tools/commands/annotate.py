"""``fence-check --annotate``: assembly with the purpose of each synchronisation instruction."""

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fencewright.checker.findings.finding import SURPLUS, Finding
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.tools.diagnostics import as_text
from fencewright.tools.inputs.code_kind import is_ptx_file
from fencewright.tools.reports.annotation import (
    AnnotatedCode,
    Note,
    NoteKind,
    annotated_page,
    annotated_text,
)
from fencewright.tools.reports.author_text import author_lines

if TYPE_CHECKING:
    from fencewright.lowering.ptx.code.text import PtxFile

_PAGE = (".html", ".htm")


def annotated(path: str, file: str, content: bytes, arguments: Namespace) -> Iterator[str]:
    """The lines of a file with notes, HTML for such a name; raises as ``report_of``."""
    of_kind = _ptx if is_ptx_file(path, content) else _assembly
    code = of_kind(content, file, arguments)
    is_page = Path(arguments.output or "").suffix in _PAGE
    return annotated_page(code) if is_page else annotated_text(code)


def _assembly(content: bytes, file: str, arguments: Namespace) -> AnnotatedCode:
    from fencewright.checker.amd.explain import purposes_of
    from fencewright.checker.verdicts.amd.judge import judged
    from fencewright.checker.verdicts.solver import Launch
    from fencewright.tools.commands.amd_check import checked, read_input

    assembly, text = read_input(content, file)
    many = arguments.l2_per_agent and L2PerAgent(arguments.l2_per_agent)
    functions = [each for each in checked(assembly, file, many) if not each.is_empty]
    notes = [
        Note(each.line, _kind(each.is_surplus), each.text, each.orders)
        for one in functions
        for each in purposes_of(one.lifted, one.entries)
    ]
    launch = Launch(arguments.block, arguments.grid)
    found = [each for one in functions for each in judged(one, launch).findings]
    instructions = (each for one in assembly.functions.values() for each in one.instructions)
    places = author_lines(instructions, assembly.files, file)
    return _annotated(file, text, assembly.chip, notes, found, ";", places)


def _ptx(content: bytes, file: str, arguments: Namespace) -> AnnotatedCode:
    from fencewright.tools import ptx_check

    module = ptx_check.read_input(content, file)
    judged = ptx_check.judged(module, arguments.block, arguments.grid)
    found = [each for one in judged for each in one.findings]
    instructions = (each for one in module.functions.values() for each in one.instructions)
    places = author_lines(instructions, module.files, file)
    notes = list(_ptx_notes(module))
    return _annotated(file, as_text(content), module.target, notes, found, "//", places)


def _ptx_notes(module: "PtxFile") -> Iterator[Note]:
    from fencewright.checker.nvidia.guarantees import Guarantees

    for function in module.functions.values():
        for each in Guarantees(function).lines():
            text = each.text.rpartition(" -> ")[2]
            if "weak" not in text.split():
                yield Note(each.instruction.line, NoteKind.PURPOSE, text)


def _annotated(
    file: str,
    text: str,
    chip: str,
    purposes: Sequence[Note],
    found: Sequence[Finding],
    comment: str,
    places: Mapping[int, Sequence[SourceLocation]],
) -> AnnotatedCode:
    """Purposes and findings in one; what can go is said once. ``places``: the author's lines."""
    gone = {each.line for each in purposes if each.kind is NoteKind.SURPLUS}
    notes = list(purposes)
    for each in found:
        if each.rule in SURPLUS and each.line in gone:
            continue
        kind = NoteKind.SURPLUS if each.rule in SURPLUS else NoteKind(str(each.level))
        at = next(iter(places.get(each.line, ())), None)
        notes.append(Note(each.line, kind, each.message, each.about, str(at or "")))
    notes.sort(key=lambda each: each.line)
    surplus = sum(each.kind is NoteKind.SURPLUS for each in notes)
    errors = sum(each.kind is NoteKind.ERROR for each in notes)
    warnings = sum(each.kind is NoteKind.WARNING for each in notes)
    summary = f"{chip}: {errors} errors, {warnings} warnings, {surplus} surplus"
    return AnnotatedCode(file, text.splitlines(), notes, comment, summary)


def _kind(surplus: bool) -> NoteKind:
    return NoteKind.SURPLUS if surplus else NoteKind.PURPOSE
