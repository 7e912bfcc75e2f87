"""docs/fuzz-async.md: the fuzzer of asynchronous programs, and its results."""

from datetime import date

from fencewright.tools.fuzz.async_checks import PROBED, AsyncVerdict, Totals
from fencewright.tools.reports.markdown import markdown_table

_HEAD = f"""\
<!-- Written by `make fuzz`; change tools/fuzz/async_page.py, not this page. -->
# Random asynchronous programs

`fence-sim fuzz --async` draws programs of two or three threads in one work-group, a cluster of two, or two
clusters. They load and store, copy and reduce in bulk from and to shared memory and a peer's, store
and reduce asynchronously, copy as on Ampere, store zeros in bulk, multiply tiles with `wgmma`, and access global
memory by a multicast address; through specific and generic pointers, under conditions, in an
elected thread, and in loops. They synchronise by barriers, cluster barriers, mbarriers (arrivals, or
bytes completed by a thread) and flags.

Each program is a list of actions in which a synchronisation orders every two conflicting actions, so it is free of data
races *whatever the proxies*, and every execution must have the outcome of the list in order:
`insert-proxy-fences` guarantees it ([async.md](async.md)). Each is lowered for a PTX chip, at -O2 or -O0, and
executed in the PTX model. A violation has another outcome, may not end, or makes a
pass fail. The fuzzer prints the smallest program of each.

Of one program in {PROBED} everything that the pass inserted is left out: first all of it, then each instruction
by itself.
"""


def page(totals: Totals, first: int, day: date) -> str:
    """The page."""
    parts = [_HEAD, "## Result", "", _result(totals, first, day), "", _verdicts(totals), ""]
    parts += ["## The programs", "", _kinds(totals), ""]
    parts += ["## Inserted instructions", "", _inserted(totals), "", _WHY, ""]
    return "\n".join(parts)


def _result(totals: Totals, first: int, day: date) -> str:
    return (
        f"{day}: {totals.programs:,} programs (seeds {first:,} to {first + totals.programs - 1:,}), "
        f"{len(totals.violations):,} violations, {totals.seconds / 3600:.1f} hours of one core. "
        f"Of {totals.probed:,} programs {totals.wrong_without_the_pass:,} go wrong if the pass does "
        "not run; the others need nothing, or nothing that shows."
    )


def _verdicts(totals: Totals) -> str:
    words = list(AsyncVerdict)
    rows = [
        (name, *(f"{counts[word]:,}" for word in words))
        for name, counts in sorted(totals.verdicts.items())
    ]
    return markdown_table(("lowered for", *map(str, words)), rows)


def _kinds(totals: Totals) -> str:
    rows = [(f"`{kind}`", f"{count:,}") for kind, count in totals.kinds.most_common()]
    return markdown_table(("programs with a", "count"), rows)


def _inserted(totals: Totals) -> str:
    rows = [
        (f"`{text}`", f"{count:,}", f"{totals.missed[text]:,}")
        for text, count in sorted(totals.inserted.items())
    ]
    return markdown_table(("instruction", "inserted", "missed"), rows)


_WHY = """\
What is inserted and not missed: a writer fences before it releases, also if every reader must fence later for
another reason; the pass follows all paths of all threads and knows neither values nor how many threads there
are, so that it also fences for a path that no thread of the program takes; a wait for a group whose
end nobody looks at, or for sources before the kernel ends, since the model's shared memory outlives its
threads; and a `wgmma.fence` before the first multiplication, where nothing was in the registers."""
