"""The caches of ``cdna`` kernels, as the passes that minimise see them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Block, Operation

from fencewright.lowering.cdna.caches import Effect, Visibility, access_effect
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.generations.common import wait_after
from fencewright.lowering.cdna.instructions import instruction
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.cdna import (
    ELECTS,
    INVARIANT,
    PHASES,
    PLAIN,
    AsyncOp,
    AsyncWaitOp,
    AtomicOp,
    BarrierOp,
    CacheOp,
    KernelOp,
    LoadOp,
    MemoryOp,
    OpcodeOp,
    StoreOp,
    TensorOp,
    WaitOp,
)
from fencewright.mlir_dialects.leaf_operation import OfAlike, operations
from fencewright.passes.analysis.caches import (
    COUNTER_BITS,
    IN_MEMORY,
    LOADCNT,
    SHARED,
    VMCNT,
    WAITS,
    CacheCode,
    CacheStep,
    CacheSteps,
    Meaning,
    StoreThrough,
    maintenance,
    meaning_of,
    modifiers_of,
)
from fencewright.passes.analysis.control_flow import block_of, reachable_blocks, top_level
from fencewright.passes.cdna.dataflow import COUNTED

HINTS = frozenset({"nt", "slc", "th:TH_LOAD_NT", "th:TH_STORE_NT", "th:TH_ATOMIC_RETURN"})
"""Policy bits that say nothing of scope."""

ACCESS_KIND: Mapping[type[Operation], Kind] = MappingProxyType(
    {LoadOp: Kind.LOAD, StoreOp: Kind.STORE, AtomicOp: Kind.RMW}
)
_COPYING = frozenset({AsyncOp, TensorOp})
_READ = frozenset({*ACCESS_KIND, *_COPYING, AsyncWaitOp, CacheOp, WaitOp, BarrierOp})
_BITS = {Visibility.AGENT: ("sc1",), Visibility.SYSTEM: ("sc0", "sc1")}


def kernel_codes(module: ModuleOp) -> "Iterator[KernelCode]":
    """The code of every work-group: a kernel.

    Or several, where threads of a litmus test that are in one work-group run different ones.
    """

    @cache
    def meanings(chip: str) -> OfAlike[Meaning | None]:
        return OfAlike(partial(meaning_on, chip))

    for kernels in _running_together(module):
        yield KernelCode(kernels, meanings(kernels[0].chip.data))


class KernelCode(CacheCode):
    """The kernels that a work-group runs, and the meaning of their operations."""

    def __init__(
        self, kernels: Sequence[KernelOp], meaning_of: Callable[[Operation], Meaning | None]
    ):
        super().__init__(
            [block for kernel in kernels for block in reachable_blocks(kernel.body)],
            [kernel.body.blocks[0] for kernel in kernels],
            kernels[0].chip.data,
            kernels[0].tgsplit is not None,
        )
        self.kernels = kernels
        self._meaning_of = meaning_of

    def read(self, block: Block) -> CacheSteps:
        """With the waits that the use of a result implies, if nothing younger is in flight.

        Not those of a branch: what comes next to it stands in other blocks.
        """
        steps: CacheSteps = []
        chip, meaning_of = self.chip, self._meaning_of
        self.bound.discard(block)
        youngest: dict[int, Operation] = {}
        used: dict[int, set[int]] = {}
        for op in operations(block):
            if used and id(op) in used and not op.successors:
                waits = sum(bit for bit, last in youngest.items() if id(last) in used[id(op)])
                if (meaning := WAITS[waits]) is not None:
                    steps.append(CacheStep(op, meaning))
            kind = type(op)
            if kind not in _READ:
                continue
            if kind in COUNTED:
                counters = _counters_of(cast(StringAttr, op.properties["opcode"]).data, chip)
                for bit in counters:
                    youngest[bit] = op
                for result in op.results:
                    if result.first_use is not None:
                        for use in result.uses:
                            used.setdefault(id(use.operation), set()).add(id(op))
                        if not _IN_MEMORY.isdisjoint(counters):
                            self.bound.add(block)
            meaning = meaning_of(op)
            if meaning is not None:
                steps.append(CacheStep(op, meaning))
        return steps

    def through(self, op: Operation, reach: Visibility) -> StoreThrough | None:
        if not isinstance(op, StoreOp) or op.row.space not in IN_MEMORY:
            return None
        now, then = modifiers_of(op), _wanted(op, reach)
        if not self._has_bits or not _stores(self.chip, now) < reach <= _stores(self.chip, then):
            return None
        meaning = _access(StoreOp, op.opcode.data, then, is_atomic(op), self.chip)
        assert meaning is not None
        return StoreThrough(meaning, self._cost(op, then) - self._cost(op, now))

    @property
    def threads(self) -> int:
        return max(kernel.max_workgroup_size.value.data for kernel in self.kernels)

    def elected(self, block: Block) -> int | None:
        last = block.last_op
        number = None if last is None else last.attributes.get(ELECTS)
        return number.value.data if isinstance(number, IntegerAttr) else None

    @property
    def _has_bits(self) -> bool:
        """True if policy bits make a difference to the chip's stores."""
        return CHIPS[self.chip].scope_bits

    def _cost(self, op: OpcodeOp, modifiers: tuple[str, ...]) -> int:
        from fencewright.lowering.costs import cost_of

        return cost_of(self.chip, " ".join([op.opcode.data, *modifiers])).amount

    def _insert_before(self, made: CacheOp, place: Operation) -> None:
        """Inserts it with the wait that follows an invalidate on chips that delay it."""
        super()._insert_before(made, place)
        counts = wait_after(self.chip, made.opcode.data, modifiers_of(made))
        if counts:
            wait = WaitOp.of(counts, made.phase, made.source)
            block_of(made).insert_op_after(wait, made)

    def let_through(self, op: Operation, reach: Visibility) -> None:
        assert isinstance(op, StoreOp)
        wanted = _wanted(op, reach)
        if not is_atomic(op):
            op.attributes[PLAIN] = UnitAttr()
        op.properties["modifiers"] = ArrayAttr([StringAttr(bit) for bit in wanted])


