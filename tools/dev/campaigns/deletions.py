"""Deletes each wait, scope bit, write-back and invalidate of assembly, and says what is noticed.

``python -m fencewright.tools.dev.campaigns.deletions FILE..`` prints a table for
docs/checker-measured.md:
of how many the checker finds a hazard, of how many another of its rules tells without a source, and
of how many more what is provided differs, which a source can be held against.
"""

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fencewright.checker.amd.accesses import SCALAR_INVALIDATES
from fencewright.checker.amd.check import Checked, check
from fencewright.checker.findings.finding import Finding, Level
from fencewright.checker.verdicts.amd.kernel import kernel_of
from fencewright.checker.verdicts.findings import findings_of
from fencewright.checker.verdicts.judge import judge
from fencewright.lowering.cdna.caches import WRITE_BACKS
from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.lowering.cdna.code.operands.operands import effects_of
from fencewright.lowering.cdna.code.text import (
    Assembly,
    AssemblyInstruction,
    Function,
    read_assembly,
)
from fencewright.lowering.cdna.counters.waits import COUNTERS
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import FastStrEnum, Scope
from fencewright.tools.diagnostics import run_tool
from fencewright.tools.reports.markdown import markdown_table


class Deleted(FastStrEnum):
    """The kind of a deletion."""

    WAIT = "wait"
    BIT = "scope bit"
    WRITE_BACK = "write-back"
    INVALIDATE = "invalidate"
    FENCE = "fence"
    ORDERING = "ordering"


class Noticed(FastStrEnum):
    """The check that notices it, the surest first."""

    HAZARD = "hazard"
    VERDICT = "verdict"
    PROVIDED = "what is provided"
    NOT = "not noticed"


@dataclass(frozen=True, slots=True)
class Deletion:
    """A function with something deleted at a line."""

    kind: Deleted
    line: int
    text: str
    function: Function


_ACCESSES = frozenset({Kind.LOAD, Kind.STORE, Kind.RMW, Kind.COPY})
_SCOPES = ("scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS")


def deletions(function: Function) -> Iterator[Deletion]:
    """Every deletion of one thing; waits for translations are left out."""
    generation = KNOWN_CHIPS[function.chip].generation
    for each in function.instructions:
        kind = effects_of(each, generation).kind
        if each.mnemonic == "s_waitcnt":
            for field in each.modifiers:
                rest = tuple(other for other in each.modifiers if other not in (field, "&"))
                made = _with(function, each, rest) if rest else function.without(each)
                yield Deletion(Deleted.WAIT, each.line, field, made)
        elif each.mnemonic in COUNTERS and each.mnemonic != "s_wait_xcnt":
            yield from _split_waits(function, each)
        elif each.mnemonic in WRITE_BACKS:
            yield Deletion(Deleted.WRITE_BACK, each.line, each.text, function.without(each))
        elif kind is Kind.CACHE and each.mnemonic not in SCALAR_INVALIDATES:
            yield Deletion(Deleted.INVALIDATE, each.line, each.text, function.without(each))
        elif kind in _ACCESSES:
            for bit in scope_bits(each.modifiers, kind is Kind.RMW):
                rest = tuple(other for other in each.modifiers if other != bit)
                yield Deletion(Deleted.BIT, each.line, each.text, _with(function, each, rest))


def _split_waits(function: Function, wait: AssemblyInstruction) -> Iterator[Deletion]:
    """The function without each of the counters of a wait, of which it may have two."""
    counters = COUNTERS[wait.mnemonic]
    for counter in counters:
        left = [f"s_wait_{each}" for each in counters if each != counter]
        made = function.without(wait)
        if left:
            text = " ".join((left[0], *map(str, wait.operands)))
            made = _replaced(function, wait, replace(wait, mnemonic=left[0], text=text))
        yield Deletion(Deleted.WAIT, wait.line, counter, made)


def scope_bits(modifiers: Sequence[str], is_atomic: bool) -> list[str]:
    """The bits that say a scope: of an atomic sc0 and glc say that it returns the old value."""
    bits = ("sc1", *_SCOPES) if is_atomic else ("sc0", "sc1", "glc", *_SCOPES)
    return [bit for bit in modifiers if bit in bits]


