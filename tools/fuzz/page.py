"""The totals of docs/fuzz.md."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date

from fencewright.tools.fuzz.checks import (
    CDNA_SETTINGS,
    LLVM_IR_FORMS,
    LLVM_IR_SETTINGS,
    PTX_SETTINGS,
    CheckVerdict,
    SettingTotals,
    Tally,
)
from fencewright.tools.reports.markdown import markdown_table


def page(totals: SettingTotals, first: int, today: date) -> str:
    """The totals, in Markdown."""
    last = first + totals.programs - 1
    milliseconds = totals.seconds / totals.programs * 1000
    violations = len(totals.violations)
    return "\n".join(
        [
            f"{today.isoformat()}, seeds {first:,} to {last:,}: **{violations:,} violations**. "
            f"{totals.seconds:,.0f} s of CPU time, {milliseconds:.0f} ms a program.",
            "",
            markdown_table(_PROGRAMS, [_programs(totals)]),
            "The last two columns are of the sound ones: write-backs, invalidates and fences on the",
            "longest paths through their kernels, at -O0 and at -O2. `gfx942@one-l2` is code for however",
            "many L2s there may be, on a machine with one; `one-l2` is code that knows.",
            "",
            markdown_table(_COLUMNS, _rows(totals)),
            *_llvm_ir(totals),
        ]
    )


def _llvm_ir(totals: SettingTotals) -> Iterator[str]:
    """The programs that were LLVM IR, of all forms together."""
    if not any(str(each) in totals.settings for each in LLVM_IR_SETTINGS):
        return
    rows = [
        (
            f"`{setting}`",
            _together(totals, (str(replace(setting, through=each)) for each in LLVM_IR_FORMS)),
        )
        for setting in CDNA_SETTINGS
    ]
    everything = _together(totals, map(str, LLVM_IR_SETTINGS))
    yield f"{everything.verdicts.total():,} of them as LLVM IR, by the machine code that LLVM makes of it:\n"
    yield markdown_table(
        _COLUMNS[:-2],
        [
            *((name, *_cells(tally)[:-2]) for name, tally in rows),
            ("**all**", *(f"**{cell}**" for cell in _cells(everything)[:-2])),
        ],
    )


_PROGRAMS = ("programs", "racy", "too large for the source model", "checked")
_COLUMNS = ("target", "checked", "sound", "too large", "not executed", "violations", "-O0", "-O2")


def _programs(totals: SettingTotals) -> tuple[str, ...]:
    checked = totals.programs - totals.racy - totals.too_large
    return tuple(f"{n:,}" for n in (totals.programs, totals.racy, totals.too_large, checked))


def _rows(totals: SettingTotals) -> Iterator[tuple[str, ...]]:
    names = [str(each) for each in (*CDNA_SETTINGS, *PTX_SETTINGS)]
    for name in names:
        yield (f"`{name}`", *_cells(totals.settings[name]))
    yield ("**all**", *(f"**{cell}**" for cell in _cells(_together(totals, names))))


def _together(totals: SettingTotals, names: Iterable[str]) -> Tally:
    """The tally of the programs on all of these settings."""
    together = Tally()
    for name in names:
        if (tally := totals.settings.get(name)) is not None:
            together.verdicts.update(tally.verdicts)
            together.before += tally.before
            together.after += tally.after
    return together


def _cells(tally: Tally) -> tuple[str, ...]:
    verdicts = tally.verdicts
    known = (
        verdicts[each]
        for each in (CheckVerdict.SOUND, CheckVerdict.TOO_LARGE, CheckVerdict.NOT_EXECUTED)
    )
    counts = (verdicts.total(), *known, tally.violations, tally.before, tally.after)
    return tuple(f"{n:,}" for n in counts)
