"""Weaker forms of the fences and strong accesses of PTX that keep what a kernel needs.

Two kinds of steps. A scope of the system may become the GPU's in any kernel whose partners are its
own threads: that is an assumption, and is said. An ordering may become weaker, or a fence go or
become the ordering of the access next to it, where every conflict of the kernel is proved to be
ordered and the step keeps the proof, and where no two strong accesses of different places lose
their order: what such accesses see is no race, so that no proof would notice. A fence acquires the
reads before it and releases the writes after it; ``fence.sc`` also keeps all after the strong
writes before it (PTX ISA, Release and Acquire Patterns; Causality order; Fence-SC). Every step must
save something by the prices.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from fencewright.checker.findings.finding import SURPLUS, VerdictKind
from fencewright.checker.repair.edits import Repair, delete, edited
from fencewright.checker.repair.ptx import PtxCode, code_of, ordered_name
from fencewright.checker.repair.search import Judge, Judgement
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph, graph_of
from fencewright.lowering.costs import Cost, cost_of_sequence
from fencewright.lowering.ptx.code.addresses import Place, Places
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    ORDERINGS,
    SCOPE_WORDS,
    SILENT,
    Statement,
    read_opcode,
)
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxInstruction, read_ptx
from fencewright.lowering.ptx.select import chip_named
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import Ordering, Scope

_WORDS = {order: word for word, order in ORDERINGS.items() if word not in ("mmio", "volatile")}
_TO_GPU = {SCOPE_WORDS[Scope.SYSTEM]: SCOPE_WORDS[Scope.AGENT]}
_SM_OF_HALVES = 90
_SPACES = ("shared::cta", "global")
_ACQUIRE, _RELEASE = Ordering.ACQUIRE, Ordering.RELEASE
_SIDES: Mapping[str, tuple[Ordering, ...]] = MappingProxyType(
    {"ld": (_ACQUIRE,), "st": (_RELEASE,), "red": (_RELEASE,), "atom": (_ACQUIRE, _RELEASE)}
)
"""The sides of a fence that an access may have."""


@dataclass(frozen=True, slots=True)
class Step:
    """One weaker form: its edits, and the price of the statement before and after."""

    function: str
    old: str
    new: str
    line: int
    repair: Repair
    saved: int
    unit: str


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of a statement: its name, "" if it goes. ``needs_proof``: not of any kernel.

    ``partner``: an access next to it that becomes ``ordered``.
    """

    name: str
    needs_proof: bool
    partner: PtxInstruction | None = None
    ordered: str = ""


class _Function:
    """The strong accesses of a function, and which come before and after a statement."""

    def __init__(self, file: PtxFile, function: PtxFunction, text: str):
        self.code: PtxCode = code_of(function, text)
        self.function = function
        self.places = Places(file, function)
        self.has_halves = _has_halves(file)
        self.fixed = {each.name for each in function.parameters}
        self.fixed |= {*function.variables, *file.variables}

    @cached_property
    def strong(self) -> list[PtxInstruction]:
        """The strong accesses, but those of mbarriers."""
        return [each for each in self.code.instructions if _is_strong(each.statement)]

    @cached_property
    def waits_for_others(self) -> bool:
        """True where a loop reads, by a strong access, memory that nothing here writes: who does is
        no thread of this kernel."""
        writes = map(self._place, filter(_writes, self.code.instructions))
        written = {place and place.root for place in writes}
        reads = (each for each in self.strong if _reads(each) and self.comes_before(each, each))
        roots = {place.root for each in reads if (place := self._place(each)) is not None}
        return None not in written and bool(roots - written)

    @cached_property
    def _graph(self) -> Graph[int]:
        return graph_of(self.function.blocks)

    @cached_property
    def _block_of(self) -> dict[int, int]:
        blocks = enumerate(self.function.blocks)
        return {each.number: n for n, block in blocks for each in block.instructions}

    def comes_before(self, first: PtxInstruction, second: PtxInstruction) -> bool:
        """True where a path leads from one statement to another, or round to itself."""
        one, other = self._block_of[first.number], self._block_of[second.number]
        if one == other and first.number < second.number:
            return True
        return other in self._graph.reachable_after((one,))

    def separates(self, before: Sequence[PtxInstruction], after: Sequence[PtxInstruction]) -> bool:
        """True where two of them may be of different places: what orders them can be seen."""
        return any(not self._is_one_place(one, other) for one in before for other in after)

    def _is_one_place(self, one: PtxInstruction, other: PtxInstruction) -> bool:
        first, second = self._place(one), self._place(other)
        return (
            first is not None
            and second is not None
            and first.root in self.fixed
            and (first.root, first.offset, first.size) == (second.root, second.offset, second.size)
        )

    def _place(self, each: PtxInstruction) -> Place | None:
        accesses = each.statement.accesses
        return self.places.of(accesses[0]) if accesses else None

    def is_seen(
        self, fence: PtxInstruction, side: Ordering, *, but: PtxInstruction | None = None
    ) -> bool:
        """True where strong accesses show one side of a fence: reads that it acquires, or writes
        that it releases; ``but``: other than one that will do so itself."""
        ordering, scope = fence.statement.ordering, fence.statement.scope
        assert ordering is not None
        assert scope is not None
        before, after = self.before(fence), self.after(fence)
        of, does = (before, _reads) if side.acquires else (after, _writes)
        ordered = [
            each
            for each in of
            if does(each) and each is not but and not _orders(each.statement, side, scope)
        ]
        if side.acquires:
            return ordering.acquires and self.separates(ordered, after)
        return ordering.releases and self.separates(before, ordered)

    def neighbours(self, fence: PtxInstruction) -> Iterator[tuple[PtxInstruction, Ordering]]:
        """The accesses next to a fence that may have one of its sides, each with that side."""
        block = self.function.blocks[self._block_of[fence.number]].instructions
        place = block.index(fence)
        for side, of in ((_ACQUIRE, block[:place][::-1]), (_RELEASE, block[place + 1 :])):
            one = next((each for each in of if each.statement.kind not in SILENT), fence)
            takes = side in _SIDES.get(one.statement.operation, ()) and _is_plain(one.statement)
            if takes and one.number in self.code.spots:
                if one.statement.guard == fence.statement.guard:
                    yield one, side

    def before(self, each: PtxInstruction) -> list[PtxInstruction]:
        """The strong accesses that may come before a statement."""
        return [one for one in self.strong if self.comes_before(one, each)]

    def after(self, each: PtxInstruction) -> list[PtxInstruction]:
        """The strong accesses that may come after a statement."""
        return [one for one in self.strong if self.comes_before(each, one)]


