"""Small programs on ``scoped`` as litmus tests, written as lists of steps, and what they can do.

Registers are called r0, r1 and so on; locations x, y are data, z is never stored to, f, g, h
are flags, in global memory;
s and t are data and flag in LDS of work-group 0. Values are small numbers.
"""

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.passes.cdna.waits.insert_waits import InsertWaitsPass
from fencewright.passes.litmus.outline_litmus_threads import OutlineLitmusThreadsPass
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.read_litmus import read_only_test
from fencewright.passes.to_cdna.convert_scoped_to_cdna import ConvertScopedToCDNAPass
from fencewright.simulator.litmus_run import Limits, Run, run

WORD = "i32"
SPACE = {"s": 3, "t": 3}
LOCATIONS = ("x", "y", "z", "f", "g", "h", "s", "t")
VALUES = range(4)


@dataclass
class Writer:
    """A thread's text so far; ``registers`` have been assigned so far."""

    lines: list[str] = field(default_factory=list[str])
    registers: list[str] = field(default_factory=list[str])
    blocks: int = 0

    def block(self) -> str:
        """The name of a new block."""
        self.blocks += 1
        return f"^b{self.blocks}"

    def end(self) -> None:
        """Observe what has been assigned, and end."""
        self.lines += [f'litmus.observe "{r}", %{r} : {WORD}' for r in self.registers]
        self.lines.append("litmus.end")


Step = Callable[[Writer], None]


def _line(text: str, register: str | None = None) -> Step:
    def write(out: Writer) -> None:
        out.lines.append(text)
        if register is not None:
            out.registers.append(register)

    return write


def _pointer(location: str) -> str:
    return f"!llvm.ptr<{SPACE.get(location, 1)}>"


def _how(ordering: str, scope: str) -> str:
    return ordering if ordering == "weak" else f"{ordering} {scope}"


def store(location: str, value: int, ordering: str = "weak", scope: str = "agent") -> Step:
    """A store."""
    how = _how(ordering, scope)
    return _line(f"scoped.store {how} %c{value}, %{location} : {WORD}, {_pointer(location)}")


def load(register: str, location: str, ordering: str = "weak", scope: str = "agent") -> Step:
    """A load."""
    how = _how(ordering, scope)
    text = f"%{register} = scoped.load {how} %{location} : {_pointer(location)} -> {WORD}"
    return _line(text, register)


def lookup(register: str, location: str = "z") -> Step:
    """A load from a location that nobody stores to."""
    text = (
        f"%{register} = scoped.load weak %{location} {{invariant}} : {_pointer(location)} -> {WORD}"
    )
    return _line(text, register)


def copy(location: str, register: str) -> Step:
    """A plain store of what has been loaded."""
    return _line(f"scoped.store weak %{register}, %{location} : {WORD}, {_pointer(location)}")


def rmw(register: str, location: str, value: int, ordering: str, scope: str = "agent") -> Step:
    """An atomic addition."""
    operands = f"%{location}, %c{value} : {_pointer(location)}, {WORD}"
    return _line(f"%{register} = scoped.atomic_rmw add {ordering} {scope} {operands}", register)


def fence(ordering: str, scope: str = "agent") -> Step:
    """A fence."""
    return _line(f"scoped.fence {ordering} {scope}")


def barrier(relaxed: bool = False) -> Step:
    """A barrier of the work-group."""
    return _line(f"scoped.barrier {'relaxed ' if relaxed else ''}workgroup")


def when(register: str, value: int) -> Step:
    """The rest of the thread runs only if the register has that value."""

    def write(out: Writer) -> None:
        go, stop = out.block(), out.block()
        name = f"%is{out.blocks}"
        out.lines.append(f"{name} = arith.cmpi eq, %{register}, %c{value} : {WORD}")
        out.lines.append(f"cf.cond_br {name}, {go}, {stop}")
        out.lines.append(f"{stop}:")
        out.end()
        out.lines.append(f"{go}:")

    return write


def maybe(register: str, value: int, *steps: Step) -> Step:
    """Steps that run only if the register has that value; what they load is not observed."""

    def write(out: Writer) -> None:
        then, after = out.block(), out.block()
        name = f"%is{out.blocks}"
        out.lines.append(f"{name} = arith.cmpi eq, %{register}, %c{value} : {WORD}")
        out.lines.append(f"cf.cond_br {name}, {then}, {after}")
        out.lines.append(f"{then}:")
        known = list(out.registers)
        for step in steps:
            step(out)
        out.registers = known
        out.lines.append(f"cf.br {after}")
        out.lines.append(f"{after}:")

    return write


