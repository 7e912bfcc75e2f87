"""Random kernels of flags, locks, counters, fences and barriers, with the races that they have.

Each is one tree, written down twice: as the text of a PTX kernel, and as a program of the memory
model in which every thread of one launch has its own code. A loop that polls is one read there:
who does not find the value goes no further. The races are those of every execution that the model
allows. Source: PTX ISA, "Conflict and data-races".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random

from fencewright.lowering.code.bits import bits
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.bit_relation import transitive_closure
from fencewright.simulator.core.condition import Comparison
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.program import Label, Location, Placement, Thread
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    CompareBranch,
    Ld,
    PtxCandidates,
    PtxEvent,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    St,
)
from fencewright.simulator.ptx.model import Enumeration, PtxExecution, PtxFrame, PtxModel

DATA, FLAGS = ("x", "y"), ("f", "g")
ROUNDS = 2
_WORDS = {Scope.WORKGROUP: "cta", Scope.CLUSTER: "cluster", Scope.AGENT: "gpu", Scope.SYSTEM: "sys"}
_END = "end"


class Index(Enum):
    """The element of an array that a thread accesses, as a register of the kernel."""

    ZERO = "%r9"
    OWN = "%r1"
    OTHER = "%r3"
    CTA = "%r2"
    OTHER_CTA = "%r4"
    ROUND = "%r6"


@dataclass(frozen=True)
class Order:
    """The ordering and scope of an access of a flag; None: it is a weak one."""

    ordering: Ordering
    scope: Scope

    @property
    def words(self) -> str:
        """The qualifiers of PTX."""
        return f".{self.ordering}.{_WORDS[self.scope]}"


@dataclass(frozen=True)
class Read:
    """A weak read of an element; ``s`` is in shared memory."""

    name: str
    index: Index


@dataclass(frozen=True)
class Write:
    """A weak write, of a value that no other thread writes."""

    name: str
    index: Index


@dataclass(frozen=True)
class Signal:
    """A write of a flag: of ``value``, or of the round's number plus 1."""

    name: str
    order: Order | None
    value: int | None
    update: str = ""


@dataclass(frozen=True)
class Wait:
    """A read of a flag that finds ``value``, or at least it: until it does, or else without
    ``body``."""

    name: str
    order: Order | None
    value: int | None
    update: str = ""
    is_least: bool = False
    body: "tuple[Op, ...] | None" = None


@dataclass(frozen=True)
class Fence:
    """A fence."""

    order: Order


@dataclass(frozen=True)
class Meet:
    """A barrier of the CTA or, where ``of_warp``, of the warp."""

    of_warp: bool = False


@dataclass(frozen=True)
class Last:
    """An addition to a counter, and ``body`` for the CTA that finds all others' additions.

    ``handed``: a thread 0 adds, and the others learn by shared memory and barriers.
    """

    name: str
    order: Order
    body: "tuple[Op, ...]"
    before: "tuple[Op, ...]" = ()
    handed: bool = False


@dataclass(frozen=True)
class All:
    """A barrier of the grid: an addition, and a wait until all CTAs have made theirs."""

    name: str
    add: Order
    poll: Order


@dataclass(frozen=True)
class Locked:
    """A lock that is taken by an exchange, and given back."""

    name: str
    take: Order
    give: Order | None
    update: str
    body: "tuple[Op, ...]"


@dataclass(frozen=True)
class Role:
    """Code for one thread of each CTA, or for the threads of one CTA."""

    thread: int | None
    cta: int | None
    body: "tuple[Op, ...]"


@dataclass(frozen=True)
class Rounds:
    """A loop of two rounds."""

    body: "tuple[Op, ...]"


Op = Read | Write | Signal | Wait | Fence | Meet | Last | All | Locked | Role | Rounds


@dataclass(frozen=True)
class Case:
    """A kernel with its launch."""

    body: tuple[Op, ...]
    ctas: int
    threads: int


# The text of a kernel


