"""A function of AMD assembly as MLIR on ``scoped``: its guarantees, for another target to lower.

Accesses, fences, barriers and control flow are those of the code; all that is computed is symbolic.
An address is an argument, the same one where the same registers come from the same definitions;
so is what is stored, and what a branch depends on beside what its block has loaded. What is called
stands in the place of its call. Orderings are
those that the code provides: an access with scope bits is as strong as ``cdna_lift`` finds it, a
write-back that is waited for is a release fence, an invalidate an acquire fence.

What is provided is kept, but addresses that are computed are not, so that a lifted function is for
comparing and lowering, and not for running.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from fencewright.checker.amd.accesses import CLUSTER_BARRIER, Operation
from fencewright.checker.amd.check import Checked, check
from fencewright.checker.amd.guarantees import LiftedFunction
from fencewright.checker.amd.spins import spins_of
from fencewright.checker.amd.state import Code, State
from fencewright.checker.lifting.writer import (
    BEFORE,
    ZERO,
    Access,
    Arguments,
    Block,
    Branch,
    Computation,
    Definition,
    UnliftableError,
    Value,
    function_text,
    labels_of,
    loaded_by,
    reaching_definitions,
    unlifted,
)
from fencewright.checker.lifting.writer import Operation as Written
from fencewright.lowering.cdna.access_names import Path, access_name
from fencewright.lowering.cdna.caches import Caches, Visibility, access_effect
from fencewright.lowering.cdna.code.calls import inlined
from fencewright.lowering.cdna.code.flow import Block as MachineBlock
from fencewright.lowering.cdna.code.flow import Step
from fencewright.lowering.cdna.code.operands.operands import address_operands
from fencewright.lowering.cdna.code.text import Assembly, Function, Operand, Registers
from fencewright.lowering.code.calls import callee
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, Ordering, RmwKind, Scope


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of an access: its type, and of a read-modify-write its kind; None: compares."""

    type: str
    kind: RmwKind | None = None


_PATHS = frozenset({Path.GLOBAL, Path.FLAT, Path.BUFFER, Path.LDS, Path.SCALAR})
"""The paths of accesses that ``scoped`` has."""
_WIDEST, _WORD = 128, 32


def _form(operation: Operation) -> _Form:
    """The form of an access in ``scoped``; raises ``UnliftableError``."""
    assert operation.step is not None
    name = access_name(operation.step.instruction.mnemonic)
    is_atomic = operation.kind is Kind.RMW
    if (
        name is None
        or name.path not in _PATHS
        or (name.is_half or name.is_packed or name.stride or name.bits > _WIDEST)
        or is_atomic is not (name.compares or name.rmw is not None)
    ):
        raise UnliftableError(operation.line, f"'scoped' has no operation for {operation.text}")
    if name.is_float:
        return _Form(f"f{name.bits}", name.rmw)
    is_vector = name.bits > 2 * _WORD
    return _Form(f"vector<{name.bits // _WORD}xi32>" if is_vector else f"i{name.bits}", name.rmw)


def to_scoped(checked: Checked) -> str:
    """The function as one ``func.func``; raises ``UnliftableError`` for unliftable code."""
    return _Reader(checked.lifted, checked.entries).text()


def scoped_with_calls(
    assembly: Assembly, function: Function, l2_per_agent: L2PerAgent | None = None
) -> str:
    """A function as MLIR with its callees in the place of each call.

    Raises ``UnliftableError`` for code that ``scoped`` cannot express, and absent callees.
    """
    if not function.instructions:
        raise UnliftableError(0, "it has no instructions")
    whole = inlined(function, assembly.functions, callee(assembly.functions, unlifted))
    return to_scoped(check(assembly, whole, l2_per_agent))


_OUT = (Kind.CALL, Kind.OPAQUE)


@dataclass(frozen=True, slots=True)
class _Fence:
    """A fence that the code has: a write-back that is complete, or an invalidate."""

    ordering: Ordering
    scope: Scope


_Item = _Fence | Operation