def spin(register: str, location: str, value: int, ordering: str, scope: str = "agent") -> Step:
    """Loads until the value is there."""

    def write(out: Writer) -> None:
        loop, done = out.block(), out.block()
        name = f"%is{out.blocks}"
        out.lines += [f"cf.br {loop}", f"{loop}:"]
        load(register, location, ordering, scope)(out)
        out.lines.append(f"{name} = arith.cmpi eq, %{register}, %c{value} : {WORD}")
        out.lines += [f"cf.cond_br {name}, {done}, {loop}", f"{done}:"]

    return write


def lock(
    register: str, location: str, scope: str = "agent", orderings: str = "acquire relaxed"
) -> Step:
    """A compare-exchange until it succeeds."""

    def write(out: Writer) -> None:
        loop, done = out.block(), out.block()
        out.lines += [f"cf.br {loop}", f"{loop}:"]
        name = _cmpxchg(out, register, location, (0, 1), f"{orderings} {scope}")
        out.lines += [f"cf.cond_br {name}, {done}, {loop}", f"{done}:"]

    return write


def attempt(
    register: str,
    location: str,
    values: tuple[int, int],
    orderings: str = "acquire relaxed",
    scope: str = "agent",
    failed: Sequence[Step] = (),
    first: Sequence[Step] = (),
) -> Step:
    """One compare-exchange from the first to the second value; the rest runs if it succeeds.

    ``failed``: what runs if not. ``first``: what runs in either case, before the branch.
    """

    def write(out: Writer) -> None:
        go, stop = out.block(), out.block()
        name = _cmpxchg(out, register, location, values, f"{orderings} {scope}")
        for step in first:
            step(out)
        out.lines += [f"cf.cond_br {name}, {go}, {stop}", f"{stop}:"]
        known = list(out.registers)
        for step in failed:
            step(out)
        out.end()
        out.registers = known
        out.lines.append(f"{go}:")

    return write


def _cmpxchg(out: Writer, register: str, location: str, values: tuple[int, int], how: str) -> str:
    compare, new = values
    name = f"%ok{out.blocks}"
    operands = f"%{location}, %c{compare}, %c{new} : {_pointer(location)}, {WORD}"
    out.lines.append(f"%{register}, {name} = scoped.cmpxchg {how} {operands}")
    out.registers.append(register)
    return name


@dataclass(frozen=True)
class Where:
    """The place of a thread."""

    workgroup: int
    xcd: int = 0
    agent: int = 0
    cu: int | None = None

    def __str__(self) -> str:
        cu = self.workgroup if self.cu is None else self.cu
        return f"<workgroup = {self.workgroup}, xcd = {self.xcd}, cu = {cu}, agent = {self.agent}>"


Threads = Sequence[tuple[Where, Sequence[Step]]]


def program(threads: Threads) -> str:
    """The litmus test of these threads, as a module."""
    locations: set[str] = set()
    text: list[str] = []
    for number, (where, steps) in enumerate(threads):
        out = Writer()
        for step in steps:
            step(out)
        out.end()
        text.append(f"litmus.thread @P{number} at {where} {{")
        used = set(_NAME.findall("\n".join(out.lines)))
        for name in LOCATIONS:
            if name in used:
                text.append(f"%{name} = litmus.address @{name} : {_pointer(name)}")
                locations.add(name)
        constants = (value for value in VALUES if f"c{value}" in used)
        text += [f"%c{value} = arith.constant {value} : {WORD}" for value in constants]
        text += [*out.lines, "}"]
    declared = [
        f"litmus.location @{name} = 0 : {WORD}{' in local' if name in SPACE else ''}"
        for name in sorted(locations)
    ]
    return "\n".join(["litmus.test @t {", *declared, *text, "}"])


_NAME = re.compile(r"%(\w+)")


@cache
def _context() -> Context:
    context = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    return context


@lru_cache(maxsize=256)
def _parsed(text: str) -> ModuleOp:
    return Parser(_context(), text).parse_module()


def parse(text: str) -> ModuleOp:
    """The module. A copy: a program is lowered again and again, and parsing takes longest of all."""
    return _parsed(text).clone()


@lru_cache(maxsize=1 << 12)
def source(text: str, limits: Limits | None = None) -> Run:
    """What the program may do, whatever the passes make of it."""
    return _run(parse(text), ReadOptions(), limits)


@dataclass(frozen=True)
class Target:
    """What a program is lowered for and run on.

    ``knows_l2``: lowered for the one L2 that an agent has, not for however many it may have.
    """

    chip: str = "gfx942"
    tgsplit: bool = False
    l2_per_agent: L2PerAgent | None = None
    compat: str | None = None
    knows_l2: bool = False


