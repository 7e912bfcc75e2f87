"""Verdicts of kernels: every conflict of two symbolic threads is ordered, a race, or not judged.

A conflict is two accesses of one object, one of which writes, not both morally strong, that some
launch lets two threads execute on a byte in common. Arithmetic excludes most; z3 decides the rest.
Source: PTX ISA, "Conflict and data-races"; "Morally strong operations".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

from fencewright.checker.verdicts.arithmetic import are_apart, is_alike
from fencewright.checker.verdicts.expressions import is_data, leaves
from fencewright.checker.verdicts.iterations import executed
from fencewright.checker.verdicts.model import (
    NO_ORDER,
    Access,
    Agent,
    Answer,
    Assumption,
    Conflict,
    Constraint,
    Kernel,
    Obstacle,
    Order,
    Overlap,
    Region,
    Relation,
    Root,
    Strength,
    ThreadPair,
    Verdict,
    VerdictKind,
)
from fencewright.checker.verdicts.rules import RULES
from fencewright.checker.verdicts.solver import (
    MISSING,
    BitVectors,
    Budget,
    Launch,
    Witness,
    z3_module,
)
from fencewright.lowering.code.value import Param, Result, Value
from fencewright.lowering.vocabulary import Scope

_SMALL = ((2, 64), (2, 256), (8, 256))
"""Launches that a race is looked for in, CTAs and threads; in a larger one it is a condition."""
_ANY = (1 << 30, 1024)
_MOST_PAIRS = 20_000


def judge(kernel: Kernel, launch: Launch | None = None) -> Verdict:
    """The verdict of a kernel, for all launches or for one."""
    if kernel.obstacles:
        return Verdict(VerdictKind.NOT_JUDGED, obstacles=kernel.obstacles)
    return _Judge(kernel, launch or Launch()).verdict()


class _Judge:
    def __init__(self, kernel: Kernel, launch: Launch):
        self.kernel = kernel
        self.launch = launch
        self.budget = Budget()
        self.races: list[Conflict] = []
        self.launches: list[tuple[Conflict, str]] = []
        self.obstacles: list[Obstacle] = []
        self.notes: list[str] = []
        self.rules: set[str] = set()
        self.assumptions: set[Assumption] = set()
        self.has_warp_barriers = any(each.level is Scope.WAVEFRONT for each in kernel.barriers)
        self.used = _used_values(kernel)

    def verdict(self) -> Verdict:
        pairs = [*self._pairs()]
        if len(pairs) > _MOST_PAIRS:
            line = pairs[0][0].line
            self.obstacles.append(Obstacle(f"more than {_MOST_PAIRS} pairs of accesses", line))
        else:
            for first, second in pairs:
                self._judge_pair(first, second)
        verdict = Verdict(
            VerdictKind.RACE_FREE,
            by=tuple(sorted(self.rules)),
            assumptions=tuple(each for each in Assumption if each in self.assumptions),
            obstacles=tuple(sorted(dict.fromkeys(self.obstacles), key=lambda each: each.line)),
            notes=tuple(dict.fromkeys(self.notes)),
        )
        if self.races:
            return replace(verdict, kind=VerdictKind.RACE, conflicts=tuple(self.races))
        if self.obstacles:
            return replace(verdict, kind=VerdictKind.NOT_JUDGED)
        if self.launches:
            conflicts = tuple(conflict for conflict, _ in self.launches)
            condition = self.launches[0][1]
            return replace(
                verdict, kind=VerdictKind.LAUNCH, conflicts=conflicts, condition=condition
            )
        return verdict

    # Pairs

    def _pairs(self) -> Iterator[tuple[Access, Access]]:
        accesses = self.kernel.accesses
        written = {_key(each.place.root) for each in accesses if each.writes}
        unknown = any(each.place.root.region is Region.UNKNOWN for each in accesses if each.writes)
        relevant = [
            each
            for each in accesses
            if unknown
            or each.place.root.region is Region.UNKNOWN
            or _key(each.place.root) in written
        ]
        for first, second in combinations_with_replacement(relevant, 2):
            if (first.writes or second.writes) and _may_alias(first.place.root, second.place.root):
                yield first, second

    def _relations(self, first: Access, second: Access) -> Iterator[Relation]:
        if Agent.THREAD is not first.agent or Agent.THREAD is not second.agent:
            if first.instruction != second.instruction or first.number == second.number:
                yield Relation.THREAD
        is_remote = first.place.rank is not None or second.place.rank is not None
        if self.has_warp_barriers:
            yield Relation.WARP
        yield Relation.CTA
        spaces = {_space(first.place.root), _space(second.place.root)}
        if is_remote:
            yield Relation.CLUSTER
        elif spaces != {"shared"} and first.place.root.region is not Region.TENSOR:
            yield Relation.GRID

    def _judge_pair(self, first: Access, second: Access) -> None:
        for relation in self._relations(first, second):
            if _are_morally_strong(first, second, relation):
                continue
            if relation is Relation.GRID and self._is_one_cta():
                self.assumptions.add(Assumption.ONE_CTA)
                continue
            if self._is_apart(first, second, relation):
                continue
            if not self._judge_relation(first, second, relation):
                return

    def _is_one_cta(self) -> bool:
        if self.launch.grid is not None:
            return self.launch.grid == (1, 1, 1)
        return not any(
            name.startswith(("%ctaid", "%nctaid", "%clusterid", "%cluster"))
            for name in self.kernel.specials
        )

    def _is_apart(self, first: Access, second: Access, relation: Relation) -> bool:
        if first.place.root != second.place.root:
            return False
        if relation is Relation.THREAD:
            return False
        apart = are_apart(self.kernel, first, second, relation, self.launch)
        if apart:
            self.rules.add("arithmetic")
            self.assumptions.add(Assumption.NO_WRAP)
            self._assume_dimensions()
        return apart

    def _assume_dimensions(self) -> None:
        if not self.kernel.specials >= {"%tid.x", "%tid.y", "%tid.z"}:
            self.assumptions.add(Assumption.ONE_DIMENSION)

    def _judge_relation(self, first: Access, second: Access, relation: Relation) -> bool:
        """Judge a pair in one relation; false where no other relation has to be looked at."""
        obstacle = _obstacle_of(first, second)
        constraints: tuple[Constraint, ...] = (
            *executed(self.kernel, first, 0),
            *executed(self.kernel, second, 1),
            Overlap(first, 0, second, 1),
        )
        solver = self._solver(relation)
        pair = ThreadPair(relation, constraints, solver)
        answer = solver.satisfiable(constraints)
        self._assume(first, second)
        if answer is Answer.UNSATISFIABLE:
            self.rules.add("solver")
            return True
        order = self._order(first, second, pair)
        if order.strength is Strength.PROVED:
            self.rules.add(order.rule)
            self.assumptions |= order.assumptions
            if order.is_note:
                self.notes.append(_note(first, second, order))
            return True
        if answer is Answer.UNKNOWN:
            reason = MISSING if z3_module() is None else "the solver came to its limit"
            self.obstacles.append(Obstacle(_between(reason, first, second, order), second.line))
            return False
        if obstacle is not None:
            reason = _between(obstacle.reason, first, second, order)
            self.obstacles.append(Obstacle(reason, obstacle.line))
            return False
        unsure = self._unsure(first, second, order)
        if unsure is not None:
            self.obstacles.append(unsure)
            return False
        return self._race(first, second, relation, constraints, order)

    def _solver(self, relation: Relation, most: tuple[int, int] | None = None) -> BitVectors:
        return BitVectors(
            self.kernel,
            relation,
            self.launch,
            self.budget,
            splits_warps=self.has_warp_barriers,
            most=most,
        )

    def _assume(self, first: Access, second: Access) -> None:
        self.assumptions.add(Assumption.NO_WRAP)
        self._assume_dimensions()
        if first.place.root.size is not None:
            self.assumptions.add(Assumption.IN_BOUNDS)

    def _order(self, first: Access, second: Access, pair: ThreadPair) -> Order:
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

    # What is no race yet

    def _unsure(self, first: Access, second: Access, order: Order) -> Obstacle | None:
        """The reason why a conflict without an order is not called a race; None if it is one."""
        for access in (first, second):
            form = access.place.offset
            values = [value for value, _ in form.terms] if form is not None else []
            if (leaf := _data_in(values)) is not None:
                return Obstacle(
                    _between("an address depends on data", first, second, order),
                    self._line_of(leaf, access),
                )
        if order.strength is Strength.BROKEN:
            return None
        if order.strength is Strength.UNKNOWN:
            line = second.line if order.line is None else order.line
            return Obstacle(_between(order.reason, first, second, NO_ORDER), line)
        for access in (first, second):
            leaf = _data_in(literal.value for literal in access.conditions)
            if leaf is not None:
                return Obstacle(
                    _between("a condition depends on data", first, second, order),
                    self._line_of(leaf, access),
                )
        if not {first.agent, second.agent} <= {Agent.THREAD, Agent.COPY}:
            reason = "no rule orders asynchronous accesses"
            return Obstacle(_between(reason, first, second, order), second.line)
        handshake = self._handshake(first, second)
        if handshake is not None:
            return Obstacle(_between("a flag may order them", first, second, order), handshake.line)
        return None

    def _handshake(self, first: Access, second: Access) -> Access | None:
        """A strong read on a path to one access, of what a path from the other writes strongly."""
        kernel = self.kernel
        for earlier, later in ((first, second), (second, first)):
            for read in kernel.accesses:
                is_asked = read.is_strong and read.result in self.used
                if not is_asked or not kernel.may_reach(read.instruction, later.instruction):
                    continue
                for write in kernel.accesses:
                    if write.is_strong and write.writes and write.place.root == read.place.root:
                        if kernel.may_reach(earlier.instruction, write.instruction):
                            return read
        return None

    def _line_of(self, leaf: Value, access: Access) -> int:
        if isinstance(leaf, Result) and leaf.instruction in self.kernel.lines:
            return self.kernel.line_of(leaf.instruction)
        return access.line

    # Races

    def _race(
        self,
        first: Access,
        second: Access,
        relation: Relation,
        constraints: Sequence[Constraint],
        order: Order,
    ) -> bool:
        missing = order.reason or _missing(relation)
        if order.unless is not None:
            constraints = (*constraints, order.unless)
        sizes = (*_SMALL, _ANY) if self.launch == Launch() else (_ANY,)
        for size in sizes:
            witness = self._solver(relation, size).witness(constraints)
            if witness is not None:
                break
        else:
            self.obstacles.append(
                Obstacle(
                    _between("the solver came to its limit", first, second, order), second.line
                )
            )
            return False
        conflict = Conflict(first, second, relation, witness.threads, witness.launch, missing)
        condition = self._condition(first, second, relation, size, witness)
        if condition:
            self.launches.append((conflict, condition))
            return True
        self.races.append(conflict)
        return False

    def _condition(
        self,
        first: Access,
        second: Access,
        relation: Relation,
        size: tuple[int, int],
        witness: Witness,
    ) -> str:
        """The launches that have a race, if it needs more than a small one; "" if any has."""
        if self.launch.block is not None and self.launch.grid is not None:
            return ""
        if size not in _SMALL[:2]:
            return f"as {witness.launch}"
        if relation is Relation.GRID and not any(map(_is_of_cta, (first, second))):
            return "more than one CTA: each accesses this place"
        if len(self._solver(relation).dimensions("tid")) > 1 and self.kernel.required is None:
            return f"as {witness.launch}: the block's shape is not in the text"
        parameters = _parameters_of(first) | _parameters_of(second)
        if parameters:
            return f"some values of {', '.join(sorted(parameters))}, which addresses depend on"
        return ""


_RANK = {
    Strength.ABSENT: 0,
    Strength.UNKNOWN: 1,
    Strength.BROKEN: 2,
    Strength.PROVED: 3,
}


def _key(root: Root) -> tuple[Region, str]:
    return root.region, root.name


def _space(root: Root) -> str:
    if root.region is Region.UNKNOWN:
        return root.name
    return "shared" if root.region is Region.SHARED else "global"


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
    if first.scope is None or second.scope is None:
        return False
    scope = relation.scope
    return first.scope.includes(scope) and second.scope.includes(scope)


def _obstacle_of(first: Access, second: Access) -> Obstacle | None:
    for access in (first, second):
        if access.obstacle:
            return Obstacle(access.obstacle, access.line)
    if first.place.root != second.place.root:
        return Obstacle("an address that is not known", first.line)
    return None


def _data_in(values: Iterable[Value]) -> Value | None:
    """A value that memory decides, among what some values are computed from."""
    found = sorted(filter(is_data, leaves(values)), key=lambda leaf: leaf.number)
    return found[0] if found else None


def _parameters_of(access: Access) -> set[str]:
    form = access.place.offset
    values = [] if form is None else [value for value, _ in form.terms]
    return {
        leaf.name
        for value in values
        if not is_alike(value, is_one_cta=True)
        for leaf in leaves((value,))
        if isinstance(leaf, Param)
    }


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


def _used_values(kernel: Kernel) -> set[Value]:
    """The values that conditions, addresses and stored values are computed from."""
    values: list[Value] = []
    for literals in (*kernel.edge_literals.values(), *kernel.guards.values()):
        values += [literal.value for literal in literals]
    for access in kernel.accesses:
        values += [] if access.value is None else [access.value]
        if access.place.offset is not None:
            values += [value for value, _ in access.place.offset.terms]
    return leaves(values)


def _missing(relation: Relation) -> str:
    if relation in (Relation.WARP, Relation.CTA):
        return "no barrier between"
    return "nothing orders them"


def _between(reason: str, first: Access, second: Access, order: Order) -> str:
    known = f"; {order.reason}" if order.reason and order.strength is not Strength.ABSENT else ""
    return f"{reason}: lines {first.line} and {second.line} may conflict{known}"


def _note(first: Access, second: Access, order: Order) -> str:
    return (
        f"the read of line {first.line if first.reads else second.line} and the write of line "
        f"{second.line if second.writes else first.line} are ordered by execution alone: "
        f"{order.rule}"
    )