def _with(
    function: Function, instruction: AssemblyInstruction, modifiers: tuple[str, ...]
) -> Function:
    """The function with other modifiers on one instruction."""
    return _replaced(function, instruction, instruction.with_modifiers(modifiers))


def _replaced(
    function: Function, instruction: AssemblyInstruction, made: AssemblyInstruction
) -> Function:
    body = tuple(made if each is instruction else each for each in function.body)
    return replace(function, body=body)


Fact = tuple[str, int, int, Scope]
"""A pending or older access: the relation, the earlier line, the later one, and the scope."""


def provided(checked: Checked, scopes: Mapping[int, Scope]) -> set[Fact]:
    """The facts that other code could depend on; ``scopes``: of possible atomics, by line."""
    lifted = checked.lifted
    found: set[Fact] = set()
    for each in lifted.operations[1:]:
        widest = scopes.get(each.line, each.scope)
        for scope in (scope for scope in lifted.mode.scopes if widest.includes(scope)):
            pending = lifted.pending(each, scope, hardest=True)
            found.update(("late", first.line, each.line, scope) for first in pending)
            if each.reads:
                found.update(
                    ("older", each.line, later.line, scope) for later in lifted.older(each, scope)
                )
        if each.kind is Kind.BARRIER:
            for scope in lifted.mode.scopes:
                later = lifted.older(each, scope)
                found.update(("older", each.line, other.line, scope) for other in later)
        place = lifted.places.get(each.number)
        if place is not None and each.writes and widest.includes(Scope.AGENT):
            barriers = lifted.code.those(place.stores_at_barrier)
            found.update(("crossing", barrier.line, each.line, Scope.AGENT) for barrier in barriers)
    return found


def noticed(assembly: Assembly, before: Checked, deletion: Deletion) -> Noticed:
    """The check that notices a deletion."""
    after = check(assembly, deletion.function)
    if _errors(after.hazards()) - _errors(before.hazards()):
        return Noticed.HAZARD
    if _races(after) - _races(before):
        return Noticed.VERDICT
    scopes = {each.line: each.scope for each in before.lifted.operations[1:]}
    narrower = any(
        not each.scope.includes(scopes[each.line]) for each in after.lifted.operations[1:]
    )
    if narrower or provided(after, scopes) - provided(before, scopes):
        return Noticed.PROVIDED
    return Noticed.NOT


def _errors(findings: Iterator[Finding]) -> set[tuple[int, str]]:
    return {(each.line, each.rule) for each in findings if each.level is Level.ERROR}


def _races(checked: Checked) -> set[tuple[int, str, tuple[int, ...]]]:
    verdict = judge(kernel_of(checked.lifted))
    return {(each.line, each.rule, each.about) for each in findings_of(verdict)}


def counts(assembly: Assembly) -> tuple[Counter[tuple[Deleted, Noticed]], list[Deletion]]:
    """The number of deletions by the check that notices them, and those that none notices."""
    total = Counter[tuple[Deleted, Noticed]]()
    missed: list[Deletion] = []
    for function in assembly.functions.values():
        before = check(assembly, function)
        for each in deletions(function):
            how = noticed(assembly, before, each)
            total[each.kind, how] += 1
            if how is Noticed.NOT:
                missed.append(each)
    return total, missed


def printed(total: Counter[tuple[Deleted, Noticed]]) -> str:
    """The table."""
    rows = [
        [
            kind,
            str(sum(total[kind, how] for how in Noticed)),
            *(str(total[kind, how]) for how in Noticed),
        ]
        for kind in Deleted
        if any(total[kind, how] for how in Noticed)
    ]
    return markdown_table(("deleted", "of", *Noticed), rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table for files of assembly, and the unnoticed deletions."""
    parser = ArgumentParser(prog="deletions", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="assembly")

    def body() -> int:
        total = Counter[tuple[Deleted, Noticed]]()
        for path in parser.parse_args(argv).files:
            assembly = read_assembly(path.read_text(encoding="utf-8"), str(path))
            found, missed = counts(assembly)
            total.update(found)
            for each in missed:
                print(f"{path}:{each.line}: {each.text} in {each.function.name}")
        print(printed(total), end="")
        return 0

    return run_tool("deletions", body)


if __name__ == "__main__":
    sys.exit(main())