def lower(text: str, target: Target, before: Iterable[ModulePass], on_cdna: Iterable[ModulePass]):
    """The module on CDNA instructions: ``before`` runs on ``scoped``, ``on_cdna`` on these."""
    module = parse(text)
    steps: list[ModulePass] = [
        OutlineLitmusThreadsPass(),
        *before,
        ConvertScopedToCDNAPass(
            mcpu=target.chip,
            tgsplit=target.tgsplit,
            compat="llvm" if target.compat == "llvm" else None,
            l2_per_agent="one" if target.knows_l2 else "many",
        ),
        *on_cdna,
        InsertWaitsPass(),
    ]
    for step in steps:
        step.apply(Context(), module)
    module.verify()
    return module


def execute(module: ModuleOp, target: Target, limits: Limits | None = None) -> Run:
    """What the lowered program can do."""
    options = ReadOptions(
        l2_per_agent=target.l2_per_agent, chip=target.chip, tgsplit=target.tgsplit
    )
    return _run(module, options, limits)


def _run(module: ModuleOp, options: ReadOptions, limits: Limits | None) -> Run:
    return run(read_only_test(module, options), limits)


def forbidden(meant: Run, does: Run) -> frozenset[tuple[int | None, ...]]:
    """Outcomes of ``does`` that ``meant`` does not have; the mistakes of ``does`` must be none."""
    assert meant.outcomes is not None
    assert does.outcomes is not None
    assert not does.errors, does.errors
    reached = does.outcomes.project(meant.outcomes.observables)
    return frozenset(reached.states - meant.outcomes.states)


# Programs at random

ORDERINGS_OF_LOADS = ("relaxed", "acquire", "acquire", "seq_cst")
ORDERINGS_OF_STORES = ("relaxed", "release", "release", "seq_cst")
ORDERINGS_OF_CMPXCHGS = ("acquire relaxed", "acq_rel relaxed", "acquire acquire")
ORDERINGS_OF_RMWS = ("relaxed", "acquire", "release", "acq_rel", "acq_rel", "seq_cst")
FENCES_BEFORE = ("release", "release", "acq_rel", "seq_cst")
FENCES_AFTER = ("acquire", "acquire", "acq_rel", "seq_cst")
PLACES = (
    (Where(0, 0), Where(1, 1)),
    (Where(0, 0), Where(0, 0)),
    (Where(0, 0), Where(0, 0), Where(1, 1)),
    (Where(0, 0), Where(0, 0), Where(1, 1)),
    (Where(0, 0), Where(1, 1), Where(1, 1)),
    (Where(0, 0), Where(1, 1), Where(2, 0)),
    (Where(0, 0), Where(1, 1), Where(2, 0, 1)),
)


BARRIER = "barrier"


