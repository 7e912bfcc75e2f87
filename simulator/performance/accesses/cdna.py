"""Counts of a CDNA chip for one instruction of a wave, by the rows of
``lowering.cdna.performance.accesses``.

The counters have rocprofiler's names. L1 is cold. Loads and stores may be at any address, as in
LLVM's unaligned access mode, the default; what they count then is inferred. A wide LDS access that
is not naturally aligned is no bank conflict: what it costs is not known, and ``UNALIGNED`` has its
lanes.
"""

from collections.abc import Callable

import numpy as np

from fencewright.lowering.cdna.performance.accesses import (
    GROUP,
    LANES,
    LDS_WORD,
    PARTIAL_WRITE,
    QUAD,
    WRITE_REQUEST,
    CdnaHierarchy,
    LdsInstruction,
    LdsPhases,
    VectorInstruction,
    lds_phases,
)
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.evidence import Evidence
from fencewright.simulator.execution.lanes import (
    LaneFlags,
    Numbers,
    distinct,
    firsts,
    fullest,
    how_many,
    none,
    rank_among_equals,
    total,
)

CONFLICTS = "SQ_LDS_BANK_CONFLICT"
ACTIVE = "SQ_LDS_IDX_ACTIVE"
ADDRESS_CONFLICTS = "SQ_LDS_ADDR_CONFLICT"
UNALIGNED = "unaligned lanes (SQ_LDS_UNALIGNED_STALL)"
INSTRUCTIONS = "TA_TOTAL_WAVEFRONTS"
READS = "TA_FLAT_READ_WAVEFRONTS"
WRITES = "TA_FLAT_WRITE_WAVEFRONTS"
ATOMICS = "TA_FLAT_ATOMIC_WAVEFRONTS"
BUFFER_READS = "TA_BUFFER_READ_WAVEFRONTS"
BUFFER_WRITES = "TA_BUFFER_WRITE_WAVEFRONTS"
BUFFER_ATOMICS = "TA_BUFFER_ATOMIC_WAVEFRONTS"
RETURNED = "TD_LOAD_WAVEFRONT"
STORED = "TD_STORE_WAVEFRONT"
CHANGED = "TD_ATOMIC_WAVEFRONT"
BY_INSTRUCTIONS = frozenset(
    {INSTRUCTIONS, READS, WRITES, ATOMICS, BUFFER_READS, BUFFER_WRITES, BUFFER_ATOMICS, RETURNED,
     STORED, CHANGED}
)  # fmt: skip
"""Counters of instructions of waves, independent of their addresses."""
ACCESSES = "TCP_TOTAL_ACCESSES"
CACHE_ACCESSES = "TCP_TOTAL_CACHE_ACCESSES"
TRANSLATIONS = "TCP_UTCL1_REQUEST"
READ_REQUESTS = "TCP_TCC_READ_REQ"
WRITE_REQUESTS = "TCP_TCC_WRITE_REQ"
ATOMIC_REQUESTS = "TCP_TCC_ATOMIC_WITHOUT_RET_REQ"
RETURNING_REQUESTS = "TCP_TCC_ATOMIC_WITH_RET_REQ"
FABRIC_READS = "TCC_EA_RDREQ"
FABRIC_WIDE_READS = "TCC_BUBBLE"
FABRIC_WRITES = "TCC_EA_WRREQ"
FABRIC_WIDE_WRITES = "TCC_EA_WRREQ_64B"
BEYOND_L2 = frozenset({FABRIC_READS, FABRIC_WIDE_READS, FABRIC_WRITES, FABRIC_WIDE_WRITES})
"""Counters of L2's requests to the levels beyond: an access's misses, and late write-backs."""


def lds_counters(
    instruction: LdsInstruction,
    offsets: tuple[int, ...],
    chip: CdnaHierarchy,
    addresses: Numbers,
    active: LaneFlags,
) -> dict[str, Numbers] | None:
    """The counts of each of many LDS accesses; None if the chip's phases are not known."""
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
    is_atomic = instruction.access is Kind.RMW
    waits = [how_many(active & (rank_among_equals(at, active) > 0)) for at in places if is_atomic]
    return {
        CONFLICTS: conflicts,
        ACTIVE: np.add(conflicts, len(row.phases) * len(offsets)),
        ADDRESS_CONFLICTS: total([none(addresses), *waits]),
        UNALIGNED: total([how_many(active & ~used) for used in aligned]),
    }


