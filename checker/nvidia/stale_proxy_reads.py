"""What a PTX kernel reads past a change: tensor maps without their fence, and data as read-only.

A forward dataflow over the blocks. The state at a point has the tensor maps that some path has
changed past no fence of the tensor-map proxy, the stores to global memory, and the acquires from
other work-groups. A map and a copy that goes by it, a store and a load, belong together where both
have one address, which has not been computed anew since. ``ld.global.nc`` is for data that nobody
writes while the kernel runs: to wait for others, and then to load so what they wrote, finds what a
cache had before. An acquire counts up to the end of the loop that it is in: what the next turn
loads so may be read-only indeed. Source: PTX ISA, "fence.proxy"; "ld.global.nc".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fencewright.checker.nvidia.guarantees import acquires_at
from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.effects import Access, Kind, Proxy
from fencewright.lowering.ptx.code.addresses import Overlap, Place, Places, overlap
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import ACCESSES, OperandRole, names_in
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Ordering, Scope


class Change(FastStrEnum):
    """What is read past it."""

    MAP = "a tensor map that was changed"
    STORE = "data that was stored"
    ACQUIRE = "data that was waited for"


@dataclass(frozen=True, slots=True)
class PastChange:
    """``later`` reads what ``before`` changed, or says that others changed, as it was before."""

    before: PtxInstruction
    later: PtxInstruction
    change: Change


@dataclass(frozen=True, slots=True)
class _State:
    """Masks of instructions: changes on some path, those of one address still, and acquires."""

    maps: int = 0
    stores: int = 0
    same: int = 0
    polled: int = 0
    acquires: int = 0

    def join(self, other: "_State") -> "_State":
        """What may be on either path."""
        return _State(
            self.maps | other.maps,
            self.stores | other.stores,
            self.same | other.same,
            self.polled | other.polled,
            self.acquires | other.acquires,
        )


class ViewAnalysis:
    """The tensor maps and read-only loads of one function."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        instructions = [*self.function.instructions]
        self._of = {each.number: each for each in instructions}
        self._read_only = any(_is_read_only(each) for each in instructions)
        self._maps = {each.number: self._changed_map(each) for each in instructions}
        self._stores = {
            each.number: self._global(each, writes=True) for each in instructions if self._read_only
        }
        self._lasting: set[str] = set()
        self._rooted: dict[str, int] = {}
        for changed in (self._maps, self._stores):
            for number, place in changed.items():
                if place is not None:
                    self._rooted[place.root] = self._rooted.get(place.root, 0) | 1 << number

    def missing(self) -> Iterator[PastChange]:
        """What is read past a change, in the order of the text."""
        if not self._read_only and not any(self._maps.values()):
            return
        reached = list(states(self.function, _State(), self._after, _next_turn))
        reads = ((self._read(each), state) for each, state in reached)
        # What is read without an acquire is taken for data that stay as they are.
        self._lasting = {
            read.root for read, state in reads if read is not None and not state.acquires
        }
        for each, state in reached:
            yield from self._past(each, state)

    # What there is

    def _changed_map(self, each: PtxInstruction) -> Place | None:
        if each.statement.opcode.head != "tensormap":
            return None
        return self._global(each, writes=True)

    def _used_map(self, each: PtxInstruction) -> Place | None:
        operand = each.statement.operand(OperandRole.TENSORMAP)
        name = next(names_in(operand), "")
        return self._place(name) if name and each.statement.kind is Kind.TENSOR else None

    def _fenced_map(self, each: PtxInstruction) -> Place | None:
        statement = each.statement
        if statement.operation != "fence proxy tensormap::generic" or not statement.operands:
            return None
        return self._place(statement.operands[0].strip("[] "))

    def _place(self, address: str) -> Place:
        space = AddressSpace.GLOBAL
        return self.places.of(Access(address, True, False, Proxy.TENSORMAP, space, None))

    def _global(self, each: PtxInstruction, writes: bool) -> Place | None:
        for access in each.statement.accesses:
            place = self.places.of(access)
            wanted = access.writes if writes else access.reads
            if wanted and access.address and place.may_be_global:
                return place
        return None

    # How it goes on

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement, bit = each.statement, 1 << each.number
        same = state.same
        for register in statement.defines:
            same &= ~self._rooted.get(register, 0)
        maps, stores = state.maps, state.stores
        fenced = self._fenced_map(each)
        if fenced is not None:
            maps &= ~self._surely(maps & same, self._maps, fenced)
        if self._maps[each.number] is not None:
            maps, same = maps | bit, same | bit
        elif self._stores.get(each.number) is not None:
            stores, same = stores | bit, same | bit
        polled, acquires = state.polled, state.acquires
        scope = statement.scope
        is_wide = scope is not None and scope.includes(Scope.AGENT)
        is_read = statement.kind in ACCESSES and statement.operation in ("ld", "atom")
        if is_wide and is_read and statement.is_strong:
            polled |= bit
            acquires |= bit if statement.ordering in (Ordering.ACQUIRE, Ordering.ACQ_REL) else 0
        elif statement.operation in ("fence", "membar"):
            upto = acquires_at(statement)
            acquires |= polled if upto is not None and upto.includes(Scope.AGENT) else 0
        return _State(maps, stores, same, polled, acquires)

    # What is read

    def _past(self, each: PtxInstruction, state: _State) -> Iterator[PastChange]:
        used = self._used_map(each)
        if used is not None:
            for number in bits(self._surely(state.maps & state.same, self._maps, used)):
                yield PastChange(self._of[number], each, Change.MAP)
        read = self._read(each)
        if read is None:
            return
        for number in bits(self._surely(state.stores & state.same, self._stores, read)):
            yield PastChange(self._of[number], each, Change.STORE)
        for number in bits(state.acquires) if read.root not in self._lasting else ():
            yield PastChange(self._of[number], each, Change.ACQUIRE)

    def _read(self, each: PtxInstruction) -> Place | None:
        return self._global(each, writes=False) if _is_read_only(each) else None

    @staticmethod
    def _surely(mask: int, places: dict[int, Place | None], place: Place) -> int:
        """Those of a mask that are of the same bytes as a place."""
        found = 0
        for number in bits(mask):
            other = places[number]
            if other is not None and overlap(other, place) is Overlap.SURE:
                found |= 1 << number
        return found


def _is_read_only(each: PtxInstruction) -> bool:
    return each.statement.operation == "ld nc"


def _next_turn(state: _State) -> _State:
    return replace(state, polled=0, acquires=0)
