"""The rules of ``ptx`` and ``cdna`` written down as they are said, one access at a time.

Slow, and short enough to be read against the rules: what counts over arrays is held equal to it.
Source: ``lowering.ptx.performance.accesses.RULES``, ``lowering.cdna.performance.accesses``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fencewright.lowering.cdna.performance import accesses as cdna
from fencewright.lowering.ptx.performance import accesses as ptx
from fencewright.simulator.execution.addresses import Addresses

Group = Sequence[int | None]


def blocks(addresses: Group, width: int, size: int) -> set[int]:
    """The aligned blocks of ``size`` bytes that the active lanes touch."""
    return {
        byte // size for each in addresses if each is not None for byte in range(each, each + width)
    }


# NVIDIA


def mmio_sectors(addresses: Addresses) -> int:
    """Of an access with ``.mmio``: no two lanes' are combined."""
    return len([each for each in addresses if each is not None])


def packets(addresses: Addresses) -> int:
    """Of an atomic: sectors of every pass of the tag stage, until no lane waits."""
    waiting: list[int] = [each for each in addresses if each is not None]
    count = 0
    while waiting:
        first_at_word: dict[tuple[object, int], int] = {}
        line_of_bank: dict[object, int] = {}
        for lane, address in enumerate(waiting):
            bank = _bank(address // ptx.LINE)
            first_at_word.setdefault((bank, address % ptx.LINE), lane)
            line_of_bank.setdefault(bank, address // ptx.LINE)
        taken = {
            lane
            for (bank, _), lane in first_at_word.items()
            if waiting[lane] // ptx.LINE == line_of_bank[bank]
        }
        count += len({waiting[lane] // ptx.SECTOR for lane in taken})
        waiting = [each for lane, each in enumerate(waiting) if lane not in taken]
    return count


def tag_passes(addresses: Addresses) -> int:
    """Of a load: a pass takes at most one line of each tag bank."""
    lines = {each // ptx.LINE for each in addresses if each is not None}
    banks = Counter(map(_bank, lines))
    return max(banks.values(), default=0)


def copied_past_l1(addresses: Addresses) -> tuple[int, int]:
    """Of ``cp.async.cg``: sectors of the tag stage, and of L2."""
    of_tags = of_l2 = 0
    for pair in _runs(addresses, 2):
        active = [each for each in pair if each is not None]
        of_tags += len({each // ptx.LINE for each in active})
        halves = len(set(active)) == 2 and len({each // ptx.SECTOR for each in active}) == 1
        of_l2 += 1 if halves else len(active)
    return of_tags, of_l2


def copy_passes(addresses: Addresses) -> int:
    """Of ``cp.async.cg``: in each pass of the tag stage the most lines that eight lanes want."""
    waiting = [(lane, each // ptx.LINE) for lane, each in enumerate(addresses) if each is not None]
    count = 0
    while waiting:
        line_of_bank: dict[object, int] = {}
        for _, line in waiting:
            line_of_bank.setdefault(_bank(line), line)
        lines = set(line_of_bank.values())
        count += max(
            len({line for lane, line in waiting if line in lines and lane // 8 == eight})
            for eight in range(4)
        )
        waiting = [(lane, line) for lane, line in waiting if line not in lines]
    return count


def _bank(line: int) -> tuple[int, ...]:
    return tuple(_parity(line, bits) for bits in ptx.TAG_BANK_HASH)


def _parity(line: int, bits: Iterable[int]) -> int:
    return sum(line * ptx.LINE >> bit for bit in bits) % 2


def shared_wavefronts(addresses: Addresses, width: int, is_load: bool) -> tuple[int, int]:
    """Wavefronts of an access to shared memory, and those of them that are conflicts."""
    groups = shared_groups(addresses, width, is_load)
    passes = [
        _fullest([addresses[lane] for lane in lanes], width, ptx.SHARED_WORD, ptx.SHARED_BANKS)
        for lanes in groups
    ]
    return sum(passes), sum(passes) - sum(each > 0 for each in passes)


def shared_groups(addresses: Addresses, width: int, is_load: bool) -> list[range]:
    """The lanes that shared memory serves together, in order."""
    size = min(32, 128 // width)
    if is_load and width >= 8 and any(_is_shared_by(addresses, each) for each in (1, 2)):
        size *= 2
    return [range(first, first + size) for first in range(0, ptx.LANES, size)]


def shared_atomic_wavefronts(addresses: Addresses, width: int) -> int:
    """Of an atomic on shared memory: each lane by itself, so many as the fullest bank serves."""
    size = min(32, 128 // width)
    groups = [addresses[first : first + size] for first in range(0, ptx.LANES, size)]
    lanes = [
        Counter(
            word % ptx.SHARED_BANKS
            for each in group
            if each is not None
            for word in range(each // ptx.SHARED_WORD, -(-(each + width) // ptx.SHARED_WORD))
        )
        for group in groups
    ]
    return sum(max(each.values(), default=0) for each in lanes)


def _is_shared_by(addresses: Addresses, distance: int) -> bool:
    pairs = ((each, addresses[lane ^ distance]) for lane, each in enumerate(addresses))
    return all(one is None or other is None or one == other for one, other in pairs)


def _fullest(addresses: Group, width: int, word: int, banks: int) -> int:
    """The most distinct words that one bank has to give."""
    words = blocks(addresses, width, word)
    return max(Counter(each % banks for each in words).values(), default=0)


# AMD


def lds_conflicts(phases: cdna.LdsPhases, addresses: Addresses) -> int:
    """Cycles beyond one for each phase: the most distinct words of a bank."""
    width = phases.width
    costs = (
        _fullest([addresses[lane] for lane in lanes], width, cdna.LDS_WORD, phases.banks)
        for lanes in phases.phases
    )
    return sum(max(each, 1) - 1 for each in costs)


def groups_of(addresses: Addresses, width: int) -> list[Group]:
    """The lanes that the address unit serves together: by sixteens where they coalesce, else by
    four."""
    quads = list(_runs(addresses, cdna.QUAD))
    is_narrow = width <= 4 and all(_is_one_block(each, width) for each in quads)
    return list(_runs(addresses, cdna.GROUP)) if is_narrow else quads


def _runs(addresses: Addresses, size: int) -> Iterator[Group]:
    return (addresses[first : first + size] for first in range(0, len(addresses), size))


def _is_one_block(quad: Group, width: int) -> bool:
    active = [each for each in quad if each is not None]
    return not active or max(active) - min(active) < cdna.QUAD * width


def cache_accesses(addresses: Addresses, width: int, line: int) -> int:
    """The lines that each group touches."""
    return sum(len(blocks(each, width, line)) for each in groups_of(addresses, width))
