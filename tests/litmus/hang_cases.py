"""Programs whose threads wait, with whether they may hang: by the memory models, not by turns.

Each verdict follows from the definition in ``stagnation``: a repeated strong read sees what a
strong write of inclusive scope leaves; a weak one, or one of too narrow a scope, need not.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Comparison
from fencewright.simulator.core.exploration import LimitReached, stuck_components
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Location,
    Operand,
    Placement,
    Program,
    Thread,
)
from fencewright.simulator.core.sequential import (
    Gate,
    GateState,
    Interleavings,
    SequentialStep,
    State,
    ThreadState,
)
from fencewright.simulator.ptx.formats.columns import parse_litmus
from fencewright.simulator.ptx.instructions import (
    AsyncCopy,
    Atom,
    ClusterBarrier,
    CompareBranch,
    CopyArrive,
    Ld,
    MbarrierArrive,
    MbarrierTx,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    St,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedInstruction,
    ScopedProgram,
    Store,
)

GPU, GROUP = Scope.AGENT, Scope.WORKGROUP
RELAXED, ACQUIRE, RELEASE = Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE
SEQ_CST = Ordering.SEQ_CST

# PTX


@dataclass(frozen=True)
class PtxCase:
    """Columns of PTX, and whether an execution never ends. ``threads`` have one line each instruction.

    ``together``: in one CTA.
    """

    name: str
    threads: tuple[str, ...]
    hangs: bool
    together: bool = False

    @property
    def text(self) -> str:
        """The test as a file in columns."""
        columns = [thread.split("; ") for thread in self.threads]
        height = max(map(len, columns))
        heads = [
            f"P{number}@cta {0 if self.together else number},gpu 0"
            for number in range(len(columns))
        ]
        rows = [heads] + [
            [column[row] if row < len(column) else "" for column in columns]
            for row in range(height)
        ]
        lines = "\n".join(f" {' | '.join(row)} ;" for row in rows)
        condition = f"forall (true){' may hang' if self.hangs else ''}"
        return f"PTX {self.name}\n{{\nx=0; y=0; f=0; g=0;\n}}\n{lines}\n{condition}\n"


def _until(where: str, load: str = "ld.relaxed.gpu", extra: str = "", label: str = "L0") -> str:
    """Wait while a location is 0."""
    more = f"{extra}; " if extra else ""
    return f"{label}:; {load} r0, {where}; {more}beq r0, 0, {label}"


def _swap_lock(where: str, label: str = "L0", register: str = "r0") -> str:
    return f"{label}:; atom.acquire.gpu.cas {register}, {where}, 0, 1; bne {register}, 0, {label}"


_UNLOCK = "st.release.gpu {}, 0"


def _exchange_lock(release: str, swap: str = "atom.acquire.gpu.exch") -> str:
    return f"L0:; {swap} r0, f, 1; bne r0, 0, L0; {release}"


_TEST_FIRST = (
    "L0:; ld.relaxed.gpu r1, f; bne r1, 0, L0; atom.acquire.gpu.exch r0, f, 1; bne r0, 0, L0; "
    "st.release.gpu f, 0"
)


def _wake(mine: str, other: str, woken: str, own: str, fence: str) -> str:
    """Write, look, and wake the other if it was seen; whoever saw nothing waits."""
    fenced = f"{fence}; " if fence else ""
    return (
        f"st.relaxed.gpu {mine}, 1; {fenced}ld.relaxed.gpu r0, {other}; beq r0, 0, S; "
        f"st.relaxed.gpu {woken}, 1; goto E; S:; L0:; ld.relaxed.gpu r1, {own}; beq r1, 0, L0; E:"
    )


def _woken(fence: str) -> tuple[str, str]:
    return _wake("f", "g", "y", "x", fence), _wake("g", "f", "x", "y", fence)


def _in_order(first: str, second: str) -> str:
    return "; ".join(
        [
            _swap_lock(first),
            _swap_lock(second, "L1", "r1"),
            _UNLOCK.format(second),
            _UNLOCK.format(first),
        ]
    )


GAVE_UP = {
    "acquire-cta-apart": 103_853_100,
    "weak-flag": 23_683_182,
    "locks-crosswise": 89_347_405,
    "flag-overwritten": 104_857_600,
    "wake-relaxed": 1_626_751,
}
"""The examples of ``PTX_CASES`` of which an H100 did not end some: how many of 104,857,600 instances."""

PTX_CASES = (
    PtxCase("relaxed-flag", ("st.relaxed.gpu f, 1", _until("f")), False),
    PtxCase("acquire-cta", ("st.release.cta f, 1", _until("f", "ld.acquire.cta")), False, True),
    PtxCase(
        "handshake",
        (
            f"st.release.gpu f, 1; {_until('g', 'ld.acquire.gpu')}",
            f"{_until('f', 'ld.acquire.gpu')}; st.release.gpu g, 1",
        ),
        False,
    ),
    PtxCase("cas-lock", (f"{_swap_lock('f')}; {_UNLOCK.format('f')}",) * 2, False),
    PtxCase("test-then-exchange", (_TEST_FIRST,) * 2, False),
    PtxCase("acquire-cta-apart", ("st.release.gpu f, 1", _until("f", "ld.acquire.cta")), True),
    PtxCase("release-cta-apart", ("st.release.cta f, 1", _until("f", "ld.acquire.gpu")), True),
    PtxCase("weak-flag", ("st.weak f, 1", _until("f", "ld.weak")), True),
    PtxCase(
        "weak-flag-fenced",
        ("st.weak f, 1; fence.sc.gpu", _until("f", "ld.weak", "fence.sc.gpu")),
        False,
    ),
    PtxCase(
        "acquired-in-the-round",
        (
            "st.weak x, 1; st.release.gpu f, 1",
            "L0:; ld.weak r0, x; ld.acquire.gpu r1, f; beq r0, 0, L0",
        ),
        False,
    ),
    PtxCase(
        "weak-flag-fenced-once", ("st.weak f, 1", _until("f", "ld.weak", "fence.sc.gpu")), True
    ),
    PtxCase("lock-kept", (_swap_lock("f"),) * 2, True),
    PtxCase(
        "each-waits",
        (f"{_until('g')}; st.relaxed.gpu f, 1", f"{_until('f')}; st.relaxed.gpu g, 1"),
        True,
    ),
    PtxCase("locks-crosswise", (_in_order("f", "g"), _in_order("g", "f")), True),
    PtxCase("flag-overwritten", ("st.relaxed.gpu f, 1; st.relaxed.gpu f, 0", _until("f")), True),
    PtxCase("never-written", ("st.relaxed.gpu g, 1", _until("f")), True),
    PtxCase("wake-relaxed", _woken(""), True),
    PtxCase("wake-acq_rel", _woken("fence.acq_rel.gpu"), True),
    PtxCase("wake-sc", _woken("fence.sc.gpu"), False),
    PtxCase("exchange-lock", (_exchange_lock("st.release.gpu f, 0"),) * 2, False),
    PtxCase("exchange-lock-kept", (_exchange_lock("st.release.gpu g, 0"),) * 2, True),
    PtxCase("or-lock", (_exchange_lock("st.release.gpu f, 0", "atom.acquire.gpu.or"),) * 2, False),
)
"""In each model of PTX."""


# The language

Code = tuple[ScopedInstruction, ...]


def until(where: str, ordering: Ordering = RELAXED, scope: Scope = GPU, label: str = "L") -> Code:
    """Wait while a location is 0."""
    load = Load(f"{label}r", where, ordering, scope)
    return (Label(label), load, Branch(label, f"{label}r", unless=True))


def store(where: str, value: Operand = 1, ordering: Ordering = RELAXED, scope: Scope = GPU) -> Code:
    return (Store(where, value, ordering, scope),)


def lock(where: str, label: str = "L", weak: bool = False) -> Code:
    """Take a lock by a compare-exchange."""
    won = f"{label}won"
    swap = Cmpxchg(where, 0, 1, ACQUIRE, RELAXED, GPU, f"{label}r", won, weak=weak)
    return (Label(label), swap, Branch(label, won, unless=True))


def exchange_lock(where: str) -> Code:
    rmw = AtomicRmw(RmwKind.XCHG, where, 1, ACQUIRE, GPU, "taken")
    return (Label("L"), rmw, Branch("L", "taken"))


def woken(mine: str, other: str, wakes: str, own: str, fence: Code) -> Code:
    """Write, look, and wake the other if it was seen; whoever saw nothing waits."""
    return (
        *store(mine),
        *fence,
        Load("seen", other, RELAXED, GPU),
        Branch("waits", "seen", unless=True),
        *store(wakes),
        Branch("end"),
        Label("waits"),
        *until(own),
        Label("end"),
    )


def both_woken(*fence: ScopedInstruction) -> tuple[Code, Code]:
    return woken("f", "g", "y", "x", fence), woken("g", "f", "x", "y", fence)


UNLOCK = store("f", 0, RELEASE)
BARRIER: Code = (Barrier(GROUP),)


@dataclass(frozen=True)
class SourceCase:
    """Threads, and whether an execution never ends. ``together``: in one work-group."""

    name: str
    threads: tuple[Code, ...]
    hangs: bool
    together: bool = False

    @property
    def program(self) -> ScopedProgram:
        """The program."""
        return Program(
            tuple(map(Location, "fgxy")),
            tuple(
                Thread(Placement(0 if self.together else number), code)
                for number, code in enumerate(self.threads)
            ),
        )


SOURCE_CASES = (
    SourceCase("relaxed-flag", (store("f"), until("f")), False),
    SourceCase("acquire-flag", (store("f", 1, RELEASE), until("f", ACQUIRE)), False),
    SourceCase("narrow-load", (store("f"), until("f", RELAXED, GROUP)), True),
    SourceCase("narrow-store", (store("f", 1, RELAXED, GROUP), until("f")), True),
    SourceCase("narrow-in-one-group", (store("f"), until("f", RELAXED, GROUP)), False, True),
    SourceCase(
        "weak-flag",
        ((Store("f", 1),), (Label("L"), Load("r", "f"), Branch("L", "r", unless=True))),
        True,
    ),
    SourceCase(
        "weak-flag-fenced",
        (
            (Store("f", 1), Fence(SEQ_CST, GPU)),
            (Label("L"), Load("r", "f"), Fence(SEQ_CST, GPU), Branch("L", "r", unless=True)),
        ),
        False,
    ),
    SourceCase("handshake", ((*store("f"), *until("g")), (*until("f"), *store("g"))), False),
    SourceCase("lock", ((*lock("f"), *UNLOCK),) * 3, False),
    SourceCase("lock-that-fails", ((*lock("f", weak=True), *UNLOCK),) * 2, False),
    SourceCase("lock-kept", (lock("f"),) * 2, True),
    SourceCase("exchange-lock", ((*exchange_lock("f"), *UNLOCK),) * 2, False),
    SourceCase("exchange-lock-kept", (exchange_lock("f"),) * 2, True),
    SourceCase("each-waits", ((*until("g"), *store("f")), (*until("f"), *store("g"))), True),
    SourceCase(
        "locks-crosswise",
        tuple((*lock(a), *lock(b, "M"), *store(b, 0), *store(a, 0)) for a, b in ("fg", "gf")),
        True,
    ),
    SourceCase("flag-overwritten", ((*store("f"), *store("f", 0)), until("f")), True),
    SourceCase("never-written", (store("g"), until("f")), True),
    SourceCase("wake-relaxed", both_woken(), True),
    SourceCase("wake-acq_rel", both_woken(Fence(Ordering.ACQ_REL, GPU)), True),
    SourceCase("wake-sc", both_woken(Fence(SEQ_CST, GPU)), False),
    SourceCase(
        "barrier-after-flag", ((*store("f"), *BARRIER), (*until("f"), *BARRIER)), False, True
    ),
    SourceCase(
        "flag-after-barrier", ((*BARRIER, *store("f")), (*until("f"), *BARRIER)), True, True
    ),
    SourceCase(
        "barriers-crosswise",
        ((Barrier(GROUP), Barrier(GPU)), (Barrier(GPU), Barrier(GROUP))),
        True,
        True,
    ),
)
"""By the model of the language."""


# Locks and barriers of many


def ticket(serves: bool = True) -> Code:
    """Take a ticket, wait for it to be served, and serve the next."""
    after: Code = (Arithmetic(ArithmeticKind.ADD, "next", "mine", 1),)
    return (
        AtomicRmw(RmwKind.ADD, "f", 1, RELAXED, GPU, "mine"),
        Label("L"),
        Load("served", "g", ACQUIRE, GPU),
        Arithmetic(ArithmeticKind.NE, "waits", "served", "mine"),
        Branch("L", "waits"),
        *((*after, *store("g", "next", RELEASE)) if serves else ()),
    )


def grid(awaited: int) -> Code:
    """Arrive, and wait for so many."""
    return (
        AtomicRmw(RmwKind.ADD, "f", 1, RELEASE, GPU),
        Label("L"),
        Load("here", "f", ACQUIRE, GPU),
        Arithmetic(ArithmeticKind.NE, "waits", "here", awaited),
        Branch("L", "waits"),
    )


MANY = (
    SourceCase("ticket", (ticket(),) * 3, False),
    SourceCase("ticket-not-served", (ticket(serves=False),) * 3, True),
    SourceCase("grid", (grid(4),) * 4, False),
    SourceCase("grid-one-missing", (grid(5),) * 4, True),
)


def ptx_of(program: ScopedProgram) -> PtxProgram:
    """The same program in PTX, one instruction for each."""
    return PtxProgram(
        program.locations,
        tuple(
            Thread(each.placement, tuple(_instruction(i) for i in each.instructions))
            for each in program.threads
        ),
    )


def _instruction(each: ScopedInstruction) -> PtxInstruction:
    match each:
        case Load():
            return Ld(each.dst, each.location, each.ordering, each.scope)
        case Store():
            return St(each.location, each.value, each.ordering, each.scope)
        case AtomicRmw():
            return Atom(
                each.dst, each.location, each.kind, each.value, None, each.ordering, each.scope
            )
        case Fence():
            return PtxFence(each.ordering, each.scope)
        case Cmpxchg() | Barrier():
            raise AssertionError(f"{each} is not one instruction")
        case _:
            return each


# Strong programs, which hang exactly if they do by turns

_FENCE = PtxFence(SEQ_CST, GPU)


class _StrongMaker:
    """Threads that write, add, wait, and take locks, all of it sequentially consistent."""

    def __init__(self, seed: int):
        self.random = Random(seed)
        self.names = "xy" if self.random.random() < 0.8 else "xyz"

    def steps(self) -> Iterator[tuple[str, str, int, int]]:
        """A few steps: what is done, where, with which value, and a number."""
        choose = self.random.choice
        for number in range(choose((1, 2, 2, 3))):
            kind = choose(("store", "store", "add", "wait", "wait", "unless", "lock", "exchange"))
            where = choose(self.names)
            yield kind, where, choose((0, 1, 1, 2)), number
            if kind in ("lock", "exchange") and self.random.random() < 0.8:
                yield "store", where, 0, number

    def ptx(self) -> PtxProgram:
        codes = [
            tuple(i for step in self.steps() for i in self._ptx_step(*step))
            for _ in range(self.random.choice((2, 2, 3)))
        ]
        return PtxProgram(
            tuple(map(Location, self.names)),
            tuple(Thread(Placement(n), code) for n, code in enumerate(codes)),
        )

    def _ptx_step(self, kind: str, where: str, value: int, number: int) -> list[PtxInstruction]:
        label, register = f"L{number}", f"r{number}"
        match kind:
            case "store":
                return [St(where, value, RELAXED, GPU), _FENCE]
            case "add":
                return [Atom(register, where, RmwKind.ADD, 1, None, RELAXED, GPU), _FENCE]
            case "lock" | "exchange":
                compare = 0 if kind == "lock" else None
                access: PtxInstruction = Atom(
                    register, where, RmwKind.XCHG, 1, compare, RELAXED, GPU
                )
                leaves, value = Comparison.NE, 0
            case _:
                access = Ld(register, where, RELAXED, GPU)
                leaves = Comparison.NE if kind == "wait" else Comparison.EQ
        return [Label(label), access, _FENCE, CompareBranch(label, leaves, register, value)]

    def source(self) -> ScopedProgram:
        codes = [
            tuple(i for step in self.steps() for i in self._source_step(*step))
            for _ in range(self.random.choice((2, 2, 3)))
        ]
        return Program(
            tuple(map(Location, self.names)),
            tuple(Thread(Placement(n), code) for n, code in enumerate(codes)),
        )

    def source_with_barriers(self) -> ScopedProgram:
        choose = self.random
        codes: list[Code] = []
        for _ in range(choose.choice((2, 2, 3))):
            code: list[ScopedInstruction] = []
            for step in self.steps():
                if choose.random() < 0.6:
                    code.append(Barrier(choose.choice((GROUP, GROUP, GPU))))
                if choose.random() < 0.6:
                    code += self._source_step(*step)
            codes.append(tuple(code))
        apart = choose.random() < 0.2
        groups = (number // 2 if apart else 0 for number in range(len(codes)))
        return Program(
            tuple(map(Location, self.names)),
            tuple(Thread(Placement(n), code) for n, code in zip(groups, codes, strict=True)),
        )

    def _source_step(
        self, kind: str, where: str, value: int, number: int
    ) -> list[ScopedInstruction]:
        label, register = f"L{number}", f"r{number}"
        match kind:
            case "store":
                return [Store(where, value, SEQ_CST, GPU)]
            case "add":
                return [AtomicRmw(RmwKind.ADD, where, 1, SEQ_CST, GPU, register)]
            case "lock":
                swap = Cmpxchg(where, 0, 1, SEQ_CST, SEQ_CST, GPU, register, "won")
                return [Label(label), swap, Branch(label, "won", unless=True)]
            case "exchange":
                rmw = AtomicRmw(RmwKind.XCHG, where, 1, SEQ_CST, GPU, register)
                return [Label(label), rmw, Branch(label, register)]
            case _:
                load = Load(register, where, SEQ_CST, GPU)
                differs = Arithmetic(ArithmeticKind.NE, "differs", register, value)
                return [Label(label), load, differs, Branch(label, "differs", kind != "wait")]


def strong_ptx_program(seed: int) -> PtxProgram:
    """A random program with a fence.sc after each access."""
    return _StrongMaker(seed).ptx()


def strong_source_program(seed: int) -> ScopedProgram:
    """A random program all of whose accesses are seq_cst."""
    return _StrongMaker(seed).source()


def barrier_source_program(seed: int) -> ScopedProgram:
    """A random program all of whose accesses are seq_cst, with barriers that not everyone comes to."""
    return _StrongMaker(seed).source_with_barriers()


_AT_MBARRIERS = (
    "mbarrier.arrive {b}", "mbarrier.arrive {b}", "mbarrier.arrive {b}, 2",
    "mbarrier.arrive_drop {b}", "mbarrier.arrive.expect_tx {b}, 4",
    "mbarrier.complete_tx.relaxed.cta {b}, 4", "cp.async.bulk y, z, 4, {b}",
    "mbarrier.try_wait.parity {b}, {p}", "mbarrier.try_wait.parity {b}, {p}",
    "mbarrier.try_wait.parity {b}, {p}", "mbarrier.arrive {r}, {b}; mbarrier.try_wait {b}, {r}",
    "L{n}:; mbarrier.test_wait.parity {r}, {b}, {p}; beq {r}, 0, L{n}",
    "mbarrier.test_wait.parity {r}, {b}, {p}; bne {r}, 0, E{n}; mbarrier.arrive {b}; E{n}:",
    "cp.async.mbarrier.arrive.noinc {b}", "st.relaxed.gpu x, {p}; fence.sc.gpu",
    "L{n}:; ld.relaxed.gpu {r}, x; fence.sc.gpu; bne {r}, {p}, L{n}", "bar.cta.sync 0",
    "mbarrier.inval {b}", "mbarrier.init {b}, 1", "mbarrier.init {b}, 2",
)  # fmt: skip


_AT_BARRIERS = (
    "barrier.cluster.arrive; barrier.cluster.wait", "barrier.cluster.arrive; barrier.cluster.wait",
    "barrier.cluster.arrive.relaxed; barrier.cluster.wait", "bar.cta.sync 0", "bar.cta.sync 0, 1",
    "bar.cta.sync 0, 2, 2", "bar.cta.arrive 0, 2, 2", "bar.cta.arrive 0, 1",
)  # fmt: skip


def barrier_program(seed: int) -> PtxProgram:
    """A random program of a cluster whose threads wait at mbarriers and at barriers of all kinds."""
    choose = Random(seed)
    apart = choose.random() < 0.3
    copies = choose.random() < 0.5
    steps = [*_AT_BARRIERS]
    steps += (each for each in _AT_MBARRIERS[:-3] if copies or not each.startswith("cp.async"))
    columns: list[list[str]] = []
    for thread in range(choose.choice((2, 2, 3))):
        cta = choose.choice((0, 1)) if apart else 0
        code = [f"P{thread}@cta {cta},cluster 0,gpu 0"]
        for number in range(choose.choice((1, 2, 3) if thread < 2 else (1, 2))):
            words = {"b": choose.choice("aab"), "p": choose.choice((0, 0, 1))}
            code += choose.choice(steps).format(**words, r=f"r{number}", n=number).split("; ")
        columns.append(code)
    return _at_mbarriers(columns, f"({choose.choice((1, 1, 2))})")


def mbarrier_program(seed: int) -> PtxProgram:
    """A random program of one CTA whose threads wait at mbarriers, all of it strong."""
    choose = Random(seed)
    starts = choose.random() < 0.3
    columns: list[list[str]] = []
    for thread in range(choose.choice((2, 2, 3))):
        code = [f"P{thread}@cta 0,gpu 0"]
        for number in range(choose.choice((1, 2, 3)) if thread < 2 else 1):
            steps = _AT_MBARRIERS if starts else _AT_MBARRIERS[:-3]
            words = {"b": choose.choice("aab"), "p": choose.choice((0, 0, 1))}
            code += choose.choice(steps).format(**words, r=f"r{number}", n=number).split("; ")
        columns.append(code)
    if starts:
        columns[0][1:1] = ["mbarrier.init a, 1", "mbarrier.init b, 1"][: choose.choice((1, 2, 2))]
    return _at_mbarriers(columns, "" if starts else f"({choose.choice((1, 1, 2))})")


def _at_mbarriers(columns: list[list[str]], count: str) -> PtxProgram:
    height = max(map(len, columns))
    rows = [" | ".join(c[n] if n < len(c) else "" for c in columns) for n in range(height)]
    table = "".join(f" {row} ;\n" for row in rows)
    initial = f"x=0; y=0; z=0; a = mbarrier{count}; b = mbarrier{count};"
    return parse_litmus(f"PTX turns\n{{ {initial} }}\n{table}exists true\n").program


# Races of executions that never end

_RACING = (
    "store",
    "store",
    "load",
    "wait",
    "wait",
    "release",
    "lock",
    "wait weakly",
    "look and wait",
)


def racing_program(seed: int, stops: bool) -> ScopedProgram:
    """A random program with races, whose threads wait; with ``stops`` a thread tries twice, and then
    stops where it would have waited: so all that can be seen of its waiting is an execution that ends.
    """
    choose = Random(seed)
    threads: list[Thread[ScopedInstruction]] = []
    for number in range(choose.choice((2, 2, 3))):
        code: list[ScopedInstruction] = []
        for step in range(choose.choice((1, 2, 3) if number < 2 else (1, 2))):
            label, scope = f"L{step}", choose.choice((GPU, GPU, GROUP))
            once, won = _racing_step(choose, choose.choice(_RACING), f"r{step}", scope)
            if won is None:
                code += once
            elif not stops:
                code += [Label(label), *once, Branch(label, won, unless=True)]
            else:
                code += [*once, Branch(label, won)] * 2
                code += [Branch("end"), Label(label)]
        threads.append(Thread(Placement(number), (*code, Label("end"))))
    return Program(tuple(map(Location, "fgxy")), tuple(threads))


def _racing_step(choose: Random, kind: str, r: str, scope: Scope) -> tuple[Code, str | None]:
    """What is done once, and the register that says whether it is enough; None: it is."""
    where, flag = choose.choice("xy"), choose.choice("fg")
    ordering = choose.choice((RELAXED, ACQUIRE))
    look = Load(r, flag, ordering, scope)
    match kind:
        case "store":
            return (Store(where, choose.choice((0, 1))),), None
        case "load":
            return (Load(r, where),), None
        case "release":
            return (Store(flag, choose.choice((0, 1, 1)), RELEASE, scope),), None
        case "lock":
            won = f"{r}won"
            return (Cmpxchg(flag, 0, 1, ACQUIRE, RELAXED, scope, r, won),), won
        case "wait weakly":
            return (Load(r, flag),), r
        case "look and wait":
            return (Load(f"{r}seen", where), look), r
        case _:
            return (look,), r


# Turns in which copies come later


def with_copies_apart(program: PtxProgram) -> PtxProgram:
    """What is asynchronous in threads of their own, after all others, each of which may come late.

    They begin when they are told, and no barrier waits for them.
    """
    locations = [*program.locations]
    threads: list[Thread[PtxInstruction]] = []
    copies: list[Thread[PtxInstruction]] = []
    for number, thread in enumerate(program.threads):
        code: list[PtxInstruction] = []
        for position, each in enumerate(thread.instructions):
            if not isinstance(each, AsyncCopy | CopyArrive):
                code.append(each)
                continue
            name = f"told{number}_{position}"
            locations.append(Location(name))
            if isinstance(each, CopyArrive) and not program.mbarriers[each.mbarrier]:
                # The thread itself goes no further where there is no mbarrier.
                code.append(MbarrierTx(each.mbarrier, 0))
            code.append(St(name, 1, RELAXED, GPU))
            copies.append(_when_told(name, each, len(copies)))
        threads.append(Thread(thread.placement, tuple(code)))
    return PtxProgram(tuple(locations), (*threads, *copies), mbarriers=program.mbarriers)


def _when_told(name: str, copy: AsyncCopy | CopyArrive, number: int) -> Thread[PtxInstruction]:
    assert copy.mbarrier is not None
    done: PtxInstruction = MbarrierArrive(copy.mbarrier)
    if isinstance(copy, AsyncCopy):
        done = MbarrierTx(copy.mbarrier, -copy.bytes)
    told = Ld("told", name, RELAXED, GPU)
    code = (Label("L"), told, CompareBranch("L", Comparison.EQ, "told", 0), done)
    return Thread(Placement(workgroup=100 + number, cluster=100 + number), code)


# Turns in which nobody knows when a thread ends


class EarlyLeavers(Interleavings):
    """All interleavings in which a barrier need not wait until who comes no more has ended.

    By the axioms the end of a thread orders no memory: what it does may come after what others do once
    they have passed. So who is waited for may *leave*, and then comes no more and ends: interleavings
    where it does not are none. These are more than the axioms allow: nobody leaves because of what
    others do once it has left.
    """

    def awaited(
        self,
        threads: Sequence[ThreadState],
        gates: Mapping[Gate, Any],
        gate: Gate,
    ) -> list[int]:
        here = super().awaited(threads, gates, gate)
        return [n for n in here if _left(n, gate) not in gates]

    def successors(self, state: State) -> Sequence[tuple[State, SequentialStep]]:
        threads, memory, gates = state
        found = [each for each in super().successors(state) if not self._comes_back(state, each[1])]
        for gate, at in gates:
            if not isinstance(at, GateState) or gate.count is not None:
                continue
            if all(each.waiting is None or each.waiting.gate != gate for each in threads):
                continue
            for n in self.awaited(threads, dict(gates), gate):
                if threads[n].waiting is None and not at.arrived[n]:
                    now = self._without(list(threads), {**dict(gates), _left(n, gate): None})
                    step = SequentialStep(n, threads[n].pc, None)
                    found.append(((now[0], memory, now[1]), step))
        return found

    def _without(self, threads: list[ThreadState], gates: dict[Gate, Any]) -> tuple[Any, Any]:
        before: list[ThreadState] = []
        while before != threads:
            before = list(threads)
            self.let_through(threads, gates)
        return tuple(threads), frozenset(gates.items())

    def _comes_back(self, state: State, step: SequentialStep) -> bool:
        runner = self.program.runners[step.thread]
        passage = self.program.passage(step.thread, runner.code[step.position], runner.begin())
        return (
            passage is not None
            and passage.arrives
            and _left(step.thread, passage.gate) in dict(state[2])
        )

    def is_one(self, state: State) -> bool:
        """Whether all that have left end, or may."""
        left = (n for gate, _ in state[2] if gate.kind == _LEFT for n in gate.members)
        return all(self.has_ended(n, state[0][n]) for n in left)


_LEFT = "left"


def orders_all_it_meets(program: PtxProgram) -> bool:
    """Whether no arrival is relaxed: who comes so has done in turns what by the axioms may come later."""
    code = (each for thread in program.threads for each in thread.instructions)
    return not any(isinstance(each, ClusterBarrier) and each.ordering is RELAXED for each in code)


@dataclass(frozen=True)
class Seen:
    """Whether there are executions that never end, and executions that do."""

    hangs: bool
    ends: bool

    def __le__(self, other: "Seen") -> bool:
        return self.hangs <= other.hangs and self.ends <= other.ends


def seen_by_turns(system: Interleavings, own: int, most: int) -> Seen:
    """What the fair interleavings of the first ``own`` threads show, whatever the others do.

    Raises ``LimitReached`` when ``most`` states are not enough to know.
    """
    found = (each.states[0] for each in stuck_components(system, lambda step: step.thread, most))
    hangs = (
        not isinstance(system, EarlyLeavers) or system.is_one(state)
        for state in found
        if any(not system.has_ended(n, state[0][n]) for n in range(own))
    )
    return Seen(any(hangs), _ends(system, own, most))


def _ends(system: Interleavings, own: int, most: int) -> bool:
    """Whether a state can be reached in which the first ``own`` threads have ended."""
    left, seen = [system.initial()], {system.initial()}
    while left:
        state = left.pop()
        if all(system.has_ended(n, state[0][n]) for n in range(own)):
            return True
        following = {after for after, _ in system.successors(state)} - seen
        seen |= following
        left += following
        if len(seen) > most:
            raise LimitReached(most)
    return False


def _left(thread: int, gate: Gate) -> Gate:
    return Gate(_LEFT, gate, frozenset({thread}))
