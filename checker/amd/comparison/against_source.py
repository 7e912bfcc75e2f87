"""What the code does not provide of what its source asks.

``obligations`` has the pairs that are owed, ``align`` says which instructions they are about, and
``cdna_lift`` what is done where. Judged is each pair by itself, so that what the source does not
order is no finding. An instruction that may come from several operations is judged by what all of
them are owed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencewright.checker.amd.accesses import Mode, Operation, OperationKind, wave_size_of
from fencewright.checker.amd.comparison.paths import between, can_hold
from fencewright.checker.amd.guarantees import (
    LiftedFunction,
    Place,
    guarantees_of,
    pending_bits,
    pending_peer_invalidates,
    stale_bits,
)
from fencewright.checker.amd.state import code_of, solve, wait_for_loads, wait_for_stores
from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.checker.source.align import Alignment, align
from fencewright.checker.source.cumulativity import passed_on
from fencewright.checker.source.obligations import Hierarchy, Obligations, Order, obligations_of
from fencewright.checker.source.program import (
    SourceFunction,
    SourceKind,
    SourceOperation,
)
from fencewright.lowering.cdna.caches import Visibility
from fencewright.lowering.cdna.chip import Code
from fencewright.lowering.cdna.chips import ChipRow
from fencewright.lowering.cdna.code.counterexample_peer import invalidates_of, write_backs_of
from fencewright.lowering.cdna.code.flow import Flow
from fencewright.lowering.cdna.code.operands.family import InstructionKind
from fencewright.lowering.cdna.counters.waits import wait_text
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import Ordering, Scope


@dataclass(frozen=True, slots=True)
class SourceFinding:
    """One finding, at ``line`` of the assembly; 0: of no line of it.

    ``later`` and ``earlier``: the operations of the code that it is about, if there are;
    ``scope``: at which the earlier one is owed to the later one. ``about``: the other lines that it
    concerns, where there are no such operations. ``lesser``: as ``Finding`` has it.
    """

    line: int
    rule: Rule
    function: str
    message: str
    source_line: int = 0
    earlier_source_line: int = 0
    later: Operation | None = None
    earlier: Operation | None = None
    scope: Scope | None = None
    about: tuple[int, ...] = ()
    lesser: Level | None = None

    def finding(self) -> Finding:
        """As all findings are."""
        about = self.about if self.earlier is None else (self.earlier.line,)
        return Finding(
            self.line,
            self.rule,
            self.message,
            self.lesser,
            about,
            self.source_line,
            function=self.function,
            earlier_source_line=self.earlier_source_line,
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing one function with its source found."""

    function: str
    alignment: Alignment | None
    findings: tuple[SourceFinding, ...]
    lifted: LiftedFunction | None = None

    @property
    def was_compared(self) -> bool:
        """Whether the function could be judged."""
        return all(each.rule is not Rule.NOT_COMPARED for each in self.findings)


def compare(
    source: SourceFunction,
    flow: Flow,
    mode: Mode,
    files: Mapping[int, str],
    elsewhere: Iterable[SourceLocation] = (),
) -> Comparison:
    """What ``flow``, the code of ``source``, lacks; raises ``AssemblyError``.

    ``files`` and ``elsewhere`` are those of ``align``.
    """
    if not any(map(synchronises, source.operations)):
        return Comparison(source.name, None, ())
    alignment = None
    problem = _unfit(source, flow, mode)
    if not problem:
        alignment = align(source, flow, files, elsewhere)
        problem = alignment.problem
    if alignment is not None and alignment.lost is not None:
        return Comparison(source.name, alignment, (lost_barrier(source.name, alignment.lost),))
    if problem or alignment is None:
        return Comparison(source.name, alignment, (not_compared(source.name, problem),))
    data = frozenset(
        id(step)
        for block in flow.blocks
        for step in block.steps
        if step.instruction.line in alignment.candidates
    )
    code = code_of(flow, mode, data)
    lifted = guarantees_of(code, solve(code))
    findings = _Comparer(source, lifted, alignment).findings()
    return Comparison(source.name, alignment, tuple(findings), lifted)


