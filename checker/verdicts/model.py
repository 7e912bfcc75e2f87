"""Data types of verdicts without a launch: accesses, conditions, orders, and the kernel that has
them.

A vendor's filler makes one ``Kernel`` of each function; all that comes after it, conflicts, orders
and verdicts, knows no vendor.

**Rules of order.** A rule is a function ``def order(kernel, earlier, later, pair) -> Order`` in a
module of its own, registered as one row, ``OrderRule(name, relations, order)``, in ``RULES`` of
``checker/verdicts/judge.py``. For a conflict of two accesses the rows are tried in the order of the
table, first with one access as the earlier, then with the other. The first ``Order`` that is proved
ends the question; else a broken one is reported (the first in the table), else an unknown one, else
the conflict has no order at all. A rule that does not apply returns ``NO_ORDER``.

**Threads.** A conflict is about threads 0 and 1; ``pair.earlier`` and ``pair.later`` say which of
them executes which access, so that the constraints of the conflict hold in either direction. A
rule may speak of a third thread (2, 3, ..) in its constraints: it is any thread of the grid.

**Intervals.** ``intervals.full_barriers(kernel, level) -> frozenset[int]`` are the barriers at
which all threads of a level meet; ``intervals.shared(kernel, first, second, barriers) ->
tuple[Constraint, ...]`` has one constraint, about iterations of loops, for each interval between
``barriers`` that both accesses may be in, ``first`` by thread 0 and ``second`` by thread 1: none
where a barrier always stands between. A rule that recognises a barrier gives its instructions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

from fencewright.checker.findings.finding import Rule, VerdictKind
from fencewright.lowering.code.dominance import Spans, dominates, spans_of
from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.code.records import record
from fencewright.lowering.code.value import Value, ValueTable
from fencewright.lowering.vocabulary import MOST_THREADS, FastStrEnum, Scope

RememberedT = TypeVar("RememberedT")
_NOT_MADE: Any = object()


class Region(FastStrEnum):
    """The kind of memory object that an address begins with."""

    SHARED = "shared variable"
    GLOBAL = "global variable"
    PARAMETER = "parameter"
    POINTER = "pointer from memory"
    TENSOR = "tensor memory"
    UNKNOWN = "unknown"


OBJECTS_APART = 1 << 40
"""The bytes that the objects of a table of pointers are taken to be apart, by its bytes: an object
is one of its root, at the entry's place times this."""


@record()
class Root:
    """A memory object: ``name`` of a variable or parameter, or of the load that returned a pointer.

    ``size`` in bytes; None: not known. Objects of different roots do not overlap; for parameters
    and pointers that is an assumption, and of an unknown root nothing is known.
    """

    region: Region
    name: str
    size: int | None = None


@record()
class LinearForm:
    """A sum: ``constant`` and ``terms``, values of 64 bits each so many times, sorted by number."""

    constant: int
    terms: tuple[tuple[Value, int], ...] = ()


@record()
class Place:
    """``offset`` bytes from the beginning of a root; None: not a linear form of known values.

    ``rank``: the CTA of the cluster whose shared memory it is in (``mapa``); None: the thread's
    own.
    """

    root: Root
    offset: LinearForm | None
    rank: Value | None = None

    def is_apart(self, size: int | None, other: "Place", other_size: int | None) -> bool:
        """True of so many bytes here, and so many at another place of its root, that constants
        alone set apart."""
        one, two = self.offset, other.offset
        if one is None or two is None or one.terms or two.terms:
            return False
        distance = two.constant - one.constant
        is_after = size is not None and distance >= size
        return is_after or (other_size is not None and -distance >= other_size)


@record()
class Literal:
    """A condition: ``value`` of one bit is 1 if ``polarity``, else 0.

    ``branch``: the block whose branch tests it; -1 for the guard of an instruction.
    """

    value: Value
    polarity: bool
    branch: int = -1


class Agent(FastStrEnum):
    """The agent that performs an access for its issuer."""

    THREAD = "thread"
    COPY = "cp.async"
    TRANSACTION = "bulk copy on an mbarrier"
    GROUP = "bulk copy in a group"
    PRODUCT = "wgmma in a group"
    TENSOR = "tensor operation"


