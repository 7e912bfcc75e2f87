"""Barriers, and orderings of accesses, of a PTX kernel that may order nothing.

Nothing that an instruction that is not known can run before or after is said to be surplus. Where
groups of threads have barriers of their own, one group may meet another at another place in the
text, and no barrier is looked at.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from fencewright.checker.verdicts.model import Kernel
from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.unknown import beside
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import ACCESSES, CONTROL, SILENT, Opcode, Statement
from fencewright.lowering.ptx.code.text import PtxFunction, PtxInstruction
from fencewright.lowering.ptx.completions import MEETS
from fencewright.lowering.vocabulary import AddressSpace

_OF_GROUPS = frozenset({"bar arrive", "barrier arrive", "brx"})
_OF_ALL = frozenset(each for each in MEETS if "red" not in each.split())
_SILENT = SILENT | CONTROL
_PRIVATE = frozenset({AddressSpace.PRIVATE, AddressSpace.CONSTANT})
_TIMES = ("%clock", "%globaltimer")
"""The beginnings of registers that time changes: barriers may be there to be measured."""
_OTHER_GRIDS, _TENSORS = "griddepcontrol", "tcgen05"


def beside_unknown(function: PtxFunction) -> frozenset[int]:
    """The numbers of the instructions that one that is not known can run before or after."""
    if function.is_known:
        return frozenset()
    blocks = [each.instructions for each in function.blocks]
    return frozenset(each.number for each in beside(function.blocks, blocks, _is_unknown))


def _is_unknown(each: PtxInstruction) -> bool:
    return each.statement.kind is Kind.OPAQUE


def barriers_of_all(function: PtxFunction) -> Collection[int]:
    """The lines of the barriers of all threads at which nothing else happens; none where some
    threads have other barriers."""
    if not function.is_entry or not _OF_GROUPS.isdisjoint(function.operations):
        return ()
    if _OF_ALL.isdisjoint(function.operations):
        return ()
    of_all = (each for each in function.instructions if each.statement.operation in _OF_ALL)
    return [
        each.line
        for each in of_all
        if each.statement.operands == ("0",)
        if not each.statement.guard
    ]


def beyond(kernel: Kernel, function: PtxFunction, places: Places) -> Collection[int]:
    """The lines of instructions that do more than the kernel of a function has."""
    tables = (kernel.fence_at, kernel.mbarrier_at, kernel.group_at, kernel.barrier_at)
    known = {kernel.line_of(each) for own in (kernel.accesses_at, *tables) for each in own}
    return {
        each.line
        for each in function.instructions
        if each.statement.kind not in _SILENT or each.statement.specials
        if _is_beyond(each.statement, is_known=each.line in known, places=places)
    }


def _is_beyond(statement: Statement, *, is_known: bool, places: Places) -> bool:
    if statement.specials and any(each.startswith(_TIMES) for each in statement.specials):
        return True
    if statement.kind in _SILENT:
        return False
    if statement.operation_words[0] in (_OTHER_GRIDS, _TENSORS):
        return True
    if is_known:
        return False
    own = {places.of(each).space for each in statement.accesses}
    return not (own and own <= _PRIVATE)


@dataclass(frozen=True, slots=True)
class _Done:
    """The flag that anything was done ``before``; the acquires after which nothing was done."""

    before: bool = False
    alone: int = 0

    def join(self, other: "_Done") -> "_Done":
        """The join of two paths: the possibilities of either."""
        return _Done(self.before or other.before, self.alone | other.alone)


@dataclass(frozen=True, slots=True)
class Idle:
    """An ordering of ``access`` that orders nothing: its release, or its acquire."""

    access: PtxInstruction
    releases: bool


def idle_orderings(places: Places) -> Iterator[Idle]:
    """The releases before which, and the acquires after which a kernel does nothing."""
    function = places.function
    if not function.is_entry or not any(map(_orders, function.opcodes)):
        return
    unknown = beside_unknown(function)
    followed = set(unknown)
    for each, state in states(function, _Done(), _did):
        if each.statement.kind in _SILENT:
            continue
        followed.update(bits(state.alone))
        ordering = each.statement.ordering
        releases = ordering is not None and ordering.releases
        if _is_ordered(each) and releases and not state.before and each.number not in unknown:
            yield Idle(each, True)
    for each in function.instructions:
        ordering = each.statement.ordering
        acquires = ordering is not None and ordering.acquires
        if _is_ordered(each) and acquires and each.number not in followed:
            yield Idle(each, False)


def _did(each: PtxInstruction, state: _Done) -> _Done:
    if each.statement.kind in _SILENT:
        return state
    return _Done(True, 1 << each.number if _is_ordered(each) else 0)


def _is_ordered(each: PtxInstruction) -> bool:
    return _orders(each.statement.opcode)


def _orders(opcode: Opcode) -> bool:
    return (
        opcode.kind in ACCESSES
        and opcode.operation in ("atom", "red", "ld", "st")
        and opcode.ordering is not None
        and (opcode.ordering.releases or opcode.ordering.acquires)
    )
