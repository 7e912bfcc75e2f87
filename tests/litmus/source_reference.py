"""The source model a second time, by plain enumeration: the reference for random programs.

Relations are sets of pairs, written as the definitions have them; every value is guessed from
a pool, every reads-from and every coherence order is tried, nothing is pruned. Address spaces
are always told apart, and races always judged by location order. For tiny programs only.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Register
from fencewright.simulator.core.program import (
    ARITHMETIC,
    RMW,
    Arithmetic,
    Branch,
    Label,
    Move,
    Operand,
    Placement,
)
from fencewright.simulator.source.events import (
    AtomicRmw,
    Barrier,
    Cmpxchg,
    Fence,
    Load,
    ScopedOperation,
    ScopedProgram,
    Store,
)

Pairs = set[tuple[int, int]]
Instances = set[tuple[int, frozenset[int]]]
SPACES = (AddressSpace.GLOBAL, AddressSpace.LOCAL)


@dataclass(frozen=True)
class Node:
    """An event; ``kind`` is one of R W U F A B, ``needs`` the reads that a write depends on."""

    kind: str
    thread: int
    position: int
    ordering: Ordering
    operation: ScopedOperation | None
    location: str | None = None
    read: int | None = None
    written: int | None = None
    needs: frozenset[int] = frozenset()

    @property
    def reads(self) -> bool:
        return self.kind in "RU"

    @property
    def writes(self) -> bool:
        return self.kind in "WU"

    @property
    def weak(self) -> bool:
        return self.ordering is Ordering.WEAK

    @property
    def scope(self) -> Scope | None:
        return None if self.operation is None else self.operation.scope


@dataclass(frozen=True)
class Run:
    """One run of one thread so far."""

    nodes: tuple[Node, ...] = ()
    registers: tuple[tuple[str, int], ...] = ()
    taints: tuple[tuple[str, frozenset[int]], ...] = ()
    control: frozenset[int] = frozenset()

    def value(self, operand: Operand) -> int:
        return operand if isinstance(operand, int) else dict(self.registers).get(operand, 0)

    def taint(self, operand: Operand) -> frozenset[int]:
        none = frozenset[int]()
        return none if isinstance(operand, int) else dict(self.taints).get(operand, none)

    def assign(self, name: str | None, value: int, taint: frozenset[int]) -> "Run":
        if name is None:
            return self
        registers = {**dict(self.registers), name: value}
        taints = {**dict(self.taints), name: taint}
        return replace(self, registers=tuple(registers.items()), taints=tuple(taints.items()))

    def then(self, node: Node) -> "Run":
        return replace(self, nodes=(*self.nodes, node))


def succeeded(each: Cmpxchg, run: Run, old: int, own: frozenset[int], success: int) -> Run:
    after = run.assign(each.dst, old, own)
    return after.assign(each.success, success, own | run.taint(each.compare))


def runs(program: ScopedProgram, thread: int, pool: Iterable[int]) -> Iterator[Run]:
    """Every run of a thread without backward branches."""
    code = program.threads[thread].instructions
    labels = {each.name: i for i, each in enumerate(code) if isinstance(each, Label)}

    def go(position: int, run: Run) -> Iterator[Run]:
        if position == len(code):
            yield run
            return
        each = code[position]
        own = frozenset({len(run.nodes)})
        following = position + 1

        def node(kind: str, ordering: Ordering, **values: object) -> Node:
            assert isinstance(each, Load | Store | AtomicRmw | Cmpxchg | Fence | Barrier)
            location = None if isinstance(each, Fence | Barrier) else each.location
            return replace(Node(kind, thread, position, ordering, each, location), **values)

        match each:
            case Load():
                for value in pool:
                    after = run.then(node("R", each.ordering, read=value))
                    yield from go(following, after.assign(each.dst, value, own))
            case Store():
                needs = run.taint(each.value) | run.control
                value = run.value(each.value)
                yield from go(
                    following, run.then(node("W", each.ordering, written=value, needs=needs))
                )
            case AtomicRmw():
                needs = run.taint(each.value) | run.control
                if each.kind is not RmwKind.XCHG:
                    needs |= own
                for old in pool:
                    new = RMW[each.kind](old, run.value(each.value))
                    after = run.then(node("U", each.ordering, read=old, written=new, needs=needs))
                    yield from go(following, after.assign(each.dst, old, own))
            case Cmpxchg():
                needs = run.taint(each.compare) | run.taint(each.new) | run.control | own
                new = run.value(each.new)
                for old in pool:
                    if old == run.value(each.compare):
                        after = run.then(
                            node("U", each.ordering, read=old, written=new, needs=needs)
                        )
                        yield from go(following, succeeded(each, after, old, own, 1))
                    if old != run.value(each.compare) or each.weak:
                        after = run.then(node("R", each.failure_ordering, read=old))
                        yield from go(following, succeeded(each, after, old, own, 0))
            case Fence():
                yield from go(following, run.then(node("F", each.ordering)))
            case Barrier():
                arrived = run.then(node("A", each.ordering))
                yield from go(following, arrived.then(node("B", each.ordering)))
            case Branch():
                assert each.condition is not None
                after = replace(run, control=run.control | run.taint(each.condition))
                taken = bool(run.value(each.condition)) is not each.unless
                yield from go(labels[each.target] if taken else following, after)
            case Arithmetic():
                value = ARITHMETIC[each.kind](run.value(each.a), run.value(each.b))
                taint = run.taint(each.a) | run.taint(each.b)
                yield from go(following, run.assign(each.dst, value, taint))
            case Move():
                after = run.assign(each.dst, run.value(each.value), run.taint(each.value))
                yield from go(following, after)
            case Label():
                yield from go(following, run)

    return go(0, Run())


def closure(pairs: Pairs) -> Pairs:
    result = set(pairs)
    while True:
        successors: dict[int, set[int]] = {}
        for a, b in result:
            successors.setdefault(a, set()).add(b)
        more = {(a, c) for a, b in result for c in successors.get(b, ())}
        if more <= result:
            return result
        result |= more


def compose(*relations: Pairs) -> Pairs:
    result = relations[0]
    for relation in relations[1:]:
        successors: dict[int, set[int]] = {}
        for a, b in relation:
            successors.setdefault(a, set()).add(b)
        result = {(a, c) for a, b in result for c in successors.get(b, ())}
    return result


def acyclic(pairs: Pairs) -> bool:
    return all(a != b for a, b in closure(pairs))


def together(program: ScopedProgram, a: int, b: int, scope: Scope) -> bool:
    """Whether threads a and b are in one instance of ``scope``."""
    here, there = program.threads[a].placement, program.threads[b].placement

    def same(*keys: Callable[[Placement], int]) -> bool:
        return all(key(here) == key(there) for key in keys)

    match scope:
        case Scope.SINGLETHREAD | Scope.WAVEFRONT:
            return a == b
        case Scope.WORKGROUP:
            return same(lambda p: p.workgroup)
        case Scope.CLUSTER:
            return same(lambda p: p.cluster, lambda p: p.agent)
        case Scope.AGENT:
            return same(lambda p: p.agent)
        case Scope.SYSTEM:
            return True


class Candidate:
    """One execution: runs, and where each read takes its value."""

    def __init__(self, program: ScopedProgram, nodes: list[Node], rf: dict[int, int]):
        self.program = program
        self.nodes = nodes
        self.rf = rf
        self.all = range(len(nodes))
        self.initial = {n for n in self.all if nodes[n].thread < 0}
        self.po = {
            (a, b)
            for a, b in product(self.all, self.all)
            if a < b and (a in self.initial or nodes[a].thread == nodes[b].thread)
            if b not in self.initial
        }
        self.space = {each.name: each.space for each in program.locations}
        self.hb = {space: self.happens_before(self.sw(space)) for space in SPACES}

    def happens_before(self, sw: Pairs) -> Pairs:
        """Ways of po and sw that do not go by sw into and by sw out of an update."""
        steps = {(a, b, way) for way, found in (("po", self.po), ("sw", sw)) for a, b in found}
        begun = set(steps)
        while True:
            more = {
                (a, c, after)
                for a, b, before in begun
                for start, c, after in steps
                if b == start and not (before == after == "sw" and self.nodes[b].kind == "U")
            } - begun
            if not more:
                return {(a, b) for a, b, _ in begun}
            begun |= more

    def near(self, a: int, b: int, scope: Scope) -> bool:
        """Whether the instance of ``scope`` that event a is in has event b."""
        if a in self.initial or b in self.initial:
            return True
        return together(self.program, self.nodes[a].thread, self.nodes[b].thread, scope)

    def inclusive(self, a: int, b: int) -> bool:
        scopes = [Scope.SYSTEM if n in self.initial else self.nodes[n].scope for n in (a, b)]
        return all(scope is not None and self.near(a, b, scope) for scope in scopes)

    def covers(self, number: int, space: AddressSpace) -> bool:
        operation = self.nodes[number].operation
        if operation is None or operation.spaces is None:
            return True
        return space in operation.spaces

    def orders(self, number: int, space: AddressSpace, flag: AddressSpace | None) -> bool:
        """Whether a synchronising operation orders ``space`` through a flag in ``flag``."""
        node = self.nodes[number]
        operation = node.operation
        assert operation is not None
        if not self.covers(number, space):
            return False
        if flag is None:
            return True
        if node.kind == "F" and not self.covers(number, flag):
            return False
        return not operation.one_as or space == flag

    def sw(self, space: AddressSpace) -> Pairs:
        nodes, found = self.nodes, set[tuple[int, int]]()
        for write in self.all:
            if not nodes[write].writes or write in self.initial or nodes[write].weak:
                continue
            sequence = {write}
            while True:
                more = {
                    u for u in self.all if nodes[u].kind == "U" and self.rf[u] in sequence
                } - sequence
                if not more:
                    break
                sequence |= more
            flag = self.space[nodes[write].location or ""]
            for read in self.all:
                if nodes[read].reads and not nodes[read].weak and self.rf[read] in sequence:
                    found |= self.pairs(write, read, space, flag)
        for a, b in product(self.all, self.all):
            if nodes[a].kind == "A" and nodes[b].kind == "B" and self.meet(a, b):
                found |= self.pairs(a, b, space, None)
        return found

    def meet(self, arrival: int, wait: int) -> bool:
        nodes = self.nodes
        if nodes[arrival].thread == nodes[wait].thread:
            return False
        scope = nodes[arrival].scope
        if scope is None or scope is not nodes[wait].scope or not self.near(arrival, wait, scope):
            return False
        turns = [
            sum(
                nodes[n].kind == nodes[m].kind and nodes[n].scope is scope and (n, m) in self.po
                for n in self.all
            )
            for m in (arrival, wait)
        ]
        return turns[0] == turns[1]

    def pairs(self, a: int, b: int, space: AddressSpace, flag: AddressSpace | None) -> Pairs:
        nodes = self.nodes
        heads = [n for n in self.all if nodes[n].kind == "F" and (n, a) in self.po]
        tails = [n for n in self.all if nodes[n].kind == "F" and (b, n) in self.po]
        return {
            (head, tail)
            for head, tail in product([*heads, a], [*tails, b])
            if nodes[head].ordering.releases and nodes[tail].ordering.acquires
            if self.inclusive(head, tail)
            if self.orders(head, space, flag) and self.orders(tail, space, flag)
        }

    def thin_air(self) -> bool:
        depends = {(r, -w - 1) for w in self.all for r in self.nodes[w].needs}
        return not acyclic(depends | {(-w - 1, r) for r, w in self.rf.items()})

    def consistent(self, orders: dict[str, tuple[int, ...]]) -> bool:
        nodes = self.nodes
        co = {
            (a, b) for order in orders.values() for i, a in enumerate(order) for b in order[i + 1 :]
        }
        rf = {(w, r) for r, w in self.rf.items()}
        fr = {(r, w) for r, source in self.rf.items() for s, w in co if s == source and w != r}
        eco = closure(rf | co | fr)
        for location in orders:
            hb = self.hb[self.space[location]]
            here = {n for n in self.all if nodes[n].location == location}
            for a, b in hb:
                if a in here and (a == b or (b in here and (b, a) in eco)):
                    return False
        if any(a == b for a, b in eco):
            return False
        if any((w, u) in co and (u, w) in fr for u in self.rf for w in self.all):
            return False
        return self.single_order(rf, co, fr, eco)

    def single_order(self, rf: Pairs, co: Pairs, fr: Pairs, eco: Pairs) -> bool:
        nodes = self.nodes
        chosen = [n for n in self.all if nodes[n].ordering is Ordering.SEQ_CST]
        everything: Pairs = set()
        for space in SPACES:
            hb = self.hb[space]
            sc = {n for n in chosen if self.in_order(n, space)}
            here = {
                n
                for n in self.all
                if nodes[n].location and self.space[nodes[n].location or ""] is space
            }
            fences = {n for n in sc if nodes[n].kind == "F"}

            def same(a: int, b: int) -> bool:
                return nodes[a].location is not None and nodes[a].location == nodes[b].location

            different = {(a, b) for a, b in self.po if not same(a, b)}
            scb = self.po | compose(different, hb, different)
            scb |= {(a, b) for a, b in hb | co | fr if same(a, b) and a in here}
            close = {(a, b) for a, b in eco if a in here}
            before = {(n, n) for n in sc} | {(a, b) for a, b in hb if a in fences}
            behind = {(n, n) for n in sc} | {(a, b) for a, b in hb if b in fences}
            psc = compose(before, scb, behind)
            psc |= {(a, b) for a, b in hb | compose(hb, close, hb) if a in fences and b in fences}
            psc = {(a, b) for a, b in psc if self.inclusive(a, b)}
            if not acyclic(psc):
                return False
            everything |= psc
        crossing = {
            n
            for n in chosen
            if not getattr(nodes[n].operation, "one_as", False)
            and all(self.covers(n, space) for space in {*self.space.values()})
        }
        return acyclic({(a, b) for a, b in everything if a in crossing and b in crossing})

    def in_order(self, number: int, space: AddressSpace) -> bool:
        node = self.nodes[number]
        operation = node.operation
        assert operation is not None
        if operation.one_as and node.location and self.space[node.location] is not space:
            return False
        return self.covers(number, space)

    def reach(self, number: int) -> Scope | None:
        """The scope at which an access makes itself available or visible."""
        node = self.nodes[number]
        if self.space[node.location or ""] is AddressSpace.LOCAL:
            return Scope.WORKGROUP
        if isinstance(node.operation, Load | Store) and node.weak:
            return Scope.SYSTEM if node.operation.volatile else None
        return node.scope

    def making(self, space: AddressSpace, kinds: str, releases: bool) -> set[int]:
        found: set[int] = set()
        for n in self.all:
            node = self.nodes[n]
            if node.operation is None or node.kind not in kinds:
                continue
            if node.operation.availability is Availability.NONE or not self.covers(n, space):
                continue
            if node.operation.one_as and node.location and self.space[node.location] is not space:
                continue
            if node.ordering.releases if releases else node.ordering.acquires:
                found.add(n)
        return found

    def maker(self, number: int) -> Scope | None:
        node = self.nodes[number]
        in_lds = node.location and self.space[node.location] is AddressSpace.LOCAL
        wide = node.scope in (Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM)
        return Scope.WORKGROUP if in_lds and wide else node.scope

    def instance(self, number: int, scope: Scope) -> frozenset[int]:
        return frozenset(n for n in self.all if self.near(number, n, scope))

    def location_order(self, location: str) -> Pairs:
        nodes, space = self.nodes, self.space[location]
        hb = self.hb[space]
        here = [n for n in self.all if nodes[n].location == location]
        releasing = self.making(space, "WUFA", True)
        acquiring = self.making(space, "RUFB", False)
        order = {(a, b) for a, b in self.po if a in here and b in here}
        order |= {(a, b) for a, b in hb if a in here and b in here and nodes[a].reads}
        for w in here:
            if w in self.initial or not nodes[w].writes:
                continue
            available = self.availability(w, hb, releasing)
            visible = self.visibility(here, hb, available, acquiring)
            order |= {
                (w, w1)
                for w1 in here
                for z, scope in available
                if nodes[w1].writes and (z, w1) in hb and w1 in scope and (w, w1) in hb
            }
            order |= {
                (w, r)
                for r in here
                for y, _ in visible
                if nodes[r].reads and (y == r or (y, r) in self.po) and (w, r) in hb
            }
        return closure({(a, b) for a, b in order if a != b})

    def availability(self, w: int, hb: Pairs, releasing: set[int]) -> Instances:
        own = self.reach(w)
        making = [(x, self.instance(x, self.maker(x) or Scope.SYSTEM)) for x in releasing]
        available: Instances = {(x, scope) for x, scope in making if (w, x) in self.po}
        if own is not None:
            available.add((w, self.instance(w, own)))
        while True:
            more = {
                (x, scope)
                for x, scope in making
                for z, reached in available
                if w in scope and (z, x) in hb and x in reached
            }
            if more <= available:
                return available
            available |= more

    def visibility(
        self, here: list[int], hb: Pairs, available: Instances, acquiring: set[int]
    ) -> Instances:
        acting = [(y, self.maker(y)) for y in acquiring]
        acting += [(y, self.reach(y)) for y in here if self.nodes[y].reads]
        making = [(y, self.instance(y, scope)) for y, scope in acting if scope is not None]
        visible: Instances = set()
        while True:
            more = {
                (y, reached & scope)
                for y, scope in making
                for z, reached in available | visible
                if (z, y) in hb and y in reached and z in scope
            }
            if more <= visible:
                return visible
            visible |= more

    def races(self) -> set[frozenset[tuple[int, int]]]:
        found: set[frozenset[tuple[int, int]]] = set()
        nodes = self.nodes
        for location in {node.location for node in nodes if node.location}:
            order = self.location_order(location)
            for a, b in product(self.all, self.all):
                if a >= b or a in self.initial or nodes[a].thread == nodes[b].thread:
                    continue
                if nodes[a].location != location or nodes[b].location != location:
                    continue
                if not nodes[a].writes and not nodes[b].writes:
                    continue
                if nodes[a].weak or nodes[b].weak or not self.inclusive(a, b):
                    if (a, b) not in order and (b, a) not in order:
                        found.add(frozenset((nodes[n].thread, nodes[n].position) for n in (a, b)))
        return found


@dataclass(frozen=True)
class Reference:
    """The final states, and the pairs of (thread, position) that race."""

    states: frozenset[tuple[int | None, ...]]
    races: frozenset[frozenset[tuple[int, int]]]


def reference(program: ScopedProgram, pool: Iterable[int]) -> Reference:
    """Every outcome and every race of a program whose values are all in ``pool``."""
    values = tuple(pool)
    states: set[tuple[int | None, ...]] = set()
    races: set[frozenset[tuple[int, int]]] = set()
    initial = [
        Node("W", -1, -1, Ordering.RELAXED, None, each.name, written=each.initial)
        for each in program.locations
    ]
    threads = [list(runs(program, i, values)) for i in range(len(program.threads))]
    for chosen in product(*threads):
        nodes = list(initial)
        for run in chosen:
            start = len(nodes)
            nodes += [replace(n, needs=frozenset(start + r for r in n.needs)) for n in run.nodes]
        reads = [n for n, node in enumerate(nodes) if node.reads]
        writes = [n for n, node in enumerate(nodes) if node.writes]
        sources = [
            [
                w
                for w in writes
                if w != r
                and nodes[w].location == nodes[r].location
                and nodes[w].written == nodes[r].read
            ]
            for r in reads
        ]
        for taken in product(*sources):
            x = Candidate(program, nodes, dict(zip(reads, taken, strict=True)))
            if x.thin_air():
                continue
            consistent = False
            for final in final_memories(program, x):
                consistent = True
                states.add(
                    tuple(
                        dict(chosen[each.thread].registers).get(each.name, 0)
                        if isinstance(each, Register)
                        else final[each.location]
                        for each in program.observables()
                    )
                )
            if consistent:
                races |= x.races()
    return Reference(frozenset(states), frozenset(races))


def final_memories(program: ScopedProgram, x: Candidate) -> Iterator[dict[str, int | None]]:
    """The final memory of every coherence order that is consistent with ``x``."""
    names = [each.name for each in program.locations]
    ways: list[list[tuple[int, ...]]] = []
    for name in names:
        writes = [n for n in x.all if x.nodes[n].writes and x.nodes[n].location == name]
        ways.append([(writes[0], *rest) for rest in permutations(writes[1:])])
    for way in product(*ways):
        if x.consistent(dict(zip(names, way, strict=True))):
            yield {name: x.nodes[order[-1]].written for name, order in zip(names, way, strict=True)}
