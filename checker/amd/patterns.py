"""Patterns that are wrong, or most likely are, whatever the source asked for.

Each is of code that a memory model gives a meaning to: a barrier, an access that may be an atomic
of the agent or the system, a wait that nothing but synchronisation needs. Without the source a
warning says that what is there cannot have been meant, a note that it may have been.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fencewright.checker.amd.accesses import Operation
from fencewright.checker.amd.barriers import Barriers, is_numbered
from fencewright.checker.amd.guarantees import LiftedFunction, lines, propagated
from fencewright.checker.amd.spins import (
    Spin,
    is_flag_alone,
    lasting_address,
    scalar_address,
    spins_of,
)
from fencewright.checker.amd.state import State, wait_for_stores, walk
from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.lowering.cdna.caches import Caches, Visibility
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import FLOAT_KINDS, Scope


def find_patterns(
    lifted: LiftedFunction, entries: Mapping[int, State], barriers: Barriers | None = None
) -> list[Finding]:
    """The findings in one function, by line; ``entries``: what ``solve`` finds of its code.

    ``barriers``: what is done between its barriers, if that is known already.
    """
    known = Barriers(lifted.code, lifted.places) if barriers is None else barriers
    return sorted(_Patterns(lifted, entries, known).findings())


class _Patterns:
    def __init__(self, lifted: LiftedFunction, entries: Mapping[int, State], barriers: Barriers):
        self.lifted = lifted
        self.barriers = barriers
        self.code = code = lifted.code
        self.entries = entries
        self.stored = wait_for_stores(code.mode.chip)
        self.spins = spins_of(code)
        self.propagated = propagated(code, lifted.places)
        self.flags = 0
        for each in (code.operations[number] for spin in self.spins for number in spin.reads):
            self.flags |= each.bit if each.in_lds else 0
        stores = [each for each in code.operations if each.is_vector_store and each.in_memory]
        self.tells_stores = any(not each.scope.includes(Scope.AGENT) for each in stores)
        self.unwaited = barriers.unwaited()
        agent = code.coherent[code.mode.scopes.index(Scope.AGENT)]
        calls = any(each.kind is Kind.OPAQUE for each in code.operations[1:])
        self.learns = bool(agent) or calls or code.flow.is_called
        self.found: dict[tuple[Rule, int, int], Finding] = {}
        self.begun: dict[int, list[tuple[int, str]]] = {}
        self._block = -1
        self._syncs = False

    def findings(self) -> Iterable[Finding]:
        """All findings, one for each rule, operation and what is pending for it."""
        for block, step, operation, state in walk(self.code, self.entries):
            if block != self._block:
                self._block, self._syncs = block, False
            if step.effects.kind is Kind.WAIT:
                self._syncs = self._is_release_wait(state, step.instruction.line) or self._syncs
            elif operation is not None:
                self._at(operation, state)
                self._syncs = False
        for spin in self.spins:
            self._spin(spin)
            self._unordered(spin)
        self._join_cumulative()
        return self.found.values()

    def _is_release_wait(self, state: State, line: int) -> bool:
        """Whether a wait is for stores alone: nothing but synchronisation needs their end."""
        counts = self.code.waits[line]
        if counts.get("vmcnt") != 0 and counts.get("storecnt") != 0:
            return False
        flight = state.flight & self.code.in_memory
        return bool(flight & self.code.writes) and not flight & self.code.reads

    def _at(self, operation: Operation, state: State) -> None:
        if operation.kind is Kind.BARRIER:
            self._barrier(operation, state)
        elif operation.is_scalar_load:
            self._scalar_load(operation, state)
        elif operation.writes and self._publishes(operation):
            self._unwaited(operation, state)
            self._unwaited_elsewhere(operation, state)
            self._cumulative(operation, state)

    def _publishes(self, operation: Operation) -> bool:
        """Whether a write may be how other work-groups learn of this one's past.

        Where the bits do not say it, an atomic is, and a store that a wait for stores precedes. One
        in floating point whose result nobody takes adds up numbers: nobody learns anything by it.
        """
        if operation.space is None or operation.in_lds or operation.kind is Kind.COPY:
            return False
        if not operation.scope.includes(Scope.AGENT):
            return False
        effects = operation.step.effects if operation.step else None
        if effects is not None and effects.rmw in FLOAT_KINDS and not effects.defines:
            return False
        by_bits = self.code.mode.chip.scope_bits or operation.kind is Kind.RMW
        return by_bits or self._syncs

    # The patterns

    def _barrier(self, barrier: Operation, state: State) -> None:
        code = self.code
        own = (1 << code.others) - 1
        self.begun[barrier.number] = [
            (number, state.needed([number]))
            for number, covers in state.covered.items()
            if covers[Visibility.AGENT] & own
        ]
        after = code.those(self.barriers.met(barrier))
        is_read = any(each.in_lds and each.reads for each in after)
        # Who waits at a barrier with a number may run another function.
        unseen = is_numbered(barrier) or any(each.kind in _UNSEEN for each in after)
        is_written = any((each.in_lds and each.writes) or each.kind is Kind.COPY for each in after)
        lds = state.flight & code.in_lds
        writes = code.those(lds & code.writes)
        said, level = "write{s} of {lines} to LDS", None if is_read or unseen else Level.NOTE
        self._in_flight(barrier, state, Rule.LDS_BARRIER, said, writes, level=level)
        reads = code.those(lds & code.reads & ~code.writes)
        said, harm = "read{s} of {lines} from LDS", " if they overwrite it"
        level = None if is_written else Level.NOTE
        self._in_flight(barrier, state, Rule.LDS_BARRIER, said, reads, harm, level)
        loads = [each for each in code.those(state.flight) if each.kind is Kind.COPY]
        said, harm = (
            "load{s} of {lines} to LDS",
            " if they read what it writes before the next barrier",
        )
        signalled = [each for each in loads if is_read and self.unwaited & each.bit]
        self._in_flight(barrier, state, Rule.LDS_DMA_BARRIER, said, signalled, harm)
        rest = [each for each in loads if each not in signalled]
        self._in_flight(barrier, state, Rule.LDS_DMA_BARRIER, said, rest, harm, Level.NOTE)

    def _in_flight(
        self,
        barrier: Operation,
        state: State,
        rule: Rule,
        said: str,
        pending: Sequence[Operation],
        harm: str = "",
        level: Level | None = None,
    ) -> None:
        """One finding of a barrier, of all accesses of a kind that are ``pending`` there."""
        if not pending:
            return
        first, *more = pending
        what = said.format(s="s" if more else "", lines=lines(pending))
        text = (
            f"s_barrier lets other waves go on while the {what} {'are' if more else 'is'} in "
            f"flight: {state.needed(each.number for each in pending)} is missing{harm}"
        )
        self._add(rule, barrier, first, text, level, also=[each.line for each in more])

    def _scalar_load(self, load: Operation, state: State) -> None:
        if not self.learns:
            return  # No wave has acquired from another work-group: there is nothing new to read.
        wanted = self.code.mode.caches(Scope.AGENT)
        invalidates = [
            each
            for each in self.code.those(state.stale[-1] & ~(-1 << self.code.others))
            if each.is_invalidate and not wanted & ~each.effect.invalidates & ~Caches.SYSTEM
        ]
        if not invalidates:
            return
        first = invalidates[0]
        text = (
            f"data are read through the scalar cache, which the invalidate of line {first.line} "
            "leaves as it is: a vector load, or s_dcache_inv before this one, is missing"
        )
        self._add(Rule.SCALAR_STALE, load, first, text, Level.WARNING)

    def _unwaited(self, operation: Operation, state: State) -> None:
        own = (1 << self.code.others) - 1
        for number, covers in state.covered.items():
            back = self.code.operations[number]
            stores = self.code.those((covers[Visibility.AGENT] | covers[Visibility.SYSTEM]) & own)
            places = self.code.those(self._surely_handed(covers))
            wait = f"{state.needed([number])} is missing"
            if stores:
                covered = f"covers what {lines(stores)} stored: {wait}"
            elif places:
                covered = f"covers what other waves stored before {lines(places)}: {wait}"
            else:
                covered = (
                    f"covers nothing of this wave: it is surplus, or others rely on it and {wait}"
                )
            text = (
                f"this may be seen before the write-back of line {back.line} is complete, which "
                f"{covered}"
            )
            level = None if stores or places else Level.NOTE
            self._add(Rule.WRITE_BACK_UNWAITED, operation, back, text, level, once=True)

    def _unwaited_elsewhere(self, operation: Operation, state: State) -> None:
        """Write-backs of other waves, which may be under way since they reached a barrier."""
        for barrier in self.code.those(state.dirty[Visibility.AGENT] >> self.code.others):
            for number, wait in self.begun.get(barrier.number, ()):
                back = self.code.operations[number]
                text = (
                    f"s_barrier lets another wave go on before the write-back of line {back.line} "
                    f"is complete, and what that wave stores at line {operation.line} may be seen: "
                    f"{wait} is missing before the barrier"
                )
                self._add(Rule.WRITE_BACK_UNWAITED, barrier, back, text, once=True)

    def _surely_handed(self, covers: Sequence[int]) -> int:
        """The barriers and waits for flags at which others propagate what a write-back covers."""
        places = 0
        for reach, bits in enumerate(covers):
            sure = self.propagated.at[reach]
            if self.propagated.in_lds[reach]:
                sure |= self.flags
            places |= bits >> self.code.others & sure
        return places

    def _cumulative(self, operation: Operation, state: State) -> None:
        if operation.is_vector_store and not (self.tells_stores or self._syncs):
            # Where every store goes through, its bits do not say that it publishes.
            return
        for barrier in self.code.those(state.unflushed_since_barrier):
            stores = self.code.those(self.propagated.stores_at_barrier[barrier.number])
            text = (
                f"other waves may reach the barrier of line {barrier.line} with {lines(stores)} in "
                f"flight, for which this wave cannot wait: {self.stored} is missing before the "
                "barrier if this publishes what they stored"
            )
            # Stores that stay in an L2 of many are not published without a write-back.
            arrive = any((each.effect.stores or 0) >= Visibility.AGENT for each in stores)
            level = None if arrive else Level.NOTE
            self._add(Rule.CUMULATIVE, operation, barrier, text, level, once=True)

    def _join_cumulative(self) -> None:
        """One finding of the function, that of the highest level and the first line."""
        found = {key: each for key, each in self.found.items() if each.rule is Rule.CUMULATIVE}
        if len(found) < 2:
            return
        first = min(found.values(), key=_order)
        for key in found:
            del self.found[key]
        text = f"{first.message}, and likewise at {len(found) - 1} more"
        self.found[first.rule, 0, 0] = replace(first, message=text)

    def _spin(self, spin: Spin) -> None:
        inside = [each for number in spin.blocks for _, each in self.code.counted[number]]
        if any(each is not None and each.effect.invalidates & Caches.L1 for each in inside):
            return
        for read in (self.code.operations[number] for number in spin.reads):
            if not read.effect.reads & Caches.L1:
                continue
            text = (
                "the loop waits by a load that the L1 may serve, and nothing in it invalidates the "
                "L1: it may never see what another work-group stores"
            )
            # Within a work-group this form is right; with scope bits it would have them.
            plain = self.code.mode.chip.scope_bits and not read.has_scope_bits
            self._add(Rule.SPIN, read, read, text, Level.WARNING if plain else Level.NOTE)

    def _unordered(self, spin: Spin) -> None:
        """A loop that waits for a flag alone, and what the flag does not order."""
        inside = {
            each.number for number in spin.blocks for _, each in self.code.counted[number] if each
        }
        for read in (self.code.operations[number] for number in spin.reads):
            if read.in_lds or not read.scope.includes(Scope.AGENT) or read.step is None:
                continue
            if self.code.mode.chip.scope_bits and is_flag_alone(self.code, spin, read.step):
                self._unordered_wait(read, inside)
            self._unordered_signals(read, inside)

    def _flag_scope(self, operation: Operation) -> Scope:
        """The scope that a flag is for: its own, where its bits say one."""
        return operation.scope if self.code.mode.chip.scope_bits else Scope.AGENT

    def _unordered_wait(self, read: Operation, inside: set[int]) -> None:
        for load in self.code.operations:
            if not load.is_vector_load or not load.in_memory or load.number in inside:
                continue
            scope = self._flag_scope(read)
            if self.lifted.may_be_older(load, read, scope):
                wait = f"an invalidate for the {scope}, waited for after this,"
                text = (
                    f"nothing makes what line {load.line} reads newer than what this waited for: "
                    f"{wait} is missing"
                )
                self._add(Rule.UNORDERED_WAIT, read, load, text, Level.WARNING)
                return

    def _unordered_signals(self, read: Operation, inside: set[int]) -> None:
        assert read.step is not None
        flag = lasting_address(self.code, read.step)
        for write in self.code.operations if flag else ():
            if write.number in inside or write.number not in self.lifted.places:
                continue
            is_write = write.writes and write.in_memory
            if not is_write or write.step is None or scalar_address(write.step) != flag:
                continue
            if not write.scope.includes(Scope.AGENT):
                continue
            scope = self._flag_scope(write)
            pending = [
                each
                for each in self.lifted.pending(write, scope)
                if each.is_vector_store and each.in_memory and each is not write
            ]
            if pending:
                text = (
                    f"this may be seen before what {lines(pending)} stored is there for the "
                    f"{scope}: a write-back, or a wait for it, is missing before"
                )
                self._add(Rule.UNORDERED_SIGNAL, write, pending[0], text, Level.WARNING)

    def _add(
        self,
        rule: Rule,
        operation: Operation,
        pending: Operation,
        text: str,
        level: Level | None = None,
        *,
        once: bool = False,
        also: Sequence[int] = (),
    ) -> None:
        """One finding for an operation and what is pending; ``once``: for what is pending alone.

        ``also``: the lines of what else is pending.
        """
        key = (rule, 0 if once else operation.number, pending.number)
        about = () if pending is operation else (pending.line, *also)
        made = Finding(operation.line, rule, text, level, about)
        known = self.found.get(key)
        if known is None or _order(made) < _order(known):
            self.found[key] = made


_UNSEEN = frozenset({Kind.OPAQUE, Kind.END})


def _order(finding: Finding) -> tuple[int, int]:
    return tuple(Level).index(finding.level), finding.line
