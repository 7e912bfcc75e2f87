"""gfx1250: what single requests are lowered to, and what is refused."""

import re

import pytest

from fencewright.lowering.cdna.counters.waits import operand_of, read_wait, split_counts
from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import UnsupportedError, WaitCounts


def text(chip: str = "gfx1250", **asked: str) -> list[str]:
    """The instructions for a request, without operand places."""
    found = lower(target=chip, **asked).instructions  # pyright: ignore[reportArgumentType]
    return [re.sub(r"(,? \{[^ ,]*\}|, off)", "", each.text) for each in found]


def test_a_release_waits_writes_back_and_waits_for_that() -> None:
    asked = {"op": "store", "ordering": "release", "scope": "agent", "space": "global"}
    store = "global_store_b32 scope:SCOPE_DEV"
    assert text(**asked) == [
        "s_wait_storecnt 0x0",
        "s_wait_loadcnt_dscnt 0x0",
        "global_wb scope:SCOPE_DEV",
        "s_wait_storecnt 0x0",
        "s_wait_xcnt 0x0",
        store,
    ]
    assert text(**asked, compat="llvm") == [
        "s_wait_loadcnt 0x0",
        "s_wait_storecnt 0x0",
        "global_wb scope:SCOPE_DEV",
        "s_wait_storecnt 0x0",
        "s_wait_xcnt 0x0",
        "s_wait_loadcnt_dscnt 0x0",
        store,
    ]


def test_a_cluster_is_a_scope_of_its_own() -> None:
    fence = {"op": "fence", "ordering": "acq_rel", "scope": "cluster"}
    waits = ["s_wait_storecnt 0x0", "s_wait_loadcnt_dscnt 0x0"]
    write_back = ["global_wb scope:SCOPE_SE", "s_wait_storecnt 0x0"]
    assert text(**fence) == [*waits, *write_back, "global_inv scope:SCOPE_SE"]
    assert text(**fence, compat="llvm") == [*waits, "global_inv scope:SCOPE_SE"]


def test_what_makes_nothing_available_only_waits() -> None:
    fence = {"op": "fence", "ordering": "acq_rel", "scope": "system", "availability": "none"}
    assert text(**fence) == ["s_wait_storecnt 0x0", "s_wait_loadcnt_dscnt 0x0"]


def test_barriers_are_split_in_signal_and_wait() -> None:
    assert text(op="barrier", ordering="relaxed", scope="workgroup") == [
        "s_barrier_signal -1",
        "s_barrier_wait -1",
    ]
    cluster = text(op="barrier", ordering="acq_rel", scope="cluster")
    first = cluster.index("s_barrier_signal_isfirst -1")
    assert cluster[first - 2 : first] == ["global_wb scope:SCOPE_SE", "s_wait_storecnt 0x0"]
    assert cluster[-1] == "global_inv scope:SCOPE_SE"


@pytest.mark.parametrize("scope", ["agent", "system"])
def test_a_barrier_of_more_than_a_cluster_is_refused(scope: str) -> None:
    with pytest.raises(UnsupportedError, match="accepted: cluster, workgroup"):
        text(op="barrier", ordering="relaxed", scope=scope)


@pytest.mark.parametrize("width", ["256", "512", "1024"])
def test_cooperative_widths_are_refused(width: str) -> None:
    """A cooperative atomic is one access of several lanes; ours are a lane's."""
    with pytest.raises(UnsupportedError, match="i128"):
        lower(op="load", ordering="relaxed", space="global", target="gfx1250", width=int(width))


def test_there_is_no_threadgroup_split_mode() -> None:
    with pytest.raises(UnsupportedError, match="gfx1250 has no feature tgsplit; accepted: none"):
        lower(op="fence", ordering="acquire", target="gfx1250", features=("tgsplit",))


@pytest.mark.parametrize(
    "counts",
    [
        WaitCounts(loadcnt=3, dscnt=4),
        WaitCounts(storecnt=63, dscnt=0),
        WaitCounts(loadcnt=1, storecnt=2, dscnt=3, xcnt=4),
        WaitCounts(kmcnt=0, asynccnt=2, tensorcnt=0),
    ],
)
def test_waits_are_read_as_they_are_written(counts: WaitCounts) -> None:
    read = WaitCounts()
    for mnemonic, part in split_counts(counts):
        read |= read_wait(mnemonic, int(operand_of(part), 0)) or read
    assert read == counts


def test_a_wait_of_two_counters_is_one_number() -> None:
    """As ``llc -mcpu=gfx1250`` writes it."""
    assert operand_of(WaitCounts(loadcnt=3, dscnt=4)) == "0x304"
