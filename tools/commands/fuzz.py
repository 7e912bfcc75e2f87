"""fence-sim fuzz: random programs through the passes, and the results."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fencewright.tools.diagnostics import error, output_file, positive
from fencewright.tools.progress import progress
from fencewright.tools.reports.markdown import filled
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS
from fencewright.tools.workers import add_workers, campaign_error, open_workers

if TYPE_CHECKING:
    from fencewright.tools.fuzz.async_checks import AsyncTotals
    from fencewright.tools.fuzz.checks import SettingTotals
    from fencewright.tools.fuzz.totals import Totals, Violation

NAME = "fence-sim"

PROGRAMS = 100_000
"""The number of programs that a campaign checks by default."""

SHRUNK = 10
"""The number of violations that are reduced and written down."""


def add_commands(add_parser: Callable[..., ArgumentParser]) -> None:
    """Add ``fuzz``."""
    fuzzer = add_parser(
        "fuzz", help="check the passes on random programs, on every target and mode"
    )
    fuzzer.set_defaults(execute=fuzz)
    fuzzer.add_argument("--programs", metavar="N", type=positive, default=PROGRAMS)
    fuzzer.add_argument("--first", metavar="SEED", type=int, default=0, help="the first seed (0)")
    fuzzer.add_argument(
        "--llvm-ir",
        metavar="N",
        type=positive,
        default=0,
        help="check the first N also as LLVM IR, by the machine code that LLVM makes of it",
    )
    fuzzer.add_argument(
        "--async",
        dest="asynchronous",
        action="store_true",
        help="asynchronous programs instead, which insert-proxy-fences has to make right",
    )
    fuzzer.add_argument("--mcpu", metavar="CHIP", help="only on this chip, in each of its modes")
    add_workers(fuzzer)
    fuzzer.add_argument(
        "--results",
        metavar="FOLDER",
        type=Path,
        help="keep results there as they come, and go on from those that the same code left",
    )
    fuzzer.add_argument(
        "--failures",
        metavar="FOLDER",
        type=Path,
        help="write the smallest programs that fail there",
    )
    fuzzer.add_argument(
        "--page", metavar="FILE", type=Path, help="write the totals into a page, once all is done"
    )
    fuzzer.add_argument("--seed", type=int, help="only this seed: show its program and verdicts")


def fuzz(arguments: Namespace) -> int:
    """``fence-sim fuzz``."""
    _check_chip(arguments)
    if arguments.seed is not None:
        if arguments.asynchronous:
            return _show_async(arguments.seed)
        return _show(arguments.seed, arguments.mcpu)
    # Opened hours before it is written to, so that an unwritable path is reported at once.
    with nullcontext() if arguments.page is None else output_file(arguments.page) as page_file:
        totals = _checked(arguments)
        if page_file is not None:
            page_file.write(_page(totals, arguments))
    return DOES_NOT_HOLD if totals.violations else HOLDS


def _page(totals: "Totals", arguments: Namespace) -> str:
    """The page with the totals: between its marks, or alone where it has none."""
    from fencewright.tools.fuzz import async_checks, async_page, checks, page

    if isinstance(totals, async_checks.AsyncTotals):
        text = async_page.page(totals, arguments.first, date.today())
    else:
        assert isinstance(totals, checks.SettingTotals)
        text = page.page(totals, arguments.first, date.today())
    before = arguments.page.read_text(encoding="utf-8") if arguments.page.exists() else ""
    return filled(before, {"totals": text}) if "<!-- begin: totals -->" in before else text


def _check_chip(arguments: Namespace) -> None:
    """Raise :class:`ToolError` for a chip that programs are not checked on, or not so."""
    from fencewright.tools.fuzz.checks import SETTINGS, llvm_ir_settings_on, settings_on

    chip = arguments.mcpu
    if arguments.asynchronous and arguments.llvm_ir:
        raise error("--llvm-ir has no effect on asynchronous programs", NAME)
    if chip is None:
        return
    if arguments.asynchronous:
        raise error("--mcpu has no effect on --async, which has settings of its own", NAME)
    if not settings_on(chip):
        known = dict.fromkeys(each.mode.chip for each in SETTINGS.values())
        raise error(f"no setting of '{chip}'; there are some of {', '.join(known)}", NAME)
    if arguments.llvm_ir and not llvm_ir_settings_on(chip):
        raise error(f"--llvm-ir is for AMD's chips: no setting of '{chip}' is in LLVM IR", NAME)


def _checked(arguments: Namespace) -> "Totals":
    """Run the campaign and print its findings; after an interrupt also, but nothing is shrunk."""
    from fencewright.tools.fuzz import async_checks, checks

    if arguments.asynchronous:
        ways = "async", async_checks.campaign, ()
        found = _told(arguments, async_checks.AsyncTotals(), _async_summary, *ways)
        texts = map(_async_text, found.violations[:SHRUNK])
        names = [f"async-{each.setting.lower()}-{each.seed}" for each in found.violations]
    else:
        ways = "fuzz", checks.campaign, (arguments.llvm_ir, arguments.mcpu)
        found = _told(arguments, checks.SettingTotals(), _summary, *ways)
        texts = (_text(each, arguments.mcpu) for each in found.violations[:SHRUNK])
        names = [f"{each.setting}-{each.seed}" for each in found.violations]
    for name, text in zip(names, texts, strict=False):
        print(f"\n{text}")
        if arguments.failures is not None:
            arguments.failures.mkdir(parents=True, exist_ok=True)
            file = f"{re.sub('[^a-z0-9_]+', '-', name)}.mlir"
            (arguments.failures / file).write_text(text, encoding="utf-8")
    return found


def _async_summary(totals: "AsyncTotals") -> str:
    from fencewright.tools.fuzz.async_checks import AsyncVerdict

    inserted, missed = totals.inserted.total(), totals.missed.total()
    return (
        f"{totals.programs:,} asynchronous programs: {totals.count(AsyncVerdict.SOUND):,} sound, "
        f"{totals.count(AsyncVerdict.TOO_LARGE):,} too large, {len(totals.violations):,} "
        f"violations; of {totals.probed:,} programs {totals.wrong_without_the_pass:,} wrong if "
        f"nothing is inserted, {missed:,} of {inserted:,} inserted instructions missed if left out"
    )


def _async_text(violation: "Violation") -> str:
    """A violation with the smallest program that shows it."""
    from fencewright.passes.litmus.write_async import write
    from fencewright.tools.fuzz.async_checks import HEAD, smallest

    head = f"{HEAD}{violation.setting}"
    said = f"// Seed {violation.seed}, {violation.verdict}: {violation.message}"
    return "\n".join((head, said, "", write(smallest(violation))))


def _show_async(seed: int) -> int:
    from fencewright.passes.litmus.write_async import write
    from fencewright.simulator.random.async_programs import draw
    from fencewright.tools.fuzz.async_checks import check, setting_of

    program = draw(seed)
    print(write(program))
    setting = setting_of(seed, program)
    found = check(program, setting)
    print(f"// {setting}: {found.verdict}" + (f": {found.message}" if found.message else ""))
    return DOES_NOT_HOLD if found.verdict.is_violation else HOLDS


def _stream(arguments: Namespace, name: str) -> Path | None:
    """The file that keeps the results of a campaign by this code."""
    from fencewright.simulator.core.processes.campaign import code_digest

    if arguments.results is None:
        return None
    arguments.results.mkdir(parents=True, exist_ok=True)
    return arguments.results / f"{name}-{code_digest()}.jsonl"


_AnyTotals = TypeVar("_AnyTotals", "SettingTotals", "AsyncTotals")


def _told(
    arguments: Namespace,
    totals: _AnyTotals,
    summary: Callable[[_AnyTotals], str],
    name: str,
    campaign: Callable[..., Iterator[_AnyTotals]],
    more: tuple[object, ...],
) -> _AnyTotals:
    """The last of the totals of a campaign; after an interrupt those so far."""
    from fencewright.simulator.core.processes.campaign import CampaignError

    stream = _stream(arguments, name)
    try:
        with (
            progress(arguments.programs, "programs") as display,
            open_workers(arguments) as executor,
        ):
            first, programs = arguments.first, arguments.programs
            for totals in campaign(first, programs, executor, stream, *more):
                display.update(totals.programs, len(totals.violations))
    except CampaignError as problem:
        raise campaign_error(problem, NAME) from problem
    except KeyboardInterrupt:
        print(summary(totals))
        for each in totals.violations:
            print(f"{each.setting}: seed {each.seed}: {each.verdict}: {each.message}")
        raise
    print(summary(totals))
    return totals


def _summary(totals: "SettingTotals") -> str:
    checks = sum(sum(tally.verdicts.values()) for tally in totals.settings.values())
    return (
        f"{totals.programs:,} programs: {totals.racy:,} racy, {totals.too_large:,} too large, "
        f"{checks:,} checks on the others: {totals.count('sound'):,} sound, "
        f"{totals.count('too large'):,} too large, "
        f"{totals.count('not executed'):,} not executed, {len(totals.violations):,} violations"
    )


def _text(violation: "Violation", chip: str | None) -> str:
    """A violation with the smallest program that shows it."""
    from fencewright.passes.litmus.build_litmus import build
    from fencewright.tools.fuzz.checks import HEAD, SETTINGS, explanation_of, meant_by, smallest

    program, guilty = smallest(violation, chip)
    explanation = explanation_of(program, SETTINGS[violation.setting], meant_by(program))
    lines = [
        f"{HEAD}{violation.setting}",
        f"// Seed {violation.seed}, {violation.verdict} by {guilty or 'the lowering'}: "
        f"{violation.message}",
        *([f"// {explanation}"] if explanation else []),
    ]
    module = build(SETTINGS[violation.setting].place(program))
    return "\n".join((*lines, "", str(module), ""))


def _show(seed: int, chip: str | None) -> int:
    from fencewright.passes.litmus.build_litmus import build
    from fencewright.tools.fuzz.checks import (
        check,
        guilty_pass,
        llvm_ir_setting_of,
        llvm_ir_settings_on,
        meant_by,
        program_of,
        settings_of,
    )

    program = program_of(seed, chip)
    print(build(program))
    meant = meant_by(program)
    if meant.races or meant.incomplete:
        print(f"// {meant.races[0] if meant.races else meant.incomplete}")
        return HOLDS
    status = HOLDS
    settings = settings_of(seed, chip)
    if chip is None or llvm_ir_settings_on(chip):
        settings = (*settings, llvm_ir_setting_of(seed, chip))
    for setting in settings:
        found = check(program, setting, meant)
        print(f"// {setting}: {found.verdict}" + (f": {found.message}" if found.message else ""))
        if found.verdict.is_violation:
            status = DOES_NOT_HOLD
            print(f"//   by {guilty_pass(program, setting, meant) or 'the lowering'}")
    return status
