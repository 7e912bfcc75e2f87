"""Programs of ``simulator.random.async_programs`` as litmus tests on ``scoped``, as text."""

from collections.abc import Iterator

from fencewright.simulator.random.async_programs import (
    EVERYWHERE,
    PLACES,
    ROUND,
    Action,
    ActionKind,
    AsyncProgram,
    Link,
    Meeting,
    Step,
    expected,
)

NAME = "t"
"""The name of the test."""

_BYTES = 128
"""The bytes of a tile."""


def write(program: AsyncProgram) -> str:
    """A module with the program as a litmus test that holds if it can only end as is expected."""
    lines = [f"litmus.test @{NAME} {{"]
    for cell in program.cells:
        where = "" if cell.home is None else f" in local {{workgroup = {cell.home} : i32}}"
        lines.append(f"  litmus.location @{cell.name} = {cell.initial} : i32{where}")
    lines += [f"  litmus.location @{flag} = 0 : i32" for flag in program.flags]
    if program.needs & {ActionKind.MULTI_STORE, ActionKind.MULTI_LOAD, ActionKind.MULTI_REDUCE}:
        lines.append(f"  litmus.multicast @{EVERYWHERE} = [{', '.join(f'@{n}' for n in PLACES)}]")
    for name, home in program.mbarriers.items():
        lines.append(f"  litmus.mbarrier @{name} count 1 {{workgroup = {home} : i32}}")
    for number, place in enumerate(program.places):
        at = f"workgroup = {place.workgroup}, cluster = {place.cluster}"
        lines.append(f"  litmus.thread @P{number} at <{at}> {{")
        lines += [f"    {line}" for line in _Thread(program, number).lines()]
        lines.append("  }")
    lines += [f'  litmus.condition "forall ({_condition(program)})"', "}", ""]
    return "\n".join(lines)


def _condition(program: AsyncProgram) -> str:
    outcome = expected(program)
    parts = [f"P{thread}:{name} = {n}" for (thread, name), n in outcome.registers.items()]
    parts += [f"{name} = {n}" for name, n in outcome.memory.items()]
    return " and ".join(parts)


