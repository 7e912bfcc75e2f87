"""Deletes from our own code what the simulator calls necessary, and says whether fence-check
notices.

``python -m fencewright.tools.dev.campaigns.needed [COUNT]``: of random programs without races, for
each chip and each wait, scope bit, write-back and invalidate (PTX: fence, ordering, scope) is
deleted in turn from what our passes make of them. A deletion counts if the machine, or PTX's model,
then does what the program forbids. Where a chip's documents leave something open the machine takes
it the harder way, and what only that makes necessary may be noticed by a note alone. The table is
for docs/checker-measured.md.
"""

import sys
from argparse import ArgumentParser
from collections import Counter as Count
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from fencewright.checker.amd.check import check
from fencewright.checker.findings.finding import Finding, Level
from fencewright.checker.nvidia.findings import find_problems
from fencewright.lowering.cdna.caches import WRITE_BACKS
from fencewright.lowering.cdna.chips import CHIPS as CHIP_ROWS
from fencewright.lowering.cdna.chips import GFX90A, GFX942, GFX950, GFX1250, Counter
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.mlir_dialects import cdna, ptx
from fencewright.passes.analysis.caches import modifiers_of
from fencewright.passes.litmus.build_litmus import build
from fencewright.simulator.litmus_run import Run
from fencewright.simulator.random.programs import SmallProgram
from fencewright.tools.dev.campaigns.deletions import Deleted, scope_bits
from fencewright.tools.dev.campaigns.own_code import (
    assembly_of,
    compared_assembly,
    compared_ptx,
    ptx_of,
)
from fencewright.tools.diagnostics import positive
from fencewright.tools.fuzz.checks import (
    CheckVerdict,
    Setting,
    judge,
    lowered,
    meant_by,
    program_of,
    settings_of,
)
from fencewright.tools.reports.markdown import markdown_table

CHIPS = (*(each.name for each in (GFX942, GFX90A, GFX950, GFX1250)), "sm_90")
"""The chips of the table."""

_FORBIDS = (CheckVerdict.UNSOUND, CheckVerdict.WRONG, CheckVerdict.STUCK)


@dataclass
class Tally:
    """Of one chip: by kind and by whether it was noticed, how many necessary things were deleted.

    ``programs`` were compared with their source; ``deleted``: how many things in all; ``by_less``:
    how many of those that were noticed are in warnings or notes alone.
    """

    programs: int = 0
    deleted: Count[Deleted] = field(default_factory=Count[Deleted])
    needed: Count[tuple[Deleted, bool]] = field(default_factory=Count[tuple[Deleted, bool]])
    by_less: Count[tuple[Deleted, Level]] = field(default_factory=Count[tuple[Deleted, Level]])
    missed: list[str] = field(default_factory=list[str])


# Deletions

_Edit = Callable[[Operation], None]


@dataclass(frozen=True, slots=True)
class Deletion:
    """One thing that can be deleted: the place of its operation in a module, and how."""

    kind: Deleted
    text: str
    place: int
    edit: _Edit

    def of(self, module: ModuleOp) -> ModuleOp:
        """The module without it."""
        made = module.clone()
        op = next(op for place, op in enumerate(made.walk()) if place == self.place)
        self.edit(op)
        return made


def deletions(module: ModuleOp) -> Iterator[Deletion]:
    """Each thing that synchronises."""
    for place, op in enumerate(module.walk()):
        yield from deletions_of(op, place)


def deletions_of(op: Operation, place: int) -> Iterator[Deletion]:
    """Each thing by which one operation of a module synchronises."""
    for kind, text, edit in _edits(op):
        yield Deletion(kind, text, place, edit)


def _edits(op: Operation) -> Iterator[tuple[Deleted, str, _Edit]]:
    match op:
        case cdna.WaitOp():
            for counter in op.counts.given:
                if counter != Counter.XCNT:  # Translations are not executed.
                    yield Deleted.WAIT, f"{counter}(..)", partial(_without_count, counter=counter)
        case cdna.CacheOp():
            is_back = op.opcode.data in WRITE_BACKS
            yield Deleted.WRITE_BACK if is_back else Deleted.INVALIDATE, op.opcode.data, _erase
        case cdna.LoadOp() | cdna.StoreOp() | cdna.AtomicOp():
            for bit in scope_bits(modifiers_of(op), isinstance(op, cdna.AtomicOp)):
                yield Deleted.BIT, f"{op.opcode.data} {bit}", partial(_without_bit, bit=bit)
        case ptx.FenceOp():
            yield Deleted.FENCE, op.opcode.data, _erase
        case ptx.LoadOp() | ptx.StoreOp() | ptx.AtomicOp():
            name = op.opcode.data
            for word, (less, kind) in _WEAKER.items():
                if word in name:
                    yield kind, name, partial(_rename, name=name.replace(word, less))
        case _:
            pass


_WEAKER = {
    **dict.fromkeys((".release.", ".acquire.", ".acq_rel."), (".relaxed.", Deleted.ORDERING)),
    **dict.fromkeys((".gpu.", ".sys.", ".cluster."), (".cta.", Deleted.BIT)),
}
"""The weaker word for each of PTX's words, with the kind of its deletion."""


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _without_count(op: Operation, counter: str) -> None:
    del op.properties[counter]
    if isinstance(op, cdna.WaitOp) and not op.counts:
        _erase(op)