def _wanted(op: StoreOp, reach: Visibility) -> tuple[str, ...]:
    return (*_BITS[reach], *[bit for bit in modifiers_of(op) if bit in HINTS])


def _stores(chip: str, modifiers: tuple[str, ...]) -> Visibility:
    reach = access_effect(chip, Kind.STORE, modifiers).stores
    assert reach is not None
    return reach


_IN_MEMORY = frozenset({VMCNT, LOADCNT})


@cache
def _counters_of(mnemonic: str, chip: str) -> tuple[int, ...]:
    """Of an atomic those of both its forms."""
    forms = (instruction(mnemonic), instruction(mnemonic, returns=True))
    found = [counter for form in forms for counter in getattr(form, "counters", ())]
    of_chip = filter(CHIPS[chip].counters.__contains__, found)
    return tuple(dict.fromkeys(COUNTER_BITS[each] for each in of_chip))


def _running_together(module: ModuleOp) -> list[list[KernelOp]]:
    kernels = [op for op in top_level(module) if isinstance(op, KernelOp)]
    tests = [op for op in module.ops if op.name == "litmus.test"]
    if not tests:
        return [[kernel] for kernel in kernels]
    from fencewright.mlir_dialects.litmus import TestOp

    group_of = {kernel.sym_name.data: [kernel] for kernel in kernels}
    for test in tests:
        assert isinstance(test, TestOp)
        first: dict[int | None, str] = {}
        for number, thread in enumerate(test.threads):
            name = None if thread.kernel is None else thread.kernel.string_value()
            if name not in group_of:
                continue
            together = _TOGETHER[CHIPS[group_of[name][0].chip.data].clusters]
            mate = first.setdefault(together(thread.placement.resolve(number)), name)
            if group_of[mate] is not group_of[name]:
                merged = [*group_of[mate], *group_of[name]]
                group_of.update({each.sym_name.data: merged for each in merged})
    return list({id(group): group for group in group_of.values()}.values())


_TOGETHER: Mapping[bool, Callable[[Any], int | None]] = MappingProxyType(
    {False: attrgetter("workgroup"), True: attrgetter("cluster")}
)
"""By the presence of clusters: the threads that synchronise at a scope narrower than the agent."""


def meaning_on(chip: str, op: Operation) -> Meaning | None:
    """The meaning of ``op`` for the caches of ``chip``; None if it has none."""
    kind = type(op)
    if kind in _COPYING:
        access = cast(OpcodeOp, op).row.access
        return meaning_of(access_effect(chip, access, modifiers_of(op)))
    if kind not in ACCESS_KIND:
        return maintenance(op, chip)
    if INVARIANT in op.attributes:
        return None
    opcode = cast(StringAttr, op.properties["opcode"]).data
    modifiers = modifiers_of(op)
    return _access(kind, opcode, modifiers, _is_atomic(op, modifiers), chip)


@cache
def _access(
    kind: type[Operation], opcode: str, modifiers: tuple[str, ...], atomic: bool, chip: str
) -> Meaning | None:
    row = instruction(opcode) or instruction(opcode, returns=True)
    assert row is not None
    if row.space is None or row.space not in SHARED:
        return None
    access = ACCESS_KIND[kind]
    in_memory = row.space in IN_MEMORY
    publishes = atomic and access is not Kind.LOAD
    return meaning_of(
        access_effect(chip, access, modifiers) if in_memory else Effect(),
        publishes=publishes,
        acquires=atomic and access is not Kind.STORE,
        leaves_workgroup=publishes and in_memory,
        counters=sum(_counters_of(opcode, chip)),
    )


def is_atomic(op: MemoryOp) -> bool:
    """True if an access may be of a flag: it carries out an atomic access, or has scope bits."""
    return _is_atomic(op, modifiers_of(op))


def _is_atomic(op: Operation, modifiers: tuple[str, ...]) -> bool:
    if type(op) is AtomicOp or op.properties.get("phase") == _ACCESS:
        return True
    return bool(modifiers) and PLAIN not in op.attributes and not HINTS.issuperset(modifiers)


_ACCESS = PHASES[Phase.ACCESS]
