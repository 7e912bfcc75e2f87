"""Counts of an NVIDIA chip for one instruction of a warp, by the rules of
``lowering.ptx.performance.accesses``.

The counters have Nsight Compute's names. L1 is cold, as the profiler leaves it. Addresses are
naturally aligned, or PTX has no such access.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fencewright.lowering.evidence import Evidence
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.performance.accesses import (
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
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum
from fencewright.simulator.execution.addresses import SHARED_WINDOW, Addresses
from fencewright.simulator.execution.lanes import (
    LaneFlags,
    Numbers,
    distinct,
    fullest,
    how_many,
    none,
    total,
    words_of,
)
from fencewright.simulator.execution.program import MemoryAccessKind


class PtxSpace(FastStrEnum):
    """The memory that an instruction names; GENERIC: each lane's address says which."""

    GLOBAL = "global"
    SHARED = "shared"
    GENERIC = "generic"


@dataclass(frozen=True, slots=True)
class PtxInstruction:
    """A memory instruction of PTX: ``width`` bytes a lane of elements of ``element`` bytes.

    ``passes``: how often an atomic on shared memory goes through each word (``cas``: twice).
    ``combines``: lanes that touch the same sector ask for it once. ``past_l1``: a copy that L1 does
    not keep. ``compares``: an atomic that compares and swaps, of whose packets not all is known.
    """

    operation: MemoryAccessKind
    space: PtxSpace
    element: int
    vector: int = 1
    passes: int = 1
    evidence: Evidence = Evidence.MEASURED
    combines: bool = True
    past_l1: bool = False
    compares: bool = False

    @property
    def width(self) -> int:
        """Bytes of a lane."""
        return self.element * self.vector


_PIPE = "pipe_lsu_mem"
COUNTED_AS: Mapping[MemoryAccessKind, str] = MappingProxyType(
    {
        MemoryAccessKind.LOAD: "ld",
        MemoryAccessKind.STORE: "st",
        MemoryAccessKind.REDUCTION: "red",
        MemoryAccessKind.ATOMIC: "atom",
        MemoryAccessKind.COPY: "ldgsts_cache_access",
    }
)
"""The words of the counters' names; those of all but copies are PTX's as well."""
REQUESTS: Mapping[MemoryAccessKind, str] = MappingProxyType(
    {kind: f"l1tex__t_requests_{_PIPE}_global_op_{op}.sum" for kind, op in COUNTED_AS.items()}
)
SECTORS: Mapping[MemoryAccessKind, str] = MappingProxyType(
    {kind: f"l1tex__t_sectors_{_PIPE}_global_op_{op}.sum" for kind, op in COUNTED_AS.items()}
)
WRITE_SECTORS = "l1tex__m_l1tex2xbar_write_sectors.sum"
READ_SECTORS = "l1tex__m_xbar2l1tex_read_sectors.sum"
TAG_WAVEFRONTS = f"l1tex__t_output_wavefronts_{_PIPE}_global_op_ld.sum"
_LOAD = MemoryAccessKind.LOAD
_ATOMICS = (MemoryAccessKind.REDUCTION, MemoryAccessKind.ATOMIC)
_ACCESSES = (MemoryAccessKind.LOAD, MemoryAccessKind.STORE)
_OF_SHARED = MappingProxyType(
    {kind: COUNTED_AS[kind] for kind in _ACCESSES}
    | dict.fromkeys(_ATOMICS, COUNTED_AS[MemoryAccessKind.ATOMIC])
)
"""The name of each operation in the counters of shared memory."""
WAVEFRONTS: Mapping[MemoryAccessKind, str] = MappingProxyType(
    {
        each: f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{as_}.sum"
        for each, as_ in _OF_SHARED.items()
    }
)
CONFLICTS: Mapping[MemoryAccessKind, str] = MappingProxyType(
    {
        each: f"l1tex__data_bank_conflicts_{_PIPE}_shared_op_{as_}.sum"
        for each, as_ in _OF_SHARED.items()
    }
)
COUNTERS: tuple[str, ...] = tuple(
    dict.fromkeys(
        (*REQUESTS.values(), *SECTORS.values(), WRITE_SECTORS, READ_SECTORS, TAG_WAVEFRONTS,
         *WAVEFRONTS.values(), *CONFLICTS.values())
    )
)  # fmt: skip
"""All counts of an access: those that it does not touch are 0."""

