"""Watches a module from pass to pass and remarks on the changes of its synchronisation.

What is gone, moved or changed the observer sees for itself, so that it says nothing that did not
happen; why is for the rows of ``fencewright.tools.remarks.reasons.every_pass`` to find out. A
module that nobody observes pays nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.costs import Cost, total
from fencewright.lowering.ptx.code.statements import opcode_of
from fencewright.lowering.sequence import Target
from fencewright.lowering.targets import target_of
from fencewright.passes.analysis.control_flow import top_level
from fencewright.passes.print.assembly import place_of
from fencewright.tools.remarks.reasons.every_pass import LOWERINGS, REASONS
from fencewright.tools.remarks.remarks import (
    TEXT,
    Change,
    Finding,
    Part,
    Parts,
    Prices,
    Reason,
    Remark,
    RemarkArgument,
    RemarkKind,
    Sight,
    function_of,
    price,
    space_of,
    synchronises,
    text_of,
)

COSTS = "costs"
"""The name in place of a pass in remarks on the price of a whole function."""


def lowered_for(passes: Iterable[ModulePass]) -> Target | None:
    """The target that ``passes`` lower for; None if none does."""
    return next((target_of(each) for each in passes if each.name in LOWERINGS), None)


class Observer:
    """Collects the remarks on one module in ``remarks``, as a pipeline runs.

    ``target``: of the lowering; None: there is none. Then only lowered operations have a price.
    """

    def __init__(self, remarks: list[Remark], target: Target | None):
        self.remarks = remarks
        self.prices = None if target is None else Prices(target)
        self.seen: dict[Operation, Sight] = {}
        self.reason: Reason | None = None
        self.first_costs: dict[str, tuple[Cost, SourceLocation | None]] = {}

    def between(
        self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None
    ) -> None:
        """Look at ``module`` between two passes, at the beginning or at the end of them."""
        if self.prices is None and (chip := _lowered_to(module)) is not None:
            self.prices = Prices(Target(chip))
        before, after = (None if each is None else each.name for each in (previous, following))
        watched = _is_watched(before) or _is_watched(after)
        plain = _is_plain(before) or _is_plain(after)
        now = (
            {
                op: self._sight(op)
                for op in module.walk()
                if synchronises(op) or (plain and space_of(op))
            }
            if watched
            else {}
        )
        if before is not None and _is_watched(before):
            self._after(before, now)
        self.seen = now if _is_plain(after) else {op: now[op] for op in now if synchronises(op)}
        self._note_costs(module)
        if following is None or following.name in _WRITING:
            self._compare_costs(module)
        if following is None:
            return
        reasons = REASONS.get(following.name)
        self.reason = None if reasons is None else reasons.prepare(module, following)

    # One pass

    def _after(self, name: str, now: Mapping[Operation, Sight]) -> None:
        if name in LOWERINGS:
            self._all_lowered(name, now)
            return
        added = _by_origin(sight for op, sight in now.items() if op not in self.seen)
        for before in self.seen.values():
            self._became(name, _finding(before, now, added))

    def _all_lowered(self, name: str, now: Mapping[Operation, Sight]) -> None:
        """Operations from one place together: nothing distinguishes their instructions."""
        origin = _by_origin(self.seen.values())
        lowered = _by_origin(now.values())
        for key, before in origin.items():
            after = lowered.get(key, [])
            self._lowered(name, before, after)
            for each in before if self.reason is not None else ():
                self._became(name, _reduction(each, after))

    def _sight(self, op: Operation) -> Sight:
        cost = None if self.prices is None else self.prices.of_one(op)
        neighbours = op.prev_op, op.next_op
        return Sight(op, text_of(op), function_of(op), place_of(op), cost, neighbours, space_of(op))

    def _became(self, name: str, finding: Finding) -> None:
        before, change, after = finding
        remark_name = REASONS[name].names.get(change)
        if remark_name is None or self.reason is None:
            return
        parts = self.reason(finding)
        if parts is None:
            return
        kind = RemarkKind.MISSED if change is Change.KEPT else RemarkKind.PASSED
        to = _to(before, after[0]) if change is Change.CHANGED else ()
        parts = (
            "'", RemarkArgument("Operation", before.text), f"' {change}", *to, ": ", *parts,
            *(_price(finding) if REASONS[name].priced else ()),
        )  # fmt: skip
        self._remark(kind, name, remark_name, before.function, before.place, *parts)

    def _lowered(self, name: str, before: Sequence[Sight], after: Sequence[Sight]) -> None:
        parts: list[Part] = [*_listed("Operation", before)]
        verb = " becomes " if len(before) == 1 else " become "
        parts += (verb, *(_listed("Instruction", after) or ("nothing",)))
        cost = None
        if self.prices is not None and after:
            cost = self.prices.of([sight.op for sight in after])
        if cost is not None:
            parts += ("; costs ", *price("Cost", cost))
        function, place = before[0].function, before[0].place
        self._remark(RemarkKind.ANALYSIS, name, "Lowered", function, place, *parts)
        for text in _remarks_of(sight.op for sight in after):
            parts = [*_listed("Operation", before), f": {text}"]
            self._remark(RemarkKind.ANALYSIS, name, "LoweredWider", function, place, *parts)

    def _remark(
        self,
        kind: RemarkKind,
        pass_name: str,
        name: str,
        function: str,
        place: SourceLocation | None,
        *parts: Part,
    ) -> None:
        self.remarks.append(Remark(kind, pass_name, name, function, place, _joined(parts)))

    # Whole functions

    def _note_costs(self, module: ModuleOp) -> None:
        """The price of each function that has come up, before anything is taken away from it."""
        if self.prices is None:
            return
        for name, function in _functions(module):
            if name in self.first_costs or not any(map(synchronises, function.walk())):
                continue
            cost = self.prices.of_function(function)
            if cost is not None:
                self.first_costs[name] = cost, place_of(function)

    def _compare_costs(self, module: ModuleOp) -> None:
        for name, function in _functions(module):
            first = self.first_costs.pop(name, None)
            if self.prices is None or first is None:
                continue
            before, place = first
            cost = self.prices.of_function(function)
            if cost is None:
                continue
            parts = (
                "memory operations of '", RemarkArgument("Function", name), "' cost ",
                *price("Cost", cost), ", as written ", *price("AsWritten", before),
            )  # fmt: skip
            self._remark(RemarkKind.ANALYSIS, COSTS, "FunctionCost", name, place, *parts)


def _lowered_to(module: ModuleOp) -> str | None:
    """The chip of the first kernel that has been lowered."""
    for op in top_level(module):
        chip = op.properties.get(_CHIP.get(op.name, ""))
        if isinstance(chip, StringAttr):
            return chip.data
    return None


_CHIP = MappingProxyType({"cdna.kernel": "chip", "ptx.kernel": "target"})


_WRITING = frozenset({"show-waits"})
"""Passes after which waits are written in LLVM's words, which have no price here."""