GROUPED = frozenset({Agent.COPY, Agent.GROUP, Agent.PRODUCT})
"""Those whose accesses are done where their issuer has waited for a group."""
UNGROUPED = frozenset({Agent.TRANSACTION, Agent.TENSOR})
"""Those whose accesses are done where an mbarrier says so."""
ASYNCHRONOUS = frozenset({Agent.TRANSACTION, Agent.GROUP, Agent.PRODUCT, Agent.TENSOR})
"""Those that threads are ordered with by a fence between the proxies."""


END = "the end of the kernel"
"""The text of the access that stands for it: shared memory ends with its block."""


@record()
class Access:
    """One access of an instruction, whose number in the function is ``instruction``.

    ``size`` in bytes; None: not known. ``number``: of the access in the kernel. ``value``: what
    it writes, ``parts`` of a vector; ``result``: what it reads, as conditions name it.
    ``mbarrier``: the one that its completion is counted at. ``is_coherent``: not
    ``ld.global.nc`` and the like. ``update``: the word of an atomic read-modify-write, ``add``
    or ``cas``, with ``compared`` of a ``cas``. ``conditions``: under which it is executed.
    ``obstacle``: why it is not known what it accesses; ``least``: bytes from its place on that
    it accesses in any case. ``is_done``: the instruction is the wait after which a copy is
    done, instead of its issue. ``queue``: what counts it until others of its CTA find it done;
    "" where a barrier is enough.
    """

    number: int
    instruction: int
    line: int
    text: str
    place: Place
    size: int | None
    reads: bool
    writes: bool
    conditions: tuple[Literal, ...]
    is_strong: bool = False
    acquires: bool = False
    releases: bool = False
    scope: Scope | None = None
    agent: Agent = Agent.THREAD
    proxy: Proxy = Proxy.GENERIC
    mbarrier: Place | None = None
    value: Value | None = None
    parts: tuple[Value, ...] = ()
    result: Value | None = None
    update: str = ""
    compared: Value | None = None
    is_coherent: bool = True
    obstacle: str = ""
    least: int | None = None
    is_done: bool = False
    queue: str = ""

    @property
    def is_atomic(self) -> bool:
        """True of a read-modify-write that no other access divides."""
        return self.update != ""


@dataclass(frozen=True, slots=True)
class Fence:
    """A fence. ``proxies``: those that it orders with the generic one; without any it orders
    memory.

    ``regions``: the memory that a fence between proxies is about; empty: all. ``is_one_sided``: it
    is one for reads, or writes, of others of a cluster alone. ``place``: the map that a fence of
    the tensor-map proxy is about. ``of_mbarriers``: it releases initialisations of mbarriers alone.
    ``is_sequential``: it is in one order with all others of that kind.
    """

    instruction: int
    scope: Scope
    acquires: bool
    releases: bool
    proxies: frozenset[Proxy] = frozenset()
    regions: frozenset[Region] = frozenset()
    is_one_sided: bool = False
    place: Place | None = None
    of_mbarriers: bool = False
    is_sequential: bool = False


@record()
class Barrier:
    """A barrier of a warp, a CTA or a cluster (``level``), or an arrival at one.

    ``name``: its number as a value, None for barrier 0. ``count``: of threads, None for all.
    ``arrives``, ``waits``: both, unless it is split. ``acquires``, ``releases``: not those of
    relaxed forms. ``mask``: of a warp, None for all of it. ``ends``: of one in two parts, which is
    where it arrives, the instructions that wait.
    """

    instruction: int
    level: Scope
    conditions: tuple[Literal, ...]
    name: Value | None = None
    count: Value | None = None
    arrives: bool = True
    waits: bool = True
    acquires: bool = True
    releases: bool = True
    mask: Value | None = None
    ends: tuple[int, ...] = ()


class Step(FastStrEnum):
    """The kind of an operation on an mbarrier."""

    INIT = "init"
    EXPECT = "expect"
    ARRIVE = "arrive"
    WAIT = "wait"
    INVALIDATE = "invalidate"