class _Reader:
    def __init__(self, lifted: LiftedFunction, entries: Mapping[int, State]):
        self.lifted = lifted
        self.code = lifted.code
        self.scopes = lifted.mode.scopes
        self.entries = entries
        self.arguments = Arguments()
        steps = [step for block in self.code.flow.blocks for step in block.steps]
        lines = [step.instruction.line for step in steps]
        self.labels = dict(zip(map(id, steps), labels_of(lines), strict=True))
        self.sources = self._sources()
        self.flags = self._flags()
        if self.code.flow.is_called:
            raise UnliftableError(0, "it is called, and what its caller did is not known")
        self.items = {number: list(self._items(number)) for number in sorted(entries)}
        self.unfenced = _Unfenced(self.code, self.items)

    def _flags(self) -> frozenset[int]:
        """The accesses to LDS that may be of a flag: reads that a loop waits by, and all writes."""
        reads = [
            number
            for spin in spins_of(self.code)
            for number in spin.reads
            if self.code.operations[number].in_lds
        ]
        if not reads:
            return frozenset()
        writes = [each.number for each in self.code.operations if each.in_lds and each.writes]
        return frozenset((*reads, *writes))

    def text(self) -> str:
        """The function."""
        blocks = map(self._block, self.items)
        return function_text(self.code.flow.function.name, self.arguments, blocks, {ZERO: 0})

    def _items(self, number: int) -> Iterator[_Item]:
        """The accesses, barriers and fences of a block, in order."""
        code = self.code
        state = self.entries[number].copy()
        invalidated = Caches.NONE
        counted = {id(step): operation for step, operation in code.counted[number]}
        for step in code.flow.blocks[number].steps:
            if id(step) not in counted:
                if _waits_for_cluster(step):
                    yield from self._cluster_barrier(step)
                continue
            operation = counted[id(step)]
            if step.effects.kind in _OUT:
                raise _unlifted(step, "what it does is not seen")
            under_way = set(state.covered)
            if operation is not None:
                if operation.is_invalidate:
                    invalidated |= operation.effect.invalidates
                    yield from self._acquired(operation, invalidated)
                else:
                    invalidated = Caches.NONE
                    is_kept = not operation.is_write_back and operation.kind is not Kind.END
                    if is_kept and not _meets(operation):
                        yield operation
            state.step(code, step, operation)
            yield from self._completed(under_way - set(state.covered))

    def _cluster_barrier(self, wait: Step) -> Iterator[_Item]:
        """The barrier of a cluster, where all wait: a wave of each work-group signals it for all.

        What they all had done when their work-group met is released.
        """
        before = [each for each in self.code.operations if each.line < wait.instruction.line]
        signals = [each for each in before if _meets(each)]
        if not signals:
            raise _unlifted(wait, "where it is signalled is not known")
        last = signals[-1]
        met = self.code.operations[last.number - 1]
        both = [each for each in (met, last) if each.kind is Kind.BARRIER]
        if not any(self.lifted.pending_bits(each, Scope.CLUSTER) for each in both):
            yield _Fence(Ordering.RELEASE, Scope.CLUSTER)
        yield last

    def _block(self, number: int) -> Block:
        operations = [written for item in self.items[number] for written in self._written(item)]
        return Block(str(number), operations, self._end(number, self.code.flow.blocks[number]))

    def _written(self, item: _Item) -> Iterator[Written]:
        if isinstance(item, _Fence):
            yield f"scoped.fence {item.ordering} {item.scope}"
        elif _meets(item):
            yield f"scoped.barrier relaxed {Scope.CLUSTER}"
        elif item.kind is Kind.BARRIER:
            ordered = self.lifted.releases(item) is not None
            yield f"scoped.barrier {'' if ordered else 'relaxed '}{Scope.WORKGROUP}"
        else:
            if self._is_after_stores(item):
                yield f"scoped.fence {Ordering.SEQ_CST} {item.scope}"
            yield self._access(item)

    # Fences

    def _completed(self, numbers: set[int]) -> Iterator[_Fence]:
        """A release fence where write-backs are complete."""
        reaches = [
            reach
            for number in numbers
            if (reach := self.code.operations[number].effect.writes_back) is not None
        ]
        if reaches:
            yield _Fence(Ordering.RELEASE, _SCOPES[max(reaches)])

    def _acquired(self, operation: Operation, invalidated: Caches) -> Iterator[_Fence]:
        """An acquire fence of the widest scope for which invalidates have left nothing stale."""
        if operation.space is AddressSpace.CONSTANT:
            raise UnliftableError(operation.line, "'scoped' does not know the scalar cache")
        mode = self.code.mode
        plain = access_effect(mode.target, Kind.LOAD, ()).reads
        scopes = [
            scope
            for scope in self.scopes
            if (needed := mode.caches(scope) & plain) and not needed & ~invalidated
        ]
        if scopes:
            yield _Fence(Ordering.ACQUIRE, scopes[-1])

    # Accesses

    def _access(self, operation: Operation) -> Access:
        form = _form(operation)
        label = self._label(operation)
        pointer, ordering = self._pointer(operation), self._ordering(operation)
        if operation.kind is Kind.LOAD:
            return Access(Kind.LOAD, label, ordering, operation.scope, pointer, form.type)
        value = self.arguments.value(f"x{label}", form.type).name
        written = Access(Kind.STORE, label, ordering, operation.scope, pointer, form.type, value)
        if operation.is_vector_store:
            return written
        if form.kind is not None:
            return replace(written, kind=Kind.RMW, rmw=form.kind)
        compared = self.arguments.value(f"c{label}", form.type).name
        return replace(written, kind=Kind.RMW, compared=compared)

    def _pointer(self, operation: Operation) -> Value:
        """The argument that stands for an address."""
        space, step = operation.space, operation.step
        assert step is not None
        if space is None or operation.kind is Kind.COPY:
            raise UnliftableError(operation.line, f"'scoped' has no operation for {operation.text}")
        if space is AddressSpace.CONSTANT:
            space = AddressSpace.GLOBAL
        where = tuple(map(str, _address(step)))
        offsets = [word for word in step.instruction.modifiers if word.startswith("offset")]
        key = (*where, *offsets, self.sources.get(id(step)))
        return self.arguments.pointer(key, space.number)

    def _sources(self) -> Mapping[int, tuple[frozenset[str], ...]]:
        """By the ``id`` of a step that accesses memory, the origins of its address registers."""
        blocks = self.code.flow.blocks
        accesses = {
            self.labels[id(step)]: step
            for number in self.entries
            for step, operation in self.code.counted[number]
            if operation is not None and step.effects.space is not None
        }
        definitions = [[*map(self._definition, block.steps)] for block in blocks]
        return {
            id(accesses[label]): tuple(
                known.get(name, BEFORE) for name in _registers(accesses[label])
            )
            for label, known in reaching_definitions(graph_of(blocks), definitions)
            if label in accesses
        }

    def _definition(self, step: Step) -> Definition:
        is_wait = step.effects.kind is Kind.WAIT
        return Definition(self.labels[id(step)], () if is_wait else step.effects.defines)

    def _ordering(self, operation: Operation) -> Ordering:
        if operation.kind is not Kind.RMW and not self._is_atomic(operation):
            return Ordering.WEAK
        scope = operation.scope
        released = self.unfenced.release(operation) and self.lifted.releases(operation) is scope
        acquired = self.unfenced.acquire(operation) and self.lifted.acquires(operation) is scope
        if released and acquired:
            return Ordering.ACQ_REL
        if released:
            return Ordering.RELEASE
        return Ordering.ACQUIRE if acquired else Ordering.RELAXED

    def _is_atomic(self, operation: Operation) -> bool:
        """True if a load or store may be an atomic: by its bits, or as a flag in LDS.

        Stores without scope bits may be if they release to the agent.
        """
        if operation.in_lds:
            return operation.number in self.flags
        if operation.is_vector_store and not self.code.mode.chip.scope_bits:
            released = self.lifted.releases(operation)
            return released is not None and released.includes(Scope.AGENT)
        return operation.has_scope_bits

    def _is_after_stores(self, operation: Operation) -> bool:
        """True if a load that may be an atomic issues when all atomic stores before it are done."""
        if not operation.is_vector_load or not operation.scope.includes(Scope.AGENT):
            return False
        if not self._is_atomic(operation):
            return False
        before = self.code.those(self.unfenced.before.get(operation.number, 0) & self.code.writes)
        stores = [each for each in before if each.scope.includes(operation.scope)]
        pending = self.lifted.pending_bits(operation, operation.scope)
        return bool(stores) and not any(pending & each.bit for each in stores)

    # Control flow

    def _end(self, number: int, block: MachineBlock) -> Branch:
        targets = block.successors
        if not targets:
            last = block.steps[-1] if block.steps else None
            if last is None or last.effects.kind is not Kind.END:
                line = last.instruction.line if last else 0
                raise UnliftableError(line, "where the code goes on is not known")
            return Branch()
        names = tuple(map(str, dict.fromkeys(targets)))
        if len(names) == 1:
            return Branch(names)
        if len(targets) > 2:
            raise _unlifted(block.steps[-1], "a branch to more than two places")
        # Without an instruction it is the hardware's choice between the beginnings of a kernel.
        label = self.labels[id(block.steps[-1])] if block.steps else "entry"
        loaded = self._loaded(number, block)
        return Branch(names, self.arguments.condition(label, loaded, f"b{label}"))

    def _loaded(self, number: int, block: MachineBlock) -> Value | None:
        """The last load of a block that its branch depends on."""
        of_step = {id(step): operation for step, operation in self.code.counted[number]}
        if not block.steps:
            return None
        *before, branch = block.steps
        computations = (self._computation(step, of_step.get(id(step))) for step in reversed(before))
        return loaded_by(computations, branch.effects.uses)

    def _computation(self, step: Step, operation: Operation | None) -> Computation:
        effects = step.effects
        loaded: Mapping[str, Value] = {}
        if operation is not None and operation.is_vector_load:
            value = Value(f"%v{self._label(operation)}", _form(operation).type)
            loaded = dict.fromkeys(effects.defines, value)
        if effects.kind in (Kind.LOAD, Kind.RMW):
            return effects.defines, (), loaded
        uses = [name for name in effects.uses if not name.startswith("exec")]
        return effects.defines, uses, loaded

    def _label(self, operation: Operation) -> str:
        """The name of the values of an operation."""
        assert operation.step is not None
        return self.labels[id(operation.step)]