_RULE_OF: Mapping[str, tuple[AddressRule, ...]] = MappingProxyType(
    {
        **dict.fromkeys(REQUESTS.values(), (AddressRule.REQUEST,)),
        **dict.fromkeys(
            (SECTORS[each] for each in (*_ACCESSES, MemoryAccessKind.COPY)),
            (AddressRule.SECTORS,),
        ),
        **dict.fromkeys((SECTORS[each] for each in _ATOMICS), (AddressRule.PACKETS,)),
        **dict.fromkeys((WRITE_SECTORS, READ_SECTORS), (AddressRule.CROSSBAR,)),
        TAG_WAVEFRONTS: (AddressRule.TAGS,),
        **dict.fromkeys(
            (WAVEFRONTS[each] for each in _ACCESSES),
            (AddressRule.SHARED_GROUPS, AddressRule.SHARED_PACKING),
        ),
        WAVEFRONTS[MemoryAccessKind.ATOMIC]: (AddressRule.SHARED_ATOMICS,),
        **dict.fromkeys(CONFLICTS.values(), (AddressRule.SHARED_CONFLICTS,)),
    }
)
_OF_PACKETS = frozenset({*(SECTORS[each] for each in _ATOMICS), WRITE_SECTORS, READ_SECTORS})
_ROWS = MappingProxyType({each.rule: each for each in RULES})

_TYPES = frozenset(
    {*(f"{letter}{bits}" for letter in "busf" for bits in (8, 16, 32, 64, 128)),
     "f16x2", "bf16x2", "bf16"}
)  # fmt: skip
_OPERATIONS = MappingProxyType(
    {COUNTED_AS[kind]: kind for kind in (*_ACCESSES, *_ATOMICS)} | {"ldu": MemoryAccessKind.LOAD}
)
_SPACES = frozenset({"global", "shared", "shared::cta", "shared::cluster"})
_ORDERED = frozenset(
    {"weak", "relaxed", "volatile", "mmio", "acquire", "release", "acq_rel", "cta", "cluster",
     "gpu",
     "sys"}
)  # fmt: skip
_HINTS = frozenset(
    {
        *(f"L1::{each}" for each in ("evict_normal", "evict_unchanged", "evict_first",
                                     "evict_last", "no_allocate")),
        *(f"L2::{each}" for each in ("evict_normal", "evict_first", "evict_last", "cache_hint",
                                     "64B", "128B", "256B")),
    }
)  # fmt: skip
_VECTORS = frozenset({"v2", "v4", "v8"})
_ATOMIC_WORDS = frozenset(
    {
        "add",
        "and",
        "or",
        "xor",
        "min",
        "max",
        "inc",
        "dec",
        "exch",
        "cas",
        "noftz",
        "v2",
        "v4",
        "v8",
    }
)
_WORDS: Mapping[MemoryAccessKind, frozenset[str]] = MappingProxyType(
    {
        MemoryAccessKind.LOAD: _SPACES | _ORDERED | _HINTS | _VECTORS
        | {"ca", "cg", "cs", "lu", "cv", "nc", "unified"},
        MemoryAccessKind.STORE: _SPACES | _ORDERED | _HINTS | _VECTORS | {"wb", "cg", "cs", "wt"},
        MemoryAccessKind.ATOMIC: _SPACES | _ORDERED | _HINTS | _ATOMIC_WORDS,
        MemoryAccessKind.REDUCTION: _SPACES | _ORDERED | _HINTS | _ATOMIC_WORDS,
    }
)  # fmt: skip
"""The words that an instruction's name may have before its type: PTX ISA, ld, st, atom, red."""
_COPIES: Mapping[tuple[str, ...], tuple[int, ...]] = MappingProxyType(
    {("ca", "shared", "global"): (32, 64, 128), ("cg", "shared", "global"): (128,)}
)
"""The words of copies without a register, and the bits of a lane: PTX ISA, cp.async."""


