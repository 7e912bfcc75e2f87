"""Orders that a source requires and code of any vendor does not provide.

``obligations`` has the pairs that are required, ``align`` tells which instructions they are about,
and the vendor's ``Comparer`` what the code orders. Each pair is judged by itself, so that what the
source does not order is no finding. An instruction that may come from several operations is judged
by what all of them require.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.checker.source.align import Alignment, CodeAccess, Placed, Written, align
from fencewright.checker.source.obligations import Hierarchy, Obligations, Order, obligations_of
from fencewright.checker.source.program import SourceFunction, SourceModule, SourceOperation
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import Ordering, Scope


class CodeOperation(Written, Protocol):
    """An operation of the code: an instruction, or a part of one."""

    @property
    def number(self) -> int:
        """Its number within the function."""
        ...


class CodeFunction(Protocol):
    """A function of the code."""

    @property
    def instructions(self) -> Iterable[Placed]:
        """Its instructions in their order."""
        ...


Code = TypeVar("Code", bound=CodeOperation)
FunctionOfCode = TypeVar("FunctionOfCode", bound=CodeFunction)
Judge = TypeVar("Judge", covariant=True)


@dataclass(frozen=True, slots=True)
class Comparison(Generic[Judge]):
    """The result for one function. ``comparer``: what judged its pairs; None: no pair was."""

    function: str
    alignment: Alignment | None
    findings: tuple[Finding, ...]
    comparer: Judge | None = None

    @property
    def was_compared(self) -> bool:
        """True if the function could be judged."""
        return all(each.rule is not Rule.NOT_COMPARED for each in self.findings)


@dataclass(frozen=True, slots=True)
class Aligned(Generic[Code]):
    """An operation of the code with those of the source that it may come from."""

    code: Code
    source: tuple[SourceOperation, ...]

    def __str__(self) -> str:
        first = self.source[0]
        where = f" of source line {first.line}" if first.line else f" '{first.text}'"
        return f"{first}{where} (code line {self.code.line}: {self.code.text})"


@dataclass(frozen=True, slots=True)
class Pair(Generic[Code]):
    """Two operations of the code, the first required before the second at ``scope``."""

    earlier: Code
    later: Code
    scope: Scope


@dataclass(frozen=True, slots=True)
class Lack:
    """A missing order, as text after the earlier operation. ``lesser``: as in ``Finding``.

    ``unless``: a condition, said at the end.
    """

    text: str
    lesser: Level | None = None
    unless: str = ""


_Lacks = Callable[[Aligned[Code], Aligned[Code], Scope], Lack | None]
"""A check of the order of two operations at a scope: the part that is missing; None: nothing."""

Check = tuple[Order, Rule, Iterable[Aligned[Code]], _Lacks[Code]]
"""One way in which a later operation may come too early: past one of those operations."""


class Comparer(ABC, Generic[Code]):
    """One function of the code beside its source; the vendor's part is abstract.

    ``blocks``: how many the code has. ``aligned``: by the numbers of the code's operations.
    ``pairs``: the operations of each finding.
    """

    WIDTH: ClassVar[int]
    """The most threads that run as one: the compiler may leave out a barrier among them."""
    REFERS_TO_ITSELF: ClassVar[bool]
    """True if a finding about one access names it as the earlier one too."""

    def __init__(self, source: SourceFunction, hierarchy: Hierarchy, graph: Graph[int]):
        self.source = source
        self.hierarchy = hierarchy
        self.graph = graph
        self.obligations = Obligations({})
        self.aligned: dict[int, Aligned[Code]] = {}
        self.pairs: dict[Finding, Pair[Code]] = {}
        self._first: dict[tuple[Rule | int, ...], tuple[Finding, Pair[Code]]] = {}
        self._repeated: Counter[tuple[Rule | int, ...]] = Counter()

    # The vendor's part

    @abstractmethod
    def unfit(self) -> str:
        """The reason for which the code cannot be compared at all; "": it can."""

    @abstractmethod
    def accesses(self) -> Iterator[CodeAccess]:
        """The instructions that are aligned."""

    @abstractmethod
    def analyse(self, alignment: Alignment) -> Iterator[tuple[Code, int, bool]]:
        """Analyse the code; its operations, their keys in the alignment, and the mere loads."""

    @abstractmethod
    def scope_of(self, scope: Scope) -> Scope:
        """A scope at which a pair is required, as the chip can provide it."""

    def atomic_scope(self, scope: Scope) -> Scope:
        """A scope at which an atomic has to be coherent, as the chip has it."""
        return self.scope_of(scope)

    @abstractmethod
    def checks(self, later: Aligned[Code]) -> Iterator[Check[Code]]:
        """The ways in which an operation may come too early."""

    @abstractmethod
    def incoherent(self, access: Aligned[Code], scope: Scope) -> Lack | None:
        """The reason for which an access is no atomic of ``scope``; None: it is one."""

    def owners(
        self, rule: Rule, earlier: SourceOperation, later: SourceOperation
    ) -> tuple[int, ...]:
        """The operations that a finding belongs to: all pairs that share them have but one."""
        return earlier.number, later.number

    def repeated(self, pairs: int) -> str:
        """The end of a finding that so many more pairs share."""
        return ""

    # The comparison

    def required(self) -> Obligations:
        """The pairs that the source requires."""
        return obligations_of(self.source, self.hierarchy)

    def compare(
        self, files: Mapping[int, str], elsewhere: Iterable[SourceLocation] = ()
    ) -> Comparison[Self]:
        """The findings; raises ``AssemblyError``. ``files`` and ``elsewhere``: as in ``align``."""
        if not any(map(synchronises, self.source.operations)):
            return Comparison(self.source.name, None, ())
        if problem := self.source.problem or self.unfit():
            return not_compared(self.source.name, problem)
        found = list(self.accesses())
        return self.judge(align(self.source, found, self.graph, files, elsewhere, self.WIDTH))

    def judge(self, alignment: Alignment) -> Comparison[Self]:
        """The findings for operations that are aligned; raises ``AssemblyError``."""
        name = self.source.name
        if alignment.lost is not None:
            line = alignment.lost.line
            message = f"the barrier of source line {line} is not in the code of {name}"
            lost = Finding(0, Rule.LOST_BARRIER, message, source_line=line, function=name)
            return Comparison(name, alignment, (lost,))
        if alignment.problem:
            return not_compared(name, alignment.problem, alignment)
        self._align(alignment)
        return Comparison(name, alignment, tuple(self._findings()), self)

    def _align(self, alignment: Alignment) -> None:
        known = self.source.operations
        for each, key, is_load in self.analyse(alignment):
            operations = tuple(known[number] for number in alignment.candidates.get(key, ()))
            if is_load:
                # An atomic that is a loop begins with a load, which decides nothing.
                operations = tuple(op for op in operations if op.kind is not Kind.RMW)
            if operations:
                self.aligned[each.number] = Aligned(each, operations)

    def _findings(self) -> list[Finding]:
        """One finding for each rule and its owners, in the order of the text."""
        self.obligations = self.required()
        for later in self.aligned.values():
            self._coherence(later)
            for order, rule, among, lacks in self.checks(later):
                for earlier, scope in self._pairs(order, among, later):
                    if lack := lacks(earlier, later, scope):
                        self._add(rule, earlier, later, scope, lack)
        for key, (finding, pair) in sorted(self._first.items(), key=_place):
            more = self.repeated(self._repeated[key])
            self.pairs[replace(finding, message=finding.message + more)] = pair
        return list(self.pairs)

    def _pairs(
        self, order: Order, among: Iterable[Aligned[Code]], later: Aligned[Code]
    ) -> Iterator[tuple[Aligned[Code], Scope]]:
        """The earlier operations that every source of ``later`` requires, and at which scope."""
        required = [self.obligations.before(order, each.number) for each in later.source]
        common = -1
        for each in required:
            common &= each.numbers
        for earlier in among if common else ():
            if all(common >> each.number & 1 for each in earlier.source):
                scopes = (each.scope(first.number) for each in required for first in earlier.source)
                known = (each for each in scopes if each is not None)
                yield earlier, self.scope_of(min(known, key=lambda scope: scope.rank))

    def _coherence(self, access: Aligned[Code]) -> None:
        """Judge whether an atomic access is one at its scope."""
        scope = min(map(self.source_scope, access.source), key=lambda scope: scope.rank)
        if scope.rank >= Scope.WORKGROUP.rank and (lack := self.incoherent(access, scope)):
            self._add(Rule.COHERENCE, access, access, scope, lack)

    def source_scope(self, operation: SourceOperation) -> Scope:
        """The scope at which an operation has to be coherent by itself."""
        return self.atomic_scope(operation.scope) if operation.is_atomic else Scope.SINGLETHREAD

    def _add(
        self, rule: Rule, earlier: Aligned[Code], later: Aligned[Code], scope: Scope, lack: Lack
    ) -> None:
        first, second = earlier.source[0], later.source[0]
        # A point that a chip's documents leave open is so at every place: one note is enough.
        is_open = lack.lesser is _NOTE
        key = () if is_open else (rule, *self.owners(rule, first, second))
        if key in self._first:
            self._repeated[key] += 1
            return
        fence = self._asking_fence(first, second, scope)
        has_earlier = self.REFERS_TO_ITSELF or earlier is not later
        finding = Finding(
            later.code.line,
            rule,
            f"the {earlier} {lack.text}{fence}{lack.unless}",
            lack.lesser,
            (earlier.code.line,) if has_earlier else (),
            second.line,
            function=self.source.name,
            earlier_source_line=first.line if has_earlier else 0,
        )
        self._first[key] = finding, Pair(earlier.code, later.code, scope)

    def _asking_fence(self, earlier: SourceOperation, later: SourceOperation, scope: Scope) -> str:
        """The fence of the source that asks for an order of two operations, as a clause."""
        for each in reversed(self.source.operations[earlier.number + 1 : later.number]):
            if each.kind is Kind.FENCE and each.scope.includes(scope):
                return f", which the {each} of source line {each.line} requires"
        return ""


_NOTE = Level.NOTE


def _place(entry: tuple[object, tuple[Finding, object]]) -> tuple[int, Rule, bool]:
    _, (finding, _) = entry
    return finding.line, finding.rule, finding.lesser is _NOTE


JudgeOfCode = TypeVar("JudgeOfCode", bound=Comparer[Any])


def compare_modules(
    source: SourceModule,
    functions: Mapping[str, FunctionOfCode],
    comparer: Callable[[SourceFunction, FunctionOfCode], JudgeOfCode],
    files: Mapping[int, str],
    apart: Mapping[str, str],
    *,
    by_order: bool,
) -> Iterator[Comparison[JudgeOfCode]]:
    """Each function of either side that synchronises; raises ``AssemblyError``.

    ``files``: names by their numbers in ``.loc``. ``apart``: functions whose instructions have no
    lines, and why: nothing is reported of them but that. ``by_order``: they count as compared
    where, by the order of their accesses, nothing is missing.
    """
    places = {
        name: [each.place for each in function.operations if each.place is not None]
        for name, function in source.functions.items()
    }
    for name, function in functions.items():
        theirs = source.functions.get(name)
        if theirs is None:
            if list(function.instructions):
                yield not_compared(name, "it is not in the source")
            continue
        elsewhere = [place for other, known in places.items() if other != name for place in known]
        compared: Comparison[JudgeOfCode] = comparer(theirs, function).compare(files, elsewhere)
        is_judged = any(map(synchronises, theirs.operations))
        if name in apart and is_judged and (compared.findings or not by_order):
            compared = not_compared(name, apart[name])
        yield compared
    for name, function in source.functions.items():
        if name not in functions and any(map(synchronises, function.operations)):
            yield not_compared(name, "it is not in the code")


def not_compared(
    function: str, problem: str, alignment: Alignment | None = None
) -> Comparison[Any]:
    """That a function could not be judged, and why."""
    message = f"{function} is not compared with its source: {problem}"
    return Comparison(
        function, alignment, (Finding(0, Rule.NOT_COMPARED, message, function=function),)
    )


def synchronises(operation: SourceOperation) -> bool:
    """True if an operation orders others, or is an atomic."""
    return operation.ordering is not Ordering.WEAK or operation.kind is Kind.BARRIER