_SCOPES: Mapping[Visibility, Scope] = MappingProxyType(
    {
        Visibility.CLUSTER: Scope.CLUSTER,
        Visibility.AGENT: Scope.AGENT,
        Visibility.SYSTEM: Scope.SYSTEM,
    }
)
"""The scope of the release that a write-back to a reach is."""


def _meets(operation: Operation) -> bool:
    """True if an operation signals the barrier of a cluster."""
    return operation.kind is Kind.BARRIER and operation.scope is Scope.CLUSTER


def _waits_for_cluster(step: Step) -> bool:
    """True if a step waits at the barrier of a cluster."""
    instruction = step.instruction
    operands = tuple(map(str, instruction.operands))
    return instruction.mnemonic == "s_barrier_wait" and operands == (CLUSTER_BARRIER,)


def _unlifted(step: Step, why: str) -> UnliftableError:
    return unlifted(step.instruction.line, step.instruction.text, why)


def _registers(step: Step) -> list[str]:
    """The registers of the operands that make an address."""
    operands = (operand for operand in _address(step) if isinstance(operand, Registers))
    return [name for operand in operands for name in operand.names]


def _address(step: Step) -> tuple[Operand, ...]:
    """The operands that make an address."""
    results = 1 if step.effects.defines else 0
    return address_operands(step.instruction, step.effects.space, results)