@dataclass(frozen=True, slots=True)
class MbarrierStep:
    """An operation on an mbarrier. Source: PTX ISA, mbarrier.

    ``count``: of threads that have to arrive (init), of arrivals; ``bytes``: expected; ``phase``:
    a parity, or the state that an arrival returned (``is_parity`` tells); ``result``: whether the
    phase of a wait is complete, or the state that an arrival returns. ``copies``: the arrival is
    made by the thread's copies when they are done (``cp.async.mbarrier.arrive``). ``retries``: a
    wait that is done again, within the instruction, until it succeeds. ``drops``: the arrival is
    the last one that is counted. ``expected``: of a named barrier of the CTA, at which some only
    arrive, the threads that it counts; an mbarrier's are those of its initialisation.
    """

    instruction: int
    step: Step
    place: Place
    conditions: tuple[Literal, ...]
    acquires: bool = False
    releases: bool = False
    scope: Scope = Scope.WORKGROUP
    count: Value | None = None
    bytes: Value | None = None
    phase: Value | None = None
    is_parity: bool = False
    result: Value | None = None
    copies: bool = False
    retries: bool = False
    drops: bool = False
    expected: Value | None = None


@record()
class Group:
    """The commitment of a thread's copies to a group, or a wait for its groups.

    ``pending``: how many groups may be left by a wait, None for a commitment. ``everything``: a
    wait for all copies, also for those not committed. ``reads_only``: what the copies read, not
    what they write. ``queue``: whose accesses it counts, in place of an agent's.
    """

    instruction: int
    agent: Agent
    conditions: tuple[Literal, ...]
    pending: int | None = None
    everything: bool = False
    reads_only: bool = False
    queue: str = ""


@dataclass(frozen=True, slots=True)
class SyncGroup:
    """Strong reads or waits with their conditions: a thread in a block has found one of them true.

    One member for each edge into the block; several are the polls of an unrolled loop, and count as
    one wait. ``instruction`` of each is the read or wait, and its ``Literal`` the condition on its
    result.
    """

    block: int
    members: tuple[tuple[int, Literal], ...]


# Constraints over the values of several threads


@record()
class Holds:
    """A condition is true for a thread."""

    literal: Literal
    thread: int


@record()
class Compare:
    """A comparison, ``eq ne ult ule``, of a value of one thread and a value of another."""

    operation: str
    left: Value
    left_thread: int
    right: Value
    right_thread: int


@record()
class Overlap:
    """Two accesses, each of a thread, have a byte in common."""

    left: Access
    left_thread: int
    right: Access
    right_thread: int


@dataclass(frozen=True, slots=True)
class Together:
    """Two threads are in one CTA, warp or cluster (``level``); None: they are one thread."""

    left_thread: int
    right_thread: int
    level: Scope | None


@dataclass(frozen=True, slots=True)
class Not:
    """A constraint does not hold."""

    constraint: "Constraint"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of several constraints holds; of none, none does."""

    constraints: tuple["Constraint", ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of several constraints hold."""

    constraints: tuple["Constraint", ...]


Constraint = Holds | Compare | Overlap | Together | Not | AnyOf | AllOf


class Answer(FastStrEnum):
    """An answer to the question if constraints have a solution; unknown where a solver is missing
    or came to its limit."""

    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    UNKNOWN = "unknown"


class Solver(Protocol):
    """Decides constraints over the threads of one launch, with the known facts of the launch."""

    def satisfiable(self, constraints: Sequence[Constraint]) -> Answer:
        """SATISFIABLE where some launch, some threads and some values of memory satisfy all
        constraints."""
        ...

    @property
    def launch(self) -> object:
        """The sizes of the launch, as far as they are known."""
        ...

    @property
    def most_threads(self) -> int:
        """The most threads that a CTA has."""
        ...

    def of_relation(self, relation: "Relation") -> "Solver":
        """A solver of questions about threads of the launch that stand in a relation."""
        ...


# Orders


class Relation(FastStrEnum):
    """The relation of the two threads of a conflict; each excludes those before it."""

    THREAD = "the same thread"
    WARP = "another lane of its warp"
    CTA = "another warp of its CTA"
    CLUSTER = "another CTA of its cluster"
    GRID = "another CTA"

    @property
    def scope(self) -> Scope:
        """The narrowest scope that includes both threads."""
        return _SCOPES[self]


_SCOPES: Mapping[Relation, Scope] = {
    Relation.THREAD: Scope.SINGLETHREAD,
    Relation.WARP: Scope.WORKGROUP,
    Relation.CTA: Scope.WORKGROUP,
    Relation.CLUSTER: Scope.CLUSTER,
    Relation.GRID: Scope.AGENT,
}


