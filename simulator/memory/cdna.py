"""What one instruction of a wave makes a CDNA chip count, by the rows of ``lowering.cdna.memory``.

The counters have rocprofiler's names. L1 is cold. A wide LDS access that is not naturally aligned
is no bank conflict: what it costs is not known, and ``UNALIGNED`` has its lanes.
"""

from collections.abc import Callable

import numpy as np

from fencewright.lowering.cdna.memory import (
    GROUP,
    LANES,
    LDS_WORD,
    QUAD,
    WRITE_REQUEST,
    CdnaHierarchy,
    CdnaMemoryOperation,
    LdsInstruction,
    LdsPhases,
    VectorInstruction,
    lds_phases,
)
from fencewright.lowering.evidence import Evidence
from fencewright.simulator.memory.lanes import (
    LaneFlags,
    Numbers,
    distinct,
    fullest,
    how_many,
    none,
    rank_among_equals,
    total,
    words_of,
)

CONFLICTS = "SQ_LDS_BANK_CONFLICT"
ACTIVE = "SQ_LDS_IDX_ACTIVE"
ADDRESS_CONFLICTS = "SQ_LDS_ADDR_CONFLICT"
UNALIGNED = "unaligned lanes (SQ_LDS_UNALIGNED_STALL)"
INSTRUCTIONS = "TA_TOTAL_WAVEFRONTS"
READS = "TA_FLAT_READ_WAVEFRONTS"
WRITES = "TA_FLAT_WRITE_WAVEFRONTS"
ACCESSES = "TCP_TOTAL_ACCESSES"
CACHE_ACCESSES = "TCP_TOTAL_CACHE_ACCESSES"
TRANSLATIONS = "TCP_UTCL1_REQUEST"
READ_REQUESTS = "TCP_TCC_READ_REQ"
WRITE_REQUESTS = "TCP_TCC_WRITE_REQ"
ATOMIC_REQUESTS = "TCP_TCC_ATOMIC_WITHOUT_RET_REQ"
FABRIC_READS = "TCC_EA_RDREQ"


def lds_counters(
    instruction: LdsInstruction,
    offsets: tuple[int, ...],
    chip: CdnaHierarchy,
    addresses: Numbers,
    active: LaneFlags,
) -> dict[str, Numbers] | None:
    """What each of many LDS accesses counts; None where the chip's phases are not known."""
    row = lds_phases(instruction.access, instruction.width, chip.lds_banks)
    if row is None:
        return None
    places = [addresses + offset for offset in offsets]
    aligned = [active & (at % alignment_of(instruction.width) == 0) for at in places]
    conflicts = total(
        [
            _conflicts(row, instruction.width, at, used)
            for at, used in zip(places, aligned, strict=True)
        ]
    )
    is_atomic = instruction.access is CdnaMemoryOperation.ATOMIC
    return {
        CONFLICTS: conflicts,
        ACTIVE: np.add(conflicts, len(row.phases) * len(offsets)),
        ADDRESS_CONFLICTS: total(
            [how_many(active & (rank_among_equals(at, active) > 0) & is_atomic) for at in places]
        ),
        UNALIGNED: total([how_many(active & ~used) for used in aligned]),
    }


def alignment_of(width: int) -> int:
    """Bytes that an access of ``width`` is naturally aligned to: 16 for three words too."""
    return 16 if width == 12 else width