class Random:
    """Makes programs of a kind: data handed from thread to thread by flags, in all the ways there are.

    Thread n passes what it has on by flag n, and waits for flag n-1 first. Each passes on data
    of its own or not; scopes are mostly those that reach the other thread. Within a work-group
    the flag may be a barrier or, with ``lds``, like the data, in LDS. ``agents``: on several.
    """

    def __init__(self, seed: int, lds: bool = True, agents: bool = True):
        self.random = random.Random(seed)
        self.registers = 0
        self.usable: list[str] = []
        self.lds = lds
        self.places = [
            each for each in PLACES if agents or len({place.agent for place in each}) == 1
        ]

    def threads(self) -> Threads:
        """A program."""
        places = self.random.choice(self.places)
        links = [self.link(a, b, n) for n, (a, b) in enumerate(pairwise(places))]
        local = self.lds and places[0].workgroup == places[1].workgroup
        local = local and self.random.random() < 0.3
        data = ("s" if local else "x", "y", "y")
        readable: list[str] = []
        result: list[tuple[Where, list[Step]]] = []
        for number, place in enumerate(places):
            self.registers = 0
            self.usable = []
            steps: list[Step] = []
            if number:
                steps += self.receive(links[number - 1], self.scope(places[number - 1], place))
                steps += self.noise(0.15)
                near = [name for name in readable if name not in SPACE or place.workgroup == 0]
                last = number + 1 == len(places)
                steps += self.data_reads(near) if last or self.random.random() < 0.6 else []
            if number + 1 < len(places):
                steps += self.data_writes(data[number], number + 1)
                readable.append(data[number])
                steps += self.noise(0.3)
                steps += self.publish(links[number], self.scope(place, places[number + 1]))
            steps += self.noise(0.2)
            result.append((place, steps))
        return result

    def link(self, a: Where, b: Where, number: int) -> str:
        """How one thread signals to the next: a flag, or a barrier."""
        if a.workgroup != b.workgroup or self.random.random() < 0.5:
            return "fg"[number]
        in_lds = self.lds and a.workgroup == 0
        return self.random.choice((BARRIER, "t") if in_lds else (BARRIER,))

    def register(self) -> str:
        """A new register."""
        self.registers += 1
        self.usable.append(f"r{self.registers - 1}")
        return self.usable[-1]

    def perhaps(self, make: Callable[[], Step], chance: float) -> Step:
        """A step; at times only on one path out of a branch on what has been loaded."""
        known = list(self.usable)
        step = make()
        if not known or self.random.random() >= chance:
            return step
        self.usable = known
        return maybe(self.random.choice(known), self.random.choice((0, 1)), step)

    def scope(self, a: Where, b: Where) -> str:
        """Mostly the scope that spans both places, at times a wider, seldom a narrower one."""
        fitting = 2 if a.agent != b.agent else int(a.workgroup != b.workgroup)
        chance = self.random.random()
        shift = 0 if chance < 0.7 else 1 if chance < 0.95 else -1
        return ("workgroup", "agent", "system")[min(max(fitting + shift, 0), 2)]

    def data_writes(self, name: str, value: int) -> list[Step]:
        """Stores of what this thread releases: plain, or relaxed, at times twice; or nothing."""
        plain = store(name, value)
        kinds: tuple[list[Step], ...] = (
            [plain],
            [plain, self.perhaps(lambda: plain, 1.0)],
            [store(name, value, "relaxed", "agent")],
            [],
        )
        return self.random.choice(kinds if value > 1 else kinds[:3])

    def data_reads(self, names: list[str]) -> list[Step]:
        """Loads of what the threads before have released."""
        if not names:
            return []
        chosen = self.random.sample(names, self.random.randint(1, len(names)))
        return [load(self.register(), name) for name in chosen]

    def noise(self, chance: float) -> list[Step]:
        """Synchronisation that nobody may need, and loads that need none."""
        steps: list[Step] = []
        while self.random.random() < chance:
            steps.append(self.perhaps(self.noise_step, 0.3))
        return steps

    def noise_step(self) -> Step:
        """One such operation."""
        choice = self.random.choice
        scope = choice(("workgroup", "agent", "agent", "system"))
        return choice(
            (
                lambda: fence(choice(FENCES_BEFORE), scope),
                lambda: fence(choice(FENCES_AFTER), scope),
                lambda: rmw(self.register(), "h", 0, choice(ORDERINGS_OF_RMWS), scope),
                lambda: load(self.register(), "h", choice(ORDERINGS_OF_LOADS), scope),
                lambda: store("h", 0, choice(ORDERINGS_OF_STORES), scope),
                lambda: lookup(self.register()),
            )
        )()

    def publish(self, flag: str, scope: str) -> list[Step]:
        """Raise a flag: a release access, or a fence and a relaxed one; or a barrier."""
        if flag == BARRIER:
            return self.meet(FENCES_BEFORE, before=True)
        steps: list[Step] = []
        ordering = self.random.choice(ORDERINGS_OF_STORES)
        if ordering == "relaxed":
            steps.append(fence(self.random.choice(FENCES_BEFORE), scope))
        if self.random.random() < 0.7:
            steps.append(store(flag, 1, ordering, scope))
        else:
            kind = ordering if self.random.random() < 0.5 or ordering != "release" else "acq_rel"
            steps.append(rmw(self.register(), flag, 1, kind, scope))
        return steps

    def meet(self, fences: Sequence[str], before: bool) -> list[Step]:
        """A barrier, or a relaxed one with a fence before or after it."""
        if self.random.random() < 0.7:
            return [barrier()]
        scope = self.random.choice(("workgroup", "workgroup", "agent"))
        steps = [fence(self.random.choice(fences), scope), barrier(relaxed=True)]
        return steps if before else steps[::-1]

    def receive(self, flag: str, scope: str) -> list[Step]:
        """Wait for a flag, or look at it once; or a barrier."""
        if flag == BARRIER:
            return self.meet(FENCES_AFTER, before=False)
        ordering = self.random.choice(ORDERINGS_OF_LOADS)
        register = self.register()
        chance = self.random.random()
        if chance > 0.92:
            orderings = self.random.choice(ORDERINGS_OF_CMPXCHGS)
            return [attempt(register, flag, (1, 1), orderings, scope)]
        if chance < 0.4:
            steps = [spin(register, flag, 1, ordering, scope)]
        elif chance < 0.85:
            steps = [load(register, flag, ordering, scope)]
        else:
            ordering = self.random.choice(ORDERINGS_OF_RMWS)
            steps = [rmw(register, flag, 0, ordering, scope)]
        before: list[Step] = []
        if ordering in ("relaxed", "release"):
            before.append(fence(self.random.choice(FENCES_AFTER), scope))
        guard: list[Step] = [when(register, 1)] if chance >= 0.4 else []
        if before and self.random.random() < 0.5:
            return [*steps, *guard, *before]
        return [*steps, *before, *guard]
