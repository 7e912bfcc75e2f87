"""Random programs for the two ways in which the models by axioms find outcomes.

With all that execution graphs have to get right: compare-and-swaps whose write is guessed, loops
that wait, branches, values that are copied, barriers with and without counts; for PTX further
proxies, aliases and asynchronous copies, for the source weak accesses, narrow scopes, and
operations that order one address space or make nothing available.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Comparison
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
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    CompareBranch,
    Ld,
    ProxyFence,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    PtxProxy,
    St,
)
from fencewright.simulator.ptx.formats.columns import parse_litmus
from fencewright.simulator.ptx.instructions import Alias, AsyncCopy, CommitGroup, WaitGroup
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

_SIZES = ((3, 3), (2, 3, 2), (2, 2, 2), (4, 3), (4, 2), (2, 2, 1, 1))
_ORDERINGS = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)
_FENCES = (Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST)
_LOADS = (Ordering.RELAXED, Ordering.ACQUIRE)
_STORES = (Ordering.RELAXED, Ordering.RELEASE)
_ARITHMETIC = (ArithmeticKind.ADD, ArithmeticKind.EQ, ArithmeticKind.XOR)


class _PtxMaker:
    def __init__(self, seed: int):
        self.random = Random(seed)
        self.mixes_proxies = self.random.random() < 0.25
        self.has_barriers = self.random.random() < 0.25
        self.locations = ["x", "y"] if self.random.random() < 0.7 else ["x"]
        self.names = [*self.locations, *(["a"] if self.mixes_proxies else [])]

    def program(self) -> PtxProgram:
        return PtxProgram(
            tuple(map(Location, self.locations)),
            tuple(self.thread(length) for length in self.random.choice(_SIZES)),
            aliases={"a": Alias("x")} if self.mixes_proxies else {},
        )

    def thread(self, length: int) -> Thread[PtxInstruction]:
        registers: list[str] = []
        code: list[PtxInstruction] = []
        for number in range(length):
            code += self.step(registers, str(number))
        agent = self.random.choice((0, 0, 0, 1))
        placement = Placement(self.random.randrange(2), agent=agent, cluster=None)
        return Thread(placement, tuple(code))

    def value(self, registers: Sequence[str]) -> Operand:
        return self.random.choice((0, 1, 1, 2, *registers))

    def scope(self) -> Scope:
        return self.random.choice((Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM))

    def proxy(self) -> PtxProxy:
        if not self.mixes_proxies or self.random.random() < 0.6:
            return PtxProxy.GENERIC
        return self.random.choice((PtxProxy.CONSTANT, PtxProxy.SURFACE))

    def step(self, registers: list[str], number: str) -> list[PtxInstruction]:
        """An instruction, or a few; they set the register of their ``number``."""
        choose, register = self.random.choice, f"r{number}"
        name, is_weak = choose(self.names), self.random.random() < 0.4
        match self.random.randrange(16):
            case 0 | 1 | 2:
                registers.append(register)
                if is_weak:
                    return [Ld(register, name, proxy=self.proxy())]
                return [Ld(register, name, choose(_LOADS), self.scope())]
            case 3 | 4 | 5:
                if is_weak:
                    return [St(name, self.value(registers), proxy=self.proxy())]
                return [St(name, self.value(registers), choose(_STORES), self.scope())]
            case 6 | 7 | 8 | 9:
                return [self.atomic(registers, register, name)]
            case 10 | 11:
                return [PtxFence(choose((*_FENCES, Ordering.SEQ_CST)), self.scope())]
            case 12 if self.has_barriers:
                role = choose((BarrierRole.SYNC, BarrierRole.SYNC, BarrierRole.ARRIVE))
                return [Bar(role, 1, 0, choose((None, 2, 2)))]
            case 12:
                a, b = self.value(registers), self.value(registers)
                registers.append(register)
                return [Arithmetic(choose(_ARITHMETIC), register, a, b)]
            case 13 if registers:
                return self.branch(registers, number)
            case 14:
                return self.loop(registers, number, name)
            case 15 if self.mixes_proxies:
                return self.asynchronous(name)
            case _:
                return [PtxFence(Ordering.ACQ_REL, self.scope())]

    def atomic(self, registers: list[str], register: str, name: str) -> Atom:
        choose = self.random.choice
        compare = choose((None, 0, 1, self.value(registers)))
        kind = choose((RmwKind.ADD, RmwKind.XCHG, RmwKind.MAX))
        value = self.value(registers)
        target = register if compare is not None else choose((register, register, None))
        if target is not None:
            registers.append(target)
        if compare is not None:
            kind = RmwKind.XCHG
        return Atom(target, name, kind, value, compare, choose(_ORDERINGS), self.scope())

    def branch(self, registers: list[str], number: str) -> list[PtxInstruction]:
        choose, target = self.random.choice, f"over{number}"
        condition, inside = choose(registers), list(registers)
        body: list[PtxInstruction] = []
        for inner in range(choose((1, 1, 2))):
            body += self.step(inside, f"{number}_{inner}")
        comparison = choose((Comparison.EQ, Comparison.NE))
        skip = choose(
            (
                Branch(target, condition, choose((True, False))),
                CompareBranch(target, comparison, condition, choose((0, 1, 2))),
            )
        )
        return [skip, *body, Label(target)]

    def loop(self, registers: list[str], number: str, name: str) -> list[PtxInstruction]:
        """Waits for a value, or takes a lock."""
        choose, target, register = self.random.choice, f"again{number}", f"r{number}"
        registers.append(register)
        poll: PtxInstruction = Ld(register, name, choose(_LOADS), self.scope())
        if self.random.random() < 0.4:
            poll = Atom(register, name, RmwKind.XCHG, 1, 0, Ordering.ACQUIRE, self.scope())
        comparison = choose((Comparison.EQ, Comparison.NE))
        return [Label(target), poll, CompareBranch(target, comparison, register, choose((0, 1)))]

    def asynchronous(self, name: str) -> list[PtxInstruction]:
        if self.random.random() < 0.6:
            proxies = (None, PtxProxy.CONSTANT, PtxProxy.SURFACE, PtxProxy.ASYNC)
            return [ProxyFence(self.random.choice(proxies))]
        copy = AsyncCopy(name, self.random.choice((None, *self.names)), 1)
        if self.random.random() < 0.3:
            return [copy]
        return [copy, CommitGroup(), WaitGroup(self.random.random() < 0.3)]


def ptx_program(seed: int) -> PtxProgram:
    """The PTX program of a seed."""
    return _PtxMaker(seed).program()


# What a thread does by itself: a look at an mbarrier, a token, a map, a register of a product

_OPEN_STEPS = (
    "ld.relaxed.gpu {r}, {x}", "ld {r}, {x}", "st.relaxed.gpu {x}, {v}", "st {x}, {v}",
    "st.relaxed.gpu {x}, {v}", "atom.relaxed.gpu.cas {r}, {x}, 0, {v}", "fence.acq_rel.gpu",
    "mbarrier.init b, {n}", "mbarrier.inval b", "mbarrier.arrive b", "mbarrier.arrive {r}, b",
    "mbarrier.arrive_drop b", "mbarrier.arrive.expect_tx b, 4", "mbarrier.test_wait b, {s}",
    "mbarrier.test_wait.parity {r}, b, {v}", "mbarrier.try_wait.parity b, {v}",
    "mbarrier.test_wait.parity {r}, b, 0", "fence.proxy.async", "bar.cta.sync 0",
    "cp.async.bulk.tensor {y}, [m, {x}, {y}], 4, b", "tensormap.replace m, {v}",
    "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [m, {x}, {y}], {x}",
    "cp.async.bulk.commit_group", "cp.async.bulk.wait_group 0", "cp.async.mbarrier.arrive.noinc b",
    "wgmma.fence", "wgmma.mma_async {r}, {s}, {x}", "wgmma.mma_async {s}, {x}, {y}, {v}",
    "wgmma.commit_group", "wgmma.wait_group 0", "tcgen05.mma t, {x}, {y}, {v}", "tcgen05.ld {r}, t{w}",
    "tcgen05.st t, {v}", "tcgen05.commit b", "tcgen05.wait::st", "st.async {x}, {v}, 4, b",
)  # fmt: skip


def open_program(seed: int) -> PtxProgram:
    """The asynchronous program of a seed, whose instructions may do one of several things."""
    choose = Random(seed)
    subjects = choose.sample(_OPEN_STEPS[7:], 5)
    columns: list[list[str]] = []
    for number in range(choose.choice((2, 2, 3))):
        code, registers = [f"P{number}@cta {choose.choice((0, 0, 1))},gpu 0"], ["r0"]
        for step in range(choose.choice((2, 3, 3, 4)) if number < 2 else 1):
            chosen = choose.choice((*_OPEN_STEPS[:7], *subjects, *subjects))
            x, y = choose.sample("xy", 2)
            value = choose.choice((0, 1, *registers, *registers))
            words = {"r": f"r{step}", "s": choose.choice(registers), "v": value, "x": x, "y": y}
            words["w"] = "; tcgen05.wait::ld" if seed % 2 else ""
            code += chosen.format(**words, n=choose.choice((1, 1, 2))).split("; ")
            registers.append(f"r{step}")
        columns.append(code)
    count = choose.choice(("", "(1)", "(2)"))
    if any("mbarrier.in" in line for code in columns for line in code):
        count = ""
    rows = [
        " | ".join(c[n] if n < len(c) else "" for c in columns)
        for n in range(max(map(len, columns)))
    ]
    table = "".join(f" {row} ;\n" for row in rows)
    initial = f"x={choose.choice((0, 1))}; y=0; m=0; t=1; t @ tmem; b = mbarrier{count};"
    return parse_litmus(f"PTX open\n{{ {initial} }}\n{table}exists true\n").program


class _SourceMaker:
    def __init__(self, seed: int):
        self.random = Random(seed)
        choose = self.random.choice
        self.names = ("x", "y") if self.random.random() < 0.7 else ("x", "y", "z")
        self.weak, self.narrow = choose((0, 0, 0.15, 0.4)), choose((0, 0, 0.3))
        self.quiet, self.limited = choose((0, 0, 0.2)), choose((0, 0, 0, 0.3))
        self.in_lds = self.random.random() < 0.2

    def program(self) -> ScopedProgram:
        apart = 0 if self.in_lds else 1
        groups = (0, apart, apart * self.random.choice((0, 1, 2)), 3 * apart)
        sizes = self.random.choice(_SIZES)
        spaces = {"y": AddressSpace.LOCAL} if self.in_lds else {}
        return Program(
            tuple(Location(n, space=spaces.get(n, AddressSpace.GLOBAL)) for n in self.names),
            tuple(
                Thread(Placement(group), self.thread(length))
                for group, length in zip(groups, sizes, strict=False)
            ),
        )

    def thread(self, length: int) -> tuple[ScopedInstruction, ...]:
        registers: list[str] = []
        code: list[ScopedInstruction] = []
        for number in range(length):
            code += self.step(registers, str(number))
        return tuple(code)

    def value(self, registers: Sequence[str]) -> Operand:
        return self.random.choice((0, 1, 1, 2, *registers))

    def scope(self) -> Scope:
        if self.random.random() < self.narrow:
            return self.random.choice((Scope.WORKGROUP, Scope.WAVEFRONT))
        return self.random.choice((Scope.AGENT, Scope.SYSTEM))

    def limits(self, ordering: Ordering) -> dict[str, Any]:
        """What an operation that orders does not make available, or does not order."""
        found: dict[str, Any] = {}
        if ordering is Ordering.RELAXED:
            return found
        if self.random.random() < self.quiet:
            found["availability"] = Availability.NONE
        if self.random.random() < self.limited:
            space = self.random.choice((AddressSpace.GLOBAL, AddressSpace.LOCAL))
            found["spaces"] = frozenset({space})
        return found

    def step(self, registers: list[str], number: str) -> list[ScopedInstruction]:
        """An operation, or a few; they set the register of their ``number``."""
        choose, register = self.random.choice, f"r{number}"
        name, is_weak = choose(self.names), self.random.random() < self.weak
        match self.random.randrange(16):
            case 0 | 1 | 2:
                registers.append(register)
                ordering = choose((*_LOADS, Ordering.ACQUIRE, Ordering.SEQ_CST))
                if is_weak:
                    return [Load(register, name)]
                return [Load(register, name, ordering, self.scope(), **self.limits(ordering))]
            case 3 | 4 | 5:
                value = self.value(registers)
                ordering = choose((*_STORES, Ordering.RELEASE, Ordering.SEQ_CST))
                if is_weak:
                    return [Store(name, value)]
                return [Store(name, value, ordering, self.scope(), **self.limits(ordering))]
            case 6 | 7:
                value, kind = (
                    self.value(registers),
                    choose((RmwKind.ADD, RmwKind.XCHG, RmwKind.MAX)),
                )
                ordering = choose((*_ORDERINGS, Ordering.SEQ_CST))
                registers.append(register)
                return [AtomicRmw(kind, name, value, ordering, self.scope(), register)]
            case 8 | 9 | 10:
                return [self.exchange(registers, register, name)]
            case 11:
                ordering = choose(_FENCES)
                return [Fence(ordering, self.scope(), **self.limits(ordering))]
            case 12 if self.random.random() < 0.4:
                ordering = choose((Ordering.RELAXED, Ordering.ACQ_REL))
                return [Barrier(choose((Scope.WORKGROUP, Scope.AGENT)), ordering)]
            case 12:
                a, b = self.value(registers), self.value(registers)
                registers.append(register)
                return [Arithmetic(choose(_ARITHMETIC), register, a, b)]
            case 13 if registers:
                return self.branch(registers, number)
            case 14 | 15:
                return self.loop(registers, number, name)
            case _:
                return [Fence(Ordering.ACQ_REL, self.scope())]

    def exchange(self, registers: list[str], register: str, name: str) -> Cmpxchg:
        choose = self.random.choice
        compare, new = self.value(registers), self.value(registers)
        registers += [register, f"{register}won"]
        return Cmpxchg(
            name,
            compare,
            new,
            choose((*_ORDERINGS, Ordering.SEQ_CST)),
            choose(_LOADS),
            self.scope(),
            register,
            f"{register}won",
            weak=self.random.random() < 0.2,
        )

    def branch(self, registers: list[str], number: str) -> list[ScopedInstruction]:
        choose, target = self.random.choice, f"over{number}"
        condition, inside = choose(registers), list(registers)
        body: list[ScopedInstruction] = []
        for inner in range(choose((1, 1, 2))):
            body += self.step(inside, f"{number}_{inner}")
        return [Branch(target, condition, choose((True, False))), *body, Label(target)]

    def loop(self, registers: list[str], number: str, name: str) -> list[ScopedInstruction]:
        """Waits for a value, or takes a lock."""
        choose, target, register = self.random.choice, f"again{number}", f"r{number}"
        registers.append(register)
        if self.random.random() < 0.6:
            poll = Load(register, name, choose(_LOADS), self.scope())
            if self.random.random() < self.weak:
                poll = Load(register, name)
            return [Label(target), poll, Branch(target, register, self.random.random() < 0.7)]
        won, acquire, relaxed = f"{register}won", Ordering.ACQUIRE, Ordering.RELAXED
        lock = Cmpxchg(name, 0, 1, acquire, relaxed, self.scope(), register, won)
        return [Label(target), lock, Branch(target, won, unless=True)]


def source_program(seed: int) -> ScopedProgram:
    """The program of scoped operations of a seed."""
    return _SourceMaker(seed).program()
