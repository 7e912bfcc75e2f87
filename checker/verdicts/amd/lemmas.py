"""Lemmas of AMD code: whether waits and cache operations hand an access over, by the CDNA machine.

Between an access and the instruction that signals, and between the load that sees the signal and
the other access, code waits, writes back and invalidates. What of that is done on every path is a
fact of the dataflow over counters and caches (``checker.amd``). A lemma is the kernel's own
instructions, the two accesses, the signal and the load that sees it, with these pieces between them
as a litmus test of two to four waves on different CUs; every outcome that the machine allows is
looked at. Source: docs/cdna-machine.md; LLVM AMDGPUUsage, "Memory Model".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from fencewright.checker.amd.accesses import LEVELS, Operation
from fencewright.checker.amd.guarantees import LiftedFunction
from fencewright.checker.findings.finding import Rule
from fencewright.checker.verdicts.intervals import full_barriers
from fencewright.checker.verdicts.model import Access, Kernel, Region, ThreadPair
from fencewright.checker.verdicts.order.guards import Guard
from fencewright.checker.verdicts.order.lemmas import VendorLemma
from fencewright.lowering.cdna.caches import Visibility
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import L2PerAgent, Scope

if TYPE_CHECKING:
    from fencewright.simulator.cdna.rows import CdnaConfiguration


@dataclass(frozen=True, slots=True)
class Form:
    """An access as the machine has it: ``kind``, its way to memory, its policy bits."""

    kind: Kind
    in_lds: bool = False
    is_scalar: bool = False
    compares: bool = False
    bits: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """True of stores and atomics."""
        return self.kind is not Kind.LOAD


@dataclass(frozen=True, slots=True)
class Pieces:
    """The waits and cache operations on the way: ``waits`` for the access, ``caches`` after it.

    ``is_met``: a barrier of the work-group stands between the access and a wave that signals for
    it, or sees for it; ``caches`` are then those of that wave, ``own`` those of the access's.
    ``begun``: a write-back that is issued and not waited for, which does nothing.
    """

    waits: bool = True
    caches: tuple[str, ...] = ()
    is_met: bool = False
    own: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CdnaLemma(VendorLemma):
    """A pattern that is to order ``earlier`` before ``later``.

    ``signal``, ``seen``: the accesses of the flag; None of both: a barrier of the work-group alone.
    ``is_one_group``, ``is_one_agent``: where the waves are, of which the flag is told.
    """

    chip: str
    tgsplit: bool
    l2_per_agent: L2PerAgent | None
    is_one_group: bool
    is_one_agent: bool
    earlier: Form
    release: Pieces
    signal: Form | None
    seen: Form | None
    acquire: Pieces
    later: Form

    @property
    def configuration(self) -> "CdnaConfiguration":
        """The machine of the chip in its mode."""
        return _configuration(self.chip, self.tgsplit, self.l2_per_agent)

    def holds(self) -> bool:
        """True where the machine allows no outcome in which the order fails."""
        return _violation(self) is None

    def by_execution(self) -> bool:
        """False: the machine knows the order that execution enforces."""
        return False

    def reason(self) -> str:
        """The piece that is missing, and the machine's counterexample."""
        found = _violation(self)
        assert found is not None
        missing = next((text for text, _, other in _remedies(self) if other.holds()), "no order")
        return f"{missing}: the CDNA machine allows {found[1]} of [{found[0]}]"

    @property
    def finding(self) -> Rule:
        """The rule that the missing piece is a finding of."""
        return next(
            (rule for _, rule, other in _remedies(self) if other.holds()), Rule.UNORDERED_SIGNAL
        )


def _configuration(
    chip: str, tgsplit: bool, l2_per_agent: L2PerAgent | None
) -> "CdnaConfiguration":
    # Here, for most functions have no lemma, and the machine is large.
    from fencewright.simulator.cdna.rows import CdnaConfiguration

    return CdnaConfiguration(chip, tgsplit, l2_per_agent)


def _violation(lemma: CdnaLemma) -> tuple[str, str] | None:
    from fencewright.checker.verdicts.amd.litmus import violation

    return violation(lemma)


