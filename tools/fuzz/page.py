"""docs/fuzz.md: the fuzzer, and the results of its programs."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date

from fencewright.tools.fuzz.checks import (
    CDNA_SETTINGS,
    LLVM_IR_FORMS,
    LLVM_IR_SETTINGS,
    PTX_SETTINGS,
    CheckVerdict,
    Tally,
    Totals,
)
from fencewright.tools.reports.markdown import markdown_table

_HEAD = """\
<!-- Written by `make fuzz`; change tools/fuzz/page.py, not this page. -->
# Random programs

`fence-sim fuzz` draws small random programs, lowers each at `-O2` for a CDNA
chip in one of its modes and for a PTX chip, and executes both exhaustively on the machine
models. The source must allow every outcome. `make fuzz` checks 100,000.

With `--llvm-ir N` the first N programs are checked as LLVM IR too: lowered as such, compiled by
LLVM's code generator at -O2, and executed on the CDNA machine from its assembly. LLVM
may still move an access, read it by a scalar load,
or remove a wait. In one round of four each pointer is `noalias`; in another every other access
is in a separately lowered function, and constants are copied from memory; in the
last every other plain access is `unordered`, and the text is edited, not reprinted.

A program has two to four threads, from one work-group to two agents apart. Data is mostly plain,
so that caches must be written back and invalidated. It is passed on under flags (polled
or read once), locks, barriers, grid barriers, counters and Dekker's algorithm, in global
memory and in LDS, through specific and generic pointers, with redundant
synchronisation of every ordering and scope between. Some programs have only atomics,
and a few are arbitrary, mostly racy. From seed 2,000,000,000 on, the waves of a
work-group all release before a barrier, and some of them publish after it.

A violation is code that

- has a forbidden outcome, or uses a register before its wait;
- may never end although the unoptimised code does, with no help from the caches (CDNA);
- has more write-backs, invalidates or fences than the unoptimised code on some path;
- or makes a pass fail.

For each violation the fuzzer prints the smallest program, and the first pass that
introduces it. `--failures tests/fuzz/seeds` keeps the program, which `tests/unit/test_fuzz.py`
then checks. That test also breaks each rule of the passes on purpose, which the fuzzer must
detect. `fence-sim fuzz --seed N` shows one program. Ctrl-C keeps the results; the same
command continues from them if the code is unchanged.

Racy programs are skipped. *Too large* exceeds the fuzzer's limit and does not count as sound, nor does *not executed*:
the model of the target lacks an operation.

On a GPU: [gpu-litmus.md](gpu-litmus.md#random-programs).
"""


def page(totals: Totals, first: int, today: date) -> str:
    """The page, in Markdown."""
    last = first + totals.programs - 1
    milliseconds = totals.seconds / totals.programs * 1000
    violations = len(totals.violations)
    return "\n".join(
        [
            _HEAD,
            "## Totals",
            "",
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


def _llvm_ir(totals: Totals) -> Iterator[str]:
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


def _programs(totals: Totals) -> tuple[str, ...]:
    checked = totals.programs - totals.racy - totals.too_large
    return tuple(f"{n:,}" for n in (totals.programs, totals.racy, totals.too_large, checked))


def _rows(totals: Totals) -> Iterator[tuple[str, ...]]:
    names = [str(each) for each in (*CDNA_SETTINGS, *PTX_SETTINGS)]
    for name in names:
        yield (f"`{name}`", *_cells(totals.on(name)))
    yield ("**all**", *(f"**{cell}**" for cell in _cells(_together(totals, names))))


def _together(totals: Totals, names: Iterable[str]) -> Tally:
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
