"""Asynchronous operations of PTX that a thread has to wait for, with their waits.

An operation is in flight from its issue until a wait; one that is waited for by groups is in a
group from the next commit on. What it may yet do, and with whom that is in conflict, is ``left``.
"""

from dataclasses import dataclass

from fencewright.lowering.ptx.code.statements import ARRIVALS, MBARRIER_WAITS
from fencewright.lowering.vocabulary import FastStrEnum


class Left(FastStrEnum):
    """An effect that an operation in flight may still have."""

    REGISTERS = "write its registers"
    WRITES = "write shared or tensor memory"
    READS = "read shared or tensor memory"
    WRITES_GLOBAL = "write global memory"
    READS_MAP = "read its tensor map"


@dataclass(frozen=True, slots=True)
class Completion:
    """``operations`` that are in flight until one of ``waits``, or of ``all_waits``.

    ``word``: one that their names have; ``unless``: one that makes a wait none. ``commit``: what
    closes a group, of which a wait leaves as many as its operand says; "": there are no groups.
    ``conflicts``: the operations on tensor memory that do not keep their order after them; None:
    what they leave is in shared memory or registers.
    ``is_signalled``: whether threads that are signalled meanwhile may be too early as well.
    ``releases``: whether an arrival at an mbarrier says that it is done. ``ends``: whether a CTA
    may not end before it. ``missing``: the wait that a program lacks that goes on too early.
    """

    operations: frozenset[str]
    left: Left
    waits: frozenset[str]
    missing: str
    source: str
    commit: str = ""
    all_waits: frozenset[str] = frozenset()
    word: str = ""
    unless: str = ""
    conflicts: frozenset[str] | None = None
    is_signalled: bool = False
    releases: bool = False
    ends: bool = False


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


SIGNALS = ARRIVALS | _names("bar arrive, barrier arrive, barrier cluster arrive")
"""The operations by which a thread tells others to go on."""
MEETS = _names("bar sync, bar red, barrier sync, barrier red")
"""The barriers from which all of their threads go on together."""

_TCGEN05 = "PTX ISA, tcgen05 memory consistency model"
_TO_GLOBAL = _names(
    "cp async bulk, cp async bulk tensor bulk_group, cp reduce async bulk, cp reduce async bulk "
    "tensor"
)

COMPLETIONS: tuple[Completion, ...] = (
    Completion(
        _names("wgmma mma_async, wgmma mma_async sp"), Left.REGISTERS, _names("wgmma wait_group"),
        "wgmma.wait_group of its group", "PTX ISA, wgmma.mma_async; wgmma.wait_group",
        commit="wgmma commit_group",
    ),
    Completion(
        _names("wgmma mma_async, wgmma mma_async sp"), Left.READS, _names("wgmma wait_group"),
        "wgmma.wait_group of its group", "PTX ISA, wgmma.mma_async; wgmma.wait_group",
        commit="wgmma commit_group", releases=True,
    ),
    # Registers that tcgen05.ld writes need no wait: PTX keeps the order of a dependency on them.
    Completion(
        _names("tcgen05 ld"), Left.READS, _names("tcgen05 wait::ld"), "tcgen05.wait::ld",
        f"{_TCGEN05}, Non-pipelined instructions; Register dependencies",
        conflicts=_names("tcgen05 st, tcgen05 mma, tcgen05 cp, tcgen05 dealloc"), is_signalled=True,
    ),
    Completion(
        _names("tcgen05 st"), Left.WRITES, _names("tcgen05 wait::st"), "tcgen05.wait::st",
        f"{_TCGEN05}, Non-pipelined instructions",
        conflicts=_names("tcgen05 ld, tcgen05 mma, tcgen05 cp"), is_signalled=True,
    ),
    Completion(
        _names("tcgen05 mma, tcgen05 cp, tcgen05 shift"), Left.WRITES, MBARRIER_WAITS,
        "tcgen05.commit and a wait at its mbarrier", f"{_TCGEN05}, Non-pipelined instructions",
        conflicts=_names("tcgen05 ld, tcgen05 st"),
    ),
    Completion(
        _names("cp async"), Left.WRITES, _names("cp async wait_group"),
        "cp.async.wait_group of its group, or cp.async.wait_all,",
        "PTX ISA, cp.async; cp.async.wait_group", commit="cp async commit_group",
        all_waits=_names("cp async wait_all") | MBARRIER_WAITS,
    ),
    Completion(
        _names("cp async bulk, cp async bulk tensor"), Left.WRITES, MBARRIER_WAITS,
        "a wait at its mbarrier", "PTX ISA, cp.async.bulk: completion by mbarrier",
        word="mbarrier::complete_tx::bytes",
    ),
    Completion(
        _TO_GLOBAL, Left.READS, _names("cp async bulk wait_group"),
        "cp.async.bulk.wait_group.read of its group", "PTX ISA, cp.async.bulk.wait_group",
        commit="cp async bulk commit_group", word="bulk_group", ends=True,
    ),
    Completion(
        _names("cp async bulk tensor"), Left.READS_MAP, MBARRIER_WAITS, "a wait at its mbarrier",
        "PTX ISA, cp.async.bulk.tensor; tensormap.replace", word="mbarrier::complete_tx::bytes",
    ),
    Completion(
        _names("cp async bulk tensor bulk_group, cp reduce async bulk tensor"), Left.READS_MAP,
        _names("cp async bulk wait_group"), "cp.async.bulk.wait_group.read of its group",
        "PTX ISA, cp.async.bulk.wait_group: reading from the tensormap",
        commit="cp async bulk commit_group", word="bulk_group",
    ),
    Completion(
        _TO_GLOBAL, Left.WRITES_GLOBAL, _names("cp async bulk wait_group"),
        "cp.async.bulk.wait_group of its group, not .read,",
        "PTX ISA, cp.async.bulk.wait_group: writes made visible to the executing thread",
        commit="cp async bulk commit_group", word="bulk_group", unless="read", is_signalled=True,
    ),
)  # fmt: skip
"""One row for each way to be done."""
