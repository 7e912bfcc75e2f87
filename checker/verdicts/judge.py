"""Verdicts of kernels: every conflict of two symbolic threads is ordered, a race, or not judged.

A conflict is two accesses of one object, one of which writes, not both morally strong, that some
launch lets two threads execute on a byte in common. Arithmetic excludes most; z3 decides the rest.
Source: PTX ISA, "Conflict and data-races"; "Morally strong operations".
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, islice, product
from math import prod
from operator import attrgetter

from fencewright.checker.findings.finding import DIVERGENT_BARRIER, Rule, VerdictKind
from fencewright.checker.verdicts.arithmetic import (
    EVERY_BIT,
    alike_threads,
    are_apart,
    are_rows_apart,
    arms,
    block_meant,
    block_of_rounds,
    in_rows,
    is_alike,
    span_of,
    tiles,
)
from fencewright.checker.verdicts.barriers import barrier, completion
from fencewright.checker.verdicts.contents import (
    Contents,
    chosen,
    contents_of,
    data_in,
    is_unknown,
    terms_of,
    tickets,
)
from fencewright.checker.verdicts.expressions import (
    Expressions,
    is_data,
    leaves,
    names_in,
    number_of,
    origins_of,
    quotient,
)
from fencewright.checker.verdicts.interpretation import RANK
from fencewright.checker.verdicts.intervals import candidates, full_barriers, is_steady, shared
from fencewright.checker.verdicts.iterations import executed, has_one_exit
from fencewright.checker.verdicts.model import (
    NO_BARRIER,
    NO_ORDER,
    OF_VALUES,
    ONE_VALUE,
    UNGROUPED,
    Access,
    Agent,
    AllOf,
    Answer,
    AnyOf,
    Assumption,
    Barrier,
    Compare,
    Conflict,
    Constraint,
    Holds,
    Kernel,
    LinearForm,
    Literal,
    MbarrierStep,
    Not,
    Note,
    Obstacle,
    OneSide,
    Order,
    OrderRule,
    Overlap,
    Region,
    Relation,
    Root,
    Step,
    Strength,
    ThreadPair,
    Verdict,
    Witness,
)
from fencewright.checker.verdicts.order import grids
from fencewright.checker.verdicts.order.clusters import lifetimes
from fencewright.checker.verdicts.order.counters import handed_tickets
from fencewright.checker.verdicts.order.halves import halves
from fencewright.checker.verdicts.order.proxies import incoherent, unfenced
from fencewright.checker.verdicts.order.synchronisation import synchronised
from fencewright.checker.verdicts.solver import (
    MISSING,
    BitVectors,
    Budget,
    Launch,
    Steps,
    rooms,
    z3_module,
)
from fencewright.lowering.code.value import Apply, Iteration, Param, Result, Thread, Value
from fencewright.lowering.vocabulary import MOST_BLOCK, MOST_GRID, MOST_THREADS, Scope

RULES: tuple[OrderRule, ...] = (
    OrderRule("completion of copies", frozenset({Relation.THREAD, Relation.WARP}), completion),
    OrderRule("barrier", frozenset({Relation.WARP, Relation.CTA}), barrier),
    OrderRule("synchronisation", frozenset(Relation), synchronised),
)
"""Every rule of order, in the order in which they are tried: functions of a kernel, an earlier and
a later access, and their threads."""
_ANY = (1 << 30, MOST_THREADS)
_MANY = 1 << 12
"""CTAs of a launch that a race is looked for in, before any."""
_OF_ALL = (
    "more than one thread in a CTA: each accesses this place",
    "more than one CTA: each accesses this place",
)
_OF_CTA = ("%ctaid", "%nctaid", "%clusterid", "%cluster")
_OF_THREAD = ("%tid", "%ntid", "%laneid")
"""Names of indices and sizes that tell CTAs apart."""
_MOST_PAIRS = 20_000
_MOST_STEPS = 400_000_000
"""Pairs times instructions: a question about one pair may lead through the whole kernel."""
_STEPS_OF_PAIR = 25
"""The work for a pair that is judged, in that for a pair with places that are known to be
apart."""
_MBARRIER_BYTES = 8
_OF_WARPGROUP = "a product that another warp of the warpgroup may have waited for"
_WARPGROUP = 128
"""The threads that execute a product together. Source: PTX ISA, wgmma.mma_async."""
_FEWEST_LANES = 32
"""The lanes of a warp, of chips that may have more too."""
_MOST_UNKNOWN = 32
"""Obstacles after which nobody asks what may order an access of an unknown place: it is one more
obstacle."""
_MOST_SUSPECTS = 4
"""Conflicts of a kernel that is not judged which are kept for an execution."""
_MOST_RACES = 4
"""Races after which no more are looked for, one is enough for the verdict; and races under
conditions after which others are looked for in small launches only."""
_AND_MORE = "; other pairs of accesses are not decided"
_Meeting = tuple[Access, Sequence[Access]]
_Spans = tuple[int | None, int | None, bool]
"""The spans of two accesses that are plain, and True where they are one access."""


def judge(kernel: Kernel, launch: Launch | None = None, steps: Steps | None = None) -> Verdict:
    """The verdict of a kernel, for all launches or for one.

    ``steps``: those of its file, in which kernels are judged one after the other.
    """
    launch = launch or Launch()
    if refused := _refused(kernel, launch):
        return Verdict(VerdictKind.NOT_JUDGED, obstacles=refused)
    kernel = _with_sizes_of(launch, kernel)
    if kernel.obstacles:
        every = islice(_Judge(kernel, launch, 0).pairs(), _MOST_PAIRS)
        sides = () if kernel.halves is None else tuple(kernel.halves(kernel, is_decided=False))
        sides = (*sides, *unfenced(kernel, every))
        return Verdict(VerdictKind.NOT_JUDGED, obstacles=kernel.obstacles, sides=sides)
    steps = steps or Steps(1)
    own = _Judge(kernel, launch, steps.of_kernel)
    verdict = own.verdict()
    if verdict.kind is VerdictKind.NOT_JUDGED:
        steps.take(own.budget.spent)
    return verdict


def _with_sizes_of(launch: Launch, kernel: Kernel) -> Kernel:
    """The kernel with each index that has several values in the launch, read or not: threads that
    differ in no other one are several threads. At most one thread is one. Of others the rows are
    those that accesses depend on, but for who counts the CTAs and waits for them."""
    block = launch.block or ((1, 1, 1) if kernel.most_threads == 1 else None)
    if block is not None and kernel.required is None:
        kernel = replace(kernel, required=block, _memo={})
    given = (("tid", kernel.required), ("ctaid", launch.grid))
    several = {
        f"%{kind}.{d}"
        for kind, sizes in given
        for d, size in zip("xyz", sizes or (), strict=False)
        if d != "x" and size > 1
    }
    specials = _significant(kernel) | several
    return kernel if specials == kernel.specials else replace(kernel, specials=specials, _memo={})


def _significant(kernel: Kernel) -> frozenset[str]:
    """The indices and sizes that a kernel reads, but for rows on which a count of CTAs alone
    depends: strong accesses of objects without plain ones."""
    rows = frozenset(each for each in kernel.specials if each.endswith((".y", ".z")))
    if not rows or kernel.is_lock_step:
        return kernel.specials
    roots = {each.place.root for each in kernel.accesses if not each.is_strong}

    def is_own(access: Access) -> bool:
        return access.place.root in roots or _is_unknown(access.place.root)

    others = _names_of(each for each in kernel.accesses if not is_own(each))
    own = (*filter(is_own, kernel.accesses), *kernel.mbarriers, *kernel.barriers)
    return kernel.specials - (rows & others - _names_of(own))


def _names_of(operations: Iterable[Access | MbarrierStep | Barrier]) -> frozenset[str]:
    """The indices and sizes on which operations depend."""
    values: list[Value] = []
    for each in operations:
        values += [literal.value for literal in each.conditions]
        values += [] if isinstance(each, Barrier) else terms_of(each)
        values += [each.value] if isinstance(each, Access) and each.value is not None else []
    return names_in(values)


def is_still_proved(kernel: Kernel, before: Verdict, launch: Launch | None = None) -> bool:
    """True where a kernel with less synchronisation than one that was proved has that verdict, on
    no more assumptions."""
    launch = launch or Launch()
    own = _Judge(_with_sizes_of(launch, kernel), launch, Steps(1).of_kernel, ends_early=True)
    after = own.verdict()
    is_same = after.kind is before.kind is VerdictKind.RACE_FREE
    is_same = is_same and (after.notes, after.sides) == (before.notes, before.sides)
    return is_same and {*after.assumptions} <= {*before.assumptions}


def _refused(kernel: Kernel, launch: Launch) -> tuple[Obstacle, ...]:
    """The reason why no kernel is launched so: of threads that there are not all is proved."""
    block = launch.block
    if any(map(int.__gt__, launch.grid or (), MOST_GRID)):
        return (Obstacle("no launch has so many blocks", 0),)
    if block is None:
        return ()
    if kernel.required not in (None, block):
        return (Obstacle("no launch of this kernel has blocks of that size", 0),)
    is_large = prod(block) > kernel.most_threads or any(map(int.__gt__, block, MOST_BLOCK))
    return (Obstacle("no launch has blocks of so many threads", 0),) * is_large


class _Judge:
    def __init__(self, kernel: Kernel, launch: Launch, steps: int, *, ends_early: bool = False):
        self.kernel = kernel
        self.launch = launch
        self.ends_early = ends_early
        """The first pair without an order is an obstacle, and the last one that is judged."""
        self.budget = Budget(steps)
        self.races: list[Conflict] = []
        self.launches: list[Conflict] = []
        self.suspects: list[Conflict] = []
        self.obstacles: list[Obstacle] = []
        self.has_undecided = False
        """Pairs are not decided, of a kernel that has races under conditions."""
        self.notes: list[Note] = []
        self.rules: set[str] = set()
        self.assumptions: set[Assumption] = {*kernel.assumes}
        self.has_warp_barriers = any(each.level is Scope.WAVEFRONT for each in kernel.barriers)
        self.answers: dict[object, Answer] = {}
        self.spans: dict[int, int] = {}
        self.arms: dict[int, Sequence[Access]] = {}
        self.plain: dict[int, int | None] = {}
        self.apart: dict[tuple[int, int, Relation], bool] = {}
        self.settled: set[_Spans] = set()

        two_warps, more = 2 * kernel.lanes, kernel.lanes + 1
        self.small = ((2, two_warps), (2, 256), (8, 256))
        """Launches that a race is looked for in, CTAs and threads; in a larger one it is a
        condition."""
        self.blocks = ((two_warps, 1, 1), (256, 1, 1), (16, 16, 1))
        if "%tid.y" in kernel.specials:  # Rows of whole warps: two rows are two warps.
            self.blocks += ((kernel.lanes, 4, 1), (8, kernel.lanes, 1))
        """Blocks that a race is looked for in first."""
        self.fewest = tuple(
            Launch((threads, 1, 1), (ctas, 1, 1))
            for threads, ctas in ((1, 2), (2, 1), (more, 1), (more, 2), (2, 2))
            if threads <= kernel.most_threads
        )
        """Launches with few threads besides those of a conflict, so that fewer can order them."""

    @cached_property
    def asked(self) -> set[int]:
        """The instructions whose results decide something."""
        return _asked(self.kernel, self.kernel.accesses)

    @cached_property
    def deciding(self) -> set[int]:
        """Those of them that decide what the threads do, or are in what they may read again."""
        read = {each.place.root for each in self.kernel.accesses if each.reads}
        own = (x for x in self.kernel.accesses if any(_may_alias(x.place.root, r) for r in read))
        return _asked(self.kernel, own)

    @cached_property
    def contents(self) -> Contents:
        """The values that a race may choose: none are looked for where no pair is judged."""
        return contents_of(self.kernel)

    def verdict(self) -> Verdict:
        others = [*self._one_sided(), *self._divergent_barriers()]
        undecided, is_cut = self._judge_pairs(is_provable=not others)
        if not is_cut:
            for access, end in self._endings():
                if len(self.races) < _MOST_RACES:
                    self._judge_relation(access, end, Relation.THREAD)
        arrivals = map(self._as_access, self.kernel.mbarriers)
        for remote, lifetime, order in lifetimes(self.kernel, arrivals):
            self._judge_lifetime(remote, lifetime, order)
        is_open = bool(self.obstacles or self.launches or others)
        sides = tuple(halves(self.kernel, is_decided=bool(self.races) or not is_open))
        sides = (*sides, *unfenced(self.kernel, undecided))
        self.obstacles += (
            Obstacle(each.missing, each.access.line) for each in sides if not self._is_launch(each)
        )
        self.obstacles += others
        self._assume_roots()
        verdict = Verdict(
            VerdictKind.RACE_FREE,
            by=tuple(sorted(self.rules)),
            assumptions=tuple(each for each in Assumption if each in self.assumptions),
            obstacles=tuple(sorted(dict.fromkeys(self.obstacles), key=lambda each: each.line)),
            notes=tuple(dict.fromkeys(self.notes)),
            sides=sides,
        )
        if self.races:
            # A barrier that usual launches need is a finding beside a race that any launch has.
            usual = filter(attrgetter("is_usual"), self.launches)
            return replace(verdict, kind=VerdictKind.RACE, conflicts=(*self.races, *usual))
        if self.obstacles:
            return replace(verdict, kind=VerdictKind.NOT_JUDGED, suspects=tuple(self.suspects))
        if self.launches:
            # The condition that a kernel most likely meets is the verdict's.
            first = max(self.launches, key=attrgetter("is_usual"))
            return replace(
                verdict,
                kind=VerdictKind.LAUNCH,
                conflicts=tuple(self.launches),
                condition=first.condition + _AND_MORE * self.has_undecided,
            )
        return verdict

    def _judge_pairs(self, *, is_provable: bool) -> tuple[list[tuple[Access, Access]], bool]:
        """Judge the pairs of accesses: those that are not decided, and True where there are too
        many."""
        most = min(_MOST_PAIRS, _MOST_STEPS // max(1, len(self.kernel.lines)))
        left, undecided = most * _STEPS_OF_PAIR, list[tuple[Access, Access]]()
        plain = self.plain
        for first, seconds in chain(self._meetings(), self._initialisations()):
            span, number = self._plain_span(first) if seconds else None, first.number
            for second in seconds:
                other = second.number
                own = plain[other] if other in plain else self._plain_span(second)
                spans = span, own, number == other
                is_settled = spans in self.settled or self._is_settled(first, second, spans)
                left -= 1 if is_settled else _STEPS_OF_PAIR
                if left < 0:
                    reason = f"more than {most} pairs of accesses"
                    self.obstacles.append(Obstacle(reason, first.line))
                    return [*islice(self.pairs(), most)], True
                if is_settled:
                    continue
                if self.obstacles or not is_provable:
                    self.budget.give_up_proof()
                before = len(self.obstacles)
                self._judge_pair(first, second)
                if len(self.obstacles) > before:
                    undecided.append((first, second))
                is_last = self.ends_early or self.budget.is_spent
                if len(self.races) == _MOST_RACES or (self.obstacles and is_last):
                    return undecided, False
        return undecided, False

    def _is_launch(self, side: OneSide) -> bool:
        """True of half a protocol that orders too little for a race under a launch."""
        return side.payload is not None and any(
            side.finding is each.finding
            and side.payload.instruction in (each.first.instruction, each.second.instruction)
            for each in self.launches
        )

    def _one_sided(self) -> Iterator[Obstacle]:
        """Flags of which the kernel has one side only: the other kernel takes part in every
        order."""
        accesses = self.kernel.accesses
        written = {_key(each.place.root) for each in accesses if each.writes}
        read = {_key(each.place.root) for each in accesses if each.reads}
        for each in accesses:
            if not each.is_strong:
                continue
            key = _key(each.place.root)
            if each.reads and each.instruction in self.asked and key not in written:
                yield Obstacle("this kernel never writes what is polled here", each.line)
            elif each.writes and key not in read and self._publishes(each):
                yield Obstacle("this kernel never reads what is published here", each.line)

    def _publishes(self, write: Access) -> bool:
        """True if a strong write may signal to others the end of the accesses before it."""
        return write.releases or any(
            not each.is_strong
            and each.place.root.region is not Region.SHARED
            and self.kernel.may_reach(each.instruction, write.instruction)
            for each in self.kernel.accesses
        )

    def _divergent_barriers(self) -> Iterator[Obstacle]:
        """Barriers for all threads of a CTA that some may not come to. Source: PTX ISA, bar."""
        full = full_barriers(self.kernel, Scope.WORKGROUP)
        for each in candidates(self.kernel, Scope.WORKGROUP):
            is_counted = each.count is not None or each.level is not Scope.WORKGROUP
            if each.instruction not in full and not is_counted:
                line = self.kernel.line_of(each.instruction)
                yield Obstacle(DIVERGENT_BARRIER, line)
        anyone = ThreadPair(Relation.GRID, (), self._solver(Relation.GRID))
        for number in grids.skipped(self.kernel, anyone):
            yield Obstacle("not every CTA comes to this barrier", self.kernel.line_of(number))

    def _assume_roots(self) -> None:
        """The assumptions that objects are other ones, where a kernel has several and writes
        one."""
        roots = {each.place.root for each in self.kernel.accesses}
        writes = any(each.writes for each in self.kernel.accesses)
        parameters = [root for root in roots if root.region is Region.PARAMETER]
        pointers = [root for root in roots if root.region is Region.POINTER]
        if writes and len(parameters) > 1:
            self.assumptions.add(Assumption.NO_ALIAS)
        if writes and pointers and len(parameters) + len(pointers) > 1:
            self.assumptions.add(Assumption.POINTERS)

    # Pairs

    def pairs(self) -> Iterator[tuple[Access, Access]]:
        """The accesses that may meet, by the objects that they are of."""
        return ((first, second) for first, own in self._meetings() for second in own)

    def _meetings(self) -> Iterator[_Meeting]:
        """Each access with itself and those after it that it may meet."""
        accesses = self.kernel.accesses
        numbers: dict[Root, int] = {}
        of = [numbers.setdefault(each.place.root, len(numbers)) for each in accesses]
        roots = [*numbers]
        writers = {root for root, each in zip(of, accesses, strict=True) if each.writes}
        written = {_key(roots[root]) for root in writers}
        unknown = any(_is_unknown(roots[root]) for root in writers)
        is_relevant = [unknown or _is_unknown(root) or _key(root) in written for root in roots]
        relevant = [own for own in zip(of, accesses, strict=True) if is_relevant[own[0]]]
        by: dict[tuple[int, bool], list[int]] = {}
        for number, (root, each) in enumerate(relevant):
            by.setdefault((root, each.writes), []).append(number)
        open_roots = [number for number, root in enumerate(roots) if _is_unknown(root)]

        def partners(own: int, *, of_write: bool) -> list[int]:
            every = range(len(roots)) if _is_unknown(roots[own]) else {own, *open_roots}
            known = [each for each in every if _may_alias(roots[own], roots[each])]
            kinds = (True, False) if of_write else (True,)
            return sorted(n for each in known for kind in kinds for n in by.get((each, kind), ()))

        found: dict[tuple[int, bool], tuple[list[int], list[Access]]] = {}
        for number, (root, first) in enumerate(relevant):
            key = root, first.writes
            if (own := found.get(key)) is None:
                numbers_of = partners(root, of_write=first.writes)
                own = found[key] = numbers_of, [relevant[each][1] for each in numbers_of]
            yield first, own[1][bisect_left(own[0], number) :]

    def _endings(self) -> Iterator[tuple[Access, Access]]:
        """Each copy in a group that reads shared memory, with the ends of its thread."""
        for end in self.kernel.ends:
            for access in self.kernel.accesses:
                if access.agent is Agent.GROUP and access.place == end.place:
                    yield access, end

    def _initialisations(self) -> Iterator[_Meeting]:
        """Each mbarrier's initialisation, a weak write, with the operations of others on it.

        Source: PTX ISA, mbarrier.init.
        """
        steps = self.kernel.mbarriers
        for init in steps:
            if init.step not in (Step.INIT, Step.INVALIDATE):
                continue
            for other in steps:
                if other is not init and _may_alias(other.place.root, init.place.root):
                    yield self._as_access(init), (self._as_access(other),)

    def _as_access(self, step: MbarrierStep) -> Access:
        is_weak = step.step in (Step.INIT, Step.INVALIDATE)
        return Access(
            number=-1 - step.instruction,
            instruction=step.instruction,
            line=self.kernel.line_of(step.instruction),
            text=f"{step.step} of an mbarrier",
            place=step.place,
            size=_MBARRIER_BYTES,
            reads=True,
            writes=True,
            conditions=step.conditions,
            is_strong=not is_weak,
            scope=None if is_weak else step.scope,
            obstacle="" if step.place.offset is not None else "an address that is not known",
        )

    def _relations(self, first: Access, second: Access) -> Iterator[Relation]:
        is_coherent = first.is_coherent and second.is_coherent
        if not is_coherent or {first.agent, second.agent} != {Agent.THREAD}:
            if first.instruction != second.instruction or first.number == second.number:
                yield Relation.THREAD
        is_remote = first.place.rank is not None or second.place.rank is not None
        is_async = {first.agent, second.agent} != {Agent.THREAD}
        if self.has_warp_barriers or (self.kernel.is_lock_step and is_async):
            yield Relation.WARP
        if is_remote:
            # What such an access is made for.
            yield Relation.CLUSTER
        yield Relation.CTA
        spaces = {_space(first.place.root), _space(second.place.root)}
        if not is_remote and spaces != {"shared"} and first.place.root.region is not Region.TENSOR:
            yield Relation.GRID
        is_open = not (self.races or self.launches or self.obstacles)
        if is_open and self._is_at_once(first, second):
            yield Relation.WARP  # It is a question of a proof alone.

    def _rounds(self, access: Access, relation: Relation) -> Iterator[Constraint]:
        """The iterations in which one access of two threads conflicts."""
        iterations = (loop.iteration for loop in self.kernel.loops_of(access.instruction))
        at_once = AllOf(tuple(Compare("eq", each, 0, each, 1) for each in iterations))
        if relation is Relation.THREAD:
            yield Not(at_once)  # One execution of a copy does not conflict with itself.
        elif relation is Relation.WARP and self._is_at_once(access, access):
            yield at_once

    def _is_at_once(self, first: Access, second: Access) -> bool:
        """True of one access that the lanes of a wave make together."""
        is_one = first.number == second.number and first.agent is Agent.THREAD
        return is_one and self.kernel.is_lock_step

    def _is_settled(self, first: Access, second: Access, spans: _Spans) -> bool:
        """True of plain accesses that arithmetic sets apart, so that others with the same
        ``spans`` are too."""
        if None in spans or self._is_one_cta or self._is_one_thread:
            return False
        relations = [*self._relations(first, second)]
        if is_settled := all(self._is_apart(first, second, each) for each in relations):
            self.settled.add(spans)
        return is_settled

    def _judge_pair(self, first: Access, second: Access) -> None:
        known, launches = len(self.obstacles), len(self.launches)
        for relation in self._relations(first, second):
            goes_on = self._judge_in(first, second, relation)
            if relation is not Relation.THREAD and len(self.launches) > launches:
                self.has_undecided |= known < len(self.obstacles)
                del self.obstacles[known:]  # Of a pair that has a race, of its other threads.
            if not goes_on:
                return
            known = len(self.obstacles) if relation is not Relation.THREAD else known

    def _judge_in(self, first: Access, second: Access, relation: Relation) -> bool:
        """Judge a pair in one relation; false where no other relation has to be looked at."""
        is_strong = _are_morally_strong(first, second, relation)
        if is_strong and not self._may_be_payload(first, second):
            return True
        if relation is Relation.GRID and self._is_one_cta:
            self._judge_alike(first, second, relation, Assumption.ONE_CTA)
            return True
        if relation in (Relation.WARP, Relation.CTA) and self._is_one_thread:
            self._judge_alike(first, second, relation, Assumption.ONE_THREAD)
            return True
        if self._is_apart(first, second, relation):
            return True
        alike = alike_threads(self.kernel, first) if first is second else 0
        is_of_warp = alike & self.kernel.lanes - 1 == self.kernel.lanes - 1
        if alike == EVERY_BIT or (is_of_warp and relation is Relation.WARP):
            self.assumptions.add(Assumption.EQUAL_VALUES)
            self._assume_dimensions()
            return True
        if _write_equal_values(first, second, relation):
            self._judge_equal(first, second, relation)
            return True
        return self._judge_relation(first, second, relation, is_strong=is_strong, alike=alike)

    def _differ_beside(self, bits: int) -> Constraint:
        """Two threads' numbers differ in a bit that is none of some."""
        e = Expressions(self.kernel.table)
        others = EVERY_BIT & ~bits
        own = e.apply("and", (e.table.thread("%tid.x", 32), e.constant(others, 32)), 32)
        return Not(Compare("eq", own, 0, own, 1))

    def _judge_equal(self, first: Access, second: Access, relation: Relation) -> None:
        """Judge writes of one value: those that are not known to race leave it, whoever is last."""
        obstacles = len(self.obstacles)
        if first.place.root.region is Region.SHARED or not self._judge_relation(
            first, second, relation
        ):
            del self.obstacles[obstacles:]
            self.assumptions.add(Assumption.EQUAL_VALUES)

    def _may_be_payload(self, first: Access, second: Access) -> bool:
        """True of strong accesses that bits of a cache make so, and that decide nothing.

        They do not race, but what a flag hands over has to be there.
        """
        if self.kernel.handing is None or first.is_atomic or second.is_atomic:
            return False
        return not {first.instruction, second.instruction} & self.asked

    def _judge_alike(
        self, first: Access, second: Access, relation: Relation, assumption: Assumption
    ) -> None:
        """Judge a pair of threads that the kernel does not tell apart: it is for one alone, and
        more of them do the same at the same places.
        """
        sizes = self.launch.grid if relation is Relation.GRID else self.kernel.required
        if sizes is not None:
            return  # It is one.
        condition = _OF_ALL[relation is Relation.GRID]
        if any(each.condition == condition for each in self.launches):
            return
        if first is not second or first.is_strong or first.place.offset is None:
            # Each access meets itself; of those that are atomic nothing is a race.
            self.assumptions.add(assumption)
            return
        if (leaf := self._data_in(terms_of(first))) is not None:
            reason = _between("an address depends on data", first, second, NO_ORDER)
            self.obstacles.append(Obstacle(reason, self._line_of(leaf, first)))
            return
        constraints = (*executed(self.kernel, first, 0), *executed(self.kernel, second, 1))
        constraints = (*constraints, Overlap(first, 0, second, 1))
        self._race(first, second, relation, constraints, NO_ORDER)

    @cached_property
    def _is_one_cta(self) -> bool:
        if self.launch.grid is not None:
            return self.launch.grid == (1, 1, 1)
        # A thread that waits for a flag waits for another thread.
        return not self._waits_beyond(Scope.WORKGROUP) and not self._reads(_OF_CTA)

    @cached_property
    def _is_one_thread(self) -> bool:
        if (sizes := self.kernel.required) is not None:
            return sizes == (1, 1, 1)
        # Barriers of a CTA and flags are for several threads, whatever tells these apart; the
        # partner of a cluster's barrier may be another CTA.
        has_partner = any(each.level is not Scope.CLUSTER for each in self.kernel.barriers) or (
            self._waits_beyond(Scope.SINGLETHREAD) and not self._reads(_OF_CTA)
        )
        return not has_partner and not self._reads(_OF_THREAD)

    @cached_property
    def _told_apart(self) -> int:
        """The threads that a kernel tells apart, by the low bits of an index of one dimension: a
        CTA of so many is meant; 0 where it asks for more of the index."""
        kernel, most = self.kernel, 0
        if {"%tid.y", "%tid.z"} & kernel.specials:
            return 0
        work = [term for each in kernel.accesses for term in terms_of(each)]
        work += [each.value for access in kernel.accesses for each in access.conditions]
        for literals in (*kernel.edge_literals.values(), *kernel.guards.values()):
            work += [each.value for each in literals]
        index, seen = kernel.table.thread("%tid.x", 32), set[Value]()
        while work:
            part = work.pop()
            if part is index:
                return 0
            if not isinstance(part, Apply) or part in seen:
                continue
            seen.add(part)
            low = number_of(part.arguments[-1]) if part.operation == "and" else None
            if low is not None and not low & (low + 1) and part.arguments[0].depth <= 1:
                most = max(most, low + 1 if index in leaves((part,)) else 0)
            else:
                work += part.arguments
        return most

    def _reads(self, names: tuple[str, ...]) -> bool:
        """True of a kernel that reads an index or a size whose name begins so."""
        return any(name.startswith(names) for name in self.kernel.specials)

    def _waits_beyond(self, scope: Scope) -> bool:
        """True of a kernel that decides something by a strong read of a wider scope: of the whole
        system, by threads that nothing tells apart, it is for another kernel."""
        accesses = self.kernel.accesses
        is_apart = self._reads((*_OF_CTA, *_OF_THREAD)) or any(each.is_atomic for each in accesses)
        return any(
            each.is_strong
            and each.reads
            and each.instruction in self.asked
            and each.scope is not None
            and not scope.includes(each.scope)
            and (is_apart or each.scope is not Scope.SYSTEM)
            for each in accesses
        )

    def _plain_span(self, access: Access) -> int | None:
        if (number := access.number) not in self.plain:
            self.plain[number] = self._span(access) if _is_plain(access) else None
        return self.plain[number]

    def _span(self, access: Access) -> int:
        if (number := access.number) not in self.spans:
            self.spans[number] = span_of(self.kernel, access)
        return self.spans[number]

    def _is_apart(self, first: Access, second: Access, relation: Relation) -> bool:
        if first.place.root != second.place.root or relation is Relation.THREAD:
            return False
        key = self._span(first), self._span(second), relation
        if key not in self.apart:
            self.apart[key] = self._is_apart_by_arithmetic(first, second, relation)
        return self.apart[key]

    def _is_apart_by_arithmetic(self, first: Access, second: Access, relation: Relation) -> bool:
        apart = self._are_places_apart(first, second, relation)
        if not apart and len(own := [*product(self._arms(first), self._arms(second))]) > 1:
            apart = all(self._are_places_apart(*pair, relation) for pair in own)
        if apart:
            self.rules.add("arithmetic")
            self.assumptions.add(Assumption.NO_WRAP)
            self._assume_dimensions()
        return apart

    def _arms(self, access: Access) -> Sequence[Access]:
        if access.number not in self.arms:
            self.arms[access.number] = arms(self.kernel, access)
        return self.arms[access.number]

    def _are_places_apart(self, first: Access, second: Access, relation: Relation) -> bool:
        if are_apart(self.kernel, first, second, relation, self.launch):
            return True
        rows = in_rows(self.kernel, first, second, relation)
        if rows is None or not are_rows_apart(self.kernel, rows, relation, self.launch):
            return False
        self.assumptions.add(Assumption.ROWS)
        return True

    def _assume_sizes(self, assumption: Assumption, sizes: tuple[int, int, int] | None) -> None:
        """An assumption about a launch of which the sizes are not given."""
        if sizes is None:
            self.assumptions.add(assumption)

    def _assume_dimensions(self) -> None:
        if not self.kernel.specials >= {"%tid.x", "%tid.y", "%tid.z"}:
            self._assume_sizes(Assumption.ONE_DIMENSION, self.kernel.required)
        if rooms(self.kernel, self.launch):
            self.assumptions.add(Assumption.ROOM)

    def _judge_relation(
        self,
        first: Access,
        second: Access,
        relation: Relation,
        *,
        is_strong: bool = False,
        alike: int = 0,
    ) -> bool:
        """Judge a pair in one relation; false where no other relation has to be looked at.

        ``is_strong``: it is no conflict but for an order that is broken. ``alike``: threads whose
        numbers differ in these bits alone write one value.
        """
        known = _obstacle_of(first, second)
        if known is not None and self._is_one_more(first, second):
            reason = _between(known.reason, first, second, NO_ORDER)
            self.obstacles.append(Obstacle(reason, known.line))
            return False
        rows = in_rows(self.kernel, first, second, relation)
        one, other = self._reduced(first, second, relation)
        constraints: tuple[Constraint, ...] = (
            *executed(self.kernel, first, 0),
            *executed(self.kernel, second, 1),
            *((Overlap(one, 0, other, 1),) if rows is None else rows),
            *tickets(self.kernel, (first, second), relation),
            *handed_tickets(self.kernel, (first, second), relation),
        )
        is_again = first.number == second.number and relation in (Relation.THREAD, Relation.WARP)
        if is_again:
            constraints = (*constraints, *self._rounds(first, relation))
        is_of_warps = alike & self.kernel.lanes - 1 == self.kernel.lanes - 1
        is_of_warps &= relation is Relation.CTA
        solver = self._solver(relation, splits_warps=is_of_warps)
        if alike:
            constraints = (*constraints, self._differ_beside(alike))
        pair = ThreadPair(relation, constraints, solver)
        if self._is_between(first, second, pair):
            if self._is_ordered(first, second, self._order(first, second, pair)):
                return True
        key = (_shape(first), _shape(second), relation, is_again, alike)
        answer = self.answers.get(key)
        if answer is None:
            answer = self.answers[key] = solver.satisfiable(constraints)
        self._assume(first, second)
        if rows is not None:
            self.assumptions.add(Assumption.ROWS)
        if relation is Relation.GRID:
            self._assume_sizes(Assumption.GRID_SIZE, self.launch.grid)
        if alike:
            self.assumptions.add(Assumption.EQUAL_VALUES)
        if answer is Answer.UNSATISFIABLE:
            self.rules.add("solver")
            return True
        order = self._order(first, second, pair)
        if (
            self._is_ordered(first, second, order)
            or (is_strong and order.strength is Strength.ABSENT)
            or (is_again and self._may_agree(first, relation, answer))
        ):
            return True
        if self.ends_early:
            self.obstacles.append(Obstacle(_between(NO_BARRIER, first, second, order), first.line))
            return False
        if known is not None:
            races, certain = len(self.races), (_certain(first), _certain(second))
            if certain != (first, second):
                self._judge_relation(*certain, relation)
            if len(self.races) > races:
                return False
            reason = _between(known.reason, first, second, order)
            self.obstacles.append(Obstacle(reason, known.line))
            return False
        unsure = self._unsure(first, second, relation, order)
        if answer is Answer.UNKNOWN or order.is_limit:
            return self._in_small_launches(first, second, pair)
        if unsure is not None:
            is_order = order.strength is Strength.UNKNOWN
            if not (is_order and self._races_in(self.fewest, first, second, pair)):
                self.obstacles.append(unsure)
                self._suspect(first, second, relation, constraints, order)
            return False
        return self._race(first, second, relation, constraints, order)

    def _is_between(self, first: Access, second: Access, pair: ThreadPair) -> bool:
        """True where a barrier stands between two accesses in all iterations, whatever the conflict
        is."""
        if pair.relation in (Relation.WARP, Relation.CTA):
            is_warp = pair.relation is Relation.WARP
            full = full_barriers(self.kernel, Scope.WAVEFRONT if is_warp else Scope.WORKGROUP)
            return bool(full) and not shared(self.kernel, first, second, full, is_one_cta=True)
        claims = grids.claims(self.kernel, first, second, pair)
        return any(each.unless == AnyOf(()) for each in claims)

    def _is_ordered(self, first: Access, second: Access, order: Order) -> bool:
        """True of a conflict with an order, which is noted down."""
        if order.strength is not Strength.PROVED:
            return False
        self.rules.add(order.rule)
        self.assumptions |= order.assumptions
        if order.is_note:
            self.notes.append(_note(first, second, order))
        return True

    def _is_one_more(self, first: Access, second: Access) -> bool:
        """True of a pair of an unknown place that no bytes of it make a race, where the kernel is
        not judged for enough such pairs."""
        is_unknown = all(each.least is None for each in (first, second))
        return is_unknown and len(self.obstacles) >= _MOST_UNKNOWN

    def _in_small_launches(self, first: Access, second: Access, pair: ThreadPair) -> bool:
        """Judge a pair that the solver does not decide for all launches: a race in one is a race,
        and so is one in another relation."""
        self.budget.give_up_proof()
        launches = (*self._exact_launches(), *self._large_launches)
        if self._races_in(launches, first, second, pair):
            return False
        if len(self.launches) >= _MOST_RACES:
            self.has_undecided = True  # No smaller launch has a race of these.
            return True
        if z3_module() is None:
            self.obstacles.append(Obstacle(MISSING, 0))
            return False
        reason = _between(self._limit, first, second, NO_ORDER)
        self.obstacles.append(Obstacle(reason, second.line))
        return pair.relation is Relation.THREAD

    @property
    def _limit(self) -> str:
        """The reason of a question that the solver did not decide: with constant sizes it is
        easier."""
        is_given = self.kernel.required is not None
        return "the solver came to its limit" + ("" if is_given else " (--block decides more)")

    def _races_in(
        self, launches: Iterable[Launch], first: Access, second: Access, pair: ThreadPair
    ) -> bool:
        """True where a pair that is not decided for all launches is a race in one of some."""
        for launch in launches:
            given = self.kernel.required, self.launch.grid
            if any(
                a not in (None, b) for a, b in zip(given, (launch.block, launch.grid), strict=True)
            ):
                continue
            own = replace(pair, solver=self._solver(pair.relation, launch=launch))
            if own.satisfiable() is not Answer.SATISFIABLE:
                continue
            order = self._order(first, second, own)
            if order.strength in (Strength.PROVED, Strength.UNKNOWN):
                continue
            if self._unsure(first, second, pair.relation, order) is None:
                self._race(first, second, pair.relation, pair.constraints, order, (launch,))
                return True
        return False

    def _exact_launches(self) -> Iterator[Launch]:
        """Small launches in which sizes are constants: a product with one is none of two
        unknowns."""
        block, grid = self.kernel.required, self.launch.grid
        most = self.kernel.most_threads
        usual = self.blocks if most >= self.blocks[0][0] else ((most, 1, 1),)
        blocks = (*filter(self._has_room, usual), *self._fitting)
        # A row of CTAs, and a column where CTAs have rows.
        rows = ((2, 1, 1), (1, 2, 1)) if "%ctaid.y" in self.kernel.specials else ((2, 1, 1),)
        for ctas in rows if grid is None else (grid,):
            for threads in blocks if block is None else (block,):
                yield Launch(threads, ctas)

    def _has_room(self, block: tuple[int, int, int]) -> bool:
        has_room = all(room.holds(block) for room in rooms(self.kernel, self.launch))
        return has_room and prod(block) <= self.kernel.most_threads

    @cached_property
    def _large_launches(self) -> Sequence[Launch]:
        """Launches of the largest blocks, of one row and of several, where none is given: in small
        grids, and in those of any size. Times a constant their CTAs are no product of two unknowns.
        """
        most, rows = self.kernel.most_threads, {"%tid.y", "%ntid.y"} & self.kernel.specials
        if self.kernel.required or most & 1 or most <= self.small[-1][1]:
            return ()
        blocks = ((most // 2, 2, 1), (2, most // 2, 1)) if rows else ((most, 1, 1),)
        grids = dict.fromkeys((self.launch.grid or (2, 1, 1), self.launch.grid))
        return [replace(self.launch, block=each, grid=grid) for grid in grids for each in blocks]

    @cached_property
    def _fitting(self) -> Sequence[tuple[int, int, int]]:
        """The smallest blocks of several warps and rows that variables have room for, of powers of
        two; none where usual blocks are among these."""
        if not {"%tid.y", "%tid.z"} & self.kernel.specials or any(
            self._has_room(each) and each[1] > 1 for each in self.blocks
        ):
            return ()
        sizes = [1 << n for n in range(9)]
        high, deep = (sizes if f"%tid.{d}" in self.kernel.specials else [1] for d in "yz")
        blocks = [(x, y, z) for x in sizes[1:] for y in high for z in deep if max(y, z) > 1]
        several = [each for each in blocks if 2 * self.kernel.lanes <= prod(each) <= 256]
        fitting = filter(self._has_room, sorted(several, key=lambda each: (prod(each), -each[0])))
        return [*islice(fitting, 3)]

    def _reduced(self, first: Access, second: Access, relation: Relation) -> tuple[Access, Access]:
        """Two accesses without the terms of their places that both threads have alike."""
        a, b = first.place.offset, second.place.offset
        if a is None or b is None or first.place.root.size is not None:
            return first, second
        is_one_cta = relation in (Relation.THREAD, Relation.WARP, Relation.CTA)
        common = {
            term for term in a.terms if term in b.terms and is_alike(term[0], is_one_cta=is_one_cta)
        }

        def without(access: Access, form: LinearForm) -> Access:
            terms = tuple(term for term in form.terms if term not in common)
            return replace(
                access, place=replace(access.place, offset=LinearForm(form.constant, terms))
            )

        return without(first, a), without(second, b)

    def _solver(
        self,
        relation: Relation,
        most: tuple[int, int] | None = None,
        launch: Launch | None = None,
        *,
        splits_warps: bool = False,
    ) -> BitVectors:
        return BitVectors(
            self.kernel,
            relation,
            launch or self.launch,
            self.budget,
            splits_warps=splits_warps or self.has_warp_barriers or self.kernel.is_lock_step,
            most=most,
        )

    def _assume(self, first: Access, second: Access) -> None:
        self.assumptions.add(Assumption.NO_WRAP)
        self._assume_dimensions()
        if first.place.root.size is not None:
            self.assumptions.add(Assumption.IN_BOUNDS)
        if any(each.least is not None and each.agent in UNGROUPED for each in (first, second)):
            self.assumptions.add(Assumption.TENSOR_BYTES)

    def _order(self, first: Access, second: Access, pair: ThreadPair) -> Order:
        if (broken := incoherent(first, second)) is not None:
            return broken
        best = NO_ORDER
        for rule in RULES:
            if pair.relation not in rule.relations:
                continue
            for earlier, later, own in (
                (first, second, pair),
                (second, first, replace(pair, earlier=1, later=0)),
            ):
                order = rule.order(self.kernel, earlier, later, own)
                if order.strength is Strength.PROVED:
                    return order
                if _RANK[order.strength] > _RANK[best.strength] or best is NO_ORDER:
                    best = order
        return best

    def _judge_lifetime(self, remote: Access, lifetime: Access, order: Order) -> None:
        """Judge an access of another CTA's memory, and the beginning or end of that CTA."""
        if order.strength is Strength.UNKNOWN:
            self.obstacles.append(Obstacle(order.reason, remote.line))
        elif len(self.races) < _MOST_RACES and remote.place.rank is not None:
            own = self.kernel.table.constant(RANK, remote.place.rank.bits)
            there = Compare("eq", remote.place.rank, 0, own, 1)
            constraints = (*executed(self.kernel, remote, 0), there)
            if self._solver(Relation.CLUSTER).satisfiable(constraints) is Answer.SATISFIABLE:
                self._race(remote, lifetime, Relation.CLUSTER, constraints, order)

    # Conflicts that are no race yet

    def _unsure(
        self, first: Access, second: Access, relation: Relation, order: Order
    ) -> Obstacle | None:
        """The reason why a conflict without an order is not called a race; None if it is one."""
        for access in (first, second):
            if (leaf := self._data_in(terms_of(access))) is not None:
                return Obstacle(
                    _between("an address depends on data", first, second, order),
                    self._line_of(leaf, access),
                )
        if relation in (Relation.WARP, Relation.CTA):
            if (branch := self._undecided(first, second)) is not None:
                reason = "another lane may decide a branch between them"
                return Obstacle(_between(reason, first, second, order), branch)
        if order.strength is Strength.BROKEN:
            return None
        if order.strength is Strength.UNKNOWN:
            line = second.line if order.line is None else order.line
            return Obstacle(_between(order.reason, first, second, NO_ORDER), line)
        # Of two threads that poll, a lock that nobody gives back lets one go on.
        polled = [self._polled(each) for each in (first, second)]
        for access, own in zip((first, second), polled, strict=True):
            leaf = own if None not in polled else self._paths(access, 0)[1]
            if leaf is not None:
                return Obstacle(
                    _between("a condition depends on data", first, second, order),
                    self._line_of(leaf, access),
                )
        if self._may_wait(first, second):
            reason = "an mbarrier may order asynchronous accesses"
            return Obstacle(_between(reason, first, second, order), second.line)
        handshake = self._handshake(first, second, relation)
        if handshake is not None:
            return Obstacle(_between("a flag may order them", first, second, order), handshake.line)
        return None

    def _undecided(self, first: Access, second: Access) -> int | None:
        """The line of a branch of unknown condition on a way from one access to the other."""
        reach = self.kernel.may_reach
        for branch in self.kernel.undecided:
            for earlier, later in ((first, second), (second, first)):
                if reach(earlier.instruction, branch) and reach(branch, later.instruction):
                    return self.kernel.line_of(branch)
        return None

    def _may_wait(self, first: Access, second: Access) -> bool:
        """True where one access is done when an mbarrier says so, and the other is on a path from a
        wait for one."""
        waits = [each for each in self.kernel.mbarriers if each.step is Step.WAIT]
        return any(
            earlier.agent in UNGROUPED
            and any(self.kernel.may_reach(each.instruction, later.instruction) for each in waits)
            for earlier, later in ((first, second), (second, first))
        )

    def _paths(self, access: Access, thread: int) -> tuple[tuple[Constraint, ...], Value | None]:
        """Choices of paths by which a thread comes to an access whatever the values are that only
        the kernel's run decides; and one of these that decides even so."""
        taken: list[Constraint] = []
        work = [each.value for each in access.conditions if not self._ends_loop(access, each)]
        while work:
            value = work.pop()
            if self._data_in((value,)) is None:
                continue
            if not isinstance(value, Apply) or is_unknown(value):
                return (), value
            if value.operation != "ite" or self._data_in(value.arguments[:1]) is not None:
                work += value.arguments
                continue
            condition, yes, no = value.arguments
            polarity = self._data_in((no,)) is not None
            taken.append(Holds(Literal(condition, polarity), thread))
            work.append(yes if polarity else no)
        return tuple(taken), None

    def _polled(self, access: Access) -> Value | None:
        """The result of a strong read that a condition of an access is about."""
        results = (
            leaf
            for literal in access.conditions
            for leaf in leaves((literal.value,))
            if isinstance(leaf, Result)
            and any(each.is_strong for each in self.kernel.accesses_at.get(leaf.instruction, ()))
        )
        return min(results, key=_number, default=None)

    def _ends_loop(self, access: Access, literal: Literal) -> bool:
        """True of a condition on which a loop is left by its one exit: a kernel that ends has found
        it true."""
        here = self.kernel.block_of[access.instruction]
        return any(
            here not in loop.blocks and has_one_exit(self.kernel, loop)
            for loop in self.kernel.loops_around(literal.branch)
        )

    def _data_in(self, values: Iterable[Value]) -> Value | None:
        """A value that memory decides, among the operands of some values; not of contents that a
        race may choose."""
        data = (each for each in data_in(values) if each not in self.contents)
        return min(data, key=_number, default=None)

    def _handshake(self, first: Access, second: Access, relation: Relation) -> Access | None:
        """A strong read on a path to one access, of a strong write on a path from the other."""
        kernel = self.kernel
        pair = ThreadPair(relation, (), self._solver(relation))
        asked = self.deciding | _results_in(kernel, (*terms_of(first), *terms_of(second)))
        asked -= grids.polled(kernel, pair)
        steady = [[each for each in x.conditions if is_steady(each.value)] for x in (first, second)]

        def executes(access: Access, thread: int) -> bool:
            """True where the thread may execute another access: in an interval between barriers no
            other thread is ordered with it."""
            own = [each for each in access.conditions if is_steady(each.value)]
            held = (Holds(each, n) for n in (0, 1) for each in steady[n])
            holds = (*held, *(Holds(each, thread) for each in own))
            return not self._meets_at_barriers(relation) or (
                pair.satisfiable(AllOf(holds)) is not Answer.UNSATISFIABLE
            )

        for earlier, later, threads in ((first, second, (0, 1)), (second, first, (1, 0))):
            for read in kernel.accesses:
                is_asked = read.is_strong and read.reads and read.instruction in asked
                if not is_asked or not kernel.may_reach(read.instruction, later.instruction):
                    continue
                for write in kernel.accesses:
                    if write.is_strong and write.writes and write.place.root == read.place.root:
                        if kernel.may_reach(earlier.instruction, write.instruction):
                            if executes(write, threads[0]) and executes(read, threads[1]):
                                return read
        return None

    def _meets_at_barriers(self, relation: Relation) -> bool:
        """True of threads of one CTA that only barriers of all of it order, but for strong
        accesses."""
        full = full_barriers(self.kernel, Scope.WORKGROUP)
        is_one_cta = relation in (Relation.WARP, Relation.CTA)
        is_full = all(each.instruction in full for each in self.kernel.barriers)
        return is_one_cta and is_full and not self.kernel.mbarriers

    def _line_of(self, leaf: Value, access: Access) -> int:
        if isinstance(leaf, Result) and leaf.instruction in self.kernel.lines:
            return self.kernel.line_of(leaf.instruction)
        return access.line

    # Races

    def _suspect(
        self,
        first: Access,
        second: Access,
        relation: Relation,
        constraints: Sequence[Constraint],
        order: Order,
    ) -> None:
        """Keep a conflict of which data or an unknown order decide if it is a race: an execution
        may show it."""
        if order.strength is Strength.PROVED or len(self.suspects) == _MOST_SUSPECTS:
            return
        _, witness = self._witness(relation, constraints)
        if witness is not None:
            finding = self._finding(first, second, relation, order)
            missing = order.reason or _missing(relation)
            self.suspects.append(Conflict(first, second, relation, witness, missing, finding))

    def _race(
        self,
        first: Access,
        second: Access,
        relation: Relation,
        constraints: Sequence[Constraint],
        order: Order,
        launches: Sequence[Launch] = (),
    ) -> bool:
        """Report a race, in one of ``launches`` if there are some; false: of the pair no other
        relation is looked at."""
        missing = order.reason or _missing(relation)
        if order.unless is not None:
            constraints = (*constraints, order.unless)
        is_free = order.strength is not Strength.BROKEN
        # Who hands something over to other CTAs is one of several, whatever it asks.
        of_all = self._condition_of_all(first, second, relation) if is_free else ""
        if of_all and any(each.condition == of_all for each in self.launches):
            return True  # Of this condition one conflict is enough.
        contents = tuple(chosen(self.kernel, self.contents, (first, second)))
        paths = (*self._paths(first, 0)[0], *self._paths(second, 1)[0])
        unawaited = tuple(self._unawaited_product(first, second, relation))
        constraints = (*constraints, *contents, *paths, *unawaited)
        is_one_more = len(self.launches) >= _MOST_RACES
        if is_one_more and not launches:
            launches = [*self._exact_launches()]
        size, witness = self._witness(relation, constraints, launches)
        if witness is None and is_one_more:
            self.has_undecided = True
            return True
        if witness is None:
            reason = "memory decides" if contents else self._limit
            reason = _OF_WARPGROUP if unawaited else reason
            reason = _between(reason, first, second, order)
            self.obstacles.append(Obstacle(reason, second.line))
            return False
        finding = self._finding(first, second, relation, order)
        cause = order.line if order.strength is Strength.BROKEN else None
        conflict = Conflict(first, second, relation, witness, missing, finding, cause)
        condition = self._condition(conflict, size, of_all)
        is_beyond = self._is_beyond_rounds(first, second, relation, constraints)
        if not condition and (is_beyond or self._is_unusual(first, second, relation, constraints)):
            condition = f"as {witness}"
        is_again = first.number == second.number and first.instruction == second.instruction
        if not condition and is_again and is_free and self._may_be_one_value(first):
            condition = OF_VALUES
        if not condition and _write_equal_values(first, second, relation):
            condition = ONE_VALUE
        if condition:
            is_usual = condition == f"as {witness}" and size in self.small and not is_beyond
            is_usual = is_usual or _is_update_by_data(first, second)
            in_shared = {each.place.root.region for each in (first, second)} == {Region.SHARED}
            self.launches.append(
                replace(
                    conflict,
                    condition=condition,
                    is_usual=is_usual and in_shared and not is_again,
                )
            )
            self._leave_out(conflict)
            return True
        self.races.append(conflict)
        return False

    def _unawaited_product(
        self, first: Access, second: Access, relation: Relation
    ) -> Iterator[Constraint]:
        """The threads of a product and of an access to what it reads are of two warpgroups, or the
        access does not come after it.

        A wait says that the product of a warpgroup is done, or the part of it that a warp has.
        """
        is_in_rows = {"%tid.y", "%tid.z"} & self.kernel.specials
        if relation not in (Relation.WARP, Relation.CTA) or is_in_rows:
            return
        for one, other, threads in ((first, second, (0, 1)), (second, first, (1, 0))):
            if (one.agent, other.agent) != (Agent.PRODUCT, Agent.THREAD):
                continue
            index = self.kernel.table.thread("%tid.x", 32)
            group = quotient(Expressions(self.kernel.table), index, _WARPGROUP)
            ways: list[Constraint] = [Compare("ne", group, 0, group, 1)]
            around = self.kernel.loops_of(other.instruction)
            common = [each for each in self.kernel.loops_of(one.instruction) if each in around]
            if common:
                times = common[0].iteration
                ways.append(Compare("ule", times, threads[1], times, threads[0]))
            elif self.kernel.may_reach(other.instruction, one.instruction):
                ways.append(AllOf(()))
            yield AnyOf(tuple(ways))

    def _leave_out(self, conflict: Conflict) -> None:
        """Judge all others for launches without a conflict of stores that blocks have of another
        shape than the tile."""
        if not (conflict.first.writes and conflict.second.writes):
            return
        x, y, z, *_ = (*conflict.witness.block, 1, 1)
        own = tuple(tiles(self.kernel, conflict.first, conflict.second, conflict.relation))
        if self.kernel.required or all(each.holds((x, y, z)) for each in own):
            return
        self.launch = replace(self.launch, rooms=(*self.launch.rooms, *own))
        self.answers.clear()
        self.apart = {key: True for key, is_apart in self.apart.items() if is_apart}

    def _finding(self, first: Access, second: Access, relation: Relation, order: Order) -> Rule:
        """The rule of the registry about a conflict that an order does not order."""
        is_lifetime = first.number == second.number and first.instruction != second.instruction
        if min(first.number, second.number) < 0 and not is_lifetime:
            return Rule.MBARRIER_INIT  # Of _as_access: one initialises.
        if order.finding is not None:
            return order.finding
        if self._is_before_copy(first, second) or self._is_before_copy(second, first):
            return Rule.MISSING_BARRIER
        agents = {first.agent, second.agent}
        if not agents <= {Agent.THREAD, Agent.COPY}:
            return Rule.ASYNC_UNWAITED
        if Agent.COPY in agents and not self._is_waited_for(first, second):
            return Rule.ASYNC_UNWAITED
        if relation is Relation.CLUSTER:
            return Rule.CLUSTER_BARRIER
        return Rule.UNORDERED_SIGNAL if relation is Relation.GRID else Rule.MISSING_BARRIER

    def _is_before_copy(self, first: Access, second: Access) -> bool:
        """True of an access by a thread before a copy that is issued for another one."""
        reaches = self.kernel.may_reach
        return (
            first.agent is Agent.THREAD
            and second.agent not in (Agent.THREAD, Agent.COPY)
            and reaches(first.instruction, second.instruction)
            and not reaches(second.instruction, first.instruction)
        )

    def _is_waited_for(self, first: Access, second: Access) -> bool:
        """True where every path between two accesses passes a wait for copies."""
        waits = {
            each.instruction
            for each in self.kernel.groups
            if each.agent is Agent.COPY and (each.everything or each.pending is not None)
        }
        between = (first.instruction, second.instruction)
        return first is second or self.kernel.all_paths_pass(*between, waits.__contains__)

    def _condition_of_all(self, first: Access, second: Access, relation: Relation) -> str:
        """The condition of a race at a place that threads access all alike, in a kernel that does
        not ask how many there are; "" of another one."""
        if relation is Relation.GRID:
            if self.launch.grid is not None or any(map(_is_of_cta, (first, second))):
                return ""
            return "" if self._reads(("%nctaid",)) else _OF_ALL[1]
        is_given = self.kernel.required is not None
        is_alike = relation in (Relation.WARP, Relation.CTA) and self._is_one_thread
        return _OF_ALL[0] if is_alike and not is_given else ""

    def _witness(
        self,
        relation: Relation,
        constraints: Sequence[Constraint],
        launches: Sequence[Launch] = (),
    ) -> tuple[tuple[int, int], Witness | None]:
        """The threads of a small launch that satisfy constraints, and the largest sizes of it."""
        for launch in launches or self._exact_launches():
            witness = self._solver(relation, launch=launch).witness(constraints)
            if witness is not None:
                size = self.small[(launch.block or self.blocks[0]) > self.blocks[0]]
                is_large = launch in self._large_launches
                return _ANY if is_large else size, witness.apart(relation)
        if launches:
            return _ANY, None
        is_free = not self.kernel.required
        has_rows = len(self._solver(relation).dimensions("tid")) > 1
        # The shape of a block that is free is a condition in any size.
        asked = [(each, self._solver(relation, each)) for each in self.small]
        asked = [] if has_rows and is_free else asked
        many = (_MANY, self.kernel.most_threads)
        asked += [(_ANY, self._solver(relation, many, each)) for each in self._large_launches]
        for size, solver in (*asked, (_ANY, self._solver(relation))):
            witness = solver.witness(constraints)
            if witness is not None:
                return size, witness.apart(relation)
        return _ANY, None

    def _condition(self, conflict: Conflict, size: tuple[int, int], of_all: str) -> str:
        """The launches that have a race, if it needs more than a small one; "" if any has.

        ``of_all``: the condition of a race at a place that all threads access.
        """
        first, second = conflict.first, conflict.second
        contents = {
            self.contents[part].read.place.root.name
            for access in (first, second)
            for part in data_in(terms_of(access))
        }
        if contents:
            return f"some contents of {', '.join(sorted(contents))}, which addresses depend on"
        if self.launch.block is None or self.launch.grid is None:
            if condition := self._condition_of_launch(conflict, size, of_all):
                return condition
        is_one_cta = conflict.relation is not Relation.GRID
        parameters = {
            name for each in (first, second) for name in _parameters_of(each, is_one_cta=is_one_cta)
        }
        parameters |= _parameters_between(first, second)
        if parameters:
            return f"some values of {', '.join(sorted(parameters))}, which addresses depend on"
        if asked := _parameters_asked(first) if first is second else ():
            return f"some values of {', '.join(sorted(asked))}, on which all write this place"
        return ""

    def _condition_of_launch(self, conflict: Conflict, size: tuple[int, int], of_all: str) -> str:
        """The condition on the sizes of a launch that are not given; "" if there is none."""
        first, second = conflict.first, conflict.second
        # Places and roles that depend on no size of a CTA, and name no threads, have one in mind; a
        # barrier that is there, and is not waited for, says that there are several warps.
        is_asked = bool(_asks_size(first, second) or self.kernel.required)
        is_asked |= conflict.finding in (Rule.LDS_BARRIER, Rule.LDS_DMA_BARRIER)
        # Two places of a grid's threads may be so many apart as it has.
        is_asked &= conflict.relation is not Relation.GRID or first.place == second.place
        if size not in self.small[: 2 if is_asked or _names_threads(first, second) else 1]:
            return f"as {conflict.witness}"
        if of_all:
            return of_all
        dimensions = self._solver(conflict.relation).dimensions("tid")
        if len(dimensions) > 1 and self.kernel.required is None:
            return f"as {conflict.witness}: the block's shape is not in the text"
        return ""

    def _is_unusual(
        self, first: Access, second: Access, relation: Relation, constraints: Sequence[Constraint]
    ) -> bool:
        """True of a race that CTAs of usual sizes do not have, where their size is not known.

        Places may have one in mind, unless a condition tests it. Of another kernel that does not
        ask for it that may be one warp, so that two CTAs have to race with those.
        """
        if self.kernel.required:
            return False

        excludes = partial(self._excludes, relation, constraints)
        meant = set[int]()
        if relation is Relation.GRID and not any(map(_tests_size, (first, second))):
            meant = {*map(block_meant, (first, second))} - {0, 1}
        if any(all(excludes((each, 1, 1), ctas) for ctas in (2, 8)) for each in meant):
            return True
        if relation is not Relation.GRID and self._told_apart:
            if excludes((self._told_apart, 1, 1)):
                return True
        if relation is Relation.GRID and not _asks_size(first, second):
            return excludes((self.kernel.lanes, 1, 1))
        return all(map(excludes, self.blocks[:2]))  # Of one dimension.

    def _excludes(
        self,
        relation: Relation,
        constraints: Sequence[Constraint],
        block: tuple[int, int, int],
        ctas: int = 2,
    ) -> bool:
        launch = Launch(block, self.launch.grid or (ctas, 1, 1))
        answer = self._solver(relation, launch=launch).satisfiable(constraints)
        return answer is Answer.UNSATISFIABLE

    def _is_beyond_rounds(
        self, first: Access, second: Access, relation: Relation, constraints: Sequence[Constraint]
    ) -> bool:
        """True of a race that no CTA has of as many threads as a round of the places' loops, which
        are warps. A CTA without barriers may be one, or half of one that has 64 lanes.
        """
        if self.kernel.required or relation is Relation.GRID or _asks_size(first, second):
            return False
        meant, lanes = block_of_rounds(first, second), self.kernel.lanes
        is_of_warps = meant > lanes and not meant % lanes
        if not self.kernel.barriers:
            is_of_warps |= meant in (_FEWEST_LANES, lanes)
        return is_of_warps and self._excludes(relation, constraints, (meant, 1, 1))

    def _may_agree(self, store: Access, relation: Relation, answer: Answer) -> bool:
        """True of lanes that may store to one place together, and then one value: assumed."""
        is_unknown = store.value is None or self._data_in(terms_of(store)) is not None
        is_unknown |= answer is Answer.UNKNOWN
        if relation is not Relation.WARP or not self._is_at_once(store, store):
            return False
        if is_unknown or self._may_be_one_value(store):
            self.assumptions.add(Assumption.LANES_AGREE)
            return True
        return False

    def _may_be_one_value(self, access: Access) -> bool:
        """True if a store by several threads to one place may be of one value: one from memory
        whose place is one for all of a CTA, or one that lanes have computed together."""
        form = access.place.offset
        if form is None or access.reads:
            return False
        if access.value is not None:
            data = [*filter(is_data, leaves((access.value,)))]
            if not data:
                return False
            reads = self.kernel.accesses_at
            if any(isinstance(leaf, Result) and leaf.instruction not in reads for leaf in data):
                return True
        return all(is_alike(value, is_one_cta=True) for value, _ in form.terms)


_RANK = {
    Strength.ABSENT: 0,
    Strength.UNKNOWN: 1,
    Strength.BROKEN: 2,
    Strength.PROVED: 3,
}


def _shape(access: Access) -> object:
    """All that a question about two accesses' places and conditions depends on."""
    loops = tuple(
        leaf.number
        for leaf in sorted(leaves(literal.value for literal in access.conditions), key=_number)
        if isinstance(leaf, Iteration)
    )
    return access.place, access.size, frozenset(access.conditions), loops


def _is_plain(access: Access) -> bool:
    """True of a weak access by the thread itself to coherent memory."""
    return access.agent is Agent.THREAD and access.is_coherent and not access.is_strong


def _number(value: Value) -> int:
    return value.number


def _key(root: Root) -> tuple[Region, str]:
    return root.region, root.name


def _space(root: Root) -> str:
    if root.region is Region.UNKNOWN:
        return root.name
    return "shared" if root.region is Region.SHARED else "global"


def _is_unknown(root: Root) -> bool:
    return root.region is Region.UNKNOWN


def _may_alias(left: Root, right: Root) -> bool:
    """True of one object, or of an unknown one and any in its space."""
    if Region.UNKNOWN in (left.region, right.region):
        spaces = {_space(left), _space(right)}
        return Region.TENSOR not in (left.region, right.region) and (
            len(spaces) == 1 or "" in spaces
        )
    return left == right


def _are_morally_strong(first: Access, second: Access, relation: Relation) -> bool:
    """True of two strong accesses whose scopes include both threads, of as many bytes.

    Source: PTX ISA, "Morally Strong Operations".
    """
    if not (first.is_strong and second.is_strong) or first.size != second.size:
        return False
    if first.proxy is not second.proxy:
        return False
    if first.scope is None or second.scope is None:
        return False
    scope = relation.scope
    return first.scope.includes(scope) and second.scope.includes(scope)


def _is_update_by_data(first: Access, second: Access) -> bool:
    """True of an atomic at a place that memory decides, as in a histogram, and of another access
    at a thread's own place: nearly all contents let two threads meet."""
    sides = (first, second)
    decided = [each for each in sides if any(data_in(terms_of(each)))]
    return len(decided) == 1 and decided[0].is_atomic and not all(x.is_atomic for x in sides)


def _write_equal_values(first: Access, second: Access, relation: Relation) -> bool:
    """True of plain writes of one value, which all threads have alike, to one place."""
    value, form = first.value, first.place.offset
    if value is None or value is not second.value or form is None or form != second.place.offset:
        return False
    if first.size != second.size or first.reads or second.reads:
        return False
    is_one_cta = relation in (Relation.WARP, Relation.CTA)
    return is_alike(value, is_one_cta=is_one_cta) and all(
        is_alike(part, is_one_cta=is_one_cta) for part, _ in form.terms
    )


def _obstacle_of(first: Access, second: Access) -> Obstacle | None:
    for access in (first, second):
        if access.obstacle:
            return Obstacle(access.obstacle, access.line)
    if first.place.root != second.place.root:
        return Obstacle("an address that is not known", first.line)
    return None


def _certain(access: Access) -> Access:
    """An access with the bytes alone that it accesses in any case; itself if none are known."""
    if access.least is None or access.place.offset is None:
        return access
    return replace(access, size=access.least, obstacle="", least=None)


def _names_threads(*accesses: Access) -> bool:
    """True of a condition on the thread's index that no parameter has a part in."""
    parts = (leaves((each.value,)) for access in accesses for each in access.conditions)
    return any(
        any(isinstance(leaf, Thread) for leaf in own)
        and not any(isinstance(leaf, Param) for leaf in own)
        for own in parts
    )


def _tests_size(access: Access) -> bool:
    """True of a condition on the size of the CTA that no index of a thread has a part in."""
    parts = (leaves((each.value,)) for each in access.conditions)
    return any(
        any(str(getattr(leaf, "constant", "")).startswith("%ntid") for leaf in own)
        and not any(isinstance(leaf, Thread | Iteration) for leaf in own)
        for own in parts
    )


def _asks_size(*accesses: Access) -> bool:
    """True of a place or a condition that the size of the CTA has a part in."""
    return any(
        str(getattr(leaf, "constant", "")).startswith("%ntid")
        for each in accesses
        for leaf in leaves((*terms_of(each), *(own.value for own in each.conditions)))
    )


def _parameters_of(access: Access, *, is_one_cta: bool) -> set[str]:
    """The parameters in the terms of a place that two threads may not have alike."""
    return {
        leaf.name
        for value in terms_of(access)
        if not is_alike(value, is_one_cta=is_one_cta)
        for leaf in leaves((value,))
        if isinstance(leaf, Param)
    }


def _parameters_between(first: Access, second: Access) -> set[str]:
    """The parameters that set two places of one object apart, as ``n`` does two columns."""
    one, other = first.place.offset, second.place.offset
    if one is None or other is None:
        return set()
    return {
        leaf.name
        for value, _ in {*one.terms} ^ {*other.terms}
        for leaf in leaves((value,))
        if isinstance(leaf, Param) and is_alike(value, is_one_cta=False)
    }


def _parameters_asked(access: Access) -> set[str]:
    """The parameters that decide alone if all threads write one place, as a benchmark has it of
    results that nobody wants."""
    if not all(is_alike(value, is_one_cta=False) for value in terms_of(access)):
        return set()
    decided = (each.value for each in access.conditions if is_alike(each.value, is_one_cta=False))
    return {leaf.name for leaf in leaves(decided) if isinstance(leaf, Param)}


def _is_of_cta(access: Access) -> bool:
    """True of an access that depends on the CTA's index, by its place or its conditions."""
    form = access.place.offset
    values = [literal.value for literal in access.conditions]
    values += [value for value, _ in form.terms] if form is not None else []
    return any(not _is_without_cta(value) for value in values)


def _is_without_cta(value: Value) -> bool:
    return not any(
        str(getattr(leaf, "constant", "")).startswith(("%ctaid", "%clusterid", "%cluster"))
        for leaf in leaves((value,))
    )


def _asked(kernel: Kernel, accesses: Iterable[Access]) -> set[int]:
    """The instructions on whose results conditions, and places and stored values of accesses,
    depend."""
    values: list[Value] = []
    for literals in (*kernel.edge_literals.values(), *kernel.guards.values()):
        values += [literal.value for literal in literals]
    for access in accesses:
        values += [*terms_of(access), *([] if access.value is None else [access.value])]
    return _results_in(kernel, values)


def _results_in(kernel: Kernel, values: Iterable[Value]) -> set[int]:
    """The instructions on whose results values depend, also by way of instructions that are not
    followed."""
    found = origins_of(values, kernel.origins, kernel.recurrences)
    return {leaf.instruction for leaf in found if isinstance(leaf, Result)}


def _missing(relation: Relation) -> str:
    if relation in (Relation.WARP, Relation.CTA):
        return NO_BARRIER
    return "nothing orders them"


def _between(reason: str, first: Access, second: Access, order: Order) -> str:
    known = f"; {order.reason}" if order.reason and order.strength is not Strength.ABSENT else ""
    return f"{reason}: lines {first.line} and {second.line} may conflict{known}"


def _note(first: Access, second: Access, order: Order) -> Note:
    read, write = (first, second) if second.writes else (second, first)
    is_of_proxies = not {first.agent, second.agent} <= {Agent.THREAD, Agent.COPY}
    finding = Rule.PROXY_READS if is_of_proxies else Rule.UNORDERED_SIGNAL
    return Note(read.line, write.line, order.rule, finding)
