"""Conflicts of the lanes of one access: words in the banks of LDS or shared memory, or words of
lines."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fencewright.lowering.cdna.performance import accesses as cdna_rows
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.performance import accesses as ptx_rows
from fencewright.lowering.sequence import UnsupportedError, is_ptx
from fencewright.simulator.execution.addresses import Addresses
from fencewright.simulator.execution.program import MemoryAccessKind
from fencewright.simulator.performance.accesses import definition, ptx
from fencewright.simulator.performance.accesses.access import Model

WORD = 4
"""Bytes of a column."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A word that ``lanes`` want; ``is_conflict``: its bank has to give another one first."""

    column: int
    lanes: tuple[int, ...]
    is_conflict: bool = False


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """One cycle of the banks, or one line; of a line only ``moved`` blocks of it are requested."""

    label: str
    cells: tuple[Cell, ...]
    moved: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Places:
    """Rows of ``columns`` words. ``block``: columns of a bank (1), or of a sector or request.

    ``unit``: what a column is, as ``bank``. ``moves``: what a block of a line is, in words.
    """

    unit: str
    columns: int
    block: int
    rows: tuple[PlaceRow, ...]
    moves: str = ""


def places_of(model: Model, addresses: Addresses) -> Places:
    """The places that the lanes of an access touch. Raises ``UnsupportedError`` for what has no
    such picture."""
    if is_ptx(model.target):
        return _of_ptx(model, addresses)
    chip = cdna_rows.hierarchy_of(model.target, f"places on {model.target}")
    mnemonic = model.instruction.split()[0]
    if (vector := cdna_rows.VECTOR_INSTRUCTIONS.get(mnemonic)) is not None:
        is_load = vector.access is Kind.LOAD
        request = chip.l1_request if is_load else cdna_rows.WRITE_REQUEST
        (shift,) = model.shifts
        return _lines(addresses, model.width, chip.l1_line, request, "request", shift)
    lds = cdna_rows.LDS_INSTRUCTIONS[mnemonic]
    phases = cdna_rows.lds_phases(lds.access, lds.width, chip.lds_banks)
    assert phases is not None, mnemonic
    rows = [
        row
        for shift in model.shifts
        for lanes in phases.phases
        for row in _cycles(addresses, lanes, model.width, shift, phases.banks, least=1)
    ]
    return Places("bank", phases.banks, 1, tuple(rows))


def _of_ptx(model: Model, addresses: Addresses) -> Places:
    found = ptx.parse(model.instruction, model.target)
    if found.space is ptx.PtxSpace.GLOBAL:
        return _lines(addresses, model.width, ptx_rows.LINE, ptx_rows.SECTOR, "sector")
    if found.space is not ptx.PtxSpace.SHARED:
        raise UnsupportedError(
            f"a picture of '{model.instruction}'",
            "generic addresses are in two memories: name one, as .global or .shared",
        )
    is_load = found.operation is MemoryAccessKind.LOAD
    is_plain = is_load or found.operation is MemoryAccessKind.STORE
    places = addresses if is_plain else ptx.apart(addresses)
    rows = [
        row
        for lanes in definition.shared_groups(places, model.width, is_load)
        for row in _cycles(places, lanes, model.width, 0, ptx_rows.SHARED_BANKS, least=0)
    ]
    return Places("bank", ptx_rows.SHARED_BANKS, 1, tuple(rows))


def _cycles(
    addresses: Addresses, lanes: Sequence[int], width: int, shift: int, banks: int, least: int
) -> Iterator[PlaceRow]:
    """A row for each cycle of the lanes that are served together: each bank gives one word in
    it."""
    wanted: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for lane, word in _words(addresses, lanes, width, shift):
        wanted[word % banks][word].append(lane)
    depth = max([least, *(len(words) for words in wanted.values())])
    given = {bank: sorted(words.items()) for bank, words in wanted.items()}
    for cycle in range(depth):
        cells = (
            Cell(bank, tuple(words[cycle][1]), cycle > 0)
            for bank, words in sorted(given.items())
            if cycle < len(words)
        )
        yield PlaceRow(f"lanes {ranges(lanes)}" if cycle == 0 else "", tuple(cells))


def _words(
    addresses: Addresses, lanes: Iterable[int], width: int, shift: int = 0
) -> Iterator[tuple[int, int]]:
    for lane in lanes:
        address = addresses[lane]
        if address is not None:
            first, last = address + shift, address + shift + width - 1
            yield from ((lane, word) for word in range(first // WORD, last // WORD + 1))


def _lines(
    addresses: Addresses, width: int, line: int, block: int, name: str, shift: int = 0
) -> Places:
    words: dict[int, list[int]] = defaultdict(list)
    for lane, word in _words(addresses, range(len(addresses)), width, shift):
        words[word].append(lane)
    columns = line // WORD
    rows: dict[int, list[Cell]] = defaultdict(list)
    for word, lanes in sorted(words.items()):
        rows[word // columns].append(Cell(word % columns, tuple(lanes)))
    size = block // WORD
    made = (
        PlaceRow(f"{number * line:#x}", tuple(cells), frozenset(c.column // size for c in cells))
        for number, cells in sorted(rows.items())
    )
    return Places("word of a line", columns, size, tuple(made), f"a {name} of {block} bytes")


def ranges(lanes: Sequence[int]) -> str:
    """As ``0-3,20-23``."""
    starts = [each for each in lanes if each - 1 not in lanes]
    ends = [each for each in lanes if each + 1 not in lanes]
    return ",".join(
        str(one) if one == other else f"{one}-{other}"
        for one, other in zip(starts, ends, strict=True)
    )
