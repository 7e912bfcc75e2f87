"""The alignment of each instruction of the code with an operation of the source.

By place where both sides have line numbers: the compiler carries them from each operation to the
instructions that it becomes. Operations that share a place and a kind are taken in their order if
there are as many instructions, else they are not distinguished. Without line numbers by order, and
only if each block of the source has the kinds of one block of the code, or of a few into which it
was divided, in the same order. What is not certain is said as the function's ``problem``, and
nothing is judged then. Accesses are aligned, not fences: a fence may leave no instruction.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from fencewright.checker.source.program import SourceFunction, SourceOperation
from fencewright.lowering.code.dominance import dominates, immediate_dominators, spans_of
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph, graph_of
from fencewright.lowering.code.source_location import SourceLine, SourceLocation
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope


@dataclass(frozen=True, slots=True)
class Alignment:
    """``candidates``: by the key of an instruction, the numbers of the operations that it may
    come from: of one of them, if there are several. ``problem``: why nothing can be judged.
    ``lost``: a barrier that every path of the source passes, where the code has none at all.
    """

    candidates: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    problem: str = ""
    lost: SourceOperation | None = None


_KINDS: Mapping[Kind, frozenset[Kind]] = {
    # An atomic that the chip does not have is a load, and a compare-exchange in a loop.
    Kind.LOAD: frozenset({Kind.LOAD, Kind.RMW}),
    Kind.STORE: frozenset({Kind.STORE}),
    Kind.RMW: frozenset({Kind.RMW}),
    Kind.BARRIER: frozenset({Kind.BARRIER}),
}
"""The kinds of operations that an instruction of a kind may come from, but for copies."""
_IN_STEPS = (Kind.LOAD, Kind.STORE)
"""The instructions that a copy of a block of memory becomes."""


class Written(Protocol):
    """A part of the code of any target."""

    @property
    def line(self) -> int:
        """Its line of the code."""
        ...

    @property
    def text(self) -> str:
        """As it is written."""
        ...


class Placed(Written, Protocol):
    """An instruction, as far as it is aligned."""

    @property
    def source(self) -> SourceLine | None:
        """Its source position, if the code has one."""
        ...


@dataclass(frozen=True, slots=True)
class CodeAccess:
    """An instruction that accesses memory others may access, or a barrier.

    ``key``: what it is called in the alignment, its line where each has one of its own.
    """

    key: int
    instruction: Placed
    kind: Kind
    space: AddressSpace | None
    block: int

    @property
    def is_scalar(self) -> bool:
        """True if it goes through the scalar cache."""
        return self.space is AddressSpace.CONSTANT

    def may_be(self, operation: SourceOperation) -> bool:
        """True if it may come from ``operation``, by the effects of both."""
        if not self._is_alike(operation):
            return False
        if self.kind is Kind.BARRIER:
            return True
        if operation.space is None or (self.is_scalar and operation.is_atomic):
            return False
        if operation.space is AddressSpace.GENERIC or self.space is AddressSpace.GENERIC:
            return True
        in_lds = self.space is AddressSpace.LOCAL
        return in_lds == (operation.space is AddressSpace.LOCAL)

    def _is_alike(self, operation: SourceOperation) -> bool:
        if operation.kind is Kind.COPY:
            return self.kind is Kind.COPY if operation.into_lds else self.kind in _IN_STEPS
        return operation.kind in _KINDS.get(self.kind, ())


def align(
    source: SourceFunction,
    found: Sequence[CodeAccess],
    graph: Graph[int],
    files: Mapping[int, str],
    elsewhere: Iterable[SourceLocation] = (),
    width: int = 1,
) -> Alignment:
    """The operations of ``source`` that instructions come from; ``graph``: of the code's blocks.

    ``files``: names by their numbers in ``.loc``. ``elsewhere``: places of other functions.
    ``width``: the most threads that run as one, which need no barrier.
    """
    if not any(each.kind is Kind.BARRIER for each in found):
        lost = next(_required_barriers(source, width), None)
        if lost is not None:
            problem = f"the barrier of source line {lost.line} is not in the code"
            return Alignment(problem=problem, lost=lost)
    have_places = any(each.instruction.source is not None for each in found)
    if have_places and any(each.place is not None for each in source.operations):
        places = frozenset(map(_key, elsewhere))
        return _Places(source, found, files, places, width).align()
    return _by_order(source, graph, found)


_Key = tuple[str, int, int]


def _key(place: SourceLocation) -> _Key:
    return _base(place.file), place.line, place.column


def _base(file: str) -> str:
    return file.rpartition("/")[2]


class _Places:
    """Alignment by file, line and column."""

    def __init__(
        self,
        source: SourceFunction,
        found: Sequence[CodeAccess],
        files: Mapping[int, str],
        elsewhere: frozenset[_Key],
        width: int,
    ):
        self.width = width
        self.source = source
        self.found = found
        self.files = files
        self.groups: defaultdict[_Key, list[SourceOperation]] = defaultdict(list)
        for each in source.operations:
            if each.place is not None and each.place.line:
                self.groups[_key(each.place)].append(each)
        self.elsewhere = elsewhere - self.groups.keys()

    def align(self) -> Alignment:
        """The alignment, which has a problem where an atomic or a barrier is not distinguished."""
        numbers_by_key: dict[int, tuple[int, ...]] = {}
        together: defaultdict[tuple[int, ...], list[CodeAccess]] = defaultdict(list)
        known: dict[tuple[_Key, Kind, AddressSpace | None], list[SourceOperation]] = {}
        unlocated: list[int] = []
        for position, each in enumerate(self.found):
            key = self._key_of(each.instruction.source)
            # Many instructions of one place are alike.
            alike = (key, each.kind, each.space)
            operations = known.get(alike)
            if operations is None:
                operations = [op for op in self.groups.get(key, ()) if each.may_be(op)]
                known[alike] = operations
            if not operations:
                if key in self.elsewhere:
                    return self._failed(each, "comes from another function, inlined here")
                if each.kind in (Kind.RMW, Kind.BARRIER):
                    return self._failed(each, "comes from no operation of the source that is known")
                if each.instruction.source is None:
                    unlocated.append(position)
                continue
            together[tuple(op.number for op in operations)].append(each)
        for numbers, instructions in together.items():
            chosen = _without_scalar(instructions)
            if len(numbers) == len(chosen):
                for number, each in zip(numbers, chosen, strict=True):
                    numbers_by_key[each.key] = (number,)
                continue
            for each in chosen:
                numbers_by_key[each.key] = numbers
        numbers_by_key.update(self._in_their_place(unlocated, numbers_by_key))
        return Alignment(numbers_by_key, self._problem(numbers_by_key))

    def _in_their_place(
        self, unlocated: Sequence[int], numbers_by_key: Mapping[int, tuple[int, ...]]
    ) -> dict[int, tuple[int, ...]]:
        """Accesses without a place, each with the one operation left between its neighbours.

        LLVM says where the first of a clause comes from, and of the others nothing.
        """
        if not unlocated:
            return {}
        aligned = {number for numbers in numbers_by_key.values() for number in numbers}
        left = [op for op in self.source.operations if op.number not in aligned]
        numbers = [op.number for op in left]
        lowest, highest = self._last_before(numbers_by_key), self._first_after(numbers_by_key)
        may_be: dict[int, list[int]] = {}
        for position in unlocated:
            first = bisect_right(numbers, lowest[position])
            end = bisect_left(numbers, highest[position])
            found = self.found[position]
            may_be[position] = [op.number for op in left[first:end] if found.may_be(op)]
        often = Counter(number for each in may_be.values() for number in each)
        return {
            self.found[position].key: (each[0],)
            for position, each in may_be.items()
            if len(each) == 1 and often[each[0]] == 1
        }

    def _last_before(self, numbers_by_key: Mapping[int, tuple[int, ...]]) -> list[int]:
        """For each instruction, the last operation of those before it in its block."""
        last: defaultdict[int, int] = defaultdict(lambda: -1)
        bounds: list[int] = []
        for each in self.found:
            bounds.append(last[each.block])
            last[each.block] = max((last[each.block], *numbers_by_key.get(each.key, ())))
        return bounds

    def _first_after(self, numbers_by_key: Mapping[int, tuple[int, ...]]) -> list[int]:
        """For each instruction, the first operation of those after it in its block."""
        first: defaultdict[int, int] = defaultdict(lambda: len(self.source.operations))
        bounds: list[int] = []
        for each in reversed(self.found):
            bounds.append(first[each.block])
            first[each.block] = min((first[each.block], *numbers_by_key.get(each.key, ())))
        return bounds[::-1]

    def _key_of(self, place: SourceLine | None) -> _Key:
        if place is None:
            return "", 0, 0
        return _base(self.files.get(place.file, "")), place.line, place.column

    def _failed(self, found: CodeAccess, problem: str) -> Alignment:
        instruction = found.instruction
        text = f"'{instruction.text}' of line {instruction.line} {problem}"
        return Alignment(problem=text)

    def _problem(self, numbers_by_key: Mapping[int, tuple[int, ...]]) -> str:
        """The ordering operation that is not aligned, or not distinguished from others."""
        aligned = {number for numbers in numbers_by_key.values() for number in numbers}
        synchronising = list(_synchronising(self.source, self.width))
        for each in synchronising:
            if each.number not in aligned:
                return f"the {each} of source line {each.line} is not found in the code"
        orders = {each.number for each in synchronising}
        for numbers in numbers_by_key.values():
            if len(numbers) > 1 and not orders.isdisjoint(numbers):
                first = self.source.operations[numbers[0]]
                return (
                    f"operations of source line {first.line} and others share their place, and "
                    "cannot be told apart"
                )
        return ""


def _without_scalar(instructions: Sequence[CodeAccess]) -> Sequence[CodeAccess]:
    """Of a place with vector accesses, those: its scalar loads are of addresses."""
    vector = [each for each in instructions if not each.is_scalar]
    return vector or instructions


def _required_barriers(source: SourceFunction, width: int) -> Iterator[SourceOperation]:
    """The barriers that every path of the source passes."""
    barriers = {each.number for each in _synchronising(source, width) if not each.is_access}
    ends = {number for number, block in enumerate(source.blocks) if not block.successors}
    for number, block in enumerate(source.blocks):
        found = [each for each in block.operations if each.number in barriers]
        if found and ends.isdisjoint(_reached(source, without=number)):
            yield from found


def _synchronising(source: SourceFunction, width: int) -> Iterator[SourceOperation]:
    """The atomics and barriers that have to be in the code."""
    reached = _reached(source)
    alone = source.most_threads is not None and source.most_threads <= width
    for number, block in enumerate(source.blocks):
        if number not in reached:
            continue
        for each in block.operations:
            is_barrier = each.kind is Kind.BARRIER
            if is_barrier and each.scope is not Scope.CLUSTER:
                is_barrier = not alone
            if is_barrier or (each.is_atomic and each.space is not None):
                yield each


def _reached(source: SourceFunction, without: int = -1) -> set[int]:
    """The blocks that control may come to, if not through one of them."""
    graph = graph_of(source.blocks)
    return graph.reachable(graph.nodes[:1], lambda block: block != without) - {without}


# By order

_Class = tuple[str, bool]


def _source_class(operation: SourceOperation) -> _Class:
    kind = Kind.RMW.value if operation.kind is Kind.RMW else operation.word
    return kind, operation.space is AddressSpace.LOCAL


def _code_class(found: CodeAccess) -> _Class:
    return found.kind.value, found.space is AddressSpace.LOCAL


def _by_order(source: SourceFunction, graph: Graph[int], found: Sequence[CodeAccess]) -> Alignment:
    """Alignment of the blocks that alone have their kinds of accesses, in order."""
    reached = _reached(source)
    theirs = [
        [op for op in block.operations if op.is_access or op.kind is Kind.BARRIER]
        for number, block in enumerate(source.blocks)
        if number in reached
    ]
    theirs = [each for each in theirs if each]
    if any(
        op.space is AddressSpace.GENERIC or (op.kind is Kind.COPY and not op.into_lds)
        for b in theirs
        for op in b
    ):
        return Alignment(problem="there are no line numbers, and generic pointers in the source")
    by_kinds = {tuple(map(_source_class, each)): each for each in theirs}
    if len(by_kinds) < len(theirs):
        return Alignment(problem="there are no line numbers, and two blocks have the same accesses")
    candidates: dict[int, tuple[int, ...]] = {}
    for instructions in _whole_blocks(graph, found, frozenset(by_kinds)):
        operations = by_kinds.pop(tuple(map(_code_class, instructions)), None)
        if operations is None:
            break
        for numbers, each in zip(_runs(operations), instructions, strict=True):
            candidates[each.key] = numbers
    if by_kinds or len(candidates) < len(found):
        return Alignment(problem="there are no line numbers, and the blocks have other accesses")
    return Alignment(candidates)


def _whole_blocks(
    graph: Graph[int], found: Sequence[CodeAccess], wanted: Collection[tuple[_Class, ...]]
) -> Iterator[list[CodeAccess]]:
    """The accesses of each block of the source that the code may have.

    A compiler divides a block where one lane acts for all: several blocks, one after another, of
    which the first dominates the others, are one where no fewer and no more of them are wanted.
    """
    if not found:
        return
    spans = spans_of(immediate_dominators(graph, graph.nodes[0]))
    longest = max(map(len, wanted), default=0)
    ours = [list(own) for _, own in groupby(found, key=lambda each: each.block)]
    start = 0
    while start < len(ours):
        whole = ours[start]
        ends = [start + 1] * (tuple(map(_code_class, whole)) in wanted)
        for end in range(start + 1, len(ours)):
            whole = whole + ours[end]
            first, last = ours[start][0].block, ours[end][0].block
            if len(whole) > longest or last not in spans or not dominates(spans, first, last):
                break
            ends += [end + 1] * (tuple(map(_code_class, whole)) in wanted)
        if len(ends) != 1:
            return
        yield [each for own in ours[start : ends[0]] for each in own]
        start = ends[0]


def _runs(operations: Sequence[SourceOperation]) -> Iterator[tuple[int, ...]]:
    """For each operation its possible partners: plain ones change places between atomics."""
    segment = 0
    places: list[tuple[int, _Class] | None] = []
    for each in operations:
        if each.kind is Kind.BARRIER or each.ordering is not Ordering.WEAK or each.volatile:
            segment += 1
            places.append(None)
        else:
            places.append((segment, _source_class(each)))
    for each, place in zip(operations, places, strict=True):
        if place is None:
            yield (each.number,)
        else:
            yield tuple(op.number for op, at in zip(operations, places, strict=True) if at == place)