def _is_watched(name: str | None) -> bool:
    return name in LOWERINGS or name in REASONS


def _is_plain(name: str | None) -> bool:
    """True if a pass is remarked on for plain accesses as well."""
    return name is not None and name in REASONS and REASONS[name].plain


def _to(before: Sight, after: Sight) -> Parts:
    """The result of a change to an operation: other words, or memory of another address space."""
    if before.text == after.text:
        spaces = (
            RemarkArgument("FromSpace", before.space),
            " to ",
            RemarkArgument("ToSpace", after.space),
        )
        return (" from ", *spaces, " memory")
    return (" to '", RemarkArgument("To", after.text), "'")


_Origin: TypeAlias = tuple[str, SourceLocation | None]


def _by_origin(sights: Iterable[Sight]) -> dict[_Origin, list[Sight]]:
    found: dict[_Origin, list[Sight]] = {}
    for sight in sights:
        found.setdefault((sight.function, sight.place), []).append(sight)
    return found


def _listed(key: str, sights: Iterable[Sight]) -> Parts:
    parts: list[Part] = []
    for sight in sights:
        parts += (", '" if parts else "'", RemarkArgument(key, sight.text), "'")
    return tuple(parts)


_FUNCTIONS = frozenset({"func.func", "gpu.func", "llvm_ir.func", "cdna.kernel", "ptx.kernel"})


def _functions(module: ModuleOp) -> Iterable[tuple[str, Operation]]:
    for op in top_level(module):
        name = op.properties.get("sym_name")
        if op.name in _FUNCTIONS and isinstance(name, StringAttr):
            yield name.data, op


def _finding(
    before: Sight, now: Mapping[Operation, Sight], added: Mapping[_Origin, list[Sight]]
) -> Finding:
    still = now.get(before.op)
    if still is not None:
        return Finding(before, _change(before, still), (still,))
    same_origin = added.get((before.function, before.place), [])
    again = tuple(each for each in same_origin if each.text == before.text)
    return Finding(before, Change.MOVED if again else Change.GONE, again)


def _change(before: Sight, still: Sight) -> Change:
    if (still.text, still.space) != (before.text, before.space):
        return Change.CHANGED
    # If a neighbour has gone, one of them is another; if it has itself moved, both are.
    pairs = zip(before.neighbours, still.neighbours, strict=True)
    return Change.MOVED if all(a is not b for a, b in pairs) else Change.KEPT


def _reduction(before: Sight, after: Sequence[Sight]) -> Finding:
    """The result for an operation: a reduction, or its form by itself."""
    found = tuple(each for each in after if opcode_of(each.text).head == "red")
    return Finding(before, Change.CHANGED if found else Change.KEPT, found or tuple(after))


def _joined(parts: Iterable[Part]) -> tuple[RemarkArgument, ...]:
    """The pieces of a text, plain ones in a row as one."""
    arguments: list[RemarkArgument] = []
    for plain, group in groupby(parts, lambda part: isinstance(part, str)):
        if plain:
            arguments.append(RemarkArgument(TEXT, "".join(cast(Iterable[str], group))))
        else:
            arguments += cast(Iterable[RemarkArgument], group)
    return tuple(arguments)


def _price(finding: Finding) -> Parts:
    """The saving of a change, or the cost of an operation that was kept."""
    cost = finding.before.cost
    if cost is None or finding.change is Change.MOVED:
        return ()
    if finding.change is Change.KEPT:
        return ("; costs ", *price("Cost", cost))
    left = finding.after[0].cost if finding.after else None
    saved = cost.amount - (0 if left is None else left.amount)
    if not saved:
        return ()
    verb, key = ("saves", "Saved") if saved > 0 else ("adds", "Added")
    unit = total(each for each in (cost, left) if each is not None).unit
    return (f"; {verb} ", *price(key, Cost(abs(saved), unit, cost.source)))


def _remarks_of(ops: Iterable[Operation]) -> Iterable[str]:
    """The lowering's remarks on its instructions, where they do more than was requested."""
    for op in ops:
        remarks = op.properties.get("remarks")
        if isinstance(remarks, ArrayAttr):
            yield from (each.data for each in cast(ArrayAttr[StringAttr], remarks))
