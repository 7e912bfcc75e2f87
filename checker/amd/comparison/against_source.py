"""The order that AMD code provides, and its lack against the one that its source requires."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from fencewright.checker.amd.accesses import Mode, Operation, mode_of, wave_size_of
from fencewright.checker.amd.comparison.accesses import accesses_of
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
from fencewright.checker.findings.finding import Level, Rule
from fencewright.checker.source.align import Alignment, CodeAccess
from fencewright.checker.source.compare import (
    Aligned,
    Check,
    Comparer,
    Comparison,
    Lack,
    compare_modules,
)
from fencewright.checker.source.cumulativity import passed_on
from fencewright.checker.source.numbered import compiled_twice
from fencewright.checker.source.obligations import Hierarchy, Obligations, Order
from fencewright.checker.source.program import SourceFunction, SourceModule
from fencewright.lowering.cdna.caches import Visibility
from fencewright.lowering.cdna.chip import Code
from fencewright.lowering.cdna.chips import ChipRow
from fencewright.lowering.cdna.code.counterexample_peer import invalidates_of, write_backs_of
from fencewright.lowering.cdna.code.flow import Flow, flow_of
from fencewright.lowering.cdna.code.text import Assembly, AssemblyInstruction, Function
from fencewright.lowering.cdna.counters.waits import wait_text
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.vocabulary import L2PerAgent, Scope

_IF_EARLY = ", should a cache of the work-group report stores done (which LLVM takes it not to do)"
"""The reading of the manual by which alone something is missing (``Mode.required``)."""
_IF_READ = ", should other code of the work-group read what is old (this kernel does not)"

_Aligned = Aligned[Operation]


class AmdComparer(Comparer[Operation]):
    """One function of AMD code beside its source. ``lifted``: once it is analysed."""

    WIDTH = 64
    REFERS_TO_ITSELF = True
    lifted: LiftedFunction

    def __init__(self, source: SourceFunction, flow: Flow, mode: Mode):
        hierarchy = Hierarchy(mode.scopes, wave_size_of(flow.function, mode.chip))
        super().__init__(source, hierarchy, flow.graph)
        self.flow = flow
        self.mode = mode
        self.scopes = mode.scopes

    def required(self) -> Obligations:
        """The pairs that the source requires, with those of cumulativity."""
        passed = passed_on(self.source, self.hierarchy)
        return Obligations({**super().required().required, **passed})

    def unfit(self) -> str:
        """Another chip than the source's, or an instruction that is not known."""
        chip, cpu = self.mode.chip.name, self.source.cpu
        if cpu and cpu != chip:
            return f"its source is for {cpu}, the code for {chip}"
        for block in self.flow.blocks:
            for step in block.steps:
                if step.effects.kind is Kind.OPAQUE:
                    return f"'{step.instruction.mnemonic}' is not known"
        return ""

    def accesses(self) -> Iterator[CodeAccess]:
        """The accesses to memory that others may access, and the barriers."""
        return accesses_of(self.flow)

    def analyse(self, alignment: Alignment) -> Iterator[tuple[Operation, int, bool]]:
        """The operations that control may come to, by their lines."""
        data = frozenset(
            id(step)
            for block in self.flow.blocks
            for step in block.steps
            if step.instruction.line in alignment.candidates
        )
        code = code_of(self.flow, self.mode, data)
        self.lifted = guarantees_of(code, solve(code))
        for each in self.lifted.operations[1:]:
            if each.number in self.lifted.places:
                yield each, each.line, each.is_vector_load

    def scope_of(self, scope: Scope) -> Scope:
        """A scope as the chip can provide it: without maintenance of the L2, the agent's is all."""
        most = Scope.SYSTEM if self.mode.chip.l2_maintenance else Scope.AGENT
        return scope.clamp(most)

    def atomic_scope(self, scope: Scope) -> Scope:
        """The agent, where a cluster is none of the chip's scopes."""
        is_agent = scope is Scope.CLUSTER and Scope.CLUSTER not in self.scopes
        return Scope.AGENT if is_agent else scope

    # Pairs that are not ordered

    def checks(self, later: _Aligned) -> Iterator[Check[Operation]]:
        """Before a write those pending, in flight or seen by one wave; before a read the stale."""
        code, operation = self.lifted.code, later.code
        place = self.lifted.places[operation.number]
        pending = self._at_any(
            lambda scope: self.lifted.pending_bits(operation, scope, hardest=True)
        )
        if operation.writes or operation.kind is Kind.BARRIER:
            yield Order.RELEASE, Rule.RELEASE, self._those(pending), self._pending
            # The reads, whatever has become of the writes.
            in_flight = self._observed(pending & place.flight, later)
            yield Order.ACQUIRE, Rule.ACQUIRE, in_flight, self._pending
            settling = self._at_any(lambda scope: pending_peer_invalidates(code, place, scope))
            settled = self._those(settling & ~place.flight)
            yield Order.PASSED_ON, Rule.CUMULATIVE_ACQUIRE, settled, self._settling
        if operation.reads:
            yield Order.SEQ_CST, Rule.SEQ_CST, self._those(pending), self._pending
            stale = self._at_any(lambda scope: stale_bits(code, place, operation, scope))
            is_scalar = operation.is_scalar_load
            rule = Rule.SCALAR_STALE if is_scalar else Rule.ACQUIRE
            read = self._observed(stale & (1 << code.others) - 1, later)
            yield Order.ACQUIRE, rule, read, self._stale

    def _at_any(self, bits_at: Callable[[Scope], int]) -> int:
        """The union of sets over the chip's scopes."""
        bits = 0
        for scope in self.scopes:
            bits |= bits_at(scope)
        return bits

    def _those(self, bits: int) -> Iterator[_Aligned]:
        """The aligned operations of a set."""
        for operation in self.lifted.code.those(bits):
            if operation.number in self.aligned:
                yield self.aligned[operation.number]

    def _observed(self, bits: int, later: _Aligned) -> Iterator[_Aligned]:
        """Those of a set whose result a program without races can tell before ``later``."""
        return (each for each in self._those(bits) if not _is_unobserved(each, later))

    def _may_hold(
        self, earlier: _Aligned, later: _Aligned, bits_at: Callable[[Place], int]
    ) -> bool:
        """True if ``earlier`` is in a set at ``later``, on a path that can be taken."""

        def holds(at: Place) -> bool:
            return bool(bits_at(at) & earlier.code.bit)

        if not holds(self.lifted.places[later.code.number]):
            return False
        return can_hold(self.lifted.code, earlier.code, later.code, holds)

    def _pending(self, earlier: _Aligned, later: _Aligned, scope: Scope) -> Lack | None:
        """The lack in the completion of ``earlier`` before ``later`` issues; None if complete."""
        code, mode = self.lifted.code, self.mode
        in_flight = self.lifted.places[later.code.number].flight & earlier.code.bit
        if not in_flight and self._is_seen(earlier, scope):
            return None
        is_hard = not self.lifted.is_pending(earlier.code, later.code, scope)

        def pending(at: Place) -> int:
            return pending_bits(code, at, later.code, scope, hardest=is_hard)

        if not self._may_hold(earlier, later, pending):
            return None
        said = f"may not be complete at {scope} when the {later} issues"
        if is_hard:
            lacks = self._release_lacks(earlier.code, later.code, scope, mode.reach(scope))
            return Lack(f"{said}{_IF_EARLY}: {lacks}", Level.NOTE)
        lacks = self._release_lacks(earlier.code, later.code, scope, mode.required(scope))
        return Lack(f"{said}: {lacks}")

    def _is_seen(self, aligned: _Aligned, scope: Scope) -> bool:
        """True if all of ``scope`` see the writes of an operation once it has completed.

        Of an atomic of that scope they do, where memory is of a kind that lets them: on chips
        without scope bits nothing in the code says so.
        """
        is_required = all(self.source_scope(each).includes(scope) for each in aligned.source)
        return is_required and aligned.code.scope.includes(scope)

    def _stale(self, earlier: _Aligned, later: _Aligned, scope: Scope) -> Lack | None:
        """The lack of an invalidate against reads by ``later`` older than those of ``earlier``."""
        code = self.lifted.code
        if not self._may_hold(earlier, later, lambda at: stale_bits(code, at, later.code, scope)):
            return None
        lacks = self._acquire_lacks(earlier.code, later.code, scope)
        return Lack(f"does not keep the {later} from reading stale data at {scope}: {lacks}")

    def _settling(self, earlier: _Aligned, later: _Aligned, scope: Scope) -> Lack | None:
        """The lack of a wait for the invalidate after ``earlier``, before ``later`` passes it on.

        Only where an invalidate is under way: without one it may be for the others to make. They
        run this function too: where a kernel reads nothing in such a cache after it has acquired
        from the work-group, nobody sees what is old, and it is a warning.
        """
        code = self.lifted.code
        if not self._may_hold(earlier, later, lambda at: pending_peer_invalidates(code, at, scope)):
            return None
        text = (
            f"may be passed on to the work-group by the {later} before what it acquires at {scope} "
            f"holds for others of it: {self._settling_lacks(earlier.code, later.code, scope)}"
        )
        return Lack(text) if self._may_read(scope) else Lack(text, Level.WARNING, _IF_READ)

    def _may_read(self, scope: Scope) -> bool:
        """True where a wave may read an old value at ``scope`` that its work-group acquired."""
        if not self.lifted.code.flow.function.descriptor:
            return True  # Its caller may.
        if any(each.kind is Kind.OPAQUE for each in self.lifted.operations[1:]):
            return True
        caches = self.mode.others_caches(scope)
        return any(
            required.within(Scope.WORKGROUP) & ~required.within(scope)
            for each in self.aligned.values()
            if each.code.effect.reads & caches
            for required in (
                self.obligations.before(Order.ACQUIRE, read.number) for read in each.source
            )
        )

    def incoherent(self, access: _Aligned, scope: Scope) -> Lack | None:
        """The scope bits that are too few."""
        code = access.code
        if not code.in_memory or code.scope.includes(scope):
            return None
        lacks = f"the bits of a scope of {scope} are missing"
        return Lack(f"is coherent at {code.scope} only, not at {scope}: {lacks}")

    # Instructions that would provide the order

    def _settling_lacks(self, earlier: Operation, later: Operation, scope: Scope) -> str:
        wait = wait_for_loads(self.mode.chip, in_lds=False)
        lines = [
            each.line
            for each in between(self.lifted.code, earlier, later)
            if each.effect.invalidates & self.mode.others_caches(scope)
        ]
        where = f" of line {lines[-1]}" if lines else ""
        return f"{wait} after the invalidate{where} is missing"

    def _release_lacks(
        self, operation: Operation, later: Operation, scope: Scope, reach: Visibility
    ) -> str:
        mode = self.mode
        for each in between(self.lifted.code, operation, later):
            back = each.effect.writes_back
            if operation.writes and back is not None and back >= reach:
                at_back = self.lifted.places[each.number].flight & operation.bit
                overtakes = not mode.chip.orders_requests and at_back
                where = f"{'before' if overtakes else 'after'} the write-back of line {each.line}"
                wait = self._wait(operation) if overtakes else wait_for_stores(mode.chip)
                return f"{wait} {where} is missing"
        stores = operation.effect.stores
        if stores is not None and stores < reach:
            backs = write_backs_of(mode.chip, scope, mode.l2_per_agent, split=mode.tgsplit)
            # A wait that is not part of the write-back comes after it.
            every = dict.fromkeys((*_texts(backs, mode.chip), wait_for_stores(mode.chip)))
            *texts, last = every
            return f"{', '.join(texts)} and {last} are missing"
        return f"{self._wait(operation)} is missing"

    def _acquire_lacks(self, operation: Operation, later: Operation, scope: Scope) -> str:
        mode, place = self.mode, self.lifted.places[later.number]
        if later.is_scalar_load:
            return "the scalar cache is not invalidated: a vector load, or s_dcache_inv, is missing"
        for each in between(self.lifted.code, operation, later):
            if place.pending_invalidates >> each.number & 1:
                wait = wait_for_loads(mode.chip, in_lds=False)
                return f"{wait} after the invalidate of line {each.line} is missing"
        texts = _texts(invalidates_of(mode.chip, scope, split=mode.tgsplit), mode.chip)
        if place.flight & operation.bit:
            texts.insert(0, self._wait(operation))
            if not later.effect.reads & mode.caches(scope):
                texts = texts[:1]
        verb = "is" if len(texts) == 1 else "are"
        return f"{' and '.join(texts)} {verb} missing between them"

    def _wait(self, operation: Operation) -> str:
        """The wait that sees the end of ``operation``, which is in flight."""
        chip, step = self.mode.chip, operation.step
        is_signalled = chip.splits_counters or chip.counts_stores or operation.is_scalar_load
        counted = step.effects.events if step is not None and is_signalled else ()
        if counted:
            counts = {str(event.counter): 0 for event in counted}
            return wait_text(chip, WaitCounts(**counts))
        return wait_for_loads(chip, operation.in_lds)