@dataclass
class _Text:
    lines: list[str] = field(default_factory=list[str])
    numbers: int = 0

    def new(self) -> int:
        self.numbers += 1
        return self.numbers

    def add(self, *lines: str) -> None:
        self.lines += lines

    def address(self, name: str, index: Index) -> str:
        number = self.new()
        if name == "s":
            self.add(
                f"shl.b32 %a{number}, {index.value}, 2;", f"add.u32 %a{number}, %r8, %a{number};"
            )
            return f"%a{number}"
        self.add(
            f"mul.wide.u32 %d{number}, {index.value}, 4;",
            f"add.u64 %d{number}, %{name}, %d{number};",
        )
        return f"%d{number}"

    def ops(self, body: Sequence[Op]) -> None:
        for op in body:
            self.op(op)

    def op(self, op: Op) -> None:
        match op:
            case Read(name, index):
                where = self.address(name, index)
                self.add(f"ld.{_space(name)}.u32 %v{self.new()}, [{where}];")
            case Write(name, index):
                where, n = self.address(name, index), self.new()
                self.add(f"add.u32 %v{n}, %r7, {n};", f"st.{_space(name)}.u32 [{where}], %v{n};")
            case Signal(name, order, value, update):
                own = "%r10" if value is None else str(value)
                words = "" if order is None else order.words
                if update:
                    self.add(
                        f"atom{words}.global.{update}.{_TYPES[update]} %v{self.new()}, [%{name}], {own};"
                    )
                else:
                    self.add(f"st{words}.global.u32 [%{name}], {own};")
            case Wait(name, order, value, update, is_least, body):
                n = self.new()
                own = "%r10" if value is None else str(value)
                words = "" if order is None else order.words
                self.add(f"L{n}:")
                if update:
                    self.add(f"atom{words}.global.exch.b32 %v{n}, [%{name}], 0;")
                else:
                    self.add(f"ld{words}.global.u32 %v{n}, [%{name}];")
                self.add(f"setp.{'lt' if is_least else 'ne'}.u32 %p{n}, %v{n}, {own};")
                self.add(f"@%p{n} bra L{n if body is None else f'E{n}'};")
                if body is not None:
                    self.ops(body)
                    self.add(f"LE{n}:")
            case Fence(order):
                self.add(f"fence{order.words};")
            case Meet(of_warp):
                self.add("bar.warp.sync -1;" if of_warp else "bar.sync 0;")
            case Last():
                self.last(op)
            case All():
                self.all(op)
            case Locked():
                self.locked(op)
            case Role(thread, cta, body):
                n = self.new()
                for register, number in (("%r1", thread), ("%r2", cta)):
                    if number is not None:
                        p = self.new()
                        self.add(f"setp.ne.u32 %p{p}, {register}, {number};", f"@%p{p} bra L{n};")
                self.ops(body)
                self.add(f"L{n}:")
            case Rounds(body):
                n = self.new()
                self.add("mov.u32 %r6, 0;", f"L{n}:", "add.u32 %r10, %r6, 1;")
                self.ops(body)
                self.add(
                    "add.u32 %r6, %r6, 1;",
                    f"setp.lt.u32 %p{n}, %r6, {ROUNDS};",
                    f"@%p{n} bra L{n};",
                )
                self.add("mov.u32 %r6, 0; mov.u32 %r10, 1;")

    def all(self, op: All) -> None:
        name, add, poll = op.name, op.add, op.poll
        n = self.new()
        self.add(f"atom{add.words}.global.add.u32 %v{n}, [%{name}], 1;", f"L{n}:")
        self.add(f"ld{poll.words}.global.u32 %w{n}, [%{name}];")
        self.add(f"mul.lo.u32 %u{n}, %r11, %r10;", f"setp.lt.u32 %p{n}, %w{n}, %u{n};")
        self.add(f"@%p{n} bra L{n};")

    def locked(self, op: Locked) -> None:
        name, take, give = op.name, op.take, op.give
        update, body = op.update, op.body
        n = self.new()
        operands = "0, 1" if update == "cas" else "1"
        self.add(f"L{n}:", f"atom{take.words}.global.{update}.b32 %v{n}, [%{name}], {operands};")
        self.add(f"setp.ne.u32 %p{n}, %v{n}, 0;", f"@%p{n} bra L{n};")
        self.ops(body)
        if give is not None:
            self.add(f"st{give.words}.global.u32 [%{name}], 0;")

    def last(self, op: Last) -> None:
        n = self.new()
        if op.handed:
            self.add("bar.sync 0;", f"setp.ne.u32 %p{n}, %r1, 0;", f"@%p{n} bra LH{n};")
        self.ops(op.before)
        self.add(f"atom{op.order.words}.global.add.u32 %v{n}, [%{op.name}], 1;")
        result = f"%v{n}"
        if op.handed:
            self.add(
                f"st.shared.u32 [h], %v{n};", f"LH{n}:", "bar.sync 0;", f"ld.shared.u32 %w{n}, [h];"
            )
            result = f"%w{n}"
        self.add(
            f"sub.u32 %u{n}, %r11, 1;", f"setp.ne.u32 %q{n}, {result}, %u{n};", f"@%q{n} bra LE{n};"
        )
        self.ops(op.body)
        self.add(f"LE{n}:")