@dataclass(frozen=True, slots=True)
class ThreadPair:
    """Two threads of a conflict: their relation, and the number of the one that executes each
    access.

    ``constraints``: those under which the conflict happens, of threads 0 and 1.
    """

    relation: Relation
    constraints: tuple[Constraint, ...]
    solver: Solver
    earlier: int = 0
    later: int = 1

    def satisfiable(self, *more: Constraint) -> Answer:
        """SATISFIABLE where the conflict may happen while ``more`` constraints hold too."""
        return self.solver.satisfiable((*self.constraints, *more))


class Strength(FastStrEnum):
    """The answer of a rule about an order."""

    PROVED = "proved"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    ABSENT = "absent"


class Assumption(FastStrEnum):
    """An assumption of a proof; it is printed with it."""

    NO_WRAP = "addresses do not wrap around"
    IN_BOUNDS = "accesses of variables are within them"
    NO_ALIAS = "parameters do not alias"
    POINTERS = "pointers that are loaded do not alias parameters"
    TABLES = "the pointers of a table are apart, and other devices do not race through them"
    FLAGS_ZERO = "flags and counters are 0 at the start"
    PHASES = "phase registers are toggled once for each phase"
    NAMED_BARRIERS = "named barriers count all threads that come to them"
    ONE_DIMENSION = "dimensions that tell no accesses apart are 1"
    READ_BEFORE_WRITE = "a read that only execution orders before a write is done"
    ONE_CTA = "the grid is one CTA, as the kernel reads no block index"
    EQUAL_VALUES = "threads that write equal values to one place leave that value"
    LANES_AGREE = "lanes of a wave that write one place at once write one value"
    ONE_THREAD = "a CTA is one thread, as the kernel reads no thread index"
    TENSOR_BYTES = "tensor copies have the bytes that their mbarriers expect"
    DEPENDENTS_WAIT = "grids that start early wait for this one before they access its memory"
    GRID_BEFORE = "the grid before does not write what this one reads before it waits for it"
    ROWS = "rows do not overlap: an index within one is below the parameter that rows are apart by"
    ROOM = "a CTA has no more threads than the variables have room for that all of them index"
    GRID_SIZE = "a grid has at most 1048576 CTAs in x"
    NO_CLUSTERS = "the launch has no clusters of work-groups"


@dataclass(frozen=True, slots=True)
class Order:
    """An order of two accesses by one rule. ``reason``: what breaks it, or why it is not known.

    ``line``: of the instruction that the reason is about. ``is_note``: proved by execution alone
    (a read before a write), which a verdict says as a note. ``is_limit``: not known because the
    solver came to its limit, or is missing. ``unless``: where an order is absent or broken, the
    constraint under which it is. ``finding``: the rule of the registry that a broken order is a
    finding of; None for that of a conflict without an order.
    """

    strength: Strength
    rule: str = ""
    reason: str = ""
    line: int | None = None
    assumptions: frozenset[Assumption] = frozenset()
    is_note: bool = False
    is_limit: bool = False
    unless: Constraint | None = None
    finding: Rule | None = None


NO_ORDER = Order(Strength.ABSENT)
"""The answer of a rule that does not apply."""


Numbers = tuple[int, ...]
"""Sizes or indices by dimension, x first, as far as a kernel tells its threads apart."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A launch, and two threads of it: their indices in their CTAs, and those of their CTAs.

    ``parameters``: the values of those that decide it, by name, ``name+8`` for a part of one.
    """

    block: Numbers
    grid: Numbers
    threads: tuple[Numbers, Numbers]
    ctas: tuple[Numbers, Numbers]
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])

    def apart(self, relation: Relation) -> Self:
        """It with two CTAs where threads of two are meant: a kernel that reads no index of its CTA,
        but its rank in a cluster, does not tell them apart."""
        one, other = self.ctas
        if relation is not Relation.GRID or one != other:
            return self
        return replace(self, ctas=(one, (other[0] - 1 if other[0] else 1, *other[1:])))

    def thread(self, number: int) -> str:
        """One of the two threads as a message names it."""
        thread, cta = self.threads[number], self.ctas[number]
        return f"thread {_written(thread)} of CTA {_written(cta)}"

    def __str__(self) -> str:
        return " ".join(
            f"--{name} {','.join(map(str, sizes))}"
            for name, sizes in (("grid", self.grid), ("block", self.block))
        )