def _is_unobserved(read: _Aligned, later: _Aligned) -> bool:
    """True if no program without races can observe the value that was read before a weak access.

    Nobody has the result of an atomic that returns none. What the weak access conflicts with would
    have to happen before it whatever the atomic reads, and thus by way of something else.
    """
    step = read.code.step
    returns = step is None or bool(step.effects.defines)
    weak = all(each.is_access and not each.is_atomic for each in later.source)
    return read.code.kind is Kind.RMW and not returns and weak


def _texts(code: Code, chip: ChipRow) -> list[str]:
    """The assembly texts that a row emits."""
    return [
        wait_text(chip, each)
        if isinstance(each, WaitCounts)
        else " ".join((each.mnemonic, *each.modifiers))
        for each in code
    ]


def compare_assembly(
    source: SourceModule,
    assembly: Assembly,
    files: Mapping[int, str],
    apart: Mapping[str, str],
    l2_per_agent: L2PerAgent | None = None,
) -> Iterator[Comparison[AmdComparer]]:
    """Each function of either side that synchronises, as ``compare_modules``."""

    def comparer(theirs: SourceFunction, function: Function) -> AmdComparer:
        return AmdComparer(theirs, flow_of(function), mode_of(assembly, function, l2_per_agent))

    return compare_modules(source, assembly.functions, comparer, files, apart, by_order=True)


def with_lines(code: Assembly, numbered: Assembly) -> tuple[Assembly, dict[str, str]]:
    """``code`` with the ``.loc`` of a numbered copy; the functions that differ, and why."""
    functions, problems = compiled_twice(code.functions, numbered.functions, _with_lines)
    return replace(code, functions=functions), problems


def _with_lines(function: Function, copy: Function) -> Function:
    lines = iter(copy.instructions)
    body = tuple(
        replace(each, source=next(lines).source) if isinstance(each, AssemblyInstruction) else each
        for each in function.body
    )
    return replace(function, body=body)