_TYPES = {"exch": "b32", "add": "u32"}


def _space(name: str) -> str:
    return "shared" if name == "s" else "global"


def text_of(case: Case) -> str:
    """The kernel as PTX."""
    text = _Text()
    text.ops(case.body)
    count = text.numbers + 1
    parameters = ", ".join(f".param .u64 p{name}" for name in (*DATA, *FLAGS))
    loads = " ".join(f"ld.param.u64 %{name}, [p{name}];" for name in (*DATA, *FLAGS))
    registers = f".reg .b32 %v<{count}>, %w<{count}>, %u<{count}>, %a<{count}>, %r<12>;"
    return f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k({parameters})
{{
    {registers} .reg .b64 %d<{count}>, %x, %y, %f, %g; .reg .pred %p<{count}>, %q<{count}>;
    .shared .align 4 .b8 s[16]; .shared .align 4 .b8 h[4];
    {loads}
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r11, %nctaid.x; mov.u32 %r8, s;
    mov.u32 %r9, 0; mov.u32 %r6, 0; mov.u32 %r10, 1;
    xor.b32 %r3, %r1, 1; xor.b32 %r4, %r2, 1;
    shl.b32 %r7, %r2, 2; add.u32 %r7, %r7, %r1; shl.b32 %r7, %r7, 8;
    {chr(10).join(text.lines)}
    ret;
}}
"""


# The program of the model


@dataclass
class _Code:
    """The code of one thread. ``numbers`` run as those of the text do not."""

    case: Case
    cta: int
    thread: int
    code: list[PtxInstruction] = field(default_factory=list[PtxInstruction])
    numbers: int = 0
    round: int = 0
    meetings: int = 0

    def new(self) -> int:
        self.numbers += 1
        return self.numbers

    def place(self, name: str, index: Index) -> str:
        number = {
            Index.ZERO: 0,
            Index.OWN: self.thread,
            Index.OTHER: self.thread ^ 1,
            Index.CTA: self.cta,
            Index.OTHER_CTA: self.cta ^ 1,
            Index.ROUND: self.round,
        }[index]
        return f"{name}{number}" if name != "s" else f"s{self.cta}_{number}"

    def ops(self, body: Sequence[Op]) -> None:
        for op in body:
            self.op(op)

    def meet(self, of_warp: bool = False) -> None:
        self.meetings += 1
        number = 1 if of_warp else 0
        self.code.append(Bar(BarrierRole.SYNC, self.meetings, number, self.case.threads))

    def unless(self, comparison: Comparison, register: str, value: int, target: str) -> None:
        self.code.append(CompareBranch(target, comparison, register, value))

    def op(self, op: Op) -> None:
        code = self.code
        n = self.new()
        register = f"v{n}"
        match op:
            case Read(name, index):
                code.append(Ld(register, self.place(name, index)))
            case Write(name, index):
                value = 1000 * (self.cta * 4 + self.thread + 1) + n
                code.append(St(self.place(name, index), value))
            case Signal(name, order, value, update):
                own = self.round + 1 if value is None else value
                if update and order is not None:
                    kind = RmwKind.ADD if update == "add" else RmwKind.XCHG
                    code.append(Atom(register, name, kind, own, None, order.ordering, order.scope))
                else:
                    code.append(St(name, own, *_order(order)))
            case Wait(name, order, value, update, is_least, body):
                own = self.round + 1 if value is None else value
                if update and order is not None:
                    code.append(
                        Atom(register, name, RmwKind.XCHG, 0, None, order.ordering, order.scope)
                    )
                else:
                    code.append(Ld(register, name, *_order(order)))
                target = _END if body is None else f"e{n}"
                self.unless(Comparison.LT if is_least else Comparison.NE, register, own, target)
                if body is not None:
                    self.ops(body)
                    code.append(Label(target))
            case Fence(order):
                code.append(PtxFence(order.ordering, order.scope))
            case Meet(of_warp):
                self.meet(of_warp)
            case Last():
                self.last(op, register)
            case All(name, add, poll):
                code.append(Atom(register, name, RmwKind.ADD, 1, None, add.ordering, add.scope))
                code.append(Ld(f"w{n}", name, poll.ordering, poll.scope))
                self.unless(Comparison.LT, f"w{n}", self.case.ctas * (self.round + 1), _END)
            case Locked():
                self.locked(op, register)
            case Role(thread, cta, body):
                if thread in (None, self.thread) and cta in (None, self.cta):
                    self.ops(body)
            case Rounds(body):
                for self.round in range(ROUNDS):
                    self.ops(body)
                self.round = 0

    def last(self, op: Last, register: str) -> None:
        code, target = self.code, f"e{register}"
        # What is handed over by shared memory is known to be right here.
        if op.handed:
            self.meet()
        if not op.handed or self.thread == 0:
            self.ops(op.before)
            code.append(
                Atom(register, op.name, RmwKind.ADD, 1, None, op.order.ordering, op.order.scope)
            )
        if op.handed:
            handed_over = f"h{self.cta}"
            if self.thread == 0:
                code.append(St(handed_over, register))
            self.meet()
            code.append(Ld(register, handed_over))
        self.unless(Comparison.NE, register, self.case.ctas - 1, target)
        self.ops(op.body)
        code.append(Label(target))

    def locked(self, op: Locked, register: str) -> None:
        code, take, give = self.code, op.take, op.give
        compare = 0 if op.update == "cas" else None
        code.append(Atom(register, op.name, RmwKind.XCHG, 1, compare, take.ordering, take.scope))
        self.unless(Comparison.NE, register, 0, _END)
        self.ops(op.body)
        if give is not None:
            code.append(St(op.name, 0, *_order(give)))


def _order(order: Order | None) -> tuple[Ordering, Scope | None]:
    return (Ordering.WEAK, None) if order is None else (order.ordering, order.scope)


def program_of(case: Case) -> PtxProgram:
    """The threads of the launch as a program of the model."""
    threads: list[Thread[PtxInstruction]] = []
    for cta in range(case.ctas):
        for thread in range(case.threads):
            code = _Code(case, cta, thread)
            code.ops(case.body)
            threads.append(Thread(Placement(cta, cluster=cta), (*code.code, Label(_END))))
    return PtxProgram(tuple(map(Location, FLAGS)), tuple(threads))


@dataclass(frozen=True)
class Race:
    """A race of some execution. ``by_execution``: of a read that execution orders before a
    write."""

    first: str
    second: str
    by_execution: bool


def races(case: Case, work: WorkBudget) -> set[Race]:
    """The races of all executions, as far as ``work`` goes."""
    model = PtxModel()
    found: set[Race] = set()
    candidates = PtxCandidates(program_of(case), 1, work=work)
    frames: dict[int, PtxFrame] = {}
    for combination in candidates:
        for skeleton in combination.skeletons:
            frame = frames.setdefault(id(skeleton), PtxFrame(skeleton, model, work))
            one = Enumeration(model, combination, frame)
            for x in one.executions():
                new = set(_races(x)) - found
                if new and all(
                    any(one.allows(x, place, co) for co in one.coherence_orders(x, place))
                    for place in one.locations
                ):
                    found |= new
    return found


def _races(x: PtxExecution) -> Iterator[Race]:
    frame = x.frame
    events = frame.skeleton.events
    accesses = [n for n, each in enumerate(events) if each.location and each.thread >= 0]
    before = transitive_closure(
        [
            po | obs | sync | barrier
            for po, obs, sync, barrier in zip(frame.po, x.obs, x.sync, frame.barrier, strict=True)
        ]
    )
    writes = frame.write_mask
    for a in accesses:
        for b in bits(frame.of_location[events[a].location or ""] & ~frame.ms[a]):
            if b <= a or events[b].thread < 0 or events[a].thread == events[b].thread:
                continue
            if not (writes >> a & 1 or writes >> b & 1):
                continue
            if x.cause[a] >> b & 1 or x.cause[b] >> a & 1:
                continue
            ahead = any(before[r] >> w & 1 and not writes >> r & 1 for r, w in ((a, b), (b, a)))
            yield Race(_named(events[a]), _named(events[b]), ahead)


def _named(event: PtxEvent) -> str:
    return f"{event.thread}:{event.position} {event.location}"


# Random ones


class _Maker:
    def __init__(self, seed: int):
        self.random = Random(seed)
        self.ctas, self.threads = self.random.choice(((2, 1), (2, 1), (2, 2), (1, 2), (3, 1)))
        # Most pieces are right, so that one wrong one decides.
        self.wrong = self.random.choice((0.0, 0.08, 0.2))

    def is_wrong(self) -> bool:
        return self.random.random() < self.wrong

    def scope(self) -> Scope:
        if self.is_wrong():
            return self.random.choice((Scope.WORKGROUP, Scope.CLUSTER))
        return (
            Scope.WORKGROUP if self.ctas == 1 else self.random.choice((Scope.AGENT, Scope.SYSTEM))
        )

    def order(self, ordering: Ordering, *, may_be_weak: bool = False) -> Order | None:
        if may_be_weak and self.is_wrong() and self.random.random() < 0.3:
            return None
        return Order(Ordering.RELAXED if self.is_wrong() else ordering, self.scope())

    def strong(self, ordering: Ordering) -> Order:
        return Order(Ordering.RELAXED if self.is_wrong() else ordering, self.scope())

    def fence(self) -> list[Op]:
        if self.is_wrong():
            return []
        ordering = Ordering.SEQ_CST if self.random.random() < 0.1 else Ordering.ACQ_REL
        return [Fence(Order(ordering, self.scope()))]

    def data(self) -> Read | Write:
        kind = self.random.choice((Read, Write))
        return kind(self.random.choice(DATA), self.random.choice([*Index][:5]))

    def accesses(self, kind: type[Read] | type[Write], index: Index | None = None) -> list[Op]:
        names = self.random.sample(DATA, self.random.choice((1, 1, 2)))
        return [kind(name, index or Index.ZERO) for name in names]

    def releasing(self) -> tuple[list[Op], Order]:
        if self.random.random() < 0.5:
            return [], self.strong(Ordering.RELEASE)
        return self.fence(), Order(Ordering.RELAXED, self.scope())

    def acquiring(self) -> tuple[Order, list[Op]]:
        if self.random.random() < 0.5:
            return self.strong(Ordering.ACQUIRE), []
        return Order(Ordering.RELAXED, self.scope()), self.fence()

    def meet(self) -> list[Op]:
        return [] if self.threads == 1 or self.is_wrong() else [Meet(self.random.random() < 0.15)]

    def case(self) -> Case:
        pattern = self.random.choice(
            (
                self.passing,
                self.passing,
                self.last,
                self.grid,
                self.lock,
                self.lock,
                self.rounds,
                self.mixed,
                self.chain,
            )
        )
        return Case(tuple(pattern()), self.ctas, self.threads)

    def hand(
        self, name: str, value: int | None, giving: list[Op], taking: list[Op]
    ) -> tuple[list[Op], list[Op]]:
        """The two sides of one handing over, by all threads of two CTAs or by one each."""
        before, release = self.releasing()
        acquire, after = self.acquiring()
        update = self.random.choice(("", "", "exch", "add")) if value == 1 else ""
        weak = self.is_wrong() and self.random.random() < 0.3 and not update
        signal = Signal(name, None if weak else release, value, update)
        is_least = self.random.random() < 0.3
        polls = self.random.choice(("", "", "", "exch")) if value == 1 else ""
        branches = self.random.random() < 0.3
        found = value if not self.is_wrong() else 0
        wait = Wait(
            name,
            acquire,
            found,
            polls,
            is_least and not polls,
            (*after, *taking) if branches else None,
        )
        waiting: list[Op] = [wait] if branches else [wait, *after]
        if self.threads == 1 or self.random.random() < 0.3:
            own = 0 if self.threads > 1 else None
            give = [*giving, *before, signal]
            take = waiting if branches else [*waiting, *taking]
            return [Role(own, None, tuple(give))], [Role(own, None, tuple(take))]
        give = [*giving, *self.meet(), Role(0, None, (*before, signal))]
        if branches:
            return give, [Role(0, None, (wait,))]
        return give, [Role(0, None, tuple(waiting)), *self.meet(), *taking]

    def passing(self) -> list[Op]:
        index = Index.OWN if self.threads > 1 and self.random.random() < 0.5 else Index.ZERO
        taken = Index.OTHER if index is Index.OWN and self.random.random() < 0.5 else index
        giving, taking = (
            self.accesses(self.random.choice((Write, Write, Read)), index),
            self.accesses(self.random.choice((Read, Write)), taken),
        )
        give, take = self.hand("f", self.random.choice((1, 1, 2)), giving, taking)
        if self.ctas == 1:
            # From one thread of the CTA to another.
            body = [each for each in give if not isinstance(each, Meet)]
            return [Role(0, None, tuple(_bare(body))), Role(1, None, tuple(_bare(take)))]
        return [Role(None, 0, tuple(give)), Role(None, 1, tuple(take))]

    def chain(self) -> list[Op]:
        give, middle = self.hand("f", 1, [Write("x", Index.ZERO)], [])
        again, take = self.hand(
            "g", 1, self.random.choice(([], [Write("y", Index.ZERO)])), [Read("x", Index.ZERO)]
        )
        last = 2 if self.ctas == 3 else 0
        if self.ctas == 1:
            return self.mixed()
        return [
            Role(None, 0, tuple(give)),
            Role(None, 1, (*middle, *again)),
            Role(None, last, tuple(take)),
        ]

    def last(self) -> list[Op]:
        before, release = self.releasing()
        order = Order(
            Ordering.ACQ_REL if release.ordering is Ordering.RELEASE else release.ordering,
            release.scope,
        )
        after = (
            self.fence() if order.ordering is Ordering.RELAXED or self.random.random() < 0.2 else []
        )
        index = self.random.choice((Index.CTA, Index.CTA, Index.ZERO))
        giving = self.accesses(Write, index)
        taking: list[Op] = [Read("x", Index.ZERO), Read("x", Index.CTA)]
        if self.threads == 1:
            return [*giving, *before, Last("f", order, (*after, *taking))]
        handed = Last("f", order, (*after, *taking), tuple(before), handed=True)
        return [Role(self.random.choice((0, 1)), None, tuple(giving)), handed]

    def grid(self) -> list[Op]:
        before, add = self.releasing()
        poll, after = self.acquiring()
        index, other = Index.CTA, self.random.choice((Index.OTHER_CTA, Index.CTA))
        barrier: list[Op] = [*before, All("f", add, poll), *after]
        if self.threads > 1:
            barrier = [*self.meet(), Role(0, None, tuple(barrier)), *self.meet()]
        body: list[Op] = [Write("x", index), *barrier, Read("x", other)]
        return (
            [Role(0, None, tuple(_bare(body)))]
            if self.threads > 1 and self.random.random() < 0.2
            else body
        )

    def lock(self) -> list[Op]:
        before, release = self.releasing()
        acquire, after = self.acquiring()
        give = None if self.is_wrong() and self.random.random() < 0.3 else release
        body = [*after, *self.accesses(self.random.choice((Read, Write)))]
        if self.random.random() < 0.5:
            body.append(Write("x", Index.ZERO))
        section = Locked("f", acquire, give, self.random.choice(("cas", "exch")), (*body, *before))
        more: list[Op] = [self.data()] if self.is_wrong() else []
        if self.threads == 1:
            return [*more, section]
        return [*more, Role(0, None, (section,))]

    def rounds(self) -> list[Op]:
        value = self.random.choice((None, None, 1))
        index = self.random.choice((Index.ZERO, Index.ROUND))
        give, take = self.hand("f", value, [Write("x", index)], [Read("x", index)])
        if self.ctas == 1:
            return [
                Rounds((Write("x", Index.OWN), *self.meet(), Read("x", Index.OTHER), *self.meet()))
            ]
        if self.random.random() < 0.4:
            back, free = self.hand("g", value, [], [])
            return [
                Role(None, 0, (Rounds((*give, *free)),)),
                Role(None, 1, (Rounds((*take, *back)),)),
            ]
        return [Role(None, 0, (Rounds(tuple(give)),)), Role(None, 1, (Rounds(tuple(take)),))]

    def mixed(self) -> list[Op]:
        body: list[Op] = []
        for _ in range(self.random.choice((2, 3, 4))):
            kind = self.random.random()
            if kind < 0.25:
                body += self.meet()
            elif kind < 0.5:
                body.append(
                    Role(
                        self.random.choice((None, 0, self.threads - 1)),
                        self.random.choice((None, 0, self.ctas - 1)),
                        (self.data(),),
                    )
                )
            elif kind < 0.7 and self.threads > 1:
                body.append(
                    self.random.choice((Read, Write))(
                        "s", self.random.choice((Index.OWN, Index.OTHER, Index.ZERO))
                    )
                )
            else:
                body.append(self.data())
        return body


def _bare(body: Sequence[Op]) -> Iterator[Op]:
    """Code without the roles of threads around it, and without barriers."""
    for op in body:
        if isinstance(op, Role) and op.cta is None:
            yield from _bare(op.body)
        elif not isinstance(op, Meet):
            yield op


def random_case(seed: int) -> Case:
    """The kernel of a seed."""
    return _Maker(seed).case()