def _remedies(lemma: CdnaLemma) -> Iterator[tuple[str, Rule, CdnaLemma]]:
    """The pieces that may be missing, each with its rule and the lemma that has it.

    A scalar load is a vector load in each: others follow where that is not all that is missing.
    """
    release, acquire = lemma.release, lemma.acquire
    is_barrier = lemma.signal is None
    signal = Rule.MISSING_BARRIER if is_barrier else Rule.UNORDERED_SIGNAL
    place = "barrier" if is_barrier else "signal"
    if lemma.later.is_scalar:
        lemma = replace(lemma, later=replace(lemma.later, is_scalar=False))
        yield (
            f"nothing empties the scalar cache after the {place} is seen",
            Rule.SCALAR_STALE,
            lemma,
        )
    waited = replace(lemma, release=replace(release, waits=True))
    yield f"the access is not waited for before the {place}", signal, waited
    ended = replace(release, waits=True, caches=release.begun)
    yield (
        f"the write-back is not waited for before the {place}",
        Rule.WRITE_BACK_UNWAITED,
        replace(lemma, release=ended),
    )
    every = cache_operations(lemma.configuration)
    rule = Rule.CUMULATIVE if release.is_met else signal
    flushed = replace(release, waits=True, caches=every[0])
    yield f"nothing writes back before the {place}", rule, replace(lemma, release=flushed)
    fresh = replace(acquire, waits=True, caches=every[1])
    yield (
        f"nothing invalidates after the {place} is seen",
        Rule.UNORDERED_WAIT,
        replace(lemma, acquire=fresh),
    )
    yield (
        f"nothing waits or writes back before the {place}, and nothing invalidates after it",
        signal,
        replace(lemma, release=flushed, acquire=fresh),
    )
    wide = widest(lemma.configuration)
    if lemma.signal is not None and lemma.seen is not None:
        own = replace(
            lemma,
            signal=replace(lemma.signal, bits=_with(lemma.signal, wide)),
            seen=replace(lemma.seen, bits=_with(lemma.seen, wide)),
        )
        yield "the scope of the flag is too narrow", Rule.SPIN, own
        yield (
            "the scope of the flag is too narrow, and nothing writes back or invalidates",
            Rule.SPIN,
            replace(own, release=flushed, acquire=fresh),
        )


def _with(form: Form, bits: tuple[str, ...]) -> tuple[str, ...]:
    """The bits of a form with others, each of which has one value: ``scope:`` its scope."""
    if form.in_lds:
        return form.bits
    named = {each.partition(":")[0] for each in bits}
    return (*bits, *(each for each in form.bits if each.partition(":")[0] not in named))