def alignment_of(width: int) -> int:
    """Bytes that an access of ``width`` is naturally aligned to: 16 for three words too."""
    return 16 if width == 12 else width


def _conflicts(row: LdsPhases, width: int, addresses: Numbers, active: LaneFlags) -> Numbers:
    """Of aligned accesses, whose words lie side by side: banks are taken together as they are."""
    found = none(addresses)
    unit = max(alignment_of(width), LDS_WORD)
    banks = row.banks * LDS_WORD // unit
    for lanes in row.phases:
        chosen = np.array(lanes)
        places = addresses[:, chosen] // unit
        # A phase costs a cycle though no lane of it is active.
        depth = fullest(places, active[:, chosen], places % banks, banks)
        found = found + np.maximum(depth, 1) - 1
    return found


def vector_counters(
    instruction: VectorInstruction,
    chip: CdnaHierarchy,
    addresses: Numbers,
    active: LaneFlags,
    *,
    returns: bool,
) -> dict[str, Numbers]:
    """The counts of each of many accesses through L1; ``returns``: an atomic's old value."""
    some = np.minimum(how_many(active), 1)
    coalesces = _coalesces(instruction, addresses, active)
    groups = np.where(coalesces, LANES // GROUP, LANES // QUAD)
    touched = np.where(
        coalesces,
        _lines_by_groups(instruction, addresses, active, chip.l1_line, GROUP),
        _lines_by_groups(instruction, addresses, active, chip.l1_line, QUAD),
    )
    zero = none(addresses)
    is_load = instruction.access is Kind.LOAD
    is_store = instruction.access is Kind.STORE
    is_atomic = instruction.access is Kind.RMW
    lanes = how_many(active)
    reads = _blocks(instruction, addresses, active, chip.fabric_read) if is_load else zero
    reads_by_two = chip.fabric_read == 2 * chip.fabric_write
    whole, parts = (
        _written(instruction, addresses, active, chip.fabric_write) if is_store else (zero, zero)
    )
    return {
        INSTRUCTIONS: some,
        READS: some if is_load and not instruction.is_buffer else zero,
        WRITES: some if is_store and not instruction.is_buffer else zero,
        ATOMICS: some if is_atomic and not instruction.is_buffer else zero,
        BUFFER_READS: some if is_load and instruction.is_buffer else zero,
        BUFFER_WRITES: some if is_store and instruction.is_buffer else zero,
        BUFFER_ATOMICS: some if is_atomic and instruction.is_buffer else zero,
        RETURNED: some,
        STORED: some if is_store else zero,
        CHANGED: some if is_atomic else zero,
        ACCESSES: QUAD * groups * some,
        CACHE_ACCESSES: touched,
        TRANSLATIONS: touched,
        READ_REQUESTS: (
            _blocks(instruction, addresses, active, chip.l1_request) if is_load else zero
        ),
        WRITE_REQUESTS: (
            _blocks(instruction, addresses, active, WRITE_REQUEST) if is_store else zero
        ),
        ATOMIC_REQUESTS: lanes if is_atomic and not returns else zero,
        RETURNING_REQUESTS: lanes if is_atomic and returns else zero,
        FABRIC_READS: reads,
        FABRIC_WIDE_READS: reads if reads_by_two else zero,
        FABRIC_WRITES: total([whole, parts]),
        FABRIC_WIDE_WRITES: whole,
    }


def _written(
    instruction: VectorInstruction, addresses: Numbers, active: LaneFlags, size: int
) -> tuple[Numbers, Numbers]:
    """Requests that write back a store's data: blocks of ``size`` bytes, and parts of others."""
    bytes_ = (addresses[:, :, None] + np.arange(instruction.width)).reshape(len(addresses), -1)
    ordered, is_first = firsts(bytes_, np.repeat(active, instruction.width, axis=1))
    is_new_block, is_new_part = (
        is_first & (np.diff(ordered // each, axis=1, prepend=-1) != 0)
        for each in (size, PARTIAL_WRITE)
    )
    # Blocks are numbered through all rows, so that the bytes of each can be counted at once.
    block = np.cumsum(is_new_block.ravel())[is_first.ravel()]
    counts = np.bincount(block)
    is_whole = np.append(counts == size, False)[np.cumsum(is_new_block.ravel())].reshape(
        ordered.shape
    )
    return how_many(is_new_block & is_whole), how_many(is_new_part & ~is_whole)


def _blocks(
    instruction: VectorInstruction, addresses: Numbers, active: LaneFlags, size: int
) -> Numbers:
    """Aligned blocks of ``size`` bytes that the active lanes touch: also the end of an access."""
    ends = np.concatenate([addresses, addresses + instruction.width - 1], axis=1) // size
    return distinct(ends, np.concatenate([active, active], axis=1))


def _lines_by_groups(
    instruction: VectorInstruction, addresses: Numbers, active: LaneFlags, line: int, size: int
) -> Numbers:
    lanes, used = addresses.reshape(-1, size), active.reshape(-1, size)
    return _blocks(instruction, lanes, used, line).reshape(len(addresses), -1).sum(axis=1)


def _coalesces(instruction: VectorInstruction, addresses: Numbers, active: LaneFlags) -> LaneFlags:
    """True if lanes are served by sixteens: narrow, and each quad in four elements in a row."""
    if instruction.width > 4 or instruction.access is Kind.RMW:
        return np.zeros(len(addresses), dtype=np.bool_)
    shape = (len(addresses), LANES // QUAD, QUAD)
    lowest = np.where(active, addresses, np.iinfo(np.int64).max).reshape(shape).min(axis=2)
    highest = np.where(active, addresses, np.iinfo(np.int64).min).reshape(shape).max(axis=2)
    idle = ~active.reshape(shape).any(axis=2)
    return (idle | (highest < lowest + QUAD * instruction.width)).all(axis=1)


_INFERRED_COUNTERS = frozenset({ADDRESS_CONFLICTS, UNALIGNED, ATOMIC_REQUESTS, RETURNING_REQUESTS})
_MEASURED_WIDTH = 8
"""Bytes a lane of the copies whose counters were measured."""


def lds_evidence(instruction: LdsInstruction, chip: CdnaHierarchy) -> Callable[[str], Evidence]:
    """The evidence for each count of an LDS access."""
    row = lds_phases(instruction.access, instruction.width, chip.lds_banks)
    known = Evidence.INFERRED if row is None else row.evidence
    return lambda counter: Evidence.INFERRED if counter in _INFERRED_COUNTERS else known


def vector_evidence(
    instruction: VectorInstruction, chip: CdnaHierarchy, shift: int
) -> Callable[[str, Numbers], Evidence]:
    """The evidence for each count of an access through L1, at addresses ``shift`` bytes before."""

    def known(counter: str, addresses: Numbers) -> Evidence:
        if counter in BY_INSTRUCTIONS:
            is_copy = instruction.access is not Kind.RMW
            is_counted = is_copy and not instruction.is_buffer
            return Evidence.MEASURED if is_counted else Evidence.DOCUMENTED
        is_aligned = not ((addresses + shift) % min(instruction.width, LDS_WORD)).any()
        if counter in _INFERRED_COUNTERS or not is_aligned:
            return Evidence.INFERRED
        if counter == ACCESSES:
            return (
                Evidence.MEASURED if instruction.width == _MEASURED_WIDTH else Evidence.DOCUMENTED
            )
        by_width = (CACHE_ACCESSES, TRANSLATIONS, FABRIC_WRITES, FABRIC_WIDE_WRITES)
        if counter in by_width and instruction.width != _MEASURED_WIDTH:
            return Evidence.INFERRED
        return chip.l1_request_evidence

    return known
