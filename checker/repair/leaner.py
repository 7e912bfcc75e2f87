"""Weaker forms of the fences and strong accesses of PTX that keep what a kernel needs.

Two kinds of steps. A scope of the system may become the GPU's in any kernel whose partners are its
own threads: that is an assumption, and is said. An ordering may become weaker, or a fence go, where
every conflict of the kernel is proved to be ordered and the step keeps the proof, and where no
two strong accesses of different places are ordered by it: what such accesses see is no race, so
that no proof would notice. Of ``fence.sc`` over ``fence.acq_rel`` that is the strong writes
before it: without one, no thread's later access is kept behind a write (PTX ISA, Causality order;
Fence-SC). Every step must save something by the prices.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.repair.edits import Edit, Repair, delete, edited
from fencewright.checker.repair.ptx import PtxCode, code_of, ordered_name
from fencewright.checker.repair.search import Judge, Judgement
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph, graph_of
from fencewright.lowering.costs import cost_of
from fencewright.lowering.ptx.code.addresses import Place, Places
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    ORDERINGS,
    SCOPE_WORDS,
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
_PLAIN = frozenset({"ld", "st", "atom", "red"})


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
    """A form of a statement: its name, "" if it goes. ``needs_proof``: not of any kernel."""

    name: str
    needs_proof: bool


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
    if statement.scope is None or statement.ordering is None:
        return
    scope = SCOPE_WORDS[min(statement.scope, Scope.AGENT, key=lambda s: s.rank)]
    if _is_fence(statement):
        yield from _fences(own, each, scope)
    elif statement.operation in _PLAIN and statement.opcode.words[1:2] != ("volatile",):
        yield from _accesses(own, each, scope)


def _is_fence(statement: Statement) -> bool:
    return statement.operation in ("fence", "membar") and not statement.opcode.modifiers


def _fences(own: _Function, each: PtxInstruction, scope: str) -> Iterator[_Form]:
    before, after = own.before(each), own.after(each)
    if not own.separates(before, after):
        yield _Form("", needs_proof=True)
        for word in ("acquire", "release") if own.has_halves else ():
            yield _Form(f"fence.{word}.{scope}", needs_proof=True)
        yield _Form(f"fence.acq_rel.{SCOPE_WORDS[Scope.WORKGROUP]}", needs_proof=True)
    if each.statement.ordering is Ordering.SEQ_CST:
        if not own.separates(list(filter(_writes, before)), after):
            yield _Form(f"fence.acq_rel.{scope}", needs_proof=True)
    if each.statement.scope is Scope.SYSTEM and each.statement.ordering is not None:
        yield _Form(f"fence.{_WORDS[each.statement.ordering]}.{scope}", needs_proof=False)


def _accesses(own: _Function, each: PtxInstruction, scope: str) -> Iterator[_Form]:
    statement, ordering = each.statement, each.statement.ordering
    assert ordering is not None
    if ordering is Ordering.WEAK:
        return
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


def price_of(target: str, name: str) -> int | None:
    """The price of an instruction by its name, 0 of none; None where there is no row for it.

    Rows have the words in the order of the manual; libcu++ writes ``atom.add.acquire.sys``.
    """
    try:
        return cost_of(target, _in_order(name)).amount if name else 0
    except UnsupportedError:
        return None


def _in_order(name: str) -> str:
    opcode = read_opcode(name)
    if opcode.head not in _PLAIN or opcode.ordering is None or opcode.scope is None:
        return name
    if "volatile" in opcode.words or opcode.ordering is Ordering.WEAK:
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
        if step is not None and _is_kept(step, form, text, judged, judge):
            return step
    return None


def _step(
    file: PtxFile, function: PtxFunction, text: str, each: PtxInstruction, form: _Form
) -> Step | None:
    """The step to a form; None where it changes nothing or saves nothing that is known."""
    old = str(each.statement.opcode.name)
    code = code_of(function, text)
    before, after = price_of(file.target, old), price_of(file.target, form.name)
    if form.name == old or before is None or after is None or after > before:
        return None
    if after == before and form.needs_proof:
        return None
    spot = code.spots[each.number]
    repair: tuple[Edit, ...] = code.renamed(each, form.name) if form.name else (delete(spot),)
    unit = str(cost_of(file.target, old).unit)
    return Step(function.name, old, form.name, each.line, repair, before - after, unit)


def _is_kept(step: Step, form: _Form, text: str, judged: Judgement, judge: Judge) -> bool:
    """True where the text stays as good with a step: no finding more, and no proof less."""
    proof = judged.proofs.get(step.function)
    if form.needs_proof and (proof is None or proof.kind is not VerdictKind.RACE_FREE):
        return False
    again = judge(edited(text, step.repair), step.function)
    if again is None or not again.keeps(judged):
        return False
    return not again.kinds(notes=True) - judged.kinds(notes=True)
