"""Guarantees of each access, fence and barrier of a PTX function to other threads.

PTX says ordering and scope in the instruction; what fences add is a forward dataflow: for each
scope the accesses that no releasing fence of that scope has followed, and the strong reads that
no acquiring fence has. A strong write after a fence releases what came before the fence; what
came after it is *pending*. Source: PTX ISA, "Release and Acquire Patterns".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fencewright.lowering.code.bits import bits
from fencewright.lowering.code.effects import Kind, Proxy
from fencewright.lowering.ptx.code.calls import CALL, call_of
from fencewright.lowering.ptx.code.flow import states
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    CONTROL,
    SILENT,
    Statement,
)
from fencewright.lowering.ptx.code.text import PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope

SCOPES = (Scope.WORKGROUP, Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM)
"""PTX's scopes, narrowest first."""

_ACCESSES = {"ld": "load", "st": "store", "atom": "atomic_rmw", "red": "atomic_rmw"}
_SILENT = SILENT | CONTROL
_UNSEEN = (AddressSpace.CONSTANT, AddressSpace.PRIVATE)
_NAMES = {"exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}
_SHOWN = 4
"""The number of lines that a list names before it gives the number of the others."""


@dataclass(frozen=True, slots=True)
class Lifted:
    """The guarantee of one instruction.

    ``pending``: for each scope that its instruction or a fence before it names, the accesses before
    it that it does not release there. ``acquired_by``: the fences that make it an acquire.
    """

    instruction: PtxInstruction
    provides: str
    fence: PtxInstruction | None = None
    pending: Mapping[Scope, tuple[PtxInstruction, ...]] = field(
        default_factory=dict[Scope, tuple[PtxInstruction, ...]]
    )
    acquired_by: tuple[PtxInstruction, ...] = ()

    @property
    def text(self) -> str:
        """One line: the instruction, its guarantee, the fence of it, and the pending accesses."""
        said = [f"{self.instruction} -> {self.provides}"]
        if self.fence is not None:
            said.append(f"release {_scope_of(self.fence)} by the fence of line {self.fence.line}")
        said += [
            f"acquire {_scope_of(each)} by the fence of line {each.line}"
            for each in self.acquired_by
        ]
        said += [
            f"pending at {scope}: {_lines(pending)}"
            for scope, pending in self.pending.items()
            if pending
        ]
        return "; ".join(said)


def lines_of(instructions: tuple[PtxInstruction, ...]) -> str:
    """The lines of some instructions, as ``line 12`` or ``lines 12, 14 and 3 more``."""
    return _lines(instructions)


def _lines(instructions: tuple[PtxInstruction, ...]) -> str:
    numbers = sorted({each.line for each in instructions})
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{more}"


def _scope_of(each: PtxInstruction) -> str:
    scope = each.statement.scope
    return "" if scope is None else str(scope)


def provided(statement: Statement) -> str:
    """The instruction in the words of ``scoped``, as ``store release agent global``."""
    words = [_operation_of(statement)]
    if statement.opcode.volatile:
        words.append("volatile")
    if statement.ordering is not None:
        words.append(str(statement.ordering))
    if statement.scope is not None:
        words.append(str(statement.scope))
    if statement.kind in ACCESSES:
        spaces = statement.opcode.spaces
        words.append(str(spaces[0]) if spaces else "generic")
    words += _async_accesses(statement)
    if statement.guard:
        words.append(f"if {statement.guard}")
    return " ".join(words)


def _async_accesses(statement: Statement) -> Iterator[str]:
    """Its accesses through the async proxy, in words."""
    found = [each for each in statement.accesses if each.proxy is Proxy.ASYNC]
    for does, meant in (("reads", True), ("writes", False)):
        spaces = [each.space for each in found if (each.reads if meant else each.writes)]
        names = dict.fromkeys("generic" if space is None else str(space) for space in spaces)
        if names:
            yield f"async-{does} {' '.join(names)}"


def _operation_of(statement: Statement) -> str:
    operation = statement.operation
    if statement.kind is Kind.OPAQUE:
        return "anything"
    name = _ACCESSES.get(operation, statement.operation_name)
    if operation not in ("atom", "red"):
        return name
    kind = statement.opcode.update
    return "cmpxchg" if kind == "cas" else f"{name} {_NAMES.get(kind, kind)}"


def releases_at(statement: Statement) -> Scope | None:
    """The scope at which a fence or barrier makes earlier accesses available; None if at none."""
    if not is_fence(statement):
        return None
    return statement.scope if statement.ordering and statement.ordering.releases else None


def acquires_at(statement: Statement) -> Scope | None:
    """The scope at which a fence acquires for the strong reads before it; None if at none."""
    if not is_fence(statement):
        return None
    return statement.scope if statement.ordering and statement.ordering.acquires else None


def is_fence(statement: Statement) -> bool:
    """True if it is a fence of everything: not one of an mbarrier's init or of own memory."""
    return statement.operation in ("fence", "membar") and not statement.opcode.modifiers


@dataclass(frozen=True, slots=True)
class _State:
    """Masks of accesses ``pending`` at each scope of ``SCOPES``, of strong ``reads`` that no
    acquiring fence has followed, and of the releasing ``fences`` that every path has passed.
    """

    pending: tuple[int, ...] = (0,) * len(SCOPES)
    reads: int = 0
    fences: int = 0

    def join(self, other: "_State") -> "_State":
        """The state at a join: all that is pending on either path, and the fences of both."""
        pending = tuple(a | b for a, b in zip(self.pending, other.pending, strict=True))
        return _State(pending, self.reads | other.reads, self.fences & other.fences)


def _width(fence: PtxInstruction) -> tuple[int, int]:
    scope = fence.statement.scope
    return (-1 if scope is None else scope.rank, fence.number)


class Guarantees:
    """The dataflow over one function; ``lines`` has the guarantee of each instruction."""

    def __init__(self, function: PtxFunction):
        self.function = function
        self.instructions = tuple(function.instructions)
        self._bit = {
            each.number: 1 << n
            for n, each in enumerate(e for e in self.instructions if _is_seen(e.statement))
        }
        self._seen = [each for each in self.instructions if each.number in self._bit]
        self._fences = [
            each
            for each in self.instructions
            if releases_at(each.statement) is not None and not each.statement.guard
        ]
        self._fence_bit = {each.number: 1 << n for n, each in enumerate(self._fences)}

    @cached_property
    def _before(self) -> Mapping[int, _State]:
        """The state before each instruction: asked for by few functions, and long of long ones."""
        return {
            instruction.number: state
            for instruction, state in states(self.function, _State(), self._after)
        }

    def lines(self) -> Iterator[Lifted]:
        """The guarantees of each instruction that others could notice."""
        acquired = self._acquired()
        for each in self.instructions:
            statement = each.statement
            if statement.operation == CALL:
                yield Lifted(each, f"call of {call_of(statement).name or 'what is not known'}")
            if statement.kind in _SILENT or not _is_shared(statement):
                continue
            state = self._before.get(each.number)
            fence, pending = self._release(each, state)
            yield Lifted(each, provided(statement), fence, pending, acquired.get(each.number, ()))

    def _release(
        self, each: PtxInstruction, state: _State | None
    ) -> tuple[PtxInstruction | None, dict[Scope, tuple[PtxInstruction, ...]]]:
        """The fence that makes a relaxed write a release, and the accesses pending nevertheless."""
        statement = each.statement
        writes = any(access.writes for access in statement.accesses)
        scope = statement.scope
        if state is None or not writes or not statement.is_strong or scope is None:
            return None, {}
        assert statement.ordering is not None
        if statement.ordering.releases or scope not in SCOPES:
            return None, {}
        fence = self._fence_before(state)
        if fence is None:
            return None, {}
        reach = fence.statement.scope
        assert reach is not None
        at = reach if scope.includes(reach) else scope
        pending = self._of_mask(state.pending[SCOPES.index(at)])
        return fence, {at: tuple(e for e in pending if e is not each)}

    def _fence_before(self, state: _State) -> PtxInstruction | None:
        """The widest releasing fence, and of those the last, that every path has passed."""
        passed = [each for n, each in enumerate(self._fences) if state.fences >> n & 1]
        return max(passed, key=_width, default=None)

    def _acquired(self) -> dict[int, tuple[PtxInstruction, ...]]:
        """For each relaxed read the fences that make it an acquire."""
        found: dict[int, list[PtxInstruction]] = {}
        for fence in self.instructions:
            if acquires_at(fence.statement) is None or fence.number not in self._before:
                continue
            for read in self._of_mask(self._before[fence.number].reads):
                found.setdefault(read.number, []).append(fence)
        return {number: tuple(fences) for number, fences in found.items()}

    def _of_mask(self, mask: int) -> tuple[PtxInstruction, ...]:
        return tuple(self._seen[number] for number in bits(mask))

    def _after(self, each: PtxInstruction, state: _State) -> _State:
        statement = each.statement
        pending, reads = state.pending, state.reads
        bit = self._bit.get(each.number, 0)
        if bit:
            pending = tuple(mask | bit for mask in pending)
            if _is_polled(statement):
                reads |= bit
        if not statement.guard:
            scope = releases_at(statement)
            if scope in SCOPES:
                upto = SCOPES.index(scope) + 1
                pending = (0,) * upto + pending[upto:]
            if acquires_at(statement) is not None:
                reads = 0
        return _State(pending, reads, state.fences | self._fence_bit.get(each.number, 0))


def _is_seen(statement: Statement) -> bool:
    """True if it accesses memory that other threads may see."""
    return bool(statement.accesses) and _is_shared(statement)


def _is_shared(statement: Statement) -> bool:
    spaces = statement.opcode.spaces
    return not spaces or any(space not in _UNSEEN for space in spaces)


def _is_polled(statement: Statement) -> bool:
    """True if an acquiring fence after it can make it an acquire: a strong read, not of a red."""
    if statement.kind not in ACCESSES or statement.operation == "red":
        return False
    relaxed = statement.is_strong and statement.ordering is not None
    reads = any(access.reads for access in statement.accesses)
    return relaxed and reads and statement.ordering in (Ordering.RELAXED, Ordering.RELEASE)