@cache
def cache_operations(configuration: "CdnaConfiguration") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The widest write-back and invalidates of a chip, as assembly has them."""
    row = configuration.row
    if row.splits_counters:
        return ("global_wb scope:SCOPE_SYS",), ("global_inv scope:SCOPE_SYS",)
    if row.counts_stores:
        return (), ("buffer_gl0_inv", "buffer_gl1_inv")
    if row.scope_bits:
        return ("buffer_wbl2 sc0 sc1",), ("buffer_inv sc0 sc1",)
    if row.l2_maintenance:
        return ("buffer_wbl2",), ("buffer_invl2", "buffer_wbinvl1_vol")
    return (), ("buffer_wbinvl1_vol",)


def widest(configuration: "CdnaConfiguration") -> tuple[str, ...]:
    row = configuration.row
    if row.splits_counters:
        return ("scope:SCOPE_SYS",)
    return ("sc0", "sc1") if row.scope_bits else ("glc",)


# The facts of a kernel


class Handing:
    """Makes the lemmas of one function. ``operations``: by the numbers of instructions."""

    def __init__(self, lifted: LiftedFunction, operations: Mapping[int, Operation]):
        self.lifted = lifted
        self.operations = operations
        self.mode = lifted.mode

    @property
    def configuration(self) -> "CdnaConfiguration":
        """The machine of the function's chip in its mode."""
        return _configuration(self.mode.target, self.mode.tgsplit, self.mode.l2_per_agent)

    def __call__(
        self,
        kernel: Kernel,
        released: tuple[Access, Access],
        acquired: tuple[Access, Access],
        pair: ThreadPair,
        guard: Guard,
        *,
        met: bool,
    ) -> CdnaLemma:
        """The lemma of an access before a flag's write, and the flag's read before an access."""
        (earlier, write), (read, later) = released, acquired
        return CdnaLemma(
            self.mode.target,
            self.mode.tgsplit,
            self.mode.l2_per_agent,
            Scope.WORKGROUP.includes(pair.relation.scope),
            True,
            self.form(earlier, later),
            self._release(kernel, earlier, write.instruction, met=met),
            self.form(write, read),
            self.form(read, write),
            self._acquire(kernel, read, guard, later),
            self.form(later, earlier),
        )

    def met_at_barrier(self, kernel: Kernel, earlier: Access, later: Access) -> CdnaLemma | None:
        """The lemma of two accesses of a work-group with a barrier between; None: never in this
        order."""
        barriers = sorted(full_barriers(kernel, Scope.WORKGROUP))
        before = [each for each in barriers if kernel.may_reach(earlier.instruction, each)]
        after = [each for each in barriers if kernel.may_reach(each, later.instruction)]
        if not set(before) & set(after):
            return None
        lemma = CdnaLemma(
            self.mode.target,
            self.mode.tgsplit,
            self.mode.l2_per_agent,
            True,
            True,
            self.form(earlier, later),
            # That a barrier separates what a queue counts says that it has been waited for.
            Pieces(earlier.queue != "" or all(self._is_done(earlier, each) for each in before)),
            None,
            None,
            Pieces(caches=self.invalidated(after, later.instruction)),
            self.form(later, earlier),
        )
        if lemma.holds():
            return lemma
        # One on every way, before which the access is done, is enough: others come after it.
        ways = earlier.instruction, later.instruction
        every = [
            each
            for each in after
            if self._is_done(earlier, each) and kernel.all_paths_pass(*ways, each.__eq__)
        ]
        found = {self.invalidated((each,), later.instruction) for each in every}
        others = (replace(lemma, acquire=Pieces(caches=caches)) for caches in sorted(found))
        return next((each for each in others if each.holds()), lemma)

    def form(self, access: Access, *same: Access) -> Form:
        """An access as the machine has it; of those that share its place, one may name LDS."""
        from fencewright.checker.verdicts.amd.litmus import POLICY

        operation = self.operations.get(access.instruction)
        in_lds = any(each.place.root.region is Region.SHARED for each in (access, *same))
        kind = Kind.LOAD if not access.writes else Kind.RMW if access.reads else Kind.STORE
        words: tuple[str, ...] = ()
        # Data that a lock hands on have its instruction, and not its bits.
        if operation is not None and operation.step is not None and operation.kind is kind:
            words = () if in_lds else operation.step.instruction.modifiers
        return Form(
            kind,
            in_lds,
            operation is None or operation.is_scalar,
            access.update == "cas",
            tuple(sorted(word for word in words if word in POLICY)),
        )

    def _release(self, kernel: Kernel, earlier: Access, signal: int, *, met: bool) -> Pieces:
        if not met:
            return self.released(earlier, signal)
        barriers = [
            each
            for each in sorted(full_barriers(kernel, Scope.WORKGROUP))
            if kernel.may_reach(earlier.instruction, each) and kernel.may_reach(each, signal)
        ]
        own = {self._written_back((earlier.instruction,), each, others=False) for each in barriers}
        return Pieces(
            all(self._is_done(earlier, each) for each in barriers),
            self._written_back(barriers, signal, others=True),
            True,
            own.pop() if len(own) == 1 else (),
            self._begun(barriers, signal, others=True),
        )

    def released(self, earlier: Access, signal: int) -> Pieces:
        """The pieces between an access and a signal of its own wave."""
        start = (earlier.instruction,)
        return Pieces(
            self._is_done(earlier, signal),
            self._written_back(start, signal, others=False),
            begun=self._begun(start, signal, others=False),
        )

    def _acquire(self, kernel: Kernel, read: Access, guard: Guard, later: Access) -> Pieces:
        caches = self.invalidated((read.instruction,), guard.end)
        if not guard.is_met:
            return Pieces(True, caches)
        own = self.invalidated((guard.end,), later.instruction)
        return Pieces(True, caches, True, own)

    def _is_done(self, access: Access, at: int) -> bool:
        """True where an access is done when an instruction issues, on every path."""
        own, other = self.operations.get(access.instruction), self.operations.get(at)
        place = None if other is None else self.lifted.places.get(other.number)
        return own is not None and place is not None and not place.flight & own.bit

    def _written_back(self, starts: Sequence[int], end: int, *, others: bool) -> tuple[str, ...]:
        """The write-back that is done between instructions and another one, on every path.

        ``others``: for the operations of other waves before they came to the starts, which are
        barriers.
        """
        place = self._place(end)
        bits = self._bits(starts)
        if place is None or bits is None:
            return ()
        bits = bits << self.lifted.code.others if others else bits
        found: list[tuple[Visibility, str]] = []
        for each in self.lifted.operations:
            reach = each.effect.writes_back
            if reach is None or not each.is_write_back:
                continue
            done = not any(place.undone[level] & bits for level in range(reach + 1))
            if done and not place.flight & bits:
                found.append((reach, each.text))
        return (max(found)[1],) if found else ()

    def _begun(self, starts: Sequence[int], end: int, *, others: bool) -> tuple[str, ...]:
        """The write-back in flight at an instruction that covers what was done before."""
        place, bits = self._place(end), self._bits(starts)
        if place is None or bits is None:
            return ()
        bits = bits << self.lifted.code.others if others else bits
        found = [
            self.lifted.operations[number].text
            for number, covers in place.covered.items()
            if any(each & bits for each in covers)
        ]
        return tuple(found[:1])

    def invalidated(self, starts: Sequence[int], end: int) -> tuple[str, ...]:
        """The invalidates that are done between instructions and another one, on every path."""
        place = self._place(end)
        bits = self._bits(starts)
        if place is None or bits is None or place.flight & bits:
            return ()
        found: dict[str, None] = {}
        for each in self.lifted.operations:
            if not each.is_invalidate:
                continue
            fresh = [
                not stale & bits
                for level, stale in zip(LEVELS, place.stale, strict=True)
                if level & each.effect.invalidates or (each.is_scalar and level == LEVELS[-1])
            ]
            if fresh and all(fresh):
                found.setdefault(each.text)
        return tuple(found)

    def _place(self, number: int):
        operation = self.operations.get(number)
        return None if operation is None else self.lifted.places.get(operation.number)

    def _bits(self, numbers: Sequence[int]) -> int | None:
        """The set of some instructions' operations; None where one is none."""
        bits = 0
        for number in numbers:
            operation = self.operations.get(number)
            if operation is None:
                return None
            bits |= operation.bit
        return bits