NO_BARRIER = "no barrier between"
NOT_EVERY_ITERATION = "the wait does not order every iteration"
ONE_AS = "one as "
"""The beginning of the condition of a race that the launch after it shows."""

OF_VALUES = "threads whose values differ: each writes this place"
ONE_VALUE = "several threads that write one value: they leave that value, yet it is a race"
"""The condition of a race of stores that no outcome shows."""


def _written(numbers: Numbers) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"({', '.join(map(str, numbers))})"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses that meet, with two threads of a launch that do it.

    ``missing``: the order that is broken, as a phrase. ``finding``: the rule of the registry.
    ``cause``: the line of the instruction that should order them, None where nothing does.
    ``condition``: of the launches that have it, "" if any has; ``is_usual``: a block of 256 threads
    or fewer is the whole condition, or nearly all contents of memory satisfy it.
    """

    first: Access
    second: Access
    relation: Relation
    witness: Witness
    missing: str
    finding: Rule
    cause: int | None = None
    condition: str = ""
    is_usual: bool = False

    @property
    def threads(self) -> tuple[str, str]:
        """The two threads as a message names them."""
        return self.witness.thread(0), self.witness.thread(1)

    @property
    def launch(self) -> str:
        """The launch as options give it."""
        return str(self.witness)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A reason why a kernel is not judged, and the line that it is about; 0: about no line."""

    reason: str
    line: int


@dataclass(frozen=True, slots=True)
class OneSide:
    """A signal or a wait, ``access``, that orders nothing, with any partner in another kernel.

    ``payload``: what it should order; None for a wait that need not end. ``missing``: a phrase.
    ``is_sure``: that it is meant to order something. ``is_barrier``: the signal is a barrier, after
    which ``access`` comes, or before it where that is the payload itself. ``about``: other lines
    that it is about. ``remedy``: a phrase, "" for that of its rule.
    """

    access: Access
    payload: Access | None
    missing: str
    finding: Rule
    is_sure: bool
    is_barrier: bool = False
    about: tuple[int, ...] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A read and a later write, by their lines, that only execution orders, and the reason."""

    read: int
    write: int
    by: str
    finding: Rule


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a function. ``by``: the rules of the proof, sorted.

    ``condition``: of the launches that have a race. ``notes``: reads that only execution orders
    before a write. ``sides``: halves of protocols that order nothing. ``suspects``: conflicts of a
    function that is not judged, which an execution may show to be races.
    """

    kind: VerdictKind
    by: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    condition: str = ""
    obstacles: tuple[Obstacle, ...] = ()
    notes: tuple[Note, ...] = ()
    sides: tuple[OneSide, ...] = ()
    suspects: tuple[Conflict, ...] = ()