def lost_barrier(function: str, barrier: SourceOperation) -> SourceFinding:
    """That a barrier of the source is not in the code, which has none."""
    message = f"the barrier of source line {barrier.line} is not in the code of {function}"
    return SourceFinding(0, Rule.LOST_BARRIER, function, message, barrier.line)


def not_compared(function: str, problem: str) -> SourceFinding:
    """That a function could not be judged, and why."""
    message = f"{function} is not compared with its source: {problem}"
    return SourceFinding(0, Rule.NOT_COMPARED, function, message)


def synchronises(operation: SourceOperation) -> bool:
    """Whether an operation orders others, or is an atomic."""
    return operation.ordering is not Ordering.WEAK or operation.kind is SourceKind.BARRIER


def _unfit(source: SourceFunction, flow: Flow, mode: Mode) -> str:
    """Why the two cannot be compared at all."""
    if source.problem:
        return source.problem
    if source.cpu and source.cpu != mode.chip.name:
        return f"its source is for {source.cpu}, the code for {mode.chip.name}"
    for block in flow.blocks:
        for step in block.steps:
            if step.effects.kind is InstructionKind.UNKNOWN:
                return f"'{step.instruction.mnemonic}' is not known"
    return ""


_IN_LOOPS = (SourceKind.RMW, SourceKind.CMPXCHG)
_IF_EARLY = ", should a cache of the work-group report stores done (which LLVM takes it not to do)"
"""The reading of the manual by which alone something is missing (``Mode.asked``)."""
_IF_READ = ", should other code of the work-group read what is old (this kernel does not)"
_O = OperationKind


@dataclass(frozen=True, slots=True)
class _Aligned:
    """An operation of the code with those of the source that it may come from."""

    code: Operation
    source: tuple[SourceOperation, ...]
    wanted: tuple[Scope, ...]
    """The scopes at which those of the source have to be coherent by themselves."""

    def is_seen(self, scope: Scope) -> bool:
        """Whether all of ``scope`` see what it writes once it has completed.

        Of an atomic of that scope they do, where memory is of a kind that lets them: on chips
        without scope bits nothing in the code says so.
        """
        asked = all(each.includes(scope) for each in self.wanted)
        return asked and self.code.scope.includes(scope)

    def __str__(self) -> str:
        first = self.source[0]
        where = f" of source line {first.line}" if first.line else f" '{first.text}'"
        return f"{first}{where} (code line {self.code.line}: {self.code.text})"