def parse(text: str, target: str) -> PtxInstruction:
    """The instruction that a PTX mnemonic names, as ``ld.global.v2.b32``.

    Without a space addresses are generic. A copy has its bytes as a type:
    ``cp.async.ca.shared.global.b128``, at the addresses that it reads. Raises ``UnsupportedError``,
    which names ``target``.
    """

    def refused(reason: str) -> UnsupportedError:
        return UnsupportedError(f"access '{text}' on {target}", reason)

    opcode = read_opcode(text)
    is_copy = opcode.words[:2] == ("cp", "async")
    operation = MemoryAccessKind.COPY if is_copy else _OPERATIONS.get(opcode.head)
    if operation is None or opcode.words[-1] not in _TYPES:
        raise refused(
            f"unknown instruction '{text}'; known are ld, st, red and atom with .global, .shared "
            "or neither and a type, as ld.global.v2.b32, and cp.async.ca or .cg.shared.global.b128"
        )
    words = opcode.words[2 if is_copy else 1 : -1]
    plain = [each.partition("::")[0] for each in words]
    if others := {"local", "const", "param"}.intersection(plain):
        raise refused(f".{min(others)} is not modelled: write .global or .shared in '{text}'")
    if is_copy:
        if opcode.width not in _COPIES.get(tuple(plain), ()):
            raise refused(
                f"unknown copy '{text}'; known are cp.async.ca.shared.global with .b32, .b64 and "
                ".b128, and cp.async.cg.shared.global.b128"
            )
        return PtxInstruction(
            operation, PtxSpace.GLOBAL, opcode.width // 8, past_l1=opcode.cache == "cg"
        )
    if strange := [each for each in words if each not in _WORDS[operation]]:
        raise refused(f"unknown word '.{strange[0]}' in '{text}'")
    if len(opcode.spaces) > 1:
        raise refused(f"two address spaces in '{text}'")
    space = PtxSpace.GENERIC
    if opcode.spaces:
        is_global = opcode.spaces[0] is AddressSpace.GLOBAL
        space = PtxSpace.GLOBAL if is_global else PtxSpace.SHARED
    compares = opcode.update == "cas"
    is_inferred = opcode.mmio and operation is not _LOAD
    instruction = PtxInstruction(
        operation,
        space,
        opcode.width // 8,
        opcode.vector,
        passes=2 if compares else 1,
        evidence=Evidence.INFERRED if is_inferred else Evidence.MEASURED,
        combines=not opcode.mmio,
        compares=compares,
    )
    width = instruction.width
    if width > (32 if space is PtxSpace.GLOBAL else 16):
        raise refused(f"'{text}' is wider than any access: {width} bytes a lane")
    if operation not in _ATOMICS or space is PtxSpace.GLOBAL:
        return instruction
    exchanges = opcode.update in ("exch", "cas")
    is_native = exchanges if width > 4 else width == 4 and not opcode.is_float
    if not is_native or (space is PtxSpace.GENERIC and width > 4):
        raise refused(
            f"'{text}' is a loop of other accesses, as often as lanes meet: give one of them, as "
            "ld.shared.b32 or atom.shared.cas.b32"
        )
    # At generic addresses there is no reduction: it is an atomic whose result goes nowhere.
    is_generic = space is PtxSpace.GENERIC
    return replace(instruction, operation=MemoryAccessKind.ATOMIC) if is_generic else instruction


def counters(
    instruction: PtxInstruction, addresses: Numbers, active: LaneFlags
) -> dict[str, Numbers]:
    """The counts of each of many accesses: arrays of one number for each row of 32 addresses."""
    found: dict[str, Numbers] = dict.fromkeys(COUNTERS, none(addresses))
    match instruction.space:
        case PtxSpace.SHARED:
            return found | _of_shared(instruction, addresses, active)
        case PtxSpace.GLOBAL:
            return found | _of_global(instruction, addresses, active)
        case PtxSpace.GENERIC:
            # The lanes of each memory are an access of their own.
            is_shared = addresses >= SHARED_WINDOW
            shared = _of_shared(instruction, addresses - SHARED_WINDOW, active & is_shared)
            if instruction.operation in _ATOMICS:
                # An atomic goes by shared memory though no lane has an address there.
                name = WAVEFRONTS[instruction.operation]
                least = np.minimum(how_many(active), 1) * instruction.passes
                shared[name] = np.maximum(shared[name], least)
            return found | shared | _of_global(instruction, addresses, active & ~is_shared)


