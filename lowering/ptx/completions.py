"""Asynchronous operations of PTX that a thread has to wait for, with their waits.

An operation is in flight from its issue until a wait; one that is waited for by groups is in a
group from the next commit on. Verdicts judge the memory that copies and products access, and other
threads; ``hazard`` is a conflict that is no race: of registers, and of tensor memory.
"""

from dataclasses import dataclass

from fencewright.lowering.ptx.code.statements import ARRIVALS, MBARRIER_WAITS
from fencewright.lowering.vocabulary import FastStrEnum


class Hazard(FastStrEnum):
    """The effect of an operation in flight that a later instruction may be too early for."""

    NONE = "none but of memory that verdicts follow"
    PRODUCT = "write its registers, and read its matrices"
    TENSOR_READ = "read tensor memory"
    TENSOR_WRITE = "write tensor memory"


@dataclass(frozen=True, slots=True)
class Completion:
    """``operations`` that are in flight until one of ``waits``, or of ``all_waits``.

    ``word``: one that their names have; ``unless``: one that makes a wait none. ``commit``: what
    closes a group, of which a wait leaves as many as its operand says; "": there are no groups.
    ``conflicts``: the operations on tensor memory that do not keep their order after them.
    ``is_signalled``: whether threads that are signalled meanwhile may be too early as well.
    ``missing``: the wait that is missing.
    """

    operations: frozenset[str]
    hazard: Hazard
    waits: frozenset[str]
    missing: str
    source: str
    commit: str = ""
    all_waits: frozenset[str] = frozenset()
    word: str = ""
    unless: str = ""
    conflicts: frozenset[str] = frozenset()
    is_signalled: bool = False


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
        _names("wgmma mma_async, wgmma mma_async sp"), Hazard.PRODUCT, _names("wgmma wait_group"),
        "wgmma.wait_group of its group", "PTX ISA, wgmma.mma_async; wgmma.wait_group",
        commit="wgmma commit_group",
    ),
    # Registers that tcgen05.ld writes need no wait: PTX keeps the order of a dependency on them.
    Completion(
        _names("tcgen05 ld"), Hazard.TENSOR_READ, _names("tcgen05 wait::ld"), "tcgen05.wait::ld",
        f"{_TCGEN05}, Non-pipelined instructions; Register dependencies",
        conflicts=_names("tcgen05 st, tcgen05 mma, tcgen05 cp, tcgen05 dealloc"), is_signalled=True,
    ),
    Completion(
        _names("tcgen05 st"), Hazard.TENSOR_WRITE, _names("tcgen05 wait::st"), "tcgen05.wait::st",
        f"{_TCGEN05}, Non-pipelined instructions",
        conflicts=_names("tcgen05 ld, tcgen05 mma, tcgen05 cp"), is_signalled=True,
    ),
    Completion(
        _names("tcgen05 mma, tcgen05 cp, tcgen05 shift"), Hazard.TENSOR_WRITE, MBARRIER_WAITS,
        "tcgen05.commit and a wait at its mbarrier", f"{_TCGEN05}, Non-pipelined instructions",
        conflicts=_names("tcgen05 ld, tcgen05 st"),
    ),
    Completion(
        _names("cp async"), Hazard.NONE, _names("cp async wait_group"),
        "cp.async.wait_group of its group", "PTX ISA, cp.async; cp.async.wait_group",
        commit="cp async commit_group", all_waits=_names("cp async wait_all"),
    ),
    Completion(
        _TO_GLOBAL, Hazard.NONE, _names("cp async bulk wait_group"),
        "cp.async.bulk.wait_group.read of its group", "PTX ISA, cp.async.bulk.wait_group",
        commit="cp async bulk commit_group", word="bulk_group",
    ),
    Completion(
        _TO_GLOBAL, Hazard.NONE, _names("cp async bulk wait_group"),
        "cp.async.bulk.wait_group of its group, not .read,",
        "PTX ISA, cp.async.bulk.wait_group: writes made visible to the executing thread",
        commit="cp async bulk commit_group", word="bulk_group", unless="read",
    ),
)  # fmt: skip
"""One row for each way to be done."""