def _conflicts(row: LdsPhases, width: int, addresses: Numbers, active: LaneFlags) -> Numbers:
    found = none(addresses)
    for lanes in row.phases:
        chosen = np.array(lanes)
        words = words_of(addresses[:, chosen], width, LDS_WORD)
        used = np.repeat(active[:, chosen], words.shape[1] // len(lanes), axis=1)
        # A phase costs a cycle though no lane of it is active.
        found = found + np.maximum(fullest(words, used, words % row.banks, row.banks), 1) - 1
    return found


def vector_counters(
    instruction: VectorInstruction, chip: CdnaHierarchy, addresses: Numbers, active: LaneFlags
) -> dict[str, Numbers]:
    """What each of many accesses through L1 counts."""
    some = np.minimum(how_many(active), 1)
    coalesces = _coalesces(instruction, addresses, active)
    groups = np.where(coalesces, LANES // GROUP, LANES // QUAD)
    touched = np.where(
        coalesces,
        _lines_by_groups(instruction, addresses, active, chip.l1_line, GROUP),
        _lines_by_groups(instruction, addresses, active, chip.l1_line, QUAD),
    )
    zero = none(addresses)
    is_load = instruction.access is CdnaMemoryOperation.LOAD
    is_store = instruction.access is CdnaMemoryOperation.STORE
    lines = _blocks(instruction, addresses, active, chip.l1_request)
    return {
        INSTRUCTIONS: some,
        READS: some if is_load else zero,
        WRITES: some if is_store else zero,
        ACCESSES: QUAD * groups * some,
        CACHE_ACCESSES: touched,
        TRANSLATIONS: touched,
        READ_REQUESTS: lines if is_load else zero,
        WRITE_REQUESTS: (
            _blocks(instruction, addresses, active, WRITE_REQUEST) if is_store else zero
        ),
        ATOMIC_REQUESTS: (
            how_many(active) if instruction.access is CdnaMemoryOperation.ATOMIC else zero
        ),
        FABRIC_READS: (
            _blocks(instruction, addresses, active, chip.fabric_read) if is_load else zero
        ),
    }


def _blocks(
    instruction: VectorInstruction, addresses: Numbers, active: LaneFlags, size: int
) -> Numbers:
    """Aligned blocks of ``size`` bytes that the active lanes touch: also the end of an access."""
    ends = np.concatenate([addresses, addresses + instruction.width - 1], axis=1) // size
    return distinct(ends, np.concatenate([active, active], axis=1))


def _lines_by_groups(
    instruction: VectorInstruction, addresses: Numbers, active: LaneFlags, line: int, size: int
) -> Numbers:
    found = none(addresses)
    for first in range(0, LANES, size):
        lanes = slice(first, first + size)
        found = found + _blocks(instruction, addresses[:, lanes], active[:, lanes], line)
    return found


def _coalesces(instruction: VectorInstruction, addresses: Numbers, active: LaneFlags) -> LaneFlags:
    """Whether lanes are served by sixteens: narrow, and each quad in four elements in a row."""
    if instruction.width > 4 or instruction.access is CdnaMemoryOperation.ATOMIC:
        return np.zeros(len(addresses), dtype=np.bool_)
    shape = (len(addresses), LANES // QUAD, QUAD)
    lowest = np.where(active, addresses, np.iinfo(np.int64).max).reshape(shape).min(axis=2)
    highest = np.where(active, addresses, np.iinfo(np.int64).min).reshape(shape).max(axis=2)
    idle = ~active.reshape(shape).any(axis=2)
    return (idle | (highest < lowest + QUAD * instruction.width)).all(axis=1)


_INFERRED_COUNTERS = frozenset({ADDRESS_CONFLICTS, UNALIGNED, ATOMIC_REQUESTS})
_MEASURED_WIDTH = 8
"""Bytes a lane of the copies whose counters were measured."""


def lds_evidence(instruction: LdsInstruction, chip: CdnaHierarchy) -> Callable[[str], Evidence]:
    """How well each count of an LDS access is known."""
    row = lds_phases(instruction.access, instruction.width, chip.lds_banks)
    known = Evidence.INFERRED if row is None else row.evidence
    return lambda counter: Evidence.INFERRED if counter in _INFERRED_COUNTERS else known


def vector_evidence(
    instruction: VectorInstruction, chip: CdnaHierarchy
) -> Callable[[str], Evidence]:
    """How well each count of an access through L1 is known."""

    def known(counter: str) -> Evidence:
        if counter in _INFERRED_COUNTERS:
            return Evidence.INFERRED
        if counter in (INSTRUCTIONS, READS, WRITES):
            return Evidence.MEASURED
        if counter == ACCESSES:
            return (
                Evidence.MEASURED if instruction.width == _MEASURED_WIDTH else Evidence.DOCUMENTED
            )
        if counter in (CACHE_ACCESSES, TRANSLATIONS) and instruction.width != _MEASURED_WIDTH:
            return Evidence.INFERRED
        return chip.l1_request_evidence

    return known