class _Thread:
    """The body of one thread, which is written step by step."""

    def __init__(self, program: AsyncProgram, number: int):
        self.program = program
        self.number = number
        self.place = program.places[number]
        self.addresses: dict[tuple[str, str], str] = {}
        self.constants: dict[int, str] = {}
        self.registers: list[str] = []
        self.body: list[str] = []
        self.names = 0

    def lines(self) -> Iterator[str]:
        """The lines of the body."""
        several = self.program.rounds > 1
        for step in self.program.steps:
            self.step(step)
        if several:
            self.end_round()
        head = [
            f"{name} = litmus.address @{location} : {type}"
            for (location, type), name in self.addresses.items()
        ]
        if several:
            zero = self.constant(0)
            self.body = [f"cf.br ^round({zero} : i32)", "^round(%round: i32):", *self.body]
        head += [f"{name} = arith.constant {n} : i32" for n, name in self.constants.items()]
        yield from head
        yield from self.body
        for name in self.registers:
            yield f'litmus.observe "{name}", %{name} : i32'
        if any(line.startswith("^") for line in self.body):
            yield "litmus.end"

    def end_round(self) -> None:
        """Meet all threads, and go around again."""
        link = Link.BARRIER if len({*self.program.places}) == 1 else Link.CLUSTER_BARRIER
        self.step(Meeting(link, tuple(range(len(self.program.places)))))
        one, rounds = self.constant(1), self.constant(self.program.rounds)
        self.body += [
            f"%next = arith.addi %round, {one} : i32",
            f"%more = arith.cmpi ult, %next, {rounds} : i32",
            "cf.cond_br %more, ^round(%next : i32), ^done",
            "^done:",
        ]

    def fresh(self, prefix: str) -> str:
        """A name that nothing else has."""
        self.names += 1
        return f"{prefix}{self.names}"

    def constant(self, number: int) -> str:
        return self.constants.setdefault(number, f"%c{number}")

    def parity(self) -> str:
        return "%round" if self.program.rounds > 1 else self.constant(0)

    def value(self, number: int) -> str:
        """The value that is stored in this round."""
        if self.program.rounds == 1:
            return self.constant(number)
        grown, sum = self.fresh("%v"), self.fresh("%v")
        self.body += [
            f"{grown} = arith.muli %round, {self.constant(ROUND)} : i32",
            f"{sum} = arith.addi {grown}, {self.constant(number)} : i32",
        ]
        return sum

    # Addresses

    def pointer(self, name: str, *, generic: bool = False) -> tuple[str, str]:
        """The address of a location, and its type: own or a peer's LDS, or global memory."""
        home = self.program.mbarriers.get(name)
        if name not in self.program.mbarriers:
            homes = {each.name: each.home for each in self.program.cells}
            home = homes.get(name)
        if generic:
            return self.address(name, "!llvm.ptr")
        if home is None:
            return self.address(name, "!llvm.ptr<1>")
        return self.address(name, f"!llvm.ptr<{3 if home == self.place.workgroup else 7}>")

    def address(self, name: str, type: str) -> tuple[str, str]:
        made = self.addresses.setdefault((name, type), f"%a{len(self.addresses)}_{name}")
        return made, type

    # Steps

    def step(self, step: Step) -> None:
        match step:
            case Meeting():
                if self.number in step.threads:
                    self.meet(step)
            case Action():
                if self.number == step.thread:
                    self.act(step)
                if self.number == step.waiter:
                    self.wait(step)

    def meet(self, meeting: Meeting) -> None:
        match meeting.link:
            case Link.BARRIER:
                self.body.append("scoped.barrier workgroup")
            case Link.CLUSTER_BARRIER:
                self.body += ["scoped.cluster_arrive release", "scoped.cluster_wait"]
            case Link.NAMED_BARRIER:
                part = "arrive" if self.number == meeting.threads[0] else "sync"
                self.body.append(f"scoped.named_barrier {part} {meeting.name} threads 64")
            case Link.MBARRIER | Link.TRANSACTION:
                self.signal(meeting)
            case Link.FLAG:
                self.flag(meeting)

    def scope(self, one: int, other: int) -> str:
        same = self.program.places[one] == self.program.places[other]
        return "workgroup" if same else "cluster"

    def signal(self, meeting: Meeting) -> None:
        pointer, type = self.pointer(meeting.name)
        scope = self.scope(*meeting.threads)
        if self.number == meeting.threads[0]:
            arrival = f"scoped.mbarrier_arrive release {scope} {pointer} : {type}"
            bytes = f"{scope} {pointer} bytes 16 : {type}"
            expected = [f"scoped.mbarrier_expect_tx {bytes}"]
            completed = [f"scoped.mbarrier_complete_tx {bytes}"]
            by_bytes = meeting.link is Link.TRANSACTION
            self.body += [*expected * by_bytes, arrival, *completed * by_bytes]
        if self.number == meeting.threads[1]:
            self.await_phase(meeting.name, scope)

    def await_phase(self, name: str, scope: str) -> None:
        pointer, type = self.pointer(name)
        wait = f"scoped.mbarrier_wait acquire {scope} {pointer}, {self.parity()}"
        self.body.append(f"{wait} : {type}, i32")

    def flag(self, meeting: Meeting) -> None:
        pointer, type = self.pointer(meeting.name)
        if self.number == meeting.threads[0]:
            one = self.constant(1)
            self.body.append(f"scoped.store release agent {one}, {pointer} : i32, {type}")
        if self.number == meeting.threads[1]:
            spin, go = self.fresh("spin"), self.fresh("go")
            seen, again = self.fresh("%seen"), self.fresh("%again")
            self.body += [
                f"cf.br ^{spin}",
                f"^{spin}:",
                f"{seen} = scoped.load acquire agent {pointer} : {type} -> i32",
                f"{again} = arith.cmpi eq, {seen}, {self.constant(0)} : i32",
                f"cf.cond_br {again}, ^{spin}, ^{go}",
                f"^{go}:",
            ]

    def act(self, step: Action) -> None:
        conditions: list[str] = []
        if step.guard is not None:
            register, value = step.guard
            conditions.append(f"arith.cmpi eq, %{register}, {self.constant(value)} : i32")
        conditions += ["scoped.elect : i1"] * step.elected
        ends: list[str] = []
        for each in conditions:
            yes, do, after = self.fresh("%yes"), self.fresh("do"), self.fresh("after")
            self.body += [f"{yes} = {each}", f"cf.cond_br {yes}, ^{do}, ^{after}", f"^{do}:"]
            ends.append(after)
        getattr(self, step.kind.value)(step)
        for after in reversed(ends):
            self.body += [f"cf.br ^{after}", f"^{after}:"]

    def store(self, step: Action) -> None:
        pointer, type = self.pointer(step.target, generic=step.generic)
        value = self.value(step.value)
        self.body.append(f"scoped.store weak {value}, {pointer} : i32, {type}")

    def load(self, step: Action) -> None:
        pointer, type = self.pointer(step.source, generic=step.generic)
        self.read(step, f"scoped.load weak {pointer} : {type} -> i32")

    def read(self, step: Action, value: str) -> None:
        self.body.append(f"%{step.register} = {value}")
        self.registers.append(step.register)

    def copy(self, operation: str, step: Action, size: int, mbarrier: str = "") -> None:
        (target, to), (source, of) = self.pointer(step.target), self.pointer(step.source)
        text, types = f"scoped.{operation} {target}, {source} size {size}", f"{to}, {of}"
        if mbarrier:
            pointer, type = self.pointer(mbarrier)
            text, types = f"{text} mbarrier {pointer}", f"{types}, {type}"
        self.body.append(f"{text} : {types}")

    def bulk_store(self, step: Action) -> None:
        self.copy("bulk_copy", step, _BYTES)

    def bulk_reduce(self, step: Action) -> None:
        self.copy("bulk_reduce add i32", step, _BYTES)

    def reduce_push(self, step: Action) -> None:
        self.copy("bulk_reduce add i32", step, _BYTES, step.mbarrier)

    def zero(self, step: Action) -> None:
        pointer, type = self.pointer(step.target)
        self.body.append(f"scoped.store_bulk {pointer} size {_BYTES} : {type}")

    def prefetch(self, step: Action) -> None:
        pointer, type = self.pointer(step.source)
        self.body.append(f"scoped.prefetch {pointer} size {_BYTES} : {type}")

    def multi_store(self, step: Action) -> None:
        pointer, type = self.pointer(step.target)
        value = self.value(step.value)
        self.body.append(f"scoped.multimem_store weak {value}, {pointer} : i32, {type}")

    def multi_load(self, step: Action) -> None:
        pointer, type = self.pointer(step.source)
        self.read(step, f"scoped.multimem_load add weak {pointer} : {type} -> i32")

    def multi_reduce(self, step: Action) -> None:
        pointer, type = self.pointer(step.target)
        value = self.value(step.value)
        reduce = f"scoped.multimem_reduce add relaxed system {value}, {pointer}"
        self.body.append(f"{reduce} : i32, {type}")

    def expect(self, step: Action, bytes: int) -> None:
        pointer, type = self.pointer(step.mbarrier)
        arrival = f"scoped.mbarrier_arrive release workgroup {pointer} expect_tx {bytes}"
        self.body.append(f"{arrival} : {type}")

    def is_own(self, step: Action) -> bool:
        """True if the mbarrier is of this thread's work-group."""
        assert step.waiter is not None
        return self.program.places[step.waiter] == self.place

    def bulk_load(self, step: Action) -> None:
        if self.is_own(step):
            self.expect(step, _BYTES)
        self.copy("bulk_copy", step, _BYTES, step.mbarrier)

    def bulk_push(self, step: Action) -> None:
        self.copy("bulk_copy", step, _BYTES, step.mbarrier)

    def store_async(self, step: Action) -> None:
        (target, to), (mbarrier, type) = self.pointer(step.target), self.pointer(step.mbarrier)
        operation = "store_async" if step.kind is ActionKind.STORE_ASYNC else "reduce_async add"
        text = f"scoped.{operation} {self.value(step.value)}, {target} mbarrier {mbarrier}"
        self.body.append(f"{text} : i32, {to}, {type}")

    def reduce_async(self, step: Action) -> None:
        self.store_async(step)

    def async_copy(self, step: Action) -> None:
        self.copy("async_copy", step, 16)

    def tracked_copy(self, step: Action) -> None:
        self.copy("async_copy", step, 16)
        pointer, type = self.pointer(step.mbarrier)
        self.body.append(f"scoped.async_arrive noinc {pointer} : {type}")

    def multiply(self, step: Action) -> None:
        a, b = (self.address(each, "i64")[0] for each in (step.source, step.target))
        name = f'"{step.register}"'
        self.body.append(f'scoped.wgmma "m64n8k16.f32.f16.f16" {name} registers 4 {a}, {b}')
        self.read(step, f"scoped.wgmma_read {name}[0] : i32")

    def wait(self, step: Action) -> None:
        """Wait for a thread's asynchronous operations; expects their bytes if not yet done."""
        is_peer = self.program.places[step.thread] != self.place
        if step.kind is not ActionKind.TRACKED_COPY and is_peer:
            by_threads = step.kind in (ActionKind.STORE_ASYNC, ActionKind.REDUCE_ASYNC)
            self.expect(step, 4 if by_threads else _BYTES)
        self.await_phase(step.mbarrier, self.scope(step.thread, self.number))