def _of_shared(
    instruction: PtxInstruction, addresses: Numbers, active: LaneFlags
) -> dict[str, Numbers]:
    operation = instruction.operation
    count = _shared_atomics if operation in _ATOMICS else _shared
    wavefronts, groups = count(instruction, addresses, active)
    return {
        WAVEFRONTS[operation]: wavefronts * instruction.passes,
        CONFLICTS[operation]: total([wavefronts, -groups]),
    }


def _of_global(
    instruction: PtxInstruction, addresses: Numbers, active: LaneFlags
) -> dict[str, Numbers]:
    operation = instruction.operation
    requests = np.minimum(how_many(active), 1)
    if instruction.past_l1:
        return _of_copies_past_l1(addresses, active) | {REQUESTS[_LOAD]: requests}
    is_copy = operation is MemoryAccessKind.COPY
    if is_copy:
        operation = _LOAD
    sectors = (_packets if operation in _ATOMICS else _sectors)(instruction, addresses, active)
    found = {REQUESTS[operation]: requests, SECTORS[operation]: sectors}
    if is_copy:
        found |= {REQUESTS[MemoryAccessKind.COPY]: requests}
        found |= {SECTORS[MemoryAccessKind.COPY]: sectors}
    if operation is not _LOAD:
        found[WRITE_SECTORS] = sectors
    if operation in (_LOAD, MemoryAccessKind.ATOMIC):
        found[READ_SECTORS] = sectors
    if operation is _LOAD:
        lines = addresses // LINE
        found[TAG_WAVEFRONTS] = fullest(lines, active, tag_bank(addresses), TAG_BANKS)
    return found