def _without_bit(op: Operation, bit: str) -> None:
    left = [StringAttr(each) for each in modifiers_of(op) if each != bit]
    op.properties["modifiers"] = ArrayAttr(left)


def _rename(op: Operation, name: str) -> None:
    op.properties["opcode"] = StringAttr(name)


# Noticed deletions


def is_noticed(
    program: SmallProgram, module: ModuleOp, name: str, setting: Setting, right: Count[Level]
) -> Level | None:
    """The highest level of more findings in a lowered module than in the ``right`` one."""
    more = levels_of(program, module, name, setting) - right
    return next((each for each in Level if each in more), None)


def levels_of(program: SmallProgram, module: ModuleOp, name: str, setting: Setting) -> Count[Level]:
    """The number of findings of each level in a lowered module, with its program as the source."""
    return Count(each.level for each in findings_of(program, module, name, setting))


def findings_of(
    program: SmallProgram, module: ModuleOp, name: str, setting: Setting
) -> Iterator[Finding]:
    """The errors in a lowered module, and the open points against the source.

    Raises ``NotComparedError`` where one of its functions is not compared.
    """
    if setting.mode.chip in CHIP_ROWS:
        assembly = assembly_of(module, name)
        found = compared_assembly(program, assembly, name, setting)
        for function in assembly.functions.values():
            hazards = check(assembly, function, setting.mode.l2_per_agent).hazards()
            yield from (each for each in hazards if each.level is Level.ERROR)
    else:
        code = read_ptx(ptx_of(module), name)
        found = compared_ptx(program, code, name)
        for function in code.functions.values():
            problems = find_problems(code, function)
            yield from (each for each in problems if each.level is Level.ERROR)
    for one in found:
        if not one.was_compared:
            raise NotComparedError
        yield from one.findings


class NotComparedError(Exception):
    """A function cannot be compared with its source."""


def programs_of(
    chip: str, first: int, count: int, *, clusters: bool = False
) -> Iterator[tuple[str, Setting, SmallProgram, Run]]:
    """The programs of consecutive seeds that have no race, each in the chip's mode for it.

    With their names, and with the behaviour that is meant.
    """
    for seed in range(first, first + count):
        (setting,) = settings_of(seed, chip)
        program = program_of(seed, chip)
        if clusters:
            program = program.on_one_agent().in_one_cluster()
        meant = meant_by(program)
        if not (meant.races or meant.incomplete or setting.facts):
            yield f"{seed} {setting}", setting, setting.place(program), meant


def measure(chip: str, first: int, count: int, *, clusters: bool = False) -> Tally:
    """The tally over the programs of consecutive seeds, each in the chip's mode for it.

    ``clusters``: each of them in one cluster.
    """
    tally = Tally()
    for name, setting, placed, meant in programs_of(chip, first, count, clusters=clusters):
        code = lowered(build(placed), setting.passes(2))
        try:
            right = levels_of(placed, code, name, setting)
        except NotComparedError:
            continue
        if right[Level.ERROR]:
            raise AssertionError(f"{name}: an error in what is right")
        tally.programs += 1
        plain = lowered(build(placed), setting.passes(0))
        for each in deletions(code):
            tally.deleted[each.kind] += 1
            broken = each.of(code)
            verdict = judge(broken, setting, meant, plain).verdict
            if verdict not in _FORBIDS:
                continue
            found = is_noticed(placed, broken, name, setting, right)
            tally.needed[each.kind, found is not None] += 1
            if found is Level.WARNING or found is Level.NOTE:
                tally.by_less[each.kind, found] += 1
            if found is None:
                tally.missed.append(f"{name}: {each.text}: {verdict}")
    return tally


def table(tallies: Mapping[str, Tally]) -> str:
    """The number of necessary deletions that were noticed, by chip and kind."""
    rows = [
        [chip, kind, str(tally.deleted[kind]), str(of), f"{_noticed(tally, kind)} of {of}"]
        for chip, tally in tallies.items()
        for kind in Deleted
        if (of := tally.needed[kind, True] + tally.needed[kind, False])
    ]
    return markdown_table(("chip", "deleted", "of", "necessary", "noticed"), rows)


def _noticed(tally: Tally, kind: Deleted) -> str:
    noticed = str(tally.needed[kind, True])
    less = [
        f"{count} by a {level}"
        for level in (Level.WARNING, Level.NOTE)
        if (count := tally.by_less[kind, level])
    ]
    return f"{noticed} ({', '.join(less)})" if less else noticed


def parser_of(description: str | None) -> ArgumentParser:
    """A parser of the chips and of the programs of a campaign."""
    parser = ArgumentParser(description=description)
    parser.add_argument("count", type=positive, nargs="?", default=100, help="programs (100)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--chips", nargs="+", default=CHIPS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, and the unnoticed deletions."""
    parser = parser_of(__doc__)
    parser.add_argument("--clusters", action="store_true", help="each program in one cluster")
    arguments = parser.parse_args(argv)
    tallies: dict[str, Tally] = {}
    for chip in arguments.chips:
        tallies[chip] = measure(chip, arguments.first, arguments.count, clusters=arguments.clusters)
        print(f"{chip}: {tallies[chip].programs} programs", *tallies[chip].missed, sep="\n")
    print(table(tallies), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
