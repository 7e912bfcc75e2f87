"""What one instruction of a warp makes an NVIDIA chip count, by the rules of ``lowering.ptx.memory``.

The counters have Nsight Compute's names. L1 is cold, as the profiler leaves it. Addresses are
naturally aligned, or PTX has no such access.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from fencewright.lowering.evidence import Evidence
from fencewright.lowering.ptx.memory import (
    LANES,
    LINE,
    RULES,
    SECTOR,
    SHARED_BANKS,
    SHARED_WORD,
    TAG_BANK_BITS,
    TAG_BANK_HASH,
    TAG_BANKS,
    AddressRule,
)
from fencewright.lowering.vocabulary import Word
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


class PtxMemoryOperation(Word):
    """What an instruction does; its value is how the counters call it."""

    LOAD = "ld"
    STORE = "st"
    REDUCTION = "red"
    ATOMIC = "atom"


@dataclass(frozen=True, slots=True)
class PtxInstruction:
    """A memory instruction of PTX: ``width`` bytes a lane of elements of ``element`` bytes."""

    operation: PtxMemoryOperation
    is_shared: bool
    element: int
    vector: int = 1

    @property
    def width(self) -> int:
        """Bytes of a lane."""
        return self.element * self.vector


_PIPE = "pipe_lsu_mem"
REQUESTS: Mapping[PtxMemoryOperation, str] = MappingProxyType(
    {each: f"l1tex__t_requests_{_PIPE}_global_op_{each}.sum" for each in PtxMemoryOperation}
)
SECTORS: Mapping[PtxMemoryOperation, str] = MappingProxyType(
    {each: f"l1tex__t_sectors_{_PIPE}_global_op_{each}.sum" for each in PtxMemoryOperation}
)
WRITE_SECTORS = "l1tex__m_l1tex2xbar_write_sectors.sum"
READ_SECTORS = "l1tex__m_xbar2l1tex_read_sectors.sum"
TAG_WAVEFRONTS = f"l1tex__t_output_wavefronts_{_PIPE}_global_op_ld.sum"
_OF_SHARED = (PtxMemoryOperation.LOAD, PtxMemoryOperation.STORE)
WAVEFRONTS: Mapping[PtxMemoryOperation, str] = MappingProxyType(
    {each: f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{each}.sum" for each in _OF_SHARED}
)
CONFLICTS: Mapping[PtxMemoryOperation, str] = MappingProxyType(
    {each: f"l1tex__data_bank_conflicts_{_PIPE}_shared_op_{each}.sum" for each in _OF_SHARED}
)
COUNTERS: tuple[str, ...] = (
    *REQUESTS.values(), *SECTORS.values(), WRITE_SECTORS, READ_SECTORS, TAG_WAVEFRONTS,
    *WAVEFRONTS.values(), *CONFLICTS.values(),
)  # fmt: skip
"""All that is counted of an access: what it does not touch is 0."""

_RULE_OF: Mapping[str, tuple[AddressRule, ...]] = MappingProxyType(
    {
        **dict.fromkeys(REQUESTS.values(), (AddressRule.REQUEST,)),
        **dict.fromkeys(
            (SECTORS[PtxMemoryOperation.LOAD], SECTORS[PtxMemoryOperation.STORE]),
            (AddressRule.SECTORS,),
        ),
        **dict.fromkeys(
            (SECTORS[PtxMemoryOperation.REDUCTION], SECTORS[PtxMemoryOperation.ATOMIC]),
            (AddressRule.PACKETS,),
        ),
        **dict.fromkeys((WRITE_SECTORS, READ_SECTORS), (AddressRule.CROSSBAR,)),
        TAG_WAVEFRONTS: (AddressRule.TAGS,),
        **dict.fromkeys(
            WAVEFRONTS.values(), (AddressRule.SHARED_GROUPS, AddressRule.SHARED_PACKING)
        ),
        **dict.fromkeys(CONFLICTS.values(), (AddressRule.SHARED_CONFLICTS,)),
    }
)
_ROWS = MappingProxyType({each.rule: each for each in RULES})

_INSTRUCTION = re.compile(
    r"(?P<operation>ld|st|red|atom|ldu)(?P<words>(?:\.[a-z][a-z0-9_:]*)*)\.(?P<type>[busf](?P<bits>8|16|32|64|128)|f16x2|bf16x2|bf16)"
)
_NAMED = MappingProxyType({"f16x2": 32, "bf16x2": 32, "bf16": 16})


def parse(text: str) -> PtxInstruction | str:
    """The instruction that a PTX mnemonic names, as ``ld.global.v2.b32``; else what is wrong."""
    found = _INSTRUCTION.fullmatch(text)
    if found is None:
        return (
            f"unknown instruction '{text}'; known are ld, st, red and atom with .global or .shared "
            "and a type, as ld.global.v2.b32"
        )
    words = found["words"].split(".")[1:]
    spaces = [each for each in words if each.partition("::")[0] in ("global", "shared")]
    others = {"local", "const", "param"}.intersection(each.partition("::")[0] for each in words)
    if others or len(spaces) != 1:
        what = f".{min(others)}" if others else "a generic address"
        return f"{what} is not modelled: say .global or .shared in '{text}'"
    vector = next((int(each[1:]) for each in words if re.fullmatch(r"v[248]", each)), 1)
    operation = (
        PtxMemoryOperation.LOAD
        if found["operation"] == "ldu"
        else PtxMemoryOperation(found["operation"])
    )
    is_shared = spaces[0].startswith("shared")
    bits = int(found["bits"] or _NAMED[found["type"]])
    made = PtxInstruction(operation, is_shared, bits // 8, vector)
    if is_shared and operation not in _OF_SHARED:
        return f"'{text}': atomics on shared memory are not modelled"
    if made.width > (16 if is_shared else 32):
        return f"'{text}' is wider than any access: {made.width} bytes a lane"
    return made


def counters(
    instruction: PtxInstruction, addresses: Numbers, active: LaneFlags
) -> dict[str, Numbers]:
    """What each of many accesses counts: arrays of one number for each row of 32 addresses."""
    found: dict[str, Numbers] = dict.fromkeys(COUNTERS, none(addresses))
    if instruction.is_shared:
        wavefronts, groups = _shared(instruction, addresses, active)
        found[WAVEFRONTS[instruction.operation]] = wavefronts
        found[CONFLICTS[instruction.operation]] = total([wavefronts, -groups])
        return found
    operation = instruction.operation
    is_access = operation in (PtxMemoryOperation.LOAD, PtxMemoryOperation.STORE)
    sectors = (_sectors if is_access else _packets)(instruction, addresses, active)
    found[REQUESTS[operation]] = np.minimum(how_many(active), 1)
    found[SECTORS[operation]] = sectors
    if operation is not PtxMemoryOperation.LOAD:
        found[WRITE_SECTORS] = sectors
    if operation in (PtxMemoryOperation.LOAD, PtxMemoryOperation.ATOMIC):
        found[READ_SECTORS] = sectors
    if operation is PtxMemoryOperation.LOAD:
        lines = addresses // LINE
        found[TAG_WAVEFRONTS] = fullest(lines, active, tag_bank(addresses), TAG_BANKS)
    return found


def _sectors(instruction: PtxInstruction, addresses: Numbers, active: LaneFlags) -> Numbers:
    sectors = words_of(addresses, max(instruction.width, SECTOR), SECTOR)
    return distinct(sectors, np.repeat(active, sectors.shape[1] // LANES, axis=1))


def _packets(instruction: PtxInstruction, addresses: Numbers, active: LaneFlags) -> Numbers:
    """Packet r of a sector has the r-th lane of each of its words that has so many."""
    rank = rank_among_equals(addresses // instruction.width, active)
    return distinct(addresses // SECTOR * LANES + rank, active)


def tag_bank(addresses: Numbers) -> Numbers:
    """The bank of the tag stage that has the line of each address."""
    high, low = (
        np.bitwise_xor.reduce([addresses >> bit & 1 for bit in bits], axis=0)
        for bits in TAG_BANK_HASH
    )
    return 2 * high + low


def _shared(
    instruction: PtxInstruction, addresses: Numbers, active: LaneFlags
) -> tuple[Numbers, Numbers]:
    """Wavefronts, and groups with an active lane."""
    size = LANES * SHARED_WORD // max(instruction.width, SHARED_WORD)
    apart = _by_groups(instruction, addresses, active, size)
    if size == LANES or instruction.operation is not PtxMemoryOperation.LOAD:
        return apart
    together = _by_groups(instruction, addresses, active, 2 * size)
    packed = _shares_with_neighbour(addresses, active)
    return np.where(packed, together[0], apart[0]), np.where(packed, together[1], apart[1])


def _by_groups(
    instruction: PtxInstruction, addresses: Numbers, active: LaneFlags, size: int
) -> tuple[Numbers, Numbers]:
    wavefronts, groups = none(addresses), none(addresses)
    for first in range(0, LANES, size):
        lanes = slice(first, first + size)
        words = words_of(addresses[:, lanes], instruction.width, SHARED_WORD)
        used = np.repeat(active[:, lanes], words.shape[1] // size, axis=1)
        wavefronts = wavefronts + fullest(words, used, words % SHARED_BANKS, SHARED_BANKS)
        groups = groups + used.any(axis=1)
    return wavefronts, groups


def _shares_with_neighbour(addresses: Numbers, active: LaneFlags) -> LaneFlags:
    packed: LaneFlags = np.zeros(len(addresses), dtype=np.bool_)
    for distance in (1, 2):
        other = np.arange(LANES) ^ distance
        both = active & active[:, other]
        packed |= (~both | (addresses == addresses[:, other])).all(axis=1)
    return packed


def evidence(
    counter: str, instruction: PtxInstruction, addresses: Numbers, number: int
) -> Evidence:
    """How well a count is known on chips of compute capability ``number``."""
    found = [_ROWS[rule].evidence(number) for rule in _RULE_OF[counter]]
    known = max(found, key=lambda each: each.rank)
    if counter == TAG_WAVEFRONTS and (np.ptp(addresses >> TAG_BANK_BITS) if addresses.size else 0):
        return Evidence.INFERRED
    # Five of 43 reductions of 16 bytes a lane had a packet or two more than the rule says.
    is_atomic = instruction.operation in (PtxMemoryOperation.REDUCTION, PtxMemoryOperation.ATOMIC)
    if instruction.width > (8 if is_atomic else 16):
        return Evidence.INFERRED
    return known