def _has_halves(file: PtxFile) -> bool:
    """True where fences may be of one side. Source: PTX ISA, membar/fence: PTX 8.6, sm_90."""
    return file.version >= (8, 6) and chip_named(file.target).number >= _SM_OF_HALVES


def _is_strong(statement: Statement) -> bool:
    if statement.kind not in ACCESSES or not statement.accesses:
        return False
    return statement.is_strong or statement.kind is Kind.RMW


def _orders(each: Statement, side: Ordering, scope: Scope) -> bool:
    """True of an access that acquires, or releases, at a scope itself."""
    own, reach = each.ordering, each.scope
    if own is None or reach is None or not reach.includes(scope):
        return False
    return own.acquires if side.acquires else own.releases


def _reads(each: PtxInstruction) -> bool:
    return any(access.reads for access in each.statement.accesses)


def _writes(each: PtxInstruction) -> bool:
    return any(access.writes for access in each.statement.accesses)


def forms_of(file: PtxFile, function: PtxFunction, text: str, number: int) -> Iterator[_Form]:
    """The weaker forms of a statement, the weakest first."""
    own = _Function(file, function, text)
    each = own.code.instructions[number]
    statement = each.statement
    if number not in own.code.spots:
        return
    if statement.operation == "fence proxy async" and not statement.opcode.spaces:
        yield from (_Form(f"{statement.opcode.name}.{s}", needs_proof=True) for s in _SPACES)
    decide = _fences if _is_fence(statement) else _accesses if _is_plain(statement) else None
    if decide is None or own.waits_for_others or None in (statement.scope, statement.ordering):
        return
    assert statement.scope is not None
    scope = SCOPE_WORDS[min(statement.scope, Scope.AGENT, key=lambda s: s.rank)]
    yield from decide(own, each, scope)


def _is_plain(statement: Statement) -> bool:
    """True of a strong access whose ordering is a word of its name, or may be."""
    opcode = statement.opcode
    known = statement.operation in _SIDES and statement.is_strong
    return known and not (opcode.volatile or opcode.mmio)


def _is_fence(statement: Statement) -> bool:
    return statement.operation in ("fence", "membar") and not statement.opcode.modifiers


def _fences(own: _Function, each: PtxInstruction, scope: str) -> Iterator[_Form]:
    before, after, ordering = own.before(each), own.after(each), each.statement.ordering
    assert ordering is not None
    is_sc = ordering is Ordering.SEQ_CST
    if not is_sc or not own.separates(list(filter(_writes, before)), after):
        sides = [side for side in (_ACQUIRE, _RELEASE) if own.is_seen(each, side)]
        if not sides:
            yield _Form("", needs_proof=True)
            for word in ("acquire", "release") if own.has_halves else ():
                yield _Form(f"fence.{word}.{scope}", needs_proof=True)
            yield _Form(f"fence.acq_rel.{SCOPE_WORDS[Scope.WORKGROUP]}", needs_proof=True)
        for one, side in own.neighbours(each):
            if not any(
                own.is_seen(each, other, but=one if other is side else None) for other in sides
            ):
                yield _Form("", needs_proof=True, partner=one, ordered=_ordered(one, side, each))
        if is_sc:
            yield _Form(f"fence.acq_rel.{scope}", needs_proof=True)
    if each.statement.scope is Scope.SYSTEM:
        yield _Form(f"fence.{_WORDS[ordering]}.{scope}", needs_proof=False)