_Paths = tuple[int, ...]
"""The operations, as bits, that some path to a place leads through; then, for each scope, those
past no release fence of it; then those past no acquire fence."""


class _Unfenced:
    """The accesses with others before or after them that no fence of the code separates.

    ``before``: by the number of an operation, those that some path to it leads through.
    """

    def __init__(self, code: Code, items: Mapping[int, Sequence[_Item]]):
        self.code = code
        self.before: dict[int, int] = {}
        self._released: dict[int, int] = {}
        self._acquired: dict[int, int] = {}
        self.scopes = code.mode.scopes
        nothing = (0,) * (1 + 2 * len(self.scopes))
        start: dict[int, _Paths] = dict.fromkeys(items, nothing)
        entries = solve(
            code.flow.graph,
            start,
            lambda number, paths: self._after(paths, items[number]),
            lambda known, coming: tuple(a | b for a, b in zip(known, coming, strict=True)),
        )
        for number, paths in entries.items():
            for item in items[number]:
                if isinstance(item, Operation):
                    self._see(item, paths)
                paths = self._after(paths, (item,))

    def _after(self, paths: _Paths, items: Iterable[_Item]) -> _Paths:
        known = [*paths]
        for item in items:
            if not isinstance(item, _Fence):
                known = [bits | item.bit for bits in known]
                continue
            first = 1 if item.ordering.releases else 1 + len(self.scopes)
            for rank, scope in enumerate(self.scopes, first):
                known[rank] = 0 if item.scope.includes(scope) else known[rank]
        return tuple(known)

    def _see(self, operation: Operation, paths: _Paths) -> None:
        number, before = operation.number, paths[0]
        released, acquired = paths[1:], paths[1 + len(self.scopes) :]
        self.before[number] = before
        if operation.scope in self.scopes:
            rank = self.scopes.index(operation.scope)
            self._released[number] = released[rank] & ~operation.bit
        if operation.reads:
            for read in self.code.those(before & self.code.reads & ~operation.bit):
                if read.scope in self.scopes and (
                    acquired[self.scopes.index(read.scope)] & read.bit
                ):
                    self._acquired[read.number] = self._acquired.get(read.number, 0) | operation.bit

    def release(self, operation: Operation) -> bool:
        """True if accesses before a write come to it past no release fence of its scope."""
        bits = self._released.get(operation.number, 0) & self.code.accesses
        return operation.writes and bool(bits)

    def acquire(self, operation: Operation) -> bool:
        """True if reads after a read come from it past no acquire fence of its scope."""
        return operation.reads and bool(self._acquired.get(operation.number, 0))
