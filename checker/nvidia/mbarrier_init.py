"""Which mbarriers of a PTX kernel others may come to before they know that it is initialised.

A forward dataflow over the blocks. The state at a point has the initialisations that some path
brings here past no barrier of the CTA, those that every path does, and those that no fence or
release has made visible to the cluster. Who has not initialised an mbarrier itself needs a barrier
after it; a relaxed barrier of the cluster needs the fence, too. Source: PTX ISA, "mbarrier.init";
"fence.mbarrier_init".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.checker.nvidia.guarantees import releases_at
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import OperandRole, Statement
from fencewright.lowering.ptx.code.text import PtxInstruction
from fencewright.lowering.ptx.completions import MEETS
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope


@dataclass(frozen=True, slots=True)
class Uninitialised:
    """``later`` may be executed before ``init`` is: by a thread of the CTA, or of the cluster."""

    init: PtxInstruction
    later: PtxInstruction
    scope: Scope


@dataclass(frozen=True, slots=True)
class _State:
    """``may``, ``must``: initialised on some, on every path; ``unseen``: not released to the
    cluster."""

    may: int = 0
    must: int = 0
    unseen: int = 0

    def join(self, other: "_State") -> "_State":
        """What is on either path, and what is on both."""
        return _State(self.may | other.may, self.must & other.must, self.unseen | other.unseen)


_ARRIVE, _WAIT = "barrier cluster arrive", "barrier cluster wait"
_MEETS = MEETS | {"bar warp sync", _WAIT}


class InitAnalysis:
    """The mbarriers that one function initialises."""

    def __init__(self, places: Places):
        self.places = places
        self.function = places.function
        instructions = [*self.function.instructions]
        self.inits = [each for each in instructions if _is_init(each.statement)]
        self._bit = {each.number: 1 << n for n, each in enumerate(self.inits)}
        self._root = [self._root_of(each.statement) for each in self.inits]
        self._is_cluster = any(
            AddressSpace.SHARED_CLUSTER in each.statement.opcode.spaces
            or self.places.is_remote(_mbarrier(each.statement))
            for each in instructions
        )

    def missing(self) -> Iterator[Uninitialised]:
        """What may come too early, in the order of the text."""
        if not self.inits:
            return
        for each, state in states(self.function, _State(), self._after):
            yield from self._too_early(each, state)

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement = each.statement
        if (bit := self._bit.get(each.number)) is not None:
            must = state.must if statement.guard else state.must | bit
            return _State(state.may | bit, must, state.unseen | bit)
        may = 0 if statement.operation in _MEETS else state.may
        return _State(may, state.must, 0 if _publishes(statement) else state.unseen)

    def _too_early(self, each: PtxInstruction, state: _State) -> Iterator[Uninitialised]:
        statement = each.statement
        is_relaxed = statement.operation == _ARRIVE and statement.ordering is Ordering.RELAXED
        for number, init in enumerate(self.inits):
            bit = 1 << number
            if is_relaxed and self._is_cluster and state.unseen & bit:
                yield Uninitialised(init, each, Scope.CLUSTER)
            elif state.may & ~state.must & bit and self._uses(statement, number):
                yield Uninitialised(init, each, Scope.WORKGROUP)

    def _uses(self, statement: Statement, number: int) -> bool:
        """Whether threads that did not initialise an mbarrier use it."""
        init = self.inits[number].statement
        if _is_init(statement) or (init.guard and init.guard == statement.guard):
            return False
        root = self._root_of(statement)
        return root in self.places.variables and root == self._root[number]

    def _root_of(self, statement: Statement) -> str:
        name = _mbarrier(statement)
        return self.places.root_of(name) if name else ""


def _mbarrier(statement: Statement) -> str:
    return statement.operand(OperandRole.MBARRIER) or statement.operand(OperandRole.SIGNAL)


def _is_init(statement: Statement) -> bool:
    return statement.operation == "mbarrier init"


def _publishes(statement: Statement) -> bool:
    """Whether it shows initialisations to the cluster, or to whoever the thread then tells."""
    if statement.operation in ("fence mbarrier_init", _WAIT):
        return True
    scope = releases_at(statement)
    releases = statement.operation == _ARRIVE and statement.ordering is not Ordering.RELAXED
    return releases or (scope is not None and scope.includes(Scope.CLUSTER))