def _ordered(each: PtxInstruction, side: Ordering, fence: PtxInstruction) -> str:
    """The name of an access that has one side of a fence, too, at the wider of their scopes."""
    statement, own = each.statement, each.statement.ordering
    both = own is not None and (own.releases if side.acquires else own.acquires)
    scopes = [one.statement.scope or Scope.AGENT for one in (each, fence)]
    scope = max(scopes, key=lambda one: one.rank).clamp(Scope.AGENT)
    return ordered_name(statement, "acq_rel" if both else _WORDS[side], SCOPE_WORDS[scope])


def _accesses(own: _Function, each: PtxInstruction, scope: str) -> Iterator[_Form]:
    statement, ordering = each.statement, each.statement.ordering
    assert ordering is not None
    before, after = own.before(each), own.after(each)
    keeps = {
        Ordering.RELAXED: True,
        Ordering.ACQUIRE: not own.separates([each], after),
        Ordering.RELEASE: not own.separates(before, [each]),
    }
    keeps[Ordering.ACQ_REL] = keeps[Ordering.ACQUIRE] and keeps[Ordering.RELEASE]
    if ordering is not Ordering.RELAXED and keeps.get(ordering, False):
        yield _Form(ordered_name(statement, "relaxed", scope), needs_proof=True)
    if statement.scope is Scope.SYSTEM:
        yield _Form(statement.opcode.renamed(_TO_GPU), needs_proof=False)


def price_of(target: str, names: Iterable[str]) -> Cost | None:
    """The price of instructions by their names; None where there is no row for one.

    Rows have the words in the order of the manual; libcu++ writes ``atom.add.acquire.sys``.
    """
    try:
        return cost_of_sequence(target, map(_in_order, names))
    except UnsupportedError:
        return None


def _in_order(name: str) -> str:
    opcode = read_opcode(name)
    if not _is_plain(Statement(opcode, ())) or opcode.ordering is None or opcode.scope is None:
        return name
    words = _WORDS[opcode.ordering], SCOPE_WORDS[opcode.scope]
    return ordered_name(Statement(opcode, ()), *words)


def leaner(text: Callable[[], str], file: str, judged: Judgement, judge: Judge) -> Iterator[Step]:
    """The steps that make a text leaner, each of the text that has those before it done.

    From the end of each function: so what is still to come keeps its number where a statement goes.
    """
    for name, function in read_ptx(text(), file).functions.items():
        for number in reversed(range(len(tuple(function.instructions)))):
            step = _weakest(text(), file, name, number, judged.of(name), judge)
            if step is not None:
                yield step


def _weakest(
    text: str, name: str, of: str, number: int, judged: Judgement, judge: Judge
) -> Step | None:
    """The step to the weakest form of a statement that keeps what is proved of its function."""
    file = read_ptx(text, name)
    function = file.functions[of]
    each = next(each for each in function.instructions if each.number == number)
    for form in forms_of(file, function, text, number):
        step = _step(file, function, text, each, form)
        if step is not None and is_kept(step, text, judged, judge, needs_proof=form.needs_proof):
            return step
    return None


def _step(
    file: PtxFile, function: PtxFunction, text: str, each: PtxInstruction, form: _Form
) -> Step | None:
    """The step to a form; None where it changes nothing or saves nothing that is known."""
    code = code_of(function, text)
    changes = [(each, form.name)]
    if form.partner is not None:
        changes.append((form.partner, form.ordered))
    changes.sort(key=lambda change: change[0].number)
    old = [one.statement.opcode.name for one, _ in changes]
    new = [name for _, name in changes if name]
    before, after = price_of(file.target, old), price_of(file.target, new)
    if new == old or before is None or after is None or after.amount > before.amount:
        return None
    if after.amount == before.amount and form.needs_proof:
        return None
    repair = tuple(
        edit
        for one, name in changes
        for edit in (code.renamed(one, name) if name else (delete(code.spots[one.number]),))
    )
    saved = before.amount - after.amount
    texts = "; ".join(old), "; ".join(new)
    return Step(function.name, *texts, each.line, repair, saved, str(before.unit))


def is_kept(step: Step, text: str, judged: Judgement, judge: Judge, *, needs_proof: bool) -> bool:
    """True where the text stays as good with a step: no new finding but surplus, no less proof."""
    proof = judged.proofs.get(step.function)
    if needs_proof and (proof is None or proof.kind is not VerdictKind.RACE_FREE):
        return False
    again = judge(edited(text, step.repair), step.function)
    if again is None or not again.keeps(judged):
        return False
    new = again.kinds(notes=True) - judged.kinds(notes=True)
    return all(rule in SURPLUS for rule, _ in new)