# The kernel


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: its head, its blocks, and those that lead back. ``iteration``: its number."""

    head: int
    blocks: frozenset[int]
    latches: tuple[int, ...]
    iteration: Value


def loops_by_block(loops: Iterable[Loop]) -> Mapping[int, tuple[Loop, ...]]:
    """Those of some loops that each block is in, in their order."""
    around: dict[int, list[Loop]] = {}
    for loop in loops:
        for block in loop.blocks:
            around.setdefault(block, []).append(loop)
    return {block: tuple(own) for block, own in around.items()}


@dataclass(frozen=True)
class Kernel:
    """A decoded function, and the questions that rules of order have.

    An instruction is its number in the function, in the order of the text; ``instructions`` has
    those of each block. ``exits``: the instructions at which a thread ends. ``required``: threads
    of a CTA in each dimension, where the text says so. ``obstacles``: what makes the function
    unjudgeable before any conflict is looked for. ``block_conditions``: those of dominating
    branches; ``guards``: an instruction's own; ``edge_literals``: those of a branch's edge, all of
    which hold on it. ``recurrences``: of a loop's register of which no formula is known, the loop's
    iteration, and the register's value at entry and at the end of each iteration. ``origins``: of
    a result of which no formula is known, the values that it is computed from. ``undecided``:
    branches that another lane may decide, so that a path through one may be none.
    ``assumes``: whatever is proved rests on these. ``specials``: the names of indices and sizes
    that the text reads, ``%tid.x``, ``%nctaid.y``. ``ends``: what the end of a thread does to a
    copy's source in shared memory, as accesses that are none of the thread's. ``lanes`` of a warp;
    with ``is_lock_step`` they execute one instruction after another together, so that their own
    accesses are in its order. ``most_threads`` of a CTA. ``exchanges``: of a value that each
    lane of a whole warp, in no loop, has from the lane whose number differs in one bit, the
    value there, and the bit. ``commutative``: operations whose two values may change places.
    ``ordered_queues``: those whose copies of one warp are performed in the order of their
    issue. ``handing`` and ``meeting`` make the lemmas of a vendor other than NVIDIA: of a
    flag's accesses, and of a barrier between two accesses (``VendorLemma``); ``halves`` finds
    its halves of protocols, also of a kernel with obstacles, as the function of that name has
    it.
    """

    name: str
    table: ValueTable
    graph: Graph[int]
    entry: int
    dominators: Mapping[int, int]
    loops: Mapping[int, Loop]
    instructions: Mapping[int, tuple[int, ...]]
    lines: Mapping[int, int]
    accesses: tuple[Access, ...]
    fences: tuple[Fence, ...]
    barriers: tuple[Barrier, ...]
    mbarriers: tuple[MbarrierStep, ...]
    groups: tuple[Group, ...]
    exits: frozenset[int]
    block_conditions: Mapping[int, tuple[Literal, ...]]
    guards: Mapping[int, tuple[Literal, ...]]
    sync_groups: tuple[SyncGroup, ...]
    edge_literals: Mapping[tuple[int, int], tuple[Literal, ...]]
    recurrences: Mapping[Value, tuple[Value, ...]] = field(
        default_factory=dict[Value, tuple[Value, ...]]
    )
    origins: Mapping[Value, tuple[Value, ...]] = field(
        default_factory=dict[Value, tuple[Value, ...]]
    )
    undecided: tuple[int, ...] = ()
    assumes: frozenset[Assumption] = frozenset()
    required: tuple[int, int, int] | None = None
    specials: frozenset[str] = frozenset()
    ends: tuple[Access, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    lanes: int = 32
    is_lock_step: bool = False
    most_threads: int = MOST_THREADS
    exchanges: Mapping[Value, tuple[Value, int]] = field(
        default_factory=dict[Value, tuple[Value, int]]
    )
    commutative: frozenset[str] = frozenset()
    ordered_queues: frozenset[str] = frozenset()
    handing: Callable[..., Any] | None = field(default=None, compare=False)
    meeting: Callable[..., Any] | None = field(default=None, compare=False)
    halves: Callable[..., Sequence[OneSide]] | None = field(default=None, compare=False)
    _memo: dict[object, Any] = field(default_factory=dict[object, Any], repr=False, compare=False)

    @cached_property
    def block_of(self) -> Mapping[int, int]:
        """The block of each instruction."""
        return {each: block for block, own in self.instructions.items() for each in own}

    @cached_property
    def fence_at(self) -> Mapping[int, Fence]:
        """The fence that an instruction is."""
        return {each.instruction: each for each in self.fences}

    @cached_property
    def barrier_at(self) -> Mapping[int, Barrier]:
        """The barrier that an instruction is."""
        return {each.instruction: each for each in self.barriers}

    @cached_property
    def mbarrier_at(self) -> Mapping[int, tuple[MbarrierStep, ...]]:
        """The operations on an mbarrier that an instruction is: a barrier arrives, then waits."""
        by: dict[int, list[MbarrierStep]] = {}
        for each in self.mbarriers:
            by.setdefault(each.instruction, []).append(each)
        return {number: tuple(own) for number, own in by.items()}

    @cached_property
    def group_at(self) -> Mapping[int, Group]:
        """The commitment of copies, or wait for them, that an instruction is."""
        return {each.instruction: each for each in self.groups}

    @cached_property
    def accesses_at(self) -> Mapping[int, tuple[Access, ...]]:
        """The accesses of an instruction that has some."""
        by: dict[int, list[Access]] = {}
        for each in self.accesses:
            by.setdefault(each.instruction, []).append(each)
        return {number: tuple(own) for number, own in by.items()}

    def remembered(self, key: object, make: Callable[[], RememberedT]) -> RememberedT:
        """A result of an analysis of the kernel, made once for each key."""
        found = self._memo.get(key, _NOT_MADE)
        if found is _NOT_MADE:
            found = self._memo[key] = make()
        return found

    def conditions(self, instruction: int) -> tuple[Literal, ...]:
        """The conditions under which an instruction is executed: of dominating branches, and its
        guard."""
        own = self.block_conditions[self.block_of[instruction]]
        return (*own, *self.guards.get(instruction, ()))

    def dominates(self, above: int, instruction: int) -> bool:
        """True where every path from the entry to ``instruction`` passes ``above`` before it."""
        upper, lower = self.block_of[above], self.block_of[instruction]
        return above < instruction if upper == lower else self.leads_through(upper, lower)

    def leads_through(self, above: int, block: int) -> bool:
        """True where every path from the entry to ``block`` leads through the block ``above``."""
        return dominates(self._spans, above, block)

    def may_reach(self, start: int, end: int) -> bool:
        """True where a path leads from just after ``start`` to ``end``."""
        if self.block_of[start] == self.block_of[end] and start < end:
            return True
        return self.block_of[end] in self._reachable_after(self.block_of[start])

    def all_paths_pass(
        self,
        start: int | None,
        end: int | None,
        predicate: Callable[[int], bool],
        conditions: Iterable[Literal] = (),
    ) -> bool:
        """True where every path from just after ``start`` to just before ``end`` passes such an
        instruction.

        None: from the entry, or to an exit (exits stand for the instructions where threads end).
        A path is one of the graph, whatever its branches test, but for those that contradict
        ``conditions``: of a thread that takes the path, at all times. Guarded instructions count as
        the predicate says.
        """
        excluded = {(each.value, not each.polarity) for each in conditions}

        def after(block: int) -> list[int]:
            return [
                target
                for target in self.graph.successors[block]
                if not excluded
                or not any(
                    (each.value, each.polarity) in excluded
                    for each in self.edge_literals.get((block, target), ())
                )
            ]

        if start is None:
            work, seen = [self.entry], {self.entry}
        else:
            block = self.block_of[start]
            own = [each for each in self.instructions[block] if each > start]
            end_here = end if end in own else None
            if self._is_hit(own, end_here, predicate):
                return True
            if end_here is not None or (end is None and self.exits.intersection(own)):
                return False
            work = after(block)
            seen = set(work)
        while work:
            block = work.pop()
            own = list(self.instructions[block])
            ends_here = end in own if end is not None else bool(self.exits.intersection(own))
            if self._is_hit(own, end if ends_here else None, predicate):
                continue
            if ends_here:
                return False
            for target in after(block):
                if target not in seen:
                    seen.add(target)
                    work.append(target)
        return True

    def loops_of(self, instruction: int) -> tuple[Loop, ...]:
        """The loops that an instruction is in, the outermost first."""
        return self.loops_around(self.block_of[instruction])

    def loops_around(self, block: int) -> tuple[Loop, ...]:
        """The loops that a block is in, the outermost first."""
        return self._around.get(block, ())

    def line_of(self, instruction: int) -> int:
        """The line of an instruction in its file."""
        return self.lines[instruction]

    @staticmethod
    def _is_hit(own: Sequence[int], end: int | None, predicate: Callable[[int], bool]) -> bool:
        """True where an instruction of a block, before ``end`` in it, satisfies a predicate."""
        return any(predicate(each) for each in own if end is None or each < end)

    def _reachable_after(self, block: int) -> set[int]:
        if (found := self._reached.get(block)) is None:
            found = self._reached[block] = self.graph.reachable_after((block,))
        return found

    @cached_property
    def _reached(self) -> dict[int, set[int]]:
        return {}

    @cached_property
    def _spans(self) -> Spans[int]:
        return spans_of(self.dominators)

    @cached_property
    def _around(self) -> Mapping[int, tuple[Loop, ...]]:
        return loops_by_block(sorted(self.loops.values(), key=lambda each: -len(each.blocks)))


@dataclass(frozen=True, slots=True)
class OrderRule:
    """A rule of order: ``relations`` of threads that it may order."""

    name: str
    relations: frozenset[Relation]
    order: Callable[[Kernel, Access, Access, ThreadPair], Order]
