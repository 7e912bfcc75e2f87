"""The order that PTX provides, and its lack against the one that its source requires.

Ordering and scope stand in the instructions, so that no machine has to be known.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from fencewright.checker.findings.finding import Rule
from fencewright.checker.nvidia.orders import BARRIERS, Orders
from fencewright.checker.source.align import Alignment, CodeAccess
from fencewright.checker.source.compare import (
    Aligned,
    Check,
    Comparer,
    Comparison,
    Lack,
    compare_modules,
)
from fencewright.checker.source.numbered import compiled_twice
from fencewright.checker.source.obligations import PTX, Order
from fencewright.checker.source.program import (
    SourceFunction,
    SourceModule,
    SourceOperation,
)
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.code.source_location import SourceLine
from fencewright.lowering.ptx.chip import FORMS, PtxForm
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.statements import SCOPE_WORDS
from fencewright.lowering.ptx.code.text import PtxBlock, PtxFile, PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope

_LOADS = ("ld", "ldu", "ld nc")
_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        **dict.fromkeys((*_LOADS, "ldmatrix"), Kind.LOAD),
        **dict.fromkeys(("st", "stmatrix"), Kind.STORE),
        **dict.fromkeys(("atom", "red"), Kind.RMW),
        **dict.fromkeys(BARRIERS, Kind.BARRIER),
        "cp async": Kind.COPY,
    }
)
"""The instructions that are aligned, by their kind in the source."""


def compare_ptx(
    source: SourceModule, module: PtxFile, files: Mapping[int, str], apart: Mapping[str, str]
) -> "Iterator[Comparison[PtxComparer]]":
    """Each function of either side that synchronises, as ``compare_modules``."""
    comparer = partial(PtxComparer, module)
    return compare_modules(source, module.functions, comparer, files, apart, by_order=False)


def compare_in_order(
    source: SourceFunction, module: PtxFile, function: PtxFunction
) -> "Comparison[PtxComparer]":
    """A function whose accesses stand in the order of its source, with any accesses after them.

    So are those of a printer that moves nothing. Another order of kinds is not compared.
    """
    comparer = PtxComparer(module, source, function)
    found = list(comparer.accesses())
    wanted = [each for each in source.operations if each.is_access or each.kind is Kind.BARRIER]
    fits = len(found) >= len(wanted) and all(map(CodeAccess.may_be, found, wanted))
    problem = source.problem or comparer.unfit()
    if not problem and not fits:
        problem = "its accesses are in another order"
    pairs = zip(found, wanted, strict=False)
    candidates = {each.key: (operation.number,) for each, operation in pairs}
    return comparer.judge(Alignment(candidates, problem))


_CLUSTERS_SINCE = FORMS[PtxForm.CLUSTER].number
"""The first chip with clusters."""


def _number_of(target: str) -> int:
    """The number of a chip, 90 of ``sm_90a``."""
    found = re.match(r"sm_(\d+)", target)
    assert found is not None, target
    return int(found[1])


_Aligned = Aligned[PtxInstruction]


class PtxComparer(Comparer[PtxInstruction]):
    """One function of PTX beside its source. ``orders``: once it is analysed."""

    WIDTH = 1
    REFERS_TO_ITSELF = False
    orders: Orders

    def __init__(self, module: PtxFile, source: SourceFunction, function: PtxFunction):
        super().__init__(source, PTX, graph_of(function.blocks))
        self.module = module
        self.function = function
        self.has_clusters = _number_of(module.target) >= _CLUSTERS_SINCE

    def unfit(self) -> str:
        """An instruction that is not known."""
        for each in self.function.instructions:
            if each.statement.kind is Kind.OPAQUE:
                return f"'{each.statement.opcode.name}' is not known"
        return ""

    def accesses(self) -> Iterator[CodeAccess]:
        """The accesses to memory that others may access, and the barriers."""
        places = Places(self.module, self.function)
        for block in self.function.blocks:
            for each in block.instructions:
                kind = _KINDS.get(each.statement.operation)
                if kind is None:
                    continue
                spaces = [places.of(access).space for access in each.statement.accesses]
                if any(space in (AddressSpace.CONSTANT, AddressSpace.PRIVATE) for space in spaces):
                    continue
                space = spaces[-1] if spaces else None
                if spaces and space not in (AddressSpace.GLOBAL, AddressSpace.LOCAL):
                    space = AddressSpace.GENERIC
                yield CodeAccess(each.number, each, kind, space, block.number)

    def analyse(self, alignment: Alignment) -> Iterator[tuple[PtxInstruction, int, bool]]:
        """The accesses and barriers, by their numbers."""
        self.orders = Orders(self.function)
        for each in self.orders.points:
            yield each, each.number, each.statement.operation in _LOADS

    def scope_of(self, scope: Scope) -> Scope:
        """A scope as the chip has it: without clusters each work-group is one by itself."""
        return scope if self.has_clusters or scope is not Scope.CLUSTER else Scope.WORKGROUP

    def owners(
        self, rule: Rule, earlier: SourceOperation, later: SourceOperation
    ) -> tuple[int, ...]:
        """The access that the missing instruction belongs to."""
        return (earlier.number if rule is Rule.ACQUIRE else later.number,)

    def repeated(self, pairs: int) -> str:
        """The number of further accesses that one missing fence leaves unordered, in words."""
        return f"; so for {pairs} more {'access' if pairs == 1 else 'accesses'}" if pairs else ""

    def checks(self, later: _Aligned) -> Iterator[Check[PtxInstruction]]:
        """Each order that a later operation may take part in."""
        statement = later.code.statement
        is_barrier = statement.operation in BARRIERS
        if is_barrier or any(each.writes for each in statement.accesses):
            yield self._check(Order.RELEASE, Rule.RELEASE, later)
        yield self._check(Order.ACQUIRE, Rule.ACQUIRE, later)
        if is_barrier or any(each.reads for each in statement.accesses):
            yield self._check(Order.SEQ_CST, Rule.SEQ_CST, later)

    def _check(self, order: Order, rule: Rule, later: _Aligned) -> Check[PtxInstruction]:
        others = (each for each in self.aligned.values() if each is not later)
        return order, rule, others, partial(self._lack, order)

    def _lack(self, order: Order, earlier: _Aligned, later: _Aligned, scope: Scope) -> Lack | None:
        """The fence or the ordering that is missing, or that the code has the wrong way round."""
        if self.orders.is_open(order, earlier.code, later.code, scope):
            return Lack(f"{_said(order, later, scope)}: {_lacks(order, later, scope)} is missing")
        if self._is_moved(earlier, later):
            return Lack(f"{_said(order, later, scope)}: it comes after it in the code")
        return None

    def _is_moved(self, earlier: _Aligned, later: _Aligned) -> bool:
        """True if the code has two accesses in the other order, where the source has but one."""
        first, second = earlier.source[0], later.source[0]
        if (first,) != earlier.source or (second,) != later.source:
            return False
        if self._leads(second, first) or not self._leads(first, second):
            return False
        ours = [each.code for each in self.aligned.values() if each.source == earlier.source]
        theirs = [each.code for each in self.aligned.values() if each.source == later.source]
        back = any(self.orders.comes_before(b, a) for a in ours for b in theirs)
        return back and not any(self.orders.comes_before(a, b) for a in ours for b in theirs)

    def _leads(self, first: SourceOperation, second: SourceOperation) -> bool:
        """True if a path of the source leads from one operation to another."""
        blocks = self.source.blocks
        home = {each.number: n for n, block in enumerate(blocks) for each in block.operations}
        start, end = home[first.number], home[second.number]
        if start == end and first.number < second.number:
            return True
        return end in graph_of(blocks).reachable_after([start])

    def incoherent(self, access: _Aligned, scope: Scope) -> Lack | None:
        """The scope or the ordering that the instruction does not have."""
        statement = access.code.statement
        if statement.operation in BARRIERS:
            return None
        if all(each.space is AddressSpace.LOCAL for each in access.source):
            # Nobody beyond the cluster reaches shared memory.
            scope = self.scope_of(scope.clamp(Scope.CLUSTER))
        word = SCOPE_WORDS[scope]
        if not statement.is_strong or statement.scope is None:
            return Lack(f"is a weak access: .relaxed.{word} is missing")
        if statement.scope.includes(scope):
            return None
        return Lack(f"is coherent at {statement.scope} only, not at {scope}: .{word} is missing")


def _said(order: Order, later: _Aligned, scope: Scope) -> str:
    if order is Order.RELEASE:
        return f"may not be visible at {scope} when the {later} is"
    if order is Order.ACQUIRE:
        return f"does not keep the {later} from being older at {scope}"
    return f"is not before the {later} in the order of all seq_cst operations at {scope}"


def _lacks(order: Order, later: _Aligned, scope: Scope) -> str:
    word = SCOPE_WORDS[scope]
    if order is Order.SEQ_CST:
        return f"fence.sc.{word} between them"
    if order is Order.ACQUIRE:
        return f".acquire.{word} on the read, or fence.acq_rel.{word} between them,"
    ordering = later.code.statement.ordering
    has_own = ordering is not None and ordering is not Ordering.WEAK
    own = f".release.{word} on the write, or " if has_own else ""
    return f"{own}fence.acq_rel.{word} between them,"


# Code that was compiled twice


def with_lines_of_ptx(code: PtxFile, numbered: PtxFile) -> tuple[PtxFile, dict[str, str]]:
    """``code`` with the ``.loc`` of a numbered copy; the functions that differ, and why."""
    functions, problems = compiled_twice(code.functions, numbered.functions, _with_lines)
    return replace(code, functions=functions), problems


def _with_lines(function: PtxFunction, copy: PtxFunction) -> PtxFunction:
    sources = {each.number: each.source for each in copy.instructions}
    return replace(function, blocks=tuple(_placed(block, sources) for block in function.blocks))


def _placed(block: PtxBlock, sources: Mapping[int, SourceLine | None]) -> PtxBlock:
    instructions = tuple(replace(each, source=sources[each.number]) for each in block.instructions)
    return replace(block, instructions=instructions)