def _of_copies_past_l1(addresses: Numbers, active: LaneFlags) -> dict[str, Numbers]:
    """``cp.async.cg``, counted as loads: of two lanes at once, in passes of four times eight
    lanes."""
    first, second = addresses[:, ::2], addresses[:, 1::2]
    has_both = active[:, ::2] & active[:, 1::2]
    are_halves = has_both & (first // SECTOR == second // SECTOR) & (first != second)
    share_line = has_both & (first // LINE == second // LINE)
    lanes = how_many(active)
    return {
        SECTORS[_LOAD]: lanes - how_many(share_line),
        READ_SECTORS: lanes - how_many(are_halves),
        TAG_WAVEFRONTS: _copy_passes(addresses, active),
    }


_COPIED_TOGETHER = 8
"""Lanes whose copies fill a line of shared memory."""


def _copy_passes(addresses: Numbers, active: LaneFlags) -> Numbers:
    """Pass after pass of the tag stage; in each, lines that the same eight lanes want go one by
    one."""
    banks = tag_bank(addresses)
    found = none(addresses)
    for taken in _passes(addresses, active):
        in_bank = [taken & (banks == bank) for bank in range(TAG_BANKS)]
        by_lanes = [each.reshape(len(found), -1, _COPIED_TOGETHER).any(axis=2) for each in in_bank]
        found += np.sum(by_lanes, axis=0).max(axis=1)
    return found


def _passes(
    addresses: Numbers, active: LaneFlags, rivals: LaneFlags | None = None
) -> Iterator[LaneFlags]:
    """The lanes of each pass of the tag stage: of each bank those on its first waiting lane's line.

    ``rivals``: of each lane, those that it waits for if they are earlier; None: it waits for none.
    """
    earlier = np.tri(LANES, k=-1, dtype=np.bool_)
    in_bank = _lane_bits(_equal(tag_bank(addresses)) & earlier)
    in_line = _lane_bits(_equal(addresses // LINE))
    blocked = None if rivals is None else _lane_bits(rivals & earlier)
    waiting = active.copy()
    while waiting.any():
        left = _lane_bits(waiting)[:, None]
        leads = _lane_bits(waiting & (in_bank & left == 0))[:, None]
        taken = waiting & (in_line & leads != 0)
        if blocked is not None:
            taken &= blocked & left == 0
        yield taken
        waiting &= ~taken


def _sectors(instruction: PtxInstruction, addresses: Numbers, active: LaneFlags) -> Numbers:
    if not instruction.combines:
        return how_many(active)
    sectors = words_of(addresses, max(instruction.width, SECTOR), SECTOR)
    return distinct(sectors, np.repeat(active, sectors.shape[1] // LANES, axis=1))


def _packets(instruction: PtxInstruction, addresses: Numbers, active: LaneFlags) -> Numbers:
    """Pass after pass: of each bank the first waiting lane's line, of each word the first lane.

    A lane whose word of the line an earlier lane has, of whatever line, waits: so that a
    sector may be sent in more packets than any of its words has lanes.
    """
    same_word = _equal(tag_bank(addresses)) & _equal(addresses % LINE // SHARED_WORD)
    in_sector = _lane_bits(_equal(addresses // SECTOR) & np.tri(LANES, k=-1, dtype=np.bool_))
    found = none(addresses)
    for taken in _passes(addresses, active, same_word):
        found += how_many(taken & (in_sector & _lane_bits(taken)[:, None] == 0))
    return found


def _equal(values: Numbers) -> LaneFlags:
    """The pairs of lanes of each row that have equal values."""
    return values[:, :, None] == values[:, None, :]


def _lane_bits(flags: LaneFlags) -> NDArray[np.uint32]:
    """Flags of 32 lanes, the last axis, as the bits of a number."""
    return np.packbits(flags, axis=-1, bitorder="little").view(np.uint32)[..., 0]


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
    packs = instruction.operation is MemoryAccessKind.LOAD and instruction.space is PtxSpace.SHARED
    if size == LANES or not packs:
        return apart
    together = _by_groups(instruction, addresses, active, 2 * size)
    packed = _shares_with_neighbour(addresses, active)
    return np.where(packed, together[0], apart[0]), np.where(packed, together[1], apart[1])


def _shared_atomics(
    instruction: PtxInstruction, addresses: Numbers, active: LaneFlags
) -> tuple[Numbers, Numbers]:
    """As ``_shared``, with each lane apart: equal addresses are not combined."""
    places = addresses + np.arange(LANES) * _APART
    return _by_groups(instruction, places, active, LANES * SHARED_WORD // instruction.width)


_APART = SHARED_WORD * SHARED_BANKS << 32
"""Bytes from lane to lane that leave each in its bank, and no two on one word."""


def apart(addresses: Addresses) -> Addresses:
    """Addresses in the same banks, of which no two are equal: as atomics go through them."""
    return tuple(
        None if each is None else each + lane * _APART for lane, each in enumerate(addresses)
    )


def _by_groups(
    instruction: PtxInstruction, addresses: Numbers, active: LaneFlags, size: int
) -> tuple[Numbers, Numbers]:
    """Wavefronts of lanes ``size`` by ``size``: each access is aligned, and takes banks side by
    side."""
    wavefronts, groups = none(addresses), none(addresses)
    unit = max(instruction.width, SHARED_WORD)
    banks = SHARED_BANKS * SHARED_WORD // unit
    for first in range(0, LANES, size):
        places = addresses[:, first : first + size] // unit
        used = active[:, first : first + size]
        wavefronts = wavefronts + fullest(places, used, places % banks, banks)
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
    """The evidence for a count on chips of compute capability ``number``."""
    found = [_ROWS[rule].evidence(number) for rule in _rules_of(counter, instruction)]
    known = max(found, key=lambda each: each.rank)
    if counter == TAG_WAVEFRONTS and (
        np.ptp(addresses % SHARED_WINDOW >> TAG_BANK_BITS) if addresses.size else 0
    ):
        return Evidence.INFERRED
    if instruction.width > 16 or (counter == TAG_WAVEFRONTS and not instruction.combines):
        return Evidence.INFERRED
    return known.weaker(instruction.evidence)


def _rules_of(counter: str, instruction: PtxInstruction) -> tuple[AddressRule, ...]:
    if instruction.past_l1:
        is_pass = counter == TAG_WAVEFRONTS
        return (AddressRule.COPY_PASSES if is_pass else AddressRule.COPIES,)
    if instruction.compares and counter in _OF_PACKETS:
        return (AddressRule.COMPARISONS,)
    return _RULE_OF[counter]