class _Comparer:
    """One function: ``aligned`` by the numbers of the code's operations."""

    def __init__(self, source: SourceFunction, lifted: LiftedFunction, alignment: Alignment):
        self.source = source
        self.lifted = lifted
        self.scopes = lifted.mode.scopes
        wave = wave_size_of(lifted.code.flow.function, lifted.mode.chip)
        hierarchy = Hierarchy(self.scopes, wave)
        required = obligations_of(source, hierarchy).required
        self.obligations = Obligations({**required, **passed_on(source, hierarchy)})
        self.aligned: dict[int, _Aligned] = {}
        self.found: dict[tuple[Rule, int, int], SourceFinding] = {}
        self.left_open: list[SourceFinding] = []
        known = source.operations
        for each in lifted.operations[1:]:
            numbers = alignment.candidates.get(each.line, ())
            operations = tuple(known[number] for number in numbers)
            if each.kind is _O.LOAD:
                # An atomic that is a loop begins with a load, which decides nothing.
                operations = tuple(op for op in operations if op.kind not in _IN_LOOPS)
            if operations and each.number in lifted.places:
                wanted = tuple(atomic_scope(op, self.scopes) for op in operations)
                self.aligned[each.number] = _Aligned(each, operations, wanted)

    def findings(self) -> list[SourceFinding]:
        """One finding for each rule and pair of the source, in the order of the text."""
        for later in self.aligned.values():
            kind = later.code.kind
            writes = kind.writes or kind is _O.BARRIER
            if writes:
                self._late(Order.RELEASE, Rule.RELEASE, later)
                self._late(Order.ACQUIRE, Rule.ACQUIRE, later)
                self._settling(later)
            if kind.reads:
                self._late(Order.SEQ_CST, Rule.SEQ_CST, later)
                self._older(later)
            self._coherence(later)
        # What the documents of a chip leave open is so at every place: one of them is enough.
        every = [*self.found.values(), *self.left_open[:1]]
        return sorted(every, key=lambda each: (each.line, each.rule))

    def _owed(self, order: Order, bits: int, later: _Aligned) -> Iterator[tuple[_Aligned, Scope]]:
        """The operations among ``bits`` that are owed to ``later``, and at which scope."""
        required = [self.obligations.before(order, each.number) for each in later.source]
        if not all(any(each.at) for each in required):
            return
        for operation in self.lifted.code.those(bits):
            earlier = self.aligned.get(operation.number)
            if earlier is None or (order is Order.ACQUIRE and _is_untold(earlier, later)):
                continue
            scopes = [each.scope(first.number) for each in required for first in earlier.source]
            known = [each for each in scopes if each is not None]
            if len(known) == len(scopes):
                yield earlier, self._can_ask(min(known, key=lambda scope: scope.rank))

    def _can_ask(self, scope: Scope) -> Scope:
        """A scope as the chip can provide it: without maintenance of the L2, the agent's is all."""
        most = Scope.SYSTEM if self.lifted.mode.chip.l2_maintenance else Scope.AGENT
        return scope.clamp(most)

    def _late(self, order: Order, rule: Rule, later: _Aligned) -> None:
        """What is owed to ``later`` and may not be done when it issues."""
        code = self.lifted.code
        place = self.lifted.places[later.code.number]
        bits = 0
        for scope in self.scopes:
            bits |= self.lifted.pending_bits(later.code, scope, hardest=True)
        flight = place.flight
        if order is Order.ACQUIRE:
            bits &= flight  # What was read, whatever has become of what was written.
        for earlier, scope in self._owed(order, bits, later):
            is_hard = not self.lifted.is_late(earlier.code, later.code, scope)
            if not flight & earlier.code.bit and earlier.is_seen(scope):
                continue

            def is_late(
                at: Place,
                first: _Aligned = earlier,
                wide: Scope = scope,
                hardest: bool = is_hard,
            ) -> bool:
                found = pending_bits(code, at, later.code, wide, hardest=hardest)
                return bool(found & first.code.bit)

            if not is_late(place) or not can_hold(code, earlier.code, later.code, is_late):
                continue
            said = f"may not be done at {scope} when the {later} issues"
            if is_hard:
                lacks = self._release_lacks(earlier, later, scope, self.lifted.mode.reach(scope))
                note = self._finding(rule, earlier, later, scope, f"{said}{_IF_EARLY}: {lacks}")
                self.left_open.append(replace(note, lesser=Level.NOTE))
            else:
                lacks = self._release_lacks(earlier, later, scope, self.lifted.mode.asked(scope))
                self._add(rule, earlier, later, scope, said, lacks)

    def _older(self, later: _Aligned) -> None:
        """The reads that ``later`` is owed not to be older than, and may be."""
        code, place = self.lifted.code, self.lifted.places[later.code.number]
        bits = 0
        for scope in self.scopes:
            bits |= stale_bits(code, place, later.code, scope)
        is_scalar = later.code.kind is _O.SCALAR_LOAD
        rule = Rule.SCALAR_STALE if is_scalar else Rule.ACQUIRE
        for earlier, scope in self._owed(
            Order.ACQUIRE, bits & (1 << self.lifted.code.others) - 1, later
        ):

            def is_old(at: Place, first: _Aligned = earlier, wide: Scope = scope) -> bool:
                return bool(stale_bits(code, at, later.code, wide) & first.code.bit)

            if is_old(place) and can_hold(code, earlier.code, later.code, is_old):
                said = f"does not keep the {later} from reading what is older at {scope}"
                lacks = self._acquire_lacks(earlier, later, scope)
                self._add(rule, earlier, later, scope, said, lacks)

    def _settling(self, later: _Aligned) -> None:
        """The reads that ``later`` passes on before all of the work-group is to see what they saw.

        Only where an invalidate is under way: without one it may be for the others to make. They run
        this function too: where a kernel reads nothing in such a cache after it has acquired from the
        work-group, nobody sees what is old, and it is a warning.
        """
        code, place = self.lifted.code, self.lifted.places[later.code.number]
        bits = 0
        for scope in self.scopes:
            bits |= pending_peer_invalidates(code, place, scope)
        for earlier, scope in self._owed(Order.PASSED_ON, bits & ~place.flight, later):

            def is_settling(at: Place, first: _Aligned = earlier, wide: Scope = scope) -> bool:
                return bool(pending_peer_invalidates(code, at, wide) & first.code.bit)

            if is_settling(place) and can_hold(code, earlier.code, later.code, is_settling):
                said = (
                    f"may be passed on to the work-group by the {later} before what it acquires at "
                    f"{scope} holds for others of it"
                )
                lacks = self._settling_lacks(earlier, later, scope)
                is_read = self._may_read(scope)
                lesser = None if is_read else Level.WARNING
                lacks += "" if is_read else _IF_READ
                self._add(Rule.CUMULATIVE_ACQUIRE, earlier, later, scope, said, lacks, lesser)

    def _may_read(self, scope: Scope) -> bool:
        """Whether a wave may read what is old at ``scope``, having acquired from its work-group alone."""
        if not self.lifted.code.flow.function.descriptor:
            return True  # Its caller may.
        if any(each.kind is _O.OUTSIDE for each in self.lifted.operations[1:]):
            return True
        caches = self.lifted.mode.others_caches(scope)
        return any(
            required.within(Scope.WORKGROUP) & ~required.within(scope)
            for each in self.aligned.values()
            if each.code.effect.reads & caches
            for required in (
                self.obligations.before(Order.ACQUIRE, read.number) for read in each.source
            )
        )

    def _settling_lacks(self, earlier: _Aligned, later: _Aligned, scope: Scope) -> str:
        mode = self.lifted.mode
        fence = asking_fence(self.source, earlier.source[0], later.source[0], scope)
        wait = wait_for_loads(mode.chip, in_lds=False)
        lines = [
            each.line
            for each in between(self.lifted.code, earlier.code, later.code)
            if each.effect.invalidates & mode.others_caches(scope)
        ]
        where = f" of line {lines[-1]}" if lines else ""
        return f"{wait} after the invalidate{where} is missing{fence}"

    def _coherence(self, aligned: _Aligned) -> None:
        """Whether an atomic access is one at its scope."""
        code = aligned.code
        if not code.in_memory:
            return
        narrowest = min(aligned.wanted, key=lambda scope: scope.rank)
        if narrowest.rank < Scope.WORKGROUP.rank or code.scope.includes(narrowest):
            return
        said = f"is coherent at {code.scope} only, not at {narrowest}"
        lacks = f"the bits of a scope of {narrowest} are missing"
        self._add(Rule.COHERENCE, aligned, aligned, narrowest, said, lacks)

    def _add(
        self,
        rule: Rule,
        earlier: _Aligned,
        later: _Aligned,
        scope: Scope,
        said: str,
        lacks: str,
        lesser: Level | None = None,
    ) -> None:
        key = (rule, earlier.source[0].number, later.source[0].number)
        if key not in self.found:
            found = self._finding(rule, earlier, later, scope, f"{said}: {lacks}")
            self.found[key] = replace(found, lesser=lesser)

    def _finding(
        self, rule: Rule, earlier: _Aligned, later: _Aligned, scope: Scope, said: str
    ) -> SourceFinding:
        return SourceFinding(
            later.code.line,
            rule,
            self.source.name,
            f"the {earlier} {said}",
            later.source[0].line,
            earlier.source[0].line,
            later.code,
            earlier.code,
            scope,
        )

    # What would provide it

    def _release_lacks(
        self, earlier: _Aligned, later: _Aligned, scope: Scope, reach: Visibility
    ) -> str:
        operation, mode = earlier.code, self.lifted.mode
        fence = asking_fence(self.source, earlier.source[0], later.source[0], scope)
        for each in between(self.lifted.code, operation, later.code):
            back = each.effect.writes_back
            if operation.kind.writes and back is not None and back >= reach:
                at_back = self.lifted.places[each.number].flight & operation.bit
                overtakes = not mode.chip.orders_requests and at_back
                where = f"{'before' if overtakes else 'after'} the write-back of line {each.line}"
                wait = self._wait(operation) if overtakes else wait_for_stores(mode.chip)
                missing = f"{wait} {where}"
                return f"{missing} is missing{fence}"
        stores = operation.effect.stores
        if stores is not None and stores < reach:
            backs = write_backs_of(mode.chip, scope, mode.l2_per_agent, split=mode.tgsplit)
            # Where the wait is not part of the write-back, it comes after it.
            every = dict.fromkeys((*_texts(backs, mode.chip), wait_for_stores(mode.chip)))
            *texts, last = every
            return f"{', '.join(texts)} and {last} are missing{fence}"
        return f"{self._wait(operation)} is missing{fence}"

    def _acquire_lacks(self, earlier: _Aligned, later: _Aligned, scope: Scope) -> str:
        operation, mode = earlier.code, self.lifted.mode
        fence = asking_fence(self.source, earlier.source[0], later.source[0], scope)
        if later.code.kind is _O.SCALAR_LOAD:
            return (
                f"the scalar cache is not invalidated: a vector load, or s_dcache_inv, is "
                f"missing{fence}"
            )
        pending_invalidates = self.lifted.places[later.code.number].pending_invalidates
        for each in between(self.lifted.code, operation, later.code):
            if pending_invalidates >> each.number & 1:
                wait = wait_for_loads(mode.chip, in_lds=False)
                return f"{wait} after the invalidate of line {each.line} is missing{fence}"
        texts = _texts(invalidates_of(mode.chip, scope, split=mode.tgsplit), mode.chip)
        if self.lifted.places[later.code.number].flight & operation.bit:
            texts.insert(0, self._wait(operation))
            if not later.code.effect.reads & mode.caches(scope):
                texts = texts[:1]
        verb = "is" if len(texts) == 1 else "are"
        return f"{' and '.join(texts)} {verb} missing between them{fence}"

    def _wait(self, operation: Operation) -> str:
        """The wait that sees the end of ``operation``, which is in flight."""
        chip, step = self.lifted.mode.chip, operation.step
        is_signalled = (
            chip.splits_counters or chip.counts_stores or operation.kind is _O.SCALAR_LOAD
        )
        counted = step.effects.events if step is not None and is_signalled else ()
        if counted:
            counts = {str(event.counter): 0 for event in counted}
            return wait_text(chip, WaitCounts(**counts))
        return wait_for_loads(chip, operation.in_lds)


