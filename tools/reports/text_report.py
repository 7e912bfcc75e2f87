"""The output of fence-check: a line for each finding and file, a table for a folder."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from fencewright.checker.repair.prices import PricedLine
from fencewright.lowering.costs import total
from fencewright.lowering.wording import counted
from fencewright.tools.diagnostics import Diagnostic
from fencewright.tools.reports.file_report import (
    FileReport,
    FunctionName,
    ReportedFinding,
    counts_of,
    verdict_counts,
)
from fencewright.tools.reports.function_names import kernel_name, kernel_names


def lines_of(
    report: FileReport,
    paint: Callable[[Diagnostic], str] = str,
    *,
    has_verdicts: bool = False,
    has_costs: bool = False,
) -> Iterator[str]:
    """The output for one file that could be read, its summary last.

    ``has_verdicts``: with a line for the verdict of each function; ``has_costs``: for each fence
    and wait, else prices are summed up.
    """
    if has_verdicts:
        yield from verdicts_of(report)
    yield from findings_of(report, paint)
    if has_costs:
        yield from _price_table(report.prices, report.file)
    else:
        surplus = (each.at.line for each in report.findings if each.is_surplus)
        yield from _prices_left(report.prices, surplus, report.file)
    kernels = kernel_names([each.name for each in report.functions if each.is_kernel])
    others = kernel_names([each.name for each in report.functions if not each.is_kernel])
    lists = (("kernels", kernels), ("functions", others))
    said = "; ".join(f"{what} {', '.join(each)}" for what, each in lists if each)
    counts = counts_of(report.findings)
    options = {"--surplus" if each.is_surplus else "--notes"
               for each in report.findings if each.is_new and not each.is_shown}  # fmt: skip
    hidden = f" (with {' and '.join(sorted(options))})" if options else ""
    counted = ", ".join((counts.text() + hidden, *counts.apart()))
    yield f"{report.file}: {report.chip}: {said}: {counted}"
    if report.source:
        judged, number = report.compared
        yield f"{report.file}: {judged} of {number} functions compared with {report.source}"


def verdicts_of(report: FileReport) -> Iterator[str]:
    """A line for the verdict of each function."""
    for each in report.functions:
        if each.verdict is not None:
            where = f"{report.file}:{each.verdict.line}" if each.verdict.line else report.file
            yield f"{where}: {kernel_name(each.name)}: {each.verdict.text()}"


def findings_of(report: FileReport, paint: Callable[[Diagnostic], str] = str) -> Iterator[str]:
    """The guarantees of each access, and each new finding."""
    for line, provided in report.provided:
        yield f"{report.file}:{line}: {provided}"
    for each in report.findings:
        if each.is_shown and each.is_new:
            yield from map(paint, each.lines())


_HEADER = ("kernel", "chip", "verdict", "errors", "warnings", "surplus", "cost", "file")
_LEFT = (0, 1, 2, len(_HEADER) - 1)
"""The columns of words."""


def table_of(reports: Sequence[FileReport]) -> Iterator[str]:
    """A line for each kernel, and for each function that something was found in."""
    rows = [row for report in reports for row in _rows(report)]
    if not rows:
        return
    cells = [_HEADER, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADER))]
    for row in cells:
        padded = (
            cell.ljust(width) if column in _LEFT else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()


def _rows(report: FileReport) -> Iterator[Sequence[str]]:
    if report.problem:
        return
    by_function: dict[str, list[ReportedFinding]] = {
        each.name: [] for each in report.functions if each.is_kernel
    }
    verdicts = {each.name: _verdict(each) for each in report.functions}
    for each in report.findings:
        by_function.setdefault(each.function, []).append(each)
    names = kernel_names([*by_function])
    for (function, found), name in zip(by_function.items(), names, strict=True):
        counts = counts_of(found)
        errors, warnings, _ = counts.by_level
        numbers = (errors, warnings, counts.surplus, counts.cost)
        verdict = verdicts.get(function, "-")
        yield (name or "-", report.chip, verdict, *map(str, numbers), report.file)


def _verdict(function: FunctionName) -> str:
    return "-" if function.verdict is None else str(function.verdict.verdict)


def folder_lines(
    reports: Sequence[FileReport], skipped: int, beside: int, stale: int
) -> Iterable[str]:
    """The table, the unread files, and the sum.

    ``skipped``: files that are none of those that are checked; ``beside``: objects whose assembly
    was; ``stale``: findings of the baseline that are no more.
    """
    yield from table_of(reports)
    read = [each for each in reports if not each.problem]
    counts = counts_of([each for report in read for each in report.findings])
    parts = [f"{counted(len(reports), 'file')}: {counts.text()}", f"{counts.surplus} surplus"]
    parts += counts.apart()
    parts += [f"{stale} of the baseline found no more"] if stale else []
    if any(each.source for each in read):
        judged, number = (sum(each.compared[i] for each in read) for i in (0, 1))
        parts.append(f"{judged} of {number} functions compared with their source")
    if unread := len(reports) - len(read):
        parts.append(f"{unread} not read")
    if beside:
        parts.append(f"{counted(beside, 'object')} left to the assembly beside")
    parts.append(f"{skipped} other files skipped" if skipped != 1 else "1 other file skipped")
    parts.append(verdict_counts(read).text())
    yield "; ".join(parts)


# Prices


def _sum_of(lines: Iterable[PricedLine]) -> str:
    known = [each.cost for each in lines if each.cost is not None]
    return str(total(known)) if known else "unknown"


_PRICE_HEADER = ("line", "instruction", "cost", "source")


def _price_table(lines: Sequence[PricedLine], file: str) -> Iterator[str]:
    """A line for each fence and wait, and one for each function; costs are of one execution."""
    if not lines:
        yield f"{file}: no fence, barrier or wait, so none has a cost"
    for name, own in _by_function(lines).items():
        cells = [_PRICE_HEADER, *map(_price_cells, own)]
        widths = [max(len(row[n]) for row in cells) for n in range(len(_PRICE_HEADER) - 1)]
        yield f"{file}: {name}: {_number(own)}: {_sum_of(own)}, each executed once"
        for line, *rest, says in cells:
            words = (text.ljust(width) for text, width in zip(rest, widths[1:], strict=True))
            yield "  ".join((line.rjust(widths[0]), *words, says)).rstrip()


def _price_cells(each: PricedLine) -> tuple[str, str, str, str]:
    cost = each.cost
    price, says = ("not known", "") if cost is None else (str(cost), cost.source)
    return str(each.line), " ".join(each.instruction.split()), price, says


def _prices_left(lines: Sequence[PricedLine], gone: Iterable[int], file: str) -> Iterator[str]:
    """A line for each function: what the fences and waits cost that stay, without ``gone``."""
    left_out = set(gone)
    for name, own in _by_function(lines).items():
        kept = [each for each in own if each.line not in left_out]
        if kept:
            stay = "stays" if len(kept) == 1 else "stay"
            yield f"{file}: {name}: {_number(kept)} {stay}: {_sum_of(kept)}, each executed once"


def _number(lines: Sequence[PricedLine]) -> str:
    return "1 fence or wait" if len(lines) == 1 else f"{len(lines)} fences and waits"


def _by_function(lines: Sequence[PricedLine]) -> Mapping[str, list[PricedLine]]:
    return {name: list(own) for name, own in groupby(lines, attrgetter("function"))}
