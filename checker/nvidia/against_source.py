"""What PTX does not provide of what its source asks: the other vendor's ``source_check``.

``obligations`` has the pairs that are owed, ``align`` says which instructions they are about, and
``ptx_orders`` what is ordered. Ordering and scope stand in the instructions, so that no machine
has to be known.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from fencewright.checker.amd.comparison.against_source import (
    Comparison,
    SourceFinding,
    asking_fence,
    lost_barrier,
    not_compared,
    synchronises,
)
from fencewright.checker.amd.comparison.modules import compiled_twice
from fencewright.checker.findings.finding import Rule
from fencewright.checker.nvidia.orders import BARRIERS, Orders
from fencewright.checker.source.align import Alignment, Found, Method, align_accesses
from fencewright.checker.source.obligations import PTX, Order, obligations_of
from fencewright.checker.source.program import (
    SourceFunction,
    SourceKind,
    SourceModule,
    SourceOperation,
)
from fencewright.lowering.cdna.code.operands.operands import InstructionKind
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.code.source_location import SourceLine, SourceLocation
from fencewright.lowering.ptx.chip import FORMS, PtxForm
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.statements import SCOPE_WORDS
from fencewright.lowering.ptx.code.text import PtxBlock, PtxFile, PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope

_I, _S = InstructionKind, SourceKind

_KINDS: Mapping[str, InstructionKind] = MappingProxyType(
    {
        **dict.fromkeys(("ld", "ldu", "ld nc", "ldmatrix"), _I.LOAD),
        **dict.fromkeys(("st", "stmatrix"), _I.STORE),
        **dict.fromkeys(("atom", "red"), _I.ATOMIC),
        **dict.fromkeys(BARRIERS, _I.BARRIER),
        "cp async": _I.MEMORY_TO_LDS,
    }
)
"""The instructions that are aligned, by what they are to their source."""


def compare_ptx(
    source: SourceModule, module: PtxFile, files: Mapping[int, str], apart: Mapping[str, str]
) -> Iterator[Comparison]:
    """Each function of either side that synchronises.

    ``files``: names by their numbers in ``.loc``. ``apart``: functions that cannot be compared, and
    why.
    """
    places = {
        name: [each.place for each in function.operations if each.place is not None]
        for name, function in source.functions.items()
    }
    for name, function in module.functions.items():
        theirs = source.functions.get(name)
        if theirs is None:
            yield _missing(name, "it is not in the source")
            continue
        elsewhere = [place for other, known in places.items() if other != name for place in known]
        if name in apart and any(map(synchronises, theirs.operations)):
            yield _missing(name, apart[name])
        else:
            yield _compare(theirs, module, function, files, elsewhere)
    for name, function in source.functions.items():
        if name not in module.functions and any(map(synchronises, function.operations)):
            yield _missing(name, "it is not in the code")


def compare_in_order(source: SourceFunction, module: PtxFile, function: PtxFunction) -> Comparison:
    """A function whose accesses stand in the order of its source, whatever may follow them.

    So are those of a printer that moves nothing. Another order of kinds is not compared.
    """
    found = list(_accesses(module, function))
    wanted = [
        each for each in source.operations if each.is_access or each.kind is SourceKind.BARRIER
    ]
    fits = len(found) >= len(wanted) and all(map(Found.may_be, found, wanted))
    problem = source.problem or _unknown(function)
    if not problem and not fits:
        problem = "its accesses are in another order"
    if problem:
        return _missing(source.name, problem)
    pairs = zip(found, wanted, strict=False)
    candidates = {each.key: (operation.number,) for each, operation in pairs}
    alignment = Alignment(Method.ORDER, candidates)
    return Comparison(
        source.name, alignment, tuple(_Comparer(source, module, function, alignment).findings())
    )


def _missing(name: str, problem: str) -> Comparison:
    return Comparison(name, None, (not_compared(name, problem),))


def _compare(
    source: SourceFunction,
    module: PtxFile,
    function: PtxFunction,
    files: Mapping[int, str],
    elsewhere: Iterable[SourceLocation],
) -> Comparison:
    if not any(map(synchronises, source.operations)):
        return Comparison(source.name, None, ())
    problem = source.problem or _unknown(function)
    if problem:
        return _missing(source.name, problem)
    found = list(_accesses(module, function))
    alignment = align_accesses(source, found, len(function.blocks), files, elsewhere, PTX)
    if alignment.lost is not None:
        return Comparison(source.name, alignment, (lost_barrier(source.name, alignment.lost),))
    if alignment.problem:
        return Comparison(source.name, alignment, (not_compared(source.name, alignment.problem),))
    findings = _Comparer(source, module, function, alignment).findings()
    return Comparison(source.name, alignment, tuple(findings))


def _unknown(function: PtxFunction) -> str:
    for each in function.instructions:
        if each.statement.kind is Kind.OPAQUE:
            return f"'{each.statement.opcode.name}' is not known"
    return ""


@dataclass(frozen=True, slots=True)
class _Placed:
    """An instruction as ``align`` takes it."""

    instruction: PtxInstruction

    @property
    def line(self) -> int:
        """Its line."""
        return self.instruction.line

    @property
    def text(self) -> str:
        """As it is written."""
        return str(self.instruction)

    @property
    def source(self) -> SourceLine | None:
        """Where it was written."""
        return self.instruction.source


def _accesses(module: PtxFile, function: PtxFunction) -> Iterator[Found]:
    places = Places(module, function)
    for block in function.blocks:
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
            yield Found(each.number, _Placed(each), kind, space, block.number)


_CLUSTERS_SINCE = FORMS[PtxForm.CLUSTER].number
"""The first chip with clusters."""


def _number_of(target: str) -> int:
    """The number of a chip, 90 of ``sm_90a``."""
    found = re.match(r"sm_(\d+)", target)
    assert found is not None, target
    return int(found[1])


_IN_LOOPS = (_S.RMW, _S.CMPXCHG)


@dataclass(frozen=True, slots=True)
class _Aligned:
    """An instruction with the operations of the source that it may come from."""

    code: PtxInstruction
    source: tuple[SourceOperation, ...]

    def __str__(self) -> str:
        first = self.source[0]
        where = f" of source line {first.line}" if first.line else f" '{first.text}'"
        return f"{first}{where} (code line {self.code.line}: {self.code})"

    @property
    def reads(self) -> bool:
        """Whether it reads memory, or meets others who have written."""
        return self._is_barrier or any(each.reads for each in self.code.statement.accesses)

    @property
    def writes(self) -> bool:
        """Whether it writes memory, or meets others who will read."""
        return self._is_barrier or any(each.writes for each in self.code.statement.accesses)

    @property
    def _is_barrier(self) -> bool:
        return self.code.statement.operation in BARRIERS


class _Comparer:
    """One function."""

    def __init__(
        self, source: SourceFunction, module: PtxFile, function: PtxFunction, alignment: Alignment
    ):
        self.source = source
        self.has_clusters = _number_of(module.target) >= _CLUSTERS_SINCE
        self.obligations = obligations_of(source, PTX)
        self.orders = Orders(function)
        self.aligned: list[_Aligned] = []
        self.found: dict[tuple[Rule, int], SourceFinding] = {}
        self.others: Counter[tuple[Rule, int]] = Counter()
        known = source.operations
        for each in self.orders.points:
            operations = tuple(known[n] for n in alignment.candidates.get(each.number, ()))
            if each.statement.operation in ("ld", "ldu", "ld nc"):
                # An atomic that is a loop begins with a load, which decides nothing.
                operations = tuple(op for op in operations if op.kind not in _IN_LOOPS)
            if operations:
                self.aligned.append(_Aligned(each, operations))

    def findings(self) -> list[SourceFinding]:
        """One finding for each rule and operation of the source, in the order of the text."""
        for later in self.aligned:
            self._coherence(later)
            if later.writes:
                self._pairs(Order.RELEASE, Rule.RELEASE, later)
            self._pairs(Order.ACQUIRE, Rule.ACQUIRE, later)
            if later.reads:
                self._pairs(Order.SEQ_CST, Rule.SEQ_CST, later)
        every = [self._with_others(key, each) for key, each in self.found.items()]
        return sorted(every, key=lambda each: (each.line, each.rule))

    def _with_others(self, key: tuple[Rule, int], finding: SourceFinding) -> SourceFinding:
        """A finding that says how many more pairs lack the same."""
        others = self.others[key]
        if not others:
            return finding
        more = f"; so for {others} more {'access' if others == 1 else 'accesses'}"
        return replace(finding, message=finding.message + more)

    def _pairs(self, order: Order, rule: Rule, later: _Aligned) -> None:
        required = [self.obligations.before(order, each.number) for each in later.source]
        every = -1
        for each in required:
            every &= each.numbers
        for earlier in self.aligned if every else ():
            if any(not every >> each.number & 1 for each in earlier.source):
                continue
            scopes = [each.scope(first.number) for each in required for first in earlier.source]
            known = [each for each in scopes if each is not None]
            if len(known) < len(scopes) or earlier.code is later.code:
                continue
            scope = self._can_ask(min(known, key=lambda each: each.rank))
            if self.orders.is_open(order, earlier.code, later.code, scope):
                said, lacks = _said(order, later, scope), _lacks(order, later, scope)
                self._add(rule, earlier, later, scope, f"{said}: {lacks} is missing")
            elif self._is_moved(earlier, later):
                said = f"{_said(order, later, scope)}: it comes after it in the code"
                self._add(rule, earlier, later, scope, said)

    def _can_ask(self, scope: Scope) -> Scope:
        """A scope as the chip has it: without clusters each work-group is one by itself."""
        return scope if self.has_clusters or scope is not Scope.CLUSTER else Scope.WORKGROUP

    def _is_moved(self, earlier: _Aligned, later: _Aligned) -> bool:
        """Whether the code has two accesses in the other order, where the source has but one."""
        first, second = earlier.source[0], later.source[0]
        if (first,) != earlier.source or (second,) != later.source:
            return False
        if self._leads(second, first) or not self._leads(first, second):
            return False
        ours = [each.code for each in self.aligned if each.source == earlier.source]
        theirs = [each.code for each in self.aligned if each.source == later.source]
        back = any(self.orders.comes_before(b, a) for a in ours for b in theirs)
        return back and not any(self.orders.comes_before(a, b) for a in ours for b in theirs)

    def _leads(self, first: SourceOperation, second: SourceOperation) -> bool:
        """Whether a path of the source leads from one operation to another."""
        blocks = self.source.blocks
        home = {each.number: n for n, block in enumerate(blocks) for each in block.operations}
        start, end = home[first.number], home[second.number]
        if start == end and first.number < second.number:
            return True
        return end in graph_of(blocks).reachable_after([start])

    def _coherence(self, aligned: _Aligned) -> None:
        """Whether an atomic access is one at its scope."""
        statement = aligned.code.statement
        wanted = [each.scope for each in aligned.source if each.is_atomic and each.is_access]
        if len(wanted) < len(aligned.source):
            return
        narrowest = self._can_ask(min(wanted, key=lambda scope: scope.rank))
        if all(each.space is AddressSpace.LOCAL for each in aligned.source):
            # Nobody beyond the cluster reaches shared memory.
            narrowest = self._can_ask(narrowest.clamp(Scope.CLUSTER))
        if narrowest.rank < Scope.WORKGROUP.rank:
            return
        if not statement.is_strong or statement.scope is None:
            said = f"is a weak access: .relaxed.{SCOPE_WORDS[narrowest]} is missing"
        elif not statement.scope.includes(narrowest):
            said = (
                f"is coherent at {statement.scope} only, not at {narrowest}: "
                f".{SCOPE_WORDS[narrowest]} is missing"
            )
        else:
            return
        self._add(Rule.COHERENCE, aligned, aligned, narrowest, said)

    def _add(self, rule: Rule, earlier: _Aligned, later: _Aligned, scope: Scope, said: str) -> None:
        # What one missing fence causes is said once, at the access that it belongs to.
        owner = earlier if rule is Rule.ACQUIRE else later
        key = (rule, owner.source[0].number)
        if key in self.found:
            self.others[key] += 1
            return
        about = () if earlier is later else (earlier.code.line,)
        asked = asking_fence(self.source, earlier.source[0], later.source[0], scope)
        self.found[key] = SourceFinding(
            later.code.line,
            rule,
            self.source.name,
            f"the {earlier} {said}{asked}",
            later.source[0].line,
            0 if earlier is later else earlier.source[0].line,
            about=about,
        )


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
    """``code`` with the ``.loc`` of a numbered copy of it; and the functions that differ, and why."""
    functions, problems = compiled_twice(code.functions, numbered.functions, _is_same, _with_lines)
    return replace(code, functions=functions), problems


def _with_lines(function: PtxFunction, copy: PtxFunction) -> PtxFunction:
    sources = {each.number: each.source for each in copy.instructions}
    return replace(function, blocks=tuple(_placed(block, sources) for block in function.blocks))


def _is_same(a: PtxFunction, b: PtxFunction) -> bool:
    return [str(each) for each in a.instructions] == [str(each) for each in b.instructions]


def _placed(block: PtxBlock, sources: Mapping[int, SourceLine | None]) -> PtxBlock:
    instructions = tuple(replace(each, source=sources[each.number]) for each in block.instructions)
    return PtxBlock(block.number, block.labels, instructions, block.successors)