def asking_fence(
    source: SourceFunction, earlier: SourceOperation, later: SourceOperation, scope: Scope
) -> str:
    """Which fence of the source asks for an order of two operations, as a clause; "" if none does."""
    fences = [
        each
        for each in source.operations
        if each.kind is SourceKind.FENCE
        and each.scope.includes(scope)
        and earlier.number < each.number < later.number
    ]
    return f", which the {fences[-1]} of source line {fences[-1].line} asks for" if fences else ""


def atomic_scope(operation: SourceOperation, scopes: Sequence[Scope]) -> Scope:
    """The scope at which an operation has to be coherent by itself.

    Where a cluster is none of the chip's ``scopes`` it is the agent.
    """
    if not operation.is_atomic:
        return Scope.SINGLETHREAD
    is_agent = operation.scope is Scope.CLUSTER and Scope.CLUSTER not in scopes
    return Scope.AGENT if is_agent else operation.scope


def _is_untold(read: _Aligned, later: _Aligned) -> bool:
    """Whether no program without races can tell what was read before a weak access.

    Nobody has the result of an atomic that returns none. What the weak access conflicts with would
    have to happen before it whatever the atomic reads, and thus by way of something else.
    """
    step = read.code.step
    returns = step is None or bool(step.effects.defines)
    weak = all(each.is_access and not each.is_atomic for each in later.source)
    return read.code.kind is _O.ATOMIC and not returns and weak


def _texts(code: Code, chip: ChipRow) -> list[str]:
    """What a row emits, as assembly writes it."""
    return [
        wait_text(chip, each)
        if isinstance(each, WaitCounts)
        else " ".join((each.mnemonic, *each.modifiers))
        for each in code
    ]
