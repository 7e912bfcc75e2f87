"""PTX instructions as the executor counts them: accesses, and instructions that order them."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.statements import (
    SCOPE_WORDS,
    Opcode,
    Statement,
)
from fencewright.lowering.ptx.performance.accesses import EMPTIES_L1
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import AddressSpace, Ordering
from fencewright.simulator.execution.program import (
    CacheLevel,
    FenceInstruction,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
)
from fencewright.simulator.performance.accesses.ptx import PtxInstruction, parse
from fencewright.simulator.performance.policies import ptx_policy

SPACES: Mapping[AddressSpace, MemorySpace] = MappingProxyType(
    {
        AddressSpace.GLOBAL: MemorySpace.GLOBAL,
        AddressSpace.CONSTANT: MemorySpace.GLOBAL,
        AddressSpace.LOCAL: MemorySpace.SHARED,
        AddressSpace.SHARED_CLUSTER: MemorySpace.SHARED,
        AddressSpace.PRIVATE: MemorySpace.PRIVATE,
    }
)

KINDS: Mapping[str, MemoryAccessKind] = MappingProxyType(
    {
        "ld": MemoryAccessKind.LOAD,
        "ldu": MemoryAccessKind.LOAD,
        "st": MemoryAccessKind.STORE,
        "atom": MemoryAccessKind.ATOMIC,
        "red": MemoryAccessKind.REDUCTION,
    }
)


# Accesses


def memory_instruction(
    opcode: Opcode, space: MemorySpace, place: SourceLocation | None
) -> MemoryInstruction:
    """A load, store or atomic on ``space``, which a generic one does not name."""
    kind = KINDS[opcode.head]
    name = opcode.name
    if not opcode.spaces and space is not MemorySpace.GLOBAL:
        name = f"{opcode.head}.{_SPACE_WORDS[space]}{name.removeprefix(opcode.head)}"
    parsed = _modelled(name)
    return MemoryInstruction(
        opcode.name,
        None if parsed is None else name,
        kind,
        space,
        opcode.width * opcode.vector // 8,
        None if space is MemorySpace.SHARED else ptx_policy(kind, opcode.words),
        place,
        combines=parsed is None or parsed.combines,
    )


_SPACE_WORDS = MappingProxyType({MemorySpace.SHARED: "shared", MemorySpace.PRIVATE: "local"})


def async_copy(opcode: Opcode, width: int, place: SourceLocation | None) -> MemoryInstruction:
    """cp.async: ``width`` bytes from global to shared memory."""
    model = f"cp.async.{opcode.cache}.shared.global.b{8 * width}"
    kind = MemoryAccessKind.LOAD
    policy = ptx_policy(kind, opcode.words)
    known = None if _modelled(model) is None else model
    return MemoryInstruction(opcode.name, known, kind, MemorySpace.GLOBAL, width, policy, place)


def bulk_copy(opcode: Opcode, place: SourceLocation | None) -> MemoryInstruction:
    """cp.async.bulk: aligned to 16 bytes, however long. Source: PTX ISA, cp.async.bulk.

    Within shared memory of a cluster it is a load of that, of which no counts are known.
    """
    name = opcode.name
    if AddressSpace.GLOBAL not in opcode.spaces:
        kind = MemoryAccessKind.LOAD
        return MemoryInstruction(name, None, kind, MemorySpace.SHARED, 16, None, place)
    kind = MemoryAccessKind.LOAD
    if opcode.spaces[0] is AddressSpace.GLOBAL:
        kind = MemoryAccessKind.REDUCTION if opcode.update else MemoryAccessKind.STORE
    policy = ptx_policy(kind, opcode.words)
    return MemoryInstruction(name, None, kind, MemorySpace.GLOBAL, 16, policy, place)


def _modelled(name: str) -> PtxInstruction | None:
    """The instruction as the performance model has it; None for one that it does not have."""
    try:
        return parse(name, "any chip")
    except UnsupportedError:
        return None


# Fences and barriers

RELEASES = frozenset({Ordering.RELEASE, Ordering.ACQ_REL})
ACQUIRES = frozenset({Ordering.ACQUIRE, Ordering.ACQ_REL})
_EVERYTHING = frozenset(MemoryAccessKind)
_SHARED_BY_LANES = frozenset({MemorySpace.GLOBAL, MemorySpace.SHARED})
_NO_SPACES, _NO_LEVELS = frozenset[MemorySpace](), frozenset[CacheLevel]()


def fence_of(statement: Statement, place: SourceLocation | None) -> FenceInstruction:
    """A fence; one of proxies has nothing to do, since copies are complete when they are
    executed."""
    opcode = statement.opcode
    if {"proxy", "mbarrier_init"} & {*opcode.words}:
        return marker(statement, place)
    return ordering_of(
        opcode,
        _text(statement),
        place,
        releases=opcode.ordering is not Ordering.ACQUIRE,
        acquires=opcode.ordering is not Ordering.RELEASE,
    )


def ordering_of(
    opcode: Opcode, text: str, place: SourceLocation | None, *, releases: bool, acquires: bool
) -> FenceInstruction:
    """The effect of an ordering, of a fence or an access: its release waits, its acquire empties
    L1; neither within the CTA.

    Source: ``lowering.ptx.performance.costs`` and ``EMPTIES_L1``: MEMBAR and CCTL.IVALL on an H200.
    """
    scope = "sys" if opcode.scope is None else SCOPE_WORDS[opcode.scope]
    is_of_global = not {AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER} & {*opcode.spaces}
    is_of_global &= not any("::shared::" in word for word in opcode.modifiers)
    waits = is_of_global and releases and scope != "cta"
    empties_l1 = is_of_global and acquires and scope in EMPTIES_L1
    return FenceInstruction(
        text=text,
        scope=scope,
        waits=_EVERYTHING if waits else frozenset(),
        spaces=_SHARED_BY_LANES if waits else frozenset(),
        writes_back=frozenset(),
        invalidates=frozenset({CacheLevel.L1} if empties_l1 else ()),
        joins=False,
        place=place,
    )


def barrier_of(statement: Statement, place: SourceLocation | None) -> FenceInstruction | None:
    """A barrier of the CTA, of the warp, or of the cluster; None for another one."""
    row = statement.opcode.row
    words = ("",) if row is None else row.words
    if words == ("bar", "warp", "sync"):
        return _without_effect(_text(statement), place)
    is_cluster, arrives = "cluster" in words, words[-1] == "arrive"
    if not (is_cluster or arrives or words[1:] in (("sync",), ("red",))):
        return None
    found = _without_effect(
        _text(statement), place, "cluster" if is_cluster else "cta", joins=not arrives
    )
    return replace(found, arrives=arrives, of_cluster=is_cluster)


def marker(statement: Statement, place: SourceLocation | None) -> FenceInstruction:
    """An instruction that has nothing to do."""
    return _without_effect(_text(statement), place)


def wait_for_copies(statement: Statement, place: SourceLocation | None) -> FenceInstruction:
    """A wait for the copies of a thread."""
    return FenceInstruction(
        _text(statement), "",
        frozenset({MemoryAccessKind.LOAD}), frozenset({MemorySpace.GLOBAL}),
        _NO_LEVELS, _NO_LEVELS, False, place,
    )  # fmt: skip


def _without_effect(
    text: str, place: SourceLocation | None, scope: str = "", joins: bool = False
) -> FenceInstruction:
    return FenceInstruction(
        text, scope, frozenset(), _NO_SPACES, _NO_LEVELS, _NO_LEVELS, joins, place
    )


def _text(statement: Statement) -> str:
    """An instruction without its guard, which does not change its meaning."""
    return f"{statement.opcode.name} {', '.join(statement.operands)}".rstrip()
