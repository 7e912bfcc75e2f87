"""The totals of docs/fuzz-async.md."""

from datetime import date

from fencewright.tools.fuzz.async_checks import AsyncTotals, AsyncVerdict
from fencewright.tools.reports.markdown import markdown_table


def page(totals: AsyncTotals, first: int, day: date) -> str:
    """The totals, in Markdown."""
    parts = ["## Result", "", _result(totals, first, day), "", _verdicts(totals), ""]
    parts += ["## The programs", "", _kinds(totals), ""]
    parts += ["## Inserted instructions", "", _inserted(totals)]
    return "\n".join(parts)


def _result(totals: AsyncTotals, first: int, day: date) -> str:
    return (
        f"{day}: {totals.programs:,} programs (seeds {first:,} to {first + totals.programs - 1:,}), "
        f"{len(totals.violations):,} violations, {totals.seconds / 3600:.1f} hours of one core. "
        f"Of {totals.probed:,} programs {totals.wrong_without_the_pass:,} go wrong if the pass does "
        "not run; the others need nothing, or nothing that shows."
    )


def _verdicts(totals: AsyncTotals) -> str:
    words = list(AsyncVerdict)
    rows = [
        (name, *(f"{counts[word]:,}" for word in words))
        for name, counts in sorted(totals.verdicts.items())
    ]
    return markdown_table(("lowered for", *map(str, words)), rows)


def _kinds(totals: AsyncTotals) -> str:
    rows = [(f"`{kind}`", f"{count:,}") for kind, count in totals.kinds.most_common()]
    return markdown_table(("programs with a", "count"), rows)


def _inserted(totals: AsyncTotals) -> str:
    rows = [
        (f"`{text}`", f"{count:,}", f"{totals.missed[text]:,}")
        for text, count in sorted(totals.inserted.items())
    ]
    return markdown_table(("instruction", "inserted", "missed"), rows)
